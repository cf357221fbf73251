/* SPDX-License-Identifier: MIT */
/* Flows: next times beyond the second of the restore; runs that were open are not gone on with. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/flow/ids.h"
#include "shardwheel/store/flow_move.h"
#include "store/restore/restore_impl.h"

#define PAGE_FLOWS 20 /* each with its document */
#define PAGE_RUNS STORE_LIST_MAX
#define IDS_LEFT_OUT 1000000 /* of runs */

static const char restored_text[] = "the database was restored from a backup";

/* A document that cannot be read is none. */
static enum err read_flow(const char *document, struct flow **out, struct errctx *ec)
{
    struct errctx why = {{0}};
    enum err e = flow_load(document, strlen(document), out, NULL, &why);

    return e == ERR_NOMEM ? err_set(ec, e, "out of memory") : ERR_OK;
}

/* ---- schedules --------------------------------------------------------------------------------------------------- */

struct due_flow_row {
    int64_t id, version, next_s; /* next_s 0: none */
    const char *document;
};

static enum err find_next(struct restore *r, const struct due_flow_row *row, const struct flow_settings *settings,
                          struct restore_next *next, struct errctx *ec)
{
    char conf[FLOW_CONF_MAX];
    struct job_due job;

    if (settings->delay_s) { /* from the end of a run that nobody knows of any more */
        next->next_ms = (r->out->at_s + settings->delay_s) * 1000;
        next->stop = settings->until_s && next->next_ms >= settings->until_s * 1000;
        next->skipped.count = row->next_s != 0;
        return ERR_OK;
    }
    flow_make_due(settings, conf, &job);
    job.next_ms = row->next_s * 1000;
    return r->order->find_next(r->order->arg, &job, r->out->at_s, next, ec);
}

static enum err write_flow(struct restore *r, const struct due_flow_row *row, const struct restore_next *next,
                           struct errctx *ec)
{
    char message[160];
    enum err e = restore_change(r, ec, "UPDATE shardwheel_flow SET next_s = ? WHERE id = ?",
                                next->stop ? sql_word("NULL") : sql_of_int(next->next_ms / 1000), row->id);

    if (e || next->skipped.count == 0)
        return e;
    snprintf(message, sizeof message, "%s; %s%" PRId64 " due time%s may have run since it was made", restored_text,
             next->skipped.more ? "at least " : "", next->skipped.count, next->skipped.count > 1 ? "s" : "");
    return restore_change(r, ec,
                          "INSERT INTO shardwheel_flow_run (flow_id, version, state, kind, due_s, depth, who, "
                          "created_ms, ended_ms, late_told, message) VALUES (?, ?, ?, 'C', ?, 0, '', " STORE_NOW_MS
                          ", " STORE_NOW_MS ", 0, ?)",
                          row->id, row->version, FLOW_RUN_SKIPPED, row->next_s, message);
}

static enum err move_flow(struct restore *r, const struct due_flow_row *row, struct errctx *ec)
{
    struct restore_next next = {0};
    struct flow *flow = NULL;
    enum err e = read_flow(row->document, &flow, ec);

    if (!flow) /* what starts it says so, and starts nothing */
        return e;
    const struct flow_settings *settings = flow_get_settings(flow);
    if (row->next_s || settings->delay_s) {
        e = find_next(r, row, settings, &next, ec);
        if (!e)
            e = write_flow(r, row, &next, ec);
        r->out->flows += !e;
    }
    flow_destroy(flow);
    return e;
}

