/* SPDX-License-Identifier: MIT */
/*
 * Old rows of the log, found in small pieces and removed by their ids; settings of jobs that are gone.
 *
 * A walk over all jobs goes by the index of trigger_time. One over some jobs goes by id, up to the first row that is
 * young: by the index of job_id where there is one, else over a piece of the whole table at a time.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "shardwheel/store/kept.h"
#include "shardwheel/store/schema.h"
#include "shardwheel/store/upkeep.h"
#include "store/conn/datetime.h"
#include "store/conn/session.h"

#define STEP_IDS 20000 /* ids that one statement looks at where no index helps */

static_assert(sizeof((struct clean_walk *)0)->time >= DATETIME_TEXT_MAX, "a walk has no room for its time");

/* Rows whose fire is not over: nobody has sent it, or nobody knows what came of it yet. */
static const char but_open[] =
    " AND NOT (trigger_code = 0 AND handle_code = 0 AND COALESCE(trigger_msg, '') LIKE '<!--sw:%')";

static void put_age(struct sqlbuf *q, const struct clean_walk *walk)
{
    char midnight[DATETIME_TEXT_MAX];

    datetime_format_day(walk->before_day, 0, midnight);
    sql_put(q, "trigger_time <= ?", midnight);
}

/* ---- a walk over all jobs ---------------------------------------------------------------------------------------- */

static enum err find_by_time(struct store_session *s, struct clean_walk *walk, size_t max, int64_t *ids, size_t *count,
                             bool *done, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    struct sqlbuf *q = store_start_sql(s, "SELECT id, trigger_time, job_id, trigger_code = 0 AND handle_code = 0 AND "
                                          "COALESCE(trigger_msg, '') LIKE '<!--sw:%' FROM xxl_job_log WHERE ");
    size_t seen = 0;
    enum err e;

    put_age(q, walk);
    if (walk->time[0])
        sql_put(q, " AND (trigger_time > ? OR (trigger_time = ? AND id > ?))", walk->time, walk->time, walk->id);
    sql_put(q, " ORDER BY trigger_time, id LIMIT ?", max);
    e = store_query_sql(s, &rows, ec);
    if (e)
        return e;
    for (; db_rows_next(rows); seen++) {
        bool named = list_find(walk->job_ids, walk->job_count, sizeof *walk->job_ids, db_int(rows, 2)) != NULL;

        snprintf(walk->time, sizeof walk->time, "%s", db_text_or_empty(rows, 1));
        walk->id = db_int(rows, 0);
        if (!named && db_int(rows, 3) == 0)
            ids[(*count)++] = walk->id;
    }
    db_rows_destroy(rows);
    *done = seen < max;
    return ERR_OK;
}

/* ---- a walk over some jobs --------------------------------------------------------------------------------------- */

/* Fires are written about in the order of their times. What is old and stands behind the first young row is found by a
 * later walk, when that row is old as well. */
static enum err find_last_id(struct store_session *s, struct clean_walk *walk, struct errctx *ec)
{
    char midnight[DATETIME_TEXT_MAX];

    datetime_format_day(walk->before_day, 0, midnight);
    return store_number(s, INT64_MAX, &walk->last_id, ec,
                        "SELECT id FROM xxl_job_log WHERE trigger_time > ? ORDER BY trigger_time, id LIMIT 1",
                        midnight);
}

static enum err find_among(struct store_session *s, struct clean_walk *walk, size_t max, int64_t until, int64_t *ids,
                           size_t *count, struct errctx *ec)
{
    put_age(&s->sql, walk);
    sql_put(&s->sql, "? AND id > ? AND id <= ? ORDER BY id LIMIT ?", sql_word(but_open), walk->id, until, max);
    enum err e = store_read_ids(s, ids, max, count, ec);
    if (!e)
        walk->id = *count == max ? ids[*count - 1] : until;
    return e;
}

/* One job after the other; the rows of one lie in the index by id. */
static enum err find_by_index(struct store_session *s, struct clean_walk *walk, size_t max, const char *index,
                              int64_t *ids, size_t *count, bool *done, struct errctx *ec)
{
    store_sql(s, "SELECT id FROM xxl_job_log FORCE INDEX (?) WHERE job_id = ? AND ", sql_word(index),
              walk->job_ids[walk->job_at]);
    enum err e = find_among(s, walk, max, walk->last_id, ids, count, ec);

    if (!e && walk->id >= walk->last_id) {
        walk->id = 0;
        *done = ++walk->job_at == walk->job_count;
    }
    return e;
}

