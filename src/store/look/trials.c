/* SPDX-License-Identifier: MIT */
#include "shardwheel/store/trials.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/conn/rows.h"

#define FIRST_ID 1000 /* rows below are not of trials */
#define ROUNDS 4      /* a proxy that takes turns sends some of the reads to where they belong */
#define IDS 3
/* No two servers that copy from each other have the same number, and no two processes of a machine the same port. */
#define SERVER "CONCAT(@@hostname, ':', @@port, ', server_id ', @@server_id)"

struct bench {
    struct store_session *first, *second;
    int64_t id;     /* of the row */
    char name[40];  /* of the lock */
    char home[200]; /* the server that took the row */
    struct trials *out;
};

/* ---- faults ------------------------------------------------------------------------------------------------------ */

static const char *const changes[TRIAL_COUNT] = {
    [TRIAL_ONE_SERVER] = "set one server in spring.datasource.url, or a port of the proxy that uses one server at a "
                         "time for all connections (HAProxy: one server, the others as backup)",
    [TRIAL_NEWEST_READ] =
        "send all statements of this user to the server that accepts writes: in ProxySQL a rule before that for "
        "^SELECT with the writers' hostgroup, and transaction_persistent; in MaxScale the router readconnroute with "
        "router_options=master instead of readwritesplit; of an RDS or Aurora cluster the writer endpoint, without "
        "read/write splitting; in ShardingSphere a data source without the rule READWRITE_SPLITTING",
    [TRIAL_MATCHED_ROWS] = "connect to the server itself, or through a proxy that passes CLIENT_FOUND_ROWS on",
    [TRIAL_ROW_LOCKS] = "use a server with row locks (MySQL or MariaDB with InnoDB), and no proxy that changes "
                        "statements or distributes connections over servers; in TiDB pessimistic transactions do not "
                        "help, because its LOCK IN SHARE MODE locks nothing",
    [TRIAL_ISOLATION] = "connect to the server itself, or through a proxy that passes SET on and keeps it with its "
                        "connection (no multiplexing)",
    [TRIAL_IDS] = "connect to the server itself, or through a proxy that creates no ids and does not split an INSERT",
    [TRIAL_NAMED_LOCKS] = "use a server with named locks, and a proxy that does not share sessions or change their "
                          "ids; with ZooKeeper and without Java admins, shardwheel.java-guard=off needs none; in "
                          "Percona XtraDB Cluster pxc_strict_mode=PERMISSIVE allows them",
};

/* One for each trial: the first says it. */
PRINTF_LIKE(3, 4)
static enum err note(struct bench *b, enum trial trial, const char *fmt, ...)
{
    struct trials *out = b->out;
    struct trial_fault *fault = &out->faults[out->count];
    va_list args;

    if (out->count > 0 && out->faults[out->count - 1].trial == trial)
        return ERR_OK;
    fault->trial = trial;
    fault->change = changes[trial];
    va_start(args, fmt);
    vsnprintf(fault->what, sizeof fault->what, fmt, args);
    va_end(args);
    out->count++;
    return ERR_OK;
}

/* A statement that the server does not know, or does not allow, is a fault like one that does nothing. */
static enum err judge(struct bench *b, enum trial trial, enum err e, struct errctx *ec)
{
    return e == ERR_INPUT || e == ERR_DENIED ? note(b, trial, "The server refuses a statement: %.300s.", ec->text) : e;
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

struct seen {
    int64_t generation;
    char server[200];
};

/* The trial's row with the server that read it; `lock` is empty or the clause for it. */
static enum err read_row(struct bench *b, struct store_session *s, const char *lock, struct seen *out,
                         struct errctx *ec)
{
    static const struct row_type rows = ROWS(struct seen, FIELDS(struct seen, generation, server));

