/* SPDX-License-Identifier: MIT */
#include "schedule/look/loader.h"

#include "shardwheel/store/plan.h"

#include <stdlib.h>

#define IDLE_MS 1000

struct look {
    bool asked;
    bool failed;    /* the last statement; the next one is to come */
    uint64_t which; /* tells one look of a shard from the next */
    struct load_ask ask;
    int64_t at_s;       /* read up to here */
    struct fire *found; /* in no order, until all is there */
    size_t count;
};

/* A look as it stood when the piece under way began. */
struct part {
    bool takes_part;
    uint64_t which;
    int64_t from_s;
    int64_t to_s;
    struct load_ask ask;
    struct fire *found;
    size_t count;
};

struct loader {
    struct look_opts opts; /* [const] */
    struct mutex lock;     /* rank LOCK_SCHEDULE; never held across a database call or a callback */
    struct look *looks;    /* [lock] of each shard */
    uint64_t asks;         /* [lock] so far */
    struct errctx failure; /* [lock] the last one */
    struct worker worker;  /* [const] locks by itself */

    struct part *parts;   /* [loader] of each shard: in the piece under way */
    int64_t piece_s;      /* [loader] the size of the next piece */
    int64_t next_mono_ms; /* [loader] what is not urgent waits until then */
};

enum err loader_create(const struct look_opts *opts, struct loader **out, struct errctx *ec)
{
    struct loader *l = calloc(1, sizeof *l);
    size_t n = (size_t)opts->shards;

    if (!l)
        return err_set(ec, ERR_NOMEM, "loader: out of memory");
    l->opts = *opts;
    l->piece_s = LOAD_PIECE_MAX_S;
    mutex_init(&l->lock, LOCK_SCHEDULE);
    worker_init(&l->worker, opts->clock);
    l->worker.watch = opts->watch;
    l->looks = calloc(n, sizeof *l->looks);
    l->parts = calloc(n, sizeof *l->parts);
    if (!l->looks || !l->parts) {
        loader_destroy(l);
        return err_set(ec, ERR_NOMEM, "loader: out of memory");
    }
    *out = l;
    return ERR_OK;
}

void loader_destroy(struct loader *l)
{
    if (!l)
        return;
    for (int k = 0; l->looks && k < l->opts.shards; k++)
        fire_destroy_list(l->looks[k].found);
    worker_fini(&l->worker);
    mutex_fini(&l->lock);
    free(l->looks);
    free(l->parts);
    free(l);
}

/* ---- called by the shards ---------------------------------------------------------------------------------------- */

/* Puts another look, or none, in the place of the shard's. */
static void replace_look(struct loader *l, int shard, const struct load_ask *ask)
{
    struct fire *found;

    mutex_lock(&l->lock);
    found = l->looks[shard].found;
    l->looks[shard] = (struct look){.which = ++l->asks};
    if (ask) {
        l->looks[shard].asked = true;
        l->looks[shard].ask = *ask;
        l->looks[shard].at_s = ask->from_s;
        worker_poke(&l->worker);
    }
    mutex_unlock(&l->lock);
    fire_destroy_list(found);
}

void loader_ask(struct loader *l, int shard, const struct load_ask *ask)
{
    replace_look(l, shard, ask);
}

void loader_drop(struct loader *l, int shard)
{
    replace_look(l, shard, NULL);
}

static int compare_fires(const void *a, const void *b)
{
    const struct fire *x = *(struct fire *const *)a, *y = *(struct fire *const *)b;
    int by_due = compare_numbers(x->due_s, y->due_s);

    return by_due ? by_due : compare_numbers(x->log_id, y->log_id);
}

static enum err sort_list(struct fire **list, size_t count, struct errctx *ec)
{
    struct fire **fires = malloc((count + 1) * sizeof *fires);
    size_t n = 0;

    if (!fires)
        return err_set(ec, ERR_NOMEM, "loader: out of memory");
    for (struct fire *f = *list; f; f = f->next)
        fires[n++] = f;
    qsort(fires, n, sizeof *fires, compare_fires);
    fires[n] = NULL;
    for (size_t i = 0; i < n; i++)
        fires[i]->next = fires[i + 1];
    *list = fires[0];
    free(fires);
    return ERR_OK;
}

