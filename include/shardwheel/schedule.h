/* SPDX-License-Identifier: MIT */
/*
 * schedule: plans what becomes due and hands it to dispatch at its second: schedule threads, wheel, ring thread,
 * takeover.
 *
 * Threads     One schedule thread per shard (it works while this node owns the shard), one ring thread, one that looks
 *             what is due, one that keeps in touch with the tables of the cluster.
 * Invariants  A fire is in xxl_job_log before it is in the wheel, and the cursor of its shard stands at its second,
 *             written under our epoch, before it is handed to dispatch. See docs/architecture.md, "The path of a fire".
 * Ownership   What schedule_create is given must outlive it.
 * Time        Wall time decides what is due; it is read through the clock only.
 */
#ifndef SHARDWHEEL_SCHEDULE_H
#define SHARDWHEEL_SCHEDULE_H

#include "shardwheel/base.h"
#include "shardwheel/counters.h"
#include "shardwheel/coord.h"
#include "shardwheel/job.h"
#include "shardwheel/store/conn.h"
#include "shardwheel/job/words.h"
#include "shardwheel/registry.h"

struct dispatch;

struct schedule;

struct schedule_opts {
    int shards; /* N, at most STORE_SHARDS_MAX */
    const char *node_name;
    const char *admin_ip;       /* shown in trigger_msg */
    struct message_style style; /* of trigger_msg */
    const char *incarnation;    /* of this run of the node, in the tables of the cluster */
    const char *url;            /* where its pages are; read when schedule_start is called, not before */
    const char *version;
    const struct zone *zone; /* of cron expressions */
    int64_t max_year;
    bool skipped_rows; /* due times without a fire get a row of the log that says so */
    bool resend; /* fires whose delivery is unknown are sent again, with their log id, rather than ended as failed */
    struct watch *watch; /* of its threads; NULL: none */
    struct store *store;
    struct registry *registry;
    struct guard *guard; /* NULL: plan whether Java admins are held off or not */
};

/* The first due time after from_ms of a job's schedule, by its type, text and settings. ERR_NOTFOUND: there is none any
 * more; ERR_INPUT: the schedule is broken, or of a type without due times. Pure. */
MUST_CHECK enum err schedule_find_next(const struct job_due *job, const struct zone *zone, int64_t max_year,
                                       int64_t from_ms, int64_t *out_ms, struct errctx *ec);

/* Due times of the schedule at or after from_ms and before to_ms, ascending, at most `max`. A fixed rate has those that
 * lie whole rates from next_ms of the job, a fixed delay has none. ERR_INPUT as above. Pure. */
MUST_CHECK enum err schedule_list_due(const struct job_due *job, const struct zone *zone, int64_t max_year,
                                      int64_t from_ms, int64_t to_ms, int64_t *out_ms, size_t max, size_t *count,
                                      struct errctx *ec);

/* What jobs missed while nobody planned: for a database that was restored. One belongs to one thread. */
struct missed;
MUST_CHECK enum err missed_create(const struct zone *zone, int64_t max_year, struct missed **out, struct errctx *ec);
void missed_destroy(struct missed *m); /* NULL is fine */
/* Of a job that was due at job->next_ms: its due times up to the end of at_s, and the first one behind that; a fixed
 * rate keeps its phase. *stop: there is none, the schedule has ended or is broken. Of a fixed delay one due time is
 * known, "at least". ERR_NOMEM only. */
MUST_CHECK enum err missed_find(struct missed *m, const struct job_due *job, int64_t at_s, struct skipped *skipped,
                                int64_t *next_ms, bool *stop, struct errctx *ec);

MUST_CHECK enum err schedule_create(const struct schedule_opts *opts, const struct clock *clock,
                                    struct counters *counters, struct schedule **out, struct errctx *ec);
/* Made before coord and dispatch are started: both call back into schedule (schedule_on_grant, schedule_on_sent). */
/* ... and again after schedule_resize. */
MUST_CHECK enum err schedule_start(struct schedule *s, struct coord *coord, struct dispatch *dispatch,
                                   struct errctx *ec);
void schedule_on_grant(void *schedule, int shard);              /* coord's callback */
void schedule_on_sent(void *schedule, int shard, size_t count); /* dispatch's callback */

/* A database server is in use that was not before, with that generation (of shardwheel_primary): each shard that this
 * node owns takes over anew at once and keeps its lock; one that is being taken over begins anew. What this node knows
 * of fires and cursors holds, whatever that server knows. lossless: it has every commit of the one before, so what was
 * sent need not be compared with it. Any thread, any time after schedule_create; does not wait. A generation that is no
 * newer than the last one changes nothing. */
void schedule_on_primary(struct schedule *s, int64_t generation, bool lossless);

enum shard_state { SHARD_FOREIGN, SHARD_TAKEOVER, SHARD_OWNED, SHARD_HANDOVER, SHARD_NSTATES };

struct shard_status {
    int shard;
    enum shard_state state;
    int64_t epoch;          /* 0 when not owned */
    int64_t cursor_s;       /* last second that the ring moved it to; 0 when not owned */
    int64_t planned_ahead;  /* fires in the wheel */
    int64_t unsent;         /* handed to dispatch and not sent yet */
    int64_t owned_since_ms; /* wall clock; 0 when not owned */
    /* Wall clock: what is due by then is planned, but for jobs whose rows somebody holds. Since the takeover, while
     * nothing is planned yet; 0 when not owned. */
    int64_t planned_until_ms;
};
/* `out` has room for all N shards. Any thread. */
void schedule_load_status(struct schedule *s, struct shard_status *out);
/* Of a shard that this node owns; else 0. Any thread that may call schedule_load_status. */
int64_t schedule_get_epoch(struct schedule *s, int shard);
/* Fires handed to dispatch and not sent yet, of shards that this node owns or has handed over. */
int64_t schedule_count_unsent(struct schedule *s);
/* True while the ring thread is no more than 5 s behind for the shards that this node owns. */
bool schedule_is_healthy(struct schedule *s, const char **why);
/* The number of shards that the cluster has gone over to, while this node still works with another; 0: no change. Any
 * thread. */
int schedule_get_wanted_shards(struct schedule *s);
/* Ends planning and firing, and waits until it has; this node's beats go on, and so does what was handed to dispatch.
 * To be called when coord's thread has been joined; after it nobody calls coord. May be called again. */
void schedule_halt(struct schedule *s);
/* After schedule_halt: this node works with another N from the next schedule_start on. Nobody may be in
 * schedule_load_status. */
MUST_CHECK enum err schedule_resize(struct schedule *s, int shards, struct errctx *ec);
void schedule_stop(struct schedule *s); /* after coord_drain and the handover of all shards; what is left is dropped */
void schedule_join(struct schedule *s);
void schedule_destroy(struct schedule *s);

#endif
