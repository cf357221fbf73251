/* SPDX-License-Identifier: MIT */
/* The database in memory: runs without a result, and the end of those that are lost. */
#include "sim/memory_db.h"
#include "shardwheel/job/codes.h"
#include "shardwheel/store/lost.h"
#include "shardwheel/store/registry.h"
#include "shardwheel/store/upkeep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- looking ----------------------------------------------------------------------------------------------------- */

enum err store_load_newest_log(struct store_session *s, int64_t *id, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    enum err e = memory_reach(s, ec);
    size_t n = db->log_count;

    while (n > 0 && !db->logs[n - 1].exists)
        n--;
    *id = (int64_t)n;
    return e;
}

static bool is_open_run(const struct memory_log *row)
{
    return row->exists && row->trigger_code == CODE_OK && row->handle_code == CODE_OPEN;
}

enum err store_load_open_runs(struct store_session *s, int64_t after_id, int64_t until_id, size_t max,
                              struct open_runs *out, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    enum err e = memory_reach(s, ec);

    if (e)
        return e;
    (void)max; /* there is room for all */
    *out = (struct open_runs){.rows = calloc(db->log_count + 1, sizeof *out->rows), .until_id = until_id};
    if (!out->rows)
        abort();
    for (int64_t id = after_id + 1; id <= until_id; id++) {
        const struct memory_log *row = memory_db_find_log(db, id);

        if (row && is_open_run(row))
            out->rows[out->count++] = (struct open_run){.id = id,
                                                        .job_id = row->fire.job_id,
                                                        .group = row->fire.group,
                                                        .triggered_s = row->fire.due_s,
                                                        .address = row->address ? row->address : ""};
    }
    e = memory_answer(s, /*wrote=*/false, ec);
    if (e)
        open_runs_fini(out);
    return e;
}

enum err store_keep_open_runs(struct store_session *s, int64_t *ids, size_t *count, struct errctx *ec)
{
    size_t kept = 0;
    enum err e = memory_reach(s, ec);

    if (e)
        return e;
    for (size_t i = 0; i < *count; i++) {
        const struct memory_log *row = memory_db_find_log(s->st->db, ids[i]);

        if (row && is_open_run(row))
            ids[kept++] = ids[i];
    }
    *count = kept;
    return ERR_OK;
}

/* ---- executors and nodes ----------------------------------------------------------------------------------------- */

enum err store_load_addresses(struct store_session *s, struct address_list *out, struct errctx *ec)
{
    struct group_spec *group;
    enum err e = memory_reach(s, ec);

    if (e)
        return e;
    group = group_spec_create(1, "app", "", /*manual=*/false, s->st->db->address_list);
    *out = (struct address_list){.list = calloc(group ? group->count + 1 : 1, sizeof *out->list)};
    if (!group || !out->list)
        abort();
    for (size_t i = 0; i < group->count; i++)
        out->list[out->count++] = memory_db_keep(s->st->db, group->addresses[i]);
    group_spec_unref(group);
    return ERR_OK;
}

enum err store_is_registered(struct store_session *s, const char *address, bool *out, struct errctx *ec)
{
    enum err e = memory_reach(s, ec);

    *out = strstr(s->st->db->address_list, address) != NULL;
    return e;
}

enum err store_load_missed(struct store_session *s, int64_t hold_s, int64_t *age_s, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    enum err e = memory_reach(s, ec);
    int64_t age_ms = memory_db_wall_ms(db) - db->missed_ms;

    *age_s = db->missed_ms && age_ms <= hold_s * 1000 ? age_ms / 1000 : -1;
    return e;
}

enum err store_load_nodes(struct store_session *s, struct node_row **out, size_t *count, int64_t *now_ms,
                          struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    enum err e = memory_reach(s, ec);

    if (e)
        return e;
    *count = 0;
    *now_ms = memory_db_wall_ms(db);
    *out = calloc(ARRAY_LEN(db->nodes), sizeof **out);
    if (!*out)
        abort();
    for (size_t i = 0; i < ARRAY_LEN(db->nodes); i++)
        if (db->nodes[i].exists)
            (*out)[(*count)++] =
                (struct node_row){.started_ms = db->nodes[i].started_ms, .beat_ms = db->nodes[i].beat_ms};
    return ERR_OK;
}

enum err store_check_epoch(struct store_session *s, int shard, int64_t epoch, struct errctx *ec)
{
    enum err e = memory_reach(s, ec);

    if (!e && s->st->db->shard[shard].epoch != epoch)
        e = err_set(ec, ERR_CONFLICT, "fenced");
    return e;
}

/* ---- ending ------------------------------------------------------------------------------------------------------ */

static void end_run(struct memory_db *db, struct memory_log *row, const char *reason, int64_t now_s)
{
    const struct memory_job *job = memory_peek_job(db, row->fire.job_id);
    char said[300];

    if (db->lost)
        db->lost(db->arg, row);
    snprintf(said, sizeof said, LOST_MARK "%s", reason);
    row->said = memory_db_keep(db, said);
    row->handle_code = CODE_FAILED;
    row->was_bad = row->lost = true;
    row->ended_s = row->lost_s = now_s;
    row->changed_us = fibers_now_us();
    if (job && job->resend_lost && row->fire.kind != TRIGGER_FLOW &&
        generation_count_lost(row->fire.generation) < LOST_RESENDS_MAX)
        row->retries_left = (row->retries_left > 0 ? row->retries_left : 0) + 1;
    db->lost_runs++;
}

enum err store_end_lost(struct store_session *s, const int64_t *ids, const int64_t *job_ids, size_t count,
                        const char *reason, int64_t now_s, size_t *ended, struct errctx *ec)
{
    struct memory_db *db = s->st->db;
    enum fate fate;
    bool go;
    enum err e = memory_begin(s, &go, &fate, ec);

    (void)job_ids;
    *ended = 0;
    if (e)
        return e;
    for (size_t i = 0; i < count; i++) {
        struct memory_log *row = memory_db_find_log(db, ids[i]);

        if (!is_open_run(row))
            continue;
        end_run(db, row, reason, now_s);
        ++*ended;
    }
    return memory_end(s, fate, ec);
}

/* The end of a lost run is taken back: its retry goes with it, if it still waits. */
void memory_cancel_retry(struct memory_db *db, int64_t log_id)
{
    for (size_t i = 0; i < db->later_count; i++)
        if (db->later[i].exists && !db->later[i].row.planned && db->later[i].row.log_id == 0 &&
            db->later[i].retry_of == log_id)
            db->later[i].exists = false;
}
