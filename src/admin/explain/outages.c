/* SPDX-License-Identifier: MIT */
/* What kept fires of a job from being planned or sent: events of the node that had its shard. */
#include "admin/explain/outages.h"

#include <stdlib.h>
#include <string.h>

#include "shardwheel/history.h"
#include "shardwheel/store/cluster.h"

#define LIMIT_MS 3000
#define EVENTS_LOADED 1000
#define DAY_MS (24 * INT64_C(3600000))
#define LATE_MS 3600000     /* a fire of the range may have gone out so long behind it */
#define DEATH_MS 60000      /* a shard of a node that died is somebody's by then, if anybody is there */
#define GUARD_LOST_MS 10000 /* it is asked for again at once */

/* Who had the job's shard, by the events of its takeovers, the newest first: the last one before that time; NULL: none
 * is known. */
static const struct event_row *find_owner(const struct event_page *taken, int64_t at_ms)
{
    for (size_t i = 0; i < taken->count; i++)
        if (taken->items[i].at_ms <= at_ms)
            return &taken->items[i];
    return NULL;
}

/* The first takeover behind that time, up to another one; that time where there is none. */
static int64_t find_next_ms(const struct event_page *taken, int64_t from_ms, int64_t to_ms)
{
    int64_t next_ms = to_ms;

    for (size_t i = 0; i < taken->count; i++)
        if (taken->items[i].at_ms > from_ms && taken->items[i].at_ms < next_ms)
            next_ms = taken->items[i].at_ms;
    return next_ms;
}

/* False: it did not concern the job's shard, which another node had. */
static bool take_outage(const struct event_page *taken, const struct event_row *row, struct explain_outage *out)
{
    const struct event_row *owner = find_owner(taken, row->at_ms);
    int64_t until_ms;

    *out = (struct explain_outage){.from_ms = row->at_ms, .holds = owner != NULL, .node = row->node};
    if (strcmp(row->kind, EVENT_GUARD_LOST) == 0) {
        out->kind = EVENT_GUARD_LOST;
        out->to_ms = row->at_ms + GUARD_LOST_MS;
        out->holds = false;
        return true;
    }
    if (owner && strcmp(owner->node, row->node) != 0)
        return false;
    if (strcmp(row->kind, EVENT_DATABASE_AWAY) == 0) {
        out->kind = EVENT_DATABASE_AWAY;
        out->to_ms = find_next_ms(taken, row->at_ms, row->until_ms);
        out->told_to_ms = row->until_ms;
    } else {
        until_ms = find_next_ms(taken, row->at_ms, INT64_MAX);
        out->kind = EVENT_NODE_DIED;
        out->to_ms = until_ms == INT64_MAX ? row->at_ms + DEATH_MS : until_ms;
    }
    return true;
}

/* The longest first: it explains most. */
static int compare_outages(const void *a, const void *b)
{
    const struct explain_outage *x = a, *y = b;
    int by_length = compare_numbers(y->to_ms - y->from_ms, x->to_ms - x->from_ms);

    return by_length ? by_length : compare_numbers(x->from_ms, y->from_ms);
}

static enum err load_events(struct store_session *s, const struct explain_facts *facts, const char *kind, int shard,
                            struct event_page *out, struct errctx *ec)
{
    const struct event_filter filter = {.kind = kind,
                                        .no_jobs = true,
                                        .by_shard = shard >= 0,
                                        .shard = shard,
                                        .all_groups = true,
                                        .from_ms = facts->from_ms - DAY_MS,
                                        .to_ms = facts->to_ms + LATE_MS};

    return store_load_events(s, &filter, (struct history_place){.at_ms = INT64_MAX}, EVENTS_LOADED, LIMIT_MS, out, ec);
}

enum err explain_load_outages(struct store_session *s, const struct explain_facts *facts, struct explain_outages *out,
                              struct errctx *ec)
{
    static const char *const kinds[OUTAGE_KINDS] = {EVENT_DATABASE_AWAY, EVENT_NODE_DIED, EVENT_GUARD_LOST};
    struct event_page taken = {0};
    struct cluster_view view = {0};
    enum err e = store_load_cluster(s, "", &view, ec);

    out->items = calloc(ARRAY_LEN(kinds) * EVENTS_LOADED, sizeof *out->items);
    if (!e && !out->items)
        e = err_set(ec, ERR_NOMEM, "out of memory for the explanation");
    if (!e && view.shards > 0)
        e = load_events(s, facts, EVENT_SHARD_TAKEN, (int)(facts->job_id % view.shards), &taken, ec);
    for (size_t k = 0; k < ARRAY_LEN(kinds) && !e; k++) {
        struct event_page *page = &out->pages[k];

        e = load_events(s, facts, kinds[k], -1, page, ec);
        for (size_t i = 0; i < page->count && !e; i++)
            out->count += take_outage(&taken, &page->items[i], &out->items[out->count]);
    }
    event_page_fini(&taken);
    if (!e)
        qsort(out->items, out->count, sizeof *out->items, compare_outages);
    return e;
}

void explain_outages_fini(struct explain_outages *outages)
{
    free(outages->items);
    for (size_t k = 0; k < OUTAGE_KINDS; k++)
        event_page_fini(&outages->pages[k]);
    *outages = (struct explain_outages){0};
}
