/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "events/post.h"
#include "shardwheel/store/schema.h"

#define LEARN_MS 5000  /* between two looks at which events are wanted */
#define LOOK_MS 1000   /* between two looks for events, while none ends */
#define CLEAN_MS 60000 /* between two times of cleaning */
#define RETRY_MS 1000  /* after a statement that failed */
#define PAUSE_FIRST_MS INT64_C(5000)
#define PAUSE_MAX_MS (INT64_C(10) * 60000)
#define SENDING_MAX (HOOKS_MAX * EVENTS_AT_ONCE)

/* A webhook that something is sent to. */
struct lane {
    int64_t hook_id; /* 0: free */
    struct hook_target *target;
    size_t under_way;
    bool is_old; /* its URL is another one by now: freed when nothing is under way */
};

/* An event from its request until its outcome is written. */
struct sending {
    struct event_post post;
    struct events *of;
    struct lane *lane;
    int64_t id, hook_id; /* id 0: free */
    int tries, failures; /* of it, and of its webhook */
    bool done;
};

struct events {
    struct events_opts opts;   /* [const] */
    const struct clock *clock; /* [const] */
    struct counters *counters; /* [const] */
    struct http_client *http;  /* [thread] but for http_client_wake */
    struct http_tls tls;       /* [const] */
    struct thread thread;      /* [const] after start */
    _Atomic bool stopping;     /* [atomic] set once; release in events_stop, acquire in run */

    struct lane lanes[2 * HOOKS_MAX]; /* [thread] as all below */
    struct sending sendings[SENDING_MAX];
    size_t done_count;
    int64_t learn_mono_ms, look_mono_ms, clean_mono_ms, write_mono_ms;
    bool was_owner, failing;
    struct log_limit log, refused_log;
};

