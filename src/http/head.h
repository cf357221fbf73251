/* SPDX-License-Identifier: MIT */
/*
 * head: reads the head of a request of HTTP/1.x: its line and its fields. Pure.
 *
 * Invariants  What is not certainly right is refused, for two readers of one connection must never differ about where a
 *             request ends: a line that does not end with CR LF, a folded line, a blank before a colon, a control
 *             character, lengths that stand twice or are no plain number, a length beside chunks, a coding that is not
 *             "chunked". The method of a head that was read is one of HTTP's: others get 501.
 * Ownership   A head points into the text that it was read from.
 * Limits      HEAD_MAX bytes.
 * Facts       RFC 9112, RFC 9110 (methods), RFC 5789 (PATCH).
 */
#ifndef HTTP_HEAD_H
#define HTTP_HEAD_H

#include "shardwheel/base.h"

#define HEAD_MAX ((size_t)64 * 1024)

enum head_end {
    HEAD_MORE,     /* it is not whole */
    HEAD_WHOLE,    /* it ends at *end */
    HEAD_BAD,      /* it is no HTTP */
    HEAD_TOO_LONG, /* longer than HEAD_MAX */
};

struct http_head {
    const char *method;
    const char *path;   /* without query; decoded; never has a NUL inside */
    const char *query;  /* as it was sent, without its question mark; "" when there is none */
    const char *fields; /* name NUL value NUL, and so on; ended by an empty name */
    bool old;           /* HTTP/1.0 */
    bool keep;          /* the client asked to keep the connection */
    bool may_keep;      /* it did, or HTTP/1.1 says so for one that says nothing */
    bool expects_continue;
    bool chunked;
    bool has_length;
    uint64_t length;
};

/* Looks for the blank line at the end. *scanned is 0 at first and is kept between calls with more bytes of the same
 * head. */
enum head_end head_find_end(const char *bytes, size_t len, size_t *scanned, size_t *end);
/* Reads `len` bytes that head_find_end found whole, and changes them. 0, or the HTTP status of the refusal with its
 * reason. */
int head_read(char *text, size_t len, struct http_head *out, const char **why);
/* The value of the first field of that name, in any case; NULL when absent. */
const char *head_get_field(const struct http_head *head, const char *name);
/* The value of the field of that name behind `value`, which a former call gave; NULL when there is no other. */
const char *head_get_next_field(const char *value, const char *name);

#endif
