/* SPDX-License-Identifier: MIT */
/* Runs without a result, and the end of those that are lost. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shardwheel/job.h"
#include "shardwheel/store/job.h"
#include "shardwheel/store/lost.h"
#include "shardwheel/store/schema.h"
#include "store/conn/datetime.h"
#include "store/conn/rows.h"
#include "store/hook/put.h"
#include "store/run/lost.h"

#define STEP_IDS 20000 /* ids that one statement looks at where no index helps */

/* ---- looking ----------------------------------------------------------------------------------------------------- */

enum err store_load_newest_log(struct store_session *s, int64_t *id, struct errctx *ec)
{
    enum err e = store_number(s, 0, id, ec, "SELECT MAX(id) FROM xxl_job_log");

    return e ? err_wrap(ec, e, "read the newest log id") : ERR_OK;
}

/* Without an index each piece is of some ids; they have gaps, and some servers leave wide ones. */
static enum err find_step(struct store_session *s, int64_t *after_id, int64_t *until_id, struct errctx *ec)
{
    int64_t next = 0;
    enum err e =
        store_number(s, INT64_MAX, &next, ec,
                     "SELECT id FROM xxl_job_log FORCE INDEX (PRIMARY) WHERE id > ? ORDER BY id LIMIT 1", *after_id);

    if (e)
        return e;
    if (next > *until_id)
        *after_id = *until_id;
    else if (next < *until_id - STEP_IDS)
        *until_id = next + STEP_IDS;
    return ERR_OK;
}

/* One that has not been sent tells how far the rows were looked at, and nothing else: it has no address. */
static void keep_sent(struct open_runs *runs, size_t max, int64_t until_id)
{
    size_t kept = 0;

    runs->until_id = runs->count < max ? until_id : runs->rows[runs->count - 1].id;
    for (size_t i = 0; i < runs->count; i++)
        if (runs->rows[i].address)
            runs->rows[kept++] = runs->rows[i];
    runs->count = kept;
}

enum err store_load_open_runs(struct store_session *s, int64_t after_id, int64_t until_id, size_t max,
                              struct open_runs *out, struct errctx *ec)
{
    static const struct row_type rows =
        ROWS(struct open_run, FIELDS(struct open_run, id, job_id, group), TIME(struct open_run, triggered_s, INT64_MIN),
             NULL_TEXTS(struct open_run, address));
    const char *index = store_features(s)->log_handle_code_name;
    enum err e = *index ? ERR_OK : find_step(s, &after_id, &until_id, ec);

    if (!e) {
        store_sql(
            s,
            "SELECT id, job_id, job_group, trigger_time, IF(trigger_code = 200, COALESCE(executor_address, ''), "
            "NULL) FROM xxl_job_log FORCE INDEX (?) WHERE handle_code = 0 AND id > ? AND id <= ? ORDER BY id LIMIT ?",
            sql_word(*index ? index : "PRIMARY"), after_id, until_id, max);
        e = store_read_list(s, &rows, out, ec);
    }
    if (e)
        return err_wrap(ec, e, "look for runs without a result above log %" PRId64, after_id);
    keep_sent(out, max, until_id);
    return ERR_OK;
}

enum err store_keep_open_runs(struct store_session *s, int64_t *ids, size_t *count, struct errctx *ec)
{
    size_t kept = 0;
    enum err e = ERR_OK;

    for (size_t at = 0; at < *count && !e; at += STORE_LIST_MAX) {
        store_sql(s,
                  "SELECT id FROM xxl_job_log FORCE INDEX (PRIMARY) WHERE id IN (?) AND trigger_code = 200 AND "
                  "handle_code = 0 ORDER BY id",
                  sql_part(ids, *count, at));
        e = store_read_ids(s, ids, *count, &kept, ec);
    }
    if (!e)
        *count = kept;
    return e ? err_wrap(ec, e, "look at %zu runs without a result", *count) : ERR_OK;
}

/* ---- addresses --------------------------------------------------------------------------------------------------- */

enum err store_load_addresses(struct store_session *s, struct address_list *out, struct errctx *ec)
{
    static const struct row_type addresses = {.size = sizeof(const char *), .fields = {{.kind = FIELD_TEXT}}};