int64_t events_find_pause_ms(int failures)
{
    int64_t pause_ms = PAUSE_FIRST_MS;

    for (int i = 1; i < failures && pause_ms < PAUSE_MAX_MS; i++)
        pause_ms *= 2;
    return pause_ms < PAUSE_MAX_MS ? pause_ms : PAUSE_MAX_MS;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static void free_lane(struct events *v, struct lane *lane)
{
    hook_target_destroy(v->http, lane->target);
    *lane = (struct lane){0};
}

static void free_sending(struct sending *x)
{
    struct lane *lane = x->lane;

    event_post_fini(&x->post);
    if (lane && --lane->under_way == 0 && lane->is_old)
        free_lane(x->of, lane);
    *x = (struct sending){0};
}

static void on_done(void *arg, struct event_post *post)
{
    struct sending *x = arg;

    if (post->aborted) /* all ends: it waits in the table as before */
        return;
    x->done = true;
    x->of->done_count++;
}

/* Those of webhooks that are gone, or have another URL by now. */
static void retire_lanes(struct events *v, const struct hook_rows *hooks)
{
    for (size_t i = 0; i < ARRAY_LEN(v->lanes); i++) {
        struct lane *lane = &v->lanes[i];
        bool is_used = false;
        for (size_t k = 0; k < hooks->count && lane->hook_id; k++)
            is_used |= hooks->rows[k].id == lane->hook_id && strcmp(hooks->rows[k].target, lane->target->url) == 0;
        if (!lane->hook_id || is_used)
            continue;
        lane->is_old = true;
        if (lane->under_way == 0)
            free_lane(v, lane);
    }
}

static enum err find_lane(struct events *v, const struct hook_row *hook, struct lane **out, struct errctx *ec)
{
    struct lane *unused = NULL;
    enum err e;

    for (size_t i = 0; i < ARRAY_LEN(v->lanes); i++) {
        *out = &v->lanes[i];
        if ((*out)->hook_id == hook->id && !(*out)->is_old)
            return ERR_OK;
        unused = (*out)->hook_id ? unused : *out;
    }
    if (!unused) /* for as long as requests to URLs of before take */
        return err_set(ec, ERR_BUSY, "webhook %" PRId64 " was changed too often in a short time", hook->id);
    e = hook_target_create(v->http, hook->target, &unused->target, ec);
    if (e)
        return e;
    unused->hook_id = hook->id;
    *out = unused;
    return ERR_OK;
}

static size_t count_busy(const struct events *v, int64_t hook_id, int64_t ids[SENDING_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < SENDING_MAX; i++)
        if (v->sendings[i].id && v->sendings[i].hook_id == hook_id)
            ids[n++] = v->sendings[i].id;
    return n;
}

static void start(struct events *v, const struct hook_row *hook, struct lane *lane, const struct hook_event *event)
{
    struct sending *x = NULL;

    for (size_t i = 0; i < SENDING_MAX && !x; i++)
        x = v->sendings[i].id ? NULL : &v->sendings[i];
    if (!x)
        return;
    *x = (struct sending){.post = {.done = on_done, .arg = x},
                          .of = v,
                          .lane = lane,
                          .id = event->id,
                          .hook_id = hook->id,
                          .tries = event->tries,
                          .failures = hook->failures};
    lane->under_way++;
    events_put_body(&x->post.body, event);
    event_post_put_headers(&x->post, hook_kind_name((enum hook_kind)event->kind), event->id, hook->secret);
    if (!event_post_start(&x->post, v->http, lane->target, &v->tls))
        free_sending(x);
}

/* ---- the database ------------------------------------------------------------------------------------------------ */

static enum err learn(struct events *v, struct store_session *s, struct errctx *ec)
{
    return v->opts.off ? ERR_OK : store_learn_hooks(s, ec);
}

/* While a webhook is away one event at a time finds out whether it is back. */
static enum err look_for(struct events *v, struct store_session *s, const struct hook_row *hook, struct errctx *ec)
{
    int64_t busy[SENDING_MAX];
    size_t n = count_busy(v, hook->id, busy), most = hook->failures ? 1 : EVENTS_AT_ONCE;
    struct hook_events due = {0};
    struct lane *lane = NULL;
    enum err e;

    if (!hook->enabled || hook->wait_ms > 0 || n >= most)
        return ERR_OK;
    e = store_load_due_events(s, hook->id, busy, n, most - n, &due, ec);
    if (!e && due.count > 0)
        e = find_lane(v, hook, &lane, ec);
    for (size_t i = 0; i < due.count && !e; i++)
        start(v, hook, lane, &due.rows[i]);
    hook_events_fini(&due);
    return e;
}

static enum err look(struct events *v, struct store_session *s, struct errctx *ec)
{
    struct hook_rows hooks = {0};
    enum err e = store_load_hooks(s, /*counts=*/false, &hooks, ec);

    if (!e)
        retire_lanes(v, &hooks);
    for (size_t i = 0; i < hooks.count && i < HOOKS_MAX && e != ERR_LOST; i++) { /* one stands in no other's way */
        enum err one = look_for(v, s, &hooks.rows[i], ec);
        e = one ? one : e;
    }
    hook_rows_fini(&hooks);
    return e;
}

static void count_outcome(struct events *v, const struct sending *x)
{
    counters_add(v->counters, x->post.sent ? COUNTER_EVENTS_SENT : COUNTER_EVENTS_FAILED, 1);
    log_fire(EVENTS, "event=event_tried id=%" PRId64 " hook=%" PRId64 " status=%d sent=%s", x->id, x->hook_id,
             x->post.status, x->post.sent ? "yes" : "no");
    if (!x->post.sent)
        log_limited(&v->refused_log, v->clock, LOG_WARN, "events",
                    "event=event_not_taken id=%" PRId64 " hook=%" PRId64 " tries=%d error=%s", x->id, x->hook_id,
                    x->tries + 1, log_quote(x->post.error).s);
}

static void tell_given_up(struct events *v, size_t count)
{
    counters_add(v->counters, COUNTER_EVENTS_GIVEN_UP, (int64_t)count);
    if (count > 0)
        log_warn("events", "event=events_given_up count=%zu", count);
}

static enum err write_done(struct events *v, struct store_session *s, struct errctx *ec)
{
    struct delivery_outcome list[SENDING_MAX];
    size_t n = 0, given_up = 0;
    enum err e;

    for (size_t i = 0; i < SENDING_MAX; i++) {
        const struct sending *x = &v->sendings[i];
        if (x->done)
            list[n++] = (struct delivery_outcome){
                .id = x->id,
                .hook_id = x->hook_id,
                .sent = x->post.sent,
                .away = x->post.away,
                .status = x->post.status,
                .error = x->post.error,
                .pause_ms = events_find_pause_ms((x->post.away ? x->failures : x->tries) + 1)};
    }
    e = store_end_deliveries(s, list, n, &given_up, ec);
    if (e)
        return e;
    for (size_t i = 0; i < SENDING_MAX; i++) {
        if (!v->sendings[i].done)
            continue;
        count_outcome(v, &v->sendings[i]);
        free_sending(&v->sendings[i]);
    }
    v->done_count = 0;
    tell_given_up(v, given_up);
    return ERR_OK;
}

static enum err clean(struct events *v, struct store_session *s, struct errctx *ec)
{
    size_t given_up = 0;
    int64_t waiting = 0;
    bool more = false;
    enum err e = store_clean_deliveries(s, DELIVERIES_MAX, &given_up, &waiting, &more, ec);

    tell_given_up(v, given_up);
    if (!e)
        counters_set(v->counters, COUNTER_EVENTS_WAITING, waiting);
    v->clean_mono_ms = clock_mono_ms(v->clock) + (more ? RETRY_MS / 10 : CLEAN_MS);
    return e;
}

static void note(struct events *v, enum err e, const struct errctx *ec)
{
    if (e)
        log_limited(&v->log, v->clock, LOG_WARN, "events", "event=events_failing error=%s effect=%s",
                    log_quote(ec->text).s, log_quote("events wait in the database").s);
    else if (v->failing)
        log_info("events", "event=events_working");
    v->failing = e != ERR_OK;
}

/* What is due of the database, in one session. Requests end here, too: then there may be more to send at once. */
static void ask_database(struct events *v, int64_t now_mono_ms, bool is_owner)
{
    bool writes = v->done_count > 0 && now_mono_ms >= v->write_mono_ms;
    bool learns = now_mono_ms >= v->learn_mono_ms;
    bool looks = is_owner && (writes || now_mono_ms >= v->look_mono_ms);
    bool cleans = is_owner && now_mono_ms >= v->clean_mono_ms;
    struct store_session *s = NULL;
    struct errctx ec;
    enum err e;

    if (!writes && !learns && !looks && !cleans)
        return;
    errctx_clear(&ec);
    e = store_take_session(v->opts.store, SESSION_CLAIM, &s, &ec);
    if (!e && writes)
        e = write_done(v, s, &ec);
    if (!e && learns)
        e = learn(v, s, &ec);
    if (!e && looks)
        e = look(v, s, &ec);
    if (!e && cleans)
        e = clean(v, s, &ec);
    store_give_session(v->opts.store, s);
    now_mono_ms = clock_mono_ms(v->clock);
    v->write_mono_ms = e ? now_mono_ms + RETRY_MS : 0;
    v->learn_mono_ms = learns ? now_mono_ms + (e ? RETRY_MS : LEARN_MS) : v->learn_mono_ms;
    v->look_mono_ms = looks ? now_mono_ms + LOOK_MS : v->look_mono_ms;
    v->clean_mono_ms = cleans && e ? now_mono_ms + CLEAN_MS : v->clean_mono_ms;
    note(v, e, &ec);
}

/* ---- turns ------------------------------------------------------------------------------------------------------- */

static bool is_owner(struct events *v)
{
    bool owner = !v->opts.off && v->opts.get_epoch(v->opts.arg) != 0;

    if (v->was_owner && !owner)
        counters_set(v->counters, COUNTER_EVENTS_WAITING, 0);
    v->was_owner = owner;
    return owner;
}

static void run(void *arg)
{
    struct events *v = arg;

    while (!atomic_load_explicit(&v->stopping, memory_order_acquire)) { /* with the release of events_stop */
        ask_database(v, clock_mono_ms(v->clock), is_owner(v));
        if (v->done_count == 0 || v->write_mono_ms)
            http_client_turn(v->http, LOOK_MS * 1000 / 4);
    }
    http_client_abort(v->http);
    if (v->done_count > 0) {
        v->write_mono_ms = 0;
        ask_database(v, 0, /*is_owner=*/false);
    }
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

enum err events_create(const struct events_opts *opts, const struct clock *clock, struct counters *counters,
                       struct events **out, struct errctx *ec)
{
    struct events *v = calloc(1, sizeof *v);
    struct store_session *s = NULL;
    enum err e;

    if (!v)
        return err_set(ec, ERR_NOMEM, "out of memory for events");
    v->opts = *opts;
    v->clock = clock;
    v->counters = counters;
    v->tls = (struct http_tls){.verify = true, .ca = opts->ca, .cert = "", .key = ""};
    atomic_init(&v->stopping, false);
    e = http_client_create(clock, opts->resolver, &v->http, ec);
    if (!e)
        e = store_take_session(opts->store, SESSION_CLAIM, &s, ec);
    if (!e)
        e = learn(v, s, ec);
    store_give_session(opts->store, s);
    if (e) {
        events_destroy(v);
        return e;
    }
    *out = v;
    return ERR_OK;
}

enum err events_start(struct events *v, struct errctx *ec)
{
    return thread_start(&v->thread, "events", run, v, ec);
}

void events_stop(struct events *v)
{
    atomic_store_explicit(&v->stopping, true, memory_order_release); /* with the acquire of run */
    http_client_wake(v->http);
}

void events_join(struct events *v)
{
    thread_join(&v->thread);
}

void events_destroy(struct events *v)
{
    if (!v)
        return;
    for (size_t i = 0; i < SENDING_MAX; i++)
        if (v->sendings[i].id)
            event_post_fini(&v->sendings[i].post);
    for (size_t i = 0; i < ARRAY_LEN(v->lanes); i++)
        hook_target_destroy(v->http, v->lanes[i].target);
    http_client_destroy(v->http);
    free(v);
}
