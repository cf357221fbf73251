/* SPDX-License-Identifier: MIT */
#include "http/console/refuse.h"

#include <inttypes.h>
#include <string.h>

static bool fits(const struct console_refusal *row, const struct refusal *refusal)
{
    return row->kind == refusal->kind && (!row->field || (refusal->field && !strcmp(row->field, refusal->field)));
}

bool console_refuse_with(struct console_call *call, const struct refusal *refusal, const struct console_refusal *table,
                         size_t count)
{
    struct buf msg = {0};
    size_t i = 0;

    while (i < count && !fits(&table[i], refusal))
        i++;
    if (i == count)
        return false;
    for (size_t w = 0; w < REFUSAL_WORDS && table[i].words[w] != SAY_END; w++) {
        if (table[i].words[w] == SAY_BOUNDS && refusal->max)
            buf_printf(&msg, "[%" PRId64 "-%" PRId64 "]", refusal->min, refusal->max);
        else
            console_put_say(call, &msg, table[i].words[w]);
    }
    console_fail(call, buf_failed(&msg) ? NULL : msg.data);
    buf_fini(&msg);
    return true;
}

void console_refuse_by(struct console_call *call, const struct refusal *refusal, const struct console_refusal *table,
                       size_t count)
{
    if (!console_refuse_with(call, refusal, table, count))
        console_fail_refusal(call, refusal);
}
