/* SPDX-License-Identifier: MIT */
/* The database in memory: a move of flow runs, as store/flow/move*.c has it. */
#include "sim/memory_db.h"
#include "shardwheel/job/codes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void flow_changes_fini(struct flow_changes *c)
{
    fire_destroy_list(c->fires);
    for (struct flow_new_run *run = c->new_runs, *next; run; run = next) {
        next = run->next;
        free(run->parameters);
        free(run);
    }
    free(c->steps);
    free(c->items);
    free(c->ended);
    free(c->closed);
    free(c->forgotten);
    free(c->again);
    free(c->asks);
    free(c->cancelled);
    free(c->notes);
    free(c->kills);
    for (size_t i = 0; i < c->memory_count; i++)
        free(c->memory[i]);
    free(c->memory);
    *c = (struct flow_changes){0};
}

/* ---- what a move is given ---------------------------------------------------------------------------------------- */

/* Lists of one run, as a move reads them. */
struct given {
    struct flow_moving moving;
    struct flow_step_row steps[MEMORY_FLOW_STEPS];
    struct flow_item_row items[MEMORY_FLOW_ITEMS];
    struct flow_fire_end ends[2 * MEMORY_FLOW_ITEMS];
    struct flow_ask asks[40];
    struct flow_flight flights[MEMORY_FLOW_STEPS];
    struct flow_wake wake;
    struct flow_item_result results[MEMORY_FLOW_ITEMS];
};

static bool is_among(const int64_t *ids, size_t count, int64_t id)
{
    return count > 0 && bsearch(&id, ids, count, sizeof *ids, compare_int64) != NULL;
}

static void give_ends(struct memory_db *db, const struct memory_flow_run *run, const struct flow_move_order *order,
                      struct given *g)
{
    for (size_t i = 0; i < ARRAY_LEN(run->fires); i++) {
        const struct memory_flow_fire *fire = &run->fires[i];
        const struct memory_log *log = memory_db_find_log(db, fire->log_id);
        struct flow_fire_end end = {
            .run_id = run->row.id, .log_id = fire->log_id, .step = fire->step, .item = fire->item};
        bool sent = log && (log->trigger_code == CODE_OPEN || log->trigger_code == CODE_OK);

        if (!fire->log_id || !is_among(order->ended_logs, order->ended_count, fire->log_id))
            continue;
        end.gone = !log || !log->exists;
        if (!end.gone && sent && log->handle_code == CODE_OPEN)
            continue;
        if (!end.gone) {
            end.trigger_code = log->trigger_code;
            end.handle_code = log->handle_code;
            end.address = log->address;
            end.said = log->said;
        }
        g->ends[g->moving.end_count++] = end;
    }
}

static bool is_end(const struct given *g, int64_t log_id)
{
    for (size_t i = 0; i < g->moving.end_count; i++)
        if (g->ends[i].log_id == log_id)
            return true;
    return false;
}

static void give_items(const struct memory_flow_run *run, int64_t now_ms, struct given *g)
{
    bool some = false;

    for (size_t i = 0; i < g->moving.step_count; i++)
        some |= g->steps[i].items > 0 && g->steps[i].now.state == FLOW_RUNNING;
    for (int step = 0; step < MEMORY_FLOW_STEPS && some; step++) {
        int count = 0;

        for (size_t i = 0; i < ARRAY_LEN(run->fires); i++)
            count += run->fires[i].log_id && run->fires[i].item >= 0 && run->fires[i].step == step;
        if (count)
            g->flights[g->moving.flight_count++] = (struct flow_flight){run->row.id, step, count};
    }
    for (size_t i = 0; i < ARRAY_LEN(run->items) && some; i++) {
        const struct flow_item_row *item = &run->items[i].row;

        if (!run->items[i].exists)
            continue;
        if ((item->now.wake_ms && item->now.wake_ms <= now_ms) || is_end(g, item->now.log_id))
            g->items[g->moving.item_count++] = *item;
        if (item->now.wake_ms > now_ms && (!g->moving.wake_count || item->now.wake_ms < g->wake.wake_ms)) {
            g->wake = (struct flow_wake){run->row.id, item->now.wake_ms};
            g->moving.wake_count = 1;
        }
    }
}

