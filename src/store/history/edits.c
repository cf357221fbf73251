/* SPDX-License-Identifier: MIT */
/* Jobs that were changed of late, by update_time: who changes a job writes it, and no scheduler does. It has no index,
 * so that it is looked at by pieces of the primary key. */
#include "shardwheel/store/history.h"

#include <inttypes.h>

#include "store/conn/datetime.h"
#include "store/conn/rows.h"

/* ---- looking ----------------------------------------------------------------------------------------------------- */

/* *until_id: the last of the piece; INT64_MAX when there are no more behind it. */
static enum err find_piece(struct store_session *s, int64_t after_id, int64_t *until_id, struct errctx *ec)
{
    return store_number(s, INT64_MAX, until_id, ec,
                        "SELECT id FROM xxl_job_info FORCE INDEX (PRIMARY) WHERE id > ? ORDER BY id LIMIT ?, 1",
                        after_id, EDITS_PIECE - 1);
}

static bool is_dated(const struct store_session *s, const struct db_rows *row, void *item)
{
    struct edited_job *job = item;
    int64_t added_s = 0;

    job->added = datetime_parse(s->st->zone, db_text(row, 3), &added_s) && added_s == job->updated_s;
    return job->updated_s != INT64_MIN;
}

enum err store_find_edits(struct store_session *s, int64_t after_id, int64_t since_s, struct edited_job **out,
                          size_t *count, int64_t *until_id, struct errctx *ec)
{
    static const struct row_type edits =
        ROWS_AND(struct edited_job, is_dated, FIELDS(struct edited_job, id, group),
                 TIME(struct edited_job, updated_s, INT64_MIN), SKIP, FIELDS(struct edited_job, running, type, conf));
    int64_t end = 0;
    enum err e = find_piece(s, after_id, &end, ec);

    if (!e) {
        store_sql(s,
                  "SELECT id, job_group, update_time, add_time, trigger_status = 1, schedule_type, schedule_conf FROM "
                  "xxl_job_info FORCE INDEX (PRIMARY) WHERE id > ? AND id <= ? AND update_time >= ? ORDER BY id",
                  after_id, end, sql_time(s->st->zone, since_s));
        e = store_read_array(s, &edits, out, count, ec);
    }
    if (e)
        return err_wrap(ec, e, "look for jobs above %" PRId64 " that were changed", after_id);
    *until_id = end == INT64_MAX ? 0 : end;
    return ERR_OK;
}
