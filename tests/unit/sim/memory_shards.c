/* SPDX-License-Identifier: MIT */
/* The database in memory: shards, cursors, notes of takeovers, nodes, another number of shards. */
#include "sim/memory_db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- takeover ---------------------------------------------------------------------------------------------------- */

void memory_note(struct memory_db *db, int shard, int64_t epoch, int64_t cursor_s)
{
    struct memory_note *grown;

    for (size_t i = 0; i < db->note_count; i++) {
        if (db->notes[i].shard == shard && db->notes[i].epoch == epoch) {
            db->notes[i].taken_ms = memory_db_wall_ms(db);
            db->notes[i].cursor_s = cursor_s;
            return;
        }
    }
    grown = realloc(db->notes, (db->note_count + 1) * sizeof *grown);
    if (!grown)
        abort();
    db->notes = grown;
    db->notes[db->note_count++] = (struct memory_note){shard, epoch, cursor_s, memory_db_wall_ms(db)};
}

/* A note of that epoch that stands keeps its cursor. */
static void note_jump(struct memory_db *db, int shard, int64_t epoch, int64_t cursor_s)
{
    for (size_t i = 0; i < db->note_count; i++)
        if (db->notes[i].shard == shard && db->notes[i].epoch == epoch)
            cursor_s = db->notes[i].cursor_s;
    memory_note(db, shard, epoch, cursor_s);
}

void memory_take_over(struct memory_db *db, int shard, int64_t epoch, int64_t cursor_s, const char *owner)
{
    struct memory_shard *row = &db->shard[shard];

    row->epoch = epoch;
    if (memory_holds(db, RULE_TAKEOVER_RAISES_BOTH_EPOCHS))
        row->cursor_epoch = epoch;
    row->cursor_s = cursor_s;
    snprintf(row->owner, sizeof row->owner, "%s", owner);
    memory_note(db, shard, epoch, row->cursor_s);
}

/* The commit's outcome is unknown and decided later; the row stays locked until then. */
static void take_over_later(struct store_session *s, int shard, int64_t epoch, int64_t cursor_s, const char *owner)
{
    struct memory_db *db = s->st->db;
    struct memory_claim *claim = calloc(1, sizeof *claim);

    if (!claim)
        abort();
    *claim = (struct memory_claim){.next = db->pending,
                                   .id = ++db->next_pending,
                                   .until_us = fibers_now_us() + (int64_t)fibers_draw(1500000),
                                   .carry_out = fibers_chance(500),
                                   .st = s->st,
                                   .shard = shard,
                                   .epoch = epoch,
                                   .cursor_s = cursor_s};
    snprintf(claim->owner, sizeof claim->owner, "%s", owner);
    db->pending = claim;
    db->shard[shard].pending = claim->id;
}

enum err store_take_shard(struct store_session *s, int shard, int n, const char *owner, int64_t above, int64_t floor_s,
                          int64_t *epoch, int64_t *cursor_s, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    struct memory_shard *row = &db->shard[shard];
    enum err e = memory_reach(s, ec);
    int64_t next, cursor;
    enum fate fate;

    if (!e)
        e = memory_wait_shard(s, shard, ec);
    if (!e && db->shards != n && memory_holds(db, RULE_TAKEOVER_CHECKS_NUMBER))
        e = err_set(ec, ERR_STATE, "the cluster works with %d shards", db->shards);
    if (e)
        return e;
    next = row->epoch > row->cursor_epoch ? row->epoch : row->cursor_epoch;
    next = (next > above ? next : above) + 1;
    cursor = row->cursor_s > floor_s ? row->cursor_s : floor_s;
    fate = memory_draw_fate(s);
    if (fate == FATE_DONE || fate == FATE_UNKNOWN_DONE)
        memory_take_over(db, shard, next, cursor, owner);
    else if (fate == FATE_UNKNOWN_LATER)
        take_over_later(s, shard, next, cursor, owner);
    e = memory_end(s, fate, ec);
    if (e)
        return e;
    *epoch = next;
    *cursor_s = cursor;
    return ERR_OK;
}

