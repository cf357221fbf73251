/* SPDX-License-Identifier: MIT */
#include "shardwheel/alarm.h"
#include "shardwheel/store/run.h"

#include "alarm/mail_text.h"
#include "alarm/smtp.h"

#include <inttypes.h>
#include <stdlib.h>

#define RETRY_MS 1000 /* after a failed database call */
#define AWAY_MS 10000 /* a server that could not be used is not tried again for so long: each try may take 10 s */
#define REFUSAL_LOG_MS 10000 /* one line for refused mails in so long */

struct alarms {
    struct store *store;       /* [const] */
    const struct clock *clock; /* [const] */
    struct counters *counters; /* [const] */
    char *from;                /* [const] NULL: no mail can be sent */
    char *node_name;           /* [const] */
    struct smtp *smtp;         /* [thread] but smtp_abort; NULL: no mail can be sent */
    struct thread thread;      /* [const] after start */

    struct mutex lock;           /* rank LOCK_COMPLETE; never held across a call of store or smtp */
    struct cond wake;            /* with lock */
    int64_t *ids;                /* [lock] a ring of ALARMS_QUEUE_MAX places */
    size_t first;                /* [lock] the oldest */
    size_t count;                /* [lock] */
    bool stopping;               /* [lock] */
    struct log_limit failed_log; /* [atomic] */

    bool away;                 /* [thread] the server could not be used last time */
    int64_t away_until_ms;     /* [thread] */
    bool database_away;        /* [thread] */
    int64_t refusal_logged_ms; /* [thread] */
};

/* ---- posting (the monitor) --------------------------------------------------------------------------------- */

bool alarms_can_take(struct alarms *a, size_t count)
{
    bool room;

    if (!a->smtp)
        return false;
    mutex_lock(&a->lock);
    room = !a->stopping && a->count + count <= ALARMS_QUEUE_MAX;
    mutex_unlock(&a->lock);
    return room;
}

void alarms_post(struct alarms *a, int64_t log_id)
{
    mutex_lock(&a->lock);
    a->ids[(a->first + a->count) % ALARMS_QUEUE_MAX] = log_id;
    a->count++;
    counters_set(a->counters, COUNTER_ALARMS_QUEUED, (int64_t)a->count);
    cond_signal(&a->wake);
    mutex_unlock(&a->lock);
}

/* ---- the thread -------------------------------------------------------------------------------------------- */

static bool is_stopping(struct alarms *a)
{
    mutex_lock(&a->lock);
    bool stopping = a->stopping;
    mutex_unlock(&a->lock);
    return stopping;
}

/* Waits for the next row. False: stopped. */
static bool take(struct alarms *a, int64_t *id)
{
    mutex_lock(&a->lock);
    while (!a->count && !a->stopping)
        cond_wait(&a->wake, &a->lock);
    bool some = a->count > 0 && !a->stopping;
    if (some) {
        *id = a->ids[a->first];
        a->first = (a->first + 1) % ALARMS_QUEUE_MAX;
        a->count--;
        counters_set(a->counters, COUNTER_ALARMS_QUEUED, (int64_t)a->count);
    }
    mutex_unlock(&a->lock);
    return some;
}

static void pause_ms(struct alarms *a, int64_t ms)
{
    int64_t until_ms = clock_mono_ms(a->clock) + ms;

    mutex_lock(&a->lock);
    while (!a->stopping && clock_mono_ms(a->clock) < until_ms)
        cond_wait_until(&a->wake, &a->lock, until_ms);
    mutex_unlock(&a->lock);
}

/* One log line for each change. */
static void note_database(struct alarms *a, enum err e, const struct errctx *ec)
{
    if (e && !a->database_away)
        log_warn("alarm", "event=alarms_waiting error=%s", log_quote(ec->text).s);
    else if (!e && a->database_away)
        log_info("alarm", "event=alarms_going_on");
    a->database_away = e != ERR_OK;
}

static enum err load_once(struct alarms *a, int64_t log_id, struct alarm_facts *facts, struct errctx *ec)
{
    struct store_session *s = NULL;
    enum err e = store_take_session(a->store, SESSION_NORMAL, &s, ec);

    if (!e)
        e = store_load_alarm(s, log_id, facts, ec);
    store_give_session(a->store, s);
    return e;
}

/* False: the row is gone, or the node stops. */
static bool load(struct alarms *a, int64_t log_id, struct alarm_facts *facts)
{
    for (;;) {
        struct errctx ec;
        errctx_clear(&ec);
        enum err e = load_once(a, log_id, facts, &ec);
        if (e == ERR_NOTFOUND)
            return false;
        note_database(a, e, &ec);
        if (!e)
            return true;
        if (is_stopping(a))
            return false;
        pause_ms(a, RETRY_MS);
    }
}

