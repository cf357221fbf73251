/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target for the reading of executors' answers. The first byte chooses the HTTP status and the path. The short way
 * for common answers must say what the long one says.
 * Run: answer_fuzz -max_len=4096 -max_total_time=60
 */
#include <stdlib.h>
#include <string.h>

#include "shardwheel/executor/answer.h"
#include "shardwheel/executor/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* Blanks before it make it one of which the members that count alone are read. */
static void read_as_long_one(const uint8_t *data, size_t size)
{
    enum { BLANKS = 4100 };
    char *body = malloc(BLANKS + size + 1);
    struct answer a;

    if (!body)
        return;
    memset(body, ' ', BLANKS);
    memcpy(body + BLANKS, data, size);
    body[BLANKS + size] = '\0';
    answer_parse(200, body, BLANKS + size, request_path(true), &a);
    require(a.code != 0 && (a.from_executor || a.code == CODE_FAILED));
    answer_fini(&a);
    free(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int statuses[] = {200, 200, 200, 404, 500};
    struct answer a, full;
    uint8_t choice;
    char *body;

    if (size < 1)
        return 0;
    choice = data[0];
    body = malloc(size); /* of the exact size and with the NUL that the client promises, so that an overrun is seen */
    if (!body)
        return 0;
    memcpy(body, data + 1, size - 1);
    body[size - 1] = '\0';
    answer_parse(statuses[choice / 2 % ARRAY_LEN(statuses)], body, size - 1, request_path(choice & 1), &a);
    require(a.code != 0);
    require(a.from_executor || a.code == CODE_FAILED);
    require(a.from_executor || a.text);
    require(!a.text || strlen(a.text) < 17000);
    require(!a.unknown_path || a.code == CODE_FAILED);
    answer_parse_fully(statuses[choice / 2 % ARRAY_LEN(statuses)], body, size - 1, request_path(choice & 1), &full);
    require(a.code == full.code && a.from_executor == full.from_executor && a.unknown_path == full.unknown_path);
    require(strcmp(a.text ? a.text : "", full.text ? full.text : "") == 0);
    answer_fini(&full);
    answer_fini(&a);
    free(body);
    read_as_long_one(data + 1, size - 1);
    return 0;
}
