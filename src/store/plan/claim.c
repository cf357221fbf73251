/* SPDX-License-Identifier: MIT */
/* A claim: jobs advanced and their fires planned in one transaction under the epoch of the shard. */
#include "store/plan/claim_impl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The lock of a row ends at its server: another member of a Galera cluster may have written a newer epoch that is not
 * applied here yet. What is written here as well is certified against it: one of the two commits fails. */
static enum err fence_shard(struct store_session *s, int shard, struct errctx *ec)
{
    if (!db_is_galera(s->db))
        return ERR_OK;
    return store_exec(s, NULL, ec, "UPDATE shardwheel_shard SET claims = claims + 1 WHERE shard = ?", shard);
}

enum err store_lock_shard(struct store_session *s, int shard, int64_t epoch, int64_t *step, struct claim_guards *guards,
                          struct errctx *ec)
{
    struct db_rows *rows = NULL;
    struct sqlbuf *q = store_start_sql(s, "SELECT epoch, @@auto_increment_increment");
    enum err e;

    if (guards)
        sql_put(q, ", ?", sql_word(store_guards_column));
    sql_put(q, " FROM shardwheel_shard WHERE shard = ? FOR UPDATE", shard);
    e = store_query_sql(s, &rows, ec);
    if (e == ERR_CONFLICT)
        return err_wrap(ec, ERR_TIMEOUT, "the row of the shard is locked"); /* fewer jobs would not help */
    if (e)
        return e;
    if (!db_rows_next(rows)) {
        e = err_set(ec, ERR_STATE, "the shard has no row");
    } else if (db_int(rows, 0) != epoch) {
        e = err_set(ec, ERR_STATE, "fenced: the shard is at epoch %" PRId64 ", ours is %" PRId64, db_int(rows, 0),
                    epoch);
    } else {
        *step = db_int(rows, 1);
        if (guards)
            store_parse_guards(db_text(rows, 2), guards);
        if (guards && guards->count == 0)
            e = err_set(ec, ERR_GUARD, "no node keeps Java admins on standby at the moment");
    }
    db_rows_destroy(rows);
    return e ? e : fence_shard(s, shard, ec);
}

enum err store_end_reading_back(struct store_session *s, struct errctx *ec)
{
    return db_is_galera(s->db) ? store_commit_txn(s, ec) : ERR_OK;
}

/* Texts are compared here and not by the server, whose collation takes "a" for "A" and drops trailing blanks. */
static bool is_unchanged(const struct job_due *job, const struct db_rows *rows)
{
    return db_int(rows, 1) == job->next_ms && db_int(rows, 2) == 1 &&
           strcmp(db_text_or_empty(rows, 3), job->schedule_type) == 0 &&
           strcmp(db_text_or_empty(rows, 4), job->schedule_conf) == 0;
}

/* How a claim locks its jobs. */
enum claim_way {
    WAY_GROUPS,      /* groups are advanced without a look, others locked and compared */
    WAY_EACH,        /* each job is locked and compared */
    WAY_SKIP_LOCKED, /* and those that somebody else holds are passed by */
    WAY_NO_WAIT,     /* ... or make an ERR_CONFLICT soon */
};

static struct sqlbuf *start_select(struct store_session *s, enum claim_way way)
{
    if (way != WAY_NO_WAIT)
        return store_start_sql(s, "SELECT id");
    /* Not every server waits for a lock for less than a second, but each ends a statement sooner. */
    if (db_is_mariadb(s->db))
        return store_sql(s, "SET STATEMENT max_statement_time = ?e-3 FOR SELECT id", STORE_LOCK_PATIENCE_MS);
    return store_sql(s, "SELECT /*+ MAX_EXECUTION_TIME(?) */ id", STORE_LOCK_PATIENCE_MS);
}

/* Jobs from *at on that no group has advanced, as many as one statement should hold; *at moves behind them. */
static enum err lock_and_compare(struct store_session *s, struct claim_job *jobs, enum claim_state *state, size_t count,
                                 enum claim_way way, size_t *at, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    size_t i = *at, end = *at;
    struct sqlbuf *q = start_select(s, way);
    size_t n = 0;
    enum err e;

    sql_puts(q, ", trigger_next_time, trigger_status, schedule_type, schedule_conf "
                "FROM xxl_job_info FORCE INDEX (PRIMARY) WHERE id IN (");
    for (; end < count && n < STORE_LIST_MAX; end++) {
        if (state[end] != CLAIM_OTHER)
            continue;
        sql_puts(q, n++ ? "," : "");
        sql_int(q, jobs[end].job->id);
        jobs[end].locked = way == WAY_SKIP_LOCKED; /* until its row comes */
    }
    *at = end;
    if (n == 0)
        return ERR_OK;
    sql_puts(q, way == WAY_SKIP_LOCKED ? ") ORDER BY id FOR UPDATE SKIP LOCKED" : ") ORDER BY id FOR UPDATE");
    e = store_query_sql(s, &rows, ec);
    if (e == ERR_TIMEOUT && way == WAY_NO_WAIT)
        e = err_wrap(ec, ERR_CONFLICT, "a job is locked");
    while (!e && db_rows_next(rows)) {
        while (i < end && jobs[i].job->id < db_int(rows, 0))
            i++;
        if (i == end || jobs[i].job->id != db_int(rows, 0))
            continue;
        jobs[i].locked = false;
        if (is_unchanged(jobs[i].job, rows))
            state[i] = CLAIM_SAME;
    }
    db_rows_destroy(rows);
    return e;
}

