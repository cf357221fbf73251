/* SPDX-License-Identifier: MIT */
/* shardwheel_cluster: the zones of a cluster. */
#include "shardwheel/store/cluster.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "store/conn/datetime.h"
#include "store/conn/rows.h"

#define YEAR_S (INT64_C(366) * 86400)
#define YEARS_BACK 1
#define YEARS_AHEAD 20
#define LIVE_MS 10000         /* a node whose last beat is older has ended, or does not reach the database */
#define LOOK_BACK_S (15 * 60) /* of a takeover, from the cursor */
#define LOOK_AHEAD_S (10 * 60)

static const struct {
    const char *column;
    const char *what; /* it is the zone of */
    const char *word; /* of shardwheelctl set-zone */
    const char *setting;
} kinds[] = {
    [CLUSTER_ZONE_DATABASE] = {"zone_database", "DATETIME columns", "database",
                               "serverTimezone of spring.datasource.url"},
    [CLUSTER_ZONE_CRON] = {"zone_cron", "cron expressions", "cron", "shardwheel.time-zone"},
};

/* ---- the row ----------------------------------------------------------------------------------------------------- */

/* ERR_NOTFOUND: there is no row. */
static enum err read_names(struct store_session *s, const char *how, struct cluster_zones *out, struct errctx *ec)
{
    static const struct row_type zones = ROWS(struct cluster_zones, FIELDS(struct cluster_zones, database, cron));

    store_sql(s, "SELECT zone_database, zone_cron FROM shardwheel_cluster WHERE id = 1?", sql_word(how));
    return store_read_row(s, &zones, out, NULL, ec);
}

static enum err lock_names(struct store_session *s, struct cluster_zones *out, struct errctx *ec)
{
    enum err e = read_names(s, " FOR UPDATE", out, ec);

    if (e != ERR_NOTFOUND)
        return e;
    return err_set(ec, ERR_STATE, "no node has used this database yet: the first one records its zones");
}

enum err store_read_zones(struct store_session *s, struct cluster_zones *out, struct errctx *ec)
{
    enum err e = read_names(s, "", out, ec);

    if (e == ERR_NOTFOUND)
        *out = (struct cluster_zones){0};
    else if (e)
        return err_wrap(ec, e, "read the zones");
    return ERR_OK;
}

