/* SPDX-License-Identifier: MIT */
/* Flows and their versions, looked at. */
#include "admin/flows/flows_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shardwheel/text.h"

#define ROWS_AT_ONCE 20 /* documents are up to 1 MB */

/* ---- cards ------------------------------------------------------------------------------------------------------- */

static void destroy_card(struct flow_card *card)
{
    free((char *)card->row.name);
    free((char *)card->row.document);
    free(card->groups);
}

void flow_cards_fini(struct flow_cards *cards)
{
    for (size_t i = 0; i < cards->count; i++)
        destroy_card(&cards->items[i]);
    free(cards->items);
    *cards = (struct flow_cards){0};
}

/* Takes the groups. */
static enum err add_card(const struct flow_row *row, const struct reach_flow *flow, const struct actor *actor,
                         int64_t *groups, size_t group_count, struct flow_cards *out, struct errctx *ec)
{
    struct flow_card card = {.row = *row,
                             .step_count = flow->step_count,
                             .groups = groups,
                             .group_count = group_count,
                             .can_change = groups_allow(groups, group_count, actor, RIGHT_CHANGE),
                             .can_run = groups_allow(groups, group_count, actor, RIGHT_RUN)};

    card.row.name = str_copy(row->name);
    card.row.document = str_copy(row->document);
    if (!card.row.name || !card.row.document) {
        destroy_card(&card);
        return err_set(ec, ERR_NOMEM, "out of memory");
    }
    out->items[out->count++] = card;
    return ERR_OK;
}

static enum err load_beside(struct store_session *s, struct flow_cards *cards, struct errctx *ec)
{
    int64_t *ids = calloc(2 * cards->count + 1, sizeof *ids), *open = ids ? ids + cards->count : NULL;
    struct flow_tick *ticks = NULL;
    size_t count = 0;
    enum err e = ids ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");

    for (size_t i = 0; i < cards->count && !e; i++)
        ids[i] = cards->items[i].row.id;
    if (!e)
        e = store_count_open_flow_runs(s, ids, cards->count, open, ec);
    if (!e)
        e = store_load_flow_ticks(s, ids, cards->count, &ticks, &count, ec);
    for (size_t i = 0; i < cards->count && !e; i++) {
        struct flow_card *card = &cards->items[i];

        card->open_runs = open[i];
        for (size_t k = 0; k < count && card->tick_count < FLOW_TICKS_MAX; k++)
            if (ticks[k].flow_id == card->row.id)
                card->ticks[card->tick_count++] = ticks[k];
    }
    free(ticks);
    free(ids);
    return e;
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

/* Of one row of the batch: into the page, if it belongs there. */
static enum err take_row(struct reach *reach, const struct flow_row *row, const struct flow_query *query,
                         const struct actor *actor, struct flow_cards *out, struct errctx *ec)
{
    const struct reach_flow *flow = reach_find(reach, row->name);
    int64_t *groups = NULL;
    size_t count = 0;
    enum err e = flow ? reach_load_groups(reach, flow, &groups, &count, ec) : ERR_OK;

    if (e || !flow || (query->tag && !text_list_has(flow->tags, query->tag)) ||
        !groups_are_seen(groups, count, actor)) {
        free(groups);
        return e;
    }
    return add_card(row, flow, actor, groups, count, out, ec);
}

static enum err add_rows(struct reach *reach, const struct flow_rows *rows, struct errctx *ec)
{
    const struct reach_flow *made;
    enum err e = ERR_OK;

    for (size_t i = 0; i < rows->count && !e; i++)
        if (!reach_find(reach, rows->rows[i].name))
            e = reach_add(reach, rows->rows[i].name, rows->rows[i].id, rows->rows[i].version, rows->rows[i].document,
                          &made, ec);
    return e ? e : reach_close(reach, ec);
}

/* Rows behind out->last, until the page is full or enough was looked at. */
static enum err fill_page(struct reach *reach, const struct flow_query *query, const struct actor *actor,
                          struct flow_cards *out, struct errctx *ec)
{
    size_t looked = 0, bytes = 0;
    enum err e = ERR_OK;

