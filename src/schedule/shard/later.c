/* SPDX-License-Identifier: MIT */
/*
 * The later rows of a shard: what was found to be due is read, decided and planned in batches, and pushed into the
 * wheel. docs/protocol.md, "Later rows", has the rules.
 */
#include "schedule/ring/prepare.h"
#include "schedule/shard/shard_impl.h"
#include "shardwheel/job/times.h"
#include "shardwheel/route.h"
#include "shardwheel/store/later.h"
#include "shardwheel/store/plan.h"
#include "shardwheel/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_ROWS 500
#define PARTS 8          /* of a batch that met a row which is locked or refused */
#define PATIENCE_MS 2000 /* for these searches in one cycle; one step may take a lock wait longer */
#define LOCKED_PAUSE_MS 10000
#define REFUSED_PAUSE_MS 60000

/* ---- deciding ---------------------------------------------------------------------------------------------------- */

/* What a decision depends on besides the row. */
struct moment {
    int64_t now_s;
    int64_t earliest_s;
    int64_t look_s; /* from now to the next look at a fire that waits */
};

/* The list of addresses that a broadcast is divided by. */
struct targets {
    const char *const *list;
    size_t count;
    char *memory; /* of a list given by hand: the pointers and the texts */
};

static bool find_targets(const struct later_row *row, const struct registry_group *group, struct targets *out)
{
    size_t most, size;
    const char **list;
    char *text;

    *out = (struct targets){0};
    if (!row->addresses) {
        out->list = group ? group->addresses : NULL;
        out->count = group ? group->count : 0;
        return true;
    }
    size = strlen(row->addresses) + 1;
    most = text_count_items(row->addresses);
    out->memory = malloc(most * sizeof *list + size);
    if (!out->memory)
        return false;
    list = (const char **)out->memory;
    text = memcpy(out->memory + most * sizeof *list, row->addresses, size);
    for (char *item, *rest = text; (item = text_cut_item(&rest));)
        list[out->count++] = item;
    out->list = list;
    return true;
}

/* A fire that waited goes out when an executor is there, or with its last second. */
static int64_t find_due_s(const struct later_row *row, const struct targets *targets, const struct moment *moment)
{
    int64_t due_s = row->due_s;

    if (row->hold_until_s)
        due_s = targets->count == 0 || due_s >= row->hold_until_s ? row->hold_until_s : moment->earliest_s;
    return due_s > moment->earliest_s ? due_s : moment->earliest_s;
}

static struct fire *make_fire(const struct shard *shard, const struct later_row *row, struct job_spec *job,
                              int64_t due_s, const char *address)
{
    struct fire *fire = fire_create();

    if (!fire)
        return NULL;
    fire->job_id = row->job_id;
    fire->group = job->group;
    fire->due_s = due_s;
    /* For a moment's delay it stands for the second in which it goes out, unless it is an occurrence. */
    fire->original_due_s = row->original_due_s < fire->due_s - PLAN_OVERDUE_MS / 1000 || row->kind == TRIGGER_CRON ||
                                   row->kind == TRIGGER_MISFIRE
                               ? row->original_due_s
                               : fire->due_s;
    fire->epoch = shard->epoch;
    fire->shard = shard->number;
    fire->kind = row->kind;
    fire->source = row->id;
    fire->flags = row->generation == LATER_LAST ? FIRE_LATER | FIRE_LAST : FIRE_LATER;
    fire->generation = row->generation == LATER_LAST ? 0 : row->generation;
    fire->own = fire_own_create(&(struct fire_own){.param = row->param,
                                                   .addresses = row->addresses,
                                                   .retries = row->retries_left,
                                                   .hold_until_s = row->hold_until_s});
    fire->job = fire->own ? prepare_copy_job(fire->own, job) : NULL;
    fire->address = str_copy(address);
    if (!fire->job || (address && !fire->address)) {
        fire_destroy(fire);
        return NULL;
    }
    return fire;
}

/* A broadcast becomes a fire for each address, or keeps the numbers that its row has; with these it goes to the address
 * of that place, or the first one where nodes have left. False: out of memory. */
