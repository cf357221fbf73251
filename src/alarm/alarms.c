/* SPDX-License-Identifier: MIT */
/*
 * The node that tells.
 *
 * A message is a struct telling from the moment it is handed to its receivers until the last of them has ended with
 * it; then what came of it is written, and the row of its job is somebody's again. While the lease is not ours,
 * receivers give up what they have, and what nobody got stays in the table.
 */
#include "shardwheel/alarm.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "alarm/notes.h"
#include "alarm/offline.h"
#include "alarm/outlets.h"
#include "alarm/recovery.h"
#include "alarm/template.h"
#include "shardwheel/store/channel.h"
#include "shardwheel/store/conn.h"
#include "shardwheel/store/registry.h"

#define LOOK_MS 1000       /* at the table, by the node that tells */
#define LEASE_MS 5000      /* from one try to get or renew the lease to the next */
#define SLOW_LOOK_MS 10000 /* at runs of failing jobs, and at executors */
#define FORGET_MS 60000
#define CHANNELS_LOOK_MS 3000                     /* at those of the console */
#define CHANNELS_WAIT_MS 20000                    /* others go on with what they have; then it is told anew */
#define SILENT_MS (INT64_C(7) * 24 * 3600 * 1000) /* a job that neither fails nor succeeds is forgotten */

struct telling {
    LIST_ENTRY(telling) in_list; /* [lock] of the alarms */
    enum alarm_event event;      /* [const] FAILED or RECOVERED */
    struct due_alarm due;        /* [const] */
    struct failing_job job;      /* [const] RECOVERED */
    bool is_unwanted;            /* [const] nobody was to be told after all */
    size_t pending;              /* [lock] parcels under way */
    size_t sent;                 /* [lock] */
    bool failed;                 /* [lock] */
    bool given_up;               /* [lock] */
};
LIST_HEAD(telling_list, telling);

struct alarms {
    struct alarms_opts opts;            /* [const] */
    struct wording wording;             /* [const] */
    const struct clock *clock;          /* [const] */
    struct counters *counters;          /* [const] */
    struct notes notes;                 /* [const] locks by itself */
    struct outlets *outlets;            /* [lock] for others than the thread, which alone changes it */
    struct worker worker;               /* [const] locks by itself */
    struct log_limit failed_log;        /* [atomic] */
    struct log_limit told_log;          /* [atomic] of executors that are gone */
    _Atomic int64_t send_until_mono_ms; /* [atomic] no try begins after it; relaxed: nothing else is told by it */

    struct mutex lock;         /* rank LOCK_COMPLETE; never held across a call of others */
    struct telling_list going; /* [lock] */
    struct telling_list ended; /* [lock] to be written */
    size_t telling_count;      /* [lock] of both */

    bool failing;          /* [thread] the database did not answer, as all below */
    bool held;             /* the lease is ours */
    int64_t lease_mono_ms; /* next try for the lease */
    int64_t slow_mono_ms;  /* next look at runs and executors */
    int64_t forget_mono_ms;
    int64_t channels_mono_ms; /* next look at the channels of the console */
    int64_t differ_mono_ms;   /* since when they are not those in use; 0: they are */
    struct channel_rows rows; /* those in use */
    struct recovery recovery;
    struct offline offline;
};

/* ---- the receivers' threads -------------------------------------------------------------------------------------- */

static bool may_send(void *arg)
{
    struct alarms *a = arg;

    return clock_mono_ms(a->clock) < atomic_load_explicit(&a->send_until_mono_ms, memory_order_relaxed);
}

static void on_done(void *arg, const struct channel *channel, struct parcel *d)
{
    struct alarms *a = arg;
    struct telling *t = d->owner;
    bool last = false;

    if (t) {
        mutex_lock(&a->lock);
        t->sent += d->sent;
        t->failed = t->failed || (!d->sent && !d->given_up);
        t->given_up = t->given_up || d->given_up;
        last = --t->pending == 0;
        if (last) {
            LIST_REMOVE(t, in_list);
            LIST_INSERT_HEAD(&a->ended, t, in_list);
        }
        mutex_unlock(&a->lock);
    }
    notes_add(&a->notes, channel, d);
    if (last)
        worker_poke(&a->worker);
}

/* ---- telling ----------------------------------------------------------------------------------------------------- */

static bool is_being_told(struct alarms *a, int64_t job_id)
{
    struct telling *t;
    bool found = false;

    mutex_lock(&a->lock);
    LIST_FOREACH(t, &a->going, in_list)
    found = found || t->due.job_id == job_id;
    LIST_FOREACH(t, &a->ended, in_list)
    found = found || t->due.job_id == job_id;
    mutex_unlock(&a->lock);
    return found;
}

