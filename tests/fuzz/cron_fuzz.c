/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target for cron expressions: byte 0 chooses a zone, bytes 1 to 8 are the start, the rest is the text. A
 * few occurrences are asked for; each must be a later whole second, and a refusal must say something.
 */
#include "shardwheel/cron.h"

#include <stdlib.h>
#include <string.h>

#define HEAD_SIZE 9
#define TEXT_MAX 512
#define MAX_YEAR 2126

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static const struct zone *pick_zone(uint8_t choice)
{
    static const char *const names[] = {"UTC",
                                        "America/New_York",
                                        "Australia/Lord_Howe",
                                        "Antarctica/Troll",
                                        "Africa/Casablanca",
                                        "Pacific/Apia",
                                        "Asia/Kathmandu",
                                        "-03:30"};
    static struct zone *zones[ARRAY_LEN(names)]; /* loaded once: the process of a fuzzer lives long */
    size_t i = choice % ARRAY_LEN(names);

    if (zones[i] == NULL)
        require(zone_load(names[i], &zones[i], NULL) == ERR_OK);
    return zones[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[TEXT_MAX + 1];
    struct cron *cron = NULL;
    struct errctx ec = {""};
    int64_t from_ms;
    enum err e;

    if (size < HEAD_SIZE || size - HEAD_SIZE > TEXT_MAX)
        return -1;
    memcpy(&from_ms, data + 1, sizeof(from_ms));
    if (data[0] & 0x80) /* mostly from 1970 to 2106, with milliseconds */
        from_ms = (int64_t)((uint64_t)from_ms % (UINT64_C(1000) << 32));
    memcpy(text, data + HEAD_SIZE, size - HEAD_SIZE);
    text[size - HEAD_SIZE] = '\0';
    e = cron_parse(text, MAX_YEAR, &cron, &ec);
    if (e) {
        require(e == ERR_INPUT && cron == NULL && ec.text[0] != '\0');
        return 0;
    }
    for (int i = 0; i < 4; i++) {
        int64_t next_ms = 0;

        e = cron_next(cron, pick_zone(data[0]), from_ms, &next_ms, &ec);
        if (e) {
            require((e == ERR_NOTFOUND || e == ERR_INPUT) && ec.text[0] != '\0');
            break;
        }
        require(next_ms > from_ms && next_ms % 1000 == 0);
        from_ms = next_ms;
    }
    cron_destroy(cron);
    return 0;
}
