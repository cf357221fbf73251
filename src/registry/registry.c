/* SPDX-License-Identifier: MIT */
#include "registry/state.h"
#include "shardwheel/text.h"

#include <stdlib.h>
#include <string.h>

enum err registry_create(struct store *store, const struct clock *clock, struct counters *counters,
                         struct registry **out, struct errctx *ec)
{
    struct registry *r = calloc(1, sizeof *r);
    if (!r)
        return err_set(ec, ERR_NOMEM, "out of memory for the registry");
    r->store = store;
    r->clock = clock;
    r->counters = counters;
    mutex_init(&r->lock, LOCK_REGISTRY);
    mutex_init(&r->snap_lock, LOCK_LEAF);
    worker_init(&r->worker, clock);
    beats_init(&r->queue, QUEUE_MAX);
    generations_init(&r->generations);
    *out = r;
    return ERR_OK;
}

void registry_destroy(struct registry *r)
{
    if (!r)
        return;
    registry_put_snapshot(r->snap);
    group_list_fini(&r->loaded);
    beats_fini(&r->queue);
    generations_fini(&r->generations);
    worker_fini(&r->worker);
    mutex_fini(&r->snap_lock);
    mutex_fini(&r->lock);
    free(r);
}

/* ---- for other threads ------------------------------------------------------------------------------------------ */

static enum err check_text(const char *what, const char *text, size_t max, struct errctx *ec)
{
    if (str_is_blank(text))
        return err_set(ec, ERR_INPUT, "%s is blank", what);
    size_t len = utf8_count(text, strlen(text), /*utf16=*/false); /* as a VARCHAR counts */
    if (len > max)
        return err_set(ec, ERR_INPUT, "%s has %zu characters, %zu are allowed", what, len, max);
    return ERR_OK;
}

enum err registry_submit_beat(struct registry *r, const char *group, const char *key, const char *value, bool remove,
                              struct errctx *ec)
{
    enum err e = check_text("registryGroup", group, 50, ec);
    if (!e)
        e = check_text("registryKey", key, 255, ec);
    if (!e)
        e = check_text("registryValue", value, 255, ec);
    if (e)
        return e;

    int64_t now = clock_mono_ms(r->clock);
    mutex_lock(&r->lock);
    if (worker_is_stopping(&r->worker)) /* under the lock: what came before is in the last batches */
        e = err_set(ec, ERR_STATE, "this node is shutting down");
    else
        e = beats_put(&r->queue, group, key, value, remove, now, ec);
    r->missed = r->missed || e == ERR_BUSY || e == ERR_NOMEM;
    if (!e && (r->queue.count == 1 || r->queue.count == FLOOD_MIN))
        worker_poke(&r->worker);
    mutex_unlock(&r->lock);
    if (!e)
        counters_add(r->counters, COUNTER_BEATS, 1);
    return e;
}

const struct registry_snapshot *registry_get_snapshot(struct registry *r)
{
    mutex_lock(&r->snap_lock);
    const struct registry_snapshot *snap = r->snap;
    if (snap)
        atomic_fetch_add_explicit(&((struct registry_snapshot *)snap)->refs, 1, memory_order_relaxed);
    mutex_unlock(&r->snap_lock);
    return snap;
}

void registry_note_generation(struct registry *r, const char *address, bool trigger_path)
{
    char *trimmed = copy_trimmed(address);
    if (trimmed && *trimmed)
        generations_note(&r->generations, trimmed, trigger_path);
    free(trimmed);
}

bool registry_is_trigger_path(struct registry *r, const char *address)
{
    return generations_has(&r->generations, address);
}

/* ---- the thread -------------------------------------------------------------------------------------------------- */

/* When what is in the queue is to be written. Executors that beat all at once are answered first: the database would
 * take the cores that their answers need. r->lock is held. */
static int64_t find_flush_ms(const struct beat_queue *q)
{
    if (!q->oldest)
        return INT64_MAX;
    if (q->count >= FLOOD_MIN)
        return 0;
    int64_t quiet_ms = q->newest->queued_mono_ms + QUIET_MS;
    int64_t latest_ms = q->oldest->queued_mono_ms + GATHER_MS;
    return quiet_ms < latest_ms ? quiet_ms : latest_ms;
}

static bool has_beats_due(struct registry *r)
{
    mutex_lock(&r->lock);
    bool due = find_flush_ms(&r->queue) <= clock_mono_ms(r->clock);
    mutex_unlock(&r->lock);
    return due;
}

