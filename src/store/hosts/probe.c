/* SPDX-License-Identifier: MIT */
/* What a candidate says of itself. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "store/hosts/hosts_impl.h"
#include "shardwheel/store/cluster.h"

/* Whoever may write in spite of it (SUPER, READ_ONLY ADMIN) must not: it is somebody's replica. */
static enum err check_read_only(struct store_session *s, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    const char *value;
    enum err e = store_query(s, &rows, ec, "SELECT @@global.read_only");

    if (e)
        return e;
    value = db_rows_next(rows) ? db_text_or_empty(rows, 0) : "";
    if (strcmp(value, "0") != 0 && strcasecmp(value, "OFF") != 0)
        e = err_set(ec, ERR_STATE, "it is read-only");
    db_rows_destroy(rows);
    return e;
}

/* Where the table is not there yet the row is not, either. */
static void read_row(struct store_session *s, struct host_facts *out)
{
    struct db_rows *rows = NULL;

    store_start_sql(s, "SELECT generation, server FROM shardwheel_primary WHERE id = 1");
    if (store_query_sql(s, &rows, NULL))
        return;
    out->has_tables = true;
    if (db_rows_next(rows)) {
        out->generation = db_int(rows, 0);
        snprintf(out->row_server, sizeof out->row_server, "%s", db_text_or_empty(rows, 1));
    }
    db_rows_destroy(rows);
}

static enum err check_member(struct store_session *s, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e =
        store_query(s, &rows, ec, "SHOW STATUS WHERE Variable_name IN ('wsrep_ready', 'wsrep_cluster_status')");

    while (!e && db_rows_next(rows)) {
        const char *value = db_text_or_empty(rows, 1);

        if (strcasecmp(value, "ON") != 0 && strcasecmp(value, "Primary") != 0)
            e = err_set(ec, ERR_STATE, "it is not a ready member of the primary component of the cluster: %s is %s",
                        db_text_or_empty(rows, 0), value);
    }
    db_rows_destroy(rows);
    return e;
}

static enum err look(struct hosts *h, struct store_session *s, struct host_facts *out, struct errctx *ec)
{
    enum err e = ERR_OK;

    s->is_bound = true; /* what is found is all of one server */
    out->reached = true;
    out->galera = db_is_galera(s->db);
    snprintf(out->server, sizeof out->server, "%s", db_get_server(s->db));
    if (out->galera)
        e = check_member(s, ec);
    if (!e)
        read_row(s, out);
    /* Of a single one it counts what it does: it was chosen by whoever wrote the URL. */
    if (!e && h->count > 1)
        e = check_read_only(s, ec);
    if (!e && out->has_tables)
        e = store_check_writable(s, ec);
    return e;
}

void hosts_probe(struct hosts *h, int index, struct host_facts *out)
{
    struct store *st = h->list[index].store;
    struct store_session *s = NULL;
    struct errctx ec;
    enum err e;

    *out = (struct host_facts){0};
    errctx_clear(&ec);
    e = store_take_session(st, SESSION_NORMAL, &s, &ec);
    if (!e)
        e = look(h, s, out, &ec);
    out->takes_writes = !e;
    if (e)
        snprintf(out->why, sizeof out->why, "%s", ec.text);
    store_close_session(st, s);
}
