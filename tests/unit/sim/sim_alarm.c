/* SPDX-License-Identifier: MIT */
/* alarm.h for simulations: somebody can be told of each failure, and nobody is. */
#include "shardwheel/alarm.h"

#include <stdlib.h>

struct alarms {
    char unused;
};

enum err alarms_create(const struct alarms_opts *opts, const struct clock *clock, struct counters *counters,
                       struct alarms **out, struct errctx *ec)
{
    (void)opts, (void)clock, (void)counters, (void)ec;
    *out = calloc(1, sizeof **out);
    if (!*out)
        abort();
    return ERR_OK;
}

enum err alarms_start(struct alarms *a, struct errctx *ec)
{
    (void)a, (void)ec;
    return ERR_OK;
}

bool alarms_choose(struct alarms *a, const char *app, bool *wanted)
{
    (void)a, (void)app, (void)wanted;
    return true;
}

void alarms_poke(struct alarms *a)
{
    (void)a;
}

void alarms_stop(struct alarms *a)
{
    (void)a;
}

void alarms_join(struct alarms *a)
{
    (void)a;
}

void alarms_destroy(struct alarms *a)
{
    free(a);
}
