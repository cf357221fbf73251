/* SPDX-License-Identifier: MIT */
#include "ctl/parts.h"

#include "shardwheel/alarm.h"
#include "shardwheel/resolver.h"

/* What was told so far. */
struct report {
    bool json;
    bool failed;
    struct buf text;
};

static void note(void *arg, const char *channel, const char *to, const char *error)
{
    struct report *r = arg;

    r->failed = r->failed || error;
    if (!r->json) {
        buf_printf(&r->text, "%s%s%s: %s\n", channel, to ? " to " : "", to ? to : "", error ? error : "ok");
        return;
    }
    member_object(&r->text, NULL);
    member_text(&r->text, "channel", channel);
    member_text(&r->text, "to", to);
    member_bool(&r->text, "ok", !error);
    member_text(&r->text, "error", error);
    member_object_end(&r->text);
}

enum err ctl_test_alarms(const struct config *config, bool *fine, struct errctx *ec)
{
    const char *group = config->ctl.group;
    struct alarms_opts opts = {.node_name = config->node_name[0] ? config->node_name : "shardwheelctl"};
    struct report report = {.json = config->ctl.json};
    struct buf out = {0};
    enum err e = alarms_read_config(config, &opts, ec);

    if (!e)
        e = resolver_create(clock_system(), &opts.resolver, ec);
    if (!e)
        e = alarms_test(&opts, group ? group : "", NULL, clock_system(), note, &report, ec);
    resolver_destroy(opts.resolver);
    if (!e && !report.text.len && !report.text.failed)
        e = err_set(ec, ERR_STATE, "no channel is for the executor group %s", group ? group : "");
    if (!e && report.json)
        buf_printf(&out, "{\"ok\":%s,\"channels\":[%s]}\n", report.failed ? "false" : "true", report.text.data);
    if (!e)
        e = ctl_print(report.json && !report.text.failed ? &out : &report.text, ec);
    buf_fini(&report.text);
    buf_fini(&out);
    *fine = !report.failed;
    return e;
}
