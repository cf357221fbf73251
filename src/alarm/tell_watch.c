/* SPDX-License-Identifier: MIT */
/* What is told of what did not happen, and of what channels missed in their quiet hours. */
#include "alarm/alarms_impl.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- states ------------------------------------------------------------------------------------------------------ */

static enum err tell_state(struct alarms *a, struct store_session *s, const struct watch_state *state,
                           enum watch_kind kind, struct errctx *ec)
{
    bool over = state->phase == WATCH_OVER;
    struct telling what = {.event = watch_event(kind, over), .target = state->target, .phase = state->phase};
    struct watch_facts facts = {0};
    enum err e = store_load_watch_facts(s, kind, state->target, &facts, ec);

    snprintf(what.watch_kind, sizeof what.watch_kind, "%s", state->kind);
    if (e == ERR_NOTFOUND) /* who watches drops it */
        return over ? store_end_watch_telling(s, state->kind, state->target, state->phase, ec) : ERR_OK;
    if (!e)
        e = alarms_tell(a, s, &what,
                        message_create_watch(&a->wording, what.event, &facts, state->target, state->log_id,
                                             over ? "" : state->detail),
                        &(struct outlet_about){.apps = &facts.app_name,
                                               .app_count = facts.app_name[0] ? 1 : 0,
                                               .tags = watch_kind_is_of_jobs(kind) ? facts.tags : NULL,
                                               .emails = facts.emails},
                        ec);
    watch_facts_fini(&facts);
    return e;
}

/* Without those that are over, of which people are to be told so still. */
static int64_t count_open(const struct watch_states *states)
{
    int64_t count = 0;

    for (size_t i = 0; i < states->count; i++)
        count += states->rows[i].phase != WATCH_OVER;
    return count;
}

static enum err tell_states(struct alarms *a, struct store_session *s, const struct watch_states *states,
                            struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < states->count && !e && alarms_may_tell(a); i++) {
        const struct watch_state *state = &states->rows[i];
        enum watch_kind kind;
        if (state->phase != WATCH_TOLD && watch_kind_parse(state->kind, &kind) &&
            !tellings_has_watch(&a->tellings, state->kind, state->target, ""))
            e = tell_state(a, s, state, kind, ec);
    }
    return e;
}

/* ---- what was held back ------------------------------------------------------------------------------------------ */

/* One channel is told what is still so. */
static enum err tell_late(struct alarms *a, struct store_session *s, const struct held_alarm *held,
                          struct message *message, const char *app, const char *tags, struct errctx *ec)
{
    struct telling what = {.event = ALARM_EVENT_WATCH, .target = held->target, .held_over = held->over};

    snprintf(what.watch_kind, sizeof what.watch_kind, "%s", held->kind);
    snprintf(what.held_for, sizeof what.held_for, "%s", held->channel);
    return alarms_tell(
        a, s, &what, message,
        &(struct outlet_about){
            .apps = &app, .app_count = app[0] ? 1 : 0, .tags = tags, .emails = "", .only = held->channel},
        ec);
}

static enum err tell_held_watch(struct alarms *a, struct store_session *s, const struct held_alarm *held,
                                enum watch_kind kind, enum alarm_event event, const struct watch_state *state,
                                struct errctx *ec)
{
    struct watch_facts facts = {0};
    enum err e = store_load_watch_facts(s, kind, held->target, &facts, ec);

    if (e == ERR_NOTFOUND)
        return store_drop_held(s, held, ec);
    if (!e)
        e = tell_late(a, s, held,
                      message_create_watch(&a->wording, event, &facts, held->target, state ? state->log_id : 0,
                                           state && !held->over ? state->detail : ""),
                      facts.app_name, watch_kind_is_of_jobs(kind) ? facts.tags : NULL, ec);
    watch_facts_fini(&facts);
    return e;
}

static enum err tell_held_job(struct alarms *a, struct store_session *s, const struct held_alarm *held,
                              struct errctx *ec)
{
    struct alarm_facts facts = {0};
    int64_t log_id = 0;
    enum err e = store_find_failing(s, held->target, &log_id, ec);

