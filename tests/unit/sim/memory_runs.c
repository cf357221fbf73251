/* SPDX-License-Identifier: MIT */
/* The database in memory: direct fires, failures, and what follows an end. */
#include "sim/memory_db.h"
#include "shardwheel/job/codes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- direct fires ------------------------------------------------------------------------------------------------ */

/* As `visible` says a moment later: at once, or never. */
void memory_insert_direct(struct memory_db *db, struct fire *list, const char *incarnation, bool visible)
{
    for (struct fire *f = list; f; f = f->next) {
        const struct memory_job *job = memory_peek_job(db, f->job_id);
        struct memory_log *row;

        f->row_hash = f->job->row_hash;
        f->log_id = memory_insert_log(db, f, job ? job->generation : 0);
        row = memory_db_find_log(db, f->log_id);
        row->exists = visible;
        row->direct = true;
        row->retries_left = f->job->retry_count;
        row->param = memory_db_keep(db, f->job->param);
        row->retry_of = f->kind == TRIGGER_RETRY ? f->source : 0;
        row->parent = f->kind == TRIGGER_PARENT ? f->source : 0;
        snprintf(row->incarnation, sizeof row->incarnation, "%s", incarnation);
        if (f->broadcast)
            memory_put_sharding(db, row, f->shard_index, f->shard_total);
    }
}

void memory_put_sharding(struct memory_db *db, struct memory_log *row, int index, int total)
{
    char text[LATER_SHARDING_MAX];

    snprintf(text, sizeof text, "%d/%d", index, total);
    row->sharding = memory_db_keep(db, text);
}

/* What a transaction that writes is about to do, whatever its client is told. False: nothing of it happens. */
static bool happens(enum fate fate)
{
    return fate == FATE_DONE || fate == FATE_UNKNOWN_DONE;
}

enum err store_make_direct(struct store_session *s, struct fire *list, const char *incarnation, struct errctx *ec)
{
    enum fate fate;
    enum err e = memory_reach(s, ec);

    if (e)
        return e;
    fate = memory_draw_fate(s);
    memory_insert_direct(s->st->db, list, incarnation, happens(fate));
    return memory_end(s, fate, ec);
}

enum err store_find_direct(struct store_session *s, const struct fire *fire, const char *incarnation, bool *found,
                           struct errctx *ec)
{
    const struct memory_log *row;
    enum err e = memory_reach(s, ec);

    if (e)
        return e;
    for (int64_t until_us = fibers_now_us() + INT64_C(1000000); memory_is_making(s->st->db, fire->log_id);) {
        if (fibers_now_us() >= until_us)
            return err_set(ec, ERR_CONFLICT, "lock wait timeout");
        fibers_sleep_us(5000);
        memory_end_overdue(s->st->db);
    }
    row = memory_db_find_log(s->st->db, fire->log_id);
    *found = row && row->exists && row->direct && strcmp(row->incarnation, incarnation) == 0 &&
             memory_holds(s->st->db, RULE_DIRECT_IS_READ_BACK);
    return memory_answer(s, /*wrote=*/false, ec);
}

/* Which group a job has is as the registry knows it: none here names addresses of its own. */
enum err store_load_targets(struct store_session *s, const int64_t *ids, size_t count, struct job_spec **jobs,
                            struct group_spec **groups, struct errctx *ec)
{
    enum err e = store_load_job_specs(s, ids, count, jobs, ec);

    for (size_t i = 0; i < count; i++) {
        groups[i] = NULL;
        if (!e && jobs[i])
            groups[i] = group_spec_create(jobs[i]->group, "app", "", /*manual=*/false, s->st->db->address_list);
    }
    return e;
}

enum err store_load_param_max(struct store_session *s, size_t *out, struct errctx *ec)
{
    enum err e = memory_reach(s, ec);

    *out = 512;
    return e;
}

