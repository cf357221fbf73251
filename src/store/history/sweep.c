/* SPDX-License-Identifier: MIT */
/* Old rows of audit, minutes and events: removed by the index of their time, some at once. */
#include "shardwheel/store/history.h"

#include "store/conn/session.h"

static const struct {
    const char *table;
    const char *column;
    int64_t unit_ms; /* of the column */
} tables[] = {
    [HISTORY_AUDIT] = {"shardwheel_audit", "at_ms", 1},
    [HISTORY_MINUTES] = {"shardwheel_minute", "minute_s", 1000},
    [HISTORY_EVENTS] = {"shardwheel_event", "at_ms", 1},
};

enum err store_sweep_history(struct store_session *s, enum history_table table, int64_t before_ms, size_t max,
                             size_t *removed, struct errctx *ec)
{
    struct db_effect effect = {0};
    enum err e = store_write(s, &effect, ec, "DELETE FROM ? WHERE ? < ? ORDER BY ? LIMIT ?",
                             sql_word(tables[table].table), sql_word(tables[table].column),
                             before_ms / tables[table].unit_ms, sql_word(tables[table].column), max);

    if (e)
        return err_wrap(ec, e, "remove old rows of %s", tables[table].table);
    *removed = (size_t)effect.matched;
    return ERR_OK;
}
