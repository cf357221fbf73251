/* SPDX-License-Identifier: MIT */
/* Bodies of /api/callback and /api/registry: whatever comes, an error or texts that are whole. */
#include "http/executor/callbacks.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct callback_list list;
    struct beat_body beat;
    struct errctx ec;
    char *body = malloc(size + 1); /* as the server hands it over: ended by a NUL */

    if (!body)
        return 0;
    memcpy(body, data, size);
    body[size] = '\0';
    errctx_clear(&ec);
    if (!callbacks_parse(body, size, &list, &ec)) {
        size_t total = 0;
        for (size_t i = 0; i < list.count; i++)
            total += list.entries[i].message ? strlen(list.entries[i].message) : 0;
        /* U+FFFD takes three bytes in the place of one; numbers and nested values may be written a little longer. */
        if (total > 3 * size * 8 + 64 || (list.malformed && !list.complaint.text[0]))
            abort();
        callbacks_fini(&list);
    } else if (!ec.text[0]) {
        abort();
    }
    if (!beat_parse(body, size, &beat, &ec))
        beat_fini(&beat);
    free(body);
    return 0;
}
