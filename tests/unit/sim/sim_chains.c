/* SPDX-License-Identifier: MIT */
/* What must hold of what follows the end of a run: retries, children, fixed delays. Looked at at the end. */
#include "sim/sim_impl.h"
#include "shardwheel/job/codes.h"
#include "shardwheel/job/times.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A pass of the failure monitor, the wait for a result that it leaves, and some time for it. */
#define FOLLOWED_US INT64_C(60000000)
#define ENDED_US INT64_C(180000000) /* an open direct fire: its node must be known to be gone */

static bool has_failed(const struct memory_log *row)
{
    bool sent = row->trigger_code == CODE_OPEN || row->trigger_code == CODE_OK;

    return row->handle_code != CODE_OK && !(sent && row->handle_code == CODE_OPEN);
}

/* ---- retries ----------------------------------------------------------------------------------------------------- */

/* Rows, and later rows without one, that repeat each row. Of a job that became a broadcast since, or of one for
 * which nobody was there, all parts count as one. */
static int *count_repeats(const struct memory_db *db)
{
    int *repeats = calloc(db->log_count + 1, sizeof *repeats);

    if (!repeats)
        abort();
    for (size_t i = 0; i < db->log_count; i++) {
        const struct memory_log *row = &db->logs[i];
        const struct memory_log *of = row->retry_of ? &db->logs[row->retry_of - 1] : NULL;

        if (of && (row->exists || row->cancelled) &&
            (row->fire.shard_index == 0 || (of->sharding && of->fire.shard_total > 1)))
            repeats[row->retry_of]++;
    }
    for (size_t i = 0; i < db->later_count; i++)
        if (db->later[i].row.log_id == 0)
            repeats[db->later[i].retry_of]++;
    return repeats;
}

static void check_repeat(struct sim *sim, const struct memory_log *row)
{
    const struct memory_log *of = memory_db_find_log(sim->db, row->retry_of);
    const struct memory_job *job = &sim->db->jobs[row->fire.job_id - 1];
    int most = job->retry_count > job->most_retries ? job->retry_count : job->most_retries;
    int number = 0;

    if (!of)
        return;
    for (const struct memory_log *r = of; r; r = memory_db_find_log(sim->db, r->retry_of))
        number += !r->was_lost; /* one that was lost is sent again besides: sim_check_chains_of_lost */
    if (number > most)
        sim_violate(sim, "chain-has-its-retries",
                    "log %" PRId64 " is retry %d of job %" PRId64 ", which never had more than %d", row->fire.log_id,
                    number, job->id, most);
    if (of->handled == 0)
        sim_violate(sim, "chain-has-its-retries", "log %" PRId64 " repeats log %" PRId64 ", which did not fail",
                    row->fire.log_id, row->retry_of);
    if (of->handled > 0 && row->retries_left != of->retries_then - 1 && row->trigger_code == CODE_OPEN)
        sim_violate(sim, "chain-has-its-retries", "log %" PRId64 " has %d retries left, and repeats one with %d",
                    row->fire.log_id, row->retries_left, of->retries_then);
}

static void check_chain(struct sim *sim, const struct memory_log *row, int repeats)
{
    bool was_long_ago = fibers_now_us() - row->changed_us > FOLLOWED_US;
    int64_t id = row->fire.log_id;

    if (row->handled > 1)
        sim_violate(sim, "chain-has-its-retries", "the failure of log %" PRId64 " was dealt with %d times", id,
                    row->handled);
    if (has_failed(row) && row->alarm_status == ALARM_OPEN && was_long_ago)
        sim_violate(sim, "chain-has-its-retries", "log %" PRId64 " of job %" PRId64 " failed, and nobody dealt with it",
                    id, row->fire.job_id);
    if (row->handled && row->retries_then > 0 && repeats == 0)
        sim_violate(sim, "chain-has-its-retries",
                    "log %" PRId64 " of job %" PRId64 " had %d retries left, and got none", id, row->fire.job_id,
                    row->retries_then);
    if (repeats > 1)
        sim_violate(sim, "chain-has-its-retries", "log %" PRId64 " of job %" PRId64 " was repeated %d times", id,
                    row->fire.job_id, repeats);
    check_repeat(sim, row);
}

/* ---- ends of direct fires, and of runs --------------------------------------------------------------------------- */

static void check_end(struct sim *sim, const struct memory_log *row)
{
    const struct fire *f = &row->fire;
    int64_t age_us = sim_now_ms(sim) * 1000 - row->arrival_wall_ms * 1000;

    if (row->direct && row->trigger_code == CODE_OPEN && row->handle_code == CODE_OPEN &&
        fibers_now_us() - row->made_us > ENDED_US)
        sim_violate(sim, "nothing-open-too-long",
                    "log %" PRId64 " of job %" PRId64 ", a %s of %s, has no end (%d arrivals)", f->log_id, f->job_id,
                    trigger_kind_name(f->kind), row->incarnation, row->arrivals);
    if (row->arrivals > 0 && !row->gone_us && row->handle_code == CODE_OPEN && age_us > ENDED_US)
        sim_violate(sim, "nothing-open-too-long", "log %" PRId64 " of job %" PRId64 " arrived, and its end is lost",
                    f->log_id, f->job_id);
    if (row->lost)
        return;
    if (row->handle_code == CODE_OK ? !row->said_good : row->handle_code != CODE_OPEN && !row->said_bad)
        sim_violate(sim, "row-says-what-happened", "log %" PRId64 " ended with %d, which no executor said", f->log_id,
                    row->handle_code);
}