/* A guard that went while the jobs were locked and written let a Java admin read them as they were before, and one that
 * was not heard of for long may go before the commit. What can still be rolled back is; the caller looks again after
 * the commit. */
static enum err check_still_guarded(struct store_session *s, const struct claim_guards *guards, struct errctx *ec)
{
    struct claim_guards now;
    enum err e = guards ? store_load_guards(s, &now, ec) : ERR_OK;

    if (e || !guards)
        return e;
    for (int i = 0; i < now.count; i++)
        for (int k = 0; k < guards->count; k++)
            if (now.list[i].connection == guards->list[k].connection &&
                strcmp(now.list[i].incarnation, guards->list[k].incarnation) == 0)
                return ERR_OK;
    return err_set(ec, ERR_GUARD, "the guard against Java admins was lost during the claim");
}

/* *refuted: the groups did not hold, nothing was committed, and the claim is to be made again with WAY_EACH. */
static enum err claim_in_txn(struct store_session *s, int shard, int64_t epoch, struct claim_job *jobs, size_t count,
                             enum claim_state *state, struct claim_guards *guards, enum claim_way way, bool *refuted,
                             struct errctx *ec)
{
    int64_t step = 1;
    enum err e = store_lock_shard(s, shard, epoch, &step, guards, ec);

    *refuted = false;
    if (!e && way == WAY_GROUPS)
        e = store_advance_groups(s, jobs, state, count, refuted, ec);
    if (*refuted)
        return ERR_OK;
    for (size_t at = 0; at < count && !e;)
        e = lock_and_compare(s, jobs, state, count, way, &at, ec);
    if (!e)
        e = store_advance_claimed(s, jobs, state, count, ec);
    if (!e)
        e = store_insert_fires(s, jobs, state, count, step, ec);
    if (!e)
        e = store_insert_skipped(s, jobs, state, count, ec);
    if (!e)
        e = check_still_guarded(s, guards, ec);
    return e ? e : store_commit_txn(s, ec);
}

static enum err claim_once(struct store_session *s, int shard, int64_t epoch, struct claim_job *jobs, size_t count,
                           enum claim_state *state, struct claim_guards *guards, enum claim_way way, bool *refuted,
                           struct errctx *ec)
{
    enum err e = store_begin_txn(s, ec);

    for (size_t i = 0; i < count; i++)
        state[i] = CLAIM_OTHER;
    if (!e)
        e = claim_in_txn(s, shard, epoch, jobs, count, state, guards, way, refuted, ec);
    store_end_txn(s);
    return e;
}

static enum err claim(struct store_session *s, int shard, int64_t epoch, struct claim_job *jobs, size_t count,
                      struct claim_guards *guards, enum claim_way way, struct errctx *ec)
{
    enum claim_state *state = calloc(count + 1, sizeof *state);
    bool refuted = false;
    enum err e;

    if (!state)
        return err_set(ec, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < count; i++)
        jobs[i].advanced = jobs[i].locked = false;
    e = claim_once(s, shard, epoch, jobs, count, state, guards, way, &refuted, ec);
    if (!e && refuted)
        e = claim_once(s, shard, epoch, jobs, count, state, guards, WAY_EACH, &refuted, ec);
    for (size_t i = 0; i < count && !e; i++)
        jobs[i].advanced = state[i] != CLAIM_OTHER;
    free(state);
    return e ? err_wrap(ec, e, "claim %zu jobs of shard %d", count, shard) : ERR_OK;
}

enum err store_claim_jobs(struct store_session *s, int shard, int64_t epoch, struct claim_job *jobs, size_t count,
                          struct claim_guards *guards, struct errctx *ec)
{
    return claim(s, shard, epoch, jobs, count, guards, WAY_GROUPS, ec);
}

enum err store_claim_free_jobs(struct store_session *s, int shard, int64_t epoch, struct claim_job *jobs, size_t count,
                               struct claim_guards *guards, struct errctx *ec)
{
    enum claim_way way = store_features(s)->skip_locked ? WAY_SKIP_LOCKED : WAY_NO_WAIT;

