/* SPDX-License-Identifier: MIT */
/* What is told of flows. */
#include "alarm/alarms_impl.h"
#include "shardwheel/flow.h"

#include <inttypes.h>
#include <string.h>

#define FLOW_ALARMS_MAX 1000 /* that are looked at: more wait until some of them were told */

/* NULL: the document is gone, or cannot be read. */
static enum err read_flow(const char *document, struct flow **out, struct errctx *ec)
{
    enum err e = document ? flow_load(document, strlen(document), out, NULL, ec) : ERR_OK;

    return e == ERR_INPUT ? ERR_OK : e;
}

static enum err load_apps(struct store_session *s, const struct flow *flow, struct app_names *out, struct errctx *ec)
{
    int64_t ids[FLOW_STEPS_MAX];
    size_t count = 0;

    for (size_t i = 0; flow && i < flow_count_steps(flow); i++)
        if (flow_get_step(flow, i)->job_id > 0)
            ids[count++] = flow_get_step(flow, i)->job_id;
    return store_load_app_names(s, ids, count, out, ec);
}

static void put_reason(struct buf *out, enum alarm_event event, const struct flow_alarm *alarm, const struct flow *flow)
{
    bool has_step = flow && alarm->step >= 0 && (size_t)alarm->step < flow_count_steps(flow);

    buf_puts(out, "");
    if (event == ALARM_EVENT_FLOW_LATE && flow)
        buf_printf(out, "it has not ended after %" PRId64 " s", flow_get_settings(flow)->deadline_s);
    else if (event == ALARM_EVENT_FLOW_FAILED && alarm->why[0])
        buf_puts(out, alarm->why);
    else if (event == ALARM_EVENT_FLOW_FAILED && has_step)
        buf_printf(out, "step %s: %s", flow_get_step(flow, (size_t)alarm->step)->name, alarm->step_why);
}

static enum err tell_flow(struct alarms *a, struct store_session *s, const struct flow_alarm *alarm, struct errctx *ec)
{
    struct telling what = {.event = alarm->event[0] == 'f'   ? ALARM_EVENT_FLOW_FAILED
                                    : alarm->event[0] == 'l' ? ALARM_EVENT_FLOW_LATE
                                                             : ALARM_EVENT_FLOW_RECOVERED,
                           .flow_alarm = alarm->id};
    static const char *const none[] = {NULL};
    struct buf apps = {0}, reason = {0};
    struct app_names names = {0};
    struct flow *flow = NULL;
    enum err e = read_flow(alarm->document, &flow, ec);

    if (!e)
        e = load_apps(s, flow, &names, ec);
    buf_puts(&apps, "");
    for (size_t i = 0; i < names.count; i++)
        buf_printf(&apps, "%s%s", i ? "," : "", names.names[i]);
    put_reason(&reason, what.event, alarm, flow);
    if (!e && (buf_failed(&apps) || buf_failed(&reason)))
        e = err_set(ec, ERR_NOMEM, "out of memory for an alarm");
    if (!e)
        e = alarms_tell(a, s, &what, message_create_flow(&a->wording, what.event, alarm, apps.data, reason.data),
                        &(struct outlet_about){.apps = names.count ? names.names : none,
                                               .app_count = names.count,
                                               .emails = flow ? flow_get_settings(flow)->mails : ""},
                        ec);
    buf_fini(&apps);
    buf_fini(&reason);
    app_names_fini(&names);
    flow_destroy(flow);
    return e;
}

enum err alarms_tell_flows(struct alarms *a, struct store_session *s, struct errctx *ec)
{
    int64_t ids[FLOW_ALARMS_MAX];
    size_t count = 0;
    enum err e = store_find_flow_alarms(s, ids, FLOW_ALARMS_MAX, &count, ec);

    for (size_t i = 0; i < count && !e && !worker_is_stopping(&a->worker); i++) {
        struct flow_alarm alarm = {0};

        if (!alarms_may_tell(a))
            break;
        if (tellings_has_flow_alarm(&a->tellings, ids[i]))
            continue;
        e = store_load_flow_alarm(s, ids[i], &alarm, ec);
        if (!e)
            e = alarm.name[0] ? tell_flow(a, s, &alarm, ec) : store_end_flow_alarm(s, ids[i], ec);
        else if (e == ERR_NOTFOUND)
            e = ERR_OK;
        flow_alarm_fini(&alarm);
    }
    return e;
}
