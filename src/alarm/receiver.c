/* SPDX-License-Identifier: MIT */
#include "alarm/receiver.h"

#include <stdio.h>
#include <stdlib.h>

#include "alarm/formats.h"
#include "alarm/mail_text.h"

#define WAIT_MAX_MS 60000
#define BATCH_MAX 50

struct receiver {
    struct receiver_opts opts;              /* [const] */
    const struct clock *clock;              /* [const] */
    struct counters *counters;              /* [const] */
    struct thread thread;                   /* [const] after start */
    struct log_limit refused_log, full_log; /* [atomic] */
    struct mutex lock;                      /* rank LOCK_COMPLETE; never held across a call of others */
    struct cond wake;                       /* with lock */
    struct parcel_list queue;               /* [lock] oldest first */
    size_t count;                           /* [lock] its length */
    bool stopping;                          /* [lock] */
    int failures;                           /* [thread] tries that failed since one did not */
    int64_t next_mono_ms;                   /* [thread] no try before */
};

struct parcel *parcel_create(struct message *message, const char *to, void *owner)
{
    struct parcel *d = calloc(1, sizeof *d);

    if (!d)
        return NULL;
    d->to = str_copy(to);
    if (to && !d->to) {
        free(d);
        return NULL;
    }
    d->message = message_ref(message);
    d->owner = owner;
    return d;
}

void parcel_destroy(struct parcel *d)
{
    if (!d)
        return;
    message_unref(d->message);
    free(d->to);
    free(d);
}

int64_t receiver_find_pause_ms(int failures)
{
    static const int64_t pauses_ms[] = {0, 2000, 10000, 30000};

    return pauses_ms[failures < (int)ARRAY_LEN(pauses_ms) ? failures : (int)ARRAY_LEN(pauses_ms) - 1];
}

const struct channel *receiver_get_channel(const struct receiver *r)
{
    return r->opts.channel;
}

/* ---- any thread -------------------------------------------------------------------------------------------------- */

bool receiver_post(struct receiver *r, struct parcel *d)
{
    d->posted_mono_ms = clock_mono_ms(r->clock);
    mutex_lock(&r->lock);
    bool room = !r->stopping && r->count < RECEIVER_QUEUE_MAX;
    if (room) {
        STAILQ_INSERT_TAIL(&r->queue, d, in_queue);
        r->count++;
        cond_signal(&r->wake);
    }
    mutex_unlock(&r->lock);
    if (room)
        counters_add(r->counters, COUNTER_ALARMS_QUEUED, 1);
    else
        log_limited(&r->full_log, r->clock, LOG_WARN, "alarm",
                    "event=alarm_queue_full channel=%s max=%d effect=\"the message is not sent there\"",
                    r->opts.channel->name, RECEIVER_QUEUE_MAX);
    return room;
}

void receiver_stop(struct receiver *r)
{
    mutex_lock(&r->lock);
    r->stopping = true;
    cond_broadcast(&r->wake);
    mutex_unlock(&r->lock);
    client_abort(r->opts.client);
}

/* ---- the thread -------------------------------------------------------------------------------------------------- */

/* Waits for something to send and the time to do so. False: stopped. Chat groups get what waits in one message. */
static bool take(struct receiver *r, struct parcel_list *out)
{
    enum channel_kind kind = r->opts.channel->kind;
    size_t most = kind == CHANNEL_MAIL || kind == CHANNEL_JSON ? 1 : BATCH_MAX;

    STAILQ_INIT(out);
    mutex_lock(&r->lock);
    while (!r->stopping && (STAILQ_EMPTY(&r->queue) || clock_mono_ms(r->clock) < r->next_mono_ms)) {
        if (STAILQ_EMPTY(&r->queue))
            cond_wait(&r->wake, &r->lock);
        else
            cond_wait_until(&r->wake, &r->lock, r->next_mono_ms);
    }
    for (size_t n = 0; !r->stopping && n < most && !STAILQ_EMPTY(&r->queue); n++) {
        struct parcel *d = STAILQ_FIRST(&r->queue);
        STAILQ_REMOVE_HEAD(&r->queue, in_queue);
        r->count--;
        STAILQ_INSERT_TAIL(out, d, in_queue);
    }
    bool going = !r->stopping;
    mutex_unlock(&r->lock);
    return going;
}

