/* SPDX-License-Identifier: MIT */
/* Executors that forget their runs, and what must hold of the runs that are ended for it. */
#include "sim/sim_impl.h"
#include "shardwheel/job/codes.h"
#include "shardwheel/job/times.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- executors --------------------------------------------------------------------------------------------------- */

static bool is_among(const struct sim_callback *list, int executor, int64_t job_id, int64_t log_id)
{
    for (; list; list = list->next)
        if (list->executor == executor && list->job_id == job_id && (!log_id || list->log_id == log_id) &&
            list->ends_us > fibers_now_us())
            return true;
    return false;
}

bool sim_is_busy(const struct sim *sim, int executor, int64_t job_id, int64_t log_id)
{
    bool busy = is_among(sim->waiting, executor, job_id, log_id);

    for (int i = 0; i < sim->opts.nodes && !busy; i++)
        for (const struct sim_run *run = sim->run[i]; run && !busy; run = run->former)
            busy = is_among(run->callbacks, executor, job_id, log_id);
    return busy;
}

static void forget_runs(struct sim *sim, struct sim_callback **list, int executor)
{
    while (*list) {
        struct sim_callback *c = *list;

        if (c->executor != executor || c->ends_us <= fibers_now_us()) {
            list = &c->next;
            continue;
        }
        memory_db_find_log(sim->db, c->log_id)->gone_us = fibers_now_us();
        *list = c->next;
        free(c);
    }
}

void sim_restart_executor(struct sim *sim, int executor)
{
    forget_runs(sim, &sim->waiting, executor);
    for (int i = 0; i < sim->opts.nodes; i++)
        for (struct sim_run *run = sim->run[i]; run; run = run->former)
            forget_runs(sim, &run->callbacks, executor);
}

void sim_set_forgetting(struct sim *sim, unsigned permille)
{
    sim->forgetting_permille = permille;
}

/* ---- what must hold ---------------------------------------------------------------------------------------------- */

/* One whose executor is not registered is given up, whatever it does. */
void sim_check_lost(void *arg, const struct memory_log *row)
{
    struct sim *sim = arg;

    for (int i = 0; i < SIM_EXECUTORS; i++)
        if (sim->members & 1U << i && row->address && strcmp(row->address, sim_get_address(i)) == 0 &&
            sim_is_busy(sim, i, row->fire.job_id, row->fire.log_id))
            sim_violate(sim, "lost-run-is-lost", "log %" PRId64 " of job %" PRId64 " ends as lost, and runs",
                        row->fire.log_id, row->fire.job_id);
}

void sim_check_chains_of_lost(struct sim *sim)
{
    for (size_t i = 0; i < sim->db->log_count; i++) {
        const struct memory_log *row = &sim->db->logs[i];
        int resent = 0;

        for (const struct memory_log *of = row; of->retry_of; of = memory_db_find_log(sim->db, of->retry_of))
            resent += memory_db_find_log(sim->db, of->retry_of)->was_lost;
        if (resent > LOST_RESENDS_MAX + 4)
            sim_violate(sim, "lost-run-is-resent-thrice", "log %" PRId64 " of job %" PRId64 " follows %d lost runs",
                        row->fire.log_id, row->fire.job_id, resent);
    }
}
