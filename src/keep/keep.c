/* SPDX-License-Identifier: MIT */
#include "keep/fetch.h"
#include "keep/lanes.h"
#include "keep/offers.h"
#include "keep/pack.h"
#include "shardwheel/executor/access.h"
#include "shardwheel/executor/http_client.h"
#include "shardwheel/executor/request.h"
#include "shardwheel/job/codes.h"
#include "shardwheel/store/kept.h"

#include <inttypes.h>
#include <stdlib.h>

#define LOOK_MAX 1000     /* runs that are looked up at once */
#define LOOK_AFTER_MS 300 /* by then the row has the address that its fire went to */
#define LEVEL_MS 10000    /* between two looks at what jobs want */
#define FETCHES_PER_S 200
#define TOKENS_MAX (FETCHES_PER_S * 1000)
#define TOKEN_MS (1 + 1000 / FETCHES_PER_S) /* by then there is one more */
#define WRITE_AFTER_MS 200
#define WRITE_AT 64                           /* texts that are written at once */
#define PACKED_MAX (WRITE_AT + FETCHES_MAX)   /* that wait to be written */
#define PACKED_BYTES_MAX ((size_t)512 * 1024) /* ... are written sooner */
#define RETRY_MS 1000                         /* after a statement that failed */
#define TRIES_MAX 3
#define HOLD_MS 150 /* fires that are due go first, for so long */
#define HOLD_LOOK_MS 5

struct keep {
    struct keep_opts opts;     /* [const] */
    const struct clock *clock; /* [const] */
    struct counters *counters; /* [const] */
    struct http_client *http;  /* [thread] but for http_client_wake */
    struct thread thread;      /* [const] after start */
    struct mutex lock;         /* rank LOCK_LEAF */
    int64_t end_mono_ms;       /* [lock] when it stops, whatever waits; 0: it goes on */

    struct keep_lanes lanes; /* [thread] as all below */
    struct fetches fetches;
    int64_t looking[LOOK_MAX]; /* ids that are looked up next */
    size_t looking_count;
    int64_t look_mono_ms;
    int look_tries;
    struct kept_log packed[PACKED_MAX];
    struct buf packed_data[PACKED_MAX];
    size_t packed_count, packed_bytes;
    int64_t write_mono_ms;
    int write_tries;
    int64_t level_mono_ms;
    int64_t tokens; /* thousandths of a fetch */
    int64_t tokens_mono_ms;
    int64_t held_mono_ms; /* since then fires go first; 0: they do not */
    struct log_limit log;
    bool failing;
};

/* ---- ends of fetches --------------------------------------------------------------------------------------------- */

static void pack(struct keep *k, const struct keep_item *item, const struct buf *text, bool is_cut)
{
    struct buf *data = &k->packed_data[k->packed_count];

    buf_clear(data);
    if (!keep_pack(text->data, text->len, data)) {
        counters_add(k->counters, COUNTER_KEPT_DROPPED_DATABASE, 1);
        return;
    }
    if (k->packed_count == 0)
        k->write_mono_ms = clock_mono_ms(k->clock) + WRITE_AFTER_MS;
    k->packed[k->packed_count++] = (struct kept_log){.log_id = item->log_id,
                                                     .job_id = item->job_id,
                                                     .is_cut = is_cut,
                                                     .text_len = text->len,
                                                     .data = (const unsigned char *)data->data,
                                                     .len = data->len};
    k->packed_bytes += data->len;
}

static void on_fetched(void *arg, struct keep_item *item, enum fetch_end end, const struct buf *text, bool is_cut)
{
    static const enum counter_id counter[] = {[FETCH_AWAY] = COUNTER_KEPT_DROPPED_UNREACHED,
                                              [FETCH_NO_LOG] = COUNTER_KEPT_DROPPED_ANSWER,
                                              [FETCH_ABORTED] = COUNTER_KEPT_DROPPED_STOPPING};
    struct keep *k = arg;
    size_t dropped;

    if (end == FETCH_KEPT)
        pack(k, item, text, is_cut);
    else
        counters_add(k->counters, counter[end], 1);
    log_fire(KEEP, "event=log_fetched log_id=%" PRId64 " bytes=%zu cut=%s", item->log_id,
             end == FETCH_KEPT ? text->len : 0, is_cut ? "yes" : "no");
    dropped = lanes_end_item(&k->lanes, item, end != FETCH_AWAY, clock_mono_ms(k->clock));
    counters_add(k->counters, COUNTER_KEPT_DROPPED_UNREACHED, (int64_t)dropped);
}

