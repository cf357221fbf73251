/* SPDX-License-Identifier: MIT */
/* Clocks and zones. */
#include "ctl/doctor/check.h"
#include "ctl/parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLOCK_NOTED_MS 1000 /* a node logs event=clock_differs beyond it */
#define CLOCK_FAR_MS 5000   /* as far as fires are planned ahead */
#define YEAR_S (INT64_C(366) * 86400)
#define AHEAD_MIN 15  /* minutes: no row is written for a time so far ahead */
#define AHEAD_MAX 900 /* ... and no two zones are further apart */

/* ---- clocks ------------------------------------------------------------------------------------------------------ */

/* How far this machine's clock is ahead: the answer was read somewhere between the two looks at it. */
static enum err measure_here(struct doctor *d, int64_t *ahead_ms, int64_t *doubt_ms, struct errctx *ec)
{
    int64_t before = clock_wall_ms(d->clock), now_ms = 0;
    enum err e = store_load_wall_ms(d->session, &now_ms, ec);

    *doubt_ms = (clock_wall_ms(d->clock) - before) / 2;
    *ahead_ms = before + *doubt_ms - now_ms;
    return e;
}

static void tell_node(struct doctor *d, const struct node_row *node)
{
    if (llabs(node->clock_ms) <= CLOCK_NOTED_MS)
        return;
    doctor_tell(d, llabs(node->clock_ms) > CLOCK_FAR_MS ? DOCTOR_CRITICAL : DOCTOR_WARNING, "clock_node",
                place_of("node", node->node).text,
                "Use NTP (chrony, systemd-timesyncd) on the machines of the node and of the database.",
                "Its clock is %.1f s %s the database's: its fires are early or late by this time.",
                (double)llabs(node->clock_ms) / 1000.0, node->clock_ms > 0 ? "ahead of" : "behind");
}

static enum err check_clocks(struct doctor *d, struct errctx *ec)
{
    int64_t ahead_ms = 0, doubt_ms = 0;
    enum err e = measure_here(d, &ahead_ms, &doubt_ms, ec);

    if (e)
        return e;
    if (llabs(ahead_ms) > CLOCK_NOTED_MS + doubt_ms)
        doctor_tell(d, DOCTOR_NOTE, "clock_here", NULL, NULL,
                    "The clock of this machine is %.1f s %s the database's. This is important if a node runs here.",
                    (double)llabs(ahead_ms) / 1000.0, ahead_ms > 0 ? "ahead of" : "behind");
    for (const struct node_row *node = NULL; (node = doctor_next_live(d, node)) != NULL;)
        tell_node(d, node);
    return ERR_OK;
}

/* ---- zones ------------------------------------------------------------------------------------------------------- */

static bool is_same(const struct zone *a, const struct zone *b, int64_t now_s)
{
    return zone_is_same(a, b, now_s - YEAR_S, now_s + 20 * YEAR_S);
}

/* This machine's zone against that on record: a node with these settings would be refused. */
static enum err compare(struct doctor *d, const struct zone *own, const char *recorded, const char *code,
                        const char *what, const char *setting, struct errctx *ec)
{
    struct zone *zone = NULL;
    enum err e;

    if (!recorded[0])
        return ERR_OK;
    e = zone_load(recorded, &zone, ec);
    if (!e && !is_same(own, zone, d->now_ms / 1000)) {
        char change[300];

        snprintf(change, sizeof change,
                 "Set %s (or TZ in the environment) to %s. If the cluster's zone is wrong: `shardwheelctl set-zone`.",
                 setting, recorded);
        doctor_tell(d, DOCTOR_CRITICAL, code, NULL, change,
                    "This configuration reads %s in %s, the cluster in %s: a node with it does not start.", what,
                    zone_get_name(own), recorded);
    }
    zone_destroy(zone);
    return e;
}

static enum err compare_zones(struct doctor *d, struct errctx *ec)
{
    struct cluster_zones zones;
    struct zone *cron = NULL;
    enum err e = store_read_zones(d->session, &zones, ec);

