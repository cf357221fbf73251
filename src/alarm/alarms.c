/* SPDX-License-Identifier: MIT */
/*
 * The node that tells.
 *
 * When the last receiver has ended with a message, what came of it is written, and the row of its job is somebody's
 * again. While the lease is not ours, receivers give up what they have, and what nobody got stays in the table.
 */
#include "alarm/alarms_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alarm/template.h"
#include "shardwheel/store/conn.h"

#define LOOK_MS 1000       /* at the table, by the node that tells */
#define LEASE_MS 5000      /* from one try to get or renew the lease to the next */
#define SLOW_LOOK_MS 10000 /* at runs of failing jobs, and at executors */
#define FORGET_MS 60000
#define SILENT_MS (INT64_C(7) * 24 * 3600 * 1000) /* a job that neither fails nor succeeds is forgotten */

/* ---- the receivers' threads -------------------------------------------------------------------------------------- */

static bool may_send(void *arg)
{
    struct alarms *a = arg;

    return clock_mono_ms(a->clock) < atomic_load_explicit(&a->send_until_mono_ms, memory_order_relaxed);
}

static void on_done(void *arg, const struct channel *channel, struct parcel *d)
{
    struct alarms *a = arg;
    bool last = d->owner && tellings_note(&a->tellings, d->owner, d);

    notes_add(&a->notes, channel, d);
    if (last)
        worker_poke(&a->worker);
}

/* ---- telling ----------------------------------------------------------------------------------------------------- */

void alarms_post(struct alarms *a, struct outlet_posts *posts)
{
    for (size_t i = 0; i < posts->count; i++) {
        struct parcel *d = posts->items[i].parcel;
        if (!receiver_post(posts->items[i].receiver, d)) {
            snprintf(d->error, sizeof d->error, "too many messages wait there");
            on_done(a, receiver_get_channel(posts->items[i].receiver), d); /* neither sent nor given up */
        }
    }
    outlet_posts_fini(posts, /*with_parcels=*/false);
}

bool alarms_may_tell(struct alarms *a)
{
    return a->tellings.count < ALARMS_TELLING_MAX && may_send(a) && !worker_is_stopping(&a->worker);
}

/* What channels miss; nothing where they are told again anyway, or it is no state. */
static enum err hold_back(struct store_session *s, const struct telling *what, const struct outlet_posts *posts,
                          struct errctx *ec)
{
    const char *kind = telling_find_kind(what);

    if (!kind || posts->quiet_count == 0)
        return ERR_OK;
    return store_hold_back(s, posts->quiet, posts->quiet_count, kind, telling_get_target(what), telling_is_over(what),
                           ec);
}

enum err alarms_tell(struct alarms *a, struct store_session *s, const struct telling *what, struct message *message,
                     const struct outlet_about *about, struct errctx *ec)
{
    struct telling *t = calloc(1, sizeof *t);
    struct outlet_about now = *about;
    struct outlet_posts posts = {0};
    int64_t flow = message ? message->flow_id : 0;
    enum err e;

    now.now_s = time_floor_div(clock_wall_ms(a->clock), 1000);
    e = t && message ? outlets_collect(a->in_use.outlets, &now, message, t, &posts, ec)
                     : err_set(ec, ERR_NOMEM, "out of memory for an alarm");
    message_unref(message);
    if (!e)
        e = hold_back(s, what, &posts, ec);
    if (e) {
        outlet_posts_fini(&posts, /*with_parcels=*/true);
        free(t);
        return e;
    }
    *t = *what;
    t->pending = posts.count;
    t->failed = posts.refused > 0;
    t->is_unwanted = posts.count == 0 && posts.refused == 0 && posts.quiet_count == 0;
    tellings_add(&a->tellings, t);
    if (posts.refused > 0 && flow)
        log_limited(&a->failed_log, a->clock, LOG_WARN, "alarm", "event=mail_address_refused flow=%" PRId64 " alarm=%s",
                    flow, log_quote(about->emails).s);
    else if (posts.refused > 0)
        log_limited(&a->failed_log, a->clock, LOG_WARN, "alarm",
                    "event=mail_address_refused job=%" PRId64 " log=%" PRId64 " alarm_email=%s",
                    telling_get_target(what), what->due.last_log, log_quote(about->emails).s);
    alarms_post(a, &posts);
    return ERR_OK;
}

