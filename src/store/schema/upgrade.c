/* SPDX-License-Identifier: MIT */
#include "store/schema/upgrade.h"

#include <stdio.h>

/* ALTER TABLE waits for transactions that use the table, and whoever comes later waits behind it: not for long. */
#define TABLE_WAIT_S "3"

/* Tables of ours and the version that brought them. They are made by sql/shardwheel.sql, whole. */
static const struct {
    int version;
    const char *name;
} tables[] = {
    {1, "shardwheel_cluster"},      {1, "shardwheel_shard"},     {1, "shardwheel_cursor"},
    {1, "shardwheel_node"},         {1, "shardwheel_guard"},     {1, "shardwheel_reshard"},
    {1, "shardwheel_takeover"},     {2, "shardwheel_schema"},    {2, "shardwheel_beats"},
    {2, "shardwheel_job"},          {2, "shardwheel_later"},     {2, "shardwheel_alarm"},
    {2, "shardwheel_audit"},        {2, "shardwheel_role"},      {2, "shardwheel_session"},
    {2, "shardwheel_token"},        {2, "shardwheel_login"},     {2, "shardwheel_minute"},
    {2, "shardwheel_event"},        {2, "shardwheel_removed"},   {2, "shardwheel_channel"},
    {2, "shardwheel_told"},         {2, "shardwheel_primary"},   {3, "shardwheel_flow"},
    {3, "shardwheel_flow_version"}, {3, "shardwheel_flow_run"},  {3, "shardwheel_flow_step"},
    {3, "shardwheel_flow_item"},    {3, "shardwheel_flow_fire"}, {3, "shardwheel_flow_request"},
    {3, "shardwheel_flow_alarm"},   {3, "shardwheel_outside"},   {3, "shardwheel_kept_log"},
    {3, "shardwheel_view"},         {3, "shardwheel_password"},  {3, "shardwheel_rule"},
    {3, "shardwheel_watch"},        {3, "shardwheel_held"},      {3, "shardwheel_factor"},
    {3, "shardwheel_recovery"},     {3, "shardwheel_hook"},      {3, "shardwheel_delivery"},
};

/* Columns that came later, in the order in which they are added at the end of their table. sql/shardwheel.sql has the
 * same ones, with the same definitions, for new databases. */
static const struct {
    int version;
    const char *table;
    const char *column;
    const char *definition;
} columns[] = {
    {2, "shardwheel_cluster", "zone_database",
     "VARCHAR(80) NULL COMMENT 'zone of DATETIME columns, the same on all nodes; NULL: the next start fills it'"},
    {2, "shardwheel_cluster", "zone_cron", "VARCHAR(80) NULL COMMENT 'zone of cron expressions, likewise'"},
    {2, "shardwheel_shard", "claims",
     "BIGINT NOT NULL DEFAULT 0 COMMENT 'raised by each claim where several servers take writes (Galera)'"},
    {3, "shardwheel_job", "kept_logs",
     "TINYINT NULL COMMENT 'whose logs are kept: 0 none, 1 failed runs, 2 all; NULL: as shardwheel.kept-logs says'"},
    {3, "shardwheel_node", "flows", "TINYINT NOT NULL DEFAULT 0 COMMENT '1: it knows flows'"},
    {3, "shardwheel_channel", "tags",
     "VARCHAR(2000) NOT NULL DEFAULT '' COMMENT 'of jobs, between commas; empty: all'"},
    {3, "shardwheel_channel", "quiet",
     "VARCHAR(100) NOT NULL DEFAULT '' COMMENT 'quiet hours: HH:MM-HH:MM/ZONE; empty: none'"},
    {3, "shardwheel_job", "success_within_s",
     "INT NULL COMMENT 'people are told when it has had no success for so long'"},
    {3, "shardwheel_job", "longest_run_s",
     "INT NULL COMMENT 'and when a run takes longer; 0: three times what 95 % of its last 30 runs took'"},
    {3, "shardwheel_job", "done_by",
     "VARCHAR(5) NULL COMMENT 'and when it has had no success of the day by then: HH:MM in its zone'"},
    {3, "shardwheel_session", "factor_ms", "BIGINT NULL COMMENT 'when the second factor was shown; NULL: it was not'"},
};

enum err upgrade_check_version(int found, int own, struct errctx *ec)
{
    if (found == 0 || (found >= own - 1 && found <= own + 1))
        return ERR_OK;
    if (found > own)
        return err_set(ec, ERR_STATE,
                       "the tables of shardwheel in this database have version %d, and this release supports versions "
                       "up to %d: you can go back by one release only; use one that supports version %d",
                       found, own + 1, found);
    return err_set(
        ec, ERR_STATE,
        "the tables of shardwheel in this database have version %d, and this release supports versions from %d on: "
        "upgrade by one release at a time; first run `shardwheel install-schema` of the release between",
        found, own - 1);
}

bool upgrade_is_installed(const struct schema_facts *facts)
{
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        if (tables[i].version == 1 && !schema_has_table(facts, tables[i].name))
            return false;
    return true;
}

bool upgrade_is_complete(const struct schema_facts *facts)
{
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        if (!schema_has_table(facts, tables[i].name))
            return false;
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        if (!schema_has_column(facts, columns[i].table, columns[i].column))
            return false;
    return facts->own_version >= OWN_VERSION;
}

static enum err add_column(struct store_session *s, size_t i, struct errctx *ec)
{
    enum err e = store_exec(s, NULL, ec, "SET SESSION lock_wait_timeout = " TABLE_WAIT_S);

    if (e)
        return e;
    /* The three words are of the table above, no input. */
    store_sql(s, "ALTER TABLE ? ADD COLUMN ? ?", sql_word(columns[i].table), sql_word(columns[i].column),
              sql_word(columns[i].definition));
    e = store_write_sql(s, NULL, ec);
    return e ? err_wrap(ec, e, "add column %s.%s", columns[i].table, columns[i].column) : ERR_OK;
}

static enum err write_version(struct store_session *s, struct errctx *ec)
{
    store_sql(s,
              "INSERT INTO shardwheel_schema (id, version) VALUES (1, ?) ON DUPLICATE KEY UPDATE version = "
              "GREATEST(version, ?)",
              OWN_VERSION, OWN_VERSION);

    return store_write_sql(s, NULL, ec);
}

enum err upgrade_run(struct store_session *s, const struct schema_facts *before,
                     void (*report)(void *arg, const char *what), void *arg, struct errctx *ec)
{
    char line[160];
    enum err e = ERR_OK;

    for (size_t i = 0; !e && i < ARRAY_LEN(columns); i++) {
        if (!schema_has_table(before, columns[i].table) ||
            schema_has_column(before, columns[i].table, columns[i].column))
            continue;
        e = add_column(s, i, ec);
        snprintf(line, sizeof line, "added column %s.%s", columns[i].table, columns[i].column);
        if (!e && report)
            report(arg, line);
    }
    return e ? e : write_version(s, ec);
}
