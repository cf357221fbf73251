/* SPDX-License-Identifier: MIT */
#include "http/caller.h"

#include <stdlib.h>
#include <string.h>

struct exchange *caller_begin(const char *head, size_t len)
{
    struct exchange *ex = calloc(1, sizeof *ex);
    char *text = malloc(len + 1);

    if (!ex || !text) {
        free(ex);
        free(text);
        return NULL;
    }
    memcpy(text, head, len);
    text[len] = '\0';
    ex->text = text;
    return ex;
}

void caller_end(struct exchange **ex)
{
    if (!*ex)
        return;
    http_body_fini(&(*ex)->body);
    free((*ex)->text);
    free(*ex);
    *ex = NULL;
}

void caller_give_up(struct exchange *ex, enum body_state state)
{
    http_body_fini(&ex->body);
    ex->body_state = state;
}

/* Large bodies share the room; what is small has it always. */
static void keep_body(struct exchange *ex, struct http_room *room, const char *data, size_t len)
{
    size_t want = ex->body.bytes.len + len;

    if (want > ex->max_body) {
        caller_give_up(ex, BODY_TOO_LARGE);
        return;
    }
    if (want > SMALL_BODY) {
        ex->body.room = room;
        if (!room_take(room, want - ex->body.held)) {
            caller_give_up(ex, BODY_NO_ROOM);
            return;
        }
        ex->body.held = want;
    }
    buf_append(&ex->body.bytes, data, len);
    if (buf_failed(&ex->body.bytes))
        caller_give_up(ex, BODY_NO_ROOM);
}

bool caller_take_body(struct exchange *ex, struct http_room *room, const char *bytes, size_t len, size_t *used)
{
    *used = 0;
    if (!ex->head.chunked) {
        *used = len < ex->left ? len : (size_t)ex->left;
        ex->left -= *used;
        ex->drained = !ex->left;
        if (*used)
            keep_body(ex, room, bytes, *used);
        return true;
    }
    while (*used < len && !ex->drained && ex->body_state == BODY_WHOLE) {
        size_t n, data_len;
        const char *data = NULL;
        enum chunks_state state = chunks_step(&ex->chunks, bytes + *used, len - *used, &n, &data, &data_len);
        *used += n;
        if (state == CHUNKS_BAD)
            return false;
        if (data_len)
            keep_body(ex, room, data, data_len);
        ex->drained = state == CHUNKS_WHOLE;
    }
    return true;
}
