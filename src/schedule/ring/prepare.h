/* SPDX-License-Identifier: MIT */
/*
 * prepare: attaches to the fires of a second what their jobs say now, and takes out those that must not happen.
 *
 * Threads     The ring thread.
 * Invariants  A fire of its job's own schedule does not happen when the job is stopped, though it waited for an
 *             executor; another one of a later row does, as long as there is a job.
 *             A fire goes to the group that its job has now. The parts of a broadcast keep theirs: there is one for
 *             each address of that group, and another group has another number of them.
 */
#ifndef SCHEDULE_RING_PREPARE_H
#define SCHEDULE_RING_PREPARE_H

#include "shardwheel/job.h"
#include "shardwheel/store/conn.h"

/* Fires taken out, their rows removed: the job was stopped or deleted in time. */
struct prepare_gone {
    struct fire *fires;
    size_t count;
};

/* Reads the jobs of fires without one. On error the list is whole, and what could be attached is. */
MUST_CHECK enum err prepare_fires(struct store_session *s, struct fire **list, struct prepare_gone *gone,
                                  struct errctx *ec);
void prepare_forget(struct fire *list); /* the jobs were read too long ago */
/* Whether a fire still happens: pure. */
bool prepare_still_happens(const struct fire *fire, const struct job_spec *job);
/* The job as the fire of a later row runs it; one reference, NULL when out of memory. */
struct job_spec *prepare_copy_job(const struct fire_own *own, const struct job_spec *job);

#endif
