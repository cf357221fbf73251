/* SPDX-License-Identifier: MIT */
/* store_after_restore: the transaction, who may not live meanwhile, the tables of the cluster. */
#include "store/restore/restore_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "shardwheel/store/cluster.h"
#include "store/people/audit.h"

#define ACTION "cluster.after-restore"
/* Epochs of the time behind the backup may live on in the memory of a node that is cut off: no owner may get one of
 * them again. A takeover costs a transaction, so there were fewer. */
#define EPOCHS_LEFT_OUT 1000000
#define GENERATIONS_LEFT_OUT "1000" /* each one is a failover */
#define JAVA_SILENT_MS 6000         /* a Java admin asks for its lock every five seconds at least */
#define JAVA_LOOK_MS 500

FINI_BY(free, restore_result, jobs)

/* ---- what may have run ------------------------------------------------------------------------------------------- */

COMPARE_BY_TWO(compare_jobs, struct restored_job, id, first_s)

static void merge_jobs(struct restore_result *out)
{
    size_t n = 0;

    if (out->count)
        qsort(out->jobs, out->count, sizeof *out->jobs, compare_jobs);
    for (size_t i = 0; i < out->count; i++) {
        struct restored_job *job = &out->jobs[i], *last = n ? &out->jobs[n - 1] : NULL;

        if (!last || last->id != job->id) {
            out->jobs[n++] = *job;
            continue;
        }
        last->count += job->count;
        last->more = last->more || job->more;
        last->stopped = last->stopped || job->stopped;
        last->last_s = job->last_s > last->last_s ? job->last_s : last->last_s;
    }
    out->count = n;
}

/* ---- who lives --------------------------------------------------------------------------------------------------- */

/* From here on Java admins wait. Nodes that live hold this row: only asked for when none does. */
static enum err lock_java(struct restore *r, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e =
        store_query(r->s, &rows, ec, "SELECT lock_name FROM xxl_job_lock WHERE lock_name = 'schedule_lock' FOR UPDATE");

    db_rows_destroy(rows);
    return e == ERR_CONFLICT
               ? err_set(
                     ec, ERR_BUSY,
                     "another session has locked schedule_lock of xxl_job_lock: stop all nodes and Java admins first")
               : e;
}

/* One that lives asks for the row, and is seen waiting: by the same user, or with the right PROCESS. */
static enum err check_java(struct restore *r, struct errctx *ec)
{
    int64_t waiting = 0;
    enum err e = ERR_OK;

    for (int waited_ms = 0; waited_ms < JAVA_SILENT_MS && !e && !waiting; waited_ms += JAVA_LOOK_MS) {
        clock_sleep_ms(JAVA_LOOK_MS);
        e = store_number(r->s, 0, &waiting, ec,
                         "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND "
                         "DB = DATABASE() AND INFO LIKE '%xxl\\_job\\_lock%FOR UPDATE%'");
    }
    return !e && waiting ? err_set(ec, ERR_BUSY, "a Java admin uses this database: stop it first") : e;
}

/* ---- the tables of the cluster ----------------------------------------------------------------------------------- */

/* Locks the rows of cluster, shards and cursors. *newest_s: where the cluster was at the backup. */
static enum err lock_cluster(struct restore *r, int *shards, int64_t *newest_s, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    int64_t number = 0;
    enum err e = store_number(r->s, 0, &number, ec, "SELECT shards FROM shardwheel_cluster WHERE id = 1 FOR UPDATE");

    if (!e && (number < 1 || number > STORE_SHARDS_MAX))
        e = err_set(ec, ERR_STATE, "no node has used this database yet: there is nothing to do");
    if (!e)
        e = store_query(r->s, &rows, ec,
                        "SELECT s.epoch, c.epoch, c.cursor_s FROM shardwheel_shard s LEFT JOIN shardwheel_cursor c ON "
                        "c.shard = s.shard WHERE s.shard >= 0 AND s.shard < ? ORDER BY s.shard FOR UPDATE",
                        number);
    *shards = (int)number;
    *newest_s = 0;
    while (!e && db_rows_next(rows)) {
        int64_t a = db_int(rows, 0), b = db_int(rows, 1), cursor_s = db_int(rows, 2);

        a = a > b ? a : b;
        r->out->epoch = a > r->out->epoch ? a : r->out->epoch;
        *newest_s = cursor_s > *newest_s ? cursor_s : *newest_s;
    }
    db_rows_destroy(rows);
    return e;
}

static enum err write_cluster(struct restore *r, int shards, struct errctx *ec)
{
    static const char *const emptied[] = {"DELETE FROM shardwheel_takeover", "DELETE FROM shardwheel_node",
                                          "DELETE FROM shardwheel_guard"};
    int64_t wishes = 0;
    enum err e = ERR_OK;

