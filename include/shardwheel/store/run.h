/* SPDX-License-Identifier: MIT */
/*
 * store/run: what became of a fire: results of dispatch, callbacks, direct fires, failures and their alarms. See
 * store/conn.h for threads, ownership and errors.
 */
#ifndef SHARDWHEEL_STORE_RUN_H
#define SHARDWHEEL_STORE_RUN_H

#include "shardwheel/job.h"
#include "shardwheel/store/conn.h"

/* ---- results of dispatch: run/results.c -------------------------------------------------------------------------- */

/* What dispatch has to say of a fire. */
struct fire_result {
    int64_t log_id;
    int code;            /* trigger_code */
    const char *address; /* NULL: no address was found */
    const char *message; /* goes behind the mark */
    bool as_planned;     /* the row was written ahead and all of it holds: only the code is written */
    bool write_job;      /* what row_hash is of differs from the row: all that follow are written */
    int64_t group;
    const char *handler;
    const char *param;
    int retry_count;
    const char *sharding; /* "i/n" or NULL */
    /* Its fire, with its job, where no executor could be reached, so it has surely not been sent; else NULL. If its
     * job has fires wait for executors, it becomes a later row, and its row stays open. */
    const struct fire *away;
};
/* One transaction for those that are `away`, then one for those `as_planned`, then one for the others; rows of equal
 * values share a statement. Only where trigger_code = 0, and of those that are away only where the row is as this fire
 * left it: others are left alone, so it may be repeated, also when a part of it was committed. A delivery that was not
 * as planned also where the 200 is a callback's, until the row is dealt with as a failure. */
MUST_CHECK enum err store_write_results(struct store_session *s, const struct fire_result *results, size_t count,
                                        struct errctx *ec);

/* ---- what was sent: run/sent.c ----------------------------------------------------------------------------------- */

/* What a node knows of a run by itself. */
struct sent_row {
    int64_t log_id;
    int64_t job_id, group, due_s; /* all three only with was_sent, as the two that follow */
    int64_t epoch;                /* under which it was planned; 0: a direct fire */
    int64_t source;               /* as in struct fire */
    enum trigger_kind kind;
    bool was_sent;    /* by this node; false: it was told of its end alone */
    int code;         /* trigger_code that was committed; 0: none */
    int handle_code;  /* that was reported; 0: none */
    int64_t flow_run; /* as in struct fire, as the three that follow; 0: no step of a flow */
    int flow_step, flow_item, flow_items;
};
struct sent_counts {
    size_t written; /* rows that were gone */
    size_t results; /* codes that rows did not have, and ends */
    size_t ends;
    size_t sources; /* failures that were retried, and later rows that were planned */
    size_t steps;   /* tries of flows that had not begun */
};
/* At the head of the handle_msg of an end that was written again: what the executor said is not known. */
#define END_AGAIN_MARK "<!--sw:e-->"
/* For a server that may have lost commits. One transaction, adds to the counts: what was sent and has no row is written
 * under its id, with a text that says so; a row without its code or its end gets it. What is no plain success gets
 * alarm_status 1: nothing is sent again because commits were lost. So does an open failure whose retry was sent, and a
 * later row that was sent counts as planned. The try of a flow's step whose row was gone has begun, and its run waits
 * for its end. At most STORE_LIST_MAX, ids ascending and distinct. May be repeated. */
MUST_CHECK enum err store_write_sent(struct store_session *s, const struct sent_row *rows, size_t count,
                                     const char *incarnation, int64_t now_s, struct sent_counts *counts,
                                     struct errctx *ec);

/* ---- one run: run/facts.c ---------------------------------------------------------------------------------------- */

/* What calls to the executor of a run need. */
struct run_facts {
    int64_t job_id;
    int64_t trigger_ms; /* trigger_time; 0 for NULL */
    int trigger_code;
    int handle_code;
    const char *address;      /* "" where none was found, as all below */
    const char *app_name;     /* of its group */
    const char *access_token; /* of its group, where the schema has one */
    void *memory;             /* private: the texts */
};
/* ERR_NOTFOUND when there is no such row. */
MUST_CHECK enum err store_load_run(struct store_session *s, int64_t log_id, struct run_facts *out, struct errctx *ec);
void run_facts_fini(struct run_facts *facts);

