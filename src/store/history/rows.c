/* SPDX-License-Identifier: MIT */
/* Rows of the log with the ends of their texts: the mark at the head, reason and link to a retry at the tail. */
#include "shardwheel/store/history.h"

#include <inttypes.h>
#include <stdlib.h>

#include "store/conn/rows.h"

enum err store_load_told_rows(struct store_session *s, int64_t job_id, int64_t *ids, size_t count,
                              struct told_rows *out, struct errctx *ec)
{
    static const struct row_type told =
        ROWS(struct told_row, FIELDS(struct told_row, id), TIME(struct told_row, triggered_s, 0),
             TIME(struct told_row, handled_s, 0),
             FIELDS(struct told_row, trigger_code, handle_code, address, head, tail, handle_head, retries_left));
    struct told_rows rows = {0};
    enum err e = ERR_OK;

    qsort(ids, count, sizeof *ids, compare_int64);
    for (size_t at = 0; at < count && !e; at += STORE_LIST_MAX) {
        store_sql(s,
                  "SELECT id, trigger_time, handle_time, trigger_code, handle_code, executor_address, "
                  "LEFT(trigger_msg, ?), RIGHT(trigger_msg, ?), LEFT(handle_msg, ?), executor_fail_retry_count FROM "
                  "xxl_job_log FORCE INDEX (PRIMARY) WHERE id IN (?) AND job_id = ? ORDER BY id",
                  TOLD_HEAD, TOLD_TAIL, TOLD_TAIL, sql_part(ids, count, at), job_id);
        e = store_append_list(s, &told, &rows, ec);
    }
    if (e) {
        told_rows_fini(&rows);
        return err_wrap(ec, e, "read %zu rows of job %" PRId64, count, job_id);
    }
    *out = rows;
    return ERR_OK;
}
