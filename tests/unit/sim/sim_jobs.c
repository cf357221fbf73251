/* SPDX-License-Identifier: MIT */
/* Jobs, and who changes them: a test by hand, somebody by our API, a Java admin beside us. */
#include "sim/memory_db.h"
#include "sim/sim_impl.h"
#include "shardwheel/job/times.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_YEAR 2200
#define START_AHEAD_MS 5000 /* a next time that is made anew lies so far ahead: of ours and of the Java admin */

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

static int64_t next_cron_ms(const struct sim *sim, const char *conf)
{
    struct cron *cron = NULL;
    struct errctx ec;
    int64_t next_ms = 0;

    sim_must(cron_parse(conf, 2200, &cron, &ec), &ec);
    sim_must(cron_next(cron, sim->zone, sim_now_ms(sim) + 5000, &next_ms, &ec), &ec); /* as the admin does */
    cron_destroy(cron);
    return next_ms;
}

int64_t sim_add_cron(struct sim *sim, const char *conf)
{
    return memory_db_add_job(sim->db, "CRON", conf, next_cron_ms(sim, conf))->id;
}

int64_t sim_add_rate(struct sim *sim, int seconds)
{
    char conf[24];

    snprintf(conf, sizeof conf, "%d", seconds);
    return memory_db_add_job(sim->db, "FIX_RATE", conf, (sim_now_ms(sim) / 1000 + 6) * 1000)->id;
}

struct memory_job *sim_edit_job(struct sim *sim, int64_t id)
{
    return memory_db_find_job(sim->db, id);
}

void sim_set_next_ms(struct sim *sim, int64_t id, int64_t next_ms)
{
    struct memory_job *job = sim_edit_job(sim, id);

    job->next_ms = next_ms;
    job->set_by_hand = true;
    job->generation++;
}

int64_t sim_add_later(struct sim *sim, int64_t job, int64_t in_s)
{
    int64_t due_s = memory_db_wall_ms(sim->db) / 1000 + in_s;
    char param[40];

    /* Each a parameter of its own: an arrival without it was sent as a fire of the schedule. */
    snprintf(param, sizeof param, "later-%zu", sim->db->later_count + 1);
    return memory_db_add_later(sim->db, &(struct later_row){.job_id = job,
                                                            .due_s = due_s,
                                                            .original_due_s = due_s,
                                                            .kind = TRIGGER_MANUAL,
                                                            .param = param,
                                                            .retries_left = 0});
}

void sim_stop_job(struct sim *sim, int64_t id)
{
    struct memory_job *job = sim_edit_job(sim, id);

    job->running = false;
    job->last_ms = job->next_ms = 0;
    job->generation++;
}

void sim_change_cron(struct sim *sim, int64_t id, const char *conf)
{
    struct memory_job *job = sim_edit_job(sim, id);

    job->type = "CRON";
    job->conf = memory_db_keep(sim->db, conf);
    job->running = true;
    job->next_ms = next_cron_ms(sim, conf);
    job->set_by_hand = true; /* to a node whose clock is ahead it may lie in the past */
    job->generation++;
}

/* ---- by our API -------------------------------------------------------------------------------------------------- */

/* As store_find_newest_planned. */
static int64_t find_newest_planned(const struct sim *sim, int64_t job, int64_t now_s)
{
    int64_t newest_s = 0;

    for (size_t i = 0; i < sim->db->log_count; i++) {
        const struct memory_log *row = &sim->db->logs[i];

        if (row->exists && !row->direct && !row->held && row->trigger_code == 0 && row->fire.job_id == job &&
            row->fire.due_s >= now_s && row->fire.due_s <= now_s + LOOK_AHEAD_S && row->fire.original_due_s > newest_s)
            newest_s = row->fire.original_due_s;
    }
    return newest_s;
}

static bool renew_next(struct sim *sim, struct memory_job *job)
{
    int64_t after_ms = sim_now_ms(sim) + START_AHEAD_MS;
    int64_t planned_ms = find_newest_planned(sim, job->id, sim_now_ms(sim) / 1000) * 1000;
    struct zone *own = NULL;
    struct job_due due = {.id = job->id,
                          .schedule_type = job->type,
                          .schedule_conf = job->conf,
                          .fixed_delay_s = job->fixed_delay_s,
                          .valid_from_s = job->valid_from_s,
                          .valid_until_s = job->valid_until_s};
    struct errctx ec;
    enum err e;

    if (job->time_zone)
        sim_must(zone_load(job->time_zone, &own, &ec), &ec);
    e = schedule_find_next(&due, own ? own : sim->zone, MAX_YEAR, after_ms > planned_ms ? after_ms : planned_ms,
                           &job->next_ms, &ec);
    zone_destroy(own);
    job->set_by_hand = true;
    return e == ERR_OK;
}

