/* SPDX-License-Identifier: MIT */
#include "shardwheel/store/replication.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "store/conn/session.h"

#define NEVER_MS (INT64_C(24) * 60 * 60 * 1000)

/* ---- what the server says ---------------------------------------------------------------------------------------- */

static bool is_on(const char *value)
{
    return !strcasecmp(value, "ON") || !strcmp(value, "1");
}

/* What follows rpl_semi_sync_master_ or, in MySQL since 8.0.26, rpl_semi_sync_source_; NULL for another name. */
static const char *semi_sync_part(struct replication *r, const char *name)
{
    static const char master[] = "rpl_semi_sync_master_", source[] = "rpl_semi_sync_source_";

    if (!strncasecmp(name, source, strlen(source))) {
        r->source_names = true;
        return name + strlen(source);
    }
    return !strncasecmp(name, master, strlen(master)) ? name + strlen(master) : NULL;
}

/* Beyond INT64_MAX (MariaDB takes 64 bits without a sign) is that, too. */
static int64_t take_number(const char *value)
{
    return (int64_t)strtoll(value, NULL, 10);
}

static void note_semi_sync(struct replication *r, const char *part, const char *value)
{
    if (!strcasecmp(part, "enabled"))
        r->semi_sync = is_on(value);
    else if (!strcasecmp(part, "timeout"))
        r->timeout_ms = take_number(value);
    else if (!strcasecmp(part, "wait_no_slave") || !strcasecmp(part, "wait_no_replica"))
        r->is_hasty = !is_on(value);
    else if (!strcasecmp(part, "wait_point"))
        r->is_seen_before = !strcasecmp(value, "AFTER_COMMIT");
    else if (!strcasecmp(part, "status"))
        r->is_confirming = is_on(value);
    else if (!strcasecmp(part, "clients"))
        r->replicas = take_number(value);
}

void replication_note(struct replication *r, const char *name, const char *value)
{
    const char *part = semi_sync_part(r, name);

    if (part)
        note_semi_sync(r, part, value);
    else if (!strcasecmp(name, "group_replication_group_name"))
        r->group = value[0] != '\0';
    else if (!strcasecmp(name, "group_replication_single_primary_mode"))
        r->several_primaries = !is_on(value);
    else if (!strcasecmp(name, "group_replication_consistency"))
        snprintf(r->consistency, sizeof r->consistency, "%s", value);
}

static enum err note_all(struct store_session *s, const char *statement, struct replication *r, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e = store_query(s, &rows, ec, "?", sql_word(statement));

    while (!e && db_rows_next(rows))
        replication_note(r, db_text_or_empty(rows, 0), db_text_or_empty(rows, 1));
    db_rows_destroy(rows);
    return e;
}

enum err store_load_replication(struct store_session *s, struct replication *out, struct errctx *ec)
{
    struct replication r = {0};
    enum err e = note_all(s,
                          "SHOW GLOBAL VARIABLES WHERE Variable_name LIKE 'rpl\\_semi\\_sync\\_%' OR Variable_name IN "
                          "('group_replication_group_name', 'group_replication_single_primary_mode', "
                          "'group_replication_consistency')",
                          &r, ec);

    if (!e)
        e = note_all(s, "SHOW GLOBAL STATUS LIKE 'Rpl\\_semi\\_sync\\_%'", &r, ec);
    if (e)
        return err_wrap(ec, e, "ask how commits get to replicas");
    *out = r;
    return ERR_OK;
}

/* ---- what it means ----------------------------------------------------------------------------------------------- */

bool replication_waits(const struct replication *r)
{
    return r->semi_sync && !r->is_hasty && r->timeout_ms >= NEVER_MS;
}

static void put_time(const struct replication *r, struct replication_risk *out)
{
    const char *word = r->source_names ? "source" : "master", *none = r->source_names ? "replica" : "slave";
    int at = 0;

    out->code = "commits_replicas_time";
    if (r->timeout_ms < NEVER_MS)
        at = snprintf(out->settings, sizeof out->settings, "rpl_semi_sync_%s_timeout=%lld", word,
                      (long long)r->timeout_ms);
    if (r->is_hasty)
        snprintf(out->settings + at, sizeof out->settings - (size_t)at, "%srpl_semi_sync_%s_wait_no_%s=OFF",
                 at ? " " : "", word, none);
    out->what = "commits continue without a replica if none confirms in time: a failover then loses the newest "
                "commits, and their fires may be sent again";
    out->change = r->source_names ? "Set rpl_semi_sync_source_timeout = 4294967295 and "
                                    "rpl_semi_sync_source_wait_no_replica = ON, on both servers."
                                  : "Set rpl_semi_sync_master_timeout to a day or more (4294967295), and "
                                    "rpl_semi_sync_master_wait_no_slave = ON, on both servers.";
}

static void put_seen(const struct replication *r, struct replication_risk *out)
{
    out->code = "commits_replicas_seen";
    snprintf(out->settings, sizeof out->settings, "rpl_semi_sync_%s_wait_point=AFTER_COMMIT",
             r->source_names ? "source" : "master");
    out->what = "a commit is visible before a replica has it: a failover may lose a commit that nodes have already "
                "read, and its fires may be sent again";
    out->change = r->source_names ? "Set rpl_semi_sync_source_wait_point = AFTER_SYNC, on both servers."
                                  : "Set rpl_semi_sync_master_wait_point = AFTER_SYNC, on both servers.";
}

static void put_group(const struct replication *r, struct replication_risk *out)
{
    if (r->several_primaries) {
        out->code = "group_primaries";
        snprintf(out->settings, sizeof out->settings, "group_replication_single_primary_mode=OFF");
        out->what = "every member of the group accepts writes, but row locks are valid on one member only: if nodes "
                    "use several members, fires may be sent twice";
        out->change = "Switch the group to a single primary: SELECT group_replication_switch_to_single_primary_mode().";
        return;
    }
    out->code = "group_consistency";
    snprintf(out->settings, sizeof out->settings, "group_replication_consistency=%s",
             r->consistency[0] ? r->consistency : "(not known to this server)");
    out->what = "a new primary of the group answers before it has applied all commits of the old one: their fires may "
                "be sent again";
    out->change = "Set group_replication_consistency = BEFORE_ON_PRIMARY_FAILOVER, on all members (MySQL 8.0.14).";
}

static bool is_group_late(const struct replication *r)
{
    return r->group && (r->several_primaries || !r->consistency[0] || !strcasecmp(r->consistency, "EVENTUAL"));
}

size_t replication_find_risks(const struct replication *r, struct replication_risk out[REPLICATION_RISKS_MAX])
{
    size_t count = 0;

    memset(out, 0, REPLICATION_RISKS_MAX * sizeof *out);
    if (r->semi_sync && !replication_waits(r))
        put_time(r, &out[count++]);
    if (r->semi_sync && r->is_seen_before)
        put_seen(r, &out[count++]);
    if (is_group_late(r))
        put_group(r, &out[count++]);
    return count;
}
