/* SPDX-License-Identifier: MIT */
/* Jobs that were changed of late, by update_time: who changes a job writes it, and no scheduler does. It has no index,
 * so that it is looked at by pieces of the primary key. */
#include "shardwheel/store/history.h"

#include <inttypes.h>
#include <stdio.h>

#include "store/conn/datetime.h"
#include "store/conn/session.h"

/* ---- looking ----------------------------------------------------------------------------------------------------- */

/* *until_id: the last of the piece; INT64_MAX when there are no more behind it. */
static enum err find_piece(struct store_session *s, int64_t after_id, int64_t *until_id, struct errctx *ec)
{
    return store_number(s, INT64_MAX, until_id, ec,
                        "SELECT id FROM xxl_job_info FORCE INDEX (PRIMARY) WHERE id > ? ORDER BY id LIMIT ?, 1",
                        after_id, EDITS_PIECE - 1);
}

static bool read_edit(const struct zone *zone, const struct db_rows *rows, struct edited_job *out)
{
    int64_t added_s = 0;

    if (!datetime_parse(zone, db_text(rows, 2), &out->updated_s))
        return false;
    out->id = db_int(rows, 0);
    out->group = db_int(rows, 1);
    out->added = datetime_parse(zone, db_text(rows, 3), &added_s) && added_s == out->updated_s;
    out->running = db_int(rows, 4) == 1;
    snprintf(out->type, sizeof out->type, "%s", db_text_or_empty(rows, 5));
    snprintf(out->conf, sizeof out->conf, "%s", db_text_or_empty(rows, 6));
    return true;
}

static enum err query_piece(struct store_session *s, int64_t after_id, int64_t until_id, int64_t since_s,
                            struct db_rows **out, struct errctx *ec)
{
    return store_query(s, out, ec,
                       "SELECT id, job_group, update_time, add_time, trigger_status, schedule_type, schedule_conf FROM "
                       "xxl_job_info FORCE INDEX (PRIMARY) WHERE id > ? AND id <= ? AND update_time >= ? ORDER BY id",
                       after_id, until_id, sql_time(s->st->zone, since_s));
}

enum err store_find_edits(struct store_session *s, int64_t after_id, int64_t since_s, struct edited_job **out,
                          size_t *count, int64_t *until_id, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    struct edited_job *list = NULL;
    int64_t end = 0;
    size_t n = 0;
    enum err e = store_ready_session(s, ec);

    if (!e)
        e = find_piece(s, after_id, &end, ec);
    if (!e)
        e = query_piece(s, after_id, end, since_s, &rows, ec);
    list = db_rows_room(&rows, sizeof *list, &e, ec);
    while (!e && db_rows_next(rows))
        n += read_edit(s->st->zone, rows, &list[n]);
    db_rows_destroy(rows);
    if (e)
        return err_wrap(ec, e, "look for jobs above %" PRId64 " that were changed", after_id);
    *out = list;
    *count = n;
    *until_id = end == INT64_MAX ? 0 : end;
    return ERR_OK;
}
