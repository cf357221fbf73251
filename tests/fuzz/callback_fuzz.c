/* SPDX-License-Identifier: MIT */
/* Bodies of /api/callback and /api/registry: whatever comes, an error or texts that are whole. */
#include "http/executor/callbacks.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct callback_piece piece;
    struct callback_reader reader;
    struct beat_body beat;
    struct errctx ec;
    char *body = malloc(size + 1); /* as the server hands it over: ended by a NUL */
    enum err e;

    if (!body)
        return 0;
    memcpy(body, data, size);
    body[size] = '\0';
    errctx_clear(&ec);
    e = callbacks_open(&reader, body, size, &ec);
    if (e && !ec.text[0])
        abort();
    while (!e && !(e = callbacks_next(&reader, &piece, &ec)) && piece.count) {
        for (size_t i = 0; i < piece.count; i++) {
            const char *message = piece.entries[i].message;
            if (message && (strlen(message) > CALLBACK_TEXT_MAX + 8 || strlen(message) > 6 * size + 2))
                abort();
        }
    }
    if (reader.malformed && !reader.complaint.text[0])
        abort();
    callbacks_end_piece(&piece);
    if (!beat_parse(body, size, &beat, &ec))
        beat_fini(&beat);
    free(body);
    return 0;
}
