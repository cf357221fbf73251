/* SPDX-License-Identifier: MIT */
/* xxl_job_info: next times beyond the second of the restore; rows for what is left out; ids of the log. */
#include <stdlib.h>

#include "shardwheel/job/codes.h"
#include "shardwheel/job/words.h"
#include "store/plan/claim_impl.h"
#include "store/restore/restore_impl.h"
#include "store/run/ids.h"

#define PAGE_ROWS STORE_LIST_MAX
#define HOUR_S 3600
#define DAY_S 86400
/* The rate of ids is that of the busiest of the hour and the day before the backup; what came after it may have been
 * busier, and ids cost nothing. */
#define IDS_FACTOR 4
#define IDS_LEAST 1000000

/* ---- ids --------------------------------------------------------------------------------------------------------- */

/* Ids per span_s before the backup, as so many in a second times 1000; 0: nothing is known. */
static enum err find_rate(struct restore *r, int64_t last_id, int64_t span_s, int64_t *per_1000s, struct errctx *ec)
{
    int64_t first = 0;
    enum err e = store_number(r->s, 0, &first, ec,
                              "SELECT id FROM xxl_job_log WHERE trigger_time >= ? ORDER BY trigger_time LIMIT 1",
                              sql_time(r->s->st->zone, r->out->from_s - span_s));

    if (!e)
        *per_1000s = first && last_id > first ? (last_id - first) * 1000 / span_s : 0;
    return e;
}

enum err restore_ids(struct restore *r, struct errctx *ec)
{
    int64_t last_id = 0, hour = 0, day = 0, lost_s = r->out->at_s - r->out->from_s, more = r->order->ids;
    enum err e = store_find_last_log_id(r->s, &last_id, ec);

    if (!e && !more)
        e = find_rate(r, last_id, HOUR_S, &hour, ec);
    if (!e && !more)
        e = find_rate(r, last_id, DAY_S, &day, ec);
    if (e)
        return err_wrap(ec, e, "ids of the log");
    if (!more)
        more = IDS_LEAST + IDS_FACTOR * (hour > day ? hour : day) * lost_s / 1000;
    r->out->first_id = last_id + more;
    if (!r->order->dry_run)
        e = store_move_log_ids(r->s, r->out->first_id, ec);
    return e ? err_wrap(ec, e, "ids of the log") : ERR_OK;
}

/* ---- rows for what is left out ----------------------------------------------------------------------------------- */

static enum err insert_rows(struct restore *r, const struct restored_job *jobs, size_t count, enum text_fit fit,
                            struct errctx *ec)
{
    store_start_sql(r->s, store_skipped_columns);
    for (size_t i = 0; i < count; i++) {
        const struct restored_job *job = &jobs[i];

        sql_puts(&r->s->sql, i ? "," : "");
        store_put_skipped(
            r->s, job->group, job->id,
            &(struct skipped){.count = job->count, .more = job->more, .first_s = job->first_s, .last_s = job->last_s},
            word_get(r->s->st->opts.lang, WORD_SKIPPED_RESTORED), "", fit);
    }
    return restore_write(r, ec);
}

enum err restore_insert_rows(struct restore *r, const struct restored_job *jobs, size_t count, struct errctx *ec)
{
    enum err e = count ? insert_rows(r, jobs, count, TEXT_AS_IS, ec) : ERR_OK;

    /* A column that cannot hold the language: what is not ASCII becomes question marks. */
    if (e && store_has_data_error(r->s))
        e = insert_rows(r, jobs, count, TEXT_ASCII, ec);
    return e;
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

struct page {
    struct restored_job jobs[PAGE_ROWS]; /* what is left out */
    struct step {
        int64_t id;
        int64_t next_ms; /* 0: it is stopped */
    } steps[PAGE_ROWS];
    size_t rows, job_count;
};

static enum err add_job(struct restore *r, const struct db_rows *row, struct page *page, struct errctx *ec)
{
    static const struct row_type jobs =
        ROWS(struct job_due, FIELDS(struct job_due, id, group, next_ms, schedule_type, schedule_conf),
             NULL_TEXTS(struct job_due, time_zone), SECONDS(struct job_due, fixed_delay_s, 0),
             SECONDS(struct job_due, valid_from_s, 0), SECONDS(struct job_due, valid_until_s, 0));
    struct job_due job = {0};
    struct restore_next next = {0};

