/* SPDX-License-Identifier: MIT */
/*
 * load_buf: a growing byte buffer, the clocks, and the one way this program gives up.
 *
 * Memory that cannot be had ends the program with a message: a load executor that goes on with half its
 * requests would only spoil the figures.
 */
#ifndef LOAD_BUF_H
#define LOAD_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
    char *data;
    size_t len;
    size_t cap;
};

void buf_reserve(struct buf *b, size_t more); /* afterwards `more` bytes fit behind len */
void buf_append(struct buf *b, const void *data, size_t len);
__attribute__((format(printf, 2, 3))) void buf_printf(struct buf *b, const char *format, ...);
void buf_append_int(struct buf *b, int64_t n);
void buf_consume(struct buf *b, size_t len); /* drops len bytes at the front */
void buf_shrink(struct buf *b);              /* gives the memory back when empty and large */
void buf_fini(struct buf *b);

enum { INT_TEXT_MAX = 20 };         /* bytes of the longest number */
char *put_int(char *at, int64_t n); /* writes n in decimal without a NUL; the place behind it */

int64_t now_wall_us(void);
int64_t now_mono_us(void);

/* Prints "load_executor: ..." on stderr and ends the program with status 1. */
__attribute__((noreturn, format(printf, 1, 2))) void die(const char *format, ...);

#endif
