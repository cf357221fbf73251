/* SPDX-License-Identifier: MIT */
/* What must hold: looked at when a claim commits, when a request arrives, and at the end. */
#include "sim/sim_impl.h"
#include "shardwheel/job/times.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CATCH_UP_MS                                                                                                    \
    60000 /* what nobody planned is left to the misfire rule when it is older than that; planner.h says so too */
#define BY_HAND_MS 5000 /* the same for a next time that was set into the past by hand */
#define ENDED_AFTER_MS 100000
#define PLANNED_AFTER_MS 15000

void sim_violate(struct sim *sim, const char *rule, const char *fmt, ...)
{
    char what[400];
    va_list args;

    if (sim->violation[0])
        return;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    snprintf(sim->violation, sizeof sim->violation, "RULE %s, at %" PRId64 ".%03d s: %s", rule,
             fibers_now_us() / 1000000, (int)(fibers_now_us() / 1000 % 1000), what);
}

/* The node's wall clock, or what it was a moment ago if it was set back since. */
static int64_t highest_wall_ms(const struct sim_run *run)
{
    int64_t now_ms = clock_wall_ms(&run->clock);

    return fibers_now_us() < run->wall_high_until_us && run->wall_high_ms > now_ms ? run->wall_high_ms : now_ms;
}

/* ---- a claim ----------------------------------------------------------------------------------------------------- */

/* The schedule's next occurrence; INT64_MAX: none. What cron finds is not in question here. */
static int64_t find_next_ms(struct sim *sim, const struct memory_job *job, int64_t from_ms)
{
    struct cron *cron = NULL;
    struct zone *zone = NULL;
    int64_t next_ms = INT64_MAX, rate_s;
    struct errctx ec;

    if (strcmp(job->type, "FIX_RATE") == 0)
        return parse_int(job->conf, 1, INT32_MAX, &rate_s) ? from_ms + rate_s * 1000 : INT64_MAX;
    if (job->time_zone && zone_load(job->time_zone, &zone, &ec))
        abort();
    if (cron_parse(job->conf, 2200, &cron, &ec) || cron_next(cron, zone ? zone : sim->zone, from_ms, &next_ms, &ec))
        next_ms = INT64_MAX;
    cron_destroy(cron);
    zone_destroy(zone);
    return next_ms;
}

static size_t count_planned(struct sim *sim, const int64_t *log_ids, size_t count, int64_t due_ms)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        n += memory_db_find_log(sim->db, log_ids[i])->fire.original_due_s == due_ms / 1000;
    return n;
}

bool sim_is_delayed(const struct memory_job *job)
{
    return job->fixed_delay_s > 0 && strcmp(job->type, "FIX_RATE") == 0 &&
           strtoll(job->conf, NULL, 10) == job->fixed_delay_s;
}

/* A job with a fixed delay has one fire, or none when the misfire rule does nothing, and is due far behind it. */
static void check_delayed(struct sim *sim, const struct memory_job *before, int64_t now_ms, int64_t new_next_ms,
                          bool stop, const int64_t *log_ids, size_t count)
{
    const struct fire *f = count ? &memory_db_find_log(sim->db, log_ids[0])->fire : NULL;
    size_t parts = f && f->broadcast ? (size_t)f->shard_total : 1;
    bool over = before->valid_until_s && before->next_ms >= before->valid_until_s * 1000;

    if (!f && !over && now_ms - before->next_ms <= CATCH_UP_MS && !before->set_by_hand)
        sim_violate(sim, "due-time-has-one-row", "lost: job %" PRId64 " was due at %" PRId64, before->id,
                    before->next_ms);
    /* After the misfire rule did nothing the next one counts from the clock, and may be in the same claim. */
    if (f && now_ms - before->next_ms > CATCH_UP_MS && f->original_due_s * 1000 > before->next_ms)
        return;
    if (f && (f->original_due_s != before->next_ms / 1000 || count != parts))
        sim_violate(sim, "due-time-has-one-row",
                    "job %" PRId64 ": its fire is for %" PRId64 ", its next time was %" PRId64
                    ", fires: %zu, clock %" PRId64,
                    before->id, f->original_due_s, before->next_ms, count, now_ms);
    if (before->valid_until_s && new_next_ms >= before->valid_until_s * 1000) /* it was the last run */
        return;
    if (f && !stop && new_next_ms != (f->due_s + before->fixed_delay_s + FIXED_DELAY_LIMIT_S) * 1000)
        sim_violate(sim, "fixed-delay-keeps-distance", "job %" PRId64 " is advanced to %" PRId64 ", not behind its run",
                    before->id, new_next_ms);
}

