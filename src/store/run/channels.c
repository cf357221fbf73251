/* SPDX-License-Identifier: MIT */
/* Channels of alarms that were set in the console. */
#include "shardwheel/store/channel.h"

#include <inttypes.h>

#include "store/people/audit.h"

enum err store_load_channels(struct store_session *s, struct channel_rows *out, struct errctx *ec)
{
    static const struct row_type channels =
        ROWS(struct channel_row,
             FIELDS(struct channel_row, id, name, kind, target, secret, app_names, tags, quiet, changed_ms));

    store_start_sql(
        s, "SELECT id, name, kind, target, secret, app_names, tags, quiet, changed_ms FROM shardwheel_channel ORDER BY "
           "id LIMIT 100");
    enum err e = store_read_list(s, &channels, out, ec);
    return e ? err_wrap(ec, e, "read the channels of alarms") : ERR_OK;
}

STORE_LIST_FINI(channel_rows, rows)

static void put_members(struct sqlbuf *q, const struct channel_row *row)
{
    sql_put(
        q, "name = ?, kind = ?, target = ?, secret = ?, app_names = ?, tags = ?, quiet = ?, changed_ms = " STORE_NOW_MS,
        row->name, row->kind, row->target, row->secret, row->app_names, row->tags, row->quiet);
}

enum err store_add_channel(struct store_session *s, const struct channel_row *row, int64_t max,
                           const struct audit_row *audit, int64_t *id, struct errctx *ec)
{
    struct audit_row noted = *audit;
    struct db_effect effect = {0};
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = store_check_name(s, "shardwheel_channel", "channel", row->id, row->name, max, ec);
    if (!e) {
        put_members(store_start_sql(s, "INSERT INTO shardwheel_channel SET "), row);
        e = store_exec_sql(s, &effect, ec);
    }
    noted.target = effect.first_id;
    e = store_end_audited(s, e, &noted, ec);
    if (e)
        return err_wrap(ec, e, "add a channel");
    *id = effect.first_id;
    return ERR_OK;
}

enum err store_change_channel(struct store_session *s, const struct channel_row *row, const struct audit_row *audit,
                              struct errctx *ec)
{
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = store_check_name(s, "shardwheel_channel", "channel", row->id, row->name, 0, ec);
    if (!e) {
        put_members(store_start_sql(s, "UPDATE shardwheel_channel SET "), row);
        sql_put(&s->sql, " WHERE id = ?", row->id);
        e = store_exec_sql(s, NULL, ec);
    }
    e = store_end_audited(s, e, audit, ec);
    return e ? err_wrap(ec, e, "change channel %" PRId64, row->id) : ERR_OK;
}

enum err store_remove_channel(struct store_session *s, int64_t id, const struct audit_row *audit, struct errctx *ec)
{
    struct db_effect effect = {0};
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = store_exec(s, &effect, ec, "DELETE FROM shardwheel_channel WHERE id = ?", id);
    if (!e && effect.matched == 0)
        e = err_set(ec, ERR_NOTFOUND, "there is no such channel");
    e = store_end_audited(s, e, audit, ec);
    return e ? err_wrap(ec, e, "remove channel %" PRId64, id) : ERR_OK;
}
