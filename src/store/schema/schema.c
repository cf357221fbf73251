/* SPDX-License-Identifier: MIT */
/* Features of a database, from information_schema. Real databases are hybrids of versions, so each is looked at by
 * itself. */
#include "store/schema/schema.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "store/schema/upgrade.h"

/* What this program reads or writes; columns with two names are looked at apart. */
static const struct {
    const char *table;
    const char *columns[18];
} required[] = {
    {"xxl_job_info",
     {"id", "job_group", "schedule_type", "schedule_conf", "misfire_strategy", "executor_route_strategy",
      "executor_handler", "executor_param", "executor_block_strategy", "executor_timeout", "executor_fail_retry_count",
      "glue_type", "glue_source", "glue_updatetime", "trigger_status", "trigger_last_time", "trigger_next_time"}},
    {"xxl_job_log",
     {"id", "job_group", "job_id", "executor_address", "executor_handler", "executor_param", "executor_sharding_param",
      "executor_fail_retry_count", "trigger_time", "trigger_code", "trigger_msg", "handle_time", "handle_code",
      "handle_msg", "alarm_status"}},
    {"xxl_job_group", {"id", "app_name", "address_type", "address_list", "update_time"}},
    {"xxl_job_registry", {"id", "registry_group", "registry_key", "registry_value", "update_time"}},
    {"xxl_job_lock", {"lock_name"}},
    {"xxl_job_user", {"id", "username", "password", "role"}},
    {"xxl_job_log_report", {"id"}},
    {"xxl_job_logglue", {"id"}},
};

/* ---- facts ------------------------------------------------------------------------------------------------- */

#define OF_THIS_DATABASE                                                                                               \
    " WHERE table_schema = DATABASE() AND (table_name LIKE 'xxl\\_job\\_%' OR table_name LIKE 'shardwheel\\_%')"

/* Tables without a version are those of the first release. A version that is not on record beside its table: somebody
 * was installing, and has not come to the end. */
static enum err load_own_version(struct store_session *s, struct schema_facts *facts, struct errctx *ec)
{
    int64_t version = 0;
    enum err e;

    if (!schema_has_table(facts, "shardwheel_schema")) {
        facts->own_version = upgrade_is_installed(facts) ? 1 : 0;
        return ERR_OK;
    }
    e = store_number(s, 0, &version, ec, "SELECT version FROM shardwheel_schema WHERE id = 1");
    facts->own_version = (int)version;
    return e;
}

enum err schema_load_facts(struct store_session *s, struct schema_facts *out, struct errctx *ec)
{
    struct schema_facts facts = {0};
    enum err e = store_query(s, &facts.columns, ec,
                             "SELECT table_name, column_name, data_type, character_maximum_length FROM "
                             "information_schema.columns" OF_THIS_DATABASE);

    if (!e)
        e = store_query(s, &facts.indexes, ec,
                        "SELECT table_name, index_name, seq_in_index, column_name, non_unique FROM "
                        "information_schema.statistics" OF_THIS_DATABASE
                        " ORDER BY table_name, index_name, seq_in_index");
    if (!e)
        e = store_query(s, &facts.tables, ec,
                        "SELECT table_name, engine FROM information_schema.tables" OF_THIS_DATABASE);
    if (!e)
        e = load_own_version(s, &facts, ec);
    if (e) {
        schema_facts_fini(&facts);
        return err_wrap(ec, e, "read the schema");
    }
    *out = facts;
    return ERR_OK;
}

void schema_facts_fini(struct schema_facts *facts)
{
    db_rows_destroy(facts->columns);
    db_rows_destroy(facts->indexes);
    db_rows_destroy(facts->tables);
    *facts = (struct schema_facts){0};
}

static int column_len(const struct schema_facts *facts, const char *table, const char *column)
{
    if (!schema_find_row(facts->columns, table, column))
        return 0;
    int64_t len = db_int(facts->columns, 3);
    return len > INT32_MAX ? INT32_MAX : (int)len;
}

bool schema_has_any_table(const struct schema_facts *facts)
{
    for (size_t i = 0; i < ARRAY_LEN(required); i++)
        if (schema_has_table(facts, required[i].table))
            return true;
    return false;
}

bool schema_has_all_tables(const struct schema_facts *facts)
{
    for (size_t i = 0; i < ARRAY_LEN(required); i++)
        if (!schema_has_table(facts, required[i].table))
            return false;
    return true;
}

enum index_kind {
    INDEX_BEGINS, /* with the columns */
    INDEX_IS,     /* over the columns and no other, with a name that may stand in a statement */
    INDEX_UNIQUE, /* that, whatever its name */
};

