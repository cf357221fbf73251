/* SPDX-License-Identifier: MIT */
/* Logs of runs that are kept (shardwheel_kept_log): what is to be fetched, written, read and removed. */
#include "shardwheel/store/kept.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shardwheel/job/codes.h"
#include "shardwheel/store/schema.h"
#include "store/conn/rows.h"

/* ---- what is to be fetched --------------------------------------------------------------------------------------- */

enum err store_load_kept_runs(struct store_session *s, const int64_t *ids, size_t count, struct kept_runs *out,
                              struct errctx *ec)
{
    static const struct row_type runs =
        ROWS(struct kept_run, FIELDS(struct kept_run, log_id, job_id), TIME(struct kept_run, trigger_ms, 0),
             FIELDS(struct kept_run, handle_code, own, address, app_name, access_token));

    *out = (struct kept_runs){0};
    if (count == 0)
        return ERR_OK;
    const struct store_features *features = store_features(s);
    store_sql(
        s,
        "SELECT l.id, l.job_id, l.trigger_time, l.handle_code, COALESCE(o.kept_logs, -1), l.executor_address, "
        "g.app_name, ? FROM xxl_job_log l LEFT JOIN shardwheel_job o ON o.job_id = l.job_id LEFT JOIN "
        "xxl_job_group g ON g.id = l.job_group LEFT JOIN shardwheel_kept_log k ON k.log_id = l.id WHERE l.id IN "
        "(?) AND l.handle_code <> 0 AND l.trigger_code IN (0, ?) AND l.executor_address <> '' AND k.log_id IS NULL",
        sql_word(features->group_access_token ? "g.access_token" : "NULL"), sql_list(ids, count), CODE_OK);
    enum err e = store_read_list(s, &runs, out, ec);
    for (size_t i = 0; i < out->count; i++)
        out->runs[i].trigger_ms *= 1000; /* it was read in seconds */
    return e ? err_wrap(ec, e, "read runs whose logs are to be kept") : ERR_OK;
}
enum err store_load_own_kept(struct store_session *s, enum kept_which *out, struct errctx *ec)
{
    int64_t most = KEPT_NONE;
    enum err e = store_number(s, KEPT_NONE, &most, ec, "SELECT MAX(kept_logs) FROM shardwheel_job");

    *out = most >= KEPT_ALL ? KEPT_ALL : most == KEPT_FAILED ? KEPT_FAILED : KEPT_NONE;
    return e ? err_wrap(ec, e, "read which logs jobs have kept") : ERR_OK;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

enum err store_write_kept(struct store_session *s, const struct kept_log *logs, size_t count, size_t *written,
                          struct errctx *ec)
{
    enum err e = ERR_OK;

    *written = 0;
    for (size_t at = 0; at < count && !e;) {
        struct db_effect effect = {0};
        struct sqlbuf *q = store_start_sql(s, "INSERT IGNORE INTO shardwheel_kept_log (log_id, job_id, at_ms, bytes, "
                                              "text_bytes, is_cut, data) VALUES ");
        size_t n = 0;

        do {
            const struct kept_log *log = &logs[at++];
            sql_put(q, "?(?, ?, " STORE_NOW_MS ", ?, ?, ?, ", sql_word(n++ ? ", " : ""), log->log_id, log->job_id,
                    log->len, log->text_len, log->is_cut);
            sql_puts(q, "x'");
            buf_put_hex(&q->text, log->data, log->len);
            sql_puts(q, "')");
        } while (at < count && n < KEPT_BATCH_MAX && !store_is_sql_long(s));
        e = store_write_sql(s, &effect, ec);
        *written += e ? 0 : (size_t)effect.matched;
    }
    return e ? err_wrap(ec, e, "write %zu kept logs", count) : ERR_OK;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static unsigned hex_value(char c)
{
    return c >= 'a' ? (unsigned)(c - 'a') + 10 : c >= 'A' ? (unsigned)(c - 'A') + 10 : (unsigned)(c - '0');
}

static enum err take_hex(const char *hex, struct kept_log *out, void **memory, struct errctx *ec)
{
    size_t len = strlen(hex) / 2;
    unsigned char *data = malloc(len + 1);