/* ---- direct fires: store/direct.c ------------------------------------------------------------------------------ */

/* jobs[i] is the job ids[i] and groups[i] its group, as they are now; NULL where there is none. ids ascending and
 * distinct. The caller owns one reference each. */
MUST_CHECK enum err store_load_targets(struct store_session *s, const int64_t *ids, size_t count,
                                       struct job_spec **jobs, struct group_spec **groups, struct errctx *ec);
/* How long a parameter of the log may be: in characters, or in bytes from 65535 on. */
MUST_CHECK enum err store_load_param_max(struct store_session *s, size_t *out, struct errctx *ec);
/* Writes a row for each fire of the list in one transaction, and fills in log_id and row_hash. Each has its job. After
 * ERR_UNKNOWN store_find_direct tells of any one of them what became of all; after other errors nothing was written. */
MUST_CHECK enum err store_make_direct(struct store_session *s, struct fire *list, const char *incarnation,
                                      struct errctx *ec);
/* After ERR_UNKNOWN, on another session: waits until the doubtful transaction has ended, then tells whether the row of
 * that fire, which has the log_id it would have, is there. */
MUST_CHECK enum err store_find_direct(struct store_session *s, const struct fire *fire, const char *incarnation,
                                      bool *found, struct errctx *ec);

/* Incarnations whose last beat is younger than within_ms, by the clock of the database; free with free. */
MUST_CHECK enum err store_load_live_nodes(struct store_session *s, int64_t within_ms, char (**out)[INCARNATION_MAX],
                                          size_t *count, struct errctx *ec);
/* Ends direct rows as failed "delivery unknown" where still trigger_code = 0 and handle_code = 0. */
MUST_CHECK enum err store_end_direct(struct store_session *s, const int64_t *log_ids, size_t count, size_t *ended,
                                     struct errctx *ec);

/* ---- failures: store/failures.c ---------------------------------------------------------------------------------- */

enum alarm_status { ALARM_OPEN = 0, ALARM_LOCKED = -1, ALARM_NOT_NEEDED = 1, ALARM_DONE = 2, ALARM_FAILED = 3 };

/* A row that is neither a success nor dealt with, as the failure monitor looks at it. */
struct log_state {
    int64_t id;
    int64_t job_id;
    int trigger_code;
    int handle_code;
    int alarm_status;
    bool marked;                       /* a fire of ours, while trigger_code = 0 */
    int64_t due_s;                     /* of a marked row */
    char incarnation[INCARNATION_MAX]; /* of an open direct fire, else "" */
};
/* The original's rule: NOT (trigger_code in (0,200) and handle_code = 0), NOT handle_code = 200, alarm_status = 0.
 * Pure. */
bool log_state_is_failed(const struct log_state *row);

/* The newest id (0 in an empty table) and the first one whose trigger_time is from_s or later (newest + 1 without
 * one). */
MUST_CHECK enum err store_load_log_bounds(struct store_session *s, int64_t from_s, int64_t *first_id, int64_t *last_id,
                                          struct errctx *ec);
/* The lowest id above after_id; 0 when there is none. */
MUST_CHECK enum err store_find_next_log(struct store_session *s, int64_t after_id, int64_t *out, struct errctx *ec);
/* Rows with after_id < id <= until_id, or with one of those ids, that are no success and have alarm_status 0;
 * ascending. Reads by the primary key alone: keep the range, or the list, short. Free with free. */
MUST_CHECK enum err store_load_log_range(struct store_session *s, int64_t after_id, int64_t until_id,
                                         struct log_state **out, size_t *count, struct errctx *ec);
MUST_CHECK enum err store_load_log_list(struct store_session *s, const int64_t *ids, size_t count,
                                        struct log_state **out, size_t *out_count, struct errctx *ec);

