/* SPDX-License-Identifier: MIT */
#include "store/run/ids.h"

#include <stdlib.h>
#include <string.h>

/* What the server keeps of the table knows ids whose rows are gone. */
enum err store_find_last_log_id(struct store_session *s, int64_t *last_id, struct errctx *ec)
{
    static const char counter[] = " AUTO_INCREMENT=";
    const char *options = NULL;
    struct db_rows *rows = NULL;
    enum err e;

    store_start_sql(s, "SELECT MAX(id) FROM xxl_job_log");
    e = store_query_number(s, 0, last_id, ec);
    if (e)
        return e;
    store_start_sql(s, "SHOW CREATE TABLE xxl_job_log");
    e = store_query_sql(s, &rows, ec);
    if (!e && db_rows_next(rows))
        options = strstr(db_text_or_empty(rows, 1), "\n) ENGINE=");
    if (options && (options = strstr(options, counter)) != NULL) {
        int64_t next = strtoll(options + sizeof counter - 1, NULL, 10);

        *last_id = next - 1 > *last_id ? next - 1 : *last_id;
    }
    db_rows_destroy(rows);
    return e;
}

enum err store_move_log_ids(struct store_session *s, int64_t id, struct errctx *ec)
{
    enum err e;

    store_start_sql(s, "INSERT INTO xxl_job_log (id, job_group, job_id, trigger_code, handle_code) VALUES (");
    sql_int(&s->sql, id);
    sql_puts(&s->sql, ", 0, 0, 500, 500)");
    e = store_exec_sql(s, NULL, ec);
    if (e)
        return e;
    sql_int(store_start_sql(s, "DELETE FROM xxl_job_log WHERE id = "), id);
    return store_exec_sql(s, NULL, ec);
}
