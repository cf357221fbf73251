/* SPDX-License-Identifier: MIT */
/* Whole rows of the log by their ids, in the order that is asked for. */
#include <inttypes.h>
#include <string.h>

#include "store/conn/rows.h"
#include "store/run/states.h"

static void put_text(struct sqlbuf *q, const char *column, size_t max)
{
    sql_puts(q, max ? ", LEFT(" : ", ");
    sql_puts(q, column);
    if (max)
        sql_put(q, ", ?)", max);
}

static void put_columns(struct sqlbuf *q, size_t text_max)
{
    sql_puts(q, ", job_group, job_id, executor_address, executor_handler, executor_sharding_param, "
                "executor_fail_retry_count, trigger_time, trigger_code, handle_time, handle_code, alarm_status, "
                "LOCATE('delivery unknown: ', trigger_msg)");
    put_text(q, "executor_param", text_max);
    put_text(q, "trigger_msg", text_max);
    put_text(q, "handle_msg", text_max);
    if (text_max) {
        sql_put(q, ", CASE WHEN CHAR_LENGTH(trigger_msg) > ? THEN RIGHT(trigger_msg, ?) END", text_max, RUN_TAIL);
    } else {
        sql_puts(q, ", NULL");
    }
}

static bool find_state(const struct store_session *s, const struct db_rows *row, void *item)
{
    struct run_row *out = item;

    (void)s;
    if (!out->tail)
        out->tail = out->trigger_msg;
    out->state = run_state_find(out->trigger_code, out->handle_code, out->trigger_msg, out->handle_msg);
    /* What says so may be behind the cut. */
    if (out->state == RUN_FAILED && out->handle_code == 0 && db_int(row, 12) > 0 && out->trigger_msg &&
        strncmp(out->trigger_msg, "<!--sw:", 7) == 0)
        out->state = RUN_UNKNOWN;
    return true;
}

static const struct row_type log_rows =
    ROWS_AND(struct run_row, find_state, FIELDS(struct run_row, id, group, job_id),
             NULL_TEXTS(struct run_row, address, handler, sharding), FIELDS(struct run_row, retries_left),
             TIME(struct run_row, trigger_s, INT64_MIN), FIELDS(struct run_row, trigger_code),
             TIME(struct run_row, handle_s, INT64_MIN), FIELDS(struct run_row, handle_code, alarm_status), SKIP,
             NULL_TEXTS(struct run_row, param, trigger_msg, handle_msg, tail));

static size_t measure(const char *text)
{
    return text ? strlen(text) : 0;
}

/* In the order of the ids. */
static enum err load_part(struct store_session *s, const int64_t *ids, size_t count, size_t text_max,
                          struct run_rows *out, struct errctx *ec)
{
    struct sqlbuf *q = store_start_sql(s, "SELECT id");

    put_columns(q, text_max);
    sql_put(q, " FROM xxl_job_log FORCE INDEX (PRIMARY) WHERE id IN (?) ORDER BY FIELD(id, ?)", sql_list(ids, count),
            sql_list(ids, count));
    return store_append_list(s, &log_rows, out, ec);
}

/* Rows behind the bound go again: with small pieces that is no more than one of them. */
static bool is_full(struct run_rows *out, size_t from, size_t *bytes, size_t bytes_max)
{
    for (size_t i = from; i < out->count; i++) {
        const struct run_row *row = &out->rows[i];

        *bytes += 200 + measure(row->param) + measure(row->trigger_msg) + measure(row->handle_msg) +
                  (row->tail != row->trigger_msg ? measure(row->tail) : 0);
        if (*bytes > bytes_max) {
            out->count = i > 0 ? i : 1;
            out->cut = true;
            return true;
        }
    }
    return false;
}

#define PART_ROWS 100

enum err store_load_run_rows(struct store_session *s, const int64_t *ids, size_t count, size_t text_max,
                             size_t bytes_max, struct run_rows *out, struct errctx *ec)
{
    struct run_rows read = {0};
    size_t bytes = 0;
    enum err e = ERR_OK;

    for (size_t at = 0; !e && at < count; at += PART_ROWS) {
        size_t had = read.count;

        e = load_part(s, ids + at, count - at < PART_ROWS ? count - at : PART_ROWS, text_max, &read, ec);
        if (!e && is_full(&read, had, &bytes, bytes_max))
            break;
    }
    if (e) {
        run_rows_fini(&read);
        return err_wrap(ec, e, "read %zu rows of the log", count);
    }
    *out = read;
    return ERR_OK;
}

enum err store_load_run_job(struct store_session *s, int64_t job_id, struct run_job *out, struct errctx *ec)
{
    static const struct row_type job = ROWS(struct run_job, FIELDS(struct run_job, group, name));

    store_sql(s, "SELECT job_group, ? FROM xxl_job_info WHERE id = ?", store_job_name(s), job_id);
    enum err e = store_read_row(s, &job, out, NULL, ec);
    if (e == ERR_NOTFOUND)
        e = err_set(ec, ERR_NOTFOUND, "there is no job %" PRId64, job_id);
    return e ? err_wrap(ec, e, "read job %" PRId64, job_id) : ERR_OK;
}
