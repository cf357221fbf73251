/* SPDX-License-Identifier: MIT */
/* Runs of flows: lists, and how one is started. */
#include "admin/flows/flows_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_MS 2000

/* ---- cards ------------------------------------------------------------------------------------------------------- */

void flow_run_cards_fini(struct flow_run_cards *cards)
{
    for (size_t i = 0; i < cards->batch_count; i++)
        flow_run_rows_fini(&cards->batches[i]);
    free(cards->items);
    *cards = (struct flow_run_cards){0};
}

enum err flow_fill_run_card(struct reach *reach, const struct reach_flow *flow, const struct actor *actor,
                            int64_t now_ms, struct flow_run_card *card, struct errctx *ec)
{
    const struct flow_run_row *row = &card->row;
    int64_t *groups = NULL, began_ms = row->started_ms ? row->started_ms : row->created_ms;
    size_t count = 0;
    enum err e = reach_load_groups(reach, flow, &groups, &count, ec);

    card->can_run = !e && groups_allow(groups, count, actor, RIGHT_RUN);
    card->deadline_ms = flow->deadline_s ? began_ms + flow->deadline_s * 1000 : 0;
    card->late = row->late_told || (card->deadline_ms && (row->ended_ms ? row->ended_ms : now_ms) > card->deadline_ms);
    free(groups);
    return e;
}

static enum err add_version(struct reach *reach, int64_t flow_id, int64_t version, struct errctx *ec)
{
    struct flow_version_rows rows = {0};
    const struct reach_flow *made;
    enum err e = ERR_OK;

    if (reach_find_version(reach, flow_id, version))
        return ERR_OK;
    e = store_load_flow_version(reach->s, flow_id, version, &rows, ec);
    if (!e && rows.count > 0)
        e = reach_add(reach, NULL, flow_id, version, rows.rows[0].document, &made, ec);
    flow_version_rows_fini(&rows);
    return e;
}

static enum err add_versions(struct reach *reach, const struct flow_run_rows *rows, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < rows->count && !e; i++)
        e = add_version(reach, rows->rows[i].flow_id, rows->rows[i].version, ec);
    return e ? e : reach_close(reach, ec);
}

static bool sees_run(struct reach *reach, const struct reach_flow *flow, const struct actor *actor)
{
    int64_t *groups = NULL;
    struct errctx ec;
    size_t count = 0;
    bool sees = flow && !reach_load_groups(reach, flow, &groups, &count, &ec) && groups_are_seen(groups, count, actor);

    free(groups);
    return sees;
}

static void name_parent(struct reach *reach, const struct actor *actor, const struct flow_run_rows *parents,
                        struct flow_run_card *card)
{
    for (size_t i = 0; i < parents->count; i++) {
        const struct flow_run_row *parent = &parents->rows[i];
        const struct reach_flow *flow = reach_find_version(reach, parent->flow_id, parent->version);

        if (parent->id != card->row.parent_run || !sees_run(reach, flow, actor))
            continue;
        card->parent_run = parent->id;
        if (card->row.parent_step >= 0 && card->row.parent_step < (int64_t)flow->step_count)
            memcpy(card->parent_step, flow->steps[card->row.parent_step].name, sizeof card->parent_step);
    }
}

enum err flow_fill_parents(struct reach *reach, const struct actor *actor, struct flow_run_card *cards, size_t count,
                           struct errctx *ec)
{
    int64_t *ids = calloc(count + 1, sizeof *ids);
    struct flow_run_rows parents = {0};
    size_t id_count = 0;
    enum err e = ids ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");

    for (size_t i = 0; i < count && !e; i++)
        if (cards[i].row.parent_run)
            ids[id_count++] = cards[i].row.parent_run;
    if (!e && id_count > 0)
        e = store_load_flow_runs(reach->s, ids, sort_distinct(ids, id_count), &parents, ec);
    if (!e && parents.count > 0)
        e = add_versions(reach, &parents, ec);
    for (size_t i = 0; i < count && !e; i++)
        name_parent(reach, actor, &parents, &cards[i]);
    flow_run_rows_fini(&parents);
    free(ids);
    return e;
}