static enum err write_name(struct store_session *s, enum cluster_zone which, const char *name, struct errctx *ec)
{
    return store_exec(s, NULL, ec, "UPDATE shardwheel_cluster SET ? = ? WHERE id = 1", sql_word(kinds[which].column),
                      name);
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

static enum err refuse(enum cluster_zone which, const char *recorded, const char *own, const char *why,
                       struct errctx *ec)
{
    return err_set(ec, ERR_STATE,
                   "the cluster's zone of %s is %s, this node's is %s: set the zone of the cluster on this node, by %s "
                   "or TZ in the environment; or, if the zone of the cluster is wrong, stop all nodes and run: "
                   "shardwheelctl set-zone %s %s%s",
                   kinds[which].what, recorded, own, kinds[which].setting, kinds[which].word, own, why);
}

static enum err compare(enum cluster_zone which, const char *recorded, const struct zone *zone, const char *own,
                        int64_t now_s, struct errctx *ec)
{
    struct zone *other = NULL;
    struct errctx why = {{0}};
    char text[300];
    bool same;

    if (strcmp(recorded, own) == 0)
        return ERR_OK;
    if (zone_load(recorded, &other, &why)) {
        snprintf(text, sizeof text, " (the two cannot be compared here: %.240s)", why.text);
        return refuse(which, recorded, own, text, ec);
    }
    same = zone_is_same(zone, other, now_s - YEARS_BACK * YEAR_S, now_s + YEARS_AHEAD * YEAR_S);
    zone_destroy(other);
    return same ? ERR_OK : refuse(which, recorded, own, "", ec);
}

/* `recorded` is empty where nothing is on record, and what is there afterwards. */
static enum err agree(struct store_session *s, enum cluster_zone which, const struct zone *zone, int64_t now_s,
                      char recorded[ZONE_NAME_MAX], struct errctx *ec)
{
    char own[ZONE_NAME_MAX];
    bool named = zone_find_name(zone, now_s - YEARS_BACK * YEAR_S, now_s + YEARS_AHEAD * YEAR_S, own);

    if (recorded[0])
        return compare(which, recorded, zone, named ? own : zone_get_name(zone), now_s, ec);
    if (!named)
        return ERR_OK;
    snprintf(recorded, ZONE_NAME_MAX, "%s", own);
    return write_name(s, which, own, ec);
}

enum err store_agree_on_zones(struct store_session *s, const struct zone *cron, struct cluster_zones *out,
                              struct errctx *ec)
{
    int64_t now_s = time_floor_div(clock_wall_ms(s->st->clock), 1000);
    struct cluster_zones zones = {0};
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = lock_names(s, &zones, ec);
    if (!e)
        e = agree(s, CLUSTER_ZONE_DATABASE, s->st->zone, now_s, zones.database, ec);
    if (!e)
        e = agree(s, CLUSTER_ZONE_CRON, cron, now_s, zones.cron, ec);
    e = store_finish_txn(s, e, ec);
    if (e)
        return err_wrap(ec, e, "time zones");
    *out = zones;
    return ERR_OK;
}

/* ---- changing them ----------------------------------------------------------------------------------------------- */

enum err store_check_nobody_lives(struct store_session *s, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e =
        store_query(s, &rows, ec,
                    "SELECT node, " STORE_NOW_MS " - beat_ms FROM shardwheel_node WHERE beat_ms > " STORE_NOW_MS
                    " - ? ORDER BY beat_ms DESC LIMIT 1",
                    LIVE_MS);

    if (!e && db_rows_next(rows))
        e = err_set(
            ec, ERR_BUSY,
            "node %s is running, or was %.1f s ago: stop all nodes first (a killed node counts as running for 10 s)",
            db_text_or_empty(rows, 0), (double)db_int(rows, 1) / 1000.0);
    db_rows_destroy(rows);
    return e;
}

/* The span of DATETIME texts in which nodes look for planned rows by that zone. False without cursors. */
static enum err load_span(struct store_session *s, const struct zone *zone, char low[DATETIME_TEXT_MAX],
                          char high[DATETIME_TEXT_MAX], bool *any, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e =
        store_query(s, &rows, ec,
                    "SELECT MIN(c.cursor_s), MAX(c.cursor_s) FROM shardwheel_cursor c JOIN shardwheel_cluster n ON "
                    "n.id = 1 AND c.shard >= 0 AND c.shard < n.shards");

    *any = !e && db_rows_next(rows) && db_text(rows, 0);
    if (*any)
        datetime_range(zone, db_int(rows, 0) - LOOK_BACK_S, db_int(rows, 1) + LOOK_AHEAD_S, low, high);
    db_rows_destroy(rows);
    return e;
}

static enum err check_nothing_planned(struct store_session *s, const char *recorded, struct errctx *ec)
{
    char low[DATETIME_TEXT_MAX], high[DATETIME_TEXT_MAX];
    struct zone *zone = NULL;
    int64_t planned = 0;
    bool any = false;
    enum err e = zone_load(recorded, &zone, ec);

    if (!e)
        e = load_span(s, zone, low, high, &any, ec);
    zone_destroy(zone);
    if (e || !any)
        return e;
    e = store_number(
        s, 0, &planned, ec,
        "SELECT COUNT(*) FROM xxl_job_log WHERE trigger_time >= ? AND trigger_time <= ? AND trigger_code = "
        "0 AND handle_code = 0 AND trigger_msg LIKE '<!--sw:p:%'",
        low, high);
    if (!e && planned > 0)
        e = err_set(ec, ERR_CONFLICT,
                    "%" PRId64 " planned fires have not ended yet, and no node would find them in another zone: start "
                    "a node with zone %s, stop it when `shardwheelctl shards` shows none as PLANNED or "
                    "OPEN_BEFORE, and try again; or use --force to leave them behind",
                    planned, recorded);
    return e;
}

enum err store_set_zone(struct store_session *s, enum cluster_zone which, const char *name, bool force,
                        char before[ZONE_NAME_MAX], struct errctx *ec)
{
    struct cluster_zones zones = {0};
    const char *recorded = which == CLUSTER_ZONE_DATABASE ? zones.database : zones.cron;
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = lock_names(s, &zones, ec);
    if (!e)
        e = store_check_nobody_lives(s, ec);
    if (!e && !force && which == CLUSTER_ZONE_DATABASE && recorded[0])
        e = check_nothing_planned(s, recorded, ec);
    if (!e)
        e = write_name(s, which, name, ec);
    e = store_finish_txn(s, e, ec);
    if (!e)
        snprintf(before, ZONE_NAME_MAX, "%s", recorded);
    return e;
}