/* A schedule that was edited may fall back behind what is planned already, by as much as the node's clock is ahead of
 * the editor's. What lies at or before the newest due second of the job counts as done then (docs/protocol.md). */
static bool is_done_by_rule(const struct sim *sim, const struct memory_job *job, int64_t due_ms)
{
    const struct memory_db *db = sim->db;

    /* A failover forgot that it was sent: its row is written again. */
    for (size_t i = 0; i < db->log_count; i++)
        if (db->logs[i].was_sent && db->logs[i].fire.job_id == job->id &&
            db->logs[i].fire.original_due_s == due_ms / 1000)
            return true;
    for (size_t i = 0; job->set_by_hand && i < db->log_count; i++)
        if ((db->logs[i].exists || db->logs[i].cleared || db->logs[i].cancelled) &&
            db->logs[i].fire.job_id == job->id && db->logs[i].fire.original_due_s >= due_ms / 1000)
            return true;
    return false;
}

/* Each due time from the one that was the next up to the one that is has its fire, or was left to the misfire rule. */
void sim_check_claim(void *arg, struct store *st, const struct memory_job *before, int64_t new_next_ms, bool stop,
                     const int64_t *log_ids, size_t count, const struct skipped *skipped)
{
    struct sim *sim = arg;
    int64_t now_ms = highest_wall_ms(sim_run_of_clock(st->clock)), due_ms = before->next_ms;
    int64_t grace_ms = before->set_by_hand ? BY_HAND_MS : CATCH_UP_MS;
    int64_t end_ms = before->valid_until_s ? before->valid_until_s * 1000 : INT64_MAX;
    size_t used = 0;
    int64_t missing = 0;

    if (before->set_by_hand && now_ms - due_ms > 0) /* then the next time counts from the clock */
        return;
    if (sim_is_delayed(before)) {
        check_delayed(sim, before, now_ms, new_next_ms, stop, log_ids, count);
        return;
    }
    if (!stop && new_next_ms < end_ms)
        end_ms = new_next_ms;
    while (due_ms < end_ms) {
        size_t n = count_planned(sim, log_ids, count, due_ms);
        bool lacks = n == 0 && due_ms >= before->valid_from_s * 1000 && !is_done_by_rule(sim, before, due_ms);

        if (lacks && now_ms - due_ms <= grace_ms)
            sim_violate(sim, "due-time-has-one-row",
                        "lost: job %" PRId64 " was due at %" PRId64 " and is advanced to %" PRId64 ", clock %" PRId64,
                        before->id, due_ms, new_next_ms, now_ms);
        used += n;
        missing += lacks;
        due_ms = find_next_ms(sim, before, due_ms);
    }
    if (!stop && end_ms == new_next_ms && due_ms != new_next_ms)
        sim_violate(sim, "due-time-has-one-row", "job %" PRId64 " is advanced to %" PRId64 ", which is no due time",
                    before->id, new_next_ms);
    if (!stop && (skipped->more ? missing < skipped->count : missing != skipped->count))
        sim_violate(sim, "due-time-has-one-row",
                    "job %" PRId64 ": %" PRId64 " due times have no fire, the claim says %" PRId64, before->id, missing,
                    skipped->count);
    sim->skipped += skipped->count;
    if (used != count)
        sim_violate(sim, "due-time-has-one-row", "job %" PRId64 ": %zu of %zu planned fires are for no due time",
                    before->id, count - used, count);
}

/* ---- an arrival -------------------------------------------------------------------------------------------------- */

static int64_t read_log_id(const char *body, size_t len)
{
    static const char key[] = "\"logId\":";
    const char *at = memmem(body, len, key, sizeof key - 1);

    return at ? strtoll(at + sizeof key - 1, NULL, 10) : 0;
}