/* Of a job that is gone. */
static enum err end_untold(struct alarms *a, struct store_session *s, const struct telling *what, struct errctx *ec)
{
    if (what->event == ALARM_EVENT_RECOVERED)
        return store_end_failing(s, &what->job, ec);
    counters_add(a->counters, COUNTER_ALARMS_JOB_GONE, what->due.log_id ? 1 : 0);
    return store_end_alarm(s, &what->due, ALARM_NOT_NEEDED, 0, ec);
}

static enum err tell_job(struct alarms *a, struct store_session *s, const struct telling *what, struct errctx *ec)
{
    struct alarm_facts facts = {0};
    enum err e = store_load_alarm(s, what->due.log_id ? what->due.log_id : what->due.last_log, &facts, ec);

    if (e == ERR_NOTFOUND || (!e && !facts.job_exists))
        e = end_untold(a, s, what, ec);
    else if (!e)
        e = alarms_tell(
            a, s, what, message_create_job(&a->wording, what->event, &facts, what->due.failures),
            &(struct outlet_about){.apps = &facts.app_name, .app_count = 1, .tags = facts.tags, .emails = facts.emails},
            ec);
    alarm_facts_fini(&facts);
    return e;
}

static enum err tell_all_due(struct alarms *a, struct store_session *s, struct errctx *ec)
{
    struct due_alarm *list = NULL;
    size_t count = 0;
    enum err e = store_load_due_alarms(s, ALARMS_TELLING_MAX, &list, &count, ec);

    for (size_t i = 0; i < count && !e && !worker_is_stopping(&a->worker); i++) {
        if (!alarms_may_tell(a))
            break;
        if (!tellings_has_job(&a->tellings, list[i].job_id))
            e = tell_job(a, s, &(struct telling){.event = ALARM_EVENT_FAILED, .due = list[i]}, ec);
    }
    free(list);
    return e;
}

/* ---- jobs that work again ---------------------------------------------------------------------------------------- */

static enum err look_at_runs(struct alarms *a, struct store_session *s, struct errctx *ec)
{
    struct recovered_job *found = NULL;
    size_t count = 0;
    enum err e = recovery_look(&a->recovery, s, time_floor_div(clock_wall_ms(a->clock), 1000), &found, &count, ec);

    for (size_t i = 0; i < count && !e; i++) {
        struct telling what = {.event = ALARM_EVENT_RECOVERED,
                               .due = {.job_id = found[i].job.job_id, .last_log = found[i].log_id, .failures = 1},
                               .job = found[i].job};

        if (!tellings_has_job(&a->tellings, what.due.job_id))
            e = tell_job(a, s, &what, ec);
    }
    if (e)
        recovery_reset(&a->recovery); /* what was found and not told is found again */
    free(found);
    return e;
}

/* ---- what came of it --------------------------------------------------------------------------------------------- */

static enum err write_end(struct alarms *a, struct store_session *s, const struct telling *t, struct errctx *ec)
{
    static const struct {
        const char *name;
        enum counter_id counter;
    } results[] = {
        {"failed", COUNTER_ALARMS_FAILED}, {"no_address", COUNTER_ALARMS_NO_ADDRESS}, {"sent", COUNTER_ALARMS_SENT}};
    bool failed = t->failed || t->given_up; /* some got it: it is not told again because others did not */
    size_t result = failed ? 0 : t->is_unwanted ? 1 : 2;
    enum err e;

    if (t->watch_kind[0])
        return alarms_end_watch(s, t, ec);
    if (t->flow_alarm)
        return store_end_flow_alarm(s, t->flow_alarm, ec);
    if (t->event == ALARM_EVENT_RECOVERED)
        return store_end_failing(s, &t->job, ec);
    e = store_end_alarm(s, &t->due, failed ? ALARM_FAILED : ALARM_DONE, a->opts.quiet_ms, ec);
    if (e)
        return e;
    log_fire(ALARM, "event=alarm_ended log_id=%" PRId64 " job=%" PRId64 " result=%s",
             t->due.log_id ? t->due.log_id : t->due.last_log, t->due.job_id, results[result].name);
    counters_add(a->counters, results[result].counter, 1);
    return ERR_OK;
}

