/* SPDX-License-Identifier: MIT */
/* The database in memory: flows, what is looked for of their runs, how runs begin, and what people ask of them. */
#include "sim/memory_db.h"
#include "shardwheel/job/codes.h"
#include "shardwheel/store/job.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tables ------------------------------------------------------------------------------------------------------ */

int64_t memory_db_add_flow(struct memory_db *db, const char *name, const char *document)
{
    struct memory_flow *grown = realloc(db->flows, (db->flow_count + 1) * sizeof *grown);

    if (!grown)
        abort();
    db->flows = grown;
    grown[db->flow_count] = (struct memory_flow){.id = (int64_t)db->flow_count + 1,
                                                 .name = memory_db_keep(db, name),
                                                 .version = 1,
                                                 .documents = {memory_db_keep(db, document)}};
    return grown[db->flow_count++].id;
}

struct memory_flow_run *memory_db_find_flow_run(struct memory_db *db, int64_t id)
{
    return id >= 1 && (size_t)id <= db->flow_run_count ? &db->flow_runs[id - 1] : NULL;
}

static bool is_among(const int *shards, size_t count, int64_t shard)
{
    for (size_t i = 0; i < count; i++)
        if (shards[i] == shard)
            return true;
    return false;
}

/* ---- looks ------------------------------------------------------------------------------------------------------- */

enum err store_load_flow_fires(struct store_session *s, int shard, int n, struct flow_fire **out, size_t *count,
                               struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    struct flow_fire *list;
    size_t found = 0;
    enum err e = memory_reach(s, ec);

    if (e)
        return e;
    list = calloc(db->flow_run_count * ARRAY_LEN(db->flow_runs->fires) + 1, sizeof *list);
    if (!list)
        abort();
    for (size_t i = 0; i < db->flow_run_count && memory_holds(db, RULE_FLOW_FIRES_ARE_LOADED); i++) {
        const struct memory_flow_run *run = &db->flow_runs[i];

        for (size_t k = 0; k < ARRAY_LEN(run->fires) && run->exists && run->row.id % n == shard; k++)
            if (run->fires[k].log_id)
                list[found++] = (struct flow_fire){run->fires[k].log_id, run->row.id};
    }
    e = memory_answer(s, /*wrote=*/false, ec);
    if (e) {
        free(list);
        return e;
    }
    *out = list;
    *count = found;
    return ERR_OK;
}

static bool has_ended(struct memory_db *db, int64_t log_id)
{
    const struct memory_log *row = memory_db_find_log(db, log_id);

    return !row || !row->exists || row->handle_code != CODE_OPEN ||
           (row->trigger_code != CODE_OPEN && row->trigger_code != CODE_OK);
}

static int compare_fires(const void *a, const void *b)
{
    return compare_int64(&((const struct flow_fire *)a)->log_id, &((const struct flow_fire *)b)->log_id);
}

enum err store_find_flow_ends(struct store_session *s, struct flow_fire *fires, size_t count, size_t *ended,
                              struct errctx *ec)
{
    size_t front = 0;
    enum err e = memory_reach(s, ec);

    qsort(fires, count, sizeof *fires, compare_fires);
    for (size_t i = 0; i < count && !e; i++) {
        struct flow_fire fire = fires[i];

        if (!has_ended(s->st->db, fire.log_id))
            continue;
        fires[i] = fires[front];
        fires[front++] = fire;
    }
    *ended = front;
    return e ? e : memory_answer(s, /*wrote=*/false, ec);
}

enum err store_find_flow_looks(struct store_session *s, const int *shards, size_t shard_count, int n, int64_t *ids,
                               size_t max, size_t *count, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    enum err e = memory_reach(s, ec);

    *count = 0;
    for (size_t i = 0; i < db->flow_run_count && !e && *count < max; i++) {
        const struct memory_flow_run *run = &db->flow_runs[i];

        if (run->exists && run->is_looked_at && run->row.look_ms <= memory_db_wall_ms(db) &&
            is_among(shards, shard_count, run->row.id % n))
            ids[(*count)++] = run->row.id;
    }
    return e ? e : memory_answer(s, /*wrote=*/false, ec);
}

/* All nodes here do. */
enum err store_find_flowless_node(struct store_session *s, bool *found, struct errctx *ec)
{
    *found = false;
    return memory_reach(s, ec);
}

/* ---- documents and jobs ------------------------------------------------------------------------------------------ */

