/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target for the reading of HTTP answers: whatever the bytes, cut into pieces they give what they give as a whole.
 * The first two bytes choose the pieces, and whether the start of too long a body is taken.
 * Run: http_reader_fuzz -max_len=4096 -max_total_time=60
 */
#include <stdlib.h>
#include <string.h>

#include "executor/http_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
    enum http_reading got;
    int status;
    bool keeps;
    size_t taken; /* bytes of the input that belong to the answer */
    char *body;
    size_t body_len;
};

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void read_pieces(const uint8_t *data, size_t size, size_t first, size_t step, bool takes_start,
                        struct outcome *out)
{
    struct http_reader r = {.takes_start = takes_start};
    size_t fed = 0, len = 0, piece = first;
    char *bytes = NULL;
    enum http_reading got = HTTP_READ_MORE;

    while (got == HTTP_READ_MORE && fed < size) {
        size_t n = piece && piece < size - fed ? piece : size - fed;
        char *grown = malloc(len + n); /* of the exact size, and at another place each time */

        require(grown != NULL);
        memcpy(grown, bytes ? bytes : "", len);
        free(bytes);
        bytes = grown;
        memcpy(bytes + len, data + fed, n);
        len += n;
        fed += n;
        got = http_reader_step(&r, bytes, &len);
        require(r.at <= len && (got != HTTP_READ_MORE || r.phase != HTTP_PHASE_DONE));
        piece = step;
    }
    if (got == HTTP_READ_MORE)
        got = http_reader_end(&r);
    *out = (struct outcome){
        .got = got, .status = r.status, .keeps = http_reader_get_idle_s(&r), .taken = fed - (len - r.at)};
    if (got == HTTP_READ_WHOLE) {
        require(r.status >= 200 && r.status <= 999);
        require(r.body_len <= HTTP_BODY_MAX && r.body_at + r.body_len <= r.at);
        out->body_len = r.body_len;
        out->body = malloc(r.body_len + 1);
        require(out->body != NULL);
        memcpy(out->body, bytes ? bytes + r.body_at : "", r.body_len);
    }
    free(bytes);
}

static void require_same(const struct outcome *a, const struct outcome *b)
{
    require(a->got == b->got);
    if (a->got != HTTP_READ_WHOLE)
        return;
    require(a->status == b->status && a->keeps == b->keeps && a->taken == b->taken && a->body_len == b->body_len);
    require(memcmp(a->body, b->body, a->body_len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct outcome whole, pieces, bytes;

    if (size < 2)
        return 0;
    read_pieces(data + 2, size - 2, 0, 0, data[1] & 1, &whole);
    read_pieces(data + 2, size - 2, data[0], data[1], data[1] & 1, &pieces);
    read_pieces(data + 2, size - 2, 1, 1, data[1] & 1, &bytes);
    require_same(&whole, &pieces);
    require_same(&whole, &bytes);
    free(whole.body);
    free(pieces.body);
    free(bytes.body);
    return 0;
}