/* Of what was not sent, and of what was. */
static const enum counter_id counted[CHANNEL_KIND_COUNT][2] = {
#define CHANNEL_COUNTERS(id, ...) [CHANNEL_##id] = {COUNTER_MESSAGES_##id##_FAILED, COUNTER_MESSAGES_##id},
    CHANNEL_KINDS(CHANNEL_COUNTERS)
#undef CHANNEL_COUNTERS
};

static void end(struct receiver *r, struct parcel *d, bool sent, bool given_up, const char *error)
{
    d->sent = sent;
    d->given_up = given_up;
    snprintf(d->error, sizeof d->error, "%s", sent ? "" : error);
    counters_add(r->counters, COUNTER_ALARMS_QUEUED, -1);
    if (!given_up)
        counters_add(r->counters, counted[r->opts.channel->kind][sent], 1);
    r->opts.done(r->opts.arg, r->opts.channel, d);
}

static void end_list(struct receiver *r, struct parcel_list *list, bool sent, bool given_up, const char *error)
{
    while (!STAILQ_EMPTY(list)) {
        struct parcel *d = STAILQ_FIRST(list);
        STAILQ_REMOVE_HEAD(list, in_queue);
        end(r, d, sent, given_up, error);
    }
}

static enum client_outcome send_mail(struct receiver *r, const struct parcel *d, struct errctx *ec)
{
    struct buf text = {0};
    char unique[17];
    enum client_outcome outcome = CLIENT_AWAY;

    if (random_hex(unique, 8, ec) != ERR_OK)
        return CLIENT_AWAY;
    mail_put(&text, &(struct mail_facts){.subject = d->message->title,
                                         .html = d->message->html,
                                         .log_id = d->message->log_id,
                                         .from = r->opts.from,
                                         .to = d->to,
                                         .unique = unique,
                                         .now_s = time_floor_div(clock_wall_ms(r->clock), 1000)});
    if (buf_failed(&text))
        err_set(ec, ERR_NOMEM, "out of memory for a mail");
    else
        outcome = client_send_mail(r->opts.client, r->opts.from, d->to, text.data, text.len, ec);
    buf_fini(&text);
    return outcome;
}

static enum client_outcome post(struct receiver *r, const struct parcel_list *list, struct errctx *ec)
{
    const struct channel *channel = r->opts.channel;
    struct message *messages[BATCH_MAX];
    struct post post = {0};
    struct buf answer = {0};
    struct parcel *d;
    enum client_outcome outcome = CLIENT_AWAY;
    size_t n = 0;
    int status = 0;

    STAILQ_FOREACH(d, list, in_queue)
    messages[n++] = d->message;
    format_put(channel->kind, channel->secret, messages, n, clock_wall_ms(r->clock), &post);
    if (post_failed(&post))
        err_set(ec, ERR_NOMEM, "out of memory for a message");
    else
        outcome = client_post(r->opts.client, post.query.data, post.header.data, post.body.data, post.body.len, &status,
                              &answer, ec);
    if (outcome == CLIENT_SENT)
        outcome = format_judge(channel->kind, status, &answer, ec);
    buf_fini(&answer);
    post_fini(&post);
    return outcome;
}

/* Back to the head of the queue, but for what has waited long enough. */
static void put_back(struct receiver *r, struct parcel_list *list, const char *error)
{
    struct parcel_list late = STAILQ_HEAD_INITIALIZER(late), again = STAILQ_HEAD_INITIALIZER(again);
    int64_t now_ms = clock_mono_ms(r->clock);

    mutex_lock(&r->lock);
    STAILQ_CONCAT(list, &r->queue);
    r->count = 0;
    while (!STAILQ_EMPTY(list)) {
        struct parcel *d = STAILQ_FIRST(list);
        STAILQ_REMOVE_HEAD(list, in_queue);
        if (r->opts.once || now_ms - d->posted_mono_ms >= WAIT_MAX_MS) {
            STAILQ_INSERT_TAIL(&late, d, in_queue);
        } else {
            STAILQ_INSERT_TAIL(&again, d, in_queue);
            r->count++;
        }
    }
    STAILQ_CONCAT(&r->queue, &again);
    mutex_unlock(&r->lock);
    end_list(r, &late, false, false, error);
}