    row_read(r->s, row, &jobs, &job);
    enum err e = r->order->find_next(r->order->arg, &job, r->out->at_s, &next, ec);
    if (e)
        return e;
    page->steps[page->rows++] = (struct step){job.id, next.stop ? 0 : next.next_ms};
    r->out->moved++;
    r->out->stopped += next.stop;
    if (next.skipped.count) {
        page->jobs[page->job_count] = (struct restored_job){.id = job.id,
                                                            .group = job.group,
                                                            .count = next.skipped.count,
                                                            .more = next.skipped.more,
                                                            .first_s = next.skipped.first_s,
                                                            .last_s = next.skipped.last_s,
                                                            .stopped = next.stop};
        e = restore_note(r, &page->jobs[page->job_count++], ec);
    }
    return e;
}

static enum err read_page(struct restore *r, int64_t after_id, struct page *page, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e =
        store_query(r->s, &rows, ec,
                    "SELECT i.id, i.job_group, i.trigger_next_time, i.schedule_type, i.schedule_conf, o.time_zone, "
                    "COALESCE(o.fixed_delay_s, 0), COALESCE(o.valid_from_s, 0), COALESCE(o.valid_until_s, 0) FROM "
                    "xxl_job_info i LEFT JOIN shardwheel_job o ON o.job_id = i.id WHERE i.trigger_status = 1 AND i.id "
                    "> ? AND i.trigger_next_time < ? ORDER BY i.id LIMIT ?",
                    after_id, (r->out->at_s + 1) * 1000, PAGE_ROWS);

    page->rows = page->job_count = 0;
    while (!e && db_rows_next(rows))
        e = add_job(r, rows, page, ec);
    db_rows_destroy(rows);
    return e;
}

/* As a claim writes it: a job that has no further due time is stopped. */
static enum err write_steps(struct restore *r, const struct page *page, struct errctx *ec)
{
    struct sqlbuf *q = store_start_sql(r->s, "UPDATE xxl_job_info SET trigger_last_time = CASE id");

    for (int what = 0; what < 3; what++) {
        if (what)
            sql_puts(q, what == 1 ? ", trigger_next_time = CASE id" : ", trigger_status = CASE id");
        for (size_t i = 0; i < page->rows; i++) {
            int64_t next_ms = page->steps[i].next_ms;

            sql_put(q, " WHEN ? THEN ", page->steps[i].id);
            if (what == 0 && next_ms)
                sql_puts(q, "trigger_next_time");
            else
                sql_int(q, what == 2 ? next_ms != 0 : next_ms);
        }
        sql_puts(q, " END");
    }
    sql_put(q, " WHERE id IN (?)", sql_each(page->steps, page->rows, id));
    return restore_write(r, ec);
}

enum err restore_jobs(struct restore *r, struct errctx *ec)
{
    struct page *page = calloc(1, sizeof *page);
    int64_t after_id = 0;
    enum err e = page ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");

    do {
        if (!e)
            e = read_page(r, after_id, page, ec);
        if (!e && page->rows)
            e = write_steps(r, page, ec);
        if (!e)
            e = restore_insert_rows(r, page->jobs, page->job_count, ec);
        if (!e && page->rows)
            after_id = page->steps[page->rows - 1].id;
    } while (!e && page->rows == PAGE_ROWS);
    free(page);
    return e ? err_wrap(ec, e, "jobs") : ERR_OK;
}
