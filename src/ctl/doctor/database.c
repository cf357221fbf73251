/* SPDX-License-Identifier: MIT */
/* Whether the database can be reached, and holds what this program needs. */
#include "ctl/doctor/check.h"

#include "shardwheel/store/database.h"

/* ---- reachable --------------------------------------------------------------------------------------------------- */

static enum err open_database(struct doctor *d, struct errctx *ec)
{
    enum err e = database_open(d->config, NULL, d->clock, NULL, &d->store, ec);

    return e ? e : store_take_session(d->store, SESSION_NORMAL, &d->session, ec);
}

static enum err check_reachable(struct doctor *d, struct errctx *ec)
{
    enum err e = open_database(d, ec);

    if (e == ERR_NOMEM)
        return e;
    if (e)
        doctor_tell(d, DOCTOR_CRITICAL, "database_unreachable", NULL,
                    e == ERR_DENIED || e == ERR_NOTFOUND
                        ? "Correct spring.datasource.url, username and password, or the rights of that user."
                        : "Check whether the server runs, and whether this machine can reach this name and port.",
                    "The database cannot be used: %s.", ec->text);
    return ERR_OK;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static enum err load_cluster(struct doctor *d, struct errctx *ec)
{
    enum err e = store_load_nodes(d->session, &d->nodes, &d->node_count, &d->now_ms, ec);

    if (!e)
        e = store_load_status(d->session, /*count_fires=*/false, &d->status, ec);
    d->has_tables = !e;
    return e;
}

static enum err check_tables(struct doctor *d, struct errctx *ec)
{
    enum err e = store_load_features(d->store, &d->features, ec);

    if (e == ERR_INPUT || e == ERR_STATE) {
        doctor_tell(d, DOCTOR_CRITICAL, "tables_unusable", NULL, "Correct this first: no node can start.",
                    "The tables are not usable: %s.", ec->text);
        return ERR_OK;
    }
    if (e)
        return e;
    if (d->features.empty || !d->features.own_tables) {
        doctor_tell(d, DOCTOR_CRITICAL, "tables_missing", NULL,
                    "Start a node on it, or run `shardwheel install-schema` with the same settings.",
                    "The database has no %s tables: no node has started on it.",
                    d->features.empty ? "xxl_job" : "shardwheel");
        return ERR_OK;
    }
    return load_cluster(d, ec);
}

const struct doctor_check doctor_database_checks[] = {
    {"database", "The database can be reached.", (const char *const[]){"database_unreachable", NULL}, DOCTOR_NOTHING,
     check_reachable},
    {"tables", "The tables are usable by this release.",
     (const char *const[]){"tables_unusable", "tables_missing", NULL}, DOCTOR_DATABASE, check_tables},
    {0},
};