/* ---- cursors ----------------------------------------------------------------------------------------------------- */

/* A takeover under way holds the row of the cursor. */
static bool is_cursor_locked(struct memory_db *db, int shard)
{
    const struct memory_claim *claim = memory_find_claim(db, db->shard[shard].pending);

    return claim && !claim->steps && !claim->later;
}

static bool move_cursor(struct memory_db *db, const struct cursor_move *move, int64_t second_s)
{
    struct memory_shard *row = &db->shard[move->shard];

    if (is_cursor_locked(db, move->shard) ||
        (row->cursor_epoch != move->epoch && memory_holds(db, RULE_CURSOR_CHECKS_EPOCH)))
        return false;
    if (row->cursor_s < second_s || !memory_holds(db, RULE_CURSOR_NEVER_FALLS))
        row->cursor_s = second_s;
    return true;
}

enum err store_move_cursors(struct store_session *s, struct cursor_move *moves, size_t count, int64_t second_s,
                            struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    enum fate fate;
    bool go;
    enum err e;

    for (size_t i = 0; i < count; i++)
        moves[i].moved = false;
    if (count == 0)
        return ERR_OK;
    e = memory_begin(s, &go, &fate, ec);
    if (e == ERR_CONFLICT && !db->calm) /* each by itself, and none could be moved */
        return ERR_OK;
    if (e == ERR_CONFLICT) {
        e = ERR_OK;
        fate = FATE_DONE;
        go = true;
    }
    for (size_t i = 0; i < count && go; i++)
        moves[i].moved = move_cursor(db, &moves[i], second_s);
    for (size_t i = 0; i < count; i++)
        if (moves[i].moved)
            s->st->moved_us = fibers_now_us();
    return e ? e : memory_end(s, fate, ec);
}

enum err store_load_shards(struct store_session *s, struct shard_row **out, size_t *count, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    enum err e = memory_reach(s, ec);
    struct shard_row *rows;

    if (e)
        return e;
    rows = calloc((size_t)db->shards, sizeof *rows);
    if (!rows)
        abort();
    for (int k = 0; k < db->shards; k++) {
        rows[k] = (struct shard_row){.shard = k, .epoch = db->shard[k].epoch, .cursor_s = db->shard[k].cursor_s};
        memcpy(rows[k].owner, db->shard[k].owner, sizeof rows[k].owner);
    }
    *out = rows;
    *count = (size_t)db->shards;
    return ERR_OK;
}

/* ---- notes ------------------------------------------------------------------------------------------------------- */

static int compare_notes(const void *a, const void *b)
{
    const struct takeover_note *x = a, *y = b;

    return compare_int64(&x->epoch, &y->epoch);
}

enum err store_load_takeovers(struct store_session *s, int shard, struct takeover_note **out, size_t *count,
                              struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    struct takeover_note *list = NULL;
    size_t n = 0;
    enum err e = memory_reach(s, ec);

    if (e)
        return e;
    for (size_t i = 0; i < db->note_count; i++)
        n += db->notes[i].shard == shard;
    list = n ? calloc(n, sizeof *list) : NULL;
    n = 0;
    for (size_t i = 0; list && i < db->note_count; i++) {
        int64_t age_ms = memory_db_wall_ms(db) - db->notes[i].taken_ms;

        if (db->notes[i].shard == shard)
            list[n++] = (struct takeover_note){db->notes[i].epoch, db->notes[i].cursor_s, age_ms > 0 ? age_ms : 0};
    }
    if (list)
        qsort(list, n, sizeof *list, compare_notes);
    e = memory_answer(s, /*wrote=*/false, ec);
    if (e) {
        free(list);
        return e;
    }
    *out = list;
    *count = n;
    return ERR_OK;
}