enum err store_load_live_nodes(struct store_session *s, int64_t within_ms, char (**out)[INCARNATION_MAX], size_t *count,
                               struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    char(*list)[INCARNATION_MAX];
    size_t n = 0;
    enum err e = memory_reach(s, ec);

    if (e)
        return e;
    list = calloc(ARRAY_LEN(db->nodes), sizeof *list);
    if (!list)
        abort();
    for (size_t i = 0; i < ARRAY_LEN(db->nodes); i++)
        if (db->nodes[i].exists && db->nodes[i].beat_ms > memory_db_wall_ms(db) - within_ms)
            snprintf(list[n++], sizeof *list, "%.32s", db->nodes[i].incarnation);
    *out = list;
    *count = n;
    return ERR_OK;
}

enum err store_end_direct(struct store_session *s, const int64_t *log_ids, size_t count, size_t *ended,
                          struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    enum fate fate;
    bool go;
    enum err e = count > 0 ? memory_begin(s, &go, &fate, ec) : ERR_OK;

    *ended = 0;
    if (e || count == 0)
        return e;
    for (size_t i = 0; i < count; i++) {
        struct memory_log *row = memory_db_find_log(db, log_ids[i]);

        if (!row || !row->exists || !row->direct || row->trigger_code != 0 || row->handle_code != 0)
            continue;
        memory_write_code(row, CODE_FAILED);
        row->is_unknown = true;
        ++*ended;
    }
    return memory_end(s, fate, ec);
}

/* ---- children ---------------------------------------------------------------------------------------------------- */

int memory_count_children(struct memory_db *db, const struct memory_log *parent)
{
    const struct memory_job *job = memory_peek_job(db, parent->fire.job_id);
    struct child_item items[CHILDREN_MAX];
    size_t count = job && job->children ? children_parse(job->children, job->id, items) : 0;
    int n = 0;

    for (size_t i = 0; i < count; i++)
        n += items[i].verdict == CHILD_ID && memory_peek_job(db, items[i].id);
    return n;
}

/* Those of a run that has just ended well, at the end of the list. */
void memory_make_children(struct memory_db *db, struct memory_log *parent, int64_t now_s, struct fire **list)
{
    const struct memory_job *job = memory_peek_job(db, parent->fire.job_id);
    struct child_item items[CHILDREN_MAX];
    int64_t parent_id = parent->fire.log_id;
    int generation = generation_of_child(parent->fire.generation) + 1;
    size_t count = job && job->children ? children_parse(job->children, job->id, items) : 0;

    for (size_t i = 0; i < count && generation <= CHILD_GENERATIONS; i++) {
        const struct memory_job *child = items[i].verdict == CHILD_ID ? memory_peek_job(db, items[i].id) : NULL;
        struct job_spec *spec = child ? memory_make_spec(child) : NULL;
        struct group_spec *group = child ? group_spec_create(child->group, "app", "", false, db->address_list) : NULL;
        struct fire *made = NULL, **tail = list;
        struct errctx ec;

        if (!child)
            continue;
        if (!spec || !group ||
            fires_make_direct(
                &(struct direct_order){
                    .job = spec, .group = group, .kind = TRIGGER_PARENT, .now_s = now_s, .generation = generation},
                &made, &ec))
            abort();
        for (struct fire *f = made; f; f = f->next)
            f->source = parent_id;
        while (*tail)
            tail = &(*tail)->next;
        *tail = made;
        job_spec_unref(spec);
        group_spec_unref(group);
    }
}

/* ---- looking for failures ---------------------------------------------------------------------------------------- */

bool log_state_is_failed(const struct log_state *row)
{
    bool sent = row->trigger_code == CODE_OPEN || row->trigger_code == CODE_OK;

    return row->alarm_status == ALARM_OPEN && row->handle_code != CODE_OK && !(sent && row->handle_code == CODE_OPEN);
}

static struct log_state read_state(const struct memory_log *row)
{
    struct log_state state = {.id = row->fire.log_id,
                              .job_id = row->fire.job_id,
                              .trigger_code = row->trigger_code,
                              .handle_code = row->handle_code,
                              .alarm_status = row->alarm_status,
                              .marked = row->trigger_code == CODE_OPEN && !row->held,
                              .due_s = row->fire.due_s};

    if (row->direct && state.marked)
        snprintf(state.incarnation, sizeof state.incarnation, "%s", row->incarnation);
    return state;
}

