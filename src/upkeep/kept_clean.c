/* SPDX-License-Identifier: MIT */
#include "upkeep/kept_clean.h"

#include "shardwheel/store/kept.h"

#define DAY_MS (24 * INT64_C(3600000))
#define ROOM 20 /* a twentieth of what is allowed is made free at once */

void kept_clean_init(struct kept_clean *c, int64_t days, int64_t total)
{
    *c = (struct kept_clean){.days = days, .total = total};
}

void kept_clean_forget(struct kept_clean *c)
{
    c->bytes = c->over = 0;
    c->more = false;
}

static enum err measure(struct kept_clean *c, struct store_session *s, struct errctx *ec)
{
    enum err e = store_measure_kept(s, &c->bytes, ec);

    if (!e && c->total > 0 && c->bytes > c->total)
        c->over = c->bytes - (c->total - c->total / ROOM);
    return e;
}

enum err kept_clean_step(struct kept_clean *c, struct store_session *s, const struct clock *clock, size_t *removed,
                         int64_t *next_mono_ms, struct errctx *ec)
{
    int64_t before_ms = c->days > 0 ? clock_wall_ms(clock) - c->days * DAY_MS : 0, bytes = 0;
    enum err e = c->over > 0 || c->more ? ERR_OK : measure(c, s, ec);

    *removed = 0;
    if (!e)
        e = store_clean_kept(s, before_ms, c->over, KEPT_CLEAN_BATCH, removed, &bytes, ec);
    if (e)
        return e;
    c->bytes -= bytes;
    c->over = *removed > 0 && c->over > bytes ? c->over - bytes : 0;
    c->more = *removed == KEPT_CLEAN_BATCH;
    *next_mono_ms = clock_mono_ms(clock) + (c->more || c->over > 0 ? KEPT_CLEAN_PAUSE_MS : KEPT_CLEAN_EVERY_MS);
    return ERR_OK;
}