    return claim(s, shard, epoch, jobs, count, guards, way, ec);
}

/* ---- after a commit with unknown outcome --------------------------------------------------------------------- */

struct doubt {
    int64_t log_id; /* as the INSERT gave it, before the commit that got lost */
    size_t job;
    const struct fire *fire;
};

static struct doubt *list_doubts(const struct claim_job *jobs, size_t count, size_t *out_count)
{
    struct doubt *list;
    size_t n = 0, at = 0;

    for (size_t i = 0; i < count; i++)
        for (const struct fire *f = jobs[i].fires; f; f = f->next)
            n++;
    list = calloc(n + 1, sizeof *list);
    if (!list)
        return NULL;
    for (size_t i = 0; i < count; i++)
        for (const struct fire *f = jobs[i].fires; f; f = f->next)
            list[at++] = (struct doubt){f->log_id, i, f};
    qsort(list, n, sizeof *list, compare_int64);
    *out_count = n;
    return list;
}

/* An id may have been given again after a restart of the server, so the row must also be the one that we wrote. */
static bool is_row_of(const struct fire *fire, const struct db_rows *rows)
{
    struct fire read = {0};

    return db_int(rows, 1) == fire->job_id && fire_parse_mark(db_text(rows, 2), &read) && read.due_s == fire->due_s &&
           read.original_due_s == fire->original_due_s && read.epoch == fire->epoch;
}

static enum err find_rows(struct store_session *s, const struct doubt *doubts, size_t count, struct claim_job *jobs,
                          struct errctx *ec)
{
    struct db_rows *rows = NULL;
    size_t i = 0;
    enum err e =
        store_query(s, &rows, ec,
                    "SELECT id, job_id, trigger_msg FROM xxl_job_log FORCE INDEX (PRIMARY) WHERE id IN (?) ORDER BY id",
                    sql_each(doubts, count, log_id));

    while (!e && db_rows_next(rows)) {
        while (i < count && doubts[i].log_id < db_int(rows, 0))
            i++;
        if (i < count && doubts[i].log_id == db_int(rows, 0) && is_row_of(doubts[i].fire, rows))
            jobs[doubts[i].job].advanced = true;
    }
    db_rows_destroy(rows);
    return e;
}

/* A claim that planned nothing has left its trace in the job alone. */
static enum err check_fireless(struct store_session *s, struct claim_job *jobs, size_t count, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    size_t i = 0;
    enum err e = store_query(s, &rows, ec,
                             "SELECT id, trigger_status, trigger_last_time, trigger_next_time FROM xxl_job_info WHERE "
                             "id IN (?) ORDER BY id",
                             sql_each_in(jobs, count, job, id));

    while (!e && db_rows_next(rows)) {
        while (i < count && jobs[i].job->id < db_int(rows, 0))
            i++;
        if (i == count || jobs[i].fires || jobs[i].job->id != db_int(rows, 0))
            continue;
        struct claim_job *j = &jobs[i];
        if (j->stop)
            j->advanced = db_int(rows, 1) == 0 && db_int(rows, 2) == 0 && db_int(rows, 3) == 0;
        else
            j->advanced = db_int(rows, 3) == j->new_next_ms && (j->keeps_last || db_int(rows, 2) == j->job->next_ms);
    }
    db_rows_destroy(rows);
    return e;
}

enum err store_load_claimed(struct store_session *s, int shard, int64_t epoch, struct claim_job *jobs, size_t count,
                            struct errctx *ec)
{
    size_t doubt_count = 0;
    int64_t step;
    struct doubt *doubts = list_doubts(jobs, count, &doubt_count);
    enum err e;

    if (!doubts)
        return err_set(ec, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < count; i++)
        jobs[i].advanced = false;
    e = store_begin_txn(s, ec);
    if (!e)
        e = store_lock_shard(s, shard, epoch, &step, /*guards=*/NULL, ec);
    for (size_t at = 0; at < doubt_count && !e; at += STORE_LIST_MAX) {
        size_t n = doubt_count - at < STORE_LIST_MAX ? doubt_count - at : STORE_LIST_MAX;
        e = find_rows(s, doubts + at, n, jobs, ec);
    }
    for (size_t at = 0; at < count && !e; at += STORE_LIST_MAX) {
        size_t n = count - at < STORE_LIST_MAX ? count - at : STORE_LIST_MAX;
        e = check_fireless(s, jobs + at, n, ec);
    }
    if (!e)
        e = store_end_reading_back(s, ec);
    store_end_txn(s);
    free(doubts);
    if (!e)
        return ERR_OK;
    for (size_t i = 0; i < count; i++)
        jobs[i].advanced = false;
    return err_wrap(ec, e, "read back a claim of shard %d", shard);
}
