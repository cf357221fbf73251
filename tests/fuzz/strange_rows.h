/* SPDX-License-Identifier: MIT */
/*
 * strange_rows: stands in for store/conn/mysql.c with a database that answers whatever the input says. The objects of
 * a fuzz target that includes it take the place of that file, which the linker then does not take from its library.
 *
 * Any column may be NULL, a number at either end, a time that is none, a mark that is cut off, text that is no UTF-8,
 * empty or long; any statement may fail, and any row may be the last. Each text is a block of its own that goes with
 * its rows, or, of a stream, with its row: who keeps a pointer to it is found. An input that has ended answers no rows.
 */
#ifndef FUZZ_STRANGE_ROWS_H
#define FUZZ_STRANGE_ROWS_H

#include "store/conn/datetime.h"
#include "store/conn/mysql.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 48 /* more than any statement asks for */
#define LONG_TEXT 70000

struct input {
    const uint8_t *at;
    size_t left;
};
static struct input input;

struct db {
    bool broken, data_error, mariadb;
};

struct db_rows {
    size_t count, at; /* at: of the current row, from 1 */
    bool stream;
    char **values; /* all rows; of a stream the current one */
};

static inline unsigned draw(unsigned below)
{
    if (input.left == 0)
        return 0;
    input.left--;
    return *input.at++ % below;
}

static inline char *copy(const char *text, size_t len)
{
    char *block = malloc(len + 1);

    if (!block)
        abort();
    memcpy(block, text, len);
    block[len] = '\0';
    return block;
}

/* So much of the input as it is, but for NUL. */
static inline char *draw_bytes(void)
{
    size_t len = draw(24);
    char *text;

    len = len < input.left ? len : input.left;
    text = copy((const char *)input.at, len);
    for (size_t i = 0; i < len; i++)
        text[i] = text[i] ? text[i] : '?';
    input.at += len;
    input.left -= len;
    return text;
}

static inline char *draw_number(void)
{
    static const int64_t edges[] = {
        INT64_MIN,  INT64_MAX, INT32_MIN, INT32_MAX,        -1,         500,           200, 502, 1767225600000,
        1767225600, 1000,      100,       INT64_MAX / 1000, UINT32_MAX, INT64_MIN + 1, 1};
    char text[24];

    snprintf(text, sizeof text, "%" PRId64, edges[draw(ARRAY_LEN(edges))]);
    return copy(text, strlen(text));
}

static const char *const odd_texts[] = {
    "1970-01-01 00:00:00",
    "9999-12-31 23:59:59",
    "0000-00-00 00:00:00",
    "2026-11-01 01:30:00",
    "1000-01-01 00:00:00",
    "2026-03-08 02:30:00",
    "2026-00-31 24:60:61",
    "CRON",
    "FIX_RATE",
    "FIX_DELAY",
    "NONE",
    "0 0 0 * * ? 2199",
    "0/1 * * * * ?",
    "9223372036854775807",
    "-1",
    "FIRE_ONCE_NOW",
    "DO_NOTHING",
    "SHARDING_BROADCAST",
    "FIRST",
    "CONSISTENT_HASH",
    "DISCARD_LATER",
    "GLUE_SHELL",
    "BEAN",
    "http://127.0.0.1:9999/,http://[::1]:1/,,x",
    "0/2",
    "1/0",
    "-1/2",
    "99999999999/1",
    "1,2,3,x,,9999999999999",
    "a@b.c,<x@y>,\"",
    "Asia/Shanghai",
    "America/New_York",
    "+26:00",
    "\xf0\x9f\x98",
    "\xff\xfe",
    "\xed\xa0\x80",
    "{\"a\":",
    "<br><br>",
    "R",
    "GC",
    "reader",
    "sha256:x",
    "200",
    "0",
};