static void post_all(struct alarms *a, struct outlet_posts *posts)
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

/* Takes the message, which may be NULL when out of memory. */
static enum err tell(struct alarms *a, const struct telling *what, struct message *message, const char *emails,
                     struct errctx *ec)
{
    struct telling *t = calloc(1, sizeof *t);
    struct outlet_posts posts = {0};
    enum err e = t && message ? outlets_collect(a->outlets, message->app_name, emails, message, t, &posts, ec)
                              : err_set(ec, ERR_NOMEM, "out of memory for an alarm");

    message_unref(message);
    if (e) {
        free(t);
        return e;
    }
    *t = *what;
    t->pending = posts.count;
    t->failed = posts.refused > 0;
    t->is_unwanted = posts.count == 0 && posts.refused == 0;
    mutex_lock(&a->lock);
    if (posts.count > 0)
        LIST_INSERT_HEAD(&a->going, t, in_list);
    else
        LIST_INSERT_HEAD(&a->ended, t, in_list);
    a->telling_count++;
    mutex_unlock(&a->lock);
    if (posts.refused > 0)
        log_limited(&a->failed_log, a->clock, LOG_WARN, "alarm",
                    "event=mail_address_refused job=%" PRId64 " log=%" PRId64 " alarm_email=%s", what->due.job_id,
                    what->due.last_log, log_quote(emails).s);
    post_all(a, &posts);
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
        e = tell(a, what, message_create_job(&a->wording, what->event, &facts, what->due.failures), facts.emails, ec);
    alarm_facts_fini(&facts);
    return e;
}

static enum err tell_all_due(struct alarms *a, struct store_session *s, struct errctx *ec)
{
    struct due_alarm *list = NULL;
    size_t count = 0;
    enum err e = store_load_due_alarms(s, ALARMS_TELLING_MAX, &list, &count, ec);

    for (size_t i = 0; i < count && !e && !worker_is_stopping(&a->worker); i++) {
        mutex_lock(&a->lock);
        bool room = a->telling_count < ALARMS_TELLING_MAX;
        mutex_unlock(&a->lock);
        if (!room || !may_send(a))
            break;
        if (!is_being_told(a, list[i].job_id))
            e = tell_job(a, s, &(struct telling){.event = ALARM_EVENT_FAILED, .due = list[i]}, ec);
    }
    free(list);
    return e;
}

static enum err look_at_runs(struct alarms *a, struct store_session *s, struct errctx *ec)
{
    struct recovered_job *found = NULL;
    size_t count = 0;
    enum err e = recovery_look(&a->recovery, s, time_floor_div(clock_wall_ms(a->clock), 1000), &found, &count, ec);

    for (size_t i = 0; i < count && !e; i++) {
        struct telling what = {.event = ALARM_EVENT_RECOVERED,
                               .due = {.job_id = found[i].job.job_id, .last_log = found[i].log_id, .failures = 1},
                               .job = found[i].job};

        if (!is_being_told(a, what.due.job_id))
            e = tell_job(a, s, &what, ec);
    }
    if (e)
        recovery_reset(&a->recovery); /* what was found and not told is found again */
    free(found);
    return e;
}

/* ---- executors --------------------------------------------------------------------------------------------------- */

static bool is_automatic(const struct group_list *groups, const char *app)
{
    for (size_t i = 0; i < groups->count; i++)
        if (!groups->rows[i].manual && strcmp(groups->rows[i].app_name, app) == 0)
            return true;
    return false;
}

/* Nothing is written: a node that ends now takes what it saw with it. */
static enum err tell_offline(struct alarms *a, const struct offline_app *app, struct errctx *ec)
{
    struct outlet_posts posts = {0};
    struct message *message = NULL;
    enum err e = ERR_OK;

    log_limited(&a->told_log, a->clock, LOG_WARN, "alarm", "event=executors_offline app=%s gone=%zu left=%zu",
                log_quote(app->app).s, app->gone, app->left);
    if (!outlets_serve(a->outlets, app->app))
        return ERR_OK;
    message = message_create_offline(&a->wording, app->app, app->addresses.data, app->gone, app->left);
    e = message ? outlets_collect(a->outlets, app->app, "", message, NULL, &posts, ec)
                : err_set(ec, ERR_NOMEM, "out of memory for an alarm");
    message_unref(message);
    if (!e)
        post_all(a, &posts);
    return e;
}

