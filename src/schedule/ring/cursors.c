/* SPDX-License-Identifier: MIT */
/* One move of the cursors of our shards, and what it says of them. */
#include "schedule/ring/ring_impl.h"

void ring_note_taken(struct ring *r)
{
    mutex_lock(&r->lock);
    for (int k = 0; k < r->opts.shards; k++)
        r->taken_epoch[k] = r->shards[k].active ? r->shards[k].epoch : -1;
    mutex_unlock(&r->lock);
}

/* What such a move passes may be too far behind the cursor for the next owner's look back: a note says where it
 * began. */
static bool is_jump(const struct ring_shard *shard, int64_t second_s)
{
    return shard->cursor_s < second_s - RING_JUMP_S;
}

bool ring_move_cursors(struct ring *r, int64_t second_s, size_t *count)
{
    struct errctx ec;
    enum err e;
    size_t n = 0;
    bool jumps = false;

    mutex_lock(&r->lock);
    for (int k = 0; k < r->opts.shards; k++) {
        const struct ring_shard *shard = &r->shards[k];

        if (!shard->active || shard->fenced || second_s > shard->last_s || shard->epoch != r->taken_epoch[k])
            continue;
        jumps = jumps || is_jump(shard, second_s);
        r->moves[n++] = (struct cursor_move){.shard = k, .epoch = shard->epoch};
    }
    mutex_unlock(&r->lock);
    *count = n;
    if (n == 0)
        return true;
    if (!ring_have_session(r))
        return false;
    errctx_clear(&ec);
    if (jumps &&
        !ring_note_result(r, store_note_jumps(r->session, r->moves, n, second_s - RING_JUMP_S, &ec), &ec, "note_jumps",
                          /*is_write=*/true))
        return false;
    e = store_move_cursors(r->session, r->moves, n, second_s, &ec);
    return ring_note_result(r, e, &ec, "move_cursors", /*is_write=*/true);
}

void ring_note_moves(struct ring *r, int64_t second_s, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct cursor_move *move = &r->moves[i];
        struct ring_shard *shard = &r->shards[move->shard];
        bool tell = false;

        mutex_lock(&r->lock);
        if (move->moved && r->floor_s[move->shard] < second_s)
            r->floor_s[move->shard] = second_s;
        if (shard->active && shard->epoch == move->epoch) {
            if (move->moved) {
                if (is_jump(shard, second_s)) {
                    shard->jump_mono_ms = clock_mono_ms(r->clock);
                    shard->jump_from_s = shard->cursor_s;
                }
                if (shard->cursor_s < second_s)
                    shard->cursor_s = second_s;
                tell = second_s >= shard->last_s;
            } else {
                shard->fenced = true;
                tell = true;
            }
        }
        mutex_unlock(&r->lock);
        if (!move->moved)
            counters_add(r->counters, COUNTER_CURSOR_FAILURES, 1);
        if (tell)
            r->opts.changed(r->opts.arg, move->shard);
    }
}