static void check_arrival(struct sim *sim, const struct sim_run *run, const struct memory_log *row)
{
    const struct fire *f = &row->fire;
    const struct memory_shard *shard = &sim->db->shard[f->job_id % sim->db->shards];
    /* Once by each owner since. */
    int64_t again = !sim->opts.resend ? 0 : row->direct ? 1 : shard->epoch - row->first_epoch;

    if (!row->exists && !row->was_sent && !row->cleared)
        sim_violate(sim, "sent-has-its-row", "log %" PRId64 " of job %" PRId64 " was sent, and has no row", f->log_id,
                    f->job_id);
    if (row->arrivals > again)
        sim_violate(sim, "sent-once", "twice: log %" PRId64 " of job %" PRId64 ", due %" PRId64 ", again from %s",
                    f->log_id, f->job_id, f->due_s, run->name);
    if (row->is_unknown)
        sim_violate(sim, "sent-once",
                    "log %" PRId64 " of job %" PRId64 ", due %" PRId64 ", was sent by %s after it ended as unknown",
                    f->log_id, f->job_id, f->due_s, run->name);
    /* One that is sent again may have waited for an executor since it was found, and its row have a later second. */
    if (sim->opts.resend && row->was_held)
        return;
    if (!(row->direct && f->kind == TRIGGER_FLOW) && /* its second is by the clock of the database */
        highest_wall_ms(run) < f->due_s * 1000)
        sim_violate(sim, "sent-in-its-time", "log %" PRId64 " due %" PRId64 " was sent too early", f->log_id, f->due_s);
    if (!row->direct && fibers_now_us() - run->store.moved_us > SEND_DEADLINE_MS * 1000 + 1000000)
        sim_violate(sim, "sent-in-its-time",
                    "log %" PRId64 " due %" PRId64 " was sent by %s, which has moved no cursor for %" PRId64 " ms",
                    f->log_id, f->due_s, run->name, (fibers_now_us() - run->store.moved_us) / 1000);
    if (!row->direct && shard->cursor_s < f->due_s)
        sim_violate(sim, "sent-in-its-time", "log %" PRId64 " due %" PRId64 " was sent beyond the cursor, %" PRId64,
                    f->log_id, f->due_s, shard->cursor_s);
}

/* Which later row it is of is known by its row of the log as long as it has not ended, which comes after this. */
static void check_param(struct sim *sim, const struct memory_log *row, const char *body, size_t len)
{
    for (size_t i = 0; (row->fire.flags & FIRE_LATER) && i < sim->db->later_count; i++) {
        const struct later_row *later = &sim->db->later[i].row;

        if (later->log_id != row->fire.log_id || !later->param)
            continue;
        if (!memmem(body, len, later->param, strlen(later->param)))
            sim_violate(sim, "row-says-what-happened",
                        "log %" PRId64 " was sent without the parameter of later row %" PRId64, row->fire.log_id,
                        later->id);
    }
}

void sim_arrive(struct sim_run *run, int executor, const char *body, size_t len)
{
    struct sim *sim = run->sim;
    int64_t log_id = read_log_id(body, len);
    struct memory_log *row = memory_db_find_log(sim->db, log_id);
    int64_t late_ms, delay_us;
    struct sim_callback callback = {.log_id = log_id, .executor = executor};

    if (!row) {
        sim_violate(sim, "sent-has-its-row", "log %" PRId64 " was sent and never planned", log_id);
        return;
    }
    check_arrival(sim, run, row);
    callback.code = sim->failing_permille && fibers_chance(sim->failing_permille) ? 500 : 200;
    callback.said = row->fire.flow_run ? sim_choose_words(sim, row, callback.code) : NULL;
    check_param(sim, row, body, len);
    sim_check_call_arrival(sim, row, executor, body, len);
    row->arrivals++;
    row->said_good = row->said_good || callback.code == 200;
    row->said_bad = row->said_bad || callback.code != 200;
    row->arrival_wall_ms = memory_db_wall_ms(sim->db);
    late_ms = row->arrival_wall_ms - row->fire.original_due_s * 1000;
    if (late_ms > sim->max_lateness_ms)
        sim->max_lateness_ms = late_ms;
    delay_us = sim->lasting_ms ? sim->lasting_ms * 1000 : fibers_chance(100) ? 5000000 : 300000;
    callback.job_id = row->fire.job_id;
    callback.ends_us = callback.at_us = fibers_now_us() + (int64_t)fibers_draw((uint64_t)delay_us);
    if (sim->forgetting_permille &&
        fibers_chance(sim->forgetting_permille)) { /* it ends there, and nobody hears of it */
        row->gone_us = fibers_now_us();
        return;
    }
    sim_call_back(sim, &callback);
    if (sim->opts.follows && fibers_chance(50)) { /* the answer to the first one is lost */
        callback.at_us += (int64_t)fibers_draw(3000000);
        sim_call_back(sim, &callback);
    }
}

/* ---- at the end -------------------------------------------------------------------------------------------------- */

static int compare_rows(const void *a, const void *b)
{
    const struct memory_log *x = *(const struct memory_log *const *)a, *y = *(const struct memory_log *const *)b;

    if (x->fire.job_id != y->fire.job_id)
        return compare_int64(&x->fire.job_id, &y->fire.job_id);
    if (x->generation != y->generation)
        return x->generation < y->generation ? -1 : 1;
    if (x->fire.original_due_s != y->fire.original_due_s)
        return compare_int64(&x->fire.original_due_s, &y->fire.original_due_s);
    if (x->fire.shard_index != y->fire.shard_index)
        return x->fire.shard_index < y->fire.shard_index ? -1 : 1;
    return compare_int64(&x->fire.log_id, &y->fire.log_id);
}