/* A mark of ours, at times with an end of numbers, cut off anywhere. */
static inline char *draw_mark(void)
{
    static const char *const marks[] = {
        "<!--sw:p:1767225600:3:M:O1767225500-->text",
        "<!--sw:p:1767225600:3:KR:G2:O0--> 0/2",
        "<!--sw:p:9223372036854775807:9223372036854775807:L:KP:G2147483647:O9223372036854775807-->",
        "<!--sw:d:0123456789abcdef:1767225600:R:G2147483647-->",
        "<!--sw:d:0123456789abcdef:9223372036854775807:M-->",
        "<!--sw:s:9223372036854775807-->",
        "<!--sw:s:0-->",
        "x<!--sw:r:9223372036854775807-->",
        "x<!--sw:r:3-->",
        "<!--sw:l-->",
        "<!--sw:l-->lost",
        "0123456789abcdef/12 fedcba9876543210/9223372036854775807",
    };
    const char *mark = marks[draw(ARRAY_LEN(marks))];
    size_t len = strlen(mark), cut = draw(128);

    return copy(mark, cut < len ? len - cut : len);
}

static inline char *draw_long(void)
{
    static const char *const pieces[] = {"x", "<", "\xc3\xa4", "\xf0\x9f\x98\x80", ",", "\xff", "<br>", "1,"};
    const char *piece = pieces[draw(ARRAY_LEN(pieces))];
    size_t len = strlen(piece), count = LONG_TEXT / len - draw(4);
    char *text = copy("", 0);

    free(text);
    text = malloc(count * len + 1);
    if (!text)
        abort();
    for (size_t i = 0; i < count; i++)
        memcpy(text + i * len, piece, len);
    text[count * len] = '\0';
    return text;
}

static inline char *draw_value(size_t row)
{
    char text[24];

    switch (draw(9)) {
    case 0:
    case 1: /* also behind the end of the input: an id, ascending */
        snprintf(text, sizeof text, "%zu", row);
        return copy(text, strlen(text));
    case 2: return NULL;
    case 3: return draw_number();
    case 4: return draw_bytes();
    case 5: {
        const char *odd = odd_texts[draw(ARRAY_LEN(odd_texts))];

        return copy(odd, strlen(odd));
    }
    case 6: return draw_mark();
    case 7: return draw(8) ? copy("", 0) : draw_long();
    default: snprintf(text, sizeof text, "%u", draw(256)); return copy(text, strlen(text));
    }
}

static inline void fill(char **values, size_t row)
{
    for (size_t c = 0; c < COLUMNS; c++)
        values[c] = draw_value(row);
}

static inline void clear(char **values)
{
    for (size_t c = 0; c < COLUMNS; c++) {
        free(values[c]);
        values[c] = NULL;
    }
}

/* ---- mysql.h ----------------------------------------------------------------------------------------------------- */

static inline enum err fail(struct db *db, struct errctx *ec)
{
    static const enum err errors[] = {ERR_LOST, ERR_CONFLICT, ERR_INPUT, ERR_TIMEOUT, ERR_DENIED, ERR_INPUT};
    unsigned which = draw(ARRAY_LEN(errors));

    if (db->broken)
        return err_set(ec, ERR_LOST, "the connection is closed");
    db->broken = errors[which] == ERR_LOST;
    db->data_error = which == ARRAY_LEN(errors) - 1;
    return err_set(ec, errors[which], "the input says so");
}

static inline bool fails(struct db *db)
{
    db->data_error = false;
    return db->broken || draw(32) == 31;
}

enum err db_library_init(struct errctx *ec)
{
    (void)ec;
    return ERR_OK;
}

enum err db_connect(const struct store_opts *opts, enum session_kind kind, struct db **out, struct errctx *ec)
{
    struct db *db = calloc(1, sizeof *db);

    (void)opts, (void)kind, (void)ec;
    if (!db)
        abort();
    db->mariadb = draw(2);
    *out = db;
    return ERR_OK;
}

void db_close(struct db *db)
{
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
    return db->data_error;
}

bool db_has_length_error(const struct db *db)
{
    return db->data_error;
}