    *out = (struct seen){.generation = -1};
    store_sql(s, "SELECT generation, " SERVER " FROM shardwheel_primary WHERE id = ??", b->id, sql_word(lock));
    enum err e = store_read_row(s, &rows, out, NULL, ec);
    return e == ERR_NOTFOUND ? ERR_OK : e;
}

static enum err write_row(struct bench *b, struct store_session *s, int64_t generation, int64_t *matched,
                          struct errctx *ec)
{
    struct db_effect effect = {0};
    enum err e =
        store_write(s, &effect, ec, "UPDATE shardwheel_primary SET generation = ? WHERE id = ?", generation, b->id);

    *matched = effect.matched;
    return e;
}

/* In a transaction that writes: whoever answers in it is the one that has taken the row. */
static enum err make_row(struct bench *b, struct errctx *ec)
{
    struct seen seen = {0};
    enum err e = store_begin_txn(b->first, ec);

    if (!e)
        e = store_exec(b->first, NULL, ec,
                       "INSERT INTO shardwheel_primary (id, generation, server, node, update_time) VALUES (?, 0, 'a "
                       "trial', '', UTC_TIMESTAMP())",
                       b->id);
    if (!e)
        e = read_row(b, b->first, " FOR UPDATE", &seen, ec);
    snprintf(b->home, sizeof b->home, "%s", seen.server);
    return store_finish_txn(b->first, e, ec);
}

/* With those that nodes have left which died meanwhile. */
static enum err remove_rows(struct bench *b, struct errctx *ec)
{
    enum err e = store_ready_session(b->first, ec);

    return e ? e
             : store_write(b->first, NULL, ec,
                           "DELETE FROM shardwheel_primary WHERE id = ? OR (id >= ? AND update_time < UTC_TIMESTAMP() "
                           "- INTERVAL 10 MINUTE)",
                           b->id, FIRST_ID);
}

/* ---- who reads --------------------------------------------------------------------------------------------------- */

static enum err try_one_server(struct bench *b, struct errctx *ec)
{
    struct seen seen;
    enum err e = store_begin_txn(b->second, ec);

    if (!e)
        e = read_row(b, b->second, " FOR UPDATE", &seen, ec);
    store_end_txn(b->second);
    if (!e && strcmp(seen.server, b->home) != 0)
        return note(b, TRIAL_ONE_SERVER, "One connection writes to the server %.100s, another connection to %.100s.",
                    b->home, seen.server);
    return judge(b, TRIAL_ONE_SERVER, e, ec);
}

static enum err try_newest_read(struct bench *b, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (int round = 1; !e && round <= ROUNDS; round++) {
        struct seen seen;
        int64_t matched = 0;

        e = write_row(b, b->second, round, &matched, ec);
        if (!e)
            e = read_row(b, b->second, "", &seen, ec);
        if (!e && (seen.generation != round || strcmp(seen.server, b->home) != 0))
            return note(b, TRIAL_NEWEST_READ,
                        "Reads are sent elsewhere: the server %.100s accepts the writes, but %.100s answered a read "
                        "outside of a transaction%s.",
                        b->home, seen.server[0] ? seen.server : "another one",
                        seen.generation == round ? "" : ", without the newest write");
        if (!e && matched != 1)
            e = note(b, TRIAL_MATCHED_ROWS, "An update of one row counts %" PRId64 " rows.", matched);
    }
    return e;
}

static enum err try_matched_rows(struct bench *b, struct errctx *ec)
{
    int64_t matched = 0;
    enum err e = write_row(b, b->second, ROUNDS, &matched, ec);

    if (!e && matched != 1)
        e = note(b, TRIAL_MATCHED_ROWS,
                 "An update that changes nothing counts %" PRId64 " rows, not the one that it found.", matched);
    return e;
}

/* ---- locks ------------------------------------------------------------------------------------------------------- */

/* *blocked: the row was refused to it. */
static enum err ask_for_row(struct bench *b, struct store_session *s, bool *blocked, struct errctx *ec)
{
    struct seen seen;
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = read_row(b, s, " FOR UPDATE NOWAIT", &seen, ec);
    if (e == ERR_INPUT && s->in_txn) /* a server that does not know NOWAIT: a claim's session waits for a second */
        e = read_row(b, s, " FOR UPDATE", &seen, ec);
    *blocked = e == ERR_CONFLICT;
    store_end_txn(s);
    return *blocked ? ERR_OK : e;
}

static enum err try_row_lock(struct bench *b, const char *lock, struct errctx *ec)
{
    struct seen seen;
    bool blocked = false;
    enum err e = store_begin_txn(b->first, ec);

