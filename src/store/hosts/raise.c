/* SPDX-License-Identifier: MIT */
/* The nodes go over to another server: what it must know before anybody works on it. */
#include <inttypes.h>

#include "store/flow/ids.h"
#include "store/hosts/hosts_impl.h"
#include "store/run/ids.h"

/* A takeover costs a transaction, and a fire a row: fewer can have been lost with the server of before. */
#define EPOCHS_LEFT_OUT "1000000"
#define IDS_LEFT_OUT 10000000

/* Raisers go one after the other. */
static enum err lock_cluster(struct store_session *s, struct errctx *ec)
{
    int64_t number;

    return store_number(s, 0, &number, ec, "SELECT shards FROM shardwheel_cluster WHERE id = 1 FOR UPDATE");
}

static enum err check_generation(struct store_session *s, int64_t generation, bool *is_first, struct errctx *ec)
{
    int64_t there;
    enum err e = store_number(s, -1, &there, ec, "SELECT generation FROM shardwheel_primary WHERE id = 1 FOR UPDATE");

    if (e)
        return e;
    *is_first = there < 0;
    if (there >= generation)
        return err_set(ec, ERR_STATE, "its row has generation %" PRId64 ", and %" PRId64 " was to be written", there,
                       generation);
    return ERR_OK;
}

static enum err write_row(struct store_session *s, int64_t generation, const char *node, struct errctx *ec)
{
    return store_exec(
        s, NULL, ec,
        "REPLACE INTO shardwheel_primary (id, generation, server, node, update_time) VALUES (1, ?, ?, ?, ?)",
        generation, sql_fitted(db_get_server(s->db), STORE_SERVER_MAX - 1, TEXT_AS_IS),
        sql_fitted(node, 128, TEXT_AS_IS), sql_time(s->st->zone, clock_wall_ms(s->st->clock) / 1000));
}

static enum err fence_owners(struct store_session *s, struct errctx *ec)
{
    enum err e = store_exec(s, NULL, ec, "UPDATE shardwheel_shard SET epoch = epoch + " EPOCHS_LEFT_OUT);

    if (e)
        return e;
    return store_exec(s, NULL, ec, "UPDATE shardwheel_cursor SET epoch = epoch + " EPOCHS_LEFT_OUT);
}

static enum err skip_ids(struct store_session *s, struct errctx *ec)
{
    int64_t last_id = 0;
    bool flows = false;
    enum err e = store_find_last_log_id(s, &last_id, ec);

    if (!e)
        e = store_move_log_ids(s, last_id + IDS_LEFT_OUT, ec);
    if (!e)
        e = flow_find_tables(s, &flows, ec);
    return !e && flows ? flow_skip_run_ids(s, IDS_LEFT_OUT, ec) : e;
}

static enum err raise_on(struct store_session *s, int64_t generation, const char *node, struct errctx *ec)
{
    bool is_first = false;
    enum err e = ERR_OK;

    if (db_is_galera(s->db)) { /* what other members have committed is seen */
        e = store_exec(s, NULL, ec, "SET SESSION wsrep_sync_wait = 15");
    }
    if (!e)
        e = store_begin_txn(s, ec);
    if (!e)
        e = lock_cluster(s, ec);
    if (!e)
        e = check_generation(s, generation, &is_first, ec);
    if (!e)
        e = write_row(s, generation, node, ec);
    if (!e && !is_first)
        e = fence_owners(s, ec);
    if (!e && !is_first && !db_is_galera(s->db))
        e = skip_ids(s, ec);
    return store_finish_txn(s, e, ec);
}

enum err hosts_raise(struct hosts *h, int index, int64_t generation, const char *node, struct errctx *ec)
{
    struct store *st = h->list[index].store;
    struct store_session *s = NULL;
    enum err e = store_take_session(st, SESSION_NORMAL, &s, ec);

    if (!e)
        e = raise_on(s, generation, node, ec);
    store_close_session(st, s);
    return e ? err_wrap(ec, e, "change to the database server at %s:%d", h->list[index].name, h->list[index].port)
             : ERR_OK;
}