static bool make_fires(const struct shard *shard, const struct later_row *row, struct job_spec *job,
                       const struct targets *targets, const struct moment *moment, struct fire **out)
{
    bool broadcast = route_is_broadcast(job->route);
    int index = 0, total = 1;
    bool numbered = fire_parse_sharding(row->sharding, &index, &total);
    size_t parts = broadcast && !numbered && targets->count > 0 ? targets->count : 1;

    for (size_t i = parts; i-- > 0;) {
        const char *address = NULL;
        struct fire *fire;

        if (broadcast && targets->count > 0)
            address = targets->list[!numbered ? i : (size_t)index < targets->count ? (size_t)index : 0];
        fire = make_fire(shard, row, job, find_due_s(row, targets, moment), address);
        if (!fire)
            return false;
        fire->broadcast = broadcast;
        fire->shard_index = numbered ? index : (int)i;
        fire->shard_total = numbered ? total : (int)parts;
        fire->next = *out;
        *out = fire;
    }
    return true;
}

/* A fire that waits for an executor is not planned while there is none to be seen, until its last second is near. */
static bool waits_on(const struct later_row *row, const struct targets *targets, int64_t now_s)
{
    return row->hold_until_s > now_s + PLAN_AHEAD_MS / 1000 && targets->count == 0;
}

/* Why its fire does not happen any more; NULL: it does. */
static const char *find_end(const struct later_row *row, const struct job_spec *job)
{
    bool of_schedule = row->kind == TRIGGER_CRON || row->kind == TRIGGER_MISFIRE;

    if (!job)
        return "not sent: the job is gone";
    return of_schedule && !job->running && row->generation != LATER_LAST ? "not sent: the job was stopped" : NULL;
}

static enum err decide(struct shard *shard, struct later_claim *claim, struct job_spec *job,
                       const struct registry_group *group, const struct moment *moment, struct errctx *ec)
{
    const struct later_row *row = claim->row;
    struct targets targets;
    bool made = true;

    claim->why = find_end(row, job);
    if (claim->why) {
        claim->fate = LATER_DROP;
        return ERR_OK;
    }
    if (!find_targets(row, group, &targets))
        return err_set(ec, ERR_NOMEM, "later rows: out of memory");
    if (waits_on(row, &targets, moment->now_s)) {
        claim->fate = LATER_WAIT;
        claim->again_s = moment->now_s + PLAN_AHEAD_MS / 1000 + moment->look_s;
        if (claim->again_s > row->hold_until_s)
            claim->again_s = row->hold_until_s;
    } else {
        claim->fate = LATER_PLAN;
        made = make_fires(shard, row, job, &targets, moment, &claim->fires);
    }
    free(targets.memory);
    return made ? ERR_OK : err_set(ec, ERR_NOMEM, "later rows: out of memory");
}

/* ---- a batch ----------------------------------------------------------------------------------------------------- */

struct batch {
    struct later_page page;
    struct later_claim *claims; /* of each row of the page */
    int64_t *job_ids;           /* distinct, ascending */
    struct job_spec **jobs;     /* of each of these */
    size_t job_count;
};

static void fini_batch(struct batch *b)
{
    for (size_t i = 0; b->claims && i < b->page.count; i++)
        fire_destroy_list(b->claims[i].fires);
    for (size_t i = 0; b->jobs && i < b->job_count; i++)
        job_spec_unref(b->jobs[i]);
    free(b->claims);
    free(b->job_ids);
    free(b->jobs);
    later_page_fini(&b->page);
}

static enum err read_batch(struct store_session *session, const int64_t *ids, size_t count, struct batch *b,
                           struct errctx *ec)
{
    enum err e = store_load_later(session, ids, count, &b->page, ec);

    if (e || b->page.count == 0)
        return e;
    b->claims = calloc(b->page.count, sizeof *b->claims);
    b->job_ids = calloc(b->page.count, sizeof *b->job_ids);
    b->jobs = calloc(b->page.count, sizeof(struct job_spec *));
    if (!b->claims || !b->job_ids || !b->jobs)
        return err_set(ec, ERR_NOMEM, "later rows: out of memory");
    for (size_t i = 0; i < b->page.count; i++)
        b->job_ids[i] = b->page.rows[i].job_id;
    qsort(b->job_ids, b->page.count, sizeof *b->job_ids, compare_int64);
    for (size_t i = 0; i < b->page.count; i++)
        if (i == 0 || b->job_ids[i] != b->job_ids[b->job_count - 1])
            b->job_ids[b->job_count++] = b->job_ids[i];
    return store_load_job_specs(session, b->job_ids, b->job_count, b->jobs, ec);
}

/* The more fires wait, the fewer of them are written in a second. */
static int64_t find_look_s(size_t count)
{
    int64_t look_s = HOLD_AGAIN_S - PLAN_AHEAD_MS / 1000 + (int64_t)count / HOLD_ROWS_PER_S;

    return look_s < HOLD_LOOK_MAX_S ? look_s : HOLD_LOOK_MAX_S;
}

