/* SPDX-License-Identifier: MIT */
/*
 * Rows that owners of before left open at or before the cursor of a takeover. What was in flight then has been sent
 * after UNKNOWN_AFTER_MS, or was too late to be, and its result has been written. Each takeover leaves a note of its
 * cursor in the database, so that the time goes on when the shard moves again before it is over; a cursor that jumps
 * leaves one too, since what it passes may be too far behind for the next owner's look back. What all of this misses,
 * the failure monitor ends.
 */
#include "schedule/shard/shard_impl.h"
#include "schedule/shard/unknown.h"
#include "shardwheel/store/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SETTLE_NEAR_S 120 /* a fire is sent within 20 s of its cursor's move; rings may lag */

void shard_set_notes(struct shard *shard, struct takeover_note *notes, size_t count)
{
    free(shard->notes);
    shard->notes = notes;
    shard->note_count = count;
    shard->notes_mono_ms = clock_mono_ms(shard->deps.clock);
    shard->settling = shard->near_settled = false;
    shard->settled_to_s = 0;
    shard->jump_mono_ms = 0;
}

/* The ring has noted a jump of our cursor in the database: the note of our epoch stands, and is young again. What the
 * jump passed is ours and in hand, so there is nothing to settle: the note has to stay for as long as the next owner
 * would need it. */
static enum err note_jump(struct shard *shard, struct errctx *ec)
{
    struct ring_shard ring = ring_get_shard(shard->deps.ring, shard->number);
    struct takeover_note *grown;

    if (ring.jump_mono_ms == shard->jump_mono_ms)
        return ERR_OK;
    if (shard->note_count == 0) {
        grown = realloc(shard->notes, sizeof *grown);
        if (!grown)
            return err_set(ec, ERR_NOMEM, "out of memory");
        grown[0] = (struct takeover_note){.epoch = shard->epoch, .cursor_s = ring.jump_from_s};
        shard->notes = grown;
        shard->note_count = 1;
        if (shard->settled_to_s < ring.jump_from_s)
            shard->settled_to_s = ring.jump_from_s;
    }
    if (shard->settling)
        loader_drop(shard->deps.loader, shard->number); /* it may be for the note that is young again */
    shard->settling = false;
    shard->notes[shard->note_count - 1].age_ms = shard->notes_mono_ms - ring.jump_mono_ms;
    shard->jump_mono_ms = ring.jump_mono_ms;
    return ERR_OK;
}

static enum err end_some(struct shard *shard, struct store_session *session, const int64_t *ids, size_t count,
                         enum counter_id counter, const char *what, struct errctx *ec)
{
    size_t ended = 0;
    enum err e = count > 0 ? store_end_unknown(session, ids, count, shard->notes[0].cursor_s, &ended, ec) : ERR_OK;

    for (size_t i = 0; !e && i < count; i++)
        log_fire(SCHEDULE, "event=fire_unknown log_id=%" PRId64 " shard=%d what=%s", ids[i], shard->number, what);
    if (ended > 0)
        log_warn("schedule",
                 "event=delivery_unknown shard=%d epoch=%" PRId64 " fires=%zu first_log=%" PRId64 " what=%s",
                 shard->number, shard->epoch, ended, ids[0], what);
    counters_add(shard->deps.counters, counter, (int64_t)ended);
    return e;
}

/* Ends the rows of that list, which the oldest notes found, as failed: nobody can tell whether they were sent. */
static enum err end_unknown(struct shard *shard, struct store_session *session, const struct fire *list, size_t count,
                            struct errctx *ec)
{
    int64_t *ids = malloc(count * sizeof *ids);
    size_t unwritten;
    enum err e;

    if (!ids)
        return err_set(ec, ERR_NOMEM, "out of memory");
    unwritten = unknown_sort(list, shard->notes[0].cursor_s, ids);
    e = end_some(shard, session, ids, unwritten, COUNTER_FIRES_UNWRITTEN, "results", ec);
    if (!e)
        e = end_some(shard, session, ids + unwritten, count - unwritten, COUNTER_FIRES_UNKNOWN, "deliveries", ec);
    free(ids);
    return e;
}

/* Sends them again, each under its own log id: behind a second that the ring has not passed, under our epoch. */
static void send_again(struct shard *shard, struct fire *list, size_t count)
{
    int64_t due_s = ring_get_passed_s(shard->deps.ring) + 2;

    log_warn("schedule", "event=sent_again shard=%d epoch=%" PRId64 " fires=%zu first_log=%" PRId64, shard->number,
             shard->epoch, count, list->log_id);
    counters_add(shard->deps.counters, COUNTER_FIRES_RESENT, (int64_t)count);
    for (struct fire *fire = list; fire; fire = fire->next) {
        fire->due_s = due_s;
        fire->epoch = shard->epoch;
        fire->flags |= FIRE_RESENT;
        log_fire(SCHEDULE,
                 "event=fire_planned log_id=%" PRId64 " job=%" PRId64 " shard=%d epoch=%" PRId64 " second=%" PRId64
                 " why=sent_again",
                 fire->log_id, fire->job_id, shard->number, fire->epoch, fire->due_s);
    }
    shard_push_all(shard, list);
}

