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
    enum err e = store_number(s, 0, last_id, ec, "SELECT MAX(id) FROM xxl_job_log");

    if (e)
        return e;
    e = store_query(s, &rows, ec, "SHOW CREATE TABLE xxl_job_log");
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
    enum err e = store_exec(
        s, NULL, ec,
        "INSERT INTO xxl_job_log (id, job_group, job_id, trigger_code, handle_code) VALUES (?, 0, 0, 500, 500)", id);

    if (e)
        return e;
    return store_exec(s, NULL, ec, "DELETE FROM xxl_job_log WHERE id = ?", id);
}
