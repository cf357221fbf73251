/* SPDX-License-Identifier: MIT */
#include "upkeep/flow_clean.h"

#include "shardwheel/store/alarm.h"
#include "upkeep/clean.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void flow_clean_init(struct flow_clean *c, int64_t retention_days)
{
    *c = (struct flow_clean){.retention_days = retention_days < CLEAN_KEEP_MIN_DAYS ? 0 : retention_days};
}

void flow_clean_forget(struct flow_clean *c)
{
    *c = (struct flow_clean){.retention_days = c->retention_days};
}

/* Those of its document, else those of the log. A document that cannot be read has none. */
static enum err find_days(const struct flow_clean *c, const char *document, int64_t *days, struct errctx *ec)
{
    struct flow *flow = NULL;
    enum err e = flow_load(document, strlen(document), &flow, NULL, ec);

    *days = c->retention_days;
    if (!e && flow_get_settings(flow)->retention_days > 0)
        *days = flow_get_settings(flow)->retention_days;
    flow_destroy(flow);
    return e == ERR_INPUT ? ERR_OK : e;
}

static enum err read_page(struct flow_clean *c, struct store_session *s, struct errctx *ec)
{
    struct flow_rows rows = {0};
    enum err e = store_list_flows(s, &(struct flow_filter){.started = -1}, c->after, FLOW_CLEAN_PAGE, &rows, ec);

    c->count = c->at = 0;
    for (size_t i = 0; i < rows.count && !e; i++) {
        c->flows[c->count].id = rows.rows[i].id;
        e = find_days(c, rows.rows[i].document, &c->flows[c->count].days, ec);
        c->count++;
        snprintf(c->after, sizeof c->after, "%s", rows.rows[i].name);
    }
    c->last = rows.count < FLOW_CLEAN_PAGE;
    flow_rows_fini(&rows);
    return e;
}

/* *done: there is none, or none any more. */
static enum err delete_gone(struct store_session *s, bool *done, struct errctx *ec)
{
    int64_t id = 0;
    bool more;
    enum err e = store_find_gone_flow(s, &id, ec);

    *done = id == 0;
    if (e)
        return e;
    return *done ? store_forget_flow_alarms(s, ec) : store_delete_flow_runs(s, id, &more, ec);
}

/* *done: the round has ended. */
static enum err work(struct flow_clean *c, struct store_session *s, bool *done, struct errctx *ec)
{
    bool more = false;
    size_t deleted = 0;
    enum err e;

    *done = false;
    if (c->at == c->count)
        return c->last ? delete_gone(s, done, ec) : read_page(c, s, ec);
    if (c->flows[c->at].days == 0) {
        c->at++;
        return ERR_OK;
    }
    e = store_delete_old_flow_runs(s, c->flows[c->at].id, c->flows[c->at].days, &deleted, &more, ec);
    c->cleaned += (int64_t)deleted;
    if (e == ERR_CONFLICT || (!e && !more)) { /* what somebody holds is left to the next round */
        c->at++;
        return ERR_OK;
    }
    return e;
}

enum err flow_clean_step(struct flow_clean *c, struct store_session *s, const struct clock *clock,
                         int64_t *next_mono_ms, struct errctx *ec)
{
    int64_t begun_ms = clock_mono_ms(clock), rest_ms;
    bool done = false;
    enum err e = work(c, s, &done, ec);

    rest_ms = (clock_mono_ms(clock) - begun_ms) * FLOW_CLEAN_REST;
    *next_mono_ms = clock_mono_ms(clock) + (rest_ms > FLOW_CLEAN_REST_MIN_MS ? rest_ms : FLOW_CLEAN_REST_MIN_MS);
    if (e || !done)
        return e;
    if (c->cleaned > 0)
        log_info("upkeep", "event=flow_runs_cleaned count=%" PRId64, c->cleaned);
    flow_clean_forget(c);
    *next_mono_ms = clock_mono_ms(clock) + FLOW_CLEAN_EVERY_MS;
    return ERR_OK;
}