static enum err write_ended(struct alarms *a, struct store_session *s, struct errctx *ec)
{
    struct telling *t;

    while ((t = tellings_find_ended(&a->tellings)) != NULL) {
        bool is_nobodys = t->given_up && t->sent == 0 && !t->failed; /* it stays in the table */
        enum err e = is_nobodys ? ERR_OK : write_end(a, s, t, ec);
        if (e && e != ERR_INPUT)
            return e;
        tellings_remove(&a->tellings, t);
    }
    return ERR_OK;
}

static void write_notes(struct alarms *a, struct store_session *s)
{
    struct errctx ec = {{0}};

    enum err e = notes_write(&a->notes, s, &ec);
    if (e)
        log_limited(&a->failed_log, a->clock, LOG_WARN, "alarm", "event=told_not_noted error=%s", log_quote(ec.text).s);
}

/* ---- turns ------------------------------------------------------------------------------------------------------- */

/* The lease counts from before it was asked for. */
static enum err hold(struct alarms *a, struct store_session *s, struct errctx *ec)
{
    int64_t now_ms = clock_mono_ms(a->clock);
    bool held = false;
    enum err e;

    if (now_ms < a->lease_mono_ms)
        return ERR_OK;
    e = store_hold_alarms(s, a->opts.incarnation, ALARMS_LEASE_MS, &held, ec);
    if (e)
        return e;
    a->lease_mono_ms = now_ms + LEASE_MS;
    atomic_store_explicit(&a->send_until_mono_ms, held ? now_ms + ALARMS_LEASE_MS / 2 : INT64_MIN,
                          memory_order_relaxed);
    if (held && !a->held) {
        log_info("alarm", "event=telling effect=\"this node sends the alarms\"");
        recovery_reset(&a->recovery);
        offline_reset(&a->offline);
        lookout_reset(&a->lookout);
        a->slow_mono_ms = now_ms;
    }
    if (!held) {
        counters_set(a->counters, COUNTER_EXECUTORS_SEEN, 0);
        counters_set(a->counters, COUNTER_WATCH_OPEN, 0);
    }
    a->held = held;
    return ERR_OK;
}

/* There is nobody to tell: other nodes may know better. */
static enum err rest(struct alarms *a, struct store_session *s, struct errctx *ec)
{
    bool held = a->held;

    a->held = false;
    atomic_store_explicit(&a->send_until_mono_ms, INT64_MIN, memory_order_relaxed);
    a->lease_mono_ms = 0;
    return held ? store_release_alarms(s, a->opts.incarnation, ec) : ERR_OK;
}

static enum err work(struct alarms *a, struct store_session *s, struct errctx *ec)
{
    int64_t now_ms = clock_mono_ms(a->clock);
    enum err e = write_ended(a, s, ec);

    if (!e)
        e = in_use_look(&a->in_use, s, tellings_are_ended(&a->tellings), ec);
    write_notes(a, s);
    if (!e && outlets_is_empty(a->in_use.outlets))
        return rest(a, s, ec);
    if (!e)
        e = hold(a, s, ec);
    if (e || !a->held || !may_send(a))
        return e;
    e = tell_all_due(a, s, ec);
    if (!e)
        e = alarms_tell_flows(a, s, ec);
    if (!e)
        e = alarms_tell_watch(a, s, ec);
    if (!e && now_ms >= a->slow_mono_ms) {
        a->slow_mono_ms = now_ms + SLOW_LOOK_MS;
        if (a->opts.tell_recovery)
            e = look_at_runs(a, s, ec);
        if (!e && a->opts.tell_offline)
            e = alarms_tell_executors(a, s, ec);
    }
    if (!e && now_ms >= a->forget_mono_ms) {
        a->forget_mono_ms = now_ms + FORGET_MS;
        e = store_forget_alarms(s, a->opts.tell_recovery ? SILENT_MS : 0, ec);
        if (!e)
            e = store_forget_told(s, ec);
    }
    return e;
}

static enum err turn_once(struct alarms *a, struct errctx *ec)
{
    struct store_session *s = NULL;
    enum err e = store_take_session(a->opts.store, SESSION_NORMAL, &s, ec);

