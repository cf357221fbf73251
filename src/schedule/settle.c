/* SPDX-License-Identifier: MIT */
/*
 * Rows that owners of before left open at or before the cursor of a takeover. What was in flight then has been sent after
 * UNKNOWN_AFTER_MS, or was too late to be, and its result has been written. Each takeover leaves a note of its cursor in
 * the database, so that the time goes on when the shard moves again before it is over.
 */
#include "schedule/shard_impl.h"
#include "shardwheel/store/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void shard_set_notes(struct shard *shard, struct takeover_note *notes, size_t count)
{
    free(shard->notes);
    shard->notes = notes;
    shard->note_count = count;
    shard->notes_mono_ms = clock_mono_ms(shard->deps.clock);
    shard->settled_to_s = 0;
}

/* Ends the rows of that list as failed: nobody can tell whether they were sent. */
static enum err end_unknown(struct shard *shard, struct store_session *session, const struct fire *list, size_t count,
                            struct errctx *ec)
{
    int64_t *ids = malloc(count * sizeof *ids);
    size_t n = 0, ended = 0;
    enum err e;

    if (!ids)
        return err_set(ec, ERR_NOMEM, "out of memory");
    for (; list; list = list->next)
        ids[n++] = list->log_id;
    qsort(ids, n, sizeof *ids, compare_int64);
    e = store_end_unknown(session, ids, n, &ended, ec);
    if (e == ERR_OK && ended > 0)
        log_warn("schedule", "event=delivery_unknown shard=%d epoch=%" PRId64 " fires=%zu first_log=%" PRId64,
                 shard->number, shard->epoch, ended, ids[0]);
    if (e == ERR_OK)
        counters_add(shard->deps.counters, COUNTER_FIRES_UNKNOWN, (int64_t)ended);
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
    }
    shard_push_all(shard, list);
}

/* How many of the oldest notes are settled as one. Takeovers between which the cursor stood still found the same rows, and the
 * last of them speaks for all. */
static size_t count_due(const struct shard *shard)
{
    int64_t since_ms = clock_mono_ms(shard->deps.clock) - shard->notes_mono_ms;
    size_t n = 0;

    while (n < shard->note_count && shard->notes[n].age_ms + since_ms >= UNKNOWN_AFTER_MS &&
           shard->notes[n].cursor_s == shard->notes[0].cursor_s)
        n++;
    return n;
}

/* Rows that an earlier note covers were settled with it. Those that were sent again are still open, and in the range of later
 * notes too: our own memory knows of them by settled_to_s, the next owner is told to wait by putting those notes off. */
static enum err settle(struct shard *shard, struct store_session *session, const struct takeover_note *note,
                       struct errctx *ec)
{
    const struct shard_deps *deps = &shard->deps;
    struct fire *list = NULL;
    size_t count = 0;
    bool again;
    enum err e = store_load_before(session, shard->number, deps->shards, note->epoch, note->cursor_s,
                                   shard->settled_to_s, &list, &count, ec);

    again = list && deps->resend;
    if (e == ERR_OK && list && !again)
        e = end_unknown(shard, session, list, count, ec);
    if (e == ERR_OK)
        e = store_delete_takeovers(session, shard->number, note->epoch, again, ec);
    if (e == ERR_OK && again) {
        send_again(shard, list, count);
        list = NULL;
    }
    if (e == ERR_OK && shard->settled_to_s < note->cursor_s)
        shard->settled_to_s = note->cursor_s;
    fire_destroy_list(list);
    return e;
}

void shard_settle_undelivered(struct shard *shard)
{
    const struct shard_deps *deps = &shard->deps;
    struct store_session *session = NULL;
    struct errctx ec;
    size_t n = count_due(shard);
    enum err e;

    if (n == 0)
        return;
    errctx_clear(&ec);
    e = store_take_session(deps->store, SESSION_CLAIM, &session, &ec);
    for (; e == ERR_OK && n > 0; n = count_due(shard)) {
        e = settle(shard, session, &shard->notes[n - 1], &ec);
        if (e == ERR_OK) {
            shard->note_count -= n;
            memmove(shard->notes, shard->notes + n, shard->note_count * sizeof *shard->notes);
        }
    }
    store_give_session(deps->store, session);
    if (e)
        shard_log_failure(shard, "settle_undelivered", &ec);
}
