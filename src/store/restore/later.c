/* SPDX-License-Identifier: MIT */
/* shardwheel_later: what was due by now may have gone out, and is not sent again; nor is what waits for the run of a
 * flow, which ends. */
#include <stdlib.h>

#include "store/later/later.h"
#include "store/restore/restore_impl.h"

#define PAGE_ROWS STORE_LIST_MAX

struct page {
    int64_t ids[PAGE_ROWS], held[PAGE_ROWS]; /* of later rows; of rows of the log that wait for an executor */
    struct restored_job jobs[PAGE_ROWS];     /* what has no row of the log yet */
    size_t rows, helds, job_count;
};

static enum err read_page(struct restore *r, int64_t after_id, struct page *page, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e = store_query(r->s, &rows, ec,
                             "SELECT r.id, r.job_id, COALESCE(i.job_group, 0), r.original_due_s, COALESCE(r.log_id, 0) "
                             "FROM shardwheel_later r LEFT JOIN xxl_job_info i ON i.id = r.job_id WHERE r.id > ? AND "
                             "r.planned = 0 AND (r.due_s <= ? OR r.kind = 'W') ORDER BY r.id LIMIT ?",
                             after_id, r->out->at_s, PAGE_ROWS);

    *page = (struct page){0};
    while (!e && db_rows_next(rows)) {
        struct restored_job job = {.id = db_int(rows, 1),
                                   .group = db_int(rows, 2),
                                   .count = 1,
                                   .first_s = db_int(rows, 3),
                                   .last_s = db_int(rows, 3)};

        page->ids[page->rows++] = db_int(rows, 0);
        if (db_int(rows, 4))
            page->held[page->helds++] = db_int(rows, 4);
        else if (job.group) /* else the job is gone: the row would be dropped, too */
            page->jobs[page->job_count++] = job;
        e = restore_note(r, &job, ec);
    }
    db_rows_destroy(rows);
    return e;
}

static enum err write_page(struct restore *r, const struct page *page, struct errctx *ec)
{
    enum err e = restore_insert_rows(r, page->jobs, page->job_count, ec);

    if (!e && page->helds)
        e = restore_change(
            r, ec,
            "UPDATE xxl_job_log FORCE INDEX (PRIMARY) SET trigger_code = 500, alarm_status = 1, trigger_msg = "
            "CONCAT(trigger_msg, '<br>delivery unknown: the database was restored from a backup; it may have run "
            "since') WHERE id IN (?) AND trigger_code = 0 AND handle_code = 0 AND trigger_msg LIKE '" LATER_HELD_MARK
            "%'",
            sql_list(page->held, page->helds));
    if (!e && page->rows)
        e = restore_change(r, ec, "DELETE FROM shardwheel_later WHERE id IN (?)", sql_list(page->ids, page->rows));
    return e;
}

enum err restore_later(struct restore *r, struct errctx *ec)
{
    struct page *page = calloc(1, sizeof *page);
    int64_t after_id = 0;
    enum err e = page ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");

    do {
        if (!e)
            e = read_page(r, after_id, page, ec);
        if (!e)
            e = write_page(r, page, ec);
        if (!e && page->rows)
            after_id = page->ids[page->rows - 1];
        if (!e)
            r->out->later += (int64_t)page->rows;
    } while (!e && page->rows == PAGE_ROWS);
    free(page);
    return e ? err_wrap(ec, e, "later rows") : ERR_OK;
}
