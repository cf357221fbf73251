/* SPDX-License-Identifier: MIT */
/*
 * job: the words of the domain, without database, network or clock: a job as the planner reads it and as a fire needs
 * it, a fire, and the marks that rows of fires carry.
 *
 * Threads     Functions are pure but for the reference counts of job_spec, which any thread may change.
 * Ownership   A fire owns its address and one reference of its job; text members of a job live as long as the job.
 * Time        Instants count from the epoch, UTC.
 */
#ifndef SHARDWHEEL_JOB_H
#define SHARDWHEEL_JOB_H

#include "shardwheel/base.h"

/* A job as the planner reads it. NULL columns read as "". */
struct job_due {
    int64_t id;
    int64_t group;
    int64_t next_ms; /* trigger_next_time as read */
    const char *schedule_type;
    const char *schedule_conf;
    const char *misfire;
    const char *route;
    const char *handler;
    const char *param; /* NULL stays NULL */
    int retry_count;
    /* Settings of ours; 0 and NULL: not set. */
    const char *time_zone; /* of its cron expression; "" counts as NULL */
    int64_t fixed_delay_s; /* from the end of a run to the next one; holds while the schedule is FIX_RATE with it */
    int64_t valid_from_s;  /* no occurrence before it */
    int64_t valid_until_s; /* nor at it and after it */
    const char *block;     /* for the full form of trigger_msg, as the next */
    int timeout_s;
};

/* Due times of a job that end without a fire: one row of xxl_job_log for all of them. */
struct skipped {
    int64_t count; /* 0: none */
    bool more;     /* at least so many: counting was given up */
    bool by_hand;  /* the next time was set into the past; else nobody planned it in time */
    int64_t first_s, last_s;
};

/* A job as a fire needs it, read shortly before its time. Reference-counted: fires of one job share it. */
struct job_spec {
    _Atomic int refs; /* [atomic] */
    /* [const] and all that follows */
    int64_t id;
    int64_t group;
    bool running;   /* trigger_status = 1 */
    bool childless; /* names no children; false: it may */
    int timeout_s;
    int retry_count;
    uint32_t row_hash;       /* fire_row_hash of group, handler, param and retry_count */
    uint32_t route_hash;     /* fire_route_hash */
    int64_t glue_updated_ms; /* 0 when NULL */
    const char *route;
    const char *handler;
    const char *param; /* NULL stays NULL */
    const char *block;
    const char *glue_type;
    const char *glue_source; /* "" for BEAN */
};
struct job_spec *job_spec_ref(struct job_spec *job);
void job_spec_unref(struct job_spec *job); /* NULL is fine */

/* What the columns of a job may say; routes: shardwheel/route.h. */
#define JOB_MISFIRES "DO_NOTHING,FIRE_ONCE_NOW"
#define JOB_BLOCKS "SERIAL_EXECUTION,DISCARD_LATER,COVER_EARLY"
#define JOB_GLUE_TYPES "BEAN,GLUE_GROOVY,GLUE_SHELL,GLUE_PYTHON,GLUE_PYTHON2,GLUE_PHP,GLUE_NODEJS,GLUE_POWERSHELL"

#define JOB_ID_MAX INT32_MAX /* the columns are INT, and so is the number that executors read */
#define ROUTE_NAME_BROADCAST "SHARDING_BROADCAST"

/* A group as a direct fire takes it along: read with its job, or with addresses given by hand. Reference-counted; one
 * block of memory. */
struct group_spec {
    _Atomic int refs; /* [atomic] */
    /* [const] and all that follows */
    int64_t id;
    bool manual; /* the list was typed in */
    const char *app_name;
    const char *access_token;     /* "" when the group has none */
    const char *const *addresses; /* trimmed, without empty ones, each once, in the order of the list */
    size_t count;
};
/* `list`: addresses joined by commas. NULL when out of memory. */
struct group_spec *group_spec_create(int64_t id, const char *app_name, const char *access_token, bool manual,
                                     const char *list);
struct group_spec *group_spec_ref(struct group_spec *group);
void group_spec_unref(struct group_spec *group); /* NULL is fine */