/* All jobs at once, over some ids of the table. */
static enum err find_by_id(struct store_session *s, struct clean_walk *walk, size_t max, int64_t *ids, size_t *count,
                           bool *done, struct errctx *ec)
{
    int64_t next = 0;
    enum err e =
        store_number(s, INT64_MAX, &next, ec,
                     "SELECT id FROM xxl_job_log FORCE INDEX (PRIMARY) WHERE id > ? ORDER BY id LIMIT 1", walk->id);

    *done = !e && next > walk->last_id;
    if (e || *done)
        return e;
    store_sql(s, "SELECT id FROM xxl_job_log FORCE INDEX (PRIMARY) WHERE job_id IN (?) AND ",
              sql_list(walk->job_ids, walk->job_count));
    e = find_among(s, walk, max, next < walk->last_id - STEP_IDS ? next + STEP_IDS : walk->last_id, ids, count, ec);
    *done = !e && walk->id >= walk->last_id;
    return e;
}

static enum err find_by_job(struct store_session *s, struct clean_walk *walk, size_t max, int64_t *ids, size_t *count,
                            bool *done, struct errctx *ec)
{
    struct store_features features;
    enum err e = store_get_features(s, &features, ec);

    if (!e && walk->last_id == 0)
        e = find_last_id(s, walk, ec);
    if (e)
        return e;
    return features.log_job_id_name[0] ? find_by_index(s, walk, max, features.log_job_id_name, ids, count, done, ec)
                                       : find_by_id(s, walk, max, ids, count, done, ec);
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

enum err store_find_expired(struct store_session *s, struct clean_walk *walk, size_t max, int64_t *ids, size_t *count,
                            bool *done, struct errctx *ec)
{
    enum err e = ERR_OK;

    *count = 0;
    *done = !walk->except && walk->job_count == 0;
    if (max > CLEAN_BATCH_MAX)
        max = CLEAN_BATCH_MAX;
    if (!*done)
        e = walk->except ? find_by_time(s, walk, max, ids, count, done, ec)
                         : find_by_job(s, walk, max, ids, count, done, ec);
    qsort(ids, *count, sizeof *ids, compare_int64);
    return e ? err_wrap(ec, e, "find old log rows") : ERR_OK;
}

enum err store_delete_expired(struct store_session *s, const struct clean_walk *walk, const int64_t *ids, size_t count,
                              size_t *deleted, struct errctx *ec)
{
    struct db_effect effect = {0};
    enum err e = ERR_OK;

    if (count > 0)
        e = store_drop_kept(s, ids, count, ec);
    if (count > 0 && !e) {
        struct sqlbuf *q = store_start_sql(s, "DELETE FROM xxl_job_log WHERE ");
        sql_id_among(q, ids, count);
        sql_puts(q, " AND ");
        put_age(q, walk);
        sql_puts(q, but_open);
        e = store_write_sql(s, &effect, ec);
    }
    *deleted = (size_t)effect.matched;
    return e ? err_wrap(ec, e, "remove %zu old log rows", count) : ERR_OK;
}

/* Found without locks, and removed as it was read: what is written meanwhile stays. */
enum err store_delete_orphan_settings(struct store_session *s, int64_t before_s, size_t *deleted, struct errctx *ec)
{
    struct db_effect effect = {0};
    int64_t ids[STORE_LIST_MAX];
    size_t n = 0;

    store_sql(s,
              "SELECT s.job_id FROM shardwheel_job s LEFT JOIN xxl_job_info j ON j.id = s.job_id WHERE j.id "
              "IS NULL AND COALESCE(s.update_time, '1000-01-01 00:00:00') < ? ORDER BY s.job_id LIMIT ?",
              sql_time(s->st->zone, before_s), STORE_LIST_MAX);
    enum err e = store_read_ids(s, ids, STORE_LIST_MAX, &n, ec);
    if (!e && n > 0)
        e = store_write(
            s, &effect, ec,
            "DELETE FROM shardwheel_job WHERE job_id IN (?) AND COALESCE(update_time, '1000-01-01 00:00:00') < ?",
            sql_list(ids, n), sql_time(s->st->zone, before_s));
    *deleted = (size_t)effect.matched;
    return e ? err_wrap(ec, e, "delete settings of deleted jobs") : ERR_OK;
}
