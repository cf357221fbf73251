/* SPDX-License-Identifier: MIT */
/*
 * triggers: fires that somebody asks for, by hand or by a program: from any node, whoever owns the job's shard.
 *
 * Threads     Any number of threads call triggers_fire, which blocks until its rows are committed. One thread of its
 *             own, `triggers`, reads jobs and groups and writes the rows of all that wait in one transaction.
 * Invariants  Row first: what was answered with ERR_OK stands in xxl_job_log and is with dispatch. The fires are direct
 *             ones: sent at most once; of a node that dies they end as "delivery unknown".
 * Bounds      TRIGGERS_WAITING_MAX calls wait at most, each for TRIGGERS_WAIT_MS.
 * Facts       As the original: a job that is stopped is fired, too; addresses given by hand take the place of the
 *             group's; a broadcast goes to each of them; the parameter replaces the job's for this run.
 */
#ifndef SHARDWHEEL_FOLLOW_TRIGGERS_H
#define SHARDWHEEL_FOLLOW_TRIGGERS_H

#include "shardwheel/counters.h"
#include "shardwheel/job.h"
#include "shardwheel/store/conn.h"

#define TRIGGERS_WAITING_MAX 10000
#define TRIGGERS_WAIT_MS 10000

struct triggers;

struct triggers_opts {
    const char *incarnation; /* of this run of this node; outlives the object */
    struct store *store;
    void (*submit)(void *arg, struct fire *list); /* as dispatch_submit_direct; takes the fires */
    void *arg;
};

struct trigger_order {
    int64_t job_id;
    enum trigger_kind kind; /* TRIGGER_MANUAL, TRIGGER_API or TRIGGER_PARENT */
    const char *param;      /* NULL: "" when it is MANUAL, else the job's */
    const char *addresses;  /* joined by commas; NULL or blank: those of the group */
};

/* What was made: rows in the order of a broadcast's addresses, one otherwise. */
struct trigger_made {
    int64_t *log_ids; /* free with free */
    size_t count;
};

/* Whether that can be asked for; job and group are NULL where there is none, param_max is that of store_load_param_max.
 * Errors as below, ERR_INPUT and ERR_NOTFOUND alone. Pure. */
MUST_CHECK enum err trigger_order_check(const struct trigger_order *order, const struct job_spec *job,
                                        const struct group_spec *group, size_t param_max, struct errctx *ec);

MUST_CHECK enum err triggers_create(const struct triggers_opts *opts, const struct clock *clock,
                                    struct counters *counters, struct triggers **out, struct errctx *ec);
MUST_CHECK enum err triggers_start(struct triggers *t, struct errctx *ec);
/*
 * `out` may be NULL. The text of an error begins with the name of the field where it is one's fault:
 *   ERR_INPUT     no job id; a parameter longer than the column; an address that is no URL, or too long
 *   ERR_NOTFOUND  no such job; its group has no row
 *   ERR_BUSY      too many wait
 *   ERR_TIMEOUT, ERR_LOST, ERR_STATE (stopping), ERR_CONFLICT: nothing was fired
 *   ERR_UNKNOWN   it is not known whether it was fired: the log tells
 */
MUST_CHECK enum err triggers_fire(struct triggers *t, const struct trigger_order *order, struct trigger_made *out,
                                  struct errctx *ec);
void triggers_stop(struct triggers *t); /* who waits is refused, but for those whose rows are being written */
void triggers_join(struct triggers *t);
void triggers_destroy(struct triggers *t); /* NULL is fine */

#endif