static int64_t lowest_wall_ms(const struct sim *sim)
{
    int64_t lowest_ms = INT64_MAX;

    for (int i = 0; i < sim->opts.nodes; i++)
        if (sim->run[i] && sim->run[i]->state == RUN_ALIVE && clock_wall_ms(&sim->run[i]->clock) < lowest_ms)
            lowest_ms = clock_wall_ms(&sim->run[i]->clock);
    return lowest_ms;
}

/* The second had been handed over, as the server says that is gone; the node may have heard nothing of it. */
static bool is_planned_anew(const struct sim *sim, const struct fire *lost)
{
    for (size_t i = 0; i < sim->db->log_count; i++) {
        const struct memory_log *row = &sim->db->logs[i];

        if (row->exists && row->fire.job_id == lost->job_id && row->fire.original_due_s == lost->original_due_s)
            return true;
    }
    return false;
}

/* The move of the cursor to it may be of unknown outcome, and all epochs are raised before anybody looks. */
static bool is_last_before_reshard(const struct sim *sim, int64_t second_s)
{
    for (size_t i = 0; i < sim->db->reshard_count; i++)
        if (sim->db->resharded_s[i] == second_s)
            return true;
    return false;
}

static void check_row(struct sim *sim, const struct memory_log *row, int64_t old_ms)
{
    const struct fire *f = &row->fire;
    const char *message = row->message ? row->message : "";

    if (row->cancelled && row->arrivals)
        sim_violate(sim, "sent-has-its-row", "log %" PRId64 " was sent, and its row removed", f->log_id);
    if (!row->exists && !row->cleared && row->was_sent && f->due_s * 1000 < old_ms &&
        (row->arrivals || !is_planned_anew(sim, f)))
        sim_violate(sim, "sent-has-its-row",
                    "log %" PRId64 " of job %" PRId64 ", due %" PRId64 ", was sent and its row is lost", f->log_id,
                    f->job_id, f->due_s);
    if (!row->exists)
        return;
    if (row->trigger_code == 0 && row->handle_code == 0 && f->due_s * 1000 < old_ms && !row->held)
        sim_violate(sim, "nothing-open-too-long",
                    "log %" PRId64 " of job %" PRId64 ", due %" PRId64 ", epoch %" PRId64 ", has no end (%d arrivals)",
                    f->log_id, f->job_id, f->due_s, f->epoch, row->arrivals);
    if (row->is_unknown && sim->opts.calm && !is_last_before_reshard(sim, f->due_s))
        sim_violate(sim, "calm-loses-nothing",
                    "log %" PRId64 " of job %" PRId64 ", due %" PRId64 ", epoch %" PRId64
                    ", ended as unknown (%d arrivals), and no node was harmed",
                    f->log_id, f->job_id, f->due_s, f->epoch, row->arrivals);
    if (row->trigger_code != row->first_code)
        sim_violate(sim, "row-says-what-happened", "log %" PRId64 " ended with code %d, and then with %d", f->log_id,
                    row->first_code, row->trigger_code);
    if (row->trigger_code == 200 && !row->arrivals)
        sim_violate(sim, "row-says-what-happened", "log %" PRId64 " is reported as delivered and did not arrive",
                    f->log_id);
    /* One that was sent again may have arrived before. */
    if (row->trigger_code == 500 && row->arrivals && !sim->opts.resend && strstr(message, "not sent:"))
        sim_violate(sim, "row-says-what-happened", "log %" PRId64 " is reported as not sent and arrived: %s", f->log_id,
                    message);
}

static bool is_by_schedule(const struct memory_log *row)
{
    return row->fire.kind == TRIGGER_CRON || row->fire.kind == TRIGGER_MISFIRE;
}

/* The one fire of the misfire rule, a minute and more behind an edit that wrote the next time back, may stand for the
 * due time that was the last before: what has fired since then is not asked for. */
static bool is_named_again(const struct memory_log *a, const struct memory_log *b)
{
    return a->edits != b->edits && (a->fire.kind == TRIGGER_MISFIRE || b->fire.kind == TRIGGER_MISFIRE);
}