enum err loader_take(struct loader *l, int shard, struct fire **out, size_t *count, struct errctx *ec)
{
    struct look *look = &l->looks[shard];
    struct look taken;

    mutex_lock(&l->lock);
    taken = *look;
    if (taken.asked && taken.at_s >= taken.ask.to_s)
        *look = (struct look){.which = ++l->asks};
    if (taken.failed && ec)
        *ec = l->failure;
    mutex_unlock(&l->lock);
    if (!taken.asked)
        return err_set(ec, ERR_STATE, "shard %d looks for nothing in the log", shard);
    if (taken.at_s < taken.ask.to_s)
        return taken.failed ? ERR_LOST : ERR_BUSY;
    if (sort_list(&taken.found, taken.count, ec)) {
        fire_destroy_list(taken.found);
        loader_ask(l, shard, &taken.ask);
        return ERR_NOMEM;
    }
    *out = taken.found;
    *count = taken.count;
    return ERR_OK;
}

/* ---- the thread -------------------------------------------------------------------------------------------------- */

static bool is_open(const struct look *look, bool urgent_only)
{
    return look->asked && look->at_s < look->ask.to_s && (look->ask.urgent || !urgent_only);
}

/* Chooses the next piece: at the earliest second that somebody waits for, urgent looks before others. All looks that
 * have come to within it take part. False: nobody waits. */
static bool choose_piece(struct loader *l, struct log_slice *slice, bool *urgent)
{
    bool found = false;

    *urgent = false;
    mutex_lock(&l->lock);
    for (int k = 0; k < l->opts.shards; k++)
        *urgent = *urgent || is_open(&l->looks[k], true);
    for (int k = 0; k < l->opts.shards; k++) {
        if (is_open(&l->looks[k], *urgent) && (!found || l->looks[k].at_s < slice->from_s)) {
            slice->from_s = l->looks[k].at_s;
            found = true;
        }
    }
    slice->to_s = slice->from_s;
    for (int k = 0; k < l->opts.shards; k++) {
        const struct look *look = &l->looks[k];
        bool takes_part =
            found && is_open(look, false) && look->at_s >= slice->from_s && look->at_s < slice->from_s + l->piece_s;

        l->parts[k] = (struct part){.takes_part = takes_part};
        if (!takes_part)
            continue;
        l->parts[k].which = look->which;
        l->parts[k].ask = look->ask;
        l->parts[k].from_s = look->at_s;
        if (slice->to_s < look->ask.to_s && (look->ask.urgent || !*urgent))
            slice->to_s = look->ask.to_s;
    }
    mutex_unlock(&l->lock);
    if (slice->to_s > slice->from_s + l->piece_s)
        slice->to_s = slice->from_s + l->piece_s;
    for (int k = 0; k < l->opts.shards; k++) {
        struct part *part = &l->parts[k];

        part->to_s = part->ask.to_s < slice->to_s ? part->ask.to_s : slice->to_s;
    }
    return found;
}

/* Gives each fire to the look that it belongs to. */
static void divide(struct loader *l, struct fire *list)
{
    while (list) {
        struct fire *fire = list;
        struct part *part = &l->parts[(fire->job_id % l->opts.shards + l->opts.shards) % l->opts.shards];

        list = fire->next;
        if (!part->takes_part || fire->due_s <= part->from_s || fire->due_s > part->to_s ||
            fire->epoch >= part->ask.under) {
            fire->next = NULL;
            fire_destroy(fire);
            continue;
        }
        fire->shard = (int)(part - l->parts);
        fire->epoch = part->ask.epoch;
        fire->next = part->found;
        part->found = fire;
        part->count++;
    }
}

/* A second that the server cannot read within the limit: page by page. */
static enum err read_pages(struct loader *l, struct store_session *session, struct log_slice *slice, struct errctx *ec)
{
    struct fire *list = NULL;
    enum err e;

    slice->page_rows = LOAD_PAGE_ROWS;
    slice->limit_ms = LOAD_PAGE_LIMIT_MS;
    do {
        if (worker_is_stopping(&l->worker))
            return err_set(ec, ERR_BUSY, "stopping");
        e = store_load_planned(session, slice, &list, &slice->after_id, ec);
        if (!e)
            divide(l, list);
    } while (!e && slice->after_id > 0);
    return e;
}