static bool is_plain_name(const char *name)
{
    size_t len = strspn(name, ASCII_LETTERS ASCII_DIGITS "_");

    return len > 0 && len < INDEX_NAME_MAX && name[len] == '\0';
}

/* The name of an index of the table; NULL: there is none. `columns` end with NULL. */
static const char *find_index(const struct schema_facts *facts, const char *table, const char *const *columns,
                              enum index_kind kind)
{
    struct db_rows *rows = facts->indexes;
    const char *name = NULL;
    size_t parts = 0, matched = 0, len = 0;

    while (columns[parts])
        parts++;
    db_rows_rewind(rows);
    for (bool more = true; more;) {
        more = db_rows_next(rows);
        bool of_table = more && strcasecmp(db_text_or_empty(rows, 0), table) == 0;
        if (!of_table || db_int(rows, 2) == 1) {
            if (name && matched == parts && (len == parts || kind == INDEX_BEGINS) &&
                (kind != INDEX_IS || is_plain_name(name)))
                return name;
            name = of_table && (kind != INDEX_UNIQUE || db_int(rows, 4) == 0) ? db_text_or_empty(rows, 1) : NULL;
            matched = len = 0;
        }
        if (of_table && len < parts && strcasecmp(db_text_or_empty(rows, 3), columns[len]) == 0)
            matched++;
        len++;
    }
    return NULL;
}

static bool has_index(const struct schema_facts *facts, const char *table, const char *first, const char *second)
{
    return find_index(facts, table, (const char *const[]){first, second, NULL}, INDEX_BEGINS) != NULL;
}

static void name_index(const struct schema_facts *facts, const char *first, const char *second,
                       char out[INDEX_NAME_MAX])
{
    const char *name = find_index(facts, "xxl_job_log", (const char *const[]){first, second, NULL}, INDEX_IS);

    snprintf(out, INDEX_NAME_MAX, "%s", name ? name : "");
}

/* ---- deciding ---------------------------------------------------------------------------------------------- */

static enum err check_columns(const struct schema_facts *facts, struct errctx *ec)
{
    bool has_name, has_title;

    if (schema_has_column(facts, "xxl_job_info", "job_cron") &&
        !schema_has_column(facts, "xxl_job_info", "schedule_type"))
        return err_set(ec, ERR_INPUT,
                       "the schema is older than version 2.3 (xxl_job_info has job_cron and no "
                       "schedule_type): upgrade it with the scripts of xxl-job first");
    for (size_t i = 0; i < ARRAY_LEN(required); i++) {
        if (!schema_has_table(facts, required[i].table))
            return err_set(ec, ERR_INPUT, "table %s is missing", required[i].table);
        for (const char *const *column = required[i].columns; *column; column++)
            if (!schema_has_column(facts, required[i].table, *column))
                return err_set(ec, ERR_INPUT, "column %s.%s is missing", required[i].table, *column);
    }
    has_name = schema_has_column(facts, "xxl_job_info", "job_desc") || schema_has_column(facts, "xxl_job_info", "name");
    if (!has_name)
        return err_set(ec, ERR_INPUT, "column xxl_job_info.job_desc (or name, from 3.5 on) is missing");
    has_title = schema_has_column(facts, "xxl_job_group", "title") || schema_has_column(facts, "xxl_job_group", "name");
    if (!has_title)
        return err_set(ec, ERR_INPUT, "column xxl_job_group.title (or name, from 3.5 on) is missing");
    return ERR_OK;
}

/* Everything rests on transactions and row locks. */
static enum err check_engines(const struct schema_facts *facts, struct errctx *ec)
{
    db_rows_rewind(facts->tables);
    while (db_rows_next(facts->tables)) {
        const char *engine = db_text_or_empty(facts->tables, 1);
        if (strcasecmp(engine, "InnoDB") != 0)
            return err_set(ec, ERR_INPUT, "table %s is of engine %s: it must be InnoDB",
                           db_text_or_empty(facts->tables, 0), *engine ? engine : "(none: a view?)");
    }
    return ERR_OK;
}

static const char *decide_family(const struct store_features *f)
{
    if (!f->job_name_is_desc)
        return "3.5";
    if (f->param_len >= 65535)
        return "3.4";
    if (f->user_token)
        return "3.2";
    return f->registry_unique ? "2.5" : "2.3";
}

enum err schema_decide(const struct schema_facts *facts, struct store_features *out, struct errctx *ec)
{
    struct store_features f = {0};
    enum err e = upgrade_check_version(facts->own_version, OWN_VERSION, ec);

