/* SPDX-License-Identifier: MIT */
/* xxl_job_log: what is open ends, and what has failed is no reason for a retry. */
#include <stdlib.h>
#include <string.h>

#include "shardwheel/job/codes.h"
#include "store/later/later.h"
#include "store/restore/restore_impl.h"

#define PAGE_ROWS STORE_LIST_MAX
#define CODES_MAX 1000          /* of handle_code: executors may report any */
#define LOOK_BACK_S (8 * 86400) /* the failure monitor of a node that starts looks seven days back */
#define MARK_CHARS "120"        /* of trigger_msg: the longest mark */

static const char unknown_text[] = "delivery unknown: the database was restored from a backup; it may have run since";

/* What becomes of a row. */
enum fate { LEAVE, END, SETTLE };

struct page {
    int64_t end[PAGE_ROWS], settle[PAGE_ROWS];
    size_t ends, settles;
    int64_t last_id;
    size_t rows;
};

/* A planned or a direct fire that is open; *due_s is the due time that it stands for. */
static bool is_fire(const char *mark, struct fire *fire)
{
    char incarnation[INCARNATION_MAX];

    if (fire_parse_mark(mark, fire))
        return true;
    if (!fire_parse_direct_mark(mark, fire, incarnation))
        return false;
    fire->original_due_s = fire->due_s;
    return true;
}

static enum err judge(struct restore *r, const struct db_rows *row, enum fate *fate, struct errctx *ec)
{
    const char *mark = db_text_or_empty(row, 4);
    bool open = db_int(row, 3) == CODE_OPEN && db_int(row, 5) == CODE_OPEN;
    struct fire fire = {0};

    *fate = SETTLE;
    if (open && strncmp(mark, LATER_HELD_MARK, strlen(LATER_HELD_MARK)) == 0) {
        *fate = LEAVE; /* its later row is due beyond that second */
    } else if (open && is_fire(mark, &fire)) {
        *fate = fire.due_s > r->out->at_s ? LEAVE : END;
        if (*fate == END)
            return restore_note(r,
                                &(struct restored_job){.id = db_int(row, 1),
                                                       .group = db_int(row, 2),
                                                       .count = 1,
                                                       .first_s = fire.original_due_s,
                                                       .last_s = fire.original_due_s},
                                ec);
    } else if (db_int(row, 3) == CODE_OK && db_int(row, 5) == CODE_OPEN) {
        r->out->running++;
    } else {
        r->out->unhandled++;
    }
    return ERR_OK;
}

static enum err read_page(struct restore *r, int64_t code, struct page *page, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e = store_query(r->s, &rows, ec,
                             "SELECT id, job_id, job_group, trigger_code, LEFT(trigger_msg, " MARK_CHARS
                             "), handle_code FROM xxl_job_log WHERE handle_code = ? AND id > ? AND alarm_status = 0 "
                             "AND trigger_time >= ? ORDER BY id LIMIT ?",
                             code, page->last_id, sql_time(r->s->st->zone, r->out->from_s - LOOK_BACK_S), PAGE_ROWS);

    page->ends = page->settles = page->rows = 0;
    while (!e && db_rows_next(rows)) {
        enum fate fate;

        page->rows++;
        page->last_id = db_int(rows, 0);
        e = judge(r, rows, &fate, ec);
        if (!e && fate == END)
            page->end[page->ends++] = page->last_id;
        else if (!e && fate == SETTLE)
            page->settle[page->settles++] = page->last_id;
    }
    db_rows_destroy(rows);
    return e;
}

static enum err write_page(struct restore *r, const struct page *page, struct errctx *ec)
{
    enum err e = ERR_OK;

    r->out->unknown += (int64_t)page->ends;
    if (page->ends)
        e = restore_change(
            r, ec,
            "UPDATE xxl_job_log FORCE INDEX (PRIMARY) SET trigger_code = 500, alarm_status = 1, trigger_msg = "
            "CONCAT(LEFT(trigger_msg, LOCATE('-->', trigger_msg) + 2), ?) WHERE id IN (?)",
            unknown_text, sql_list(page->end, page->ends));
    if (!e && page->settles)
        e = restore_change(r, ec, "UPDATE xxl_job_log FORCE INDEX (PRIMARY) SET alarm_status = 1 WHERE id IN (?)",
                           sql_list(page->settle, page->settles));
    return e;
}

/* By the index of handle_code, which holds ids in their order. */
static enum err settle_code(struct restore *r, int64_t code, struct errctx *ec)
{
    struct page *page = calloc(1, sizeof *page);
    enum err e = page ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");

    do {
        if (!e)
            e = read_page(r, code, page, ec);
        if (!e)
            e = write_page(r, page, ec);
    } while (!e && page->rows == PAGE_ROWS);
    free(page);
    return e;
}

enum err restore_rows(struct restore *r, struct errctx *ec)
{
    int64_t codes[CODES_MAX];
    struct db_rows *rows = NULL;
    size_t n = 0;
    enum err e = store_query(r->s, &rows, ec, "SELECT DISTINCT handle_code FROM xxl_job_log");

    if (!e && db_rows_count(rows) > CODES_MAX)
        e = err_set(ec, ERR_STATE, "there are more than %d different handle_code", CODES_MAX);
    while (!e && db_rows_next(rows))
        if (db_int(rows, 0) != CODE_OK)
            codes[n++] = db_int(rows, 0);
    db_rows_destroy(rows);
    for (size_t i = 0; i < n && !e; i++)
        e = settle_code(r, codes[i], ec);
    return e ? err_wrap(ec, e, "rows of the log") : ERR_OK;
}
