/* SPDX-License-Identifier: MIT */
/*
 * chunks: takes the chunks of a body apart, as they come. Pure.
 *
 * Invariants  However the bytes are cut, the same comes of them. Sizes are hexadecimal digits and nothing else; lines
 *             end with CR LF. Extensions and trailers are read over.
 * Facts       RFC 9112, section 7.1.
 */
#ifndef HTTP_CHUNKS_H
#define HTTP_CHUNKS_H

#include "shardwheel/base.h"

enum chunks_state {
    CHUNKS_MORE,  /* `data` may be empty */
    CHUNKS_WHOLE, /* that was the end of the body */
    CHUNKS_BAD,
};

enum chunks_phase {
    CHUNKS_SIZE,
    CHUNKS_EXTENSION,
    CHUNKS_SIZE_END, /* the LF behind a size */
    CHUNKS_DATA,
    CHUNKS_DATA_CR,
    CHUNKS_DATA_LF,
    CHUNKS_TRAILER,
    CHUNKS_TRAILER_END, /* the LF behind a trailer, or the last one */
};

/* All zero: nothing was read. */
struct chunks {
    enum chunks_phase phase;
    size_t line;    /* bytes of the present line */
    size_t trailer; /* bytes of all trailers */
    uint64_t left;  /* of the present chunk; its size while that is read */
};

/* Reads up to the next piece of data or the end of the bytes. *used: how many bytes were read; the piece is a part of
 * them. */
enum chunks_state chunks_step(struct chunks *c, const char *bytes, size_t len, size_t *used, const char **data,
                              size_t *data_len);

#endif
