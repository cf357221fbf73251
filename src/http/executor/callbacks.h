/* SPDX-License-Identifier: MIT */
/*
 * callbacks: reads the bodies of the executors' calls, in every form that executors send; docs/api.md lists them.
 *
 * Memory      A body of 64 MiB is an ordinary backlog. It is read a piece at a time: a piece is stored before the next
 *             one is read, and holds no more than CALLBACKS_MAX results and some MiB of messages, whatever the body
 *             has.
 * Threads     Any; a reader is one thread's.
 */
#ifndef HTTP_EXECUTOR_CALLBACKS_H
#define HTTP_EXECUTOR_CALLBACKS_H

#include "http/json.h"
#include "shardwheel/record.h"

#define CALLBACKS_MAX COMPLETE_ENTRIES_MAX /* results in a piece: as many as a transaction takes */
/* Of messages in a piece (the last one may go beyond it): a sixteenth of the body, but within these bounds. */
#define CALLBACKS_BYTES_MIN ((size_t)1 << 20)
#define CALLBACKS_BYTES_MAX ((size_t)4 << 20)
#define CALLBACK_TEXT_MAX ((size_t)1 << 16) /* of a message: a column takes less */

/* Results to be stored together; their messages are its own. */
struct callback_piece {
    struct callback_entry entries[CALLBACKS_MAX];
    size_t count;
    size_t bytes;
};

struct callback_reader {
    struct json_value list; /* the array in the body, which must outlive this; absent: there is none */
    struct json_place place;
    size_t piece_bytes;      /* of messages */
    size_t index;            /* of the next element */
    size_t malformed;        /* elements left out so far */
    struct errctx complaint; /* says of the first malformed element where it is and what is wrong */
};

/* A place between two pieces, whatever memory the body is in. */
struct callback_mark {
    size_t offset; /* in the list */
    size_t index, malformed;
    struct errctx complaint;
};

/* ERR_INPUT when the body as a whole is no list of results: nothing of it may be stored. */
MUST_CHECK enum err callbacks_open(struct callback_reader *reader, const char *body, size_t len, struct errctx *ec);
/* The next results, none behind the last one; ends what the piece held before. A malformed element is no error: see
 * `malformed`. */
MUST_CHECK enum err callbacks_next(struct callback_reader *reader, struct callback_piece *piece, struct errctx *ec);
void callbacks_get_mark(const struct callback_reader *reader, struct callback_mark *out);
void callbacks_go_to_mark(struct callback_reader *reader, const struct callback_mark *mark); /* of the same body */
size_t callbacks_count_left(const struct callback_reader *reader); /* elements, of whatever kind */
void callbacks_end_piece(struct callback_piece *piece);

/* ---- beat.c ------------------------------------------------------------------------------------------------------ */

/* The three texts of a registry call; NULL where absent or null. */
struct beat_body {
    char *group, *key, *value;
};
MUST_CHECK enum err beat_parse(const char *body, size_t len, struct beat_body *out, struct errctx *ec);
void beat_fini(struct beat_body *beat);

#endif