/* A failed row in the transaction that deals with it. */
struct failed_row {
    int64_t id;
    int64_t job_id;
    int retries_left;
    const char *param;          /* of the row; NULL stays NULL */
    const char *sharding;       /* of the row; NULL stays NULL */
    int generation;             /* of its retry */
    const struct job_spec *job; /* NULL: the job is gone */
    bool group_exists;          /* that of the job */
    bool has_mail;              /* the job names somebody to tell */
    int64_t retry_wait_s;       /* its retries wait so long; 0: not at all, or there is no room for more later rows */
    int64_t retry_wait_max_s;   /* 0: the wait stays the same; else it doubles with each retry up to this */
    /* What `decide` says; ALARM_LOCKED: people are to be told. It stays that for the first failure of a quiet job, and
     * becomes ALARM_DONE for others, which are grouped: see store/alarm.h. */
    enum alarm_status alarm;
    bool grouped;
    struct fire *retries; /* list; its rows are written in the same transaction, their log_id filled in */
    int64_t retry_at_s;   /* the retry becomes a later row of that second, in the same transaction, instead; 0: none */
};
/* Only rows that were still failed and nobody else's are in `rows`. */
struct failed_batch {
    struct failed_row *rows;
    size_t count;
    void *memory; /* private: the texts */
};
/* One transaction: locks those rows (ascending, at most 100), takes those that are failed still with alarm_status 0
 * (another node may have been first, a callback may have made it a success), reads their jobs, asks `decide` about
 * each, inserts the retries, notes of which jobs people are to be told, writes alarm_status and, where there is a
 * retry, a line about it at the end of trigger_msg, cut to fit. `decide` fills alarm and retries; an error of it ends
 * all. On ERR_UNKNOWN the batch is filled in as if it had worked, and store_find_failures tells whether it did; on
 * other errors nothing was written and the batch is empty. */
MUST_CHECK enum err store_handle_failures(struct store_session *s, const int64_t *ids, size_t count,
                                          const char *incarnation,
                                          enum err (*decide)(void *arg, struct failed_row *row, struct errctx *ec),
                                          void *arg, struct failed_batch *out, struct errctx *ec);
/* After ERR_UNKNOWN, on another session: waits until the doubtful transaction has ended, then tells what came of it. */
MUST_CHECK enum err store_find_failures(struct store_session *s, const struct failed_batch *batch,
                                        const char *incarnation, bool *happened, struct errctx *ec);
void failed_batch_fini(struct failed_batch *batch); /* destroys the retries that were not taken out, too */

/* A row that cannot be dealt with in any way is set aside as ALARM_FAILED, where it is ALARM_OPEN still. */
MUST_CHECK enum err store_set_aside_failure(struct store_session *s, int64_t log_id, struct errctx *ec);

/* ---- callbacks: store/callbacks.c ------------------------------------------------------------------------------ */

enum callback_outcome { CALLBACK_STORED, CALLBACK_REPEATED, CALLBACK_UNKNOWN_LOG };
struct callback_entry {
    int64_t log_id;
    int code;
    const char *message; /* NULL counts as "" */
    /* Its fire's result is not written and would be `as_planned` with code 200: written here, if trigger_code still is
     * 0, whatever the outcome. */
    bool delivers;
    bool childless;                /* its job is known to have no children: nobody looks */
    enum callback_outcome outcome; /* out */
};
/* Children of the jobs whose runs end well: their rows are written in the transaction that stores the result. */
struct children {
    const char *incarnation; /* of the node that will send them */
    struct fire *made;       /* out: their rows are committed; to be sent, also when the call ends with an error */
    struct fire *doubtful;   /* out, with ERR_UNKNOWN: store_find_direct tells. NULL at each call */
};
/* For each entry, first stored result wins (a handle_code > 0 is never overwritten); an older message stays and the
 * new one follows after <br>; the whole, with the lines about children, is cut to 15,000 UTF-16 units. But a 200
 * overwrites the end of a lost run (store/lost.h), reason and all. A row that was written ahead and has no result gets
 * trigger_code 200, whatever the outcome: its node may have died before it wrote it. Entries in order, ids may repeat.
 * One transaction; with children, which may be NULL, those whose job has some are stored by others behind it, 100 in
 * each. After an error some may be stored; storing them again is harmless. */
MUST_CHECK enum err store_write_callbacks(struct store_session *s, struct callback_entry *entries, size_t count,
                                          int64_t now_s, struct children *children, struct errctx *ec);

#endif