static enum err move_page(struct restore *r, int64_t *after_id, bool *more, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e = store_query(
        r->s, &rows, ec,
        "SELECT f.id, f.version, COALESCE(f.next_s, 0), v.document FROM shardwheel_flow f JOIN shardwheel_flow_version "
        "v ON v.flow_id = f.id AND v.version = f.version WHERE f.id > ? AND f.started = 1 AND COALESCE(f.next_s, 0) <= "
        "? ORDER BY f.id LIMIT ?",
        *after_id, r->out->at_s, PAGE_FLOWS);

    *more = !e && db_rows_count(rows) == PAGE_FLOWS;
    while (!e && db_rows_next(rows)) {
        *after_id = db_int(rows, 0);
        e = move_flow(r,
                      &(struct due_flow_row){.id = *after_id,
                                             .version = db_int(rows, 1),
                                             .next_s = db_int(rows, 2),
                                             .document = db_text_or_empty(rows, 3)},
                      ec);
    }
    db_rows_destroy(rows);
    return e;
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

struct open_page {
    struct {
        int64_t id;
        struct flow_version version;
    } runs[PAGE_RUNS];
    size_t count;
};

/* Steps that have not begun have no row; without a document that can be read they stay so. */
static enum err add_steps(struct restore *r, int64_t run, size_t steps, struct errctx *ec)
{
    struct sqlbuf *q = store_start_sql(r->s, "INSERT INTO shardwheel_flow_step (run_id, step, state, tries) VALUES ");

    for (size_t i = 0; i < steps; i++)
        sql_put(q, "?(?,?,?,0)", sql_word(i ? "," : ""), run, i, FLOW_WAITING);
    sql_puts(q, " ON DUPLICATE KEY UPDATE step = VALUES(step)");
    return restore_write(r, ec);
}

static enum err add_all_steps(struct restore *r, const struct open_page *page, struct errctx *ec)
{
    struct flow_version known = {0};
    size_t steps = 0;
    enum err e = ERR_OK;

    for (size_t i = 0; i < page->count && !e; i++) {
        if (page->runs[i].version.flow_id != known.flow_id || page->runs[i].version.version != known.version) {
            struct flow *flow = NULL;
            char *document = NULL;

            known = page->runs[i].version;
            e = store_load_flow_document(r->s, known, &document, ec);
            e = e == ERR_NOTFOUND ? ERR_OK : !e ? read_flow(document, &flow, ec) : e;
            steps = flow ? flow_count_steps(flow) : 0;
            flow_destroy(flow);
            free(document);
        }
        if (!e && steps > 0)
            e = add_steps(r, page->runs[i].id, steps, ec);
    }
    return e;
}

static enum err end_page(struct restore *r, const struct open_page *page, struct errctx *ec)
{
    enum err e = r->order->dry_run ? ERR_OK : add_all_steps(r, page, ec);

    if (!e)
        e = restore_change(r, ec,
                           "UPDATE shardwheel_flow_step SET message = IF(state = ?, 'it may have run: the "
                           "database was restored from a backup', message), state = ?, wake_ms = NULL, ended_ms "
                           "= " STORE_NOW_MS " WHERE run_id IN (?) AND state IN (?, ?)",
                           FLOW_RUNNING, FLOW_CANCELLED, sql_each(page->runs, page->count, id), FLOW_WAITING,
                           FLOW_RUNNING);
    if (!e)
        e = restore_change(
            r, ec, "UPDATE shardwheel_flow_item SET state = ?, wake_ms = NULL WHERE run_id IN (?) AND state = ?",
            FLOW_CANCELLED, sql_each(page->runs, page->count, id), FLOW_RUNNING);
    if (!e)
        e = restore_change(r, ec, "DELETE FROM shardwheel_flow_fire WHERE run_id IN (?)",
                           sql_each(page->runs, page->count, id));
    if (!e)
        e = restore_change(r, ec, "DELETE FROM shardwheel_flow_request WHERE run_id IN (?)",
                           sql_each(page->runs, page->count, id));
    if (!e)
        e = restore_change(r, ec,
                           "UPDATE shardwheel_flow_run SET message = IF(state IN (?, ?), ?, message), state = IF(state "
                           "IN (?, ?), ?, state), ended_ms = COALESCE(ended_ms, " STORE_NOW_MS "), look_ms = NULL "
                           "WHERE id IN (?)",
                           FLOW_RUN_QUEUED, FLOW_RUN_RUNNING, restored_text, FLOW_RUN_QUEUED, FLOW_RUN_RUNNING,
                           FLOW_RUN_FAILED, sql_each(page->runs, page->count, id));
    return e;
}

static enum err end_runs(struct restore *r, struct errctx *ec)
{
    struct open_page *page = calloc(1, sizeof *page);
    int64_t after_id = 0;
    enum err e = page ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");

    do {
        struct db_rows *rows = NULL;

        if (!e)
            e = store_query(r->s, &rows, ec,
                            "SELECT id, flow_id, version FROM shardwheel_flow_run WHERE look_ms IS NOT NULL AND id > ? "
                            "ORDER BY id LIMIT ?",
                            after_id, PAGE_RUNS);
        if (e)
            break;
        for (page->count = 0; db_rows_next(rows); page->count++) {
            after_id = page->runs[page->count].id = db_int(rows, 0);
            page->runs[page->count].version = (struct flow_version){db_int(rows, 1), (int)db_int(rows, 2), 0};
        }
        db_rows_destroy(rows);
        if (page->count > 0)
            e = end_page(r, page, ec);
        r->out->flow_runs += (int64_t)page->count;
    } while (!e && page->count == PAGE_RUNS);
    free(page);
    return e;
}

enum err restore_flows(struct restore *r, struct errctx *ec)
{
    int64_t after_id = 0;
    bool there = false, more = true;
    enum err e = flow_find_tables(r->s, &there, ec);

    if (e || !there) /* a backup of the release before */
        return e;
    e = end_runs(r, ec);
    if (!e && !r->order->dry_run)
        e = flow_skip_run_ids(r->s, IDS_LEFT_OUT, ec);
    while (!e && more)
        e = move_page(r, &after_id, &more, ec);
    return e ? err_wrap(ec, e, "flows") : ERR_OK;
}