static enum err look_at_executors(struct alarms *a, struct store_session *s, struct errctx *ec)
{
    struct executor_beats beats = {0};
    struct group_list groups = {0};
    struct offline_app app;
    int64_t now_ms = clock_mono_ms(a->clock);
    bool loaded = false;
    enum err e = store_load_executor_beats(s, time_floor_div(clock_wall_ms(a->clock), 1000), &beats, ec);

    counters_set(a->counters, COUNTER_EXECUTORS_SEEN, (int64_t)beats.count);
    if (!e)
        e = offline_note(&a->offline, &beats, now_ms, ec);
    while (!e && offline_take(&a->offline, now_ms, a->opts.quiet_ms, &app)) {
        if (!loaded)
            e = store_load_groups(s, &groups, ec);
        loaded = loaded || !e;
        if (!e && is_automatic(&groups, app.app))
            e = tell_offline(a, &app, ec);
    }
    if (loaded)
        group_list_fini(&groups);
    return e;
}

/* ---- what came of it --------------------------------------------------------------------------------------------- */

static enum err write_end(struct alarms *a, struct store_session *s, const struct telling *t, struct errctx *ec)
{
    bool failed = t->failed || t->given_up; /* some got it: it is not told again because others did not */
    enum err e;

    if (t->event == ALARM_EVENT_RECOVERED)
        return store_end_failing(s, &t->job, ec);
    e = store_end_alarm(s, &t->due, failed ? ALARM_FAILED : ALARM_DONE, a->opts.quiet_ms, ec);
    if (!e)
        log_fire(ALARM, "event=alarm_ended log_id=%" PRId64 " job=%" PRId64 " result=%s",
                 t->due.log_id ? t->due.log_id : t->due.last_log, t->due.job_id,
                 failed           ? "failed"
                 : t->is_unwanted ? "no_address"
                                  : "sent");
    if (!e)
        counters_add(a->counters,
                     failed           ? COUNTER_ALARMS_FAILED
                     : t->is_unwanted ? COUNTER_ALARMS_NO_ADDRESS
                                      : COUNTER_ALARMS_SENT,
                     1);
    return e;
}

static struct telling *take_ended(struct alarms *a)
{
    mutex_lock(&a->lock);
    struct telling *t = LIST_FIRST(&a->ended);
    if (t)
        LIST_REMOVE(t, in_list);
    mutex_unlock(&a->lock);
    return t;
}

static enum err write_ended(struct alarms *a, struct store_session *s, struct errctx *ec)
{
    struct telling *t;

    while ((t = take_ended(a)) != NULL) {
        bool is_nobodys = t->given_up && t->sent == 0 && !t->failed; /* it stays in the table */
        enum err e = is_nobodys ? ERR_OK : write_end(a, s, t, ec);
        if (e && e != ERR_INPUT) {
            mutex_lock(&a->lock);
            LIST_INSERT_HEAD(&a->ended, t, in_list);
            mutex_unlock(&a->lock);
            return e;
        }
        mutex_lock(&a->lock);
        a->telling_count--;
        mutex_unlock(&a->lock);
        free(t);
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

/* ---- channels of the console --------------------------------------------------------------------------------- */

static bool is_same(const struct channel_rows *a, const struct channel_rows *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct channel_row *x = &a->rows[i], *y = &b->rows[i];
        if (x->id != y->id || strcmp(x->name, y->name) != 0 || strcmp(x->kind, y->kind) != 0 ||
            strcmp(x->target, y->target) != 0 || strcmp(x->secret, y->secret) != 0 ||
            strcmp(x->app_names, y->app_names) != 0)
            return false;
    }
    return true;
}

static void outlets_destroy(struct outlets *o)
{
    if (!o)
        return;
    outlets_stop(o);
    outlets_fini(o);
    free(o);
}

static enum err create_outlets(struct alarms *a, const struct channel_rows *rows, struct outlets **out,
                               struct errctx *ec)
{
    struct alarms_opts opts = a->opts;
    struct outlets *o = calloc(1, sizeof *o);
    enum err e;

    if (!o)
        return err_set(ec, ERR_NOMEM, "out of memory for the alarms");
    opts.rows = rows->rows;
    opts.row_count = rows->count;
    e = outlets_create(&opts, &(struct receiver_opts){.may_send = may_send, .done = on_done, .arg = a}, a->clock,
                       a->counters, o, ec);
    if (e)
        free(o);
    else
        *out = o;
    return e;
}

/* From now on with these. What the receivers before had is given up, and is told anew. */
static enum err change_outlets(struct alarms *a, struct channel_rows *rows, struct errctx *ec)
{
    struct outlets *fresh = NULL, *old;
    enum err e = create_outlets(a, rows, &fresh, ec);

