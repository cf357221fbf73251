/* SPDX-License-Identifier: MIT */
/* xxl_job_group: executors' address lists. */
#include <inttypes.h>
#include <stdlib.h>

#include "store/conn/session.h"
#include "shardwheel/store/registry.h"

enum err store_load_groups(struct store_session *s, struct group_list *out, struct errctx *ec)
{
    struct store_features features;
    struct db_rows *rows = NULL;
    struct group_row *list;
    size_t n = 0;
    enum err e = store_ready_features(s, &features, ec);

    if (e)
        return err_wrap(ec, e, "read the groups");
    e = store_query(s, &rows, ec, "SELECT id, address_type, app_name, address_list, ? FROM xxl_job_group ORDER BY id",
                    sql_word(features.group_access_token ? "access_token" : "NULL"));
    list = db_rows_room(&rows, sizeof *list, &e, ec);
    if (e)
        return err_wrap(ec, e, "read the groups");
    while (db_rows_next(rows))
        list[n++] = (struct group_row){
            .id = db_int(rows, 0),
            .manual = db_int(rows, 1) == 1,
            .app_name = db_text_or_empty(rows, 2),
            .address_list = db_text_or_empty(rows, 3),
            .access_token = db_text_or_empty(rows, 4),
        };
    *out = (struct group_list){.rows = list, .count = n, .memory = rows};
    return ERR_OK;
}

void group_list_fini(struct group_list *list)
{
    db_rows_destroy(list->memory);
    free(list->rows);
    *list = (struct group_list){0};
}

enum err store_update_group_addresses(struct store_session *s, int64_t group, const char *old_list,
                                      const char *new_list, int64_t now_s, struct errctx *ec)
{
    struct db_effect effect = {0};
    enum err e = store_ready_session(s, ec);

    if (e)
        return err_wrap(ec, e, "write the addresses of group %" PRId64, group);
    /* To the letter: the column's own collation would not see a change of case. */
    store_sql(s,
              "UPDATE xxl_job_group SET address_list = ?, update_time = ? WHERE id = ? AND address_type = 0 AND "
              "CONVERT(COALESCE(address_list, '') USING utf8mb4) COLLATE utf8mb4_bin = ?",
              sql_or_null(str_is_blank(new_list) ? NULL : new_list), sql_time(s->st->zone, now_s), group, old_list);
    e = store_write_sql(s, &effect, ec);
    if (!e && effect.matched == 0)
        e = err_set(ec, ERR_CONFLICT, "the group is gone, is not automatic any more, or its list was changed");
    return e ? err_wrap(ec, e, "write the addresses of group %" PRId64, group) : ERR_OK;
}
