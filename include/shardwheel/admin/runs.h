/* SPDX-License-Identifier: MIT */
/*
 * admin/runs: runs as people look at them: lists, one run, its log at the executor, stop, clear. See admin.h for
 * threads, rights and refusals.
 *
 * Bounds      Lists and counts are ended by the server after their time. RUNS_SLOW_MAX searches that look at rows one
 *             by one, and counts, are under way at once; beyond that a search is REFUSED_LIMIT, and a count gives what
 *             was counted last.
 */
#ifndef SHARDWHEEL_ADMIN_RUNS_H
#define SHARDWHEEL_ADMIN_RUNS_H

#include "shardwheel/admin.h"
#include "shardwheel/flow.h"
#include "shardwheel/job.h"
#include "shardwheel/store/names.h"
#include "shardwheel/store/runs.h"

#define RUNS_SLOW_MAX 3
#define RUNS_COUNT_MS 2000

/* ---- lists: admin/runs/runs.c ------------------------------------------------------------------------------------ */

struct run_search {
    struct run_query query; /* what it may see is added to its filter */
    bool own_groups;        /* without a group: those of the actor; else it needs a right on all */
    bool count;             /* all that the filter finds */
    bool names;             /* those of the jobs and groups */
    size_t text_max;        /* see store_load_run_rows */
    size_t bytes_max;
};
struct run_list {
    struct run_rows rows;
    struct run_place last; /* see struct run_ids */
    bool is_end;
    enum run_stop stop;
    int64_t total; /* with `count` */
    bool is_estimate;
    struct names jobs, groups; /* with `names` */
};
/* RIGHT_SEE on the group. */
MUST_CHECK enum err admin_list_runs(struct admin *a, const struct actor *actor, const struct run_search *search,
                                    struct run_list *out, struct refusal *r);
void run_list_fini(struct run_list *list);

/* The one run, whole; RIGHT_SEE on its group. REFUSED_UNKNOWN "id". */
MUST_CHECK enum err admin_load_run(struct admin *a, const struct actor *actor, int64_t id, struct run_rows *out,
                                   struct refusal *r);
/* The same as a list of one, with names. */
MUST_CHECK enum err admin_show_run(struct admin *a, const struct actor *actor, int64_t id, struct run_list *out,
                                   struct refusal *r);

/* ---- the newest of some jobs: admin/runs/recent.c ---------------------------------------------------------------- */

struct job_recent {
    int64_t job_id;
    bool is_running;            /* the job */
    int64_t next_ms;            /* its next due time that is not planned yet; 0: none */
    const struct run_row *runs; /* newest first */
    size_t count;
    bool has_mean;
    double mean_s; /* of those that ended well */
};
struct jobs_recent {
    struct job_recent *items; /* in the order that was asked for */
    size_t count;
    bool complete; /* false: the log has no index over its jobs, or it took too long: runs are missing */
    struct run_rows rows;
};
/* Of at most RECENT_JOBS_MAX jobs, those that are there and that the actor may see; at most RECENT_RUNS_MAX runs each.
 */
MUST_CHECK enum err admin_load_recent_runs(struct admin *a, const struct actor *actor, const int64_t *ids, size_t count,
                                           int64_t each, struct jobs_recent *out, struct refusal *r);
void jobs_recent_fini(struct jobs_recent *recent);

/* ---- what a row says: admin/runs/words.c. Pure ------------------------------------------------------------------- */

/* What the marks in its texts tell. */
struct run_marks {
    bool has_kind;
    enum trigger_kind kind;
    int64_t due_s;     /* the due time it stands for; 0: none */
    int64_t sent_s;    /* the second for which it was planned last; 0: none */
    int64_t retry_log; /* the run that it was sent again as; 0: none */
    int64_t skipped;   /* due times without a fire */
    int64_t flow_run;  /* that it is a step of; 0: none */
    int flow_step;     /* the place of the step in the document */
};
struct run_marks run_marks_read(const struct run_row *row);
/* What became of it, as a word that is the same in every language: the name of its state, or for one that failed
 * "failed", "timeout" (its executor ended it), "undelivered", "blocked" (the executor refused it for the run before, by
 * its block strategy), "replaced" (the executor ended it for a later one). */
const char *run_outcome_name(const struct run_row *row);
/* Appends why, as plain text without markup; nothing where no message says so. */
void run_put_reason(struct buf *out, const struct run_row *row);
/* Seconds from the due time that it stands for to the one at which it was sent; 0: in time, or nobody knows. */
int64_t run_get_late_s(const struct run_marks *marks);
/* From its trigger to its end; -1: it has not ended, or does not say when. */
int64_t run_get_duration_s(const struct run_row *row);
/* One sentence about its state, as plain text. */
void run_put_sentence(struct buf *out, const struct run_row *row);
/* The text without marks; NULL stays away. It is HTML as whoever wrote it meant it, and not safe to show as such. */
void run_put_message(struct buf *out, const char *text);
/* & < > " ' escaped, but <br>, <b> and </b> as they are: what the original's viewer shows. */
void run_put_log_html(struct buf *out, const char *text, size_t len);

/* ---- which belong together: admin/runs/links.c ------------------------------------------------------------------- */