static enum err do_due_work(struct registry *r, struct store_session *s, bool stopping, struct errctx *ec)
{
    bool more = stopping || has_beats_due(r), changed = false;
    enum err e = ERR_OK;

    for (int i = 0; more && !e && (stopping || i < TURN_BATCHES); i++)
        e = work_flush_batch(r, s, &more, ec);
    if (!e)
        e = work_note_missed(r, s, ec);
    if (e || stopping)
        return e;

    int64_t now = clock_mono_ms(r->clock);
    bool monitor = now >= r->next_monitor_ms;
    if (monitor || now >= r->next_recompute_ms) {
        e = work_recompute_lists(r, s, &changed, ec);
        if (e)
            return e;
        r->last_recompute_ms = now;
        r->next_recompute_ms = INT64_MAX;
        r->fruitless = changed || monitor ? 0 : r->fruitless + 1;
        if (monitor)
            r->next_monitor_ms = now + MONITOR_MS;
    }
    if (changed || now >= r->next_snapshot_ms) {
        e = work_refresh_snapshot(r, s, ec);
        r->next_snapshot_ms = now + SNAPSHOT_MS;
    }
    return e;
}

/* Logs the changes between working and failing, and plans the next try. */
static void note_outcome(struct registry *r, enum err e, const struct errctx *ec)
{
    int64_t now = clock_mono_ms(r->clock);
    if (e) {
        r->retry_ms = now + RETRY_MS;
        if (!r->failing)
            log_warn("registry", "event=registry_failing error=%s action=%s", log_quote(ec->text).s,
                     log_quote("heartbeats wait, the last address lists stay in use; tried again every second").s);
        r->failing = true;
        return;
    }
    if (r->failing)
        log_info("registry", "event=registry_working");
    if (now - r->last_success_ms > OUTAGE_MS) {
        r->patient_until_ms = now + PATIENCE_MS;
        registry_note_missed(
            r); /* other nodes may have had the database all the time, but not the beats that wait here */
    }
    r->last_success_ms = now;
    r->failing = false;
}

static int64_t find_wait_ms(struct registry *r)
{
    int64_t due = r->next_snapshot_ms;
    if (r->next_monitor_ms < due)
        due = r->next_monitor_ms;
    if (r->next_recompute_ms < due)
        due = r->next_recompute_ms;
    mutex_lock(&r->lock);
    int64_t flush_ms = find_flush_ms(&r->queue);
    mutex_unlock(&r->lock);
    if (flush_ms < due)
        due = flush_ms;
    return (r->failing ? r->retry_ms : due) - clock_mono_ms(r->clock);
}

static void do_turn(struct registry *r, bool stopping)
{
    struct store_session *s = NULL;
    struct errctx ec = {0};
    enum err e = store_take_session(r->store, SESSION_NORMAL, &s, &ec);
    if (!e)
        e = do_due_work(r, s, stopping, &ec);
    store_give_session(r->store, s);
    note_outcome(r, e, &ec);
}

static int64_t run_turn(void *arg)
{
    struct registry *r = arg;

    if (find_wait_ms(r) <= 0)
        do_turn(r, /*stopping=*/false);
    return find_wait_ms(r);
}

static void end(void *arg)
{
    struct registry *r = arg;

    do_turn(r, /*stopping=*/true);
    mutex_lock(&r->lock);
    size_t left = r->queue.count;
    mutex_unlock(&r->lock);
    if (left)
        log_warn("registry", "event=beats_dropped count=%zu action=%s", left,
                 log_quote("executors send them again within 30 s").s);
}

enum err registry_start(struct registry *r, struct errctx *ec)
{
    struct store_session *s = NULL;
    enum err e = store_take_session(r->store, SESSION_NORMAL, &s, ec);
    if (e)
        return err_wrap(ec, e, "read the executor groups");
    e = work_refresh_snapshot(r, s, ec);
    store_give_session(r->store, s);
    if (e)
        return err_wrap(ec, e, "read the executor groups");

    int64_t now = clock_mono_ms(r->clock);
    r->next_snapshot_ms = now + SNAPSHOT_MS;
    r->next_monitor_ms = now;
    r->next_recompute_ms = INT64_MAX;
    r->last_recompute_ms = now - RECOMPUTE_MS;
    r->patient_until_ms = now + PATIENCE_MS;
    r->last_success_ms = now;
    return worker_start(&r->worker, "registry", run_turn, end, r, ec);
}

WORKER_STOPS(registry)
