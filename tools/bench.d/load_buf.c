/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "load_buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* An empty buffer larger than this is freed: one request of 5 MiB must not stay for the life of a connection. */
enum { KEEP_BYTES = 64 * 1024 };

void die(const char *format, ...)
{
    va_list args;

    fputs("load_executor: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

void buf_reserve(struct buf *b, size_t more)
{
    size_t need = b->len + more;
    size_t cap = b->cap ? b->cap : 512; /* room for several answers */
    char *data;

    if (need <= b->cap)
        return;
    while (cap < need)
        cap *= 2;
    data = realloc(b->data, cap);
    if (!data)
        die("out of memory (a buffer of %zu bytes)", cap);
    b->data = data;
    b->cap = cap;
}

void buf_append(struct buf *b, const void *data, size_t len)
{
    if (len == 0)
        return;
    buf_reserve(b, len);
    memcpy(b->data + b->len, data, len);
    b->len += len;
}

void buf_printf(struct buf *b, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0)
        die("cannot format '%s'", format);
    buf_reserve(b, (size_t)n + 1);
    va_start(args, format);
    vsnprintf(b->data + b->len, (size_t)n + 1, format, args);
    va_end(args);
    b->len += (size_t)n;
}

char *put_int(char *at, int64_t n)
{
    char digits[INT_TEXT_MAX];
    uint64_t left = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    size_t first = sizeof(digits);

    do {
        digits[--first] = (char)('0' + left % 10);
        left /= 10;
    } while (left);
    if (n < 0)
        *at++ = '-';
    memcpy(at, digits + first, sizeof(digits) - first);
    return at + sizeof(digits) - first;
}

void buf_append_int(struct buf *b, int64_t n)
{
    buf_reserve(b, INT_TEXT_MAX);
    b->len = (size_t)(put_int(b->data + b->len, n) - b->data);
}

void buf_consume(struct buf *b, size_t len)
{
    b->len -= len;
    if (b->len && len)
        memmove(b->data, b->data + len, b->len);
}

void buf_shrink(struct buf *b)
{
    if (b->len == 0 && b->cap > KEEP_BYTES)
        buf_fini(b);
}

void buf_fini(struct buf *b)
{
    free(b->data);
    *b = (struct buf){0};
}

static int64_t clock_us(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t now_wall_us(void)
{
    return clock_us(CLOCK_REALTIME);
}

int64_t now_mono_us(void)
{
    return clock_us(CLOCK_MONOTONIC);
}
