/* SPDX-License-Identifier: MIT */
/* store/rows: the answer of a statement, row by row. See store/conn.h for threads, ownership and errors. */
#ifndef SHARDWHEEL_STORE_ROWS_H
#define SHARDWHEEL_STORE_ROWS_H

#include "shardwheel/base.h"

struct db_rows;

size_t db_rows_count(const struct db_rows *rows);
void db_rows_rewind(struct db_rows *rows); /* before the first row */
bool db_rows_next(struct db_rows *rows);   /* to the first row, then to the next; false at the end and for NULL */
/* Columns of the current row, from 0; texts live as long as the rows. */
const char *db_text(const struct db_rows *rows, unsigned col); /* NULL for NULL */
const char *db_text_or_empty(const struct db_rows *rows, unsigned col);
int64_t db_int(const struct db_rows *rows, unsigned col); /* 0 for NULL */
/* A time or a span in seconds or milliseconds, of which anybody may have written any number: within the year 9999 on
 * both sides of 1970, so that it can be added and multiplied. 0 for NULL. */
int64_t db_seconds(const struct db_rows *rows, unsigned col);
int64_t db_millis(const struct db_rows *rows, unsigned col);
void db_rows_destroy(struct db_rows *rows); /* NULL is fine */

#endif