static void draw_schedule(struct sim *sim, struct memory_job *job)
{
    static const char *const conf[] = {"0/1 * * * * ?", "0/7 * * * * ?", "3/20 * * * * ?", "0 * * * * ?"};
    char rate[16];

    job->fixed_delay_s = 0;
    if (fibers_chance(500)) {
        job->type = "CRON";
        job->conf = conf[fibers_draw(ARRAY_LEN(conf))];
        return;
    }
    snprintf(rate, sizeof rate, "%d", 1 + (int)fibers_draw(9));
    job->type = "FIX_RATE";
    job->conf = memory_db_keep(sim->db, rate);
    job->fixed_delay_s = fibers_chance(500) ? strtoll(rate, NULL, 10) : 0;
}

/* What was planned, or failed, before has those that there were then. */
static void change_retries(struct memory_job *job, int count)
{
    if (job->retry_count > job->most_retries)
        job->most_retries = job->retry_count;
    job->retry_count = count;
}

/* True: when it is due changes. */
static bool draw_settings(struct sim *sim, struct memory_job *job)
{
    int64_t now_s = sim_now_ms(sim) / 1000;

    switch (fibers_draw(5)) {
    case 0: job->hold_s = fibers_chance(500) ? (int64_t)fibers_draw(60) : 0; return false;
    case 1: job->retry_wait_s = fibers_chance(500) ? (int64_t)fibers_draw(10) : 0; return false;
    case 2: change_retries(job, (int)fibers_draw(4)); return false;
    case 3: job->time_zone = fibers_chance(500) ? "Asia/Kathmandu" : NULL; return true;
    default:
        job->valid_from_s = fibers_chance(300) ? now_s + (int64_t)fibers_draw(30) : 0;
        job->valid_until_s = fibers_chance(300) ? now_s + 30 + (int64_t)fibers_draw(60) : 0;
        return true;
    }
}

static void draw_words(struct memory_job *job)
{
    static const char *const routes[] = {"FIRST", "ROUND", "CONSISTENT_HASH", "SHARDING_BROADCAST"};

    switch (fibers_draw(3)) {
    case 0: job->route = routes[fibers_draw(ARRAY_LEN(routes))]; break;
    case 1: job->misfire = fibers_chance(500) ? "FIRE_ONCE_NOW" : "DO_NOTHING"; break;
    default: job->param = fibers_chance(500) ? "q" : "p"; break;
    }
}

/* Rows of the log that are left are removed later. */
static void remove_job(struct sim *sim, struct memory_job *job)
{
    job->exists = false;
    for (size_t i = 0; i < sim->db->later_count; i++)
        if (sim->db->later[i].row.job_id == job->id && !sim->db->later[i].row.planned)
            sim->db->later[i].exists = false;
}

void sim_edit_by_api(struct sim *sim, int64_t id, enum sim_edit what)
{
    struct memory_job *job = sim_edit_job(sim, id), before;
    bool moves = false;

    if (!job)
        return;
    before = *job;
    switch (what) {
    case EDIT_SCHEDULE:
        draw_schedule(sim, job);
        moves = job->running;
        break;
    case EDIT_SETTINGS: moves = draw_settings(sim, job) && job->running; break;
    case EDIT_WORDS: draw_words(job); break;
    case EDIT_STOP:
        job->running = false;
        job->last_ms = job->next_ms = 0;
        break;
    case EDIT_START:
        job->running = moves = true;
        job->last_ms = 0;
        break;
    case EDIT_REMOVE: remove_job(sim, job); break;
    }
    if (moves && (!renew_next(sim, job) || (sim->opts.guarded && !sim->db->guarded))) {
        *job = before; /* refused */
        return;
    }
    job->edits++;
    job->generation += sim->clocks_moved; /* a node that is ahead may have sent what is due by the database's clock */
}

/* ---- by a Java admin --------------------------------------------------------------------------------------------- */

struct java_edit {
    struct sim *sim;
    struct java_edit *next;
    struct thread thread;
    int64_t id, delay_us;
    enum sim_edit what;
};