    if (!e)
        e = ctl_choose_zone("", d->config, &cron, ec);
    if (!e)
        e = compare(d, store_get_zone(d->store), zones.database, "zone_database", "DATETIME columns",
                    "serverTimezone of spring.datasource.url", ec);
    if (!e)
        e = compare(d, cron, zones.cron, "zone_cron", "cron expressions", "shardwheel.time-zone", ec);
    zone_destroy(cron);
    return e;
}

/* The server's own zone counts for clients that name none: old JDBC drivers, scripts with NOW(). */
static enum err compare_server(struct doctor *d, struct errctx *ec)
{
    struct db_rows *look = NULL;
    enum err e = doctor_look(
        d, &look, ec,
        "SELECT IF(@@global.time_zone = 'SYSTEM', @@system_time_zone, @@global.time_zone), "
        "TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', @@global.time_zone))");
    int64_t own_s = zone_offset_s(store_get_zone(d->store), d->now_ms / 1000);

    /* NULL: the server has no tables of zones, and its own is a name. */
    if (!e && db_rows_next(look) && db_text(look, 1) && db_int(look, 1) != own_s)
        doctor_tell(d, DOCTOR_NOTE, "zone_server", NULL, NULL,
                    "The server's time zone is %s, DATETIME columns are in %s. Java admins and scripts must set that "
                    "zone (serverTimezone); otherwise their times are wrong.",
                    db_text_or_empty(look, 0), zone_get_name(store_get_zone(d->store)));
    db_rows_destroy(look);
    return e;
}

/* Rows of a time that has not come were written by somebody in another zone, hours to the east. */
static enum err find_ahead(struct doctor *d, const char *table, const char *column, const char *who, struct errctx *ec)
{
    int64_t minutes = 0, offset_s = zone_offset_s(store_get_zone(d->store), d->now_ms / 1000);
    char where[60];
    enum err e =
        doctor_look_number(d, &minutes, ec,
                           "SELECT MAX(m) FROM (SELECT TIMESTAMPDIFF(MINUTE, UTC_TIMESTAMP() + INTERVAL %" PRId64
                           " SECOND, %s) AS m FROM %s ORDER BY id DESC LIMIT 2000) t WHERE m BETWEEN %d AND %d",
                           offset_s, column, table, AHEAD_MIN, AHEAD_MAX);

    snprintf(where, sizeof where, "%s.%s", table, column);
    if (!e && minutes)
        doctor_tell(
            d, DOCTOR_WARNING, "zone_rows", where,
            "Set the serverTimezone of the cluster (shardwheel_cluster.zone_database) in all admins, and use NTP.",
            "Rows are up to %s in the future: %s with another time zone, or with a wrong clock.",
            span_of_s(minutes * 60).text, who);
    return e;
}

static enum err check_zones(struct doctor *d, struct errctx *ec)
{
    const struct jdbc_url *url = d->config->datasource;
    size_t before = d->report.count;
    enum err e = compare_zones(d, ec);

    if (!e && d->report.count == before) /* in a wrong zone all else would look wrong */
        e = compare_server(d, ec);
    if (!e && url && !url->time_zone)
        doctor_tell(d, DOCTOR_NOTE, "zone_unnamed", NULL, NULL,
                    "spring.datasource.url sets no serverTimezone: DATETIME columns are in the time zone of each "
                    "process, here %s.",
                    zone_get_name(store_get_zone(d->store)));
    if (!e)
        e = find_ahead(d, "xxl_job_registry", "update_time", "an admin writes heartbeats", ec);
    return e ? e : find_ahead(d, "xxl_job_log", "trigger_time", "an admin plans or fires", ec);
}

const struct doctor_check doctor_clock_checks[] = {
    {"clocks", "The clocks of the nodes and of the database differ by less than a second.",
     (const char *const[]){"clock_node", "clock_here", NULL}, DOCTOR_TABLES, check_clocks},
    {"zones", "All use the same time zone.",
     (const char *const[]){"zone_database", "zone_cron", "zone_server", "zone_rows", "zone_unnamed", NULL},
     DOCTOR_TABLES, check_zones},
    {0},
};
