/* SPDX-License-Identifier: MIT */
#include "admin/explain/explain_impl.h"

#include <stdlib.h>
#include <string.h>

#define FOREIGN_LATE_MS 60000 /* a row without a mark is a Java admin's, and stands for the due time before it */
#define PLAN_MS 6000          /* what is planned ahead, and a second */
#define CATCH_UP_MS 60000     /* due times are caught up for so long */
#define SOON_MS 10000         /* a due time that is younger may still be planned */

/* ---- rows in the order of what they stand for -------------------------------------------------------------------- */

/* What a decision is made with. */
struct work {
    const struct explain_facts *facts;
    const struct explain_row **order; /* by key, then by id; those that stand for a time of their own */
    bool *used;                       /* of each in `order` */
    size_t order_count;
    size_t at; /* the first in `order` whose key is not before the due time that is looked at */
    int64_t *due_ms;
    int64_t *rates;
    struct explain_segment *segs;
    size_t seg_count;
    struct explanation *out;
};

static bool is_of_schedule(const struct explain_row *row)
{
    if (row->mark == MARK_PLANNED)
        return row->fire.kind == TRIGGER_CRON || row->fire.kind == TRIGGER_MISFIRE;
    return row->mark == MARK_NONE || row->mark == MARK_HELD || row->mark == MARK_SKIPPED;
}

/* The due time that it stands for. */
static int64_t get_key(const struct explain_row *row)
{
    bool own = row->mark == MARK_PLANNED || row->mark == MARK_DIRECT || row->mark == MARK_HELD;

    return (own && row->fire.original_due_s ? row->fire.original_due_s : row->triggered_s) * 1000;
}

static int compare_rows(const void *a, const void *b)
{
    const struct explain_row *x = *(const struct explain_row *const *)a, *y = *(const struct explain_row *const *)b;
    int by_key = compare_numbers(get_key(x), get_key(y));

    return by_key ? by_key : compare_numbers(x->id, y->id);
}

/* Rows that are the retry of another are told of with that one. */
static void put_in_order(struct work *w)
{
    const struct explain_facts *facts = w->facts;
    int64_t *retries = w->due_ms; /* free at this time, and long enough: see create_work */
    size_t n = 0;

    for (size_t i = 0; i < facts->row_count; i++)
        if (facts->rows[i].retry_id > facts->rows[i].id)
            retries[n++] = facts->rows[i].retry_id;
    qsort(retries, n, sizeof *retries, compare_int64);
    for (size_t i = 0; i < facts->row_count; i++) {
        const struct explain_row *row = &facts->rows[i];
        if (row->in_range && !list_find(retries, n, sizeof *retries, row->id))
            w->order[w->order_count++] = row;
    }
    qsort(w->order, w->order_count, sizeof *w->order, compare_rows);
}

/* ---- items ------------------------------------------------------------------------------------------------------- */

static struct explain_item *add_item(struct work *w, int64_t due_ms, enum explain_state state)
{
    struct explain_item *item = &w->out->items[w->out->count++];

    *item = (struct explain_item){
        .due_ms = due_ms, .kind = TRIGGER_CRON, .state = state, .is_ahead = due_ms > w->facts->now_ms};
    return item;
}

static bool has_room(const struct work *w)
{
    return w->out->count < EXPLAIN_ITEMS_MAX;
}

static struct explain_who get_who(const struct explain_change *c)
{
    return (struct explain_who){
        .at_ms = c->at_ms, .who = c->by_others ? NULL : c->who, .via = c->by_others ? NULL : c->via};
}

static void tell_stopped(struct work *w, const struct explain_segment *seg, int64_t due_ms)
{
    struct explain_item *item = add_item(w, due_ms, EXPLAIN_SKIPPED);
    const struct explain_change *c = seg->begin;

    item->why = WHY_STOPPED;
    if (c && c->after[FIELD_RUNNING] && (c->by_others || c->before[FIELD_RUNNING]))
        item->change = get_who(c);
}