static void on_lane_gone(void *arg, struct keep_lane *lane)
{
    struct keep *k = arg;

    if (lane->peer)
        http_client_drop_peer(k->http, lane->peer);
}

/* ---- the database ------------------------------------------------------------------------------------------------ */

static void note(struct keep *k, enum err e, const struct errctx *ec)
{
    if (e)
        log_limited(&k->log, k->clock, LOG_WARN, "keep", "event=kept_logs_failing error=%s effect=%s",
                    log_quote(ec->text).s, log_quote("after some tries these logs are not kept").s);
    else if (k->failing)
        log_info("keep", "event=kept_logs_working");
    k->failing = e != ERR_OK;
}

static bool is_wanted(const struct keep *k, const struct kept_run *run)
{
    int which = run->own >= 0 ? run->own : (int)k->opts.which;

    return which >= KEPT_ALL || (which == KEPT_FAILED && run->handle_code != CODE_OK);
}

static void add_run(struct keep *k, const struct kept_run *run)
{
    static const enum counter_id counter[] = {[LANE_FULL] = COUNTER_KEPT_DROPPED_EXECUTOR,
                                              [LANE_PAUSED] = COUNTER_KEPT_DROPPED_UNREACHED,
                                              [LANE_NO_MEMORY] = COUNTER_KEPT_DROPPED_EXECUTOR};
    enum lane_outcome outcome;

    if (!is_wanted(k, run))
        return;
    if (!request_is_address(run->address)) {
        counters_add(k->counters, COUNTER_KEPT_DROPPED_UNREACHED, 1);
        return;
    }
    outcome = lanes_add_run(&k->lanes, run, clock_mono_ms(k->clock));
    if (outcome != LANE_ADDED)
        counters_add(k->counters, counter[outcome], 1);
}

static enum err look_up(struct keep *k, struct store_session *s, struct errctx *ec)
{
    enum err e = ERR_OK;

    while (k->looking_count > 0 && !e) {
        size_t n = k->looking_count < KEPT_BATCH_MAX ? k->looking_count : KEPT_BATCH_MAX;
        struct kept_runs runs = {0};

        e = store_load_kept_runs(s, k->looking + k->looking_count - n, n, &runs, ec);
        for (size_t i = 0; i < runs.count && !e; i++)
            add_run(k, &runs.runs[i]);
        kept_runs_fini(&runs);
        k->looking_count -= e ? 0 : n;
    }
    return e;
}

static void forget_looking(struct keep *k)
{
    counters_add(k->counters, COUNTER_KEPT_DROPPED_DATABASE, (int64_t)k->looking_count);
    k->looking_count = 0;
}

static void forget_packed(struct keep *k, enum counter_id counter)
{
    counters_add(k->counters, counter, (int64_t)k->packed_count);
    k->packed_count = k->packed_bytes = 0;
}

static enum err write_packed(struct keep *k, struct store_session *s, struct errctx *ec)
{
    size_t written = 0;
    enum err e = store_write_kept(s, k->packed, k->packed_count, &written, ec);

    if (e)
        return e;
    counters_add(k->counters, COUNTER_KEPT_LOGS, (int64_t)written);
    k->packed_count = k->packed_bytes = 0;
    k->write_tries = 0;
    for (size_t i = 0; i < PACKED_MAX; i++) /* they may have grown large */
        buf_fini(&k->packed_data[i]);
    return ERR_OK;
}

static enum err load_level(struct keep *k, struct store_session *s, struct errctx *ec)
{
    enum kept_which own = KEPT_NONE;
    enum err e = store_load_own_kept(s, &own, ec);

    if (!e)
        offers_set_level(k->opts.offers, own > k->opts.which ? own : k->opts.which);
    k->level_mono_ms = clock_mono_ms(k->clock) + LEVEL_MS;
    return e;
}

static bool is_write_due(const struct keep *k, int64_t now_mono_ms, bool stopping)
{
    if (k->packed_count == 0 || (k->write_tries > 0 && now_mono_ms < k->write_mono_ms))
        return false;
    return now_mono_ms >= k->write_mono_ms || k->packed_count >= WRITE_AT || k->packed_bytes >= PACKED_BYTES_MAX ||
           (stopping && k->fetches.count == 0);
}

