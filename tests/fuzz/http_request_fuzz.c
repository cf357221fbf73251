/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target for the reading of HTTP requests: heads, chunks, forms, cookies. Whatever the bytes, cut into pieces they
 * give what they give as a whole. The first byte chooses what they are, the second the pieces.
 * Run: http_request_fuzz -max_len=4096 -max_total_time=60
 */
#include <stdlib.h>
#include <string.h>

#include "http/chunks.h"
#include "http/form.h"
#include "http/head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* Of the exact size, so that a read beyond it is seen. */
static char *copy_bytes(const uint8_t *data, size_t size)
{
    char *copy = malloc(size ? size : 1);

    require(copy != NULL);
    memcpy(copy, data, size);
    return copy;
}

static enum head_end find_end(const uint8_t *data, size_t size, size_t step, size_t *end)
{
    size_t scanned = 0;
    enum head_end got = HEAD_MORE;

    for (size_t len = step < size ? step : size;; len = len + step < size ? len + step : size) {
        char *bytes = copy_bytes(data, len);
        got = len ? head_find_end(bytes, len, &scanned, end) : HEAD_MORE;
        free(bytes);
        if (got != HEAD_MORE || len == size)
            return got;
    }
}

static void read_head(const uint8_t *data, size_t size, size_t step)
{
    size_t whole_end = 0, end = 0;
    enum head_end whole = find_end(data, size, size ? size : 1, &whole_end);
    struct http_head head;
    const char *why = NULL;

    require(find_end(data, size, step, &end) == whole);
    if (whole != HEAD_WHOLE)
        return;
    require(end == whole_end && end <= size);
    char *text = copy_bytes(data, end);
    int status = head_read(text, end, &head, &why);
    require((status != 0) == (why != NULL) && (!status || status == 400 || status == 501 || status == 505));
    if (!status) {
        require(*head.method && *head.path == '/' && !(head.chunked && head.has_length));
        require(head.old || head_get_field(&head, "HOST"));
        require(!head.has_length || head_get_field(&head, "content-length"));
        for (const char *at = head.fields; *at; at += strlen(at) + 1)
            require(at >= text && at + strlen(at) < text + end);
    }
    free(text);
}

static enum chunks_state read_chunks(const uint8_t *data, size_t size, size_t step, struct buf *body, size_t *taken)
{
    struct chunks c = {0};
    enum chunks_state state = CHUNKS_MORE;

    for (*taken = 0; *taken < size && state == CHUNKS_MORE;) {
        size_t len = size - *taken < step ? size - *taken : step, at = 0;
        char *bytes = copy_bytes(data + *taken, len);
        while (at < len && state == CHUNKS_MORE) {
            size_t used = 0, data_len = 0;
            const char *piece = NULL;
            state = chunks_step(&c, bytes + at, len - at, &used, &piece, &data_len);
            require(used > 0 && used <= len - at && data_len <= used);
            if (data_len)
                buf_append(body, piece, data_len);
            at += used;
        }
        free(bytes);
        *taken += at;
    }
    return state;
}

static void compare_chunks(const uint8_t *data, size_t size, size_t step)
{
    struct buf whole = {0}, pieces = {0};
    size_t whole_taken, taken;

    require(read_chunks(data, size, size ? size : 1, &whole, &whole_taken) ==
            read_chunks(data, size, step, &pieces, &taken));
    require(whole_taken == taken && whole.len == pieces.len);
    require(whole.len == 0 || !memcmp(whole.data, pieces.data, whole.len));
    buf_fini(&whole);
    buf_fini(&pieces);
}

static void read_form(const uint8_t *data, size_t size)
{
    char *text = copy_bytes(data, size), out[16];
    struct form form;
    struct errctx ec;

    if (!form_parse(text, size, &form, &ec)) {
        for (size_t i = 0; i < form.count; i++)
            require(form_get(&form, form.fields[i].name) && strlen(form.fields[i].value) <= size);
        form_fini(&form);
    }
    free(text);
    text = malloc(size + 1);
    require(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    if (cookie_find(text, "a", out, sizeof out))
        require(strlen(out) < sizeof out && strstr(text, "a="));
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    size_t step = (size_t)data[1] + 1;
    switch (data[0] % 3) {
    case 0: read_head(data + 2, size - 2, step); break;
    case 1: compare_chunks(data + 2, size - 2, step); break;
    default: read_form(data + 2, size - 2); break;
    }
    return 0;
}