static enum err end_once(struct alarms *a, const int64_t *ids, size_t count, enum alarm_status status,
                         struct errctx *ec)
{
    struct store_session *s = NULL;
    enum err e = store_take_session(a->store, SESSION_NORMAL, &s, ec);

    if (!e)
        e = store_end_alarms(s, ids, count, status, ec);
    store_give_session(a->store, s);
    return e;
}

static void end(struct alarms *a, int64_t log_id, enum alarm_status status, enum counter_id counter)
{
    enum err e;

    counters_add(a->counters, counter, 1);
    do {
        struct errctx ec;
        errctx_clear(&ec);
        e = end_once(a, &log_id, 1, status, &ec);
        note_database(a, e, &ec);
        if (e && !is_stopping(a))
            pause_ms(a, RETRY_MS);
    } while (e && !is_stopping(a));
}

static void note_outcome(struct alarms *a, enum smtp_outcome outcome, const struct alarm_facts *facts, const char *to,
                         const struct errctx *ec)
{
    int64_t now_ms = clock_mono_ms(a->clock);

    switch (outcome) {
    case SMTP_SENT:
        if (a->away)
            log_info("alarm", "event=mail_server_back");
        a->away = false;
        break;
    case SMTP_REFUSED:
        a->away = false;
        if (now_ms - a->refusal_logged_ms < REFUSAL_LOG_MS)
            break;
        log_warn("alarm", "event=mail_refused job=%" PRId64 " log=%" PRId64 " to=%s error=%s", facts->job_id,
                 facts->log_id, log_quote(to).s, log_quote(ec->text).s);
        a->refusal_logged_ms = now_ms;
        break;
    case SMTP_AWAY:
        if (!a->away && !is_stopping(a))
            log_warn("alarm", "event=mail_server_away error=%s effect=%s", log_quote(ec->text).s,
                     log_quote("alarms count as failed (alarm_status 3) until it can be used").s);
        a->away = true;
        a->away_until_ms = clock_mono_ms(a->clock) + AWAY_MS;
        break;
    }
}

static bool send_one(struct alarms *a, const struct alarm_facts *facts, const char *to)
{
    struct buf text = {0};
    struct errctx ec;
    char unique[17];
    enum smtp_outcome outcome = SMTP_AWAY;

    errctx_clear(&ec);
    if (a->away && clock_mono_ms(a->clock) < a->away_until_ms)
        return false;
    if (random_hex(unique, 8, &ec) == ERR_OK) {
        struct mail_facts mail = {
            .alarm = facts,
            .from = a->from,
            .to = to,
            .node_name = a->node_name,
            .unique = unique,
            .now_s = time_floor_div(clock_wall_ms(a->clock), 1000),
        };
        mail_put(&text, &mail);
        if (buf_failed(&text))
            err_set(&ec, ERR_NOMEM, "out of memory for a mail");
        else
            outcome = smtp_send(a->smtp, a->from, to, text.data, text.len, &ec);
    }
    buf_fini(&text);
    note_outcome(a, outcome, facts, to, &ec);
    return outcome == SMTP_SENT;
}

/* One mail to each address; one that fails does not keep the others from theirs. What is to be counted. */
static enum counter_id send_all(struct alarms *a, const struct alarm_facts *facts)
{
    struct mail_list list = {0};
    struct errctx ec;
    bool ok;

    errctx_clear(&ec);
    if (mail_list_parse(facts->emails, &list, &ec)) {
        log_limited(&a->failed_log, a->clock, LOG_ERROR, "alarm",
                    "event=alarm_failed job=%" PRId64 " log=%" PRId64 " error=%s", facts->job_id, facts->log_id,
                    log_quote(ec.text).s);
        return COUNTER_ALARMS_FAILED;
    }
    bool nobody = list.count == 0 && list.refused == 0; /* commas and blanks alone */
    ok = list.refused == 0;
    if (!ok && clock_mono_ms(a->clock) - a->refusal_logged_ms >= REFUSAL_LOG_MS) {
        log_warn("alarm", "event=mail_address_refused job=%" PRId64 " log=%" PRId64 " alarm_email=%s", facts->job_id,
                 facts->log_id, log_quote(facts->emails).s);
        a->refusal_logged_ms = clock_mono_ms(a->clock);
    }
    for (size_t i = 0; i < list.count; i++)
        ok = send_one(a, facts, list.addresses[i]) && ok;
    mail_list_fini(&list);
    return nobody ? COUNTER_ALARMS_NO_ADDRESS : ok ? COUNTER_ALARMS_SENT : COUNTER_ALARMS_FAILED;
}