/* Why a fire was made. The first two are a shard's own; the others are direct fires, or later rows. */
enum trigger_kind {
    TRIGGER_CRON,    /* the job's schedule, of whatever type */
    TRIGGER_MISFIRE, /* the misfire rule of that schedule */
    TRIGGER_RETRY,   /* another fire failed */
    TRIGGER_MANUAL,  /* somebody asked for it */
    TRIGGER_PARENT,  /* the job's parent has ended well */
    TRIGGER_API,     /* a program asked for it */
    TRIGGER_FLOW,    /* it is a step of a flow run */
    TRIGGER_KINDS
};
const char *trigger_kind_name(enum trigger_kind kind); /* "cron", ...: as shown in trigger_msg */

/* The letter of a kind in marks and in shardwheel_later: C F R M P A W, in the order above. */
char trigger_kind_letter(enum trigger_kind kind);
bool trigger_kind_of_letter(char letter, enum trigger_kind *out); /* false: it stands for none */

enum fire_flags {
    FIRE_LAST = 1,   /* the last occurrence: fires although its job is stopped by now */
    FIRE_RESENT = 2, /* in memory only: it may have been sent before, by a node that died */
    FIRE_LATER = 4,  /* of a later row: no fire of the job's own schedule, whatever its kind */
};

/* What the fire of a later row says in the place of its job: one block of memory. */
struct fire_own {
    const char *param;     /* NULL: the job's */
    const char *addresses; /* with commas between them, in the place of the group's list; NULL: that list */
    int retries;           /* -1: the job's */
    int64_t hold_until_s;  /* it has waited for an executor, and fails when it finds none by then; 0: it has not */
};
struct fire_own *fire_own_create(const struct fire_own *values); /* copies the texts; free with free; NULL: no memory */

/* A planned fire: a row of xxl_job_log with a mark at the head of trigger_msg:
 *   <!--sw:p:DUE:EPOCH-->   and before the arrow, where they apply, :L (last)  :M (misfire)  :K<letter> (of a later
 * row, with its kind; :G<generation> behind it, if any)  :O<original due second> */
struct fire {
    struct fire *next; /* the list that it is in */
    int64_t log_id;
    int64_t job_id;
    int64_t group; /* whose executors it goes to: the job's when it was planned, and again when it is prepared */
    int64_t due_s; /* the second it goes out */
    int64_t original_due_s; /* the due time it stands for; differs from due_s only when it is late */
    int64_t epoch;          /* under which it was planned or loaded */
    int shard;
    enum trigger_kind kind;
    int flags;
    int shard_index; /* broadcast: 0..total-1; else 0 of 1 */
    int shard_total;
    bool broadcast;
    bool written_ahead; /* its row has address and message as a delivery leaves them: a success writes its code alone */
    uint32_t row_hash;  /* fire_row_hash of what the row holds: differs -> the result writes these columns too */
    uint32_t route_hash; /* of `written_ahead`: fire_route_hash of the job's route at that time */
    char *address;       /* the one it was planned for, as in its row; NULL when none was known. Owned. */
    char *message; /* of `written_ahead`, until its row is written: the text, where it has one of its own. Owned. */
    struct job_spec *job; /* NULL until prepared; one reference owned */
    /* Of direct fires. */
    struct group_spec *target; /* where it goes; NULL: what the registry knows of the group. One reference owned */
    bool addresses_given;      /* with the order: those of `target` are not the group's */
    int generation;            /* 1: a child, 2: a child's child; 0: neither. With GENERATION_LOST for each lost run */
    int64_t flow_run;          /* of TRIGGER_FLOW: the flow run, and the place of the step; 0 once it is a later row */
    int flow_step, flow_item;  /* the item is in memory only; -1: none */
    int flow_items;            /* likewise: how many the step has; 0: none */
    int64_t source;            /* what a direct retry repeats; of FIRE_LATER: its later row; 0: none, or read back */
    struct fire_own *own;      /* of FIRE_LATER: never NULL there once it is in memory. Owned. */
};
struct fire *fire_create(void);
void fire_destroy(struct fire *fire);                        /* NULL is fine */
void fire_destroy_list(struct fire *list);                   /* NULL is fine */
void fire_put_before(struct fire **head, struct fire *list); /* puts `list` before *head */
uint32_t fire_row_hash(int64_t group, const char *handler, const char *param, int retry_count);
uint32_t fire_route_hash(const char *route); /* NULL counts as "" */
/* The mark as text (at most 100 characters with its NUL), and back. False when `text` does not begin with a mark. */
void fire_format_mark(const struct fire *fire, char out[100]);
/* due_s, original_due_s, epoch, kind, flags, generation */
bool fire_parse_mark(const char *text, struct fire *out);
/* The mark of a row for due times that were skipped: <!--sw:s:COUNT-->, with trigger_code 500 and alarm_status 1. It is
 * no failure: nobody retries it, or sends an alarm. */
