/* SPDX-License-Identifier: MIT */
/*
 * http_reader: reads one answer of HTTP/1.x from bytes as they come. Pure.
 *
 * Invariants  However the bytes are cut into pieces, the same comes of them. What is not certainly right is
 *             HTTP_READ_BAD: a name with blanks, a folded line, a control character, lengths that differ or are no
 *             numbers, a length beside chunks.
 * Ownership   The caller keeps the bytes; the body is a part of them.
 * Limits      Heads (those of 1xx answers, which are skipped, and trailers count too) of HTTP_HEAD_MAX bytes, bodies of
 *             HTTP_BODY_MAX. A longer body is told as soon as that is known, or with takes_start once HTTP_BODY_MAX of
 *             it are there.
 * Facts       RFC 9112. A line may end with LF alone, as its section 2.2 allows.
 */
#ifndef EXECUTOR_HTTP_READER_H
#define EXECUTOR_HTTP_READER_H

#include "shardwheel/base.h"

#define HTTP_HEAD_MAX ((size_t)64 * 1024)
#define HTTP_BODY_MAX ((size_t)1024 * 1024)
#define HTTP_IDLE_MAX_S 60 /* executors without a Keep-Alive field close theirs after 75 s or more */

enum http_reading {
    HTTP_READ_MORE,     /* not all of it is there */
    HTTP_READ_WHOLE,    /* status and body are there */
    HTTP_READ_BAD,      /* it is no HTTP */
    HTTP_READ_TOO_LONG, /* the body is; with takes_start, status and the start of the body are there */
    HTTP_READ_CUT,      /* http_reader_end alone: it ended too early */
};

enum http_phase {
    HTTP_PHASE_STATUS,
    HTTP_PHASE_FIELDS,
    HTTP_PHASE_COUNTED,    /* a body of known length */
    HTTP_PHASE_CHUNK_SIZE, /* a line */
    HTTP_PHASE_CHUNK,
    HTTP_PHASE_CHUNK_END, /* the line end behind a chunk */
    HTTP_PHASE_TRAILERS,
    HTTP_PHASE_TO_END, /* a body that ends with the connection */
    HTTP_PHASE_DONE,
};

/* All zero: nothing was read. */
struct http_reader {
    bool takes_start; /* given by the caller: of too long a body the start is wanted */
    bool too_long;
    enum http_phase phase;
    int status;
    bool old;        /* HTTP/1.0 */
    bool close;      /* the peer wants to end the connection */
    bool chunked;    /* as the fields say, as the next two */
    bool has_length; /* of the body */
    size_t length;
    bool has_idle; /* the peer says how long it keeps the connection */
    int idle_s;
    size_t at;        /* bytes that were read */
    size_t scanned;   /* up to here there is no end of the present line */
    size_t head_size; /* bytes of lines so far */
    size_t left;      /* of the body, or of the chunk */
    size_t body_at;   /* where the body begins, as soon as its head is whole */
    size_t body_len;
};

/* `bytes`: all that came so far, less what an earlier call took out (it moves the chunks of a body together and lowers
 * *len). Call it no more after anything but HTTP_READ_MORE. When whole, bytes from `at` on are none of this answer. */
enum http_reading http_reader_step(struct http_reader *r, char *bytes, size_t *len);
/* The connection has ended, after HTTP_READ_MORE. */
enum http_reading http_reader_end(struct http_reader *r);
/* How long the connection may be idle after a whole answer; 0: it must not be used again. */
int http_reader_get_idle_s(const struct http_reader *r);

/* What a Keep-Alive field says (timeout=5, max=100), as http_reader_get_idle_s has it: a second less than the peer
 * waits, since a request that crosses its end is lost, and HTTP_IDLE_MAX_S at most. */
int http_read_keep_alive(const char *value, size_t len);

#endif