    if (!e)
        e = outlets_start(fresh, ec);
    if (e) {
        outlets_destroy(fresh);
        return e;
    }
    mutex_lock(&a->lock);
    old = a->outlets;
    a->outlets = fresh;
    mutex_unlock(&a->lock);
    outlets_destroy(old);
    channel_rows_fini(&a->rows);
    a->rows = *rows;
    *rows = (struct channel_rows){0};
    log_info("alarm", "event=channels settings_and_console=%zu", fresh->channels.count);
    return ERR_OK;
}

/* A change waits until nothing is under way, but not for long. */
static enum err look_at_channels(struct alarms *a, struct store_session *s, struct errctx *ec)
{
    struct channel_rows rows = {0};
    int64_t now_ms = clock_mono_ms(a->clock);
    enum err e;

    if (!a->opts.console_channels || now_ms < a->channels_mono_ms)
        return ERR_OK;
    e = store_load_channels(s, &rows, ec);
    if (e)
        return e;
    a->channels_mono_ms = now_ms + CHANNELS_LOOK_MS;
    if (is_same(&rows, &a->rows)) {
        a->differ_mono_ms = 0;
    } else {
        a->differ_mono_ms = a->differ_mono_ms ? a->differ_mono_ms : now_ms;
        mutex_lock(&a->lock);
        bool idle = LIST_EMPTY(&a->going);
        mutex_unlock(&a->lock);
        if (idle || now_ms - a->differ_mono_ms >= CHANNELS_WAIT_MS)
            e = change_outlets(a, &rows, ec);
    }
    channel_rows_fini(&rows);
    return e;
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
        log_info("alarm", "event=telling effect=\"this node tells of failures\"");
        recovery_reset(&a->recovery);
        offline_reset(&a->offline);
        a->slow_mono_ms = now_ms;
    }
    if (!held)
        counters_set(a->counters, COUNTER_EXECUTORS_SEEN, 0);
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
        e = look_at_channels(a, s, ec);
    write_notes(a, s);
    if (!e && outlets_is_empty(a->outlets))
        return rest(a, s, ec);
    if (!e)
        e = hold(a, s, ec);
    if (e || !a->held || !may_send(a))
        return e;
    e = tell_all_due(a, s, ec);
    if (!e && now_ms >= a->slow_mono_ms) {
        a->slow_mono_ms = now_ms + SLOW_LOOK_MS;
        if (a->opts.tell_recovery)
            e = look_at_runs(a, s, ec);
        if (!e && a->opts.tell_offline)
            e = look_at_executors(a, s, ec);
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
    mutex_lock(&a->lock);
    bool served = outlets_serve(a->outlets, app);
    bool can = served || (*wanted && a->outlets->mail);
    mutex_unlock(&a->lock);

    *wanted = *wanted || served;
    return can;
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
    LIST_INIT(&a->going);
    LIST_INIT(&a->ended);
    notes_init(&a->notes);
    worker_init(&a->worker, clock);
    mutex_init(&a->lock, LOCK_COMPLETE);
    e = create_outlets(a, &a->rows, &a->outlets, ec);
    if (e) {
        alarms_destroy(a);
        return e;
    }
    if (outlets_is_empty(a->outlets))
        log_info("alarm", "event=alarms_off why=%s effect=%s",
                 log_quote("neither spring.mail.host nor shardwheel.alarm.channels is set").s,
                 log_quote("failed fires of jobs with alarm addresses get alarm_status 3").s);
    *out = a;
    return ERR_OK;
}

enum err alarms_start(struct alarms *a, struct errctx *ec)
{
    enum err e;

    if (outlets_is_empty(a->outlets) && !a->opts.console_channels)
        return ERR_OK;
    e = outlets_start(a->outlets, ec);
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
                 log_quote("another node tells again what was told last").s);
    a->held = false;
}

void alarms_join(struct alarms *a)
{
    if (!a->worker.thread.running)
        return;
    worker_join(&a->worker);
    outlets_stop(a->outlets);
    if (a->held)
        leave(a);
}

void alarms_destroy(struct alarms *a)
{
    struct telling *t;

    if (!a)
        return;
    outlets_destroy(a->outlets);
    channel_rows_fini(&a->rows);
    notes_fini(&a->notes);
    while ((t = take_ended(a)) != NULL)
        free(t);
    recovery_reset(&a->recovery);
    offline_reset(&a->offline);
    mutex_fini(&a->lock);
    worker_fini(&a->worker);
    free(a);
}
