/* SPDX-License-Identifier: MIT */
/*
 * stranger_db: a database that answers every statement with what a seed draws: no row, some that look well, some as
 * strangers leave them, or an error. It knows no table: what stands in a column follows from the column's name. Include
 * it in one source of a fuzz target; the linker then takes nothing of store/conn/mysql.c.
 *
 * Threads     One at a time.
 * Oracle      A column that the statement did not ask for is read: abort.
 */
#ifndef SHARDWHEEL_TESTS_FUZZ_STRANGER_DB_H
#define SHARDWHEEL_TESTS_FUZZ_STRANGER_DB_H

#include "store/conn/datetime.h"
#include "store/conn/session.h"

#include "stranger_groups.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum stranger_rows {
    STRANGER_NONE, /* no rows, nothing found by what writes */
    STRANGER_ONE,  /* one row each, as it should be */
    STRANGER_SOME, /* up to three, of which cells may be NULL */
    STRANGER_WILD, /* up to three, of anything */
    STRANGER_ROWS,
    STRANGER_GROUPS = STRANGER_ROWS, /* of two groups, as stranger_groups.h says */
};

/* What is drawn from; set by the target before each run. */
struct stranger {
    uint64_t seed;
    enum stranger_rows rows;
    unsigned fail_at;   /* the statement that fails, from 1; 0: none */
    enum err fail_with; /* ... by that */
    unsigned statements;
    bool failed; /* one did */
    int secret;  /* GROUPS_ bits of the rows of which the caller may see nothing, with STRANGER_GROUPS */
    void (*watch)(const char *sql); /* is told of each statement; or NULL */
};
static struct stranger stranger;