enum err store_note_jumps(struct store_session *s, const struct cursor_move *moves, size_t count, int64_t below_s,
                          struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    enum fate fate;
    bool go;
    enum err e = count > 0 ? memory_begin(s, &go, &fate, ec) : ERR_OK;

    if (e || count == 0)
        return e;
    for (size_t i = 0; i < count; i++) {
        const struct memory_shard *row = &db->shard[moves[i].shard];

        if (row->cursor_epoch == moves[i].epoch && row->cursor_s < below_s)
            note_jump(db, moves[i].shard, moves[i].epoch, row->cursor_s);
    }
    return memory_end(s, fate, ec);
}

enum err store_delete_takeovers(struct store_session *s, int shard, int64_t epoch, bool put_off, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    enum fate fate;
    size_t kept = 0;
    bool go;
    enum err e = memory_begin(s, &go, &fate, ec);

    if (e)
        return e;
    for (size_t i = 0; i < db->note_count; i++) {
        struct memory_note note = db->notes[i];

        if (note.shard == shard && note.epoch <= epoch)
            continue;
        if (note.shard == shard && put_off)
            note.taken_ms = memory_db_wall_ms(db);
        db->notes[kept++] = note;
    }
    db->note_count = kept;
    return memory_end(s, fate, ec);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static struct memory_node *find_node(struct memory_db *db, const char *incarnation, bool make)
{
    struct memory_node *free_row = NULL;

    for (size_t i = 0; i < ARRAY_LEN(db->nodes); i++) {
        if (db->nodes[i].exists && strcmp(db->nodes[i].incarnation, incarnation) == 0)
            return &db->nodes[i];
        if (!db->nodes[i].exists && !free_row)
            free_row = &db->nodes[i];
    }
    if (!make)
        return NULL;
    if (!free_row)
        abort();
    *free_row = (struct memory_node){.exists = true, .release_shard = -1};
    snprintf(free_row->incarnation, sizeof free_row->incarnation, "%s", incarnation);
    return free_row;
}

enum err store_load_cluster(struct store_session *s, const char *incarnation, struct cluster_view *out,
                            struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    const struct memory_node *row;
    struct cluster_view view;
    enum err e = memory_reach(s, ec);

    if (e)
        return e;
    row = find_node(db, incarnation, /*make=*/false);
    view = (struct cluster_view){.now_ms = memory_db_wall_ms(db),
                                 .shards = db->shards,
                                 .wish = db->wish,
                                 .known = row != NULL,
                                 .drain = row && row->drain,
                                 .release_shard = row ? row->release_shard : -1};
    e = memory_answer(s, /*wrote=*/false, ec);
    if (!e)
        *out = view;
    return e;
}

enum err store_write_beat(struct store_session *s, const struct node_beat *beat, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    struct memory_node *row;
    enum fate fate;
    bool go;
    enum err e = memory_begin(s, &go, &fate, ec);

    if (e)
        return e;
    row = find_node(db, beat->incarnation, /*make=*/false);
    if (!row) {
        row = find_node(db, beat->incarnation, /*make=*/true);
        row->drain = beat->drain;
    } else if (row->release_shard == beat->released) {
        row->release_shard = -1;
    }
    row->beat_ms = memory_db_wall_ms(db);
    row->started_ms = beat->started_ms;
    return memory_end(s, fate, ec);
}

enum err store_forget_nodes(struct store_session *s, int64_t older_than_ms, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    enum fate fate;
    bool go;
    enum err e = memory_begin(s, &go, &fate, ec);

    if (e)
        return e;
    for (size_t i = 0; i < ARRAY_LEN(db->nodes); i++)
        if (db->nodes[i].beat_ms < memory_db_wall_ms(db) - older_than_ms)
            db->nodes[i].exists = false;
    return memory_end(s, fate, ec);
}

enum err store_delete_node(struct store_session *s, const char *incarnation, struct errctx *ec)
{
    struct memory_node *row;
    enum fate fate;
    bool go;
    enum err e = memory_begin(s, &go, &fate, ec);

    if (e)
        return e;
    row = find_node(s->st->db, incarnation, /*make=*/false);
    if (row)
        row->exists = false;
    return memory_end(s, fate, ec);
}

/* ---- another number of shards ------------------------------------------------------------------------------------ */

static int64_t choose_second(struct memory_db *db)
{
    int64_t highest_s = memory_db_wall_ms(db) / 1000;

    for (int k = 0; k < db->shards; k++)
        if (db->shard[k].cursor_s > highest_s)
            highest_s = db->shard[k].cursor_s;
    return highest_s + RESHARD_AHEAD_S;
}

enum err store_ask_reshard(struct store_session *s, int n, const struct audit_row *audit, struct reshard_wish *out,
                           struct errctx *ec)
{
    (void)audit;
    struct memory_db *db = s->st->db;
    enum err e = memory_reach(s, ec);

    if (e)
        return e;
    if (db->wish.shards)
        return err_set(ec, ERR_CONFLICT, "a change is under way");
    if (db->shards == n)
        return err_set(ec, ERR_STATE, "nothing to do");
    db->wish = (struct reshard_wish){.shards = n, .last_s = choose_second(db), .tries = 1};
    *out = db->wish;
    return memory_answer(s, /*wrote=*/true, ec);
}

static void change_number(struct memory_db *db, const struct reshard_wish *wish)
{
    int most = db->shards > wish->shards ? db->shards : wish->shards;
    int64_t epoch = 0;

    for (int k = 0; k < STORE_SHARDS_MAX; k++) {
        epoch = db->shard[k].epoch > epoch ? db->shard[k].epoch : epoch;
        epoch = db->shard[k].cursor_epoch > epoch ? db->shard[k].cursor_epoch : epoch;
    }
    epoch += memory_holds(db, RULE_RESHARD_RAISES_EPOCHS);
    for (int k = 0; k < most; k++)
        db->shard[k] = (struct memory_shard){epoch, epoch, wish->last_s, "", 0};
    db->note_count = 0;
    for (int k = 0; k < wish->shards; k++)
        memory_note(db, k, epoch, wish->last_s);
    db->shards = wish->shards;
    db->wish.shards = 0;
    if (db->reshard_count < ARRAY_LEN(db->resharded_s))
        db->resharded_s[db->reshard_count++] = wish->last_s;
}

/* With every row of shards and cursors locked. */
static void decide(struct memory_db *db, const struct reshard_wish *wish, struct reshard_step *out)
{
    bool there = true;

    for (int k = 0; k < db->shards; k++)
        there &= db->shard[k].cursor_s == wish->last_s;
    if (there) {
        out->outcome = RESHARD_DONE;
        change_number(db, wish);
    } else if (memory_db_wall_ms(db) <= wish->last_s * 1000 + RESHARD_PATIENCE_MS) {
        out->outcome = RESHARD_WAITING;
    } else if (wish->tries >= RESHARD_TRIES) {
        out->outcome = RESHARD_GIVEN_UP;
        db->wish.shards = 0;
    } else {
        out->outcome = RESHARD_POSTPONED;
        db->wish.last_s = out->last_s = choose_second(db);
        db->wish.tries++;
    }
}

enum err store_step_reshard(struct store_session *s, const struct reshard_wish *wish, struct reshard_step *out,
                            struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    struct reshard_step step = {.outcome = RESHARD_WAITING, .last_s = wish->last_s};
    enum fate fate;
    bool go;
    enum err e = memory_begin(s, &go, &fate, ec);

    for (int k = 0; k < db->shards && !e; k++)
        e = memory_wait_shard(s, k, ec);
    if (e)
        return e;
    /* Waiting for one row may have let another one be locked. */
    for (int k = 0; k < db->shards; k++)
        if (db->shard[k].pending || memory_is_shared(db, k))
            return err_set(ec, ERR_CONFLICT, "lock wait timeout");
    step.shards = db->shards;
    if (db->wish.shards != wish->shards || db->wish.last_s != wish->last_s || db->wish.tries != wish->tries)
        step.outcome = RESHARD_GONE;
    else
        decide(db, wish, &step);
    e = memory_end(s, fate, ec);
    if (!e)
        *out = step;
    return e;
}