static void give_results(const struct memory_flow_run *run, struct given *g)
{
    for (size_t i = 0; i < g->moving.step_count; i++) {
        const struct flow_step_row *step = &g->steps[i];

        if (step->items == 0 || step->now.state != FLOW_RUNNING || step->items_ended < step->items)
            continue;
        for (int item = 0; item < MEMORY_FLOW_ITEMS; item++)
            for (size_t k = 0; k < ARRAY_LEN(run->items); k++)
                if (run->items[k].exists && run->items[k].row.step == step->step && run->items[k].row.item == item)
                    g->results[g->moving.result_count++] =
                        (struct flow_item_result){run->row.id, step->step, item, run->items[k].row.now.result};
    }
}

static int compare_asks(const void *a, const void *b)
{
    return compare_int64(&((const struct flow_ask *)a)->id, &((const struct flow_ask *)b)->id);
}

static struct given *give(struct memory_db *db, const struct memory_flow_run *run, const struct flow_move_order *order)
{
    struct given *g = calloc(1, sizeof *g);

    if (!g)
        abort();
    g->moving = run->row;
    g->moving.look_ms = run->is_looked_at ? run->row.look_ms : 0;
    g->moving.steps = g->steps;
    g->moving.items = g->items;
    g->moving.ends = g->ends;
    g->moving.asks = g->asks;
    g->moving.flights = g->flights;
    g->moving.wakes = &g->wake;
    g->moving.results = g->results;
    for (int i = 0; i < MEMORY_FLOW_STEPS; i++)
        if (run->has_step[i])
            g->steps[g->moving.step_count++] = run->steps[i];
    give_ends(db, run, order, g);
    give_items(run, memory_db_wall_ms(db), g);
    give_results(run, g);
    for (size_t i = 0; i < ARRAY_LEN(run->requests); i++) {
        const struct memory_flow_request *r = &run->requests[i];
        struct flow_ask *ask = &g->asks[g->moving.ask_count];

        if (!r->id)
            continue;
        *ask =
            (struct flow_ask){.id = r->id, .run_id = run->row.id, .step = r->step, .who = r->who, .remark = r->remark};
        memcpy(ask->action, r->action, sizeof ask->action);
        g->moving.ask_count++;
    }
    qsort(g->asks, g->moving.ask_count, sizeof *g->asks, compare_asks);
    return g;
}

/* ---- what it writes ---------------------------------------------------------------------------------------------- */

static void write_fires(struct memory_db *db, struct memory_move *move, struct flow_changes *c, const char *incarnation)
{
    if (c->fires)
        memory_insert_direct(db, c->fires, incarnation, /*visible=*/false);
    for (const struct fire *f = c->fires; f; f = f->next) {
        struct memory_flow_run *run = memory_move_run(db, move, f->flow_run);
        size_t i = 0;

        move->log_ids = realloc(move->log_ids, (move->log_count + 1) * sizeof *move->log_ids);
        if (!move->log_ids)
            abort();
        move->log_ids[move->log_count++] = f->log_id;
        while (i < ARRAY_LEN(run->fires) && run->fires[i].log_id)
            i++;
        if (i == ARRAY_LEN(run->fires))
            abort();
        memory_db_find_log(db, f->log_id)->flow_life = run->again;
        run->fires[i] = (struct memory_flow_fire){f->log_id, f->flow_step, f->flow_item};
    }
}

static void delete_ended(struct memory_move *move, const struct flow_changes *c)
{
    for (size_t i = 0; i < move->run_count; i++)
        for (size_t k = 0; k < ARRAY_LEN(move->runs[i]->fires); k++)
            for (size_t n = 0; n < c->ended_count; n++)
                if (move->runs[i]->fires[k].log_id == c->ended[n])
                    move->runs[i]->fires[k].log_id = 0;
}

static void close_run(struct memory_flow_run *run, struct flow_changes *c)
{
    c->kills = realloc(c->kills, (c->kill_count + ARRAY_LEN(run->fires)) * sizeof *c->kills);
    if (!c->kills)
        abort();
    for (size_t i = 0; i < ARRAY_LEN(run->fires); i++) {
        if (run->fires[i].log_id)
            c->kills[c->kill_count++] = run->fires[i].log_id;
        run->fires[i].log_id = 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(run->items); i++)
        if (run->items[i].exists && run->items[i].row.now.state == FLOW_RUNNING) {
            run->items[i].row.now.state = FLOW_CANCELLED;
            run->items[i].row.now.wake_ms = 0;
        }
}