static uint64_t stranger_draw(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t x = stranger.seed ^ (a * 0x9E3779B97F4A7C15u) ^ (b * 0xC2B2AE3D27D4EB4Fu) ^ (c * 0x165667B19E3779F9u);

    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

#define STRANGER_TEXTS 8

/* The first whose name is in the column's. */
static const struct {
    const char *name;
    const char *values[STRANGER_TEXTS]; /* ended by NULL */
} stranger_columns[] = {
    {"schedule_type", {"CRON", "FIX_RATE", "FIX_DELAY", "NONE"}},
    {"schedule_conf", {"0 0 * * * ?", "30", "0 0 0 29 2 ? 2096", "0/5 * * * * ?", ""}},
    {"misfire", {"DO_NOTHING", "FIRE_ONCE_NOW"}},
    {"route", {"FIRST", "ROUND", "SHARDING_BROADCAST", "FAILOVER"}},
    {"block", {"SERIAL_EXECUTION", "DISCARD_LATER", "COVER_EARLY"}},
    {"glue_type", {"BEAN", "GLUE_GROOVY", "GLUE_SHELL", "GLUE_PYTHON"}},
    {"glue_source", {"echo 1", "a\nb\n", ""}},
    {"trigger_last_time", {"0", "1795482000000"}},
    {"trigger_next_time", {"0", "1795485600000"}},
    {"_ms", {"1795482000000", "0"}},
    {"_time", {"2026-11-24 01:00:00", "2026-11-23 23:59:59"}},
    {"updatetime", {"2026-11-24 01:00:00"}},
    {"trigger_day", {"2026-11-24 00:00:00"}},
    {"address", {"http://10.0.0.5:9999/", "http://10.0.0.5:9999/,http://10.0.0.6:9999/", ""}},
    {"permission", {"1", "1,2", ""}},
    {"child", {"", "2", "1,2,3"}},
    {"password", {"e10adc3949ba59abbe56e057f20f883e"}},
    {"username", {"admin", "ann"}},
    {"app_name", {"app", "own"}},
    {"code", {"0", "200", "500"}},
    {"status", {"0", "1", "2"}},
    {"role", {"0", "1"}},
    {"count", {"0", "1", "20"}},
    {"msg", {"", "Success", "a<br>b"}},
    {"param", {"", "a=1"}},
    {"email", {"", "a@b.c"}},
    {"handler", {"demoJobHandler", ""}},
    {"id", {"1", "2", "3"}},
    {"", {"1", "0", "2", "text", "app", "10"}},
};

/* Numbers that a time times 1,000 can be: nobody checks those of tables that only we write. Ids are of any size. */
static char stranger_long[70001];
static const char *const stranger_wild[] = {
    NULL,
    "",
    "-1",
    "0",
    "4000000000000000",
    "-4000000000000000",
    "4294967296",
    "1e9",
    "\xff\xfe",
    "a\xe2",
    "\xf0\x9f",
    "\xed\xa0\x80",
    "<script>alert(1)",
    "%s%n",
    "\"\\",
    "\x01\x1f",
    ",,,",
    "1,,x",
    "9999-12-31 23:59:59",
    "0000-00-00 00:00:00",
    "1970-01-01 00:00:00",
    "'",
    "null",
    "{}",
    "CRON",
    "0 0 0 31 2 ? 1970",
    "<!--sw:p:1-->",
    stranger_long,
    "\xc3\xa4\xf0\x9f\x98\x80",
    "http://[::1]:9/",
};

static const char *stranger_value(const char *name, size_t name_len, uint64_t drawn)
{
    const char *const *values = NULL;
    size_t count = 0;

    for (size_t i = 0; !values; i++) {
        const char *part = stranger_columns[i].name;
        if (!*part || memmem(name, name_len, part, strlen(part)))
            values = stranger_columns[i].values;
    }
    while (count < STRANGER_TEXTS && values[count])
        count++;
    return values[drawn % count];
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define STRANGER_COLUMNS 64
#define STRANGER_ROWS_MAX 3

struct db_rows {
    char *sql;
    struct {
        const char *name; /* in `sql` */
        size_t len;
    } columns[STRANGER_COLUMNS];
    size_t column_count; /* 0: not known */
    unsigned statement;
    size_t count, row; /* row: from 1 */
    bool streamed;
    struct groups_query query;                        /* with STRANGER_GROUPS */
    char *cells[STRANGER_ROWS_MAX][STRANGER_COLUMNS]; /* what was read; of a stream those of its row */
};

struct db {
    bool broken;
    struct db_rows *sent;
};

/* The columns of SELECT a, f(b, c) AS d FROM ...; their last words are the names. None where it is not clear. */
static void stranger_read_columns(struct db_rows *rows)
{
    const char *at = rows->sql, *start;
    int depth = 0;
    bool quoted = false;

    if (!strncmp(at, "SET STATEMENT ", 14))
        at = strstr(at, " FOR ") ? strstr(at, " FOR ") + 5 : at;
    do { /* * is what the innermost one asks for */
        at = strstr(at, "SELECT ");
        if (!at)
            return;
        at += 7;
        if (!strncmp(at, "/*", 2) && strstr(at, "*/ "))
            at = strstr(at, "*/ ") + 3;
    } while (!strncmp(at, "* FROM", 6));
    start = at;
    for (;; at++) {
        quoted ^= *at == '\'';
        depth += !quoted && *at == '(';
        depth -= !quoted && *at == ')';
        bool end = !*at || (depth == 0 && !quoted && !strncmp(at, " FROM ", 6));
        if (!end && (quoted || depth || *at != ','))
            continue;
        const char *name = at;
        while (name > start && !strchr(" .", name[-1]))
            name--;
        if (rows->column_count == STRANGER_COLUMNS || *name == '*') {
            rows->column_count = 0;
            return;
        }
        rows->columns[rows->column_count].name = name;
        rows->columns[rows->column_count++].len = (size_t)(at - name);
        if (end)
            return;
        start = at + 1;
    }
}

static struct db_rows *stranger_answer(const char *sql, size_t len, bool streamed)
{
    struct db_rows *rows = calloc(1, sizeof *rows);
    size_t most = stranger.rows == STRANGER_ONE ? 1 : STRANGER_ROWS_MAX;

    rows->sql = strndup(sql, len);
    rows->statement = stranger.statements;
    rows->streamed = streamed;
    stranger_read_columns(rows);
    if (stranger.rows != STRANGER_NONE)
        rows->count = most == 1 ? 1 : stranger_draw(rows->statement, 1, 0) % (most + 1);
    if (stranger.rows == STRANGER_GROUPS) {
        char *plain = strdup(rows->sql);
        groups_unquote(plain);
        groups_read(plain, &rows->query);
        free(plain);
        rows->count = groups_count_rows(&rows->query, rows->count ? rows->count : 1);
    }
    return rows;
}

static void stranger_forget_cells(struct db_rows *rows)
{
    for (size_t i = 0; i < STRANGER_ROWS_MAX; i++) {
        for (size_t j = 0; j < STRANGER_COLUMNS; j++) {
            free(rows->cells[i][j]);
            rows->cells[i][j] = NULL;
        }
    }
}

size_t db_rows_count(const struct db_rows *rows)
{
    return rows->count;
}

void db_rows_rewind(struct db_rows *rows)
{
    rows->row = 0;
}

bool db_rows_next(struct db_rows *rows)
{
    if (!rows || rows->row == rows->count)
        return false;
    if (rows->streamed)
        stranger_forget_cells(rows);
    rows->row++;
    return true;
}

/* What stands there in a row of one of two groups. NULL: what stands there anyway. The caller frees it. */
static char *stranger_text_of_group(const struct db_rows *rows, unsigned col, uint64_t drawn)
{
    const char *name = rows->columns[col].name ? rows->columns[col].name : "";
    size_t len = rows->columns[col].len;
    uint64_t of_row = stranger_draw(rows->statement, rows->row, 1);
    int side = rows->query.sides == (GROUPS_OWN | GROUPS_FOREIGN) ? of_row & 1 ? GROUPS_OWN : GROUPS_FOREIGN
                                                                  : rows->query.sides;
    char number[24];

    if (!rows->query.linked)
        return NULL;
    if (side & stranger.secret && memmem(name, len, "access_token", 12))
        return strdup(STRANGER_TOKEN);
    if (groups_is_text(name, len))
        return side & stranger.secret ? strdup(STRANGER_SECRET) : NULL;
    if ((len < 2 || strncmp(name + len - 2, "id", 2) != 0) && !(len == 9 && !strncmp(name, "job_group", 9)))
        return NULL;
    if (memmem(name, len, "child", 5) || memmem(name, len, "user", 4))
        return NULL;
    snprintf(number, sizeof number, "%" PRId64, groups_number(&rows->query, name, len, rows->row - 1, side, drawn));
    return strdup(number);
}

const char *db_text(const struct db_rows *const_rows, unsigned col)
{
    struct db_rows *rows = (struct db_rows *)const_rows; /* made by stranger_answer */
    uint64_t drawn = stranger_draw(rows->statement, rows->row, col + 2);
    const char *value;

    if (!rows->row || col >= STRANGER_COLUMNS || (rows->column_count && col >= rows->column_count)) {
        fprintf(stderr, "column %u of row %zu is read of: %s\n", col, rows->row, rows->sql);
        abort();
    }
    if (rows->cells[rows->row - 1][col])
        return rows->cells[rows->row - 1][col];
    if (stranger.rows == STRANGER_GROUPS &&
        (rows->cells[rows->row - 1][col] = stranger_text_of_group(rows, col, drawn >> 8)))
        return rows->cells[rows->row - 1][col];
    if (stranger.rows == STRANGER_WILD && drawn % 16 == 0 && rows->columns[col].len >= 2 &&
        !strncmp(rows->columns[col].name + rows->columns[col].len - 2, "id", 2))
        value = drawn & 16 ? "9223372036854775807" : "-9223372036854775808";
    else if (stranger.rows == STRANGER_WILD)
        value = stranger_wild[(drawn >> 8) % ARRAY_LEN(stranger_wild)];
    else if (stranger.rows == STRANGER_SOME && drawn % 8 == 0)
        value = NULL;
    else
        value =
            stranger_value(rows->columns[col].name ? rows->columns[col].name : "", rows->columns[col].len, drawn >> 8);
    rows->cells[rows->row - 1][col] = value ? strdup(value) : NULL;
    return rows->cells[rows->row - 1][col];
}

const char *db_text_or_empty(const struct db_rows *rows, unsigned col)
{
    const char *text = db_text(rows, col);

    return text ? text : "";
}

int64_t db_int(const struct db_rows *rows, unsigned col)
{
    const char *text = db_text(rows, col);

    return text ? strtoll(text, NULL, 10) : 0;
}

int64_t db_seconds(const struct db_rows *rows, unsigned col)
{
    return datetime_bound(db_int(rows, col));
}

int64_t db_millis(const struct db_rows *rows, unsigned col)
{
    int64_t ms = db_int(rows, col), s = datetime_bound(ms / 1000);

    return s == ms / 1000 ? ms : s * 1000;
}

void db_rows_destroy(struct db_rows *rows)
{
    if (!rows)
        return;
    stranger_forget_cells(rows);
    free(rows->sql);
    free(rows);
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

enum err db_library_init(struct errctx *ec)
{
    (void)ec;
    return ERR_OK;
}

/* Counts a statement; an error when it is the one that fails. */
static enum err stranger_step(struct db *db, struct errctx *ec)
{
    if (db->broken)
        return err_set(ec, ERR_LOST, "the connection is closed");
    if (++stranger.statements != stranger.fail_at)
        return ERR_OK;
    stranger.failed = true;
    db->broken = stranger.fail_with == ERR_LOST || stranger.fail_with == ERR_UNKNOWN;
    return err_set(ec, stranger.fail_with == ERR_UNKNOWN ? ERR_LOST : stranger.fail_with, "the stranger says no");
}

static void stranger_tell(const char *sql, size_t len)
{
    if (!stranger.watch)
        return;
    char *ended = strndup(sql, len);
    stranger.watch(ended);
    free(ended);
}

enum err db_connect(const struct store_opts *opts, enum session_kind kind, struct db **out, struct errctx *ec)
{
    struct db *db = calloc(1, sizeof *db);
    enum err e = stranger_step(db, ec);

    (void)opts, (void)kind;
    if (e)
        free(db);
    else
        *out = db;
    return e;
}

void db_close(struct db *db)
{
    if (!db)
        return;
    db_rows_destroy(db->sent);
    free(db);
}

bool db_is_broken(const struct db *db)
{
    return db->broken;
}

bool db_is_hung_up(const struct db *db)
{
    return db->broken;
}

bool db_has_data_error(const struct db *db)
{
    (void)db;
    return stranger.failed && stranger.fail_with == ERR_INPUT && stranger.seed % 2;
}

bool db_has_length_error(const struct db *db)
{
    return db_has_data_error(db) && stranger.seed % 4 == 1;
}

size_t db_max_packet(const struct db *db)
{
    (void)db;
    return 16u << 20;
}

const char *db_server_version(const struct db *db)
{
    (void)db;
    return "10.6.0-MariaDB";
}

bool db_is_mariadb(const struct db *db)
{
    (void)db;
    return stranger.seed % 3 != 0;
}

bool db_is_galera(const struct db *db)
{
    (void)db;
    return stranger.seed % 16 == 5;
}

const char *db_get_server(const struct db *db)
{
    (void)db;
    return "stranger:3306#1";
}

int db_get_socket(const struct db *db)
{
    (void)db;
    return -1;
}

const char *db_advise(const char *said)
{
    (void)said;
    return "";
}

enum err db_exec(struct db *db, const char *sql, size_t len, struct db_effect *effect, struct errctx *ec)
{
    enum err e = stranger_step(db, ec);
    uint64_t drawn = stranger_draw(stranger.statements, 0, 1);

    stranger_tell(sql, len);
    if (e || !effect)
        return e;
    *effect = (struct db_effect){0};
    if (stranger.rows == STRANGER_NONE)
        return ERR_OK;
    effect->matched = stranger.rows == STRANGER_ONE ? 1 : (int64_t)(drawn % 4);
    effect->changed = drawn & 16 ? effect->matched : 0;
    effect->first_id = (int64_t)(drawn >> 8 & 1023);
    if (stranger.rows == STRANGER_GROUPS) /* what is added is the caller's */
        effect->first_id |= 1;
    return ERR_OK;
}

enum err db_query(struct db *db, const char *sql, size_t len, struct db_rows **out, struct errctx *ec)
{
    enum err e = stranger_step(db, ec);

    stranger_tell(sql, len);
    if (!e)
        *out = stranger_answer(sql, len, /*streamed=*/false);
    return e;
}

enum err db_send(struct db *db, const char *sql, size_t len, struct errctx *ec)
{
    return db_query(db, sql, len, &db->sent, ec);
}

bool db_has_answer(const struct db *db, int timeout_ms)
{
    (void)db, (void)timeout_ms;
    return true;
}

enum err db_read(struct db *db, struct db_rows **out, struct errctx *ec)
{
    (void)ec;
    *out = db->sent;
    db->sent = NULL;
    return ERR_OK;
}

enum err db_stream(struct db *db, const char *sql, size_t len, struct db_rows **out, struct errctx *ec)
{
    enum err e = stranger_step(db, ec);

    if (!e)
        *out = stranger_answer(sql, len, /*streamed=*/true);
    return e;
}

enum err db_check_rows(struct db *db, struct errctx *ec)
{
    return stranger_step(db, ec);
}

int64_t db_connection_id(const struct db *db)
{
    return db->broken ? 0 : 1;
}

enum err db_commit(struct db *db, struct errctx *ec)
{
    enum err e = stranger_step(db, ec);

    if (!e || e == ERR_CONFLICT)
        return e;
    db->broken = true;
    return err_set(ec, ERR_UNKNOWN, "the connection was lost");
}

size_t db_escape(struct db *db, char *out, const char *text, size_t len)
{
    char *to = out;

    if (db->broken)
        return 0;
    for (size_t i = 0; i < len; i++) {
        if (strchr("'\"\\", text[i]))
            *to++ = '\\';
        *to++ = text[i] ? text[i] : ' ';
    }
    *to = '\0';
    return (size_t)(to - out);
}

#endif