static void tell_missing(struct work *w, const struct explain_segment *seg, int64_t due_ms)
{
    const struct explain_facts *facts = w->facts;
    const struct explain_outage *outage = explain_find_outage(facts, due_ms - PLAN_MS, due_ms + CATCH_UP_MS);
    struct explain_item *item = add_item(w, due_ms, EXPLAIN_MISSING);

    if (due_ms > facts->now_ms - SOON_MS) {
        item->state = EXPLAIN_PLANNED;
        item->why = item->is_ahead ? WHY_TO_COME : WHY_MOMENT_AGO;
    } else if (due_ms < facts->kept_from_ms) {
        item->state = EXPLAIN_UNKNOWN;
        item->why = WHY_CLEANED;
    } else if (outage) {
        item->why = WHY_NOT_PLANNED;
        item->outage = outage;
    } else if (seg->begin && due_ms - seg->begin->at_ms < PLAN_MS) {
        item->state = EXPLAIN_SKIPPED;
        item->why = WHY_CHANGED_BEFORE;
        item->change = get_who(seg->begin);
    } else {
        item->why = WHY_NO_TRACE;
    }
}

static void tell_skipped(struct work *w, const struct explain_row *row, int64_t due_ms)
{
    struct explain_item *item = add_item(w, due_ms, EXPLAIN_SKIPPED);

    item->why = WHY_SKIPPED;
    item->skipped = row->skipped;
    item->skip = row->skip;
    item->misfire = row->misfire;
    item->outage = explain_find_outage(w->facts, due_ms - PLAN_MS, due_ms + CATCH_UP_MS);
    item->runs[item->run_count++] = row->id;
}

/* ---- due times --------------------------------------------------------------------------------------------------- */

/* Rows that stand for this due time, before the next one. How many; they count as used. */
static size_t take_rows(struct work *w, int64_t due_ms, int64_t next_ms, const struct explain_row **out, size_t max)
{
    size_t n = 0;

    while (w->at < w->order_count && get_key(w->order[w->at]) < due_ms)
        w->at++;
    for (size_t i = w->at; i < w->order_count && get_key(w->order[i]) < next_ms && n < max; i++) {
        const struct explain_row *row = w->order[i];
        int64_t key = get_key(row);
        bool foreign = row->mark == MARK_NONE && key - due_ms < FOREIGN_LATE_MS && n == 0;

        if (w->used[i] || !is_of_schedule(row) || row->mark == MARK_SKIPPED || (key != due_ms && !foreign))
            continue;
        w->used[i] = true;
        out[n++] = row;
    }
    return n;
}

/* A row of skipped due times counts those that follow its first. */
static const struct explain_row *find_skipped(struct work *w, int64_t due_ms, int64_t *left)
{
    for (size_t i = w->at; i < w->order_count && get_key(w->order[i]) <= due_ms; i++)
        if (w->order[i]->mark == MARK_SKIPPED && !w->used[i]) {
            w->used[i] = true;
            *left = w->order[i]->skipped;
            return w->order[i];
        }
    return NULL;
}

static void tell_due(struct work *w, const struct explain_segment *seg, int64_t due_ms, int64_t next_ms,
                     const struct explain_row **skipping, int64_t *left)
{
    const struct explain_row *rows[64];
    size_t n = take_rows(w, due_ms, next_ms, rows, ARRAY_LEN(rows));
    const struct explain_row *skipped = find_skipped(w, due_ms, left);

    *skipping = skipped ? skipped : *left > 0 ? *skipping : NULL;
    if (n > 0)
        explain_tell_rows(w->facts, rows, n, add_item(w, due_ms, EXPLAIN_UNKNOWN));
    else if (*skipping)
        tell_skipped(w, *skipping, due_ms);
    else if (explain_is_running(seg))
        tell_missing(w, seg, due_ms);
    else
        tell_stopped(w, seg, due_ms);
    if (*left > 0)
        --*left;
}

/* Due times of rows within the segment, each once. */
static size_t list_rates(struct work *w, const struct explain_segment *seg)
{
    size_t n = 0;

    for (size_t i = 0; i < w->order_count; i++) {
        int64_t key = get_key(w->order[i]);
        bool own = is_of_schedule(w->order[i]) && w->order[i]->mark != MARK_NONE;

        if (own && key >= seg->from_ms && key < seg->to_ms && (n == 0 || w->rates[n - 1] != key))
            w->rates[n++] = key;
    }
    return n;
}

/* How it was is not known, but how it was behind the edit: if each row found is one of that schedule's due times it was
 * the same, as far as that matters. */