    if (!e && (log_id != 0) == held->over)
        return store_drop_held(s, held, ec);
    if (!e && held->over)
        return tell_held_watch(a, s, held, WATCH_NO_SUCCESS, ALARM_EVENT_RECOVERED, NULL, ec);
    if (!e)
        e = store_load_alarm(s, log_id, &facts, ec);
    if (e == ERR_NOTFOUND || (!e && !facts.job_exists))
        e = store_drop_held(s, held, ec);
    else if (!e)
        e = tell_late(a, s, held, message_create_job(&a->wording, ALARM_EVENT_FAILED, &facts, 1), facts.app_name,
                      facts.tags, ec);
    alarm_facts_fini(&facts);
    return e;
}

static enum err tell_one_held(struct alarms *a, struct store_session *s, const struct held_alarm *held,
                              const struct watch_states *states, struct errctx *ec)
{
    const struct watch_state *state;
    enum watch_kind kind;
    bool open;

    if (strcmp(held->kind, HELD_JOB_FAILED) == 0)
        return tell_held_job(a, s, held, ec);
    state = lookout_find_state(states, held->kind, held->target);
    open = state && state->phase != WATCH_OVER;
    if (!watch_kind_parse(held->kind, &kind) || open == held->over)
        return store_drop_held(s, held, ec);
    return tell_held_watch(a, s, held, kind, watch_event(kind, held->over), state, ec);
}

static enum err tell_channel(struct alarms *a, struct store_session *s, const char *name,
                             const struct watch_states *states, struct errctx *ec)
{
    const struct channel *channel = outlets_find_channel(a->in_use.outlets, name);
    struct held_alarms list = {0};
    enum err e;

    if (!channel)
        return store_drop_held_channel(s, name, ec);
    if (quiet_covers(&channel->quiet, time_floor_div(clock_wall_ms(a->clock), 1000)))
        return ERR_OK;
    e = store_load_held(s, name, &list, ec);
    for (size_t i = 0; i < list.count && !e && alarms_may_tell(a); i++)
        if (!tellings_has_watch(&a->tellings, list.rows[i].kind, list.rows[i].target, name))
            e = tell_one_held(a, s, &list.rows[i], states, ec);
    held_alarms_fini(&list);
    return e;
}

/* Of each channel a few: none keeps the others waiting, whose messages have to wait too, nor fills its own queue. */
static_assert(HELD_AT_ONCE < RECEIVER_QUEUE_MAX && HELD_AT_ONCE * CHANNELS_MAX < ALARMS_TELLING_MAX,
              "what was held back leaves room");

static enum err tell_held(struct alarms *a, struct store_session *s, const struct watch_states *states,
                          struct errctx *ec)
{
    struct held_channels channels = {0};
    enum err e = store_load_held_channels(s, &channels, ec);

    for (size_t i = 0; i < channels.count && !e; i++)
        e = tell_channel(a, s, channels.rows[i].name, states, ec);
    held_channels_fini(&channels);
    return e;
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

enum err alarms_tell_watch(struct alarms *a, struct store_session *s, struct errctx *ec)
{
    struct watch_states states = {0};
    enum err e;

    if (!a->opts.zone)
        return ERR_OK;
    e = lookout_turn(&a->lookout, s, a->opts.incarnation, ec);
    if (!e)
        e = store_load_watch_states(s, &states, ec);
    if (!e) {
        counters_set(a->counters, COUNTER_WATCH_OPEN, count_open(&states));
        e = tell_states(a, s, &states, ec);
    }
    if (!e)
        e = tell_held(a, s, &states, ec);
    watch_states_fini(&states);
    return e;
}

/* One that some channels refused was told, as failures are: it is not told again because others did not take it. */
enum err alarms_end_watch(struct store_session *s, const struct telling *t, struct errctx *ec)
{
    if (t->held_for[0])
        return store_drop_held(s, &(struct held_alarm){t->held_for, t->watch_kind, t->target, t->held_over}, ec);
    return store_end_watch_telling(s, t->watch_kind, t->target, t->phase, ec);
}