/* Best effort: the node stops, the database may be away. */
static void end_rest(struct alarms *a)
{
    struct errctx ec;
    int64_t *ids = calloc(ALARMS_QUEUE_MAX, sizeof *ids);
    size_t n = 0;
    enum err e = ERR_NOMEM;

    errctx_clear(&ec);
    mutex_lock(&a->lock);
    for (; ids && n < a->count; n++)
        ids[n] = a->ids[(a->first + n) % ALARMS_QUEUE_MAX];
    size_t left = a->count;
    a->count = 0;
    mutex_unlock(&a->lock);
    if (left == 0) {
        free(ids);
        return;
    }
    if (ids)
        e = end_once(a, ids, n, ALARM_FAILED, &ec);
    counters_add(a->counters, COUNTER_ALARMS_FAILED, (int64_t)left);
    log_warn("alarm", "event=alarms_left count=%zu effect=%s", left,
             log_quote(e ? "no mail was sent; their rows keep alarm_status -1"
                         : "no mail was sent; their rows have alarm_status 3")
                 .s);
    free(ids);
}

static void run(void *arg)
{
    struct alarms *a = arg;
    int64_t id;

    while (take(a, &id)) {
        struct alarm_facts facts = {0};
        if (!load(a, id, &facts)) {
            if (is_stopping(a))
                end(a, id, ALARM_FAILED, COUNTER_ALARMS_FAILED);
            continue;
        }
        enum counter_id counter = facts.job_exists ? send_all(a, &facts) : COUNTER_ALARMS_JOB_GONE;
        alarm_facts_fini(&facts);
        end(a, id,
            counter == COUNTER_ALARMS_JOB_GONE ? ALARM_NOT_NEEDED
            : counter == COUNTER_ALARMS_FAILED ? ALARM_FAILED
                                               : ALARM_DONE,
            counter);
    }
    end_rest(a);
}

/* ---- life -------------------------------------------------------------------------------------------------- */

static enum err create_sender(struct alarms *a, const struct alarms_opts *opts, struct errctx *ec)
{
    const struct mail_opts *mail = &opts->mail;

    if (!mail->host[0])
        return err_set(ec, ERR_INPUT, "spring.mail.host is not set");
    if (!mail_is_address(mail->from))
        return err_set(ec, ERR_INPUT,
                       "spring.mail.from (or spring.mail.username where that is empty) is no address: %s",
                       log_quote(mail->from).s);
    a->from = str_copy(mail->from);
    return a->from ? smtp_create(mail, opts->resolver, a->clock, &a->smtp, ec)
                   : err_set(ec, ERR_NOMEM, "out of memory for the alarms");
}

enum err alarms_create(const struct alarms_opts *opts, const struct clock *clock, struct counters *counters,
                       struct alarms **out, struct errctx *ec)
{
    struct alarms *a = calloc(1, sizeof *a);
    enum err e;

    if (!a)
        return err_set(ec, ERR_NOMEM, "out of memory for the alarms");
    a->store = opts->store;
    a->clock = clock;
    a->counters = counters;
    a->refusal_logged_ms = INT64_MIN / 2;
    mutex_init(&a->lock, LOCK_COMPLETE);
    cond_init(&a->wake);
    a->node_name = str_copy(opts->node_name);
    a->ids = calloc(ALARMS_QUEUE_MAX, sizeof *a->ids);
    e = a->ids && a->node_name ? create_sender(a, opts, ec) : err_set(ec, ERR_NOMEM, "out of memory for the alarms");
    if (e == ERR_INPUT) {
        log_line(opts->mail.host[0] ? LOG_WARN : LOG_INFO, "alarm", "event=alarms_off why=%s effect=%s",
                 log_quote(ec->text).s, log_quote("failed fires of jobs with alarm addresses get alarm_status 3").s);
        e = ERR_OK;
    }
    if (e) {
        alarms_destroy(a);
        return e;
    }
    *out = a;
    return ERR_OK;
}

enum err alarms_start(struct alarms *a, struct errctx *ec)
{
    return a->smtp ? thread_start(&a->thread, "alarms", run, a, ec) : ERR_OK;
}

void alarms_stop(struct alarms *a)
{
    mutex_lock(&a->lock);
    a->stopping = true;
    cond_broadcast(&a->wake);
    mutex_unlock(&a->lock);
    if (a->smtp)
        smtp_abort(a->smtp);
}

void alarms_join(struct alarms *a)
{
    thread_join(&a->thread);
}

void alarms_destroy(struct alarms *a)
{
    if (!a)
        return;
    smtp_destroy(a->smtp);
    cond_fini(&a->wake);
    mutex_fini(&a->lock);
    free(a->ids);
    free(a->node_name);
    free(a->from);
    free(a);
}