    if (e)
        return e;
    f.own_tables = upgrade_is_installed(facts);
    f.own_version = facts->own_version;
    f.own_complete = upgrade_is_complete(facts);
    f.empty = !schema_has_any_table(facts);
    f.family = "";
    if (!f.empty) {
        e = check_columns(facts, ec);
        if (!e)
            e = check_engines(facts, ec);
        if (e)
            return err_wrap(ec, e, "the database cannot be used");
        f.job_name_is_desc = schema_has_column(facts, "xxl_job_info", "job_desc");
        f.group_title = schema_has_column(facts, "xxl_job_group", "title");
        f.group_title_len = column_len(facts, "xxl_job_group", f.group_title ? "title" : "name");
        f.group_access_token = schema_has_column(facts, "xxl_job_group", "access_token");
        f.user_token = schema_has_column(facts, "xxl_job_user", "token");
        f.user_password_len = column_len(facts, "xxl_job_user", "password");
        f.registry_unique = find_index(facts, "xxl_job_registry",
                                       (const char *const[]){"registry_group", "registry_key", "registry_value", NULL},
                                       INDEX_UNIQUE) != NULL;
        name_index(facts, "handle_code", NULL, f.log_handle_code_name);
        name_index(facts, "job_id", NULL, f.log_job_id_name);
        name_index(facts, "job_group", NULL, f.log_group_name);
        name_index(facts, "trigger_time", NULL, f.log_trigger_time_name);
        name_index(facts, "job_id", "trigger_time", f.log_job_time_name);
        name_index(facts, "job_group", "trigger_time", f.log_group_time_name);
        f.param_len = column_len(facts, "xxl_job_log", "executor_param");
        f.info_next_index = has_index(facts, "xxl_job_info", "trigger_status", "trigger_next_time");
        f.family = decide_family(&f);
    }
    *out = f;
    return ERR_OK;
}

/* ---- loading and keeping ----------------------------------------------------------------------------------- */

/* Version numbers of servers that speak the protocol say little about it. */
static enum err ask_skip_locked(struct store_session *s, bool *out, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    struct errctx why = {{0}};
    enum err e = store_query(s, &rows, &why, "SELECT 1 FOR UPDATE SKIP LOCKED");

    db_rows_destroy(rows);
    if (e && e != ERR_INPUT)
        return err_wrap(ec, e, "ask for SKIP LOCKED: %s", why.text);
    *out = e == ERR_OK;
    return ERR_OK;
}

enum err store_read_features(struct store_session *s, struct store_features *out, struct errctx *ec)
{
    struct schema_facts facts = {0};
    struct store_features f;
    bool skip_locked = false;
    enum err e = schema_load_facts(s, &facts, ec);

    if (!e)
        e = ask_skip_locked(s, &skip_locked, ec);
    if (!e)
        e = schema_decide(&facts, &f, ec);
    schema_facts_fini(&facts);
    if (e)
        return e;
    f.skip_locked = skip_locked;
    snprintf(f.server_version, sizeof f.server_version, "%s", db_server_version(s->db));
    mutex_lock(&s->st->lock);
    s->st->features = f;
    /* An empty database is about to be filled: look again then. */
    s->st->has_features = !f.empty;
    mutex_unlock(&s->st->lock);
    *out = f;
    return ERR_OK;
}

enum err store_get_features(struct store_session *s, struct store_features *out, struct errctx *ec)
{
    bool has;

    mutex_lock(&s->st->lock);
    has = s->st->has_features;
    if (has)
        *out = s->st->features;
    mutex_unlock(&s->st->lock);
    return has ? ERR_OK : store_read_features(s, out, ec);
}

const struct store_features *store_features(struct store_session *s)
{
    struct errctx why = {{0}};
    enum err e = s->no_features ? ERR_OK : store_get_features(s, &s->features, &why);

    if (e) {
        s->features = (struct store_features){.family = ""};
        s->no_features = e;
        s->why = why;
    }
    return &s->features;
}

const char *job_name_column(const struct store_features *f)
{
    return f->job_name_is_desc ? "job_desc" : "name";
}

const char *group_title_column(const struct store_features *f)
{
    return f->group_title ? "title" : "name";
}

struct sql_value store_job_name(struct store_session *s)
{
    return sql_word(job_name_column(store_features(s)));
}

struct sql_value store_group_title(struct store_session *s)
{
    return sql_word(group_title_column(store_features(s)));
}

enum err store_load_features(struct store *st, struct store_features *out, struct errctx *ec)
{
    struct store_session *s = NULL;
    enum err e = store_take_session(st, SESSION_NORMAL, &s, ec);

    if (!e)
        e = store_read_features(s, out, ec);
    store_give_session(st, s);
    return e;
}