enum err store_load_flow_versions_of(struct store_session *s, const int64_t *run_ids, size_t count,
                                     struct flow_version **out, size_t *out_count, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    struct flow_version *list;
    size_t n = 0;
    enum err e = memory_reach(s, ec);

    if (e)
        return e;
    list = calloc(count + 1, sizeof *list);
    if (!list)
        abort();
    for (size_t i = 0; i < count; i++) {
        const struct memory_flow_run *run = memory_db_find_flow_run(db, run_ids[i]);
        bool known = !run || !run->exists;

        for (size_t k = 0; k < n && !known; k++)
            known = list[k].flow_id == run->row.flow_id && list[k].version == run->row.version;
        if (!known)
            list[n++] = (struct flow_version){run->row.flow_id, run->row.version, 0};
    }
    *out = list;
    *out_count = n;
    return ERR_OK;
}

enum err store_load_flow_document(struct store_session *s, struct flow_version version, char **out, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    enum err e = memory_reach(s, ec);

    if (!e && (version.flow_id < 1 || (size_t)version.flow_id > db->flow_count || version.version < 1 ||
               version.version > db->flows[version.flow_id - 1].version))
        e = err_set(ec, ERR_NOTFOUND, "flow %" PRId64 " has no version %d", version.flow_id, version.version);
    if (!e) {
        *out = str_copy(db->flows[version.flow_id - 1].documents[version.version - 1]);
        if (!*out)
            abort();
    }
    return e;
}

enum err store_find_flow(struct store_session *s, const char *name, struct flow_version *out, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    enum err e = memory_reach(s, ec);

    for (size_t i = 0; i < db->flow_count && !e; i++)
        if (strcmp(db->flows[i].name, name) == 0) {
            *out = (struct flow_version){db->flows[i].id, db->flows[i].version, 0};
            return ERR_OK;
        }
    return e ? e : err_set(ec, ERR_NOTFOUND, "there is no flow \"%s\"", name);
}

enum err store_load_job_settings(struct store_session *s, const int64_t *ids, size_t count, struct job_settings **out,
                                 size_t *out_count, struct errctx *ec)
{
    struct job_settings *list;
    size_t n = 0;
    enum err e = memory_reach(s, ec);

    if (e)
        return e;
    list = calloc(count + 1, sizeof *list);
    if (!list)
        abort();
    for (size_t i = 0; i < count; i++) {
        const struct memory_job *job = memory_peek_job(s->st->db, ids[i]);

        if (job)
            list[n++] = (struct job_settings){.job_id = job->id,
                                              .retry_wait_s = job->retry_wait_s,
                                              .retry_wait_max_s = job->retry_wait_max_s,
                                              .hold_s = job->hold_s,
                                              .resend_lost = job->resend_lost};
    }
    *out = list;
    *out_count = n;
    return ERR_OK;
}

/* ---- runs that begin --------------------------------------------------------------------------------------------- */

static void count_open(const struct memory_db *db, int64_t flow_id, int64_t *running, int64_t *queued)
{
    *running = *queued = 0;
    for (size_t i = 0; i < db->flow_run_count; i++) {
        const struct memory_flow_run *run = &db->flow_runs[i];

        *running += run->exists && run->row.flow_id == flow_id && run->row.state == FLOW_RUN_RUNNING;
        *queued += run->exists && run->row.flow_id == flow_id && run->row.state == FLOW_RUN_QUEUED;
    }
}

static struct memory_flow_run *add_run(struct memory_db *db, struct memory_move *move, int64_t flow_id, int version,
                                       enum flow_run_state state)
{
    struct memory_flow_run *run = memory_move_new_run(db, move);

    run->row.flow_id = flow_id;
    run->row.version = version;
    run->row.state = state;
    run->created_ms = memory_db_wall_ms(db);
    run->is_looked_at = true;
    return run;
}

static int64_t find_by_key(const struct memory_db *db, int64_t flow_id, const char *key)
{
    for (size_t i = 0; i < db->flow_run_count && key; i++)
        if (db->flow_runs[i].exists && db->flow_runs[i].row.flow_id == flow_id && db->flow_runs[i].request_key &&
            strcmp(db->flow_runs[i].request_key, key) == 0)
            return db->flow_runs[i].row.id;
    return 0;
}

static enum err choose_state(struct memory_db *db, const struct flow_run_start *order, enum flow_run_state *state,
                             struct errctx *ec)
{
    int64_t running, queued;