static void check_rows(struct sim *sim)
{
    struct memory_db *db = sim->db;
    const struct memory_log **rows = calloc(db->log_count + 1, sizeof *rows);
    int64_t wall_ms = lowest_wall_ms(sim);
    size_t n = 0;

    if (wall_ms > sim_now_ms(sim))
        wall_ms = sim_now_ms(sim);
    for (size_t i = 0; rows && i < db->log_count; i++) {
        check_row(sim, &db->logs[i], wall_ms - ENDED_AFTER_MS);
        if (db->logs[i].exists || db->logs[i].cleared || db->logs[i].arrivals > 0)
            rows[n++] = &db->logs[i];
    }
    if (!rows)
        abort();
    qsort(rows, n, sizeof *rows, compare_rows);
    for (size_t i = 1; i < n; i++) { /* of later rows: check_later */
        const struct fire *x = &rows[i - 1]->fire, *y = &rows[i]->fire;

        if (is_by_schedule(rows[i]) && is_by_schedule(rows[i - 1]) && x->job_id == y->job_id &&
            rows[i - 1]->generation == rows[i]->generation && x->original_due_s == y->original_due_s &&
            x->shard_index == y->shard_index && !((x->flags | y->flags) & FIRE_LATER) &&
            !is_named_again(rows[i - 1], rows[i]))
            sim_violate(sim, "due-time-has-one-row",
                        "job %" PRId64 ", due %" PRId64 ", was planned twice: logs %" PRId64
                        " (arrived: %d) and %" PRId64 " (%d)",
                        x->job_id, x->original_due_s, x->log_id, rows[i - 1]->arrivals, y->log_id, rows[i]->arrivals);
    }
    free(rows);
}

static void check_later(struct sim *sim)
{
    struct memory_db *db = sim->db;
    int64_t old_s = lowest_wall_ms(sim) / 1000 - PLANNED_AFTER_MS / 1000;

    for (size_t i = 0; i < db->later_count; i++) {
        const struct memory_later *later = &db->later[i];
        const struct memory_log *log = memory_db_find_log(db, later->row.log_id);

        if (later->plans > 1 + later->holds)
            sim_violate(sim, "later-row-runs-once", "later row %" PRId64 " was planned %d times", later->row.id,
                        later->plans);
        if (later->exists && !later->row.planned && later->row.due_s < old_s)
            sim_violate(sim, "planned-in-time",
                        "later row %" PRId64 " has been due since %" PRId64 " and is not planned", later->row.id,
                        later->row.due_s);
        if (!later->exists && log && log->exists && log->trigger_code == 0 && log->handle_code == 0)
            sim_violate(sim, "nothing-open-too-long", "later row %" PRId64 " is gone, and log %" PRId64 " has no end",
                        later->row.id, later->row.log_id);
    }
}

static void check_jobs(struct sim *sim)
{
    int64_t now_ms = lowest_wall_ms(sim);

    for (size_t i = 0; i < sim->db->job_count && now_ms != INT64_MAX; i++) {
        const struct memory_job *job = &sim->db->jobs[i];

        if (job->exists && job->running && job->next_ms < now_ms - PLANNED_AFTER_MS)
            sim_violate(sim, "planned-in-time", "job %" PRId64 " has been due since %" PRId64 " and is not planned",
                        job->id, job->next_ms);
    }
}

const char *sim_find_violation(struct sim *sim)
{
    check_rows(sim);
    check_jobs(sim);
    check_later(sim);
    sim_check_calls(sim);
    sim_check_chains_of_lost(sim);
    sim_check_broadcasts(sim);
    if (sim->opts.follows)
        sim_check_followed(sim);
    if (sim->flows)
        sim_check_flows(sim);
    return sim->violation[0] ? sim->violation : NULL;
}

int64_t sim_count_arrivals(struct sim *sim, int64_t job)
{
    int64_t n = 0;

    for (size_t i = 0; i < sim->db->log_count; i++)
        if (sim->db->logs[i].fire.job_id == job)
            n += sim->db->logs[i].arrivals;
    return n;
}

int64_t sim_max_fires_per_minute(struct sim *sim, int64_t job)
{
    int64_t most = 0;

    for (size_t i = 0; i < sim->db->log_count; i++) {
        const struct fire *f = &sim->db->logs[i].fire;
        int64_t n = 0;

        for (size_t k = 0; f->job_id == job && k < sim->db->log_count; k++)
            if (sim->db->logs[k].fire.job_id == job &&
                sim->db->logs[k].fire.original_due_s / 60 == f->original_due_s / 60)
                n += sim->db->logs[k].arrivals;
        most = n > most ? n : most;
    }
    return most;
}

int64_t sim_count_skipped(const struct sim *sim)
{
    return sim->skipped;
}

int64_t sim_max_lateness_ms(struct sim *sim)
{
    return sim->max_lateness_ms;
}
