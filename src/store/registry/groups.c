/* SPDX-License-Identifier: MIT */
/* xxl_job_group: executors' address lists. */
#include <inttypes.h>

#include "store/conn/rows.h"
#include "shardwheel/store/registry.h"

enum err store_load_groups(struct store_session *s, struct group_list *out, struct errctx *ec)
{
    static const struct row_type groups =
        ROWS(struct group_row, FIELDS(struct group_row, id, manual, app_name, address_list, access_token));
    const struct store_features *f = store_features(s);

    store_sql(s, "SELECT id, address_type = 1, app_name, address_list, ? FROM xxl_job_group ORDER BY id",
              sql_word(f->group_access_token ? "access_token" : "NULL"));
    enum err e = store_read_list(s, &groups, out, ec);
    return e ? err_wrap(ec, e, "read the groups") : ERR_OK;
}

enum err store_update_group_addresses(struct store_session *s, int64_t group, const char *old_list,
                                      const char *new_list, int64_t now_s, struct errctx *ec)
{
    struct db_effect effect = {0};
    /* To the letter: the column's own collation would not see a change of case. */
    enum err e = store_write(
        s, &effect, ec,
        "UPDATE xxl_job_group SET address_list = ?, update_time = ? WHERE id = ? AND address_type = 0 AND "
        "CONVERT(COALESCE(address_list, '') USING utf8mb4) COLLATE utf8mb4_bin = ?",
        sql_or_null(str_is_blank(new_list) ? NULL : new_list), sql_time(s->st->zone, now_s), group, old_list);

    if (!e && effect.matched == 0)
        e = err_set(ec, ERR_CONFLICT, "the group was deleted, is no longer automatic, or its list was changed");
    return e ? err_wrap(ec, e, "write the addresses of group %" PRId64, group) : ERR_OK;
}