/* Reads the piece, and learns from how long it took how large the next one may be. ERR_TIMEOUT: it was too large. */
static enum err read_piece(struct loader *l, struct log_slice *slice, struct errctx *ec)
{
    int64_t size_s = slice->to_s - slice->from_s;
    struct store_session *session = NULL;
    struct fire *list = NULL;
    int64_t began_ms, took_ms, none;
    enum err e = store_take_session(l->opts.store, SESSION_CLAIM, &session, ec);

    if (e)
        return e == ERR_TIMEOUT ? ERR_BUSY : e; /* all sessions are in use */
    began_ms = clock_mono_ms(l->opts.clock);
    e = store_load_planned(session, slice, &list, &none, ec);
    took_ms = clock_mono_ms(l->opts.clock) - began_ms;
    if (!e)
        divide(l, list);
    if (e == ERR_TIMEOUT && size_s == 1) {
        e = read_pages(l, session, slice, ec);
        if (e == ERR_TIMEOUT)
            e = ERR_LOST; /* no smaller piece can be had */
    }
    store_give_session(l->opts.store, session);
    if (e == ERR_TIMEOUT)
        l->piece_s = size_s > LOAD_SHRINK ? size_s / LOAD_SHRINK : 1;
    else if (!e && took_ms > LOAD_SLOW_MS)
        l->piece_s = size_s > 1 ? size_s / 2 : 1;
    else if (!e && took_ms < LOAD_QUICK_MS && l->piece_s < LOAD_PIECE_MAX_S)
        l->piece_s *= 2;
    return e;
}

/* Adds what was read to the looks that took part and still stand, and tells those that have come to their end. */
static void give_out(struct loader *l)
{
    for (int k = 0; k < l->opts.shards; k++) {
        struct part *part = &l->parts[k];
        struct look *look = &l->looks[k];
        bool tell = false;

        if (!part->takes_part)
            continue;
        mutex_lock(&l->lock);
        if (look->which == part->which) {
            fire_put_before(&look->found, part->found);
            look->count += part->count;
            look->at_s = part->to_s;
            look->failed = false;
            part->found = NULL;
            tell = look->at_s >= look->ask.to_s;
        }
        mutex_unlock(&l->lock);
        if (tell)
            l->opts.ready(l->opts.arg, k);
    }
}

static void note_failure(struct loader *l, const struct errctx *ec)
{
    for (int k = 0; k < l->opts.shards; k++) {
        struct part *part = &l->parts[k];
        bool tell = false;

        if (!part->takes_part)
            continue;
        mutex_lock(&l->lock);
        l->failure = *ec;
        if (l->looks[k].which == part->which)
            tell = l->looks[k].failed = true;
        mutex_unlock(&l->lock);
        if (tell)
            l->opts.ready(l->opts.arg, k);
    }
}

int64_t loader_turn(struct loader *l)
{
    struct log_slice slice = {.limit_ms = LOAD_LIMIT_MS};
    int64_t began_ms = clock_mono_ms(l->opts.clock), took_ms;
    struct errctx ec = {0};
    bool urgent;
    enum err e;

    if (!choose_piece(l, &slice, &urgent))
        return IDLE_MS;
    if (!urgent && began_ms < l->next_mono_ms)
        return l->next_mono_ms - began_ms;
    e = read_piece(l, &slice, &ec);
    took_ms = clock_mono_ms(l->opts.clock) - began_ms;
    if (took_ms > LOAD_PAUSE_MAX_MS)
        took_ms = LOAD_PAUSE_MAX_MS;
    l->next_mono_ms = began_ms + 2 * took_ms;
    if (!e)
        give_out(l);
    else if (e != ERR_TIMEOUT)
        note_failure(l, &ec);
    for (int k = 0; k < l->opts.shards; k++) {
        fire_destroy_list(
            l->parts[k].found); /* of those that do not want it any more, or of a piece that is read again */
        l->parts[k].found = NULL;
    }
    return e && e != ERR_TIMEOUT ? LOAD_RETRY_MS : 0;
}

WORKER_LIFE(loader, "loader", NULL)
