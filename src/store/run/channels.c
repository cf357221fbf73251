/* SPDX-License-Identifier: MIT */
/* Channels of alarms that were set in the console. */
#include "shardwheel/store/channel.h"

#include <stdio.h>

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

enum err store_put_channel(struct store_session *s, const struct channel_row *row, int64_t max,
                           const struct audit_row *audit, int64_t *added, struct errctx *ec)
{
    char has_same[600];
    const struct audited_table channels = {"shardwheel_channel", "channel", "a channel", has_same, max};

    snprintf(has_same, sizeof has_same, "the name %s", row->name);
    return store_put_audited(
        s, &channels, row->id, SQL_VALUES("name = ?", row->name),
        SQL_VALUES("name = ?, kind = ?, target = ?, secret = ?, app_names = ?, tags = ?, quiet = ?, "
                   "changed_ms = " STORE_NOW_MS,
                   row->name, row->kind, row->target, row->secret, row->app_names, row->tags, row->quiet),
        audit, added, ec);
}

enum err store_remove_channel(struct store_session *s, int64_t id, const struct audit_row *audit, struct errctx *ec)
{
    return store_remove_audited(s, &(struct audited_table){.table = "shardwheel_channel", .one = "channel"}, id, audit,
                                ec);
}
