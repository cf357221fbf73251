/* SPDX-License-Identifier: MIT */
#include "upkeep/sweep.h"

#define DAY_MS (24 * INT64_C(3600000))

void sweep_init(struct sweep *sweep, int64_t audit_days)
{
    *sweep = (struct sweep){.audit_days = audit_days};
}

enum err sweep_step(struct sweep *sweep, struct store_session *s, const struct clock *clock, int64_t *next_mono_ms,
                    struct errctx *ec)
{
    int64_t days = sweep->table == HISTORY_AUDIT ? sweep->audit_days : HISTORY_DAYS;
    size_t removed = 0;
    enum err e = store_sweep_history(s, (enum history_table)sweep->table, clock_wall_ms(clock) - days * DAY_MS,
                                     SWEEP_BATCH, &removed, ec);

    if (e && e != ERR_CONFLICT)
        return e;
    *next_mono_ms = clock_mono_ms(clock) + SWEEP_PAUSE_MS;
    if (!e && removed == SWEEP_BATCH)
        return ERR_OK;
    if (++sweep->table == HISTORY_TABLES) {
        sweep->table = 0;
        *next_mono_ms = clock_mono_ms(clock) + SWEEP_EVERY_MS;
    }
    return ERR_OK;
}
