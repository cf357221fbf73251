/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target for log lines as JSON: any line becomes one object, on one line, of valid UTF-8.
 * Run: log_json_fuzz -max_len=3000 -max_total_time=60
 */
#include <stdlib.h>
#include <string.h>

#include "shardwheel/base.h"
#include "shardwheel/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf out = {0};
    char *line = malloc(size + 1);
    bool in_text = false;
    size_t depth = 0;

    if (!line)
        return 0;
    memcpy(line, data, size);
    line[size] = '\0';
    log_put_json(&out, line);
    if (buf_failed(&out) || !utf8_is_valid(out.data, out.len) || strlen(out.data) != out.len)
        abort();
    for (const char *p = out.data; *p; p++) {
        if ((unsigned char)*p < 0x20)
            abort();
        if (in_text && *p == '\\')
            p++;
        else if (*p == '"')
            in_text = !in_text;
        else if (!in_text && *p == '{')
            depth++;
        else if (!in_text && *p == '}' && --depth == 0 && p[1])
            abort();
    }
    if (in_text || depth)
        abort();
    buf_fini(&out);
    free(line);
    return 0;
}
