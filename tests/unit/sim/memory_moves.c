/* SPDX-License-Identifier: MIT */
/* The database in memory: transactions that change flows. Rows of a transaction are copies, which take the place of the
 * rows at its commit. */
#include "sim/memory_db.h"

#include <stdlib.h>
#include <string.h>

#define SILENCE_US INT64_C(2000000) /* as of a claim */
#define LOCK_WAIT_US INT64_C(1000000)
#define LOCK_LOOK_US 5000

static void *grow(void *list, size_t count, size_t size)
{
    void *more = realloc(list, (count + 1) * size);

    if (!more)
        abort();
    return more;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

struct memory_move *memory_begin_move(struct store_session *s)
{
    struct memory_db *db = s->st->db;
    struct memory_move *move = calloc(1, sizeof *move);

    if (!move)
        abort();
    *move = (struct memory_move){
        .next = db->flow_moves, .id = ++db->next_pending, .until_us = fibers_now_us() + SILENCE_US, .st = s->st};
    db->flow_moves = move;
    return move;
}

struct memory_move *memory_find_move(struct memory_db *db, int64_t id)
{
    for (struct memory_move *m = db->flow_moves; m; m = m->next)
        if (m->id == id)
            return m;
    return NULL;
}

static void let_go(struct memory_db *db, struct memory_move *move)
{
    struct memory_move **link = &db->flow_moves;

    while (*link != move)
        link = &(*link)->next;
    *link = move->next;
    for (size_t i = 0; i < move->run_count; i++)
        free(move->runs[i]);
    for (size_t i = 0; i < move->flow_count; i++)
        free(move->flows[i]);
    free(move->runs);
    free(move->flows);
    free(move->shards);
    free(move->log_ids);
    free(move);
}

static int64_t find_epoch(const struct memory_move *move, int64_t run_id)
{
    for (size_t i = 0; i < move->shard_count; i++)
        if (move->n && run_id % move->n == move->shards[i].shard)
            return move->shards[i].epoch;
    return 0;
}

static void commit(struct memory_db *db, struct memory_move *move)
{
    for (size_t i = 0; i < move->log_count; i++) {
        db->logs[move->log_ids[i] - 1].exists = true;
        db->logs[move->log_ids[i] - 1].made_us = fibers_now_us();
    }
    for (size_t i = 0; i < move->run_count; i++) {
        struct memory_flow_run *row = &db->flow_runs[move->runs[i]->row.id - 1];

        if (db->moved)
            db->moved(db->arg, move->st, row, move->runs[i], find_epoch(move, move->runs[i]->row.id), move->n);
        *row = *move->runs[i];
    }
    for (size_t i = 0; i < move->flow_count; i++)
        db->flows[move->flows[i]->id - 1] = *move->flows[i];
    let_go(db, move);
}

void memory_roll_back_move(struct memory_db *db, int64_t id)
{
    struct memory_move *move = memory_find_move(db, id);

    if (move)
        let_go(db, move);
}

void memory_end_overdue_moves(struct memory_db *db)
{
    for (struct memory_move *m = db->flow_moves, *next; m; m = next) {
        next = m->next;
        if (m->until_us > fibers_now_us())
            continue;
        if (m->carry_out)
            commit(db, m);
        else
            let_go(db, m);
    }
}

enum err memory_end_move(struct store_session *s, int64_t id, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    struct memory_move *move;
    enum fate fate;

    memory_end_overdue(db);
    move = memory_find_move(db, id);
    if (!move)
        return err_set(ec, ERR_LOST, "the server has ended the session");
    fate = memory_draw_fate(s);
    switch (fate) {
    case FATE_DONE:
    case FATE_UNKNOWN_DONE: commit(db, move); break;
    case FATE_LOST:
    case FATE_CONFLICT:
    case FATE_UNKNOWN_NOT: let_go(db, move); break;
    case FATE_UNKNOWN_LATER:
        move->carry_out = fibers_chance(500);
        move->until_us = fibers_now_us() + (int64_t)fibers_draw(1500000);
        break;
    }
    return memory_end(s, fate, ec);
}

void memory_free_flows(struct memory_db *db)
{
    while (db->flow_moves)
        let_go(db, db->flow_moves);
    free(db->flows);
    free(db->flow_runs);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

bool memory_is_shared(const struct memory_db *db, int shard)
{
    for (const struct memory_move *m = db->flow_moves; m; m = m->next)
        for (size_t i = 0; i < m->shard_count; i++)
            if (m->shards[i].shard == shard)
                return true;
    return false;
}

bool memory_is_making(const struct memory_db *db, int64_t log_id)
{
    for (const struct memory_move *m = db->flow_moves; m; m = m->next)
        for (size_t i = 0; i < m->log_count; i++)
            if (m->log_ids[i] == log_id)
                return true;
    return false;
}

static bool is_run_of(const struct memory_move *move, int64_t id)
{
    for (size_t i = 0; i < move->run_count; i++)
        if (move->runs[i]->row.id == id)
            return true;
    return false;
}

static bool is_flow_of(const struct memory_move *move, int64_t id)
{
    for (size_t i = 0; i < move->flow_count; i++)
        if (move->flows[i]->id == id)
            return true;
    return false;
}

static bool is_held(const struct memory_db *db, const struct memory_move *by, int64_t run_id, int64_t flow_id)
{
    if (!memory_holds(db, RULE_MOVE_LOCKS_RUNS))
        return false;
    for (const struct memory_move *m = db->flow_moves; m; m = m->next)
        if (m != by && ((run_id && is_run_of(m, run_id)) || (flow_id && is_flow_of(m, flow_id))))
            return true;
    return false;
}

struct memory_flow_run *memory_move_run(struct memory_db *db, struct memory_move *move, int64_t id)
{
    struct memory_flow_run *copy;

    for (size_t i = 0; i < move->run_count; i++)
        if (move->runs[i]->row.id == id)
            return move->runs[i];
    if (id < 1 || (size_t)id > db->flow_run_count || !db->flow_runs[id - 1].exists)
        return NULL;
    if (is_held(db, move, id, 0)) {
        move->blocked = true;
        return NULL;
    }
    copy = malloc(sizeof *copy);
    if (!copy)
        abort();
    *copy = db->flow_runs[id - 1];
    move->runs = grow(move->runs, move->run_count, sizeof *move->runs);
    move->runs[move->run_count++] = copy;
    return copy;
}

struct memory_flow *memory_move_flow(struct memory_db *db, struct memory_move *move, int64_t id)
{
    struct memory_flow *copy;

    for (size_t i = 0; i < move->flow_count; i++)
        if (move->flows[i]->id == id)
            return move->flows[i];
    if (id < 1 || (size_t)id > db->flow_count)
        return NULL;
    if (is_held(db, move, 0, id)) {
        move->blocked = true;
        return NULL;
    }
    copy = malloc(sizeof *copy);
    if (!copy)
        abort();
    *copy = db->flows[id - 1];
    move->flows = grow(move->flows, move->flow_count, sizeof *move->flows);
    move->flows[move->flow_count++] = copy;
    return copy;
}

/* Its id is never given again, whatever becomes of the transaction. */
struct memory_flow_run *memory_move_new_run(struct memory_db *db, struct memory_move *move)
{
    struct memory_flow_run *run = calloc(1, sizeof *run);

    if (!run)
        abort();
    db->flow_runs = grow(db->flow_runs, db->flow_run_count, sizeof *db->flow_runs);
    db->flow_runs[db->flow_run_count] = (struct memory_flow_run){.row.id = (int64_t)db->flow_run_count + 1};
    run->exists = true;
    run->row.id = (int64_t)++db->flow_run_count;
    move->runs = grow(move->runs, move->run_count, sizeof *move->runs);
    move->runs[move->run_count++] = run;
    return run;
}

static enum err wait_row(struct store_session *s, int64_t move_id, int64_t run_id, int64_t flow_id, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    int64_t until_us = fibers_now_us() + LOCK_WAIT_US;

    for (;;) {
        struct memory_move *move;

        memory_end_overdue(db);
        move = memory_find_move(db, move_id);
        if (!move)
            return err_set(ec, ERR_LOST, "the server has ended the session");
        if (!is_held(db, move, run_id, flow_id))
            break;
        if (fibers_now_us() >= until_us) {
            memory_roll_back_move(db, move_id);
            return err_set(ec, ERR_CONFLICT, "lock wait timeout");
        }
        fibers_sleep_us(LOCK_LOOK_US);
    }
    return ERR_OK;
}

enum err memory_wait_run(struct store_session *s, int64_t move_id, int64_t run_id, struct errctx *ec)
{
    return wait_row(s, move_id, run_id, 0, ec);
}

enum err memory_wait_flow(struct store_session *s, int64_t move_id, int64_t flow_id, struct errctx *ec)
{
    return wait_row(s, move_id, 0, flow_id, ec);
}