/* What is due of the database, in one session. */
static void ask_database(struct keep *k, int64_t now_mono_ms, bool stopping)
{
    bool look = k->looking_count > 0 && now_mono_ms >= k->look_mono_ms;
    bool write = is_write_due(k, now_mono_ms, stopping), level = now_mono_ms >= k->level_mono_ms;
    struct store_session *s = NULL;
    struct errctx ec = {0};
    enum err e, looked = ERR_OK, wrote = ERR_OK;

    if (!look && !write && !level)
        return;
    e = store_take_session(k->opts.store, SESSION_CLAIM, &s, &ec);
    if (level && !e)
        e = load_level(k, s, &ec);
    if (level && e)
        k->level_mono_ms = now_mono_ms + RETRY_MS;
    if (look)
        looked = e ? e : look_up(k, s, &ec);
    if (write)
        wrote = e ? e : write_packed(k, s, &ec);
    store_give_session(k->opts.store, s);
    k->look_mono_ms = looked ? clock_mono_ms(k->clock) + RETRY_MS : k->look_mono_ms;
    k->look_tries = looked ? k->look_tries + 1 : 0;
    if (k->look_tries == TRIES_MAX)
        forget_looking(k);
    if (wrote) {
        k->write_mono_ms = clock_mono_ms(k->clock) + RETRY_MS;
        if (++k->write_tries == TRIES_MAX || wrote == ERR_INPUT) {
            forget_packed(k, COUNTER_KEPT_DROPPED_DATABASE);
            k->write_tries = 0;
        }
    }
    note(k, e ? e : looked ? looked : wrote, &ec);
}

/* ---- turns ------------------------------------------------------------------------------------------------------- */

/* True while fires that are due go first. */
static bool is_held(struct keep *k, int64_t now_mono_ms)
{
    if (!k->opts.is_sending || !k->opts.is_sending(k->opts.arg)) {
        k->held_mono_ms = 0;
        return false;
    }
    if (k->held_mono_ms == 0)
        k->held_mono_ms = now_mono_ms;
    return now_mono_ms - k->held_mono_ms < HOLD_MS;
}

static void take_offers(struct keep *k, int64_t now_mono_ms, bool stopping)
{
    if (k->looking_count > 0 || k->lanes.waiting >= WAITING_MAX)
        return;
    k->looking_count = offers_take(k->opts.offers, k->looking, LOOK_MAX);
    k->look_mono_ms = now_mono_ms + (stopping ? 0 : LOOK_AFTER_MS);
}

static void take_tokens(struct keep *k, int64_t now_mono_ms)
{
    k->tokens += (now_mono_ms - k->tokens_mono_ms) * FETCHES_PER_S;
    k->tokens = k->tokens > TOKENS_MAX ? TOKENS_MAX : k->tokens;
    k->tokens_mono_ms = now_mono_ms;
}

static void start_fetches(struct keep *k, int64_t now_mono_ms)
{
    struct keep_item *item;

    while (k->tokens >= 1000 && k->fetches.count < FETCHES_MAX && k->packed_count + k->fetches.count < PACKED_MAX &&
           (item = lanes_take_item(&k->lanes, now_mono_ms)) != NULL) {
        k->tokens -= 1000;
        if (fetch_start(&k->fetches, item))
            continue;
        counters_add(k->counters, COUNTER_KEPT_DROPPED_EXECUTOR, 1);
        (void)lanes_end_item(&k->lanes, item, /*reached=*/true, now_mono_ms); /* nobody was asked: nothing is dropped */
    }
}

static int64_t get_wait_ms(const struct keep *k, int64_t now_mono_ms, bool held)
{
    int64_t until_ms = k->level_mono_ms;

    if (held) /* none of this is done yet */
        return HOLD_LOOK_MS;
    if (k->looking_count > 0 && k->look_mono_ms < until_ms)
        until_ms = k->look_mono_ms;
    if (k->packed_count > 0 && k->write_mono_ms < until_ms)
        until_ms = k->write_mono_ms;
    if (k->lanes.waiting > 0 && k->tokens < 1000 && now_mono_ms + TOKEN_MS < until_ms)
        until_ms = now_mono_ms + TOKEN_MS;
    return until_ms > now_mono_ms ? until_ms - now_mono_ms : 0;
}