static void take_step(struct reach *reach, const struct actor *actor, const struct flow_run_row *run, int64_t step,
                      struct run_links *links)
{
    const struct reach_flow *flow = reach_find_version(reach, run->flow_id, run->version);

    if (!sees_run(reach, flow, actor))
        return;
    links->flow_run = run->id;
    links->flow_id = run->flow_id;
    snprintf(links->flow_name, sizeof links->flow_name, "%s", run->flow_name);
    if (step >= 0 && step < (int64_t)flow->step_count)
        memcpy(links->flow_step, flow->steps[step].name, sizeof links->flow_step);
}

enum err flow_name_step(struct store_session *s, const struct actor *actor, int64_t run_id, int64_t step,
                        struct run_links *links, struct errctx *ec)
{
    struct flow_run_rows runs = {0};
    struct reach reach;
    enum err e = store_load_flow_runs(s, &run_id, 1, &runs, ec);

    reach_init(&reach, s);
    if (!e)
        e = add_versions(&reach, &runs, ec);
    if (!e && runs.count > 0)
        take_step(&reach, actor, &runs.rows[0], step, links);
    reach_fini(&reach);
    flow_run_rows_fini(&runs);
    return e;
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

/* Of one batch those that may be seen, until the page is full. */
static enum err take_batch(struct reach *reach, const struct actor *actor, const struct flow_run_rows *rows,
                           int64_t now_ms, size_t limit, struct flow_run_cards *out, struct errctx *ec)
{
    enum err e = add_versions(reach, rows, ec);

    for (size_t i = 0; i < rows->count && !e && out->count < limit; i++) {
        const struct flow_run_row *row = &rows->rows[i];
        const struct reach_flow *flow = reach_find_version(reach, row->flow_id, row->version);

        out->last = row->id;
        out->is_end = rows->count < FLOW_RUN_BATCH && i + 1 == rows->count;
        if (!sees_run(reach, flow, actor))
            continue;
        out->items[out->count] = (struct flow_run_card){.row = *row};
        e = flow_fill_run_card(reach, flow, actor, now_ms, &out->items[out->count++], ec);
    }
    return e;
}

static enum err fill_page(struct reach *reach, const struct actor *actor, const struct flow_run_filter *filter,
                          int64_t now_ms, size_t limit, struct flow_run_cards *out, struct errctx *ec)
{
    struct flow_run_filter from = *filter;
    enum err e = ERR_OK;

    out->last = filter->before;
    while (!e && !out->is_end && out->count < limit && out->batch_count < FLOW_RUN_BATCHES_MAX) {
        struct flow_run_rows *rows = &out->batches[out->batch_count];

        from.before = out->last;
        e = store_list_flow_runs(reach->s, &from, FLOW_RUN_BATCH, LIST_MS, rows, ec);
        if (e)
            break;
        out->batch_count++;
        out->is_end = rows->count == 0;
        e = take_batch(reach, actor, rows, now_ms, limit, out, ec);
    }
    return e ? e : flow_fill_parents(reach, actor, out->items, out->count, ec);
}

enum err admin_list_flow_runs(struct admin *a, const struct actor *actor, const struct flow_run_filter *filter,
                              size_t limit, struct flow_run_cards *out, struct refusal *r)
{
    struct store_session *s = NULL;
    struct reach reach = {0};
    enum err e = admin_enter_seeing(a, actor, &s, r);

    reach_init(&reach, s);
    *out = (struct flow_run_cards){.items = calloc(limit + 1, sizeof *out->items)};
    if (!e && !out->items)
        e = refuse(r, REFUSED_BROKEN, NULL, "out of memory");
    if (!e) {
        e = fill_page(&reach, actor, filter, clock_wall_ms(a->clock), limit, out, &r->text);
        if (e == ERR_TIMEOUT)
            e = refuse(r, REFUSED_LIMIT, NULL, "the database takes too long: ask for the runs of one flow");
    }
    reach_fini(&reach);
    if (e)
        flow_run_cards_fini(out);
    return admin_end(a, s, e, r);
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

static enum err check_key(const char *key, struct refusal *r)
{
    size_t len = key ? strlen(key) : 1;

    if (len < 1 || len > FLOW_KEY_MAX)
        return refuse_length(r, "key", 1, FLOW_KEY_MAX, "key must have 1 to %d characters", FLOW_KEY_MAX);
    for (const char *c = key; c && *c; c++)
        if (*c <= ' ' || *c > '~')
            return refuse(r, REFUSED_INVALID, "key", "key must have visible ASCII characters, without spaces");
    return ERR_OK;
}

/* As the run will take them. */
static enum err check_parameters(const struct admin *a, const struct flow *flow, const char *parameters,
                                 struct refusal *r)
{
    struct flow_values *values = NULL;
    const struct zone *zone = NULL;
    struct zone *own = NULL;
    enum err e;

    if (parameters && strlen(parameters) > FLOW_PARAMETERS_BYTES_MAX)
        return refuse(r, REFUSED_LENGTH, "parameters", "parameters have more than %d bytes", FLOW_PARAMETERS_BYTES_MAX);
    e = refuse_error(r, admin_take_zone(a, flow_get_settings(flow)->zone, &own, &zone, &r->text));
    if (!e) {
        e = flow_create_values(flow, parameters, 0, time_floor_div(clock_wall_ms(a->clock), 1000), zone, &values,
                               &r->text);
        if (e == ERR_INPUT)
            e = refuse(r, REFUSED_INVALID, "parameters", "%s", r->text.text);
        else
            refuse_error(r, e);
    }
    flow_destroy_values(values);
    zone_destroy(own);
    return e;
}

static enum err write_start(struct reach *reach, const struct actor *actor, const struct reach_flow *reached,
                            const struct flow *flow, const struct flow_run_order *order, int64_t *run_id, bool *is_new,
                            struct refusal *r)
{
    const struct flow_settings *set = flow_get_settings(flow);
    const struct flow_run_start start = {.flow_id = reached->id,
                                         .version = reached->version,
                                         .parameters = order->parameters,
                                         .key = order->key,
                                         .kind = order->by_program ? "A" : "M",
                                         .who = actor->name,
                                         .policy = set->policy,
                                         .queue_max = set->queue_max};
    struct audit_row row;
    int64_t group;
    enum err e = reach_find_one_group(reach, reached, &group, &r->text);

    if (e)
        return e;
    row = audit_bare(AUDIT_ADDED, actor, "flow.run", reached->id, reached->name, group);
    e = store_start_flow_run(reach->s, &start, &row, run_id, is_new, &r->text);
    if (e == ERR_BUSY)
        return refuse(r, REFUSED_LIMIT, NULL, "%s", r->text.text);
    return e;
}

static enum err try_start(struct admin *a, struct store_session *s, const struct actor *actor, int64_t id,
                          const struct flow_run_order *order, int64_t *run_id, bool *is_new, struct refusal *r)
{
    const struct reach_flow *reached = NULL;
    struct flow_rows rows = {0};
    struct flow *flow = NULL;
    struct reach reach;
    enum err e;

    reach_init(&reach, s);
    e = flow_find(&reach, id, &rows, &reached, r);
    if (!e)
        e = reach_refuse_unless(&reach, reached, actor, RIGHT_RUN, r);
    if (!e)
        e = check_key(order->key, r);
    if (!e)
        e = flow_load_saved(rows.rows[0].document, &flow, r);
    if (!e)
        e = check_parameters(a, flow, order->parameters, r);
    if (!e)
        e = write_start(&reach, actor, reached, flow, order, run_id, is_new, r);
    flow_destroy(flow);
    flow_rows_fini(&rows);
    reach_fini(&reach);
    return e;
}

enum err admin_start_flow_run(struct admin *a, const struct actor *actor, int64_t flow_id,
                              const struct flow_run_order *order, int64_t *run_id, bool *is_new, struct refusal *r)
{
    struct store_session *s = NULL;
    int tries = FLOW_TRIES;
    enum err e = admin_take_session(a, &s, r);

    while (!e || (e == ERR_CONFLICT && r->kind == REFUSED_NOT && tries > 0)) {
        errctx_clear(&r->text);
        tries--;
        e = try_start(a, s, actor, flow_id, order, run_id, is_new, r);
        if (!e)
            break;
    }
    return admin_end(a, s, flow_refuse_error(r, e), r);
}
