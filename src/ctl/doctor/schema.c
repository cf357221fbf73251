/* SPDX-License-Identifier: MIT */
/* Rights, indexes and character sets of the tables. */
#include "ctl/doctor/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define OUR_TABLES                                                                                                     \
    "table_schema = DATABASE() AND (table_name LIKE 'xxl\\_job\\_%%' OR table_name LIKE 'shardwheel\\_%%')"
#define TABLE_ROWS "SELECT table_rows FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = "
#define MANY_ROWS 1000000
#define MANY_JOBS 80000

/* ---- rights ------------------------------------------------------------------------------------------------------ */

/* The server checks rights before it explains how it would carry a statement out; nothing is done. */
static enum err may(struct doctor *d, const char *format, const char *table, const char *column, bool *out,
                    struct errctx *ec)
{
    struct db_rows *look = NULL;
    /* Names come from the server's own list, and are in backquotes. */
    enum err e = doctor_look(d, &look, ec, format, table, column, column);

    db_rows_destroy(look);
    *out = e != ERR_DENIED;
    return e == ERR_DENIED ? ERR_OK : e;
}

/* Without these nothing is planned or sent; the others are for the console. */
static bool is_vital(const char *table)
{
    return !strncmp(table, "shardwheel_", 11) || !strcmp(table, "xxl_job_log") || !strcmp(table, "xxl_job_info") ||
           !strcmp(table, "xxl_job_registry") || !strcmp(table, "xxl_job_lock") || !strcmp(table, "xxl_job_group");
}

static enum err check_table(struct doctor *d, const char *table, const char *column, struct words *missing, bool *vital,
                            struct errctx *ec)
{
    static const struct {
        const char *right;
        const char *format;
    } rights[] = {
        {"SELECT", "EXPLAIN SELECT 1 FROM `%s` WHERE 1 = 0"},
        {"INSERT", "EXPLAIN INSERT INTO `%s` (`%s`) VALUES (NULL)"},
        {"UPDATE", "EXPLAIN UPDATE `%s` SET `%s` = `%s` WHERE 1 = 0"},
        {"DELETE", "EXPLAIN DELETE FROM `%s` WHERE 1 = 0"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rights); i++) {
        char name[120];
        bool fine = false;
        enum err e = may(d, rights[i].format, table, column, &fine, ec);

        if (e)
            return e;
        if (fine)
            continue;
        snprintf(name, sizeof name, "%s on %s", rights[i].right, table);
        words_add(missing, name);
        *vital = *vital || is_vital(table);
    }
    return ERR_OK;
}

static enum err check_rights(struct doctor *d, struct errctx *ec)
{
    struct words missing = {0};
    struct db_rows *look = NULL;
    bool vital = false;
    enum err e = doctor_look(d, &look, ec,
                             "SELECT table_name, column_name FROM information_schema.columns WHERE " OUR_TABLES
                             " AND ordinal_position = 1 ORDER BY table_name");

    while (!e && db_rows_next(look)) {
        if (clock_mono_ms(d->clock) >= d->deadline_mono_ms)
            e = err_set(ec, ERR_TIMEOUT, "there was not enough time for all tables");
        else
            e = check_table(d, db_text_or_empty(look, 0), db_text_or_empty(look, 1), &missing, &vital, ec);
    }
    db_rows_destroy(look);
    if (!e && missing.count)
        doctor_tell(d, vital ? DOCTOR_CRITICAL : DOCTOR_WARNING, "rights_missing", d->config->datasource_username,
                    "GRANT SELECT, INSERT, UPDATE, DELETE on the database to that user; CREATE and ALTER for upgrades.",
                    "The database user has no right to %s.", words_end(&missing));
    return e;
}

/* ---- indexes ----------------------------------------------------------------------------------------------------- */

struct index {
    char table[65], name[65];
    char columns[400]; /* between commas, in their order */
    bool unique;
};

/* By table, then by name. */
static enum err load_indexes(struct doctor *d, struct index **rows, size_t *count, struct errctx *ec)
{
    struct db_rows *look = NULL;
    enum err e = doctor_look(d, &look, ec,
                             "SELECT table_name, index_name, GROUP_CONCAT(column_name ORDER BY seq_in_index), "
                             "MIN(non_unique) FROM information_schema.statistics WHERE " OUR_TABLES
                             " GROUP BY table_name, index_name ORDER BY table_name, index_name");