    *state = FLOW_RUN_RUNNING;
    count_open(db, order->flow_id, &running, &queued);
    if (order->policy == FLOW_PARALLEL || running + queued == 0)
        return ERR_OK;
    if (order->policy == FLOW_SKIP_IF_RUNNING)
        return err_set(ec, ERR_STATE, "a run of the flow is still open");
    if (queued >= order->queue_max)
        return err_set(ec, ERR_BUSY, "%" PRId64 " runs of the flow already wait in the queue", queued);
    *state = FLOW_RUN_QUEUED;
    return ERR_OK;
}

static enum err start_run(struct memory_db *db, struct memory_move *move, const struct flow_run_start *order,
                          int64_t *id, struct errctx *ec)
{
    const struct memory_flow *flow = memory_move_flow(db, move, order->flow_id);
    struct memory_flow_run *run;
    enum flow_run_state state;
    enum err e;

    if (!flow)
        return err_set(ec, ERR_NOTFOUND, "there is no flow %" PRId64, order->flow_id);
    if (flow->version != order->version)
        return err_set(ec, ERR_CONFLICT, "flow %" PRId64 " has a new version", order->flow_id);
    *id = find_by_key(db, order->flow_id, order->key);
    e = *id ? ERR_OK : choose_state(db, order, &state, ec);
    if (e || *id)
        return e;
    run = add_run(db, move, order->flow_id, (int)order->version, state);
    run->row.due_s = run->created_ms / 1000;
    run->row.started_ms = state == FLOW_RUN_RUNNING ? run->created_ms : 0;
    run->row.parameters = memory_db_keep(db, order->parameters);
    snprintf(run->row.kind, sizeof run->row.kind, "%s", order->kind);
    run->request_key = memory_db_keep(db, order->key);
    run->who = memory_db_keep(db, order->who);
    *id = run->row.id;
    return ERR_OK;
}

enum err store_start_flow_run(struct store_session *s, const struct flow_run_start *order,
                              const struct audit_row *audit, int64_t *id, bool *is_new, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    int64_t move, count = (int64_t)db->flow_run_count;
    enum err e = memory_reach(s, ec);

    (void)audit;
    if (e)
        return e;
    move = memory_begin_move(s)->id;
    e = memory_wait_flow(s, move, order->flow_id, ec);
    if (e)
        return e;
    count = (int64_t)db->flow_run_count;
    e = start_run(db, memory_find_move(db, move), order, id, ec);
    if (e) {
        memory_roll_back_move(db, move);
        return e;
    }
    *is_new = *id > count;
    return memory_end_move(s, move, ec);
}

/* ---- what people ask for ----------------------------------------------------------------------------------------- */

static void add_request(struct memory_db *db, struct memory_flow_run *run, int step, const char *action,
                        const char *who, const char *remark)
{
    for (size_t i = 0; i < ARRAY_LEN(run->requests); i++)
        if (!run->requests[i].id) {
            run->requests[i].id = ++db->last_request;
            run->requests[i].step = step;
            run->requests[i].who = memory_db_keep(db, who);
            run->requests[i].remark = memory_db_keep(db, remark);
            snprintf(run->requests[i].action, sizeof run->requests[i].action, "%s", action);
            run->row.look_ms = 0;
            run->is_looked_at = true;
            return;
        }
}

void memory_cancel_child(struct memory_db *db, struct memory_flow_run *run)
{
    add_request(db, run, -1, "cancel", "", "");
}

static bool is_asked(const struct memory_flow_run *run, const struct flow_request *request)
{
    for (size_t i = 0; i < ARRAY_LEN(run->requests); i++)
        if (run->requests[i].id && run->requests[i].step == request->step &&
            strcmp(run->requests[i].action, request->action) == 0)
            return true;
    return false;
}

enum err store_ask_flow_run(struct store_session *s, const struct flow_request *request, flow_check_request *check,
                            void *arg, const struct audit_row *audit, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    struct memory_flow_run *run = NULL;
    struct flow_run_now now = {0};
    int64_t move;
    enum err e = memory_reach(s, ec);

    (void)audit;
    if (e)
        return e;
    move = memory_begin_move(s)->id;
    e = memory_wait_run(s, move, request->run_id, ec);
    if (e)
        return e;
    run = memory_move_run(db, memory_find_move(db, move), request->run_id);
    if (!run) {
        memory_roll_back_move(db, move);
        return err_set(ec, ERR_NOTFOUND, "there is no flow run %" PRId64, request->run_id);
    }
    now = (struct flow_run_now){.state = run->row.state};
    if (request->step >= 0 && request->step < MEMORY_FLOW_STEPS && run->has_step[request->step])
        now.step_state = run->steps[request->step].now.state;
    if (!is_asked(run, request)) {
        e = check(arg, &now, ec);
        if (!e)
            add_request(db, run, (int)request->step, request->action, request->who, request->remark);
    }
    if (e) {
        memory_roll_back_move(db, move);
        return e;
    }
    return memory_end_move(s, move, ec);
}

