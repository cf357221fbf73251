/* SPDX-License-Identifier: MIT */
/*
 * sqlbuf: the one place where values become SQL text.
 *
 * Identifiers and keywords come from constants of the source, numbers are written by us, texts are repaired to
 * UTF-8, escaped by the client library for this connection, and quoted. Errors are kept: test sqlbuf_failed once at
 * the end.
 */
#ifndef STORE_CONN_SQLBUF_H
#define STORE_CONN_SQLBUF_H

#include "shardwheel/cron.h"
#include "store/conn/mysql.h"

struct sqlbuf {
    struct buf text;
    struct buf scratch; /* a text after its repair */
    struct db *db;      /* of the connection that the statement is for */
};

/* How texts are made to fit columns of old tables, tried in this order; AS_IS repairs broken UTF-8 only. */
enum text_fit {
    TEXT_AS_IS,
    TEXT_BMP,   /* characters beyond U+FFFF become '?': utf8mb3 */
    TEXT_ASCII, /* all but ASCII becomes '?': latin1 and others */
    TEXT_FITS
};

void sqlbuf_start(struct sqlbuf *b, struct db *db);
void sqlbuf_fini(struct sqlbuf *b);
bool sqlbuf_failed(const struct sqlbuf *b);

void sql_puts(struct sqlbuf *b, const char *constant);
void sql_int(struct sqlbuf *b, int64_t value);
void sql_text(struct sqlbuf *b, const char *text);         /* 'quoted' */
void sql_text_or_null(struct sqlbuf *b, const char *text); /* NULL for NULL */
/* At most max_chars characters of the text, fitted; NULL for NULL. */
void sql_text_fitted(struct sqlbuf *b, const char *text, size_t max_chars, enum text_fit fit);
void sql_ids(struct sqlbuf *b, const int64_t *ids, size_t count); /* 1,2,3 */
/* A condition: the column `id` is one of these, ascending and distinct. Long runs of consecutive ids become ranges,
 * which the server reads as they lie instead of looking up each id. */
void sql_id_among(struct sqlbuf *b, const int64_t *ids, size_t count);
/* " AND COLUMN % n IN (...)", the jobs of those shards; nothing when these are all of them. */
void sql_and_shards(struct sqlbuf *b, const char *column, const int *shards, size_t count, int n);
void sql_datetime(struct sqlbuf *b, const struct zone *zone, int64_t epoch_s);

/* Pure parts. Both append to `out`. */
void sql_repair_text(struct buf *out, const char *text, size_t len, size_t max_chars, enum text_fit fit);
/* Bytes of `text` that hold at most max_units UTF-16 units and max_bytes bytes, never half a character. */
size_t sql_cut_text(const char *text, size_t max_units, size_t max_bytes);

#endif