    r->out->epoch += EPOCHS_LEFT_OUT;
    if (!r->order->dry_run) /* one that is missing */
        e = store_insert_shards(r->s, shards, r->out->at_s, ec);
    if (!e)
        e = restore_change(r, ec, "UPDATE shardwheel_shard SET owner = '', epoch = ?", r->out->epoch);
    if (!e)
        e = restore_change(r, ec, "UPDATE shardwheel_cursor SET cursor_s = ?, epoch = ? WHERE shard >= 0", r->out->at_s,
                           r->out->epoch);
    for (size_t i = 0; i < ARRAY_LEN(emptied) && !e; i++)
        e = restore_change(r, ec, "?", sql_word(emptied[i]));
    if (!e) {
        e = store_number(r->s, 0, &wishes, ec, "SELECT COUNT(*) FROM shardwheel_reshard WHERE shards <> 0");
        r->out->reshard = wishes > 0;
    }
    if (!e)
        e = restore_change(r, ec, "UPDATE shardwheel_reshard SET shards = 0");
    return e;
}

/* Nodes remember the newest generation, which the backup does not have: theirs must not be beyond this server's. */
static enum err raise_primary(struct restore *r, struct errctx *ec)
{
    int64_t there = 0;
    enum err e = store_number(r->s, 0, &there, ec,
                              "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND "
                              "table_name = 'shardwheel_primary'");

    if (e || !there)
        return e;
    return restore_change(
        r, ec, "UPDATE shardwheel_primary SET generation = generation + " GENERATIONS_LEFT_OUT " WHERE id = 1");
}

/* A login that was ended since the backup must not come to life again; tokens are their owners' to look at. */
static enum err end_logins(struct restore *r, struct errctx *ec)
{
    enum err e = store_number(r->s, 0, &r->out->sessions, ec, "SELECT COUNT(*) FROM shardwheel_session");

    if (!e)
        e = store_number(r->s, 0, &r->out->tokens, ec, "SELECT COUNT(*) FROM shardwheel_token");
    if (!e)
        e = restore_change(r, ec, "DELETE FROM shardwheel_session");
    return e;
}

static enum err put_audit(struct restore *r, int64_t cursor_s, struct errctx *ec)
{
    char before[100], after[300];
    const struct restore_result *o = r->out;
    int64_t due = 0;

    for (size_t i = 0; i < o->count; i++)
        due += o->jobs[i].count;
    snprintf(before, sizeof before, "{\"cursorSeconds\":%" PRId64 "}", cursor_s);
    snprintf(after, sizeof after,
             "{\"fromSeconds\":%" PRId64 ",\"atSeconds\":%" PRId64 ",\"epoch\":%" PRId64 ",\"jobs\":%zu,"
             "\"mayHaveRun\":%" PRId64 ",\"firstLogId\":%" PRId64 "}",
             o->from_s, o->at_s, o->epoch, o->count, due, o->first_id);
    return store_put_audit(r->s,
                           &(struct audit_row){.who = "shardwheelctl",
                                               .via = "shardwheelctl",
                                               .action = ACTION,
                                               .target = o->at_s,
                                               .before = before,
                                               .after = after},
                           ec);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static enum err find_span(struct restore *r, int64_t newest_s, struct errctx *ec)
{
    int64_t now_ms = 0;
    enum err e = store_load_wall_ms(r->s, &now_ms, ec);

    if (e)
        return e;
    r->out->at_s = now_ms / 1000;
    r->out->from_s = r->order->from_s ? r->order->from_s : newest_s;
    if (r->out->from_s > r->out->at_s || newest_s > r->out->at_s)
        return err_set(ec, ERR_STATE,
                       "the clock of the database is before the backup by %" PRId64 " s: correct the clock first",
                       (r->out->from_s > newest_s ? r->out->from_s : newest_s) - r->out->at_s);
    return ERR_OK;
}

static enum err change_all(struct restore *r, int shards, struct errctx *ec)
{
    enum err e = restore_ids(r, ec);

    if (!e)
        e = restore_later(r, ec);
    if (!e)
        e = restore_rows(r, ec);
    if (!e)
        e = restore_jobs(r, ec);
    if (!e)
        e = restore_flows(r, ec);
    if (!e)
        e = write_cluster(r, shards, ec);
    if (!e)
        e = raise_primary(r, ec);
    if (!e)
        e = end_logins(r, ec);
    if (!e)
        merge_jobs(r->out);
    return e;
}

static enum err carry_out(struct restore *r, struct errctx *ec)
{
    int64_t newest_s = 0;
    int shards = 0;
    enum err e = r->order->force ? ERR_OK : store_check_nobody_lives(r->s, ec);

    if (!e && !r->order->force)
        e = lock_java(r, ec);
    if (!e)
        e = lock_cluster(r, &shards, &newest_s, ec);
    if (!e)
        e = find_span(r, newest_s, ec);
    if (!e)
        e = change_all(r, shards, ec);
    if (!e && !r->order->force && !r->order->dry_run)
        e = check_java(r, ec);
    if (!e && !r->order->dry_run)
        e = put_audit(r, newest_s, ec);
    return e;
}

enum err store_after_restore(struct store_session *s, const struct restore_order *order, struct restore_result *out,
                             struct errctx *ec)
{
    struct restore_result result = {0};
    struct restore r = {.s = s, .order = order, .out = &result};
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = carry_out(&r, ec);
    if (!e && !order->dry_run)
        e = store_commit_txn(s, ec);
    store_end_txn(s);
    if (e) {
        restore_result_fini(&result);
        return err_wrap(ec, e, "after a restore");
    }
    *out = result;
    return ERR_OK;
}