    if (!e)
        e = read_row(b, b->first, lock, &seen, ec);
    if (!e)
        e = ask_for_row(b, b->second, &blocked, ec);
    store_end_txn(b->first);
    if (!e && !blocked)
        return note(b, TRIAL_ROW_LOCKS,
                    "A row that one connection has locked by%s can be locked by another one with FOR UPDATE.", lock);
    return judge(b, TRIAL_ROW_LOCKS, e, ec);
}

static enum err try_row_locks(struct bench *b, struct errctx *ec)
{
    enum err e = try_row_lock(b, " FOR UPDATE", ec);

    return e ? e : try_row_lock(b, " LOCK IN SHARE MODE", ec);
}

static enum err try_isolation(struct bench *b, struct errctx *ec)
{
    struct seen before = {0}, after = {0};
    int64_t matched = 0;
    enum err e = store_begin_txn(b->first, ec);

    if (!e)
        e = read_row(b, b->first, "", &before, ec);
    if (!e)
        e = write_row(b, b->second, before.generation + 1, &matched, ec);
    if (!e)
        e = read_row(b, b->first, "", &after, ec);
    store_end_txn(b->first);
    if (!e && after.generation != before.generation + 1)
        e = note(b, TRIAL_ISOLATION,
                 "A transaction does not see what another connection has written in the meantime: READ COMMITTED and "
                 "autocommit=1 were set, but one of them has no effect.");
    return e;
}

/* ---- ids --------------------------------------------------------------------------------------------------------- */

static enum err insert_rows(struct bench *b, int64_t *first, int64_t *step, struct errctx *ec)
{
    struct db_effect effect = {0};
    enum err e = store_number(b->first, 1, step, ec, "SELECT @@auto_increment_increment");

    if (e)
        return e;
    store_start_sql(b->first, "INSERT INTO shardwheel_event (at_ms, kind, node, job_group, detail) VALUES ");
    for (int i = 0; i < IDS; i++) {
        sql_puts(&b->first->sql, i ? ",(0, 'trial', " : "(0, 'trial', ");
        sql_put(&b->first->sql, "?, 0, '')", b->name);
    }
    e = store_exec_sql(b->first, &effect, ec);
    *first = effect.first_id;
    return e;
}

static enum err compare_ids(struct bench *b, int64_t first, int64_t step, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    int right = 0;
    enum err e = store_query(b->first, &rows, ec,
                             "SELECT id FROM shardwheel_event WHERE id >= ? AND at_ms = 0 AND node = ? ORDER BY id",
                             first, b->name);

    while (!e && db_rows_next(rows) && db_int(rows, 0) == first + right * step)
        right++;
    db_rows_destroy(rows);
    if (!e && (right != IDS || first <= 0))
        e = note(b, TRIAL_IDS,
                 "The ids of %d rows of one INSERT are not %" PRId64 " and on, in steps of %" PRId64
                 ", as the server says.",
                 IDS, first, step);
    return e;
}

/* Rolled back: nobody ever sees these rows. */
static enum err try_ids(struct bench *b, struct errctx *ec)
{
    int64_t first = 0, step = 1;
    enum err e = store_begin_txn(b->first, ec);

