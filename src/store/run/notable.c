/* SPDX-License-Identifier: MIT */
/* The newest rows that are no success, and those that went out late: for a dashboard. */
#include "shardwheel/store/overview.h"

#include <stdlib.h>
#include <string.h>

#include "shardwheel/job.h"
#include "shardwheel/job/codes.h"
#include "shardwheel/store/run.h"
#include "store/conn/rows.h"

#define CODES_MAX 32 /* different codes that are looked for */

/* ---- notable runs ------------------------------------------------------------------------------------------------ */

/* Which codes there are: a jump from one to the next in the index. */
static enum err load_codes(struct store_session *s, const char *index, int limit_ms, int64_t codes[CODES_MAX],
                           size_t *count, struct errctx *ec)
{
    size_t all = 0;

    store_limited(s, limit_ms, "DISTINCT handle_code FROM xxl_job_log FORCE INDEX (?) LIMIT ?", sql_word(index),
                  CODES_MAX);
    enum err e = store_read_ids(s, codes, CODES_MAX, &all, ec);
    for (size_t i = 0; i < all; i++)
        if (codes[i] != CODE_OK)
            codes[(*count)++] = codes[i];
    return e;
}

/* Texts are read of rows that may need them alone. */
static void put_code(struct sqlbuf *q, const char *index, int64_t code, int64_t each)
{
    sql_put(
        q,
        "(SELECT id, job_id, job_group, trigger_time, trigger_code, handle_code, alarm_status, executor_address, CASE "
        "WHEN trigger_code <> 200 THEN LEFT(trigger_msg, 60) END AS m, CASE WHEN trigger_code NOT IN (0, 200) THEN "
        "LOCATE('delivery unknown: ', trigger_msg) ELSE 0 END AS u, CASE WHEN handle_code <> 0 THEN LEFT(handle_msg, "
        "20) END AS h FROM xxl_job_log FORCE INDEX (?) WHERE handle_code = ? ORDER BY id DESC LIMIT ?)",
        sql_word(index), code, each);
}

struct notable {
    struct notable_run run;
    int trigger_code, handle_code, alarm_status;
    const char *head, *handle_head;
    int64_t unknown_at;
};

static bool find_state(const struct store_session *s, const struct db_rows *row, void *item)
{
    struct notable *n = item;

    (void)s, (void)row;
    n->run.alarm_failed = n->alarm_status == ALARM_FAILED;
    n->run.state = run_state_find(n->trigger_code, n->handle_code, n->head, n->handle_head);
    if (n->run.state == RUN_FAILED && n->handle_code == CODE_OPEN && n->unknown_at > 0 && n->head &&
        strncmp(n->head, "<!--sw:", 7) == 0)
        n->run.state = RUN_UNKNOWN;
    if (n->run.state == RUN_SKIPPED && !fire_parse_skipped_mark(n->head, &n->run.skipped))
        n->run.skipped = 1;
    return true;
}

/* Groups are told apart here, so that a code of which there are more is seen whatever they are. */
static enum err read_all(struct store_session *s, const struct group_choice *choice, const int64_t *codes, size_t count,
                         int64_t each, struct notable_runs *out, struct errctx *ec)
{
    static const struct row_type type = ROWS_AND(
        struct notable, find_state, FIELDS(struct notable, run.id, run.job_id, run.group),
        TIME(struct notable, run.trigger_s, INT64_MIN), FIELDS(struct notable, trigger_code, handle_code, alarm_status),
        NULL_TEXTS(struct notable, run.address, head), FIELDS(struct notable, unknown_at),
        NULL_TEXTS(struct notable, handle_head));
    int64_t seen[CODES_MAX] = {0};
    struct row_list list = {0};
    enum err e = store_read_list(s, &type, &list, ec);
    const struct notable *rows = list.items;

    out->memory = list.memory;
    out->complete = true;
    if (!e && !(out->items = calloc(list.count + 1, sizeof *out->items)))
        e = err_set(ec, ERR_NOMEM, "out of memory for %zu runs", list.count);
    for (size_t r = 0; r < list.count && !e; r++) {
        for (size_t i = 0; i < count; i++)
            if (codes[i] == rows[r].handle_code && ++seen[i] >= each)
                out->complete = false;
        if (group_choice_has(choice, rows[r].run.group))
            out->items[out->count++] = rows[r].run;
    }
    free(list.items);
    return e;
}