static int64_t find_newest(const struct memory_db *db)
{
    size_t n = db->log_count;

    while (n > 0 && !db->logs[n - 1].exists)
        n--;
    return (int64_t)n;
}

enum err store_load_log_bounds(struct store_session *s, int64_t from_s, int64_t *first_id, int64_t *last_id,
                               struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    enum err e = memory_reach(s, ec);
    int64_t first;

    if (e)
        return e;
    *last_id = find_newest(db);
    for (first = 1; first <= *last_id; first++)
        if (db->logs[first - 1].exists && db->logs[first - 1].fire.due_s >= from_s)
            break;
    *first_id = first;
    return memory_answer(s, /*wrote=*/false, ec);
}

enum err store_find_next_log(struct store_session *s, int64_t after_id, int64_t *out, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    enum err e = memory_reach(s, ec);

    *out = 0;
    for (int64_t id = after_id + 1; !e && id <= (int64_t)db->log_count && !*out; id++)
        if (id >= 1 && db->logs[id - 1].exists)
            *out = id;
    return e;
}

static void add_state(const struct memory_log *row, struct log_state *list, size_t *count)
{
    if (row && row->exists && row->handle_code != CODE_OK && row->alarm_status == ALARM_OPEN)
        list[(*count)++] = read_state(row);
}

enum err store_load_log_range(struct store_session *s, int64_t after_id, int64_t until_id, struct log_state **out,
                              size_t *count, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    struct log_state *list;
    size_t n = 0;
    enum err e = memory_reach(s, ec);

    if (e)
        return e;
    list = calloc((size_t)(until_id - after_id) + 1, sizeof *list);
    if (!list)
        abort();
    for (int64_t id = after_id + 1; id <= until_id; id++)
        add_state(memory_db_find_log(db, id), list, &n);
    e = memory_answer(s, /*wrote=*/false, ec);
    if (e) {
        free(list);
        return e;
    }
    *out = list;
    *count = n;
    return ERR_OK;
}

enum err store_load_log_list(struct store_session *s, const int64_t *ids, size_t count, struct log_state **out,
                             size_t *out_count, struct errctx *ec)
{
    struct log_state *list;
    size_t n = 0;
    enum err e = memory_reach(s, ec);

    if (e)
        return e;
    list = calloc(count + 1, sizeof *list);
    if (!list)
        abort();
    for (size_t i = 0; i < count; i++)
        add_state(memory_db_find_log(s->st->db, ids[i]), list, &n);
    *out = list;
    *out_count = n;
    return ERR_OK;
}

enum err store_load_passed(struct store_session *s, struct passed_shards *out, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    enum err e = memory_reach(s, ec);

    if (e)
        return e;
    *out = (struct passed_shards){.shards = db->shards, .until_s = calloc((size_t)db->shards, sizeof *out->until_s)};
    if (!out->until_s)
        abort();
    for (int k = 0; k < db->shards; k++)
        out->until_s[k] = db->shard[k].cursor_s;
    for (size_t i = 0; i < db->note_count; i++)
        if (db->notes[i].shard < db->shards)
            out->until_s[db->notes[i].shard] = PASSED_NOT_KNOWN;
    return ERR_OK;
}

void passed_shards_fini(struct passed_shards *passed)
{
    free(passed->until_s);
    *passed = (struct passed_shards){0};
}

/* ---- dealing with failures --------------------------------------------------------------------------------------- */

void failed_batch_fini(struct failed_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        fire_destroy_list(batch->rows[i].retries);
        job_spec_unref((struct job_spec *)(uintptr_t)batch->rows[i].job);
    }
    free(batch->rows);
    *batch = (struct failed_batch){0};
}

static void add_failed(struct memory_db *db, const struct memory_log *row, struct failed_batch *batch)
{
    const struct log_state state = row ? read_state(row) : (struct log_state){0};
    const struct memory_job *job = row ? memory_peek_job(db, row->fire.job_id) : NULL;

    if (!row || !row->exists || (!log_state_is_failed(&state) && memory_holds(db, RULE_FAILURE_IS_LOOKED_AT_AGAIN)))
        return;
    batch->rows[batch->count++] =
        (struct failed_row){.id = state.id,
                            .job_id = state.job_id,
                            .retries_left = row->retries_left,
                            .param = row->param,
                            .sharding = row->sharding,
                            .generation = row->lost ? generation_add_lost(row->fire.generation) : row->fire.generation,
                            .job = job ? memory_make_spec(job) : NULL,
                            .group_exists = job != NULL,
                            .has_mail = job != NULL,
                            .retry_wait_s = job ? job->retry_wait_s : 0,
                            .retry_wait_max_s = job ? job->retry_wait_max_s : 0};
}