    if (!e && !(*rows = calloc(db_rows_count(look) + 1, sizeof **rows)))
        e = err_set(ec, ERR_NOMEM, "out of memory");
    while (!e && db_rows_next(look)) {
        struct index *row = &(*rows)[(*count)++];

        snprintf(row->table, sizeof row->table, "%s", db_text_or_empty(look, 0));
        snprintf(row->name, sizeof row->name, "%s", db_text_or_empty(look, 1));
        snprintf(row->columns, sizeof row->columns, "%s", db_text_or_empty(look, 2));
        row->unique = db_int(look, 3) == 0;
    }
    db_rows_destroy(look);
    return e;
}

/* An index that begins with these columns; one over just them where it must be unique. */
static bool has_index(const struct index *rows, size_t count, const char *table, const char *columns, bool unique)
{
    size_t len = strlen(columns);

    for (const struct index *row = rows; row < rows + count; row++) {
        if (strcasecmp(row->table, table) != 0 || strncasecmp(row->columns, columns, len) != 0)
            continue;
        if (unique ? row->unique && !row->columns[len] : !row->columns[len] || row->columns[len] == ',')
            return true;
    }
    return false;
}

static const struct {
    const char *table, *columns;
    bool unique;
    enum doctor_level level;
    const char *why; /* what happens without it */
} needed[] = {
    {"xxl_job_log", "id", true, DOCTOR_CRITICAL, "every write of a result reads the whole log"},
    {"xxl_job_info", "id", true, DOCTOR_CRITICAL, "every claim reads all jobs"},
    {"xxl_job_lock", "lock_name", true, DOCTOR_CRITICAL, "the lock row may exist twice, so that it does not lock"},
    {"xxl_job_log", "trigger_time", false, DOCTOR_WARNING,
     "each takeover, cleaning and report reads the whole log, and a shard waits in the meantime"},
    {"xxl_job_log", "handle_code", false, DOCTOR_WARNING, "the search for failures and lost runs reads the whole log"},
    {"xxl_job_registry", "registry_group,registry_key,registry_value", false, DOCTOR_WARNING,
     "each heartbeat of an executor reads all of them"},
    {"xxl_job_user", "username", true, DOCTOR_WARNING, "two users may have one name"},
    {"xxl_job_log_report", "trigger_day", true, DOCTOR_WARNING, "a day may be counted twice"},
};

static void tell_missing(struct doctor *d, const struct index *rows, size_t count)
{
    for (size_t i = 0; i < ARRAY_LEN(needed); i++) {
        char change[300];

        if (has_index(rows, count, needed[i].table, needed[i].columns, needed[i].unique))
            continue;
        snprintf(change, sizeof change, "CREATE %sINDEX i_%.20s ON %s (%s); then restart the nodes.",
                 needed[i].unique ? "UNIQUE " : "", strrchr(needed[i].columns, ',') ? "g_k_v" : needed[i].columns,
                 needed[i].table, needed[i].columns);
        doctor_tell(d, needed[i].level, "index_missing", place_of("table", needed[i].table).text, change,
                    "No %sindex over (%s): %s.", needed[i].unique ? "unique " : "", needed[i].columns, needed[i].why);
    }
}

static void tell_doubles(struct doctor *d, const struct index *rows, size_t count)
{
    for (const struct index *b = rows; b < rows + count; b++) {
        const struct index *a = rows;

        while (a < b && (strcasecmp(a->table, b->table) != 0 || strcasecmp(a->columns, b->columns) != 0))
            a++;
        if (a < b)
            doctor_tell(d, DOCTOR_WARNING, "index_double", place_of("table", a->table).text,
                        "Drop one of them, but keep a unique one and the primary key. Then restart the nodes.",
                        "Indexes %s and %s have the same columns (%s), which makes writes slower.", a->name, b->name,
                        a->columns);
    }
}

/* Those of sql/index.sql, where the tables are large. */
static enum err tell_offered(struct doctor *d, struct errctx *ec)
{
    int64_t rows = 0, jobs = 0;
    enum err e = doctor_look_number(d, &rows, ec, TABLE_ROWS "'xxl_job_log'");