static enum err decide_batch(struct shard *shard, struct batch *b, size_t count, struct errctx *ec)
{
    const struct registry_snapshot *snap = registry_get_snapshot(shard->deps.opts.registry);
    int64_t now_ms = clock_wall_ms(shard->deps.clock);
    struct moment moment = {
        .now_s = now_ms / 1000, .earliest_s = shard_find_earliest_s(shard, now_ms), .look_s = find_look_s(count)};
    enum err e = ERR_OK;

    for (size_t i = 0; i < b->page.count && !e; i++) {
        const struct later_row *row = &b->page.rows[i];
        const int64_t *at = list_find(b->job_ids, b->job_count, sizeof *b->job_ids, row->job_id);
        struct job_spec *job = b->jobs[at - b->job_ids];

        b->claims[i].row = row;
        e = decide(shard, &b->claims[i], job, job ? registry_find_group(snap, job->group) : NULL, &moment, ec);
    }
    registry_put_snapshot(snap);
    return e;
}

/* As after a claim of jobs: nothing else of this shard is planned until it is known. */
static enum err read_back(struct shard *shard, struct batch *b, struct errctx *ec)
{
    enum err e = ERR_LOST;

    log_warn("schedule", "event=commit_unknown shard=%d epoch=%" PRId64 " later_rows=%zu effect=\"rows are read back\"",
             shard->number, shard->epoch, b->page.count);
    for (int i = 0; i < READ_BACK_TRIES && e != ERR_OK && e != ERR_STATE; i++) {
        struct store_session *session = NULL;

        errctx_clear(ec);
        e = store_take_session(shard->deps.opts.store, SESSION_CLAIM, &session, ec);
        if (!e)
            e = store_find_later_claimed(session, shard->number, shard->epoch, b->claims, b->page.count, ec);
        store_give_session(shard->deps.opts.store, session);
        if (e != ERR_OK && e != ERR_STATE && !shard_pause_before_next_try(shard))
            break;
    }
    return e == ERR_OK ? ERR_OK : ERR_STATE;
}

/* ---- what is put aside ------------------------------------------------------------------------------------------- */

/* One call for a part of the look. */
struct cycle {
    struct store_session **session;
    size_t found;                /* rows of the part */
    int64_t searches_to_mono_ms; /* 0: nothing that is locked was met yet */
    size_t refused;              /* rows; one of them is logged */
};

static void put_aside(struct shard *shard, int64_t id, int64_t pause_ms)
{
    left_out_add(&shard->later_aside,
                 (struct left_out_job){.id = id, .again_mono_ms = clock_mono_ms(shard->deps.clock) + pause_ms});
}

/* Forgets those whose time has come. Those of the ids that it is for move to the end, behind all others; returns the
 * number of the ids that are to be tried, and of those that nobody put aside. */
static size_t sort_out(struct shard *shard, int64_t *ids, size_t count, size_t *fresh)
{
    struct left_out *aside = &shard->later_aside;
    int64_t now_ms = clock_mono_ms(shard->deps.clock);
    size_t n = 0, again = 0, kept = 0;

    left_out_sort(aside);
    for (size_t i = 0; i < count; i++) {
        const struct left_out_job *row = left_out_find(aside, ids[i]);
        int64_t id = ids[i];

        if (row && row->again_mono_ms > now_ms)
            continue;
        ids[n + again] = id;
        if (row) {
            again++;
        } else {
            ids[n + again] = ids[n];
            ids[n++] = id;
        }
    }
    for (size_t i = 0; i < aside->count; i++)
        if (aside->jobs[i].again_mono_ms > now_ms)
            aside->jobs[kept++] = aside->jobs[i];
    aside->count = kept;
    aside->full = false;
    *fresh = n;
    return n + again;
}

/* ---- claiming ---------------------------------------------------------------------------------------------------- */