    if (!e)
        e = work(a, s, ec);
    store_give_session(a->opts.store, s);
    return e;
}

static int64_t turn(void *arg)
{
    struct alarms *a = arg;
    struct errctx ec = {{0}};

    enum err e = turn_once(a, &ec);
    if (e && !a->failing)
        log_warn("alarm", "event=alarms_waiting error=%s", log_quote(ec.text).s);
    else if (!e && a->failing)
        log_info("alarm", "event=alarms_going_on");
    a->failing = e != ERR_OK;
    return a->held || e ? LOOK_MS : a->opts.console_channels ? CHANNELS_LOOK_MS : LEASE_MS;
}

/* ---- the failure monitor ----------------------------------------------------------------------------------------- */

bool alarms_choose(struct alarms *a, const char *app, bool *wanted)
{
    return in_use_choose(&a->in_use, app, wanted);
}

void alarms_poke(struct alarms *a)
{
    worker_poke(&a->worker);
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

enum err alarms_create(const struct alarms_opts *opts, const struct clock *clock, struct counters *counters,
                       struct alarms **out, struct errctx *ec)
{
    struct alarms *a = NULL;
    enum err e = templates_check(opts->title, opts->text, ec);

    if (e)
        return e;
    a = calloc(1, sizeof *a);
    if (!a)
        return err_set(ec, ERR_NOMEM, "out of memory for the alarms");
    a->opts = *opts;
    a->wording = (struct wording){opts->title, opts->text, opts->link, opts->node_name};
    a->clock = clock;
    a->counters = counters;
    atomic_init(&a->send_until_mono_ms, INT64_MIN);
    a->in_use.opts = &a->opts;
    a->in_use.receiver = (struct receiver_opts){.may_send = may_send, .done = on_done, .arg = a};
    tellings_init(&a->tellings);
    lookout_init(&a->lookout, clock, opts->zone, opts->max_year);
    notes_init(&a->notes);
    worker_init(&a->worker, clock);
    e = in_use_init(&a->in_use, clock, counters, ec);
    if (e) {
        alarms_destroy(a);
        return e;
    }
    if (outlets_is_empty(a->in_use.outlets))
        log_info("alarm", "event=alarms_off why=%s effect=%s",
                 log_quote("neither spring.mail.host nor shardwheel.alarm.channels is set").s,
                 log_quote("failed fires of jobs with alarm addresses get alarm_status 3").s);
    *out = a;
    return ERR_OK;
}

enum err alarms_start(struct alarms *a, struct errctx *ec)
{
    enum err e;

    if (outlets_is_empty(a->in_use.outlets) && !a->opts.console_channels)
        return ERR_OK;
    e = outlets_start(a->in_use.outlets, ec);
    return e ? e : worker_start(&a->worker, "alarms", turn, NULL, a, ec);
}

void alarms_stop(struct alarms *a)
{
    worker_stop(&a->worker);
}

/* Best effort: the database may be away. */
static void leave(struct alarms *a)
{
    struct store_session *s = NULL;
    struct errctx ec = {{0}};

    enum err e = store_take_session(a->opts.store, SESSION_NORMAL, &s, &ec);
    if (!e) {
        e = write_ended(a, s, &ec);
        write_notes(a, s);
    }
    if (!e)
        e = store_release_alarms(s, a->opts.incarnation, &ec);
    store_give_session(a->opts.store, s);
    if (e)
        log_warn("alarm", "event=alarms_left error=%s effect=%s", log_quote(ec.text).s,
                 log_quote("another node may send the last message again").s);
    a->held = false;
}

void alarms_join(struct alarms *a)
{
    if (!a->worker.thread.running)
        return;
    worker_join(&a->worker);
    outlets_stop(a->in_use.outlets);
    if (a->held)
        leave(a);
}

void alarms_destroy(struct alarms *a)
{
    if (!a)
        return;
    in_use_fini(&a->in_use);
    notes_fini(&a->notes);
    tellings_fini(&a->tellings);
    recovery_reset(&a->recovery);
    offline_reset(&a->offline);
    lookout_reset(&a->lookout);
    worker_fini(&a->worker);
    free(a);
}
