/* SPDX-License-Identifier: MIT */
/*
 * explain_impl: the deciding part: facts in, items out. Private to admin. Pure: no clock, no database.
 *
 * Ownership   Facts and their texts are the caller's.
 */
#ifndef ADMIN_EXPLAIN_EXPLAIN_IMPL_H
#define ADMIN_EXPLAIN_EXPLAIN_IMPL_H

#include "shardwheel/admin/explain.h"
#include "shardwheel/cron.h"
#include "shardwheel/store/later.h"

/* What of a job says when it is due, as texts: NULL is not known. */
enum explain_field {
    FIELD_TYPE,
    FIELD_CONF,
    FIELD_RUNNING, /* "true", "false" */
    FIELD_TIME_ZONE,
    FIELD_FIXED_DELAY, /* as the next two: "none", or as job_setting_parse takes it, instants in UTC */
    FIELD_VALID_FROM,
    FIELD_VALID_UNTIL,
    FIELDS
};
/* The names in JSON of audit and events. */
extern const char *const explain_field_names[FIELDS];

/* Ascending by time. */
struct explain_change {
    int64_t at_ms;
    bool by_others; /* seen, not made: only `after` is known */
    bool added, removed;
    const char *who; /* of ours */
    const char *via;
    const char *before[FIELDS]; /* NULL: does not differ */
    const char *after[FIELDS];
};

/* A row of xxl_job_log. */
struct explain_row {
    int64_t id;
    int64_t triggered_s;
    int64_t handled_s; /* 0: not yet */
    int trigger_code;
    int handle_code;
    enum explain_mark { MARK_NONE, MARK_PLANNED, MARK_DIRECT, MARK_SKIPPED, MARK_HELD } mark;
    struct fire fire;         /* of MARK_PLANNED and MARK_DIRECT: due_s, original_due_s, kind, flags */
    int64_t skipped;          /* due times, of MARK_SKIPPED */
    int64_t retry_id;         /* the row of its retry; 0: none */
    bool in_range;            /* not read for the sake of another one alone */
    const char *address;      /* "" */
    const char *trigger_text; /* plain: the reason of a failure; "" */
    const char *handle_text;  /* plain, likewise; "" */
    enum explain_cause cause; /* by the words of the trigger's text */
    bool delivery_unknown;
    bool lost;
    bool blocked;             /* by the executor's block strategy */
    bool killed;              /* by hand */
    const char *killer;       /* as far as it says who; "" */
    const char *said, *value; /* see explain_end */
    int retries_left;         /* of the row */
    enum explain_skip skip;
    const char *misfire; /* of MARK_SKIPPED; a constant; NULL: not known */
};

/* Who asked for a run by hand. */
struct explain_asked {
    int64_t log_id;
    int64_t at_ms;
    const char *who;
    const char *via;
};

struct explain_facts {
    int64_t job_id;
    int64_t from_ms, to_ms, now_ms;
    bool found;       /* the job is there */
    int64_t added_ms; /* 0: not known */
    int64_t next_ms;  /* its next time */
    const char *now[FIELDS];
    const struct zone *zone; /* of cron expressions */
    int64_t max_year;
    const struct explain_change *changes; /* until now, of before from_ms, too */
    size_t change_count;
    struct explain_row *rows; /* ascending by id */
    size_t row_count;
    const struct explain_outage *outages;
    size_t outage_count;
    const struct later_row *later;
    size_t later_count;
    const struct explain_asked *asked;
    size_t asked_count;
    int64_t kept_from_ms; /* older rows may have been cleaned */
};

/* As admin_explain_job; `whole`: where not all of it fits into one call there are no items, and until_ms is from_ms. */
MUST_CHECK enum err explain_job(struct admin *a, const struct actor *actor, int64_t job_id, int64_t from_ms,
                                int64_t to_ms, bool whole, struct explanation *out, struct refusal *r);
/* ERR_NOMEM. */
MUST_CHECK enum err explain_decide(const struct explain_facts *facts, struct explanation *out, struct errctx *ec);

/* ---- its parts --------------------------------------------------------------------------------------------------- */

/* A time during which the schedule was the same: times.c. */
struct explain_segment {
    int64_t from_ms, to_ms;
    bool exists;
    const char *values[FIELDS];
    const struct explain_change *begin; /* what began it, and ended it; NULL: neither is known */
    const struct explain_change *end;
};
/* `out` has room for change_count + 1. How many they are, ascending, without those outside of the range. */
size_t explain_make_segments(const struct explain_facts *facts, struct explain_segment *out);
bool explain_is_known(const struct explain_segment *seg); /* type, text, and whether it ran */
bool explain_is_running(const struct explain_segment *seg);
/* Its due times, as if it ran: at most `max`, ascending. `rates`: due times of rows, ascending, by which a fixed rate
 * finds its phase. ERR_INPUT: the schedule is broken. */
MUST_CHECK enum err explain_list_due(const struct explain_facts *facts, const struct explain_segment *seg,
                                     const int64_t *rates, size_t rate_count, size_t max, int64_t *out_ms,
                                     size_t *count, struct errctx *ec);

/* What became of a due time by its rows (of a broadcast several), and those of their retries; fills in state, runs,
 * reason and facts: rows.c. */
void explain_tell_rows(const struct explain_facts *facts, const struct explain_row *const *rows, size_t count,
                       struct explain_item *item);
const struct explain_row *explain_find_row(const struct explain_facts *facts, int64_t id);
const struct explain_outage *explain_find_outage(const struct explain_facts *facts, int64_t from_ms, int64_t to_ms);
#define EXPLAIN_BLOCKED "block strategy effect" /* executors answer and report so */
/* How long the tag is that the text begins with; 0: none of those that admins and executors write into messages. Others
 * are what a program had to say: List<String>, Thing.<init>. */
size_t explain_measure_tag(const char *at, size_t left);
/* Appends what is between tags, cut: text.c. */
void explain_put_plain(struct buf *out, const char *text, const char *end);
/* Appends the reason that trigger_msg or handle_msg ends with, as plain text, cut: text.c. */
void explain_put_reason(struct buf *out, const char *text);
/* Appends what `put` makes of a text, and gives its place in `out`: an offset for now, since `out` may move. */
const char *explain_keep(struct buf *out, void (*put)(struct buf *out, const char *text), const char *text);
#define KILLED_HEAD "killed by hand ("
/* By the row's texts, as they stand in the table. */
bool explain_is_killed(const char *handle_msg);
void explain_put_killer(struct buf *out, const char *handle_msg); /* the NAME of "killed by hand (NAME)" */
void explain_find_skip(const char *trigger_msg, enum explain_skip *skip, const char **misfire);
enum explain_cause explain_find_cause(const char *trigger_msg);

#endif
