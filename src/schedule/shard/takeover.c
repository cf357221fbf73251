/* SPDX-License-Identifier: MIT */
#include "schedule/shard/takeover.h"
#include "schedule/shard/shard_impl.h"
#include "shardwheel/store/plan.h"

#include <inttypes.h>

#define CLOCK_AHEAD_MS 5000

/* Behind it stands what the thread that tells of a server did before. */
static int64_t read_primary(const struct shard *shard)
{
    return atomic_load_explicit(&shard->deps.primary->generation,
                                memory_order_acquire); /* pairs with schedule_on_primary */
}

bool shard_is_elsewhere(const struct shard *shard)
{
    return shard->primary != read_primary(shard);
}

/* The first half of a takeover: writes a new epoch and a note of it, loads all notes that stand, and asks for what is
 * planned beyond the cursor. */
static enum err begin_takeover(struct shard *shard, struct errctx *ec)
{
    const struct shard_deps *deps = &shard->deps;
    struct store_session *session = NULL;
    struct takeover_note *notes = NULL;
    size_t note_count = 0;
    int64_t *highest = &deps->highest_epochs[shard->number];
    int64_t epoch = 0, cursor_s = 0;
    enum err e;

    shard->taken_floor_s = ring_get_floor_s(deps->ring, shard->number);
    e = store_take_session(deps->opts.store, SESSION_CLAIM, &session, ec);
    if (!e)
        e = store_take_shard(session, shard->number, deps->opts.shards, deps->opts.node_name, *highest,
                             shard->taken_floor_s, &epoch, &cursor_s, ec);
    if (!e)
        *highest = epoch;
    if (!e)
        e = store_load_takeovers(session, shard->number, &notes, &note_count, ec);
    store_give_session(deps->opts.store, session);
    if (e)
        return e;
    shard_set_notes(shard, notes, note_count);
    shard->taken_epoch = epoch;
    shard->taken_cursor_s = cursor_s;
    shard->loading = true;
    loader_ask(
        deps->loader, shard->number,
        &(struct load_ask){
            .from_s = cursor_s, .to_s = cursor_s + LOOK_AHEAD_S, .under = INT64_MAX, .epoch = epoch, .urgent = true});
    return ERR_OK;
}

/* The second half: what is planned beyond the cursor goes into the wheel, and the ring may move the cursor. */
static enum err end_takeover(struct shard *shard, struct errctx *ec)
{
    const struct shard_deps *deps = &shard->deps;
    int64_t epoch = shard->taken_epoch, cursor_s = shard->taken_cursor_s;
    struct fire *beyond = NULL;
    size_t loaded = 0;
    enum err e = loader_take(deps->loader, shard->number, &beyond, &loaded, ec);

    if (e)
        return e;
    shard->loading = false;
    recent_take_over(shard->recent, shard->taken_floor_s);
    for (const struct fire *fire = beyond; fire; fire = fire->next)
        log_fire(SCHEDULE,
                 "event=fire_taken_over log_id=%" PRId64 " job=%" PRId64 " shard=%d epoch=%" PRId64 " second=%" PRId64,
                 fire->log_id, fire->job_id, shard->number, epoch, fire->due_s);
    shard_push_all(shard, beyond);
    mutex_lock(&shard->lock);
    shard->epoch = epoch;
    shard->owned_since_ms = shard->shown_until_ms = clock_wall_ms(deps->clock);
    mutex_unlock(&shard->lock);
    /* The cursor does not say that everything up to it was planned: the last owner's claims may have failed for long
     * while its ring went on, or jumped. A claim advances a job and writes its fires at once, so a next time in the
     * past is always unplanned, whatever the cursor. The first owner of all finds what Java admins left; that counts as
     * set by hand. */
    shard->planned_until_ms = epoch > 1 ? 0 : cursor_s * 1000 + 999 - PLAN_CATCH_UP_MS;
    left_out_fini(&shard->left_out);
    left_out_fini(&shard->later_aside);
    delays_fini(&shard->delays);
    shard->delays.rebuild = true;
    shard->cursor_floor_s = cursor_s;
    ring_add_shard(deps->ring, shard->number, epoch, cursor_s);
    if (cursor_s * 1000 > clock_wall_ms(deps->clock) + CLOCK_AHEAD_MS)
        log_error("schedule",
                  "event=cursor_ahead shard=%d cursor=%" PRId64
                  " effect=\"fires that are due before it are sent after it\" why=\"the clock of the last owner was "
                  "ahead of the clock of this node: check NTP on all nodes\"",
                  shard->number, cursor_s);
    counters_add(deps->counters, COUNTER_TAKEOVERS, 1);
    counters_add(deps->counters, COUNTER_FIRES_LOADED, (int64_t)loaded);
    log_info("schedule", "event=takeover shard=%d epoch=%" PRId64 " cursor=%" PRId64 " loaded=%zu", shard->number,
             epoch, cursor_s, loaded);
    return ERR_OK;
}

/* One that began under another grant, or on another server, begins anew: somebody may have owned the shard in between,
 * and that server may know less. */
enum err shard_take_over(struct shard *shard, uint64_t serial, struct errctx *ec)
{
    enum err e = ERR_OK;

    if (!shard->loading || serial != shard->serial || shard_is_elsewhere(shard)) {
        shard->serial = serial;
        shard->primary = read_primary(shard); /* before the session is taken: it may be a later one's */
        shard->loading = false;
        e = begin_takeover(shard, ec);
    }
    return e ? e : end_takeover(shard, ec);
}
