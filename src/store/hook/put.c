/* SPDX-License-Identifier: MIT */
#include "store/hook/put.h"

#include <inttypes.h>
#include <string.h>

#include "shardwheel/job/codes.h"
#include "shardwheel/store/hook.h"
#include "shardwheel/text.h"
#include "store/conn/rows.h"

static bool is_wanted(const struct store_session *s, enum hook_kind kind)
{
    return atomic_load_explicit(s->st->hook_kinds, memory_order_relaxed) & 1 << kind;
}

/* ---- what a webhook takes ---------------------------------------------------------------------------------------- */

static bool have_common(const char *list, const char *words)
{
    struct text_part word;

    while (text_next_item(&words, &word))
        if (word.len && text_list_has_part(list, word))
            return true;
    return false;
}

/* An event that a webhook may want, and by what that is decided. */
struct candidate {
    int64_t hook_id, line, log_id;
    int code;
    const char *wanted_apps, *wanted_tags, *app, *tags;
    int gone; /* the job: nobody knows its tags */
};
STORE_LIST(candidates, struct candidate, rows);

static bool suits(const struct candidate *c)
{
    return (!*c->wanted_apps || text_list_has(c->wanted_apps, c->app)) &&
           (!*c->wanted_tags || c->gone || have_common(c->wanted_tags, c->tags));
}

/* Sends s->sql. */
static enum err load(struct store_session *s, struct candidates *out, struct errctx *ec)
{
    static const struct row_type candidates =
        ROWS(struct candidate,
             FIELDS(struct candidate, hook_id, line, log_id, code, wanted_apps, wanted_tags, app, tags, gone));
    enum err e = store_read_list(s, &candidates, out, ec);
    size_t kept = 0;

    for (size_t i = 0; i < out->count && !e; i++)
        if (suits(&out->rows[i]))
            out->rows[kept++] = out->rows[i];
    out->count = e ? 0 : kept;
    return e;
}

/* A run that was told with the same code is left alone. */
static enum err insert(struct store_session *s, enum hook_kind kind, const struct candidates *list, int64_t audit_id,
                       int64_t run_id, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t at = 0; at < list->count && !e;) {
        struct sqlbuf *q = store_start_sql(s, "INSERT INTO shardwheel_delivery (hook_id, kind, line, log_id, code, "
                                              "audit_id, run_id, made_ms, since_ms, state, tries, next_ms, status, "
                                              "error) VALUES ");
        size_t n = 0;
        for (; at < list->count && n < STORE_LIST_MAX; at++, n++) {
            const struct candidate *c = &list->rows[at];
            sql_put(q, "?(?, ?, ?, ?, ?, ?, ?, " STORE_NOW_MS ", " STORE_NOW_MS ", 0, 0, 0, 0, '')",
                    sql_word(n ? ", " : ""), c->hook_id, (int)kind, c->line, sql_int_or_null(c->log_id), c->code,
                    audit_id, run_id);
        }
        sql_puts(q, " ON DUPLICATE KEY UPDATE shardwheel_delivery.id = shardwheel_delivery.id");
        e = store_exec_sql(s, NULL, ec);
    }
    return e;
}

/* Sends s->sql, and writes an event for each webhook that it found and that takes it. */
static enum err put(struct store_session *s, enum hook_kind kind, int64_t audit_id, int64_t run_id, struct errctx *ec)
{
    struct candidates list = {0};
    enum err e = load(s, &list, ec);

    if (!e)
        e = insert(s, kind, &list, audit_id, run_id, ec);
    candidates_fini(&list);
    return e;
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

/* Read and then inserted: INSERT ... SELECT would lock jobs and groups behind rows of the log. */
static enum err put_some(struct store_session *s, struct sql_value ids, struct errctx *ec)
{
    store_sql(
        s,
        "SELECT h.id, l.job_id, l.id, IF(l.handle_code <> 0, l.handle_code, l.trigger_code), h.app_names, h.tags, "
        "g.app_name, o.tags, 0 FROM xxl_job_log l FORCE INDEX (PRIMARY) JOIN shardwheel_hook h ON h.enabled = 1 "
        "AND h.kinds & ? AND (h.only_failed = 0 OR l.handle_code <> ?) LEFT JOIN xxl_job_group g ON g.id = "
        "l.job_group LEFT JOIN shardwheel_job o ON o.job_id = l.job_id WHERE l.id IN (?) AND (l.handle_code <> 0 "
        "OR l.trigger_code NOT IN (0, ?)) ORDER BY l.id, h.id",
        1 << HOOK_RUN_ENDED, CODE_OK, ids, CODE_OK);
    return put(s, HOOK_RUN_ENDED, 0, 0, ec);
}

enum err hook_put_runs(struct store_session *s, const int64_t *log_ids, size_t count, struct errctx *ec)
{
    enum err e = ERR_OK;

    if (!is_wanted(s, HOOK_RUN_ENDED))
        return ERR_OK;
    for (size_t at = 0; at < count && !e; at += STORE_LIST_MAX)
        e = put_some(s, sql_part(log_ids, count, at), ec);
    return e ? err_wrap(ec, e, "write events of %zu runs", count) : ERR_OK;
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

static bool is_change(const char *action)
{
    static const char *const actions[] = {"job.add", "job.update", "job.start", "job.stop", "job.remove"};

    return list_has_text(actions, ARRAY_LEN(actions), action) || strncmp(action, "glue.", 5) == 0;
}

enum err hook_put_change(struct store_session *s, const struct audit_row *row, int64_t audit_id, struct errctx *ec)
{
    if (!is_wanted(s, HOOK_JOB_CHANGED) || !is_change(row->action))
        return ERR_OK;
    store_sql(s,
              "SELECT h.id, ?, 0, 0, h.app_names, h.tags, g.app_name, o.tags, ? FROM shardwheel_hook h LEFT JOIN "
              "xxl_job_group g ON g.id = ? LEFT JOIN shardwheel_job o ON o.job_id = ? WHERE h.enabled = 1 AND h.kinds "
              "& ? ORDER BY h.id",
              row->target, (int)(strcmp(row->action, "job.remove") == 0), row->job_group, row->target,
              1 << HOOK_JOB_CHANGED);
    enum err e = put(s, HOOK_JOB_CHANGED, audit_id, 0, ec);
    return e ? err_wrap(ec, e, "write events of a change") : ERR_OK;
}

/* ---- flows ------------------------------------------------------------------------------------------------------- */

/* For webhooks of all groups and tags: a flow has none. */
static enum err put_flow(struct store_session *s, const struct flow_moving *run, struct errctx *ec)
{
    store_sql(
        s,
        "SELECT id, ?, 0, 0, '', '', '', '', 0 FROM shardwheel_hook WHERE enabled = 1 AND kinds & ? AND app_names "
        "= '' AND tags = '' AND (only_failed = 0 OR ?) ORDER BY id",
        -run->flow_id, 1 << HOOK_FLOW_ENDED, (int)(run->state == FLOW_RUN_FAILED));
    enum err e = put(s, HOOK_FLOW_ENDED, 0, run->id, ec);
    return e ? err_wrap(ec, e, "write events of flow run %" PRId64, run->id) : ERR_OK;
}

enum err hook_put_flows(struct store_session *s, const struct flow_batch *batch, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < batch->runs.count && !e && is_wanted(s, HOOK_FLOW_ENDED); i++)
        if (batch->runs.items[i].has_ended)
            e = put_flow(s, &batch->runs.items[i], ec);
    return e;
}