static bool guess(struct work *w, struct explain_segment *seg, const struct explain_segment *behind, struct errctx *ec)
{
    size_t rates = list_rates(w, seg), count = 0, found = 0;

    if (!behind || !explain_is_known(behind) || rates == 0)
        return false;
    memcpy(seg->values, behind->values, sizeof seg->values);
    seg->values[FIELD_RUNNING] = "true";
    if (explain_list_due(w->facts, seg, w->rates, rates, EXPLAIN_ITEMS_MAX, w->due_ms, &count, ec))
        return false;
    for (size_t i = 0; i < rates; i++)
        found += list_find(w->due_ms, count, sizeof *w->due_ms, w->rates[i]) != NULL;
    return found == rates;
}

static void tell_unknown(struct work *w, const struct explain_segment *seg, enum explain_reason why)
{
    struct explain_item *item = add_item(w, seg->from_ms, EXPLAIN_UNKNOWN);

    item->why = why;
    item->until_ms = seg->to_ms;
    if (seg->end && !explain_is_known(seg))
        item->change = get_who(seg->end);
}

static enum err tell_segment(struct work *w, struct explain_segment *seg, const struct explain_segment *behind,
                             struct errctx *ec)
{
    size_t count = 0, told, rates;
    const struct explain_row *skipping = NULL;
    int64_t left = 0;
    struct errctx why;
    enum err e;

    errctx_clear(&why);
    if (!seg->exists)
        return ERR_OK;
    if (!explain_is_known(seg) && !guess(w, seg, behind, &why)) {
        memset(seg->values, 0, sizeof seg->values);
        tell_unknown(w, seg, WHY_SCHEDULE_UNKNOWN);
        return ERR_OK;
    }
    rates = list_rates(w, seg);
    e = explain_list_due(w->facts, seg, w->rates, rates, EXPLAIN_ITEMS_MAX - w->out->count + 1, w->due_ms, &count,
                         &why);
    if (e == ERR_INPUT) {
        tell_unknown(w, seg, WHY_SCHEDULE_BROKEN);
        return ERR_OK;
    }
    if (e)
        return err_set(ec, e, "%s", why.text);
    for (told = 0; told < count && has_room(w); told++)
        tell_due(w, seg, w->due_ms[told], told + 1 < count ? w->due_ms[told + 1] : seg->to_ms, &skipping, &left);
    if (!has_room(w))
        w->out->until_ms = told < count ? w->due_ms[told] : seg->to_ms;
    return ERR_OK;
}

static void tell_removal(struct work *w, const struct explain_change *c)
{
    struct explain_item *item = add_item(w, c->at_ms, EXPLAIN_SKIPPED);

    item->why = WHY_REMOVED;
    item->change = get_who(c);
}

/* ---- what else fired --------------------------------------------------------------------------------------------- */

static const struct explain_segment *find_segment(const struct work *w, int64_t at_ms)
{
    for (size_t i = 0; i < w->seg_count; i++)
        if (w->segs[i].from_ms <= at_ms && at_ms < w->segs[i].to_ms)
            return &w->segs[i];
    return NULL;
}

/* A row of the schedule that none of its due times has. */
static void say_why_not_due(struct work *w, const struct explain_row *row, struct explain_item *item)
{
    const struct explain_segment *seg = find_segment(w, item->due_ms);
    const struct explain_change *c = seg ? seg->begin : NULL;

    if (row->mark == MARK_NONE) {
        item->origin = ORIGIN_FOREIGN;
    } else if (c && item->due_ms - c->at_ms < 2 * PLAN_MS) {
        item->origin = ORIGIN_BEFORE_CHANGE;
        item->change = get_who(c);
    } else if (seg && explain_is_known(seg)) {
        item->origin = ORIGIN_NOT_DUE;
    }
}

static void say_who_asked(const struct work *w, const struct explain_row *row, struct explain_item *item)
{
    item->origin = ORIGIN_ASKED;
    for (size_t i = 0; i < w->facts->asked_count; i++)
        if (w->facts->asked[i].log_id == row->id)
            item->asked = (struct explain_who){
                .at_ms = w->facts->asked[i].at_ms, .who = w->facts->asked[i].who, .via = w->facts->asked[i].via};
}