size_t db_max_packet(const struct db *db)
{
    (void)db;
    return 4 << 20;
}

const char *db_server_version(const struct db *db)
{
    return db->mariadb ? "10.11.6-MariaDB" : "8.0.36";
}

bool db_is_mariadb(const struct db *db)
{
    return db->mariadb;
}

bool db_is_galera(const struct db *db)
{
    (void)db;
    return false;
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
    (void)sql, (void)len;
    if (fails(db))
        return fail(db, ec);
    if (effect) {
        effect->matched = draw(4);
        effect->changed = effect->matched ? draw((unsigned)effect->matched + 1) : 0;
        effect->first_id = 1 + draw(200);
    }
    return ERR_OK;
}

static inline enum err answer(struct db *db, bool stream, struct db_rows **out, struct errctx *ec)
{
    struct db_rows *rows;

    if (fails(db))
        return fail(db, ec);
    rows = calloc(1, sizeof *rows);
    if (!rows)
        abort();
    rows->count = draw(5);
    rows->stream = stream;
    rows->values = calloc((stream ? 1 : rows->count) * COLUMNS + 1, sizeof *rows->values);
    if (!rows->values)
        abort();
    for (size_t i = 0; i < rows->count && !stream; i++)
        fill(rows->values + i * COLUMNS, i + 1);
    *out = rows;
    return ERR_OK;
}

enum err db_query(struct db *db, const char *sql, size_t len, struct db_rows **out, struct errctx *ec)
{
    (void)sql, (void)len;
    return answer(db, false, out, ec);
}

enum err db_stream(struct db *db, const char *sql, size_t len, struct db_rows **out, struct errctx *ec)
{
    (void)sql, (void)len;
    return answer(db, true, out, ec);
}

enum err db_check_rows(struct db *db, struct errctx *ec)
{
    return fails(db) ? fail(db, ec) : ERR_OK;
}

enum err db_send(struct db *db, const char *sql, size_t len, struct errctx *ec)
{
    (void)sql, (void)len;
    return fails(db) ? fail(db, ec) : ERR_OK;
}

bool db_has_answer(const struct db *db, int timeout_ms)
{
    (void)db, (void)timeout_ms;
    return true;
}

enum err db_read(struct db *db, struct db_rows **out, struct errctx *ec)
{
    return answer(db, false, out, ec);
}

int64_t db_connection_id(const struct db *db)
{
    return db->broken ? 0 : 7;
}

enum err db_commit(struct db *db, struct errctx *ec)
{
    if (!fails(db))
        return ERR_OK;
    if (draw(2) && !db->broken)
        return err_set(ec, ERR_CONFLICT, "the input says so");
    db->broken = true;
    return err_set(ec, ERR_UNKNOWN, "the input says so");
}

size_t db_escape(struct db *db, char *out, const char *text, size_t len)
{
    size_t n = 0;

    (void)db;
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\'' || text[i] == '\\')
            out[n++] = '\\';
        out[n++] = text[i];
    }
    out[n] = '\0';
    return n;
}

size_t db_rows_count(const struct db_rows *rows)
{
    return rows->stream ? 0 : rows->count;
}

void db_rows_rewind(struct db_rows *rows)
{
    rows->at = 0;
}

bool db_rows_next(struct db_rows *rows)
{
    if (!rows || rows->at > rows->count)
        return false;
    rows->at++;
    if (rows->stream) {
        clear(rows->values);
        if (rows->at <= rows->count)
            fill(rows->values, rows->at);
    }
    return rows->at <= rows->count;
}

const char *db_text(const struct db_rows *rows, unsigned col)
{
    if (col >= COLUMNS || rows->at < 1 || rows->at > rows->count)
        abort(); /* there is no such row */
    return rows->values[rows->stream ? col : (rows->at - 1) * COLUMNS + col];
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
    for (size_t i = 0; i < (rows->stream ? 1 : rows->count); i++)
        clear(rows->values + i * COLUMNS);
    free(rows->values);
    free(rows);
}

#endif