    while (!e && !out->is_end && out->count < query->limit && looked < FLOWS_LOOKED_MAX && bytes < FLOWS_BYTES_MAX) {
        struct flow_rows rows = {0};

        e = store_list_flows(reach->s, &query->filter, out->last, ROWS_AT_ONCE, &rows, ec);
        if (!e)
            e = add_rows(reach, &rows, ec);
        for (size_t i = 0; i < rows.count && !e && out->count < query->limit; i++) {
            looked++;
            bytes += strlen(rows.rows[i].document);
            snprintf(out->last, sizeof out->last, "%s", rows.rows[i].name);
            e = take_row(reach, &rows.rows[i], query, actor, out, ec);
            out->is_end = rows.count < ROWS_AT_ONCE && i + 1 == rows.count;
        }
        out->is_end |= !e && rows.count == 0;
        flow_rows_fini(&rows);
    }
    return e;
}

enum err admin_list_flows(struct admin *a, const struct actor *actor, const struct flow_query *query,
                          struct flow_cards *out, struct refusal *r)
{
    struct store_session *s = NULL;
    struct reach reach = {0};
    enum err e = admin_enter_seeing(a, actor, &s, r);

    reach_init(&reach, s);
    *out = (struct flow_cards){.items = calloc(query->limit + 1, sizeof *out->items)};
    snprintf(out->last, sizeof out->last, "%s", query->after);
    if (!e && !out->items)
        e = refuse(r, REFUSED_BROKEN, NULL, "out of memory");
    if (!e)
        e = fill_page(&reach, query, actor, out, &r->text);
    if (!e)
        e = load_beside(s, out, &r->text);
    reach_fini(&reach);
    if (e)
        flow_cards_fini(out);
    return admin_end(a, s, e, r);
}

/* ---- one --------------------------------------------------------------------------------------------------------- */

enum err admin_load_flow(struct admin *a, const struct actor *actor, int64_t id, struct flow_cards *out,
                         struct flow_box **boxes, struct refusal *r)
{
    int64_t *groups = NULL;
    size_t count = 0;
    struct flow_view v;
    enum err e = flow_open(a, actor, id, &v, r);

    *out = (struct flow_cards){.items = calloc(1, sizeof *out->items), .is_end = true};
    if (!e && !out->items)
        e = refuse(r, REFUSED_BROKEN, NULL, "out of memory");
    if (!e)
        e = reach_load_groups(&v.reach, v.flow, &groups, &count, &r->text);
    if (!e)
        e = add_card(&v.flows.rows[0], v.flow, actor, groups, count, out, &r->text);
    if (!e)
        e = load_beside(v.s, out, &r->text);
    if (!e)
        e = reach_load_boxes(&v.reach, v.flow, actor, boxes, &r->text);
    if (e)
        flow_cards_fini(out);
    return flow_close(a, &v, e, r);
}

/* ---- versions ---------------------------------------------------------------------------------------------------- */

enum err admin_list_flow_versions(struct admin *a, const struct actor *actor, int64_t id, int64_t before, int64_t limit,
                                  struct flow_version_rows *out, struct refusal *r)
{
    struct flow_view v;
    enum err e = flow_open(a, actor, id, &v, r);

    if (!e)
        e = store_list_flow_versions(v.s, id, before, limit, out, &r->text);
    return flow_close(a, &v, e, r);
}

/* Who sees the flow sees its old versions, with boxes of their own. */
static enum err load_version(struct reach *reach, const struct actor *actor, int64_t id, int64_t version,
                             struct flow_version_rows *out, struct flow_box **boxes, size_t *box_count,
                             struct refusal *r)
{
    const struct reach_flow *flow = NULL;
    enum err e = store_load_flow_version(reach->s, id, version, out, &r->text);

    if (!e && out->count == 0)
        return refuse(r, REFUSED_UNKNOWN, "version", "flow %" PRId64 " has no version %" PRId64, id, version);
    if (!e)
        e = reach_add(reach, NULL, id, version, out->rows[0].document, &flow, &r->text);
    if (!e)
        e = reach_close(reach, &r->text);
    if (!e)
        e = reach_load_boxes(reach, flow, actor, boxes, &r->text);
    if (!e)
        *box_count = flow->step_count;
    return refuse_error(r, e);
}

enum err admin_load_flow_version(struct admin *a, const struct actor *actor, int64_t id, int64_t version,
                                 struct flow_version_rows *out, struct flow_box **boxes, size_t *box_count,
                                 struct refusal *r)
{
    struct flow_view v;
    enum err e = flow_open(a, actor, id, &v, r);

    *out = (struct flow_version_rows){0};
    if (!e)
        e = load_version(&v.reach, actor, id, version, out, boxes, box_count, r);
    if (e)
        flow_version_rows_fini(out);
    return flow_close(a, &v, e, r);
}