/* How many of the oldest notes are settled as one. Takeovers between which the cursor stood still found the same rows,
 * and the last of them speaks for all. */
static size_t count_due(const struct shard *shard)
{
    int64_t since_ms = clock_mono_ms(shard->deps.clock) - shard->notes_mono_ms;
    size_t n = 0;

    while (n < shard->note_count && shard->notes[n].age_ms + since_ms >= UNKNOWN_AFTER_MS &&
           shard->notes[n].cursor_s == shard->notes[0].cursor_s)
        n++;
    return n;
}

/* Asks for the next rows of the oldest notes. False when there are none to look for.
 *
 * What was in flight stands close to the cursor, so that comes first: in a large log the rest takes its time. All of it
 * begins where the note before ended: its owner loaded what was due in LOOK_AHEAD_S from there, and may have passed it
 * in one jump. Where that leaves a gap to the usual look back, nothing of the gap can be open. */
static bool ask(struct shard *shard)
{
    int64_t cursor_s = shard->notes[0].cursor_s, back_s = cursor_s - SETTLE_BACK_S;
    int64_t from_s = shard->settled_to_s > 0 ? shard->settled_to_s : back_s;
    int64_t to_s = shard->near_settled ? cursor_s - SETTLE_NEAR_S : cursor_s;

    shard->settling_what = SETTLE_REST;
    shard->settling_to_s = cursor_s;
    if (!shard->near_settled && from_s < cursor_s - SETTLE_NEAR_S) {
        shard->settling_what = SETTLE_NEAR;
        from_s = cursor_s - SETTLE_NEAR_S;
    } else if (from_s + LOOK_AHEAD_S < back_s) {
        shard->settling_what = SETTLE_GAP;
        to_s = from_s + LOOK_AHEAD_S;
        shard->settling_to_s = back_s;
    }
    if (from_s >= to_s)
        return false;
    shard->settling = true;
    /* What was planned under our own epoch is in our hands. */
    loader_ask(shard->deps.loader, shard->number,
               &(struct load_ask){.from_s = from_s, .to_s = to_s, .under = shard->epoch, .epoch = shard->epoch});
    return true;
}

/* Ends those rows, or sends them again, and removes the oldest notes when nothing more is to be looked for. Rows that
 * were sent again are still open, and in the range of later notes too: our own memory knows of them by settled_to_s,
 * the next owner is told to wait by putting the notes that stay off. */
static enum err settle(struct shard *shard, struct fire **list, size_t count, struct errctx *ec)
{
    const struct shard_deps *deps = &shard->deps;
    struct store_session *session = NULL;
    const struct takeover_note *note = &shard->notes[shard->settling_count - 1];
    bool again = *list && deps->opts.resend, done = shard->settling_what == SETTLE_REST;
    enum err e = store_take_session(deps->opts.store, SESSION_CLAIM, &session, ec);

    if (e == ERR_OK && *list && !again)
        e = end_unknown(shard, session, *list, count, ec);
    if (e == ERR_OK && (done || again))
        e = store_delete_takeovers(session, shard->number, done ? note->epoch : shard->notes[0].epoch - 1, again, ec);
    store_give_session(deps->opts.store, session);
    if (e)
        return e;
    if (again) {
        send_again(shard, *list, count);
        *list = NULL;
    }
    if (shard->settling_what != SETTLE_NEAR && shard->settled_to_s < shard->settling_to_s)
        shard->settled_to_s = shard->settling_to_s;
    shard->near_settled = !done && (shard->near_settled || shard->settling_what == SETTLE_NEAR);
    if (done) {
        shard->note_count -= shard->settling_count;
        memmove(shard->notes, shard->notes + shard->settling_count, shard->note_count * sizeof *shard->notes);
    }
    return ERR_OK;
}

/* One step: false when there is nothing to do now. */
static enum err go_on(struct shard *shard, bool *more, struct errctx *ec)
{
    struct fire *list = NULL;
    size_t count = 0;
    enum err e = ERR_OK;

    *more = false;
    if (shard->settling) {
        e = loader_take(shard->deps.loader, shard->number, &list, &count, ec);
        if (e)
            return e == ERR_BUSY ? ERR_OK : e;
        shard->settling = false;
    } else {
        shard->settling_count = count_due(shard);
        if (shard->settling_count == 0 || ask(shard))
            return ERR_OK;
    }
    e = settle(shard, &list, count, ec);
    fire_destroy_list(list);
    *more = e == ERR_OK;
    return e;
}

void shard_settle_undelivered(struct shard *shard)
{
    struct errctx ec = {0};
    bool more = true;
    enum err e;

    e = note_jump(shard, &ec);
    while (e == ERR_OK && more)
        e = go_on(shard, &more, &ec);
    if (e)
        shard_log_failure(shard, STEP_SETTLE, &ec);
    else
        shard_log_good(shard, STEP_SETTLE);
}
