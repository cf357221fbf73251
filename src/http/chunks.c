/* SPDX-License-Identifier: MIT */
#include "http/chunks.h"

#define SIZE_DIGITS 15
#define LINE_MAX_BYTES 1024
#define TRAILER_MAX ((size_t)16 * 1024)

static bool is_text(char c)
{
    return (unsigned char)c >= ' ' ? c != 0x7f : c == '\t';
}

/* A byte of the line that tells a chunk's size. */
static bool read_size(struct chunks *c, char byte)
{
    int digit = c->phase == CHUNKS_SIZE ? hex_digit(byte) : -1;

    if (digit >= 0) {
        c->left = c->left * 16 + (uint64_t)digit;
        return ++c->line <= SIZE_DIGITS;
    }
    if (!c->line || ++c->line > LINE_MAX_BYTES) /* no digit, or an extension without an end */
        return false;
    if (byte == '\r')
        c->phase = CHUNKS_SIZE_END;
    else if (c->phase == CHUNKS_EXTENSION ? is_text(byte) : byte == ';')
        c->phase = CHUNKS_EXTENSION;
    else
        return false;
    return true;
}

static bool read_trailer(struct chunks *c, char byte)
{
    if (++c->trailer > TRAILER_MAX)
        return false;
    if (byte == '\r') {
        c->phase = CHUNKS_TRAILER_END;
        return true;
    }
    c->line++;
    return is_text(byte);
}

/* One byte that is no data. */
static enum chunks_state read_byte(struct chunks *c, char byte)
{
    bool good = byte == '\n';

    switch (c->phase) {
    case CHUNKS_SIZE:
    case CHUNKS_EXTENSION: good = read_size(c, byte); break;
    case CHUNKS_SIZE_END:
        c->phase = c->left ? CHUNKS_DATA : CHUNKS_TRAILER;
        c->line = 0;
        break;
    case CHUNKS_DATA:
    case CHUNKS_DATA_CR:
        good = byte == '\r';
        c->phase = CHUNKS_DATA_LF;
        break;
    case CHUNKS_DATA_LF: c->phase = CHUNKS_SIZE; break;
    case CHUNKS_TRAILER: good = read_trailer(c, byte); break;
    case CHUNKS_TRAILER_END:
        if (good && !c->line)
            return CHUNKS_WHOLE;
        c->phase = CHUNKS_TRAILER;
        c->line = 0;
        break;
    }
    return good ? CHUNKS_MORE : CHUNKS_BAD;
}

enum chunks_state chunks_step(struct chunks *c, const char *bytes, size_t len, size_t *used, const char **data,
                              size_t *data_len)
{
    enum chunks_state state = CHUNKS_MORE;
    size_t at = 0;

    *data_len = 0;
    while (at < len && state == CHUNKS_MORE && c->phase != CHUNKS_DATA)
        state = read_byte(c, bytes[at++]);
    if (state == CHUNKS_MORE && c->phase == CHUNKS_DATA) {
        *data = bytes + at;
        *data_len = len - at < c->left ? len - at : (size_t)c->left;
        at += *data_len;
        c->left -= *data_len;
        if (!c->left)
            c->phase = CHUNKS_DATA_CR;
    }
    *used = at;
    return state;
}