    store_start_sql(s, "SELECT registry_value FROM xxl_job_registry");
    enum err e = store_read_list(s, &addresses, out, ec);
    if (e)
        return err_wrap(ec, e, "read the registered addresses");
    qsort(out->list, out->count, sizeof *out->list, compare_texts);
    return ERR_OK;
}

enum err store_is_registered(struct store_session *s, const char *address, bool *out, struct errctx *ec)
{
    int64_t found = 0;
    enum err e =
        store_number(s, 0, &found, ec, "SELECT COUNT(*) FROM xxl_job_registry WHERE registry_value = ?", address);

    *out = found > 0;
    return e ? err_wrap(ec, e, "look whether an address is registered") : ERR_OK;
}

/* ---- ending ------------------------------------------------------------------------------------------------------ */

/* Those of the jobs, ascending, whose lost runs are sent again. */
static enum err load_resending(struct store_session *s, const int64_t *job_ids, size_t count, int64_t **out,
                               size_t *out_count, struct errctx *ec)
{
    int64_t *ids = calloc(count + 1, sizeof *ids);
    struct job_settings *settings = NULL;
    size_t n = 0, kept = 0, found = 0;
    enum err e = ids ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");

    if (!e) {
        memcpy(ids, job_ids, count * sizeof *ids);
        n = sort_distinct(ids, count);
        e = store_load_job_settings(s, ids, n, &settings, &found, ec);
    }
    for (size_t i = 0; i < found && !e; i++)
        if (settings[i].resend_lost == 1)
            ids[kept++] = settings[i].job_id;
    free(settings);
    if (e) {
        free(ids);
        return e;
    }
    *out = ids;
    *out_count = kept;
    return ERR_OK;
}

enum end { END_PLAIN, END_RESENT, END_WORN };

/* Of runs of jobs whose lost runs are sent again: not those of a flow, which makes its tries by itself, and not those
 * whose chain was sent again often enough. */
static enum end choose_end(const char *text)
{
    struct fire mark = {0};
    char incarnation[INCARNATION_MAX];

    if (!fire_parse_direct_mark(text, &mark, incarnation) && !fire_parse_mark(text, &mark))
        return END_RESENT;
    if (mark.kind == TRIGGER_FLOW)
        return END_PLAIN;
    return generation_count_lost(mark.generation) >= LOST_RESENDS_MAX ? END_WORN : END_RESENT;
}

/* Moves those that are not to be sent again out of the list: to the end of `plain`, or to `worn`. Rows that are gone
 * stay. */
static enum err sort_out(struct store_session *s, int64_t *ids, size_t *count, int64_t *plain, size_t *plain_count,
                         int64_t *worn, size_t *worn_count, struct errctx *ec)
{
    size_t kept = 0, n = 0, first_plain = *plain_count;
    enum err e = ERR_OK;

    for (size_t at = 0; at < *count && !e; at += STORE_LIST_MAX) {
        struct db_rows *rows = NULL;
        e = store_query(
            s, &rows, ec,
            "SELECT id, LEFT(trigger_msg, 100) FROM xxl_job_log FORCE INDEX (PRIMARY) WHERE id IN (?) ORDER BY id",
            sql_part(ids, *count, at));
        while (!e && db_rows_next(rows)) {
            enum end how = choose_end(db_text(rows, 1));
            if (how == END_PLAIN)
                plain[(*plain_count)++] = db_int(rows, 0);
            else if (how == END_WORN)
                worn[n++] = db_int(rows, 0);
        }
        db_rows_destroy(rows);
    }
    for (size_t i = 0; i < *count && !e; i++)
        if (!list_find(worn, n, sizeof *worn, ids[i]) &&
            !list_find(plain + first_plain, *plain_count - first_plain, sizeof *plain, ids[i]))
            ids[kept++] = ids[i];
    if (!e) {
        *count = kept;
        *worn_count = n;
    }
    return e;
}

static enum err end_some(struct store_session *s, const int64_t *ids, size_t count, enum end how, const char *reason,
                         int64_t now_s, size_t *ended, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t at = 0; at < count && !e; at += STORE_LIST_MAX) {
        struct db_effect effect = {0};
        struct sqlbuf *q = store_sql(
            s, "UPDATE xxl_job_log FORCE INDEX (PRIMARY) SET handle_code = 500, handle_msg = CONCAT('" LOST_MARK "', ?",
            reason);
        if (how == END_WORN)
            sql_put(q, ", '; not sent again: that was done ? times'", LOST_RESENDS_MAX);
        sql_put(q, "), handle_time = ?", sql_time(s->st->zone, now_s));
        if (how == END_RESENT)
            sql_puts(q, ", executor_fail_retry_count = GREATEST(executor_fail_retry_count, 0) + 1");
        sql_put(q, " WHERE id IN (?) AND trigger_code = 200 AND handle_code = 0", sql_part(ids, count, at));
        e = store_exec_sql(s, &effect, ec);
        *ended += (size_t)effect.matched;
    }
    return e;
}