static void try(struct receiver *r, struct parcel_list *list)
{
    const char *name = r->opts.channel->name;
    struct errctx ec = {{0}};

    enum client_outcome outcome =
        r->opts.channel->kind == CHANNEL_MAIL ? send_mail(r, STAILQ_FIRST(list), &ec) : post(r, list, &ec);
    if (client_is_aborted(r->opts.client) && outcome == CLIENT_AWAY) {
        end_list(r, list, false, true, "the node stops");
        return;
    }
    if (outcome != CLIENT_AWAY && r->failures > 0)
        log_info("alarm", "event=receiver_back channel=%s", name);
    r->failures = outcome == CLIENT_AWAY ? r->failures + 1 : 0;
    r->next_mono_ms = clock_mono_ms(r->clock) + (r->failures ? receiver_find_pause_ms(r->failures)
                                                             : channel_limits[r->opts.channel->kind].gap_ms);
    switch (outcome) {
    case CLIENT_SENT: end_list(r, list, true, false, ""); break;
    case CLIENT_REFUSED:
        if (!r->opts.once)
            log_limited(&r->refused_log, r->clock, LOG_WARN, "alarm",
                        "event=alarm_refused channel=%s job=%lld log=%lld to=%s error=%s", name,
                        (long long)STAILQ_FIRST(list)->message->job_id, (long long)STAILQ_FIRST(list)->message->log_id,
                        log_quote(STAILQ_FIRST(list)->to ? STAILQ_FIRST(list)->to : "").s, log_quote(ec.text).s);
        end_list(r, list, false, false, ec.text);
        break;
    case CLIENT_AWAY:
        if (r->failures == 1 && !r->opts.once)
            log_warn("alarm", "event=receiver_away channel=%s error=%s effect=%s", name, log_quote(ec.text).s,
                     log_quote("tried again; messages that have waited a minute count as failed").s);
        put_back(r, list, ec.text);
        break;
    }
}

static void run(void *arg)
{
    struct receiver *r = arg;
    struct parcel_list list;

    while (take(r, &list)) {
        if (!r->opts.may_send || r->opts.may_send(r->opts.arg))
            try(r, &list);
        else
            end_list(r, &list, false, true, "another node sends the alarms");
    }
    mutex_lock(&r->lock);
    STAILQ_CONCAT(&list, &r->queue);
    r->count = 0;
    mutex_unlock(&r->lock);
    end_list(r, &list, false, true, "the node stops");
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

enum err receiver_create(const struct receiver_opts *opts, const struct clock *clock, struct counters *counters,
                         struct receiver **out, struct errctx *ec)
{
    struct receiver *r = calloc(1, sizeof *r);

    if (!r) {
        client_destroy(opts->client);
        return err_set(ec, ERR_NOMEM, "out of memory for a receiver of alarms");
    }
    r->opts = *opts;
    r->clock = clock;
    r->counters = counters;
    r->next_mono_ms = INT64_MIN;
    STAILQ_INIT(&r->queue);
    mutex_init(&r->lock, LOCK_COMPLETE);
    cond_init(&r->wake);
    *out = r;
    return ERR_OK;
}

enum err receiver_start(struct receiver *r, int number, struct errctx *ec)
{
    char name[16];

    snprintf(name, sizeof name, "alarm-%d", number);
    return thread_start(&r->thread, name, run, r, ec);
}

void receiver_join(struct receiver *r)
{
    thread_join(&r->thread);
}

void receiver_destroy(struct receiver *r)
{
    if (!r)
        return;
    while (!STAILQ_EMPTY(&r->queue)) { /* of one that was never started */
        struct parcel *d = STAILQ_FIRST(&r->queue);
        STAILQ_REMOVE_HEAD(&r->queue, in_queue);
        end(r, d, false, true, "the node stops");
    }
    client_destroy(r->opts.client);
    cond_fini(&r->wake);
    mutex_fini(&r->lock);
    free(r);
}