static void write_new_runs(struct memory_db *db, struct memory_move *move, struct flow_changes *c)
{
    for (struct flow_new_run *n = c->new_runs; n; n = n->next) {
        struct memory_flow_run *run = memory_move_new_run(db, move);

        run->row.flow_id = n->flow_id;
        run->row.version = n->version;
        run->row.state = FLOW_RUN_RUNNING;
        run->row.kind[0] = 'P';
        run->row.due_s = n->due_s;
        run->row.parameters = memory_db_keep(db, n->parameters);
        run->row.parent_run = n->parent_run;
        run->row.parent_step = n->parent_step;
        run->row.depth = n->depth;
        run->created_ms = memory_db_wall_ms(db);
        run->is_looked_at = true;
        n->id = run->row.id;
    }
}

static struct flow_try keep_try(struct memory_db *db, struct flow_try now)
{
    now.log_id = now.fire ? now.fire->log_id : now.log_id;
    now.fire = NULL;
    now.address = memory_db_keep(db, now.address);
    now.result = memory_db_keep(db, now.result);
    now.message = memory_db_keep(db, now.message);
    return now;
}

static void write_step(struct memory_db *db, struct memory_flow_run *run, const struct flow_step_row *step)
{
    struct flow_step_row *row = &run->steps[step->step];

    if (step->step >= MEMORY_FLOW_STEPS)
        abort();
    *row = *step;
    row->now = keep_try(db, step->now);
    row->who = memory_db_keep(db, step->who);
    row->remark = memory_db_keep(db, step->remark);
    row->child_run = step->child ? step->child->id : step->child_run;
    row->child = NULL;
    run->has_step[step->step] = true;
}

static struct memory_flow_item *find_item(struct memory_flow_run *run, int step, int item)
{
    struct memory_flow_item *room = NULL;

    for (size_t i = 0; i < ARRAY_LEN(run->items); i++) {
        if (run->items[i].exists && run->items[i].row.step == step && run->items[i].row.item == item)
            return &run->items[i];
        if (!run->items[i].exists && !room)
            room = &run->items[i];
    }
    if (!room)
        abort();
    return room;
}

static void write_item(struct memory_db *db, struct memory_flow_run *run, const struct flow_item_row *item)
{
    struct memory_flow_item *to = find_item(run, item->step, item->item);

    to->exists = true;
    to->row = *item;
    to->row.now = keep_try(db, item->now);
}

static void forget_items(struct memory_flow_run *run, int step)
{
    for (size_t i = 0; i < ARRAY_LEN(run->items); i++)
        if (run->items[i].row.step == step)
            run->items[i].exists = false;
}

static void do_items_again(struct memory_flow_run *run, int step)
{
    int good = 0;

    for (size_t i = 0; i < ARRAY_LEN(run->items); i++) {
        struct flow_try *now = &run->items[i].row.now;

        if (!run->items[i].exists || run->items[i].row.step != step)
            continue;
        good += now->state == FLOW_SUCCEEDED;
        if (now->state == FLOW_SUCCEEDED)
            continue;
        now->state = FLOW_RUNNING;
        now->wake_ms = 1;
        now->tries = now->lost = 0;
        now->ended_ms = 0;
    }
    run->steps[step].items_failed = 0;
    run->steps[step].items_ended = good;
}

static void write_run(struct memory_db *db, struct memory_flow_run *run, const struct flow_moving *moving)
{
    if (!moving->changed)
        return;
    run->row.state = moving->state;
    run->row.started_ms = moving->started_ms;
    run->row.ended_ms = moving->ended_ms;
    run->row.look_ms = moving->look_ms;
    run->is_looked_at = !moving->ended_ms;
    run->row.late_told = moving->late_told;
    run->row.message = memory_db_keep(db, moving->message);
}

