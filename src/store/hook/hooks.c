/* SPDX-License-Identifier: MIT */
/* Webhooks that are told of events, and which kinds of these are written at all. */
#include "shardwheel/store/hook.h"

#include <stdio.h>

#include "store/conn/rows.h"
#include "store/people/audit.h"

static const char *const kinds[] = {
    [HOOK_RUN_ENDED] = "run_ended", [HOOK_JOB_CHANGED] = "job_changed", [HOOK_FLOW_ENDED] = "flow_ended", NULL};
static const char *const states[] = {
    [DELIVERY_WAITING] = "waiting", [DELIVERY_SENT] = "sent", [DELIVERY_GIVEN_UP] = "given_up", NULL};

const char *hook_kind_name(enum hook_kind kind)
{
    return kinds[kind];
}

const char *const *hook_kind_names(void)
{
    return kinds;
}

const char *const *delivery_state_names(void)
{
    return states;
}

/* ---- which kinds are wanted -------------------------------------------------------------------------------------- */

enum err store_learn_hooks(struct store_session *s, struct errctx *ec)
{
    struct store_features features;
    int64_t wanted = 0;
    enum err e = store_get_features(s, &features, ec);

    if (!e && features.own_version >= 3)
        e = store_number(s, 0, &wanted, ec, "SELECT BIT_OR(kinds) FROM shardwheel_hook WHERE enabled = 1");
    if (e)
        return err_wrap(ec, e, "read which events are wanted");
    atomic_store_explicit(s->st->hook_kinds, (int)wanted, memory_order_relaxed);
    return ERR_OK;
}

void store_share_hooks(struct store *from, struct store *to)
{
    to->hook_kinds = from->hook_kinds;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static enum err load_counts(struct store_session *s, struct hook_row *row, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    int64_t oldest = 0;
    enum err e = store_query(s, &rows, ec,
                             "SELECT COUNT(*), COALESCE(MIN(id), 0) FROM shardwheel_delivery WHERE hook_id = ? AND "
                             "state = ?",
                             row->id, (int)DELIVERY_WAITING);

    if (!e && db_rows_next(rows)) {
        row->waiting = db_int(rows, 0);
        oldest = db_int(rows, 1);
    }
    db_rows_destroy(rows);
    if (!e && oldest)
        e = store_number(s, 0, &row->oldest_ms, ec, "SELECT since_ms FROM shardwheel_delivery WHERE id = ?", oldest);
    return e;
}

enum err store_load_hooks(struct store_session *s, bool counts, struct hook_rows *out, struct errctx *ec)
{
    static const struct row_type hooks =
        ROWS(struct hook_row, FIELDS(struct hook_row, id, name, target, secret, kinds, only_failed, app_names, tags,
                                     enabled, changed_ms, failures, next_ms, wait_ms, sent_ms, error));

    store_start_sql(s, "SELECT id, name, target, secret, kinds, only_failed, app_names, tags, enabled, changed_ms, "
                       "failures, next_ms, next_ms - " STORE_NOW_MS
                       ", sent_ms, error FROM shardwheel_hook ORDER BY id LIMIT 100");
    enum err e = store_read_list(s, &hooks, out, ec);
    for (size_t i = 0; i < out->count && !e && counts; i++)
        e = load_counts(s, &out->rows[i], ec);
    return e ? err_wrap(ec, e, "read the webhooks of events") : ERR_OK;
}

/* ---- changing ---------------------------------------------------------------------------------------------------- */

/* What has changed counts here at once. */
static enum err end(struct store_session *s, enum err e)
{
    struct errctx why;

    errctx_clear(&why);
    if (!e)
        (void)!store_learn_hooks(s, &why); /* else it counts when it is learned the next time */
    return e;
}

enum err store_put_hook(struct store_session *s, const struct hook_row *row, const struct audit_row *audit,
                        int64_t *added, struct errctx *ec)
{
    char has_same[600];
    const struct audited_table hooks = {"shardwheel_hook", "webhook", "a webhook", has_same, HOOKS_MAX};

    snprintf(has_same, sizeof has_same, "the name %s", row->name);
    return end(s,
               store_put_audited(s, &hooks, row->id, SQL_VALUES("name = ?", row->name),
                                 SQL_VALUES("name = ?, target = ?, secret = ?, kinds = ?, only_failed = ?, app_names "
                                            "= ?, tags = ?, enabled = ?, next_ms = 0, changed_ms = " STORE_NOW_MS,
                                            row->name, row->target, row->secret, row->kinds, row->only_failed,
                                            row->app_names, row->tags, row->enabled),
                                 audit, added, ec));
}

/* What it was to be told goes with the next cleaning. */
enum err store_remove_hook(struct store_session *s, int64_t id, const struct audit_row *audit, struct errctx *ec)
{
    return end(s, store_remove_audited(s, &(struct audited_table){.table = "shardwheel_hook", .one = "webhook"}, id,
                                       audit, ec));
}