    if (!e)
        e = doctor_look_number(d, &jobs, ec, TABLE_ROWS "'xxl_job_info'");
    if (!e && rows > MANY_ROWS && !d->features.log_job_time_name[0] && !d->features.log_job_id_name[0])
        doctor_tell(d, DOCTOR_NOTE, "index_offered", "table xxl_job_log", NULL,
                    "The log has about %" PRId64
                    " million rows: the first two indexes of sql/index.sql make the lists of runs of one job faster.",
                    rows / 1000000);
    if (!e && jobs > MANY_JOBS && !d->features.info_next_index)
        doctor_tell(d, DOCTOR_NOTE, "index_offered", "table xxl_job_info", NULL,
                    "There are about %" PRId64
                    " jobs: each node reads all of them once a second. The last index of sql/index.sql helps if the "
                    "number of jobs, times the number of nodes, is more than about 80 times the fires per second.",
                    jobs);
    return e;
}

static enum err check_indexes(struct doctor *d, struct errctx *ec)
{
    struct index *rows = NULL;
    size_t count = 0;
    enum err e = load_indexes(d, &rows, &count, ec);

    if (!e) {
        tell_missing(d, rows, count);
        tell_doubles(d, rows, count);
        e = tell_offered(d, ec);
    }
    free(rows);
    return e;
}

/* ---- what columns can hold --------------------------------------------------------------------------------------- */

static enum err check_charsets(struct doctor *d, struct errctx *ec)
{
    struct db_rows *look = NULL;
    struct words narrow = {0}, old = {0};
    enum err e =
        doctor_look(d, &look, ec,
                    "SELECT table_name, MIN(character_set_name), "
                    "MIN(character_set_name IN ('utf8', 'utf8mb3')) FROM information_schema.columns WHERE " OUR_TABLES
                    " AND character_set_name IS NOT NULL AND character_set_name NOT IN "
                    "('utf8mb4', 'ascii') GROUP BY table_name ORDER BY table_name");

    while (!e && db_rows_next(look))
        words_add(db_int(look, 2) ? &old : &narrow, db_text_or_empty(look, 0));
    db_rows_destroy(look);
    if (!e && narrow.count)
        doctor_tell(d, DOCTOR_WARNING, "charset_narrow", NULL, "ALTER TABLE ... CONVERT TO CHARACTER SET utf8mb4.",
                    "These tables do not support Unicode, and other characters become '?': %s.", words_end(&narrow));
    if (!e && old.count)
        doctor_tell(d, DOCTOR_NOTE, "charset_old", NULL, NULL,
                    "These tables are utf8mb3: characters above U+FFFF (some Chinese ones, emoji) become '?': %s.",
                    words_end(&old));
    return e;
}

/* ---- versions of our tables -------------------------------------------------------------------------------------- */

static enum err check_version(struct doctor *d, struct errctx *ec)
{
    int64_t rows = 0;
    enum err e;

    if (!d->features.own_complete)
        doctor_tell(d, DOCTOR_WARNING, "tables_older", NULL,
                    "Start a node of this release, or run `shardwheel install-schema`.",
                    "The tables of shardwheel have version %d, that of the previous release.", d->features.own_version);
    e = doctor_look_number(d, &rows, ec, "SELECT COUNT(*) FROM xxl_job_lock WHERE lock_name = 'schedule_lock'");
    if (!e && !rows)
        doctor_tell(
            d, DOCTOR_CRITICAL, "lock_row_missing", "table xxl_job_lock",
            "INSERT INTO xxl_job_lock (lock_name) VALUES ('schedule_lock').",
            "The row schedule_lock does not exist: Java admins do not lock, and fire at the same time as others.");
    return e;
}

const struct doctor_check doctor_schema_checks[] = {
    {"rights", "The database user has all rights on the tables.", (const char *const[]){"rights_missing", NULL},
     DOCTOR_TABLES, check_rights},
    {"rows_and_versions", "The tables of shardwheel have the version of this release, and the lock row exists.",
     (const char *const[]){"tables_older", "lock_row_missing", NULL}, DOCTOR_TABLES, check_version},
    {"indexes", "The tables have the necessary indexes.",
     (const char *const[]){"index_missing", "index_double", "index_offered", NULL}, DOCTOR_TABLES, check_indexes},
    {"charsets", "The tables support every character.", (const char *const[]){"charset_narrow", "charset_old", NULL},
     DOCTOR_TABLES, check_charsets},
    {0},
};