/* ---- children ---------------------------------------------------------------------------------------------------- */

/* How many children of each run there are; parts of a broadcast count as one. */
static int *count_children(const struct memory_db *db)
{
    int *children = calloc(db->log_count + 1, sizeof *children);

    if (!children)
        abort();
    for (size_t i = 0; i < db->log_count; i++) {
        const struct memory_log *row = &db->logs[i];

        if ((row->exists || row->cleared || row->cancelled) && row->fire.shard_index == 0)
            children[row->parent]++;
    }
    return children;
}

static void check_children(struct sim *sim, const struct memory_log *row, int children)
{
    int expected = row->handle_code == CODE_OK ? row->children_due : 0;

    if (generation_of_child(row->fire.generation) < CHILD_GENERATIONS && children != expected)
        sim_violate(sim, "good-run-has-each-child-once",
                    "log %" PRId64 " of job %" PRId64 " ended with %d and has %d children, not %d", row->fire.log_id,
                    row->fire.job_id, row->handle_code, children, expected);
}

/* ---- fixed delays ------------------------------------------------------------------------------------------------ */

struct delayed {
    const struct memory_log *last; /* of the schedule */
    int64_t ended_s;               /* of all that followed it so far; 0: not known */
    bool doubtful;                 /* nobody can tell when it ended */
    bool waited;                   /* something of it: a new owner does not see that it runs still */
};

static bool is_scheduled(const struct memory_log *row)
{
    return row->exists && !row->direct && !row->retry_of &&
           (row->fire.kind == TRIGGER_CRON || row->fire.kind == TRIGGER_MISFIRE);
}

static void check_distance(struct sim *sim, const struct delayed *run, const struct memory_log *row,
                           const struct memory_job *job)
{
    if (run->last && !run->doubtful && !(run->waited && run->last->fire.epoch != row->fire.epoch) &&
        run->last->edits == row->edits && row->edits == job->edits &&
        row->fire.original_due_s < run->ended_s + job->fixed_delay_s)
        sim_violate(sim, "fixed-delay-keeps-distance",
                    "job %" PRId64 " is due at %" PRId64 " (log %" PRId64 "), and the run before (log %" PRId64
                    ") ended at %" PRId64,
                    row->fire.job_id, row->fire.original_due_s, row->fire.log_id, run->last->fire.log_id, run->ended_s);
}

static const struct memory_log *find_root(struct memory_db *db, const struct memory_log *row)
{
    while (row->retry_of)
        row = memory_db_find_log(db, row->retry_of);
    return row;
}

/* Of a broadcast all parts are one run. */
static bool is_part_of(const struct memory_log *row, const struct memory_log *run)
{
    return run && is_scheduled(row) && row->fire.original_due_s == run->fire.original_due_s && row->edits == run->edits;
}

/* Its distance was checked with the first row of that run. */
static bool is_late_part_of_run_before(const struct memory_log *row, const struct delayed *run)
{
    return run->last && is_scheduled(row) && (row->fire.flags & FIRE_LATER) &&
           row->fire.original_due_s < run->last->fire.original_due_s;
}

static void check_delayed_job(struct sim *sim, const struct memory_job *job)
{
    struct delayed run = {0};
    bool forgotten = false; /* its end is known when it is found to be lost */
    int64_t last_us = 0;

    for (size_t i = 0; i < sim->db->log_count; i++) {
        const struct memory_log *row = &sim->db->logs[i];
        int64_t ended_s;

        if (row->fire.job_id != job->id || !row->exists || (row->direct && !row->retry_of))
            continue;
        if (is_late_part_of_run_before(row, &run))
            continue;
        if (is_scheduled(row) && !is_part_of(row, run.last)) {
            check_distance(sim, &run, row, job);
            run = (struct delayed){.last = row};
        }
        if (!is_part_of(find_root(sim->db, row), run.last)) /* of a run before: that had waited */
            continue;
        run.doubtful = run.doubtful || row->trigger_code != CODE_OK || !row->ended_s;
        run.waited = run.waited || row->was_held || (row->fire.flags & FIRE_LATER);
        ended_s = row->lost_s ? row->lost_s : row->ended_s; /* the next run counts from the first end that it had */
        run.ended_s = ended_s > run.ended_s ? ended_s : run.ended_s;
        last_us = row->changed_us > last_us ? row->changed_us : last_us;
        forgotten = forgotten || (row->gone_us && row->handle_code == CODE_OPEN);
    }
    if (!forgotten && job->running && job->next_ms > sim_now_ms(sim) + (job->fixed_delay_s + 3600) * 1000 &&
        fibers_now_us() - last_us > FOLLOWED_US)
        sim_violate(sim, "fixed-delay-keeps-distance", "job %" PRId64 " stands still: its next time is %" PRId64,
                    job->id, job->next_ms);
}

void sim_check_followed(struct sim *sim)
{
    const struct memory_db *db = sim->db;
    int *repeats = count_repeats(db), *children = count_children(db);

    for (size_t i = 0; i < db->log_count; i++) {
        if (!db->logs[i].exists)
            continue;
        check_chain(sim, &db->logs[i], repeats[i + 1]);
        check_end(sim, &db->logs[i]);
        check_children(sim, &db->logs[i], children[i + 1]);
    }
    for (size_t i = 0; i < db->job_count && !sim->clocks_moved; i++)
        if (db->jobs[i].exists && sim_is_delayed(&db->jobs[i]))
            check_delayed_job(sim, &db->jobs[i]);
    free(repeats);
    free(children);
}
