/* SPDX-License-Identifier: MIT */
#include "store/history/list.h"

void store_put_history_range(struct sqlbuf *q, int64_t from_ms, int64_t to_ms, struct history_place place)
{
    if (from_ms > 0)
        sql_put(q, " AND at_ms >= ?", from_ms);
    if (to_ms > 0)
        sql_put(q, " AND at_ms < ?", to_ms);
    if (place.at_ms == INT64_MAX)
        return;
    /* The first half is what an index understands. */
    sql_put(q, " AND at_ms <= ? AND (at_ms < ? OR id < ?)", place.at_ms, place.at_ms, place.id);
}

void store_put_history_groups(struct sqlbuf *q, const int64_t *groups, size_t count, bool none)
{
    sql_put(q, " AND job_group IN (?", sql_word(none ? "0" : "-1"));
    for (size_t i = 0; i < count; i++)
        sql_put(q, ",?", groups[i]);
    sql_puts(q, ")");
}

void store_put_history_order(struct sqlbuf *q, size_t max)
{
    sql_put(q, " ORDER BY at_ms DESC, id DESC LIMIT ?", max);
}