static int64_t get_end_mono_ms(struct keep *k)
{
    int64_t end_mono_ms;

    mutex_lock(&k->lock);
    end_mono_ms = k->end_mono_ms;
    mutex_unlock(&k->lock);
    return end_mono_ms;
}

static bool has_work(const struct keep *k)
{
    return k->looking_count + k->lanes.waiting + k->fetches.count + k->packed_count > 0;
}

/* What did not come in time is not kept. */
static void drop_rest(struct keep *k)
{
    size_t left = k->looking_count + lanes_drop_all(&k->lanes), n;

    while ((n = offers_take(k->opts.offers, k->looking, LOOK_MAX)) > 0)
        left += n;
    k->looking_count = 0;
    counters_add(k->counters, COUNTER_KEPT_DROPPED_STOPPING, (int64_t)left);
    left += k->fetches.count + k->packed_count;
    http_client_abort(k->http);
    forget_packed(k, COUNTER_KEPT_DROPPED_STOPPING);
    if (left > 0)
        log_info("keep", "event=kept_logs_dropped count=%zu why=stopping", left);
}

static void run(void *arg)
{
    struct keep *k = arg;
    int64_t now_mono_ms, end_mono_ms;

    for (;;) {
        now_mono_ms = clock_mono_ms(k->clock);
        end_mono_ms = get_end_mono_ms(k);
        bool stopping = end_mono_ms != 0, held = !stopping && is_held(k, now_mono_ms);

        executor_access_unref(k->fetches.access);
        k->fetches.access = access_box_get(k->opts.access);
        take_offers(k, now_mono_ms, stopping);
        if (stopping && (now_mono_ms >= end_mono_ms || !has_work(k)))
            break;
        if (!held) {
            ask_database(k, now_mono_ms, stopping);
            take_tokens(k, now_mono_ms);
            start_fetches(k, now_mono_ms);
            take_offers(k, now_mono_ms, stopping); /* nobody wakes us for those that were there already */
        }
        int64_t wait_ms = get_wait_ms(k, clock_mono_ms(k->clock), held);
        http_client_turn(k->http, (stopping && wait_ms > HOLD_LOOK_MS ? HOLD_LOOK_MS : wait_ms) * 1000);
    }
    drop_rest(k);
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static void wake(void *arg)
{
    struct keep *k = arg;

    http_client_wake(k->http);
}

enum err keep_create(const struct keep_opts *opts, const struct clock *clock, struct counters *counters,
                     struct keep **out, struct errctx *ec)
{
    struct keep *k = calloc(1, sizeof *k);
    enum err e;

    if (!k)
        return err_set(ec, ERR_NOMEM, "out of memory for the keeper of logs");
    k->opts = *opts;
    k->clock = clock;
    k->counters = counters;
    mutex_init(&k->lock, LOCK_LEAF);
    lanes_init(&k->lanes);
    k->lanes.forget = on_lane_gone;
    k->lanes.arg = k;
    e = http_client_create(clock, opts->resolver, &k->http, ec);
    if (e) {
        keep_destroy(k);
        return e;
    }
    http_client_set_networks(k->http, opts->networks);
    k->fetches = (struct fetches){.http = k->http, .text_max = opts->text_max, .ended = on_fetched, .arg = k};
    k->tokens_mono_ms = k->level_mono_ms = clock_mono_ms(clock);
    offers_set_level(opts->offers, opts->which);
    offers_set_wake(opts->offers, wake, k);
    *out = k;
    return ERR_OK;
}

enum err keep_start(struct keep *k, struct errctx *ec)
{
    return thread_start(&k->thread, "kept-logs", run, k, ec);
}

void keep_stop(struct keep *k)
{
    offers_close(k->opts.offers);
    mutex_lock(&k->lock);
    k->end_mono_ms = clock_mono_ms(k->clock) + KEEP_STOP_MS;
    mutex_unlock(&k->lock);
    wake(k);
}

void keep_join(struct keep *k)
{
    thread_join(&k->thread);
}

void keep_destroy(struct keep *k)
{
    if (!k)
        return;
    offers_close(k->opts.offers); /* who offers still finds nobody to wake */
    lanes_fini(&k->lanes);
    http_client_destroy(k->http);
    executor_access_unref(k->fetches.access);
    for (size_t i = 0; i < PACKED_MAX; i++)
        buf_fini(&k->packed_data[i]);
    mutex_fini(&k->lock);
    free(k);
}