    if (!data)
        return err_set(ec, ERR_NOMEM, "out of memory for a kept log of %zu bytes", len);
    for (size_t i = 0; i < len; i++)
        data[i] = (unsigned char)(hex_value(hex[2 * i]) << 4 | hex_value(hex[2 * i + 1]));
    out->data = data;
    out->len = len;
    *memory = data;
    return ERR_OK;
}

enum err store_load_kept(struct store_session *s, int64_t log_id, int64_t job_id, struct kept_log *out, void **memory,
                         struct errctx *ec)
{
    struct store_features features;
    struct db_rows *rows = NULL;
    enum err e = store_get_features(s, &features, ec);

    *out = (struct kept_log){.log_id = log_id, .job_id = job_id};
    *memory = NULL;
    if (!e && features.own_version < 3) /* tables of the version before have none */
        return err_set(ec, ERR_NOTFOUND, "no log of run %" PRId64 " is kept", log_id);
    if (!e)
        e = store_query(s, &rows, ec,
                        "SELECT at_ms, is_cut, text_bytes, HEX(data) FROM shardwheel_kept_log WHERE log_id = ? AND "
                        "job_id = ?",
                        log_id, job_id);
    if (!e && !db_rows_next(rows))
        e = err_set(ec, ERR_NOTFOUND, "no log of run %" PRId64 " is kept", log_id);
    if (!e) {
        out->at_ms = db_int(rows, 0);
        out->is_cut = db_int(rows, 1) != 0;
        out->text_len = (size_t)(db_int(rows, 2) > 0 ? db_int(rows, 2) : 0);
        e = take_hex(db_text_or_empty(rows, 3), out, memory, ec);
    }
    db_rows_destroy(rows);
    return e;
}

/* ---- removing ---------------------------------------------------------------------------------------------------- */

enum err store_drop_kept(struct store_session *s, const int64_t *ids, size_t count, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t at = 0; at < count && !e; at += STORE_LIST_MAX)
        e = store_write(s, NULL, ec, "DELETE FROM shardwheel_kept_log WHERE log_id IN (?)", sql_part(ids, count, at));
    return e ? err_wrap(ec, e, "remove kept logs of %zu runs", count) : ERR_OK;
}

enum err store_measure_kept(struct store_session *s, int64_t *bytes, struct errctx *ec)
{
    enum err e = store_number(s, 0, bytes, ec, "SELECT SUM(bytes) FROM shardwheel_kept_log");

    return e ? err_wrap(ec, e, "measure kept logs") : ERR_OK;
}

enum err store_clean_kept(struct store_session *s, int64_t before_ms, int64_t bytes, size_t max, size_t *removed,
                          int64_t *removed_bytes, struct errctx *ec)
{
    struct db_effect effect = {0};
    struct db_rows *rows = NULL;
    int64_t ids[KEPT_BATCH_MAX];
    size_t n = 0;
    enum err e =
        store_query(s, &rows, ec, "SELECT log_id, at_ms, bytes FROM shardwheel_kept_log ORDER BY at_ms, log_id LIMIT ?",
                    max < KEPT_BATCH_MAX ? max : KEPT_BATCH_MAX);

    *removed = 0;
    *removed_bytes = 0;
    while (!e && db_rows_next(rows) && (db_int(rows, 1) < before_ms || *removed_bytes < bytes)) {
        ids[n++] = db_int(rows, 0);
        *removed_bytes += db_int(rows, 2);
    }
    db_rows_destroy(rows);
    if (!e && n > 0)
        e = store_write(s, &effect, ec, "DELETE FROM shardwheel_kept_log WHERE log_id IN (?)", sql_list(ids, n));
    *removed = (size_t)effect.matched;
    return e ? err_wrap(ec, e, "remove old kept logs") : ERR_OK;
}