void fire_format_skipped_mark(int64_t count, char out[40]);
bool fire_parse_skipped_mark(const char *text, int64_t *count);
/* Where a row that failed says which row its retry has: an HTML comment in trigger_msg, <!--sw:r:LOG-->. Find looks
 * through the text; 0: there is none. */
#define RETRY_LINK_HEAD "<!--sw:r:"
void fire_format_retry_link(int64_t log_id, char out[40]);
int64_t fire_find_retry_link(const char *text);
/* "i/n" of executor_sharding_param: digits around one slash. False for NULL and all else. */
bool fire_parse_sharding(const char *text, int *index, int *total);

/* ---- direct fires ------------------------------------------------------------------------------------------------ */

/* Fires that are no shard's (`shard` is -1): made, written and sent once by one node. Their rows carry the mark
 *   <!--sw:d:INCARNATION:DUE:KIND-->   KIND: R retry, M manual, P parent, A API; then :G<generation>, if any;
 *                                      W<run>.<step> flow
 * No takeover loads them. Once the incarnation is gone, what is open of it is ended as "delivery unknown". */
#define INCARNATION_MAX 33 /* with its NUL */
void fire_format_direct_mark(const struct fire *fire, const char *incarnation, char out[100]);
/* due_s, kind, generation, flow_run, flow_step */
bool fire_parse_direct_mark(const char *text, struct fire *out, char incarnation[INCARNATION_MAX]);

/* A copy of the job, one reference, with that parameter (NULL stays NULL) and retry count. NULL when out of memory. */
struct job_spec *job_spec_copy(const struct job_spec *job, const char *param, int retry_count);

struct direct_order {
    struct job_spec *job;     /* as it is to run: with the parameter and the retry count of this run */
    struct group_spec *group; /* where; NULL: the group is gone, which the row will say */
    enum trigger_kind kind;
    int64_t now_s;
    int generation;
};
/* Appends the fires to the list: one, or one for each address of a broadcast. */
MUST_CHECK enum err fires_make_direct(const struct direct_order *order, struct fire **list, struct errctx *ec);

/* ---- children ---------------------------------------------------------------------------------------------------- */

#define CHILDREN_MAX 128      /* items of a list that are looked at: the column has 255 characters */
#define CHILD_GENERATIONS 100 /* jobs that are each other's children come to an end */
/* A generation also says how many runs before this one, of which it is the retry's retry, were lost. */
#define GENERATION_LOST 1000
#define LOST_RESENDS_MAX 3 /* a job that kills its executor comes to an end, too: from then on its own retries count */
int generation_of_child(int generation);
int generation_count_lost(int generation);
int generation_add_lost(int generation); /* one more, to a thousand */

struct child_item {
    enum child_verdict { CHILD_ID, CHILD_SELF, CHILD_ILLEGAL } verdict;
    int64_t id;
    const char *text; /* in the list; not ended by a NUL */
    size_t len;
};
/* xxl_job_info.child_jobid as the original reads it: items between commas, digits alone, 1 to JOB_ID_MAX; the job
 * itself is told apart. Positions count all items but empty ones at the end. A blank list has none. */
size_t children_parse(const char *list, int64_t own_id, struct child_item out[CHILDREN_MAX]);

#endif