static void write_note(struct memory_db *db, struct memory_move *move, const struct flow_parent_note *note)
{
    struct memory_flow_run *run = memory_move_run(db, move, note->run_id);

    if (!run)
        return;
    run->row.look_ms = 0;
    run->is_looked_at = true;
    if (!run->has_step[note->step] || run->steps[note->step].now.state != FLOW_RUNNING ||
        run->steps[note->step].child_run != note->child_run)
        return;
    run->steps[note->step].now.code = note->code;
    run->steps[note->step].now.result = memory_db_keep(db, note->result);
}

/* As an answer to a question is given once, so it is deleted once. */
static void delete_requests(struct memory_move *move, const struct flow_changes *c)
{
    for (size_t i = 0; i < move->run_count; i++)
        for (size_t k = 0; k < ARRAY_LEN(move->runs[i]->requests); k++) {
            struct memory_flow_request *r = &move->runs[i]->requests[k];

            for (size_t n = 0; n < c->ask_count; n++) {
                if (!r->id || r->id != c->asks[n])
                    continue;
                move->runs[i]->again += strcmp(r->action, "cancel") != 0;
                r->id = 0;
            }
        }
}

static bool is_running(const struct memory_db *db, const struct memory_move *move, int64_t id, int64_t flow_id)
{
    const struct memory_flow_run *run = &db->flow_runs[id - 1];

    for (size_t i = 0; i < move->run_count; i++)
        if (move->runs[i]->row.id == id)
            run = move->runs[i];
    return run->exists && run->row.flow_id == flow_id && run->row.state == FLOW_RUN_RUNNING;
}

static void start_waiting(struct memory_db *db, struct memory_move *move, int64_t flow_id)
{
    if (!memory_move_flow(db, move, flow_id))
        return;
    for (int64_t id = 1; id <= (int64_t)db->flow_run_count; id++)
        if (is_running(db, move, id, flow_id))
            return;
    for (int64_t id = 1; id <= (int64_t)db->flow_run_count; id++) {
        const struct memory_flow_run *row = &db->flow_runs[id - 1];
        struct memory_flow_run *run;

        if (!row->exists || row->row.flow_id != flow_id || row->row.state != FLOW_RUN_QUEUED)
            continue;
        run = memory_move_run(db, move, id);
        if (!run)
            return;
        if (run->row.state != FLOW_RUN_QUEUED) /* this move has ended it */
            continue;
        run->row.state = FLOW_RUN_RUNNING;
        run->row.look_ms = 0;
        run->is_looked_at = true;
        return;
    }
}

static void write_flow(struct memory_db *db, struct memory_move *move, const struct flow_moving *moving)
{
    struct memory_flow *flow;

    if (moving->frees_line)
        start_waiting(db, move, moving->flow_id);
    flow = moving->flow_next_s ? memory_move_flow(db, move, moving->flow_id) : NULL;
    if (flow && flow->started && !flow->next_s)
        flow->next_s = moving->flow_next_s;
}

static void write_changes(struct memory_db *db, struct memory_move *move, struct given *const *given, size_t count,
                          struct flow_changes *c, const char *incarnation)
{
    delete_requests(move, c); /* first: what starts by them counts as started by them */
    write_fires(db, move, c, incarnation);
    delete_ended(move, c);
    for (size_t i = 0; i < c->closed_count; i++)
        close_run(memory_move_run(db, move, c->closed[i]), c);
    write_new_runs(db, move, c);
    for (size_t i = 0; i < c->step_count; i++)
        write_step(db, memory_move_run(db, move, c->steps[i]->run_id), c->steps[i]);
    for (size_t i = 0; i < c->forgotten_count; i++)
        forget_items(memory_move_run(db, move, c->forgotten[i].run_id), c->forgotten[i].step);
    for (size_t i = 0; i < c->again_count; i++)
        do_items_again(memory_move_run(db, move, c->again[i].run_id), c->again[i].step);
    for (size_t i = 0; i < c->item_count; i++)
        write_item(db, memory_move_run(db, move, c->items[i]->run_id), c->items[i]);
    for (size_t i = 0; i < count; i++)
        write_run(db, memory_move_run(db, move, given[i]->moving.id), &given[i]->moving);
    for (size_t i = 0; i < c->note_count; i++)
        write_note(db, move, &c->notes[i]);
    for (size_t i = 0; i < c->cancelled_count; i++) {
        struct memory_flow_run *child = memory_move_run(db, move, c->cancelled[i]);

        if (child)
            memory_cancel_child(db, child);
    }
    for (size_t i = 0; i < count; i++)
        write_flow(db, move, &given[i]->moving);
}