/* ---- schedules --------------------------------------------------------------------------------------------------- */

static int compare_due(const void *a, const void *b)
{
    const struct due_flow *x = a, *y = b;
    int c = compare_int64(&x->next_s, &y->next_s);

    return c ? c : compare_int64(&x->id, &y->id);
}

enum err store_find_due_flows(struct store_session *s, const int *shards, size_t shard_count, int n, size_t max,
                              struct due_flow **out, size_t *count, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    int64_t now_s;
    struct due_flow *list;
    size_t found = 0;
    enum err e = memory_reach(s, ec);

    if (e)
        return e;
    now_s = memory_db_wall_ms(db) / 1000;
    list = calloc(db->flow_count + 1, sizeof *list);
    if (!list)
        abort();
    for (size_t i = 0; i < db->flow_count; i++) {
        const struct memory_flow *flow = &db->flows[i];

        if (flow->started && flow->next_s && flow->next_s <= now_s && is_among(shards, shard_count, flow->id % n))
            list[found++] = (struct due_flow){flow->id, flow->version, 0, flow->next_s, now_s};
    }
    qsort(list, found, sizeof *list, compare_due);
    *out = list;
    *count = found < max ? found : max;
    return ERR_OK;
}

static void insert_due_run(struct memory_db *db, struct memory_move *move, const struct flow_start *start,
                           enum flow_run_state state, char kind, const char *message)
{
    struct memory_flow_run *run = add_run(db, move, start->flow.id, start->flow.version, state);

    run->row.kind[0] = kind;
    run->row.due_s = start->flow.next_s;
    run->row.look_ms = 0;
    run->row.message = memory_db_keep(db, message);
    if (state == FLOW_RUN_SKIPPED && !start->missed && start->skipped_next_s)
        memory_move_flow(db, move, start->flow.id)->next_s = start->skipped_next_s;
    if (state == FLOW_RUN_SKIPPED) {
        run->row.ended_ms = run->created_ms;
        run->is_looked_at = false;
    }
}

static void write_due_run(struct memory_db *db, struct memory_move *move, const struct flow_start *start)
{
    int64_t running, queued;

    count_open(db, start->flow.id, &running, &queued);
    if (start->policy == FLOW_PARALLEL || running + queued == 0)
        insert_due_run(db, move, start, FLOW_RUN_RUNNING, start->kind, NULL);
    else if (start->policy == FLOW_SKIP_IF_RUNNING)
        insert_due_run(db, move, start, FLOW_RUN_SKIPPED, start->kind, "the previous run was still open");
    else if (queued >= start->queue_max)
        insert_due_run(db, move, start, FLOW_RUN_SKIPPED, start->kind, "too many runs wait in the queue");
    else
        insert_due_run(db, move, start, FLOW_RUN_QUEUED, start->kind, NULL);
}

enum err store_start_due_flow(struct store_session *s, struct flow_epoch epoch, const struct flow_start *start,
                              struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    struct memory_flow *flow;
    int64_t move;
    enum err e = memory_reach(s, ec);

    if (e)
        return e;
    move = memory_begin_move(s)->id;
    e = memory_hold_shards(s, move, &epoch, 1, 0, ec);
    if (!e && memory_find_move(db, move)->shard_count == 0) {
        memory_roll_back_move(db, move);
        return err_set(ec, ERR_STATE, "fenced");
    }
    if (!e)
        e = memory_wait_flow(s, move, start->flow.id, ec);
    if (e)
        return e;
    flow = memory_move_flow(db, memory_find_move(db, move), start->flow.id);
    if (!flow || flow->version != start->flow.version || !flow->started || flow->next_s != start->flow.next_s) {
        memory_roll_back_move(db, move);
        return ERR_OK;
    }
    flow->next_s = start->new_next_s;
    if (start->missed)
        insert_due_run(db, memory_find_move(db, move), start, FLOW_RUN_SKIPPED, 'C', start->missed);
    if (start->run)
        write_due_run(db, memory_find_move(db, move), start);
    return memory_end_move(s, move, ec);
}
