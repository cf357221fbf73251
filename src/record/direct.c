/* SPDX-License-Identifier: MIT */
/* Direct fires whose rows are committed: sent, or ended. */
#include "shardwheel/job/codes.h"
#include "shardwheel/job/times.h"
#include "shardwheel/record.h"

#include <inttypes.h>

#define LATE_AT_ONCE 200 /* rows in a statement */

static void log_left_open(struct direct_sender *d, const struct fire *list, size_t count, const struct errctx *ec)
{
    for (; count > 0; count--, list = list->next)
        log_limited(&d->log, d->clock, LOG_ERROR, "record",
                    "event=direct_fire_left_open kind=%s job=%" PRId64 " log=%" PRId64 " error=%s",
                    trigger_kind_name(list->kind), list->job_id, list->log_id, log_quote(ec->text).s);
}

/* The first of them; *n were ended. */
static enum err end_some(struct direct_sender *d, size_t *n, struct errctx *ec)
{
    struct fire_result results[LATE_AT_ONCE];
    struct store_session *s = NULL;
    size_t count = 0;
    enum err e;

    for (const struct fire *fire = d->late; fire && count < LATE_AT_ONCE; fire = fire->next)
        results[count++] =
            (struct fire_result){.log_id = fire->log_id, .code = CODE_FAILED, .message = "not sent: too late"};
    e = store_take_session(d->store, SESSION_NORMAL, &s, ec);
    if (!e)
        e = store_write_results(s, results, count, ec);
    store_give_session(d->store, s);
    *n = count;
    return e;
}

void direct_end_late(struct direct_sender *d)
{
    struct errctx ec = {0};
    enum err e = ERR_OK;
    size_t n;

    while (d->late && !e) {
        e = end_some(d, &n, &ec);
        if (e)
            log_left_open(d, d->late, n, &ec);
        else
            counters_add(d->counters, COUNTER_FIRES_TOO_LATE, (int64_t)n);
        for (; n > 0 && !e; n--) {
            struct fire *fire = d->late;

            d->late = fire->next;
            fire_destroy(fire);
        }
    }
}

/* The rows are written, but too long ago: other nodes may take this one for gone by now and retry its fires. */
static void end_too_late(struct direct_sender *d, struct fire *list)
{
    fire_put_before(&list, d->late);
    d->late = list;
    direct_end_late(d);
}

void direct_sender_fini(struct direct_sender *d)
{
    fire_destroy_list(d->late);
    d->late = NULL;
}

static enum counter_id choose_counter(enum trigger_kind kind)
{
    if (kind == TRIGGER_RETRY)
        return COUNTER_RETRIES;
    return kind == TRIGGER_PARENT ? COUNTER_CHILDREN : COUNTER_TRIGGERS;
}

void direct_send(struct direct_sender *d, struct fire *list, int64_t begun_boot_ms)
{
    if (!list)
        return;
    for (const struct fire *fire = list; fire; fire = fire->next) {
        log_fire(RECORD, "event=fire_direct log_id=%" PRId64 " job=%" PRId64 " kind=%s", fire->log_id, fire->job_id,
                 trigger_kind_name(fire->kind));
        counters_add(d->counters, choose_counter(fire->kind), 1);
    }
    if (clock_boot_ms(d->clock) - begun_boot_ms <= SEND_DEADLINE_MS) {
        d->submit(d->arg, list);
        return;
    }
    end_too_late(d, list);
}

enum err direct_settle(struct direct_sender *d, struct store_session *s, const char *incarnation,
                       struct direct_doubt *doubt, bool *committed, struct errctx *ec)
{
    bool found = false;
    enum err e = doubt->list ? store_find_direct(s, doubt->list, incarnation, &found, ec) : ERR_OK;

    if (e)
        return e;
    if (found)
        direct_send(d, doubt->list, doubt->begun_boot_ms);
    else
        fire_destroy_list(doubt->list);
    doubt->list = NULL;
    if (committed)
        *committed = found;
    return ERR_OK;
}

enum err direct_settle_at_end(struct direct_sender *d, const char *incarnation, struct direct_doubt *doubt,
                              struct errctx *ec)
{
    enum err e = ERR_OK;
    bool away = false;

    for (int i = 0; i < DOUBT_END_TRIES && doubt->list && !away; i++) {
        struct store_session *s = NULL;

        e = store_take_session(d->store, SESSION_NORMAL, &s, ec);
        away = e != ERR_OK;
        if (!e)
            e = direct_settle(d, s, incarnation, doubt, NULL, ec);
        store_give_session(d->store, s);
    }
    return e;
}