/* ---- a move ------------------------------------------------------------------------------------------------------ */

/* Locked, read, decided and written, all at one moment: its statements take their time before it, its commit behind. */
static enum err decide_and_write(struct memory_db *db, struct memory_move *move, const struct flow_move_order *order,
                                 struct flow_changes *out, size_t *moved, struct errctx *ec)
{
    struct given **given = calloc(order->run_count + 1, sizeof(struct given *));
    size_t n = 0;
    enum err e = ERR_OK;

    if (!given)
        abort();
    for (size_t i = 0; i < order->run_count; i++) {
        bool owned = false;

        for (size_t k = 0; k < move->shard_count; k++)
            owned |= order->run_ids[i] % order->n == move->shards[k].shard;
        struct memory_flow_run *run = owned ? memory_move_run(db, move, order->run_ids[i]) : NULL;
        if (run)
            given[n++] = give(db, run, order);
    }
    for (size_t i = 0; i < n && !e; i++)
        e = order->decide(order->arg, &given[i]->moving, memory_db_wall_ms(db), out, ec);
    if (!e)
        write_changes(db, move, given, n, out, order->incarnation);
    if (!e && move->blocked)
        e = err_set(ec, ERR_CONFLICT, "deadlock");
    for (size_t i = 0; i < n; i++)
        free(given[i]);
    free(given);
    *moved = n;
    return e;
}

/* Those whose epoch is that one; a claim, and a takeover, waits for us, and we for them. */
enum err memory_hold_shards(struct store_session *s, int64_t id, const struct flow_epoch *epochs, size_t count, int n,
                            struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    struct memory_move *move = memory_find_move(db, id);

    move->n = n ? n : db->shards;
    move->shards = calloc(count + 1, sizeof *move->shards);
    if (!move->shards)
        abort();
    for (size_t i = 0; i < count; i++) {
        int64_t until_us = fibers_now_us() + INT64_C(1000000);

        while (db->shard[epochs[i].shard].pending) {
            if (fibers_now_us() >= until_us) {
                memory_roll_back_move(db, id);
                return err_set(ec, ERR_CONFLICT, "lock wait timeout");
            }
            fibers_sleep_us(5000);
            memory_end_overdue(db);
        }
        move = memory_find_move(db, id);
        if (!move)
            return err_set(ec, ERR_LOST, "the server has ended the session");
        if (db->shard[epochs[i].shard].epoch == epochs[i].epoch || !memory_holds(db, RULE_MOVE_CHECKS_EPOCH))
            move->shards[move->shard_count++] = epochs[i];
    }
    return ERR_OK;
}

static enum err wait_runs(struct store_session *s, int64_t id, const struct flow_move_order *order, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < order->run_count && !e; i++)
        e = memory_wait_run(s, id, order->run_ids[i], ec);
    return e;
}

enum err store_move_flows(struct store_session *s, const struct flow_move_order *order, struct flow_changes *out,
                          size_t *moved, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    size_t n = 0;
    int64_t id;
    enum err e = memory_reach(s, ec);

    out->fires_end = &out->fires;
    *moved = 0;
    if (e)
        return e;
    id = memory_begin_move(s)->id;
    e = memory_hold_shards(s, id, order->epochs, order->epoch_count, order->n, ec);
    if (e)
        return e;
    fibers_sleep_us((int64_t)fibers_draw((uint64_t)db->latency_us));
    e = wait_runs(s, id, order, ec);
    if (e)
        return e;
    e = decide_and_write(db, memory_find_move(db, id), order, out, &n, ec);
    if (e) {
        memory_roll_back_move(db, id);
        return e;
    }
    fibers_sleep_us((int64_t)fibers_draw((uint64_t)db->latency_us));
    e = memory_end_move(s, id, ec);
    if (!e)
        *moved = n;
    return e;
}