    if (!e)
        e = insert_rows(b, &first, &step, ec);
    if (!e)
        e = compare_ids(b, first, step, ec);
    store_end_txn(b->first);
    return e;
}

/* ---- named locks ------------------------------------------------------------------------------------------------- */

static enum err compare_named(struct bench *b, struct errctx *ec)
{
    int64_t holder = 0, twice = 0, mine = db_connection_id(b->first->db);
    enum err e = store_number(b->second, 0, &holder, ec, "SELECT IS_USED_LOCK(?)", b->name);

    if (e)
        return e;
    b->second->is_bound = true;
    e = store_number(b->second, 0, &twice, ec, "SELECT GET_LOCK(?, 0)", b->name);
    if (!e && twice == 1)
        return note(b, TRIAL_NAMED_LOCKS, "GET_LOCK gives the same lock to two connections at the same time.");
    if (!e && holder == 0)
        return note(b, TRIAL_NAMED_LOCKS, "IS_USED_LOCK does not see a lock that GET_LOCK gave.");
    if (!e && holder != mine)
        return note(b, TRIAL_NAMED_LOCKS,
                    "The connection that holds a named lock is %" PRId64 " to IS_USED_LOCK and %" PRId64
                    " to this node: a proxy between them uses its own connection ids.",
                    holder, mine);
    return e;
}

static enum err try_named_locks(struct bench *b, struct errctx *ec)
{
    int64_t got = 0;
    enum err e = store_ready_session(b->first, ec);

    if (!e)
        e = store_ready_session(b->second, ec);
    if (e)
        return e;
    b->first->is_bound = true; /* it goes with the connection */
    e = store_number(b->first, 0, &got, ec, "SELECT GET_LOCK(?, 0)", b->name);
    if (!e && got != 1)
        return note(b, TRIAL_NAMED_LOCKS, "GET_LOCK does not give a lock that nobody has.");
    if (!e)
        e = compare_named(b, ec);
    return judge(b, TRIAL_NAMED_LOCKS, e, ec);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static enum err run_trials(struct bench *b, struct errctx *ec)
{
    static enum err (*const all[TRIAL_COUNT])(struct bench * b, struct errctx * ec) = {
        [TRIAL_ONE_SERVER] = try_one_server,     [TRIAL_NEWEST_READ] = try_newest_read,
        [TRIAL_MATCHED_ROWS] = try_matched_rows, [TRIAL_ROW_LOCKS] = try_row_locks,
        [TRIAL_ISOLATION] = try_isolation,       [TRIAL_IDS] = try_ids,
        [TRIAL_NAMED_LOCKS] = try_named_locks,
    };
    enum err e = ERR_OK;

    for (int i = 0; !e && i < TRIAL_COUNT; i++) {
        e = all[i](b, ec);
        if (!e && b->out->count > 0 && b->out->faults[0].trial == TRIAL_ONE_SERVER)
            break; /* all others would say the same in other words */
    }
    return e;
}

static enum err name_bench(struct bench *b, struct errctx *ec)
{
    char random[17];
    enum err e = random_hex(random, 8, ec);

    if (e)
        return e;
    snprintf(b->name, sizeof b->name, "sw_trial_%s", random);
    random[7] = '\0'; /* 28 bits, which an INT holds */
    b->id = FIRST_ID + strtoll(random, NULL, 16);
    return ERR_OK;
}

enum err store_make_trials(struct store *st, struct trials *out, struct errctx *ec)
{
    struct trials found = {0};
    struct bench bench = {.out = &found};
    enum err e = name_bench(&bench, ec);

    if (!e)
        e = store_take_session(st, SESSION_NORMAL, &bench.first, ec);
    if (!e)
        e = store_take_session(st, SESSION_CLAIM, &bench.second, ec);
    if (!e)
        e = make_row(&bench, ec);
    if (!e) {
        e = run_trials(&bench, ec);
        enum err removed = remove_rows(&bench, e ? NULL : ec);
        e = e ? e : removed;
    }
    store_give_session(st, bench.first);
    store_give_session(st, bench.second);
    if (e)
        return err_wrap(ec, e, "try what the server does");
    *out = found;
    return ERR_OK;
}