static void put_waiting(struct memory_db *db, const struct failed_row *row)
{
    int64_t id = memory_db_add_later(db, &(struct later_row){.job_id = row->job_id,
                                                             .due_s = row->retry_at_s,
                                                             .original_due_s = row->retry_at_s,
                                                             .kind = TRIGGER_RETRY,
                                                             .param = row->param,
                                                             .sharding = row->sharding,
                                                             .retries_left = row->retries_left - 1,
                                                             .generation = row->generation});

    db->later[id - 1].retry_of = row->id;
}

static void write_failed(struct memory_db *db, struct failed_row *row, const char *incarnation, bool visible)
{
    struct memory_log *log;

    if (row->retries)
        memory_insert_direct(db, row->retries, incarnation, visible);
    if (!visible)
        return;
    log = memory_db_find_log(db, row->id); /* rows move when others are added */
    log->alarm_status = row->alarm;
    log->handled++;
    log->was_lost = log->lost;
    log->retries_then = row->job ? row->retries_left : 0;
    if (row->retries)
        log->retry_id = row->retries->log_id;
    else if (row->retry_at_s)
        put_waiting(db, row);
}

enum err store_handle_failures(struct store_session *s, const int64_t *ids, size_t count, const char *incarnation,
                               enum err (*decide)(void *arg, struct failed_row *row, struct errctx *ec), void *arg,
                               struct failed_batch *out, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    struct failed_batch batch = {0};
    enum fate fate = FATE_DONE;
    enum err e = memory_reach(s, ec);

    *out = batch;
    if (e)
        return e;
    batch.rows = calloc(count + 1, sizeof *batch.rows);
    if (!batch.rows)
        abort();
    for (size_t i = 0; i < count; i++)
        add_failed(db, memory_db_find_log(db, ids[i]), &batch);
    for (size_t i = 0; i < batch.count && !e; i++)
        e = decide(arg, &batch.rows[i], ec);
    if (!e && batch.count > 0) {
        fate = memory_draw_fate(s);
        for (size_t i = 0; i < batch.count; i++)
            write_failed(db, &batch.rows[i], incarnation, happens(fate));
    }
    if (!e)
        e = batch.count > 0 ? memory_end(s, fate, ec) : ERR_OK;
    if (e && e != ERR_UNKNOWN)
        failed_batch_fini(&batch);
    *out = batch;
    return e;
}

/* By one row, as the real one does: all or nothing was written. */
enum err store_find_failures(struct store_session *s, const struct failed_batch *batch, const char *incarnation,
                             bool *happened, struct errctx *ec)
{
    const struct fire *retry = NULL;
    const struct memory_log *row;
    enum err e = memory_reach(s, ec);

    *happened = false;
    if (e || batch->count == 0)
        return e;
    for (size_t i = 0; i < batch->count && !retry; i++)
        retry = batch->rows[i].retries;
    row = memory_db_find_log(s->st->db, retry ? retry->log_id : batch->rows[0].id);
    *happened = retry ? row->exists && strcmp(row->incarnation, incarnation) == 0
                      : row->alarm_status == (int)batch->rows[0].alarm;
    *happened = *happened && memory_holds(s->st->db, RULE_DIRECT_IS_READ_BACK);
    return ERR_OK;
}

enum err store_set_aside_failure(struct store_session *s, int64_t log_id, struct errctx *ec)
{
    struct memory_log *row;
    enum fate fate;
    bool go;
    enum err e = memory_begin(s, &go, &fate, ec);

    if (e)
        return e;
    row = memory_db_find_log(s->st->db, log_id);
    if (row->alarm_status == ALARM_OPEN)
        row->alarm_status = ALARM_FAILED;
    return memory_end(s, fate, ec);
}
