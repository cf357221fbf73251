/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target for the reading of an executor's log lines. The first byte chooses whether the answer was cut, and the
 * line asked for.
 * Run: log_answer_fuzz -max_len=4096 -max_total_time=60
 */
#include <stdlib.h>
#include <string.h>

#include "shardwheel/executor/log_answer.h"
#include "shardwheel/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct log_answer a;
    int64_t from;
    char *body;

    if (size < 1)
        return 0;
    from = 1 + data[0] / 2;
    body = malloc(size); /* of the exact size and with the NUL that the client promises, so that an overrun is seen */
    if (!body)
        return 0;
    memcpy(body, data + 1, size - 1);
    body[size - 1] = '\0';
    log_answer_parse(200, body, size - 1, data[0] & 1, from, &a);
    require(a.answer.code != 0 && a.from_line == from && a.to_line >= from - 1);
    require((a.answer.code == CODE_OK) == (a.content != NULL));
    if (a.content) {
        require(strlen(a.content) == a.len && utf8_is_valid(a.content, a.len));
        require(a.len > 0 || a.to_line == from - 1);
    }
    log_answer_fini(&a);
    free(body);
    return 0;
}