enum err store_load_notable_runs(struct store_session *s, const struct group_choice *choice, int64_t each, int limit_ms,
                                 struct notable_runs *out, struct errctx *ec)
{
    struct store_features f;
    struct notable_runs runs = {0};
    int64_t codes[CODES_MAX];
    size_t count = 0;
    enum err e = store_get_features(s, &f, ec);

    if (!e && f.log_handle_code_name[0])
        e = load_codes(s, f.log_handle_code_name, limit_ms, codes, &count, ec);
    if (!e && count > 0) {
        struct sqlbuf *q = store_start_limited(s, limit_ms, "* FROM (");

        for (size_t i = 0; i < count; i++) {
            sql_puts(q, i ? " UNION ALL " : "");
            put_code(q, f.log_handle_code_name, codes[i], each);
        }
        sql_puts(q, ") r ORDER BY id DESC");
        e = read_all(s, choice, codes, count, each, &runs, ec);
    }
    if (e) {
        notable_runs_fini(&runs);
        return err_wrap(ec, e, "look for runs that did not end well");
    }
    runs.complete = f.log_handle_code_name[0] && (count == 0 || runs.complete);
    *out = runs;
    return ERR_OK;
}

/* ---- late runs --------------------------------------------------------------------------------------------------- */

static void put_since(struct sqlbuf *q, const struct store *st, const char *index, int64_t from_s, int64_t look_max)
{
    sql_put(q,
            " FROM xxl_job_log FORCE INDEX (?) WHERE trigger_time >= ? ORDER BY trigger_time DESC, id DESC LIMIT ?) r",
            sql_word(index), sql_time(st->zone, from_s), look_max);
}

static bool read_late(const struct store_session *s, const struct db_rows *row, void *item)
{
    struct late_run *run = item;
    struct fire fire = {0};

    (void)s;
    if (!fire_parse_mark(db_text(row, 4), &fire) || fire.due_s <= fire.original_due_s)
        return false;
    run->late_s = fire.due_s - fire.original_due_s;
    if (run->trigger_s == INT64_MIN)
        run->trigger_s = fire.due_s;
    return true;
}

/* The mark of a fire that is late has the due time that it stands for behind :O, which others do not have. */
static enum err find_late(struct store_session *s, const char *index, const struct group_choice *choice, int64_t from_s,
                          int64_t look_max, int limit_ms, struct late_run **out, size_t *count, struct errctx *ec)
{
    static const struct row_type lates =
        ROWS_AND(struct late_run, read_late, FIELDS(struct late_run, id, job_id, group),
                 TIME(struct late_run, trigger_s, INT64_MIN));
    size_t kept = 0;
    struct sqlbuf *q = store_start_limited(s, limit_ms,
                                           "id, job_id, job_group, trigger_time, m FROM (SELECT id, job_id, job_group, "
                                           "trigger_time, LEFT(trigger_msg, 100) AS m");

    put_since(q, s->st, index, from_s, look_max);
    sql_puts(q, " WHERE m LIKE '<!--sw:p:%:O%' ORDER BY id DESC");
    enum err e = store_read_array(s, &lates, out, count, ec);
    for (size_t i = 0; i < *count && !e; i++)
        if (group_choice_has(choice, (*out)[i].group))
            (*out)[kept++] = (*out)[i];
    *count = kept;
    return e;
}

enum err store_load_late_runs(struct store_session *s, const struct group_choice *choice, int64_t from_s,
                              int64_t look_max, int limit_ms, struct late_run **out, size_t *count, bool *complete,
                              struct errctx *ec)
{
    struct store_features f;
    struct late_run *list = NULL;
    int64_t rows = 0;
    size_t n = 0;
    enum err e = store_get_features(s, &f, ec);

    if (!e && f.log_trigger_time_name[0]) {
        put_since(store_start_limited(s, limit_ms, "COUNT(*) FROM (SELECT id"), s->st, f.log_trigger_time_name, from_s,
                  look_max);
        e = store_query_number(s, 0, &rows, ec);
    }
    if (!e && rows > 0)
        e = find_late(s, f.log_trigger_time_name, choice, from_s, look_max, limit_ms, &list, &n, ec);
    if (e)
        return err_wrap(ec, e, "look for late runs");
    *out = list;
    *count = n;
    *complete = f.log_trigger_time_name[0] && rows < look_max;
    return ERR_OK;
}