/* Pushes what was planned; its jobs are read again right before its second. */
static void settle(struct shard *shard, struct batch *b)
{
    int64_t planned = 0;

    for (size_t i = 0; i < b->page.count; i++) {
        struct later_claim *claim = &b->claims[i];

        if (claim->locked)
            put_aside(shard, claim->row->id, LOCKED_PAUSE_MS);
        if (!claim->done)
            continue;
        if (claim->fate == LATER_DROP)
            log_limited(&shard->dropped_log, shard->deps.clock, LOG_WARN, "schedule",
                        "event=later_row_dropped shard=%d id=%" PRId64 " job=%" PRId64 " kind=%s why=%s", shard->number,
                        claim->row->id, claim->row->job_id, trigger_kind_name(claim->row->kind),
                        log_quote(claim->why ? claim->why : "its log row has ended").s);
        if (claim->fate == LATER_PLAN)
            delays_add_parts(&shard->delays, claim->row->job_id, claim->fires);
        while (claim->fate == LATER_PLAN && claim->fires) {
            struct fire *fire = claim->fires;

            claim->fires = fire->next;
            fire->next = NULL;
            prepare_forget(fire);
            log_fire(SCHEDULE,
                     "event=fire_planned log_id=%" PRId64 " job=%" PRId64 " shard=%d epoch=%" PRId64 " second=%" PRId64
                     " kind=%s",
                     fire->log_id, fire->job_id, shard->number, fire->epoch, fire->due_s,
                     trigger_kind_name(fire->kind));
            shard_push_all(shard, fire);
            planned++;
        }
    }
    counters_add(shard->deps.counters, COUNTER_FIRES_PLANNED, planned);
}

static enum err claim_batch(struct shard *shard, struct cycle *c, struct batch *b, struct errctx *ec)
{
    enum err e = store_claim_later(*c->session, shard->number, shard->epoch, b->claims, b->page.count, ec);

    if (e == ERR_UNKNOWN) {
        store_give_session(shard->deps.opts.store, *c->session);
        *c->session = NULL;
        e = read_back(shard, b, ec);
    }
    if (e) {
        counters_add(shard->deps.counters, COUNTER_CLAIM_FAILURES, 1);
        return e;
    }
    settle(shard, b); /* before anything else can fail: these rows are written */
    return *c->session ? ERR_OK : store_take_session(shard->deps.opts.store, SESSION_CLAIM, c->session, ec);
}

static enum err decide_and_claim(struct shard *shard, struct cycle *c, const int64_t *ids, size_t count,
                                 struct errctx *ec)
{
    struct batch b = {0};
    enum err e = read_batch(*c->session, ids, count, &b, ec);

    if (!e && b.page.count > 0)
        e = decide_batch(shard, &b, c->found, ec);
    if (!e && b.page.count > 0)
        e = claim_batch(shard, c, &b, ec);
    fini_batch(&b);
    return e;
}

/* A row that the server waits for, or that it refuses, is looked for in ever smaller parts: the others go on. What is
 * left when the time for that is over is put aside, too. */
static enum err claim_ids(struct shard *shard, struct cycle *c, const int64_t *ids, size_t count, struct errctx *ec)
{
    size_t part = (count + PARTS - 1) / PARTS;
    enum err e;

    if (shard_is_called_away(shard))
        return err_set(ec, ERR_BUSY, "asked back");
    e = decide_and_claim(shard, c, ids, count, ec);
    if (e != ERR_CONFLICT && e != ERR_INPUT)
        return e;
    if (count == 1) {
        if (e == ERR_INPUT && c->refused++ == 0)
            log_limited(&shard->refused_log, shard->deps.clock, LOG_WARN, "schedule",
                        "event=later_row_refused shard=%d id=%" PRId64 " error=%s effect=\"tried again\"",
                        shard->number, ids[0], log_quote(ec->text).s);
        put_aside(shard, ids[0], e == ERR_INPUT ? REFUSED_PAUSE_MS : LOCKED_PAUSE_MS);
        return ERR_OK;
    }
    if (c->searches_to_mono_ms == 0)
        c->searches_to_mono_ms = clock_mono_ms(shard->deps.clock) + PATIENCE_MS;
    e = ERR_OK;
    for (size_t at = 0; at < count && !e; at += part) {
        size_t n = count - at < part ? count - at : part;

        if (clock_mono_ms(shard->deps.clock) < c->searches_to_mono_ms)
            e = claim_ids(shard, c, ids + at, n, ec);
        else
            for (size_t i = at; i < at + n; i++)
                put_aside(shard, ids[i], LOCKED_PAUSE_MS);
    }
    return e;
}

enum err shard_claim_later(struct shard *shard, struct store_session **session, int64_t *ids, size_t count,
                           struct errctx *ec)
{
    struct cycle c = {.session = session, .found = count};
    size_t fresh, end;
    enum err e = ERR_OK;

    count = sort_out(shard, ids, count, &fresh);
    for (size_t at = 0; at < count && !e; at = end) {
        size_t limit = at < fresh ? fresh : count;

        end = limit - at < BATCH_ROWS ? limit : at + BATCH_ROWS;
        qsort(ids + at, end - at, sizeof *ids, compare_int64);
        e = claim_ids(shard, &c, ids + at, end - at, ec);
    }
    left_out_sort(&shard->later_aside);
    return e;
}
