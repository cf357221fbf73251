/* SPDX-License-Identifier: MIT */
#include "ctl/parts.h"

#include <stdio.h>

#include "shardwheel/alarm.h"
#include "shardwheel/resolver.h"

/* What was told so far. */
struct report {
    bool json;
    bool failed;
    size_t count;
    struct buf text;
};

static void note(void *arg, const char *channel, const char *to, const char *error)
{
    struct report *r = arg;

    r->failed = r->failed || error;
    if (!r->json) {
        buf_printf(&r->text, "%s%s%s: %s\n", channel, to ? " to " : "", to ? to : "", error ? error : "ok");
        r->count++;
        return;
    }
    buf_puts(&r->text, r->count++ ? ",{\"channel\":" : "{\"channel\":");
    buf_put_json(&r->text, channel);
    buf_puts(&r->text, ",\"to\":");
    buf_put_json(&r->text, to);
    buf_printf(&r->text, ",\"ok\":%s,\"error\":", error ? "false" : "true");
    buf_put_json(&r->text, error);
    buf_puts(&r->text, "}");
}

static enum err print_report(struct report *r, const char *group, struct errctx *ec)
{
    bool ok = !buf_failed(&r->text);

    if (ok && r->json)
        ok = printf("{\"ok\":%s,\"channels\":[%s]}\n", r->failed ? "false" : "true",
                    r->text.data ? r->text.data : "") >= 0;
    else if (ok && r->count > 0)
        ok = fputs(r->text.data, stdout) >= 0;
    if (ok && r->count == 0)
        return err_set(ec, ERR_STATE, "no channel is for the executor group %s", group ? group : "");
    return ok ? ERR_OK : err_set(ec, ERR_NOMEM, "the result cannot be printed");
}

enum err ctl_test_alarms(const struct config *config, bool *fine, struct errctx *ec)
{
    const char *group = config->ctl.group;
    struct alarms_opts opts = {.node_name = config->node_name[0] ? config->node_name : "shardwheelctl"};
    struct report report = {.json = config->ctl.json};
    enum err e = alarms_read_config(config, &opts, ec);

    if (!e)
        e = resolver_create(clock_system(), &opts.resolver, ec);
    if (!e)
        e = alarms_test(&opts, group ? group : "", NULL, clock_system(), note, &report, ec);
    resolver_destroy(opts.resolver);
    if (!e)
        e = print_report(&report, group, ec);
    buf_fini(&report.text);
    *fine = !report.failed;
    return e;
}