/* All columns of the job as they were read, but for what is changed; settings are ours, it does not know them. */
static void write_back(struct sim *sim, struct memory_job *job, const struct memory_job *read, enum sim_edit what)
{
    struct memory_job to = *job;

    to.type = read->type;
    to.conf = read->conf;
    to.route = read->route;
    to.misfire = read->misfire;
    to.param = read->param;
    change_retries(&to, read->retry_count);
    to.running = read->running;
    to.last_ms = read->last_ms;
    to.next_ms = read->next_ms;
    switch (what) {
    case EDIT_SCHEDULE: draw_schedule(sim, &to); break;
    case EDIT_STOP:
        to.running = false;
        to.last_ms = to.next_ms = 0;
        break;
    case EDIT_START:
        to.running = true;
        to.last_ms = 0;
        break;
    case EDIT_SETTINGS:
    case EDIT_WORDS:
    case EDIT_REMOVE: draw_words(&to); break;
    }
    to.fixed_delay_s = job->fixed_delay_s;
    if (to.running && (what == EDIT_SCHEDULE || what == EDIT_START)) {
        struct job_due due = {.id = to.id, .schedule_type = to.type, .schedule_conf = to.conf};
        struct errctx ec;

        sim_must(schedule_find_next(&due, sim->zone, MAX_YEAR, sim_now_ms(sim) + START_AHEAD_MS, &to.next_ms, &ec),
                 &ec);
    }
    to.set_by_hand = job->set_by_hand || to.next_ms != job->next_ms;
    /* Over somebody else's change of the schedule: times of the former one may come again (docs/faults.md). */
    to.generation += what != EDIT_SCHEDULE && (strcmp(to.type, job->type) != 0 || strcmp(to.conf, job->conf) != 0);
    to.edits++;
    *job = to;
}

static void edit_slowly(void *arg)
{
    struct java_edit *edit = arg;
    struct sim *sim = edit->sim;
    struct memory_job *job = memory_peek_job(sim->db, edit->id), read;
    int64_t epoch;

    if (!job)
        return;
    read = *job;
    epoch = sim->db->shard[edit->id % sim->db->shards].epoch;
    fibers_sleep_us(edit->delay_us);
    job = sim->ending ? NULL : memory_db_find_job(sim->db, edit->id);
    if (!job)
        return;
    if (edit->what == EDIT_REMOVE) {
        job->exists = false;
        sim_clear_rows(sim, edit->id, /*ended=*/false);
        return;
    }
    write_back(sim, job, &read, edit->what);
    job->generation += sim->clocks_moved;
    /* What was planned since it was read is known to who owns the shard until the next claim, and to nobody else. */
    job->fell_back = true;
    job->fell_back_epoch = sim->db->shard[edit->id % sim->db->shards].epoch == epoch ? epoch : 0;
}

void sim_edit_by_java(struct sim *sim, int64_t id, enum sim_edit what, int64_t takes_ms)
{
    struct java_edit *edit = calloc(1, sizeof *edit);
    struct errctx ec;

    if (!edit)
        abort();
    *edit = (struct java_edit){.sim = sim, .next = sim->edits, .id = id, .delay_us = takes_ms * 1000, .what = what};
    sim->edits = edit;
    sim_must(thread_start(&edit->thread, "java", edit_slowly, edit, &ec), &ec);
}

void sim_edits_end(struct sim *sim)
{
    while (sim->edits) {
        struct java_edit *edit = sim->edits;

        thread_join(&edit->thread);
        sim->edits = edit->next;
        free(edit);
    }
}

/* ---- rows that are removed --------------------------------------------------------------------------------------- */

static void clear_row(struct memory_log *row)
{
    row->exists = false;
    row->cleared = true;
}

void sim_clear_rows(struct sim *sim, int64_t job, bool ended)
{
    for (size_t i = 0; i < sim->db->log_count; i++) {
        struct memory_log *row = &sim->db->logs[i];

        if (row->exists && (!job || row->fire.job_id == job) &&
            (!ended || row->handle_code != 0 || (row->trigger_code != 0 && row->trigger_code != 200)))
            clear_row(row);
    }
}

void sim_clear_left(struct sim *sim)
{
    for (size_t i = 0; i < sim->db->job_count; i++)
        if (!sim->db->jobs[i].exists)
            sim_clear_rows(sim, sim->db->jobs[i].id, /*ended=*/false);
}