#define RUN_CHILDREN_MAX 128
struct run_links {
    int64_t retry_of, retry; /* run ids; 0: none that is known, as all here */
    int64_t parent;
    int64_t children[RUN_CHILDREN_MAX]; /* of a broadcast the first one */
    size_t child_count;
    int64_t flow_run; /* whose step it is; 0: none that may be seen */
    int64_t flow_id;
    char flow_name[FLOW_NAME_MAX + 1];
    char flow_step[FLOW_NAME_MAX + 1]; /* "": its version has no such step */
    bool complete;                     /* false: looking took too long, or no index leads there */
    struct run_rows rows;              /* of them, those that may be seen */
    struct names jobs;
};
/* RIGHT_SEE on its group. REFUSED_UNKNOWN "id". */
MUST_CHECK enum err admin_load_run_links(struct admin *a, const struct actor *actor, int64_t id, struct run_links *out,
                                         struct refusal *r);
const struct run_row *run_links_find(const struct run_links *links, int64_t id); /* NULL: none */
void run_links_fini(struct run_links *links);
/* Pure: the runs that a message of ours says to have been triggered, in any language. */
size_t run_find_children(const char *handle_msg, int64_t out[RUN_CHILDREN_MAX]);

/* ---- at the executor: admin/runs/calls.c ------------------------------------------------------------------------- */

enum run_log_end {
    RUN_LOG_GOES_ON,     /* more may come */
    RUN_LOG_END,         /* the run has ended, and this is behind its last line */
    RUN_LOG_NO_FILE,     /* ... and its executor has no log of it */
    RUN_LOG_NO_EXECUTOR, /* its executor cannot be reached, and is not listed any more or the run has ended */
    RUN_LOG_NEVER_SENT,  /* it was with no executor */
};
const char *run_log_end_name(enum run_log_end end); /* "", "end", "no-file", "no-executor", "never-sent" */
/* Whose copy is asked for. ANY: the executor's, and the kept one where the executor is gone or has none; once lines
 * have come the next ones are of the same copy. */
enum run_log_source { RUN_LOG_ANY, RUN_LOG_EXECUTOR, RUN_LOG_KEPT };
struct run_log {
    int64_t from_line; /* as asked for */
    int64_t to_line;   /* below from_line: nothing came */
    char *text;        /* lines as the executor sent them; "" where nothing came */
    size_t len;
    bool is_end;     /* as the executor says */
    bool is_over;    /* the run has ended */
    bool is_kept;    /* it is the kept copy: all of it, from from_line on */
    bool is_cut;     /* ... of which a part is missing; a line in it says so */
    int64_t kept_ms; /* ... and which the executor gave then */
    enum run_log_end end;
    struct errctx trouble; /* why nothing came, where that is no matter of time alone; "" */
};
/* RIGHT_SEE. REFUSED_UNKNOWN "id". Executors' errors are in the answer: `strict` makes them REFUSED_EXECUTOR, and a run
 * that was with no executor REFUSED_STATE. */
MUST_CHECK enum err admin_read_run_log(struct admin *a, const struct actor *actor, int64_t id, int64_t from_line,
                                       enum run_log_source source, bool strict, struct run_log *out, struct refusal *r);
void run_log_fini(struct run_log *log);

/*
 * Stops the run's job at its executor, with all runs of it there, and ends the row as a failure; a row that has ended
 * stays as it is. REFUSED_UNKNOWN "id"; RIGHT_RUN; REFUSED_STATE "jobId": its job is gone,
 * "triggerCode": it was not sent, "handleCode": it has ended; REFUSED_EXECUTOR: what the executor says, or that it
 * cannot be reached. `head`: begins the row's message, what the executor said stands behind it; NULL: "killed by hand
 * (NAME)". `said` may be NULL.
 */
MUST_CHECK enum err admin_kill_run(struct admin *a, const struct actor *actor, int64_t id, const char *head,
                                   struct buf *said, struct refusal *r);

/* ---- clearing: admin/runs/clear.c -------------------------------------------------------------------------------- */

#define RUNS_CLEAR_WAIT_MS 25000
#define RUNS_CLEARS_MAX 16 /* that wait or are under way */

struct run_clear {
    int64_t group, job_id; /* 0: of all */
    /* 1 to 4: older than 1, 3, 6, 12 months; 5 to 8: all but the newest 1,000, 10,000, 30,000, 100,000; 9: all. 0: what
     * is behind before_s, where that is not 0, and behind the newest `keep` ones. */
    int type;
    int64_t before_s;
    int64_t keep;
    int64_t for_ms;        /* a piece: it ends after that long. 0: it goes on until all is removed */
    struct run_place from; /* of the piece before; zero-initialised: the first one */
};
struct run_cleared {
    int64_t matched; /* of a dry run */
    bool is_estimate;
    int64_t deleted;
    bool done;           /* false: it goes on without the caller; of a piece: the next one begins at `at` */
    struct run_place at; /* zero: it has not begun */
};
/*
 * Removes rows of the log in small pieces with rests between them; open fires of ours stay. One thread does all that is
 * asked for, one after the other; the call waits for it RUNS_CLEAR_WAIT_MS at most. RIGHT_CHANGE on the group, on all
 * without one; then REFUSED_INVALID "type"; REFUSED_LIMIT: too many wait. A dry run counts.
 */
MUST_CHECK enum err admin_clear_runs(struct admin *a, const struct actor *actor, const struct run_clear *clear,
                                     bool dry_run, struct run_cleared *out, struct refusal *r);
/* Pure: makes before_s and keep of the type; false: there is no such one. */
bool run_clear_resolve(struct run_clear *clear, const struct zone *zone, int64_t now_s);

#endif
