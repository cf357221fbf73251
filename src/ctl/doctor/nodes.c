/* SPDX-License-Identifier: MIT */
/* Nodes, shards, and Java admins beside them, as the database tells. */
#include "ctl/doctor/check.h"

#include "shardwheel/admin/cluster.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAG_NOTED_S 5
#define LAG_FAR_S 60
#define AHEAD_NOTED_S 5
#define NOTE_OLD_MS (10 * 60 * 1000) /* a takeover's note is settled within minutes */
#define WISH_OLD_S 60
#define JUST_STARTED_MS 30000

const struct node_row *doctor_next_live(const struct doctor *d, const struct node_row *after)
{
    for (size_t i = after ? (size_t)(after - d->nodes) + 1 : 0; i < d->node_count; i++) {
        if (!node_is_silent(&d->nodes[i], d->now_ms))
            return &d->nodes[i];
    }
    return NULL;
}

size_t doctor_count_live(const struct doctor *d)
{
    size_t n = 0;

    for (const struct node_row *node = NULL; (node = doctor_next_live(d, node)) != NULL;)
        n++;
    return n;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static void tell_versions(struct doctor *d)
{
    struct words versions = {0};
    bool differ = false, ours = true;
    const char *first = NULL;

    for (const struct node_row *node = NULL; (node = doctor_next_live(d, node)) != NULL;) {
        char text[220];

        first = first ? first : node->version;
        differ = differ || strcmp(first, node->version) != 0;
        ours = ours && !strcmp(node->version, SHARDWHEEL_VERSION);
        snprintf(text, sizeof text, "%s of %.40s", node->version, node->node);
        words_add(&versions, text);
    }
    if (differ)
        doctor_tell(d, DOCTOR_WARNING, "versions_differ", NULL,
                    "Finish the upgrade; two neighboring releases work together until then.",
                    "Nodes of several releases run: %s.", words_end(&versions));
    else if (first && !ours)
        doctor_tell(d, DOCTOR_NOTE, "version_here", NULL, NULL, "The nodes are of release %s, this program of %s.",
                    first, SHARDWHEEL_VERSION);
}

static bool is_name_live(const struct doctor *d, const char *name)
{
    for (const struct node_row *node = NULL; (node = doctor_next_live(d, node)) != NULL;) {
        if (!strcmp(node->node, name))
            return true;
    }
    return false;
}

/* One that was killed and runs again has two rows for a while. */
static void tell_silent(struct doctor *d, const struct node_row *node)
{
    struct place_text where = place_of("node", node->node);
    struct span_text since = span_of_s((d->now_ms - node->beat_ms) / 1000);

    if (is_name_live(d, node->node))
        doctor_tell(d, DOCTOR_NOTE, "node_killed", where.text, NULL, "It ended unexpectedly %s ago, and runs again.",
                    since.text);
    else
        doctor_tell(d, DOCTOR_WARNING, "node_silent", where.text,
                    "Check whether it was killed or suspended, or cannot reach the database. Its row is removed 10 "
                    "minutes after its last heartbeat.",
                    "No heartbeat for %s.", since.text);
}

static enum err check_nodes(struct doctor *d, struct errctx *ec)
{
    size_t live = doctor_count_live(d), drained = 0;
    (void)ec;

    if (!live)
        doctor_tell(d, DOCTOR_CRITICAL, "node_none", NULL, "Start one.", "No node is live: no job runs.%s",
                    d->node_count ? "" : " No row says that a node has failed.");
    for (size_t i = 0; i < d->node_count; i++) {
        const struct node_row *node = &d->nodes[i];
        bool silent = node_is_silent(node, d->now_ms);

        if (silent && live)
            tell_silent(d, node);
        drained += !silent && node->drain;
        if (!silent && node->drain)
            doctor_tell(d, DOCTOR_NOTE, "node_drained", place_of("node", node->node).text, NULL,
                        "It is drained, and owns %d shards: shardwheelctl undrain ends this.", node->owned);
    }
    if (live && drained == live)
        doctor_tell(d, DOCTOR_CRITICAL, "node_all_drained", NULL, "shardwheelctl undrain NODE",
                    "All nodes are drained: no job runs.");
    if (live > 1 && d->config->coordination == CONFIG_COORDINATION_STANDALONE)
        doctor_tell(d, DOCTOR_CRITICAL, "node_standalone", NULL,
                    "Give all nodes the same shardwheel.zookeeper.servers, or stop all but one.",
                    "This configuration is for a standalone node, but %zu nodes use this database: they take the "
                    "shards from each other, again and again.",
                    live);
    tell_versions(d);
    return ERR_OK;
}

/* ---- shards ------------------------------------------------------------------------------------------------------ */

/* A cluster that has just started is still taking its shards. */
static bool has_just_started(const struct doctor *d)
{
    int64_t oldest_ms = d->now_ms;

    for (const struct node_row *node = NULL; (node = doctor_next_live(d, node)) != NULL;) {
        if (node->started_ms < oldest_ms)
            oldest_ms = node->started_ms;
    }
    return d->now_ms - oldest_ms < JUST_STARTED_MS;
}

static void tell_shards(struct doctor *d)
{
    struct words unowned = {0}, behind = {0}, ahead = {0};
    int64_t furthest_s = 0;

    for (size_t i = 0; i < d->status.count; i++) {
        const struct shard_view *row = &d->status.rows[i];
        int64_t lag_s = d->status.now_ms / 1000 - row->cursor_s;
        char name[20];

        snprintf(name, sizeof name, "%d", row->shard);
        if (!is_name_live(d, row->owner))
            words_add(&unowned, name);
        else if (row->cursor_s && lag_s > LAG_NOTED_S)
            words_add(&behind, name);
        if (row->cursor_s && lag_s < -AHEAD_NOTED_S)
            words_add(&ahead, name);
        furthest_s = row->cursor_s && lag_s > furthest_s ? lag_s : furthest_s;
    }
    if (unowned.count)
        doctor_tell(d, has_just_started(d) ? DOCTOR_WARNING : DOCTOR_CRITICAL, "shard_unowned", NULL,
                    "Check the logs of the nodes (area=coord), and whether all nodes can reach ZooKeeper.",
                    "No live node owns these shards, so their jobs do not run: %s.", words_end(&unowned));
    if (behind.count)
        doctor_tell(d, furthest_s > LAG_FAR_S ? DOCTOR_CRITICAL : DOCTOR_WARNING, "shard_behind", NULL,
                    "See docs/operations.md: the database is too slow, or does not accept writes.",
                    "These shards fire up to %s late: %s.", span_of_s(furthest_s).text, words_end(&behind));
    if (ahead.count)
        doctor_tell(d, DOCTOR_WARNING, "shard_ahead", NULL,
                    "Use NTP on all nodes. The finding ends when this time has come.",
                    "The cursors of these shards are in the future, because a clock was ahead. Until then they send "
                    "nothing: %s.",
                    words_end(&ahead));
}

static enum err check_shards(struct doctor *d, struct errctx *ec)
{
    int64_t old = 0;
    enum err e;

    if (!doctor_count_live(d))
        return ERR_OK; /* that nothing fires was told */
    tell_shards(d);
    if (d->status.wish.shards && d->status.now_ms / 1000 - d->status.wish.last_s > WISH_OLD_S)
        doctor_tell(d, DOCTOR_WARNING, "reshard_waits", NULL,
                    "Run shardwheelctl reshard cancel, then check the shards.", "A change to %d shards is late by %s.",
                    d->status.wish.shards, span_of_s(d->status.now_ms / 1000 - d->status.wish.last_s).text);
    if (d->config->shards != d->status.shards && d->status.shards)
        doctor_tell(d, DOCTOR_NOTE, "shards_differ", NULL, NULL,
                    "shardwheel.shards is %" PRId64
                    " in this configuration; the cluster uses %d, and so will a node with this configuration.",
                    d->config->shards, d->status.shards);
    e = doctor_look_number(d, &old, ec, "SELECT COUNT(*) FROM shardwheel_takeover WHERE taken_ms < %" PRId64,
                           d->now_ms - NOTE_OLD_MS);
    if (!e && old)
        doctor_tell(
            d, DOCTOR_WARNING, "takeover_unsettled", NULL,
            "Look for event=delivery_unknown and errors of area=schedule in the logs of the owners.",
            "%" PRId64
            " takeovers of more than 10 minutes ago are not finished: fires that were in progress are still open.",
            old);
    return e;
}

/* ---- Java admins ------------------------------------------------------------------------------------------------- */

#define JAVA_ROWS                                                                                                      \
    "SELECT COUNT(*) FROM (SELECT trigger_time AS t, trigger_msg AS m FROM xxl_job_log ORDER BY id DESC LIMIT 3000) "  \
    "l "                                                                                                               \
    "WHERE t BETWEEN UTC_TIMESTAMP() + INTERVAL %" PRId64 " SECOND - INTERVAL 10 MINUTE AND UTC_TIMESTAMP() + "        \
    "INTERVAL %" PRId64 " SECOND AND COALESCE(m, '') NOT LIKE '<!--sw:%%'"

static enum err look_for_java(struct doctor *d, bool held, struct errctx *ec)
{
    int64_t waiting = 0, rows = 0, offset_s = zone_offset_s(store_get_zone(d->store), d->now_ms / 1000);
    enum err e = doctor_look_number(d, &waiting, ec,
                                    "SELECT COUNT(*) FROM information_schema.processlist WHERE id <> "
                                    "CONNECTION_ID() AND info LIKE '%%xxl_job_lock%%for update%%'");

    if (!e)
        e = doctor_look_number(d, &rows, ec, JAVA_ROWS, offset_s, offset_s);
    if (e)
        return e;
    if (rows)
        doctor_tell(d, held ? DOCTOR_NOTE : DOCTOR_CRITICAL, "java_fires", NULL,
                    held ? NULL : "Stop the Java admins, or set shardwheel.java-guard=auto on every node.",
                    "A Java admin wrote %" PRId64 " of the newest log rows within 10 minutes%s.", rows,
                    held ? "; while the guard is held, these are manual runs, retries or child jobs"
                         : ", and nothing prevents it from planning the jobs of the nodes: they fire twice");
    if (waiting)
        doctor_tell(d, held ? DOCTOR_NOTE : DOCTOR_CRITICAL, "java_waits", NULL,
                    held ? NULL : "Stop the Java admins, or set shardwheel.java-guard=auto on every node.",
                    "%" PRId64 " Java admins ask for the lock to plan%s.", waiting,
                    held ? ", and are on standby" : ", and nothing prevents it: jobs fire twice");
    return ERR_OK;
}

static enum err check_guard(struct doctor *d, struct errctx *ec)
{
    int64_t held = 0;
    enum err e = doctor_look_number(d, &held, ec,
                                    "SELECT COUNT(*) FROM shardwheel_guard WHERE connection > 0 AND "
                                    "IS_USED_LOCK(CONCAT('sw_guard_', incarnation, '_', connection)) = connection");

    if (e)
        return e;
    if (!held && doctor_count_live(d) && d->config->java_guard)
        doctor_tell(d, has_just_started(d) ? DOCTOR_WARNING : DOCTOR_CRITICAL, "guard_missing", NULL,
                    "Find out who locks the row schedule_lock of xxl_job_lock, or ends the sessions of the nodes.",
                    "No node keeps Java admins on standby, so nothing new is planned.");
    if (!d->config->java_guard)
        doctor_tell(d, DOCTOR_NOTE, "guard_off", NULL, NULL,
                    "shardwheel.java-guard is off in this configuration: no Java admin may use this database.");
    return look_for_java(d, held > 0, ec);
}

const struct doctor_check doctor_node_checks[] = {
    {"nodes", "All nodes are live and of this release.",
     (const char *const[]){"node_none", "node_silent", "node_killed", "node_drained", "node_all_drained",
                           "node_standalone", "versions_differ", "version_here", NULL},
     DOCTOR_TABLES, check_nodes},
    {"shards", "Every shard has an owner and is on time.",
     (const char *const[]){"shard_unowned", "shard_behind", "shard_ahead", "reshard_waits", "shards_differ",
                           "takeover_unsettled", NULL},
     DOCTOR_TABLES, check_shards},
    {"guard", "Java admins are on standby.",
     (const char *const[]){"guard_missing", "guard_off", "java_fires", "java_waits", NULL}, DOCTOR_TABLES, check_guard},
    {0},
};