static void say_why(struct work *w, const struct explain_row *row, struct explain_item *item)
{
    switch (item->kind) {
    case TRIGGER_MANUAL:
    case TRIGGER_API: say_who_asked(w, row, item); break;
    case TRIGGER_PARENT: item->origin = ORIGIN_PARENT; break;
    case TRIGGER_RETRY: item->origin = ORIGIN_RETRY; break;
    case TRIGGER_MISFIRE: item->origin = ORIGIN_MISFIRE; break;
    case TRIGGER_CRON: say_why_not_due(w, row, item); break;
    case TRIGGER_FLOW:
        item->origin = ORIGIN_FLOW;
        item->flow_run = row->fire.flow_run;
        break;
    case TRIGGER_KINDS: break;
    }
}

static void tell_others(struct work *w)
{
    for (size_t i = 0; i < w->order_count && has_room(w); i++) {
        const struct explain_row *row = w->order[i];
        int64_t key = get_key(row);
        struct explain_item *item;

        if (w->used[i] || key < w->facts->from_ms || key >= w->out->until_ms)
            continue;
        if (row->mark == MARK_SKIPPED) {
            tell_skipped(w, row, key);
            continue;
        }
        item = add_item(w, key, EXPLAIN_UNKNOWN);
        item->kind = row->mark == MARK_NONE ? TRIGGER_CRON : row->fire.kind;
        explain_tell_rows(w->facts, &row, 1, item);
        say_why(w, row, item);
    }
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static int compare_items(const void *a, const void *b)
{
    const struct explain_item *x = a, *y = b;
    int by_time = compare_numbers(x->due_ms, y->due_ms);

    return by_time ? by_time : compare_numbers(x->run_count ? x->runs[0] : 0, y->run_count ? y->runs[0] : 0);
}

static void destroy_work(struct work *w)
{
    free(w->order);
    free(w->used);
    free(w->due_ms);
    free(w->rates);
    free(w->segs);
}

static enum err create_work(struct work *w, const struct explain_facts *facts, struct explanation *out,
                            struct errctx *ec)
{
    size_t rows = facts->row_count + 1;
    size_t due = rows > EXPLAIN_ITEMS_MAX + 1 ? rows : EXPLAIN_ITEMS_MAX + 1;

    *out = (struct explanation){.job_id = facts->job_id, .from_ms = facts->from_ms, .until_ms = facts->to_ms};
    /* A removal and an unknown part for each change may come on top. */
    out->items = calloc(EXPLAIN_ITEMS_MAX + 2 * facts->change_count + 2, sizeof *out->items);
    *w = (struct work){.facts = facts,
                       .order = calloc(rows, sizeof *w->order),
                       .used = calloc(rows, sizeof *w->used),
                       .due_ms = calloc(due, sizeof *w->due_ms),
                       .rates = calloc(rows, sizeof *w->rates),
                       .segs = calloc(facts->change_count + 1, sizeof *w->segs),
                       .out = out};
    return out->items && w->order && w->used && w->due_ms && w->rates && w->segs
               ? ERR_OK
               : err_set(ec, ERR_NOMEM, "out of memory for the explanation");
}

static enum err tell_all(struct work *w, struct errctx *ec)
{
    enum err e = ERR_OK;

    w->seg_count = explain_make_segments(w->facts, w->segs);
    for (size_t i = 0; i < w->seg_count && !e && has_room(w); i++) {
        struct explain_segment *seg = &w->segs[i];

        if (seg->begin && seg->begin->removed && seg->from_ms > w->facts->from_ms)
            tell_removal(w, seg->begin);
        e = tell_segment(w, seg, i + 1 < w->seg_count ? seg + 1 : NULL, ec);
    }
    if (!e)
        tell_others(w);
    return e;
}

enum err explain_decide(const struct explain_facts *facts, struct explanation *out, struct errctx *ec)
{
    struct work w;
    enum err e = create_work(&w, facts, out, ec);

    if (!e) {
        put_in_order(&w);
        e = tell_all(&w, ec);
    }
    if (!e)
        qsort(out->items, out->count, sizeof *out->items, compare_items);
    destroy_work(&w);
    if (e) {
        free(out->items);
        *out = (struct explanation){0};
    }
    return e;
}
