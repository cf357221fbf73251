/* SPDX-License-Identifier: MIT */
/* Whole rows of the log by their ids, in the order that is asked for. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/conn/datetime.h"
#include "store/conn/session.h"
#include "store/run/states.h"

/* Texts of the rows, some statements' worth. */
struct memory {
    struct db_rows **parts;
    size_t count;
};

static void free_memory(struct memory *m)
{
    for (size_t i = 0; m && i < m->count; i++)
        db_rows_destroy(m->parts[i]);
    if (m)
        free(m->parts);
    free(m);
}

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

static int64_t read_time(const struct store_session *s, const char *text)
{
    int64_t at_s;

    return datetime_parse(s->st->zone, text, &at_s) ? at_s : INT64_MIN;
}

static void read_row(const struct store_session *s, const struct db_rows *rows, struct run_row *out)
{
    *out = (struct run_row){.id = db_int(rows, 0),
                            .group = db_int(rows, 1),
                            .job_id = db_int(rows, 2),
                            .address = db_text(rows, 3),
                            .handler = db_text(rows, 4),
                            .sharding = db_text(rows, 5),
                            .retries_left = (int)db_int(rows, 6),
                            .trigger_s = read_time(s, db_text(rows, 7)),
                            .trigger_code = (int)db_int(rows, 8),
                            .handle_s = read_time(s, db_text(rows, 9)),
                            .handle_code = (int)db_int(rows, 10),
                            .alarm_status = (int)db_int(rows, 11),
                            .param = db_text(rows, 13),
                            .trigger_msg = db_text(rows, 14),
                            .handle_msg = db_text(rows, 15),
                            .tail = db_text(rows, 16)};
    if (!out->tail)
        out->tail = out->trigger_msg;
    out->state = run_state_find(out->trigger_code, out->handle_code, out->trigger_msg, out->handle_msg);
    /* What says so may be behind the cut. */
    if (out->state == RUN_FAILED && out->handle_code == 0 && db_int(rows, 12) > 0 && out->trigger_msg &&
        strncmp(out->trigger_msg, "<!--sw:", 7) == 0)
        out->state = RUN_UNKNOWN;
}

static size_t measure(const char *text)
{
    return text ? strlen(text) : 0;
}

static int compare_rows(const void *a, const void *b)
{
    return compare_int64(&((const struct run_row *)a)->id, &((const struct run_row *)b)->id);
}

/* Of up to STORE_LIST_MAX ids: appended to out in their order. */
static enum err load_part(struct store_session *s, const int64_t *ids, size_t count, size_t text_max,
                          struct memory *memory, struct run_rows *out, struct errctx *ec)
{
    struct run_row *found = calloc(count, sizeof *found);
    struct db_rows *rows = NULL;
    size_t n = 0;
    struct sqlbuf *q = store_start_sql(s, "SELECT id");
    enum err e = found ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");

    put_columns(q, text_max);
    sql_put(q, " FROM xxl_job_log FORCE INDEX (PRIMARY) WHERE id IN (?)", sql_list(ids, count));
    if (!e)
        e = store_query_sql(s, &rows, ec);
    if (!e)
        memory->parts[memory->count++] = rows;
    while (!e && n < count && db_rows_next(rows))
        read_row(s, rows, &found[n++]);
    if (!e && n > 0)
        qsort(found, n, sizeof *found, compare_rows);
    for (size_t i = 0; !e && i < count; i++) {
        const struct run_row key = {.id = ids[i]};
        const struct run_row *row = n > 0 ? bsearch(&key, found, n, sizeof *found, compare_rows) : NULL;
        if (row)
            out->rows[out->count++] = *row;
    }
    free(found);
    return e;
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
    struct run_rows read = {.rows = calloc(count + 1, sizeof *read.rows)};
    struct memory *memory = calloc(1, sizeof *memory);
    size_t bytes = 0, parts = count / PART_ROWS + 1;
    enum err e = store_ready_session(s, ec);

    if (memory)
        memory->parts = calloc(parts, sizeof(struct db_rows *));
    if (!e && (!read.rows || !memory || !memory->parts))
        e = err_set(ec, ERR_NOMEM, "out of memory");
    for (size_t at = 0; !e && at < count; at += PART_ROWS) {
        size_t had = read.count;

        e = load_part(s, ids + at, count - at < PART_ROWS ? count - at : PART_ROWS, text_max, memory, &read, ec);
        if (!e && is_full(&read, had, &bytes, bytes_max))
            break;
    }
    if (e) {
        free_memory(memory);
        free(read.rows);
        return err_wrap(ec, e, "read %zu rows of the log", count);
    }
    read.memory = memory;
    *out = read;
    return ERR_OK;
}

void run_rows_fini(struct run_rows *rows)
{
    free_memory(rows->memory);
    free(rows->rows);
    *rows = (struct run_rows){0};
}

enum err store_load_run_job(struct store_session *s, int64_t job_id, struct run_job *out, struct errctx *ec)
{
    struct store_features features;
    struct db_rows *rows = NULL;
    enum err e = store_get_features(s, &features, ec);

    if (!e)
        e = store_ask(s, &rows, ec, "SELECT job_group, ? FROM xxl_job_info WHERE id = ?",
                      sql_word(features.job_name_is_desc ? "job_desc" : "name"), job_id);
    if (!e && !db_rows_next(rows))
        e = err_set(ec, ERR_NOTFOUND, "there is no job %" PRId64, job_id);
    if (!e) {
        out->group = db_int(rows, 0);
        snprintf(out->name, sizeof out->name, "%s", db_text_or_empty(rows, 1));
    }
    db_rows_destroy(rows);
    return e ? err_wrap(ec, e, "read job %" PRId64, job_id) : ERR_OK;
}