enum err store_end_lost(struct store_session *s, const int64_t *ids, const int64_t *job_ids, size_t count,
                        const char *reason, int64_t now_s, size_t *ended, struct errctx *ec)
{
    int64_t *resending = NULL, *some = calloc(3 * count + 1, sizeof *some);
    int64_t *plain = some ? some + count : NULL, *worn = some ? plain + count : NULL;
    size_t resending_count = 0, plain_count = 0, resent = 0, worn_count = 0, changed = 0;
    enum err e = some ? store_begin_txn(s, ec) : err_set(ec, ERR_NOMEM, "out of memory");

    *ended = 0;
    if (!e)
        e = load_resending(s, job_ids, count, &resending, &resending_count, ec);
    /* All of them first, ascending: two statements would lock them in no order. */
    if (!e)
        e = store_lock_logs(s, ids, count, ec);
    for (size_t i = 0; i < count && !e; i++)
        if (list_find(resending, resending_count, sizeof *resending, job_ids[i]))
            some[resent++] = ids[i];
        else
            plain[plain_count++] = ids[i];
    if (!e)
        e = sort_out(s, some, &resent, plain, &plain_count, worn, &worn_count, ec);
    if (!e)
        e = end_some(s, plain, plain_count, END_PLAIN, reason, now_s, &changed, ec);
    if (!e)
        e = end_some(s, some, resent, END_RESENT, reason, now_s, &changed, ec);
    if (!e)
        e = end_some(s, worn, worn_count, END_WORN, reason, now_s, &changed, ec);
    if (!e)
        e = hook_put_runs(s, ids, count, ec);
    e = store_finish_txn(s, e, ec);
    free(resending);
    free(some);
    if (e)
        return err_wrap(ec, e, "end %zu lost runs", count);
    *ended = changed;
    return ERR_OK;
}

/* ---- taken back -------------------------------------------------------------------------------------------------- */

/* When the retry of the row goes out, by the line that tells of it ("... at 2026-11-22 13:00:00</span>"), which ends
 * its trigger_msg; 0: none waits, as far as that tells. */
static int64_t find_waiting_s(const struct store *st, const char *end_of_message)
{
    const char *tail = strstr(end_of_message, "</span>");
    char time[20];
    int64_t at_s;

    if (!tail || tail[7] != '\0' || tail - end_of_message != (ptrdiff_t)sizeof time - 1)
        return 0;
    memcpy(time, end_of_message, sizeof time - 1);
    time[sizeof time - 1] = '\0';
    return datetime_parse(st->zone, time, &at_s) ? at_s : 0;
}

enum err store_cancel_retry(struct store_session *s, int64_t log_id, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e = store_query(s, &rows, ec,
                             "SELECT job_id, executor_param, executor_sharding_param, executor_fail_retry_count, "
                             "RIGHT(trigger_msg, 26) FROM xxl_job_log WHERE id = ?",
                             log_id);

    int64_t at_s = !e && db_rows_next(rows) ? find_waiting_s(s->st, db_text_or_empty(rows, 4)) : 0;
    if (at_s > 0) {
        /* A later row does not name the run that it is the retry of. Rows that are equal in all of this are as good. */
        e = store_exec(s, NULL, ec,
                       "DELETE FROM shardwheel_later WHERE planned = 0 AND kind = 'R' AND job_id = ? AND "
                       "original_due_s = ? AND retries_left = ? AND param <=> ? AND sharding <=> ? LIMIT 1",
                       db_int(rows, 0), at_s, db_int(rows, 3) - 1, sql_or_null(db_text(rows, 1)),
                       sql_or_null(db_text(rows, 2)));
    }
    db_rows_destroy(rows);
    return e ? err_wrap(ec, e, "cancel the retry of log %" PRId64, log_id) : ERR_OK;
}
