/* SPDX-License-Identifier: MIT */
/* Jobs are listed, started and stopped; jobs and flows are exported. */
#include "ctl/remote/remote.h"

#include <inttypes.h>
#include <string.h>

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

static enum err put_filter(struct ctl *c, struct remote *r, struct buf *path, struct errctx *ec)
{
    static const char *const known[] = {"text", "tag", "running", "result", "limit", NULL};
    const char *running = ctl_find_option(c->wanted, "running"), *group = c->wanted->group;
    const char *limit = ctl_find_option(c->wanted, "limit");
    char id[24];
    enum err e = ctl_check_options(c->wanted, known, "--group, --text, --tag, --running, --result and --limit", ec);

    if (e)
        return e;
    if (running && strcmp(running, "yes") != 0 && strcmp(running, "no") != 0)
        return err_set(ec, ERR_INPUT, "--running: expected yes or no, not %s", log_quote(running).s);
    if (group)
        e = remote_find_group(r, group, id, ec);
    if (e)
        return e;
    buf_puts(path, "/jobs?count=true");
    remote_put_parameter(path, "limit", limit ? limit : "50");
    remote_put_parameter(path, "text", ctl_find_option(c->wanted, "text"));
    remote_put_parameter(path, "group", group ? id : NULL);
    remote_put_parameter(path, "tag", ctl_find_option(c->wanted, "tag"));
    remote_put_parameter(path, "result", ctl_find_option(c->wanted, "result"));
    remote_put_parameter(path, "running", running ? strcmp(running, "yes") ? "false" : "true" : NULL);
    return buf_failed(path) ? err_set(ec, ERR_NOMEM, "out of memory") : ERR_OK;
}

static void put_job(struct buf *lines, struct json_object *job)
{
    struct json_object *last = remote_find(job, "lastRun"), *tags = remote_find(remote_find(job, "settings"), "tags");
    struct buf all = {0};

    buf_printf(lines, "%s\t", remote_text(job, "id"));
    remote_put_cell(lines, remote_text(job, "name"));
    buf_printf(lines, "\t%s\t", json_object_get_boolean(remote_find(job, "running")) ? "running" : "stopped");
    buf_printf(&all, "%s %s", remote_text(job, "scheduleType"), remote_text(job, "scheduleConf"));
    remote_put_cell(lines, buf_failed(&all) ? "" : all.data);
    buf_putc(lines, '\t');
    remote_put_time(lines, remote_text(job, "nextFireAt"));
    buf_putc(lines, '\t');
    remote_put_time(lines, remote_text(last, "triggeredAt"));
    buf_printf(lines, "\t%s\t", last ? remote_text(last, "result") : "-");
    buf_clear(&all);
    for (size_t i = 0; i < remote_count(tags); i++)
        buf_printf(&all, "%s%s", i ? "," : "", json_object_get_string(json_object_array_get_idx(tags, i)));
    remote_put_cell(lines, all.len ? all.data : "");
    buf_putc(lines, '\n');
    buf_fini(&all);
}

enum err remote_list_jobs(struct ctl *c, struct remote *r, struct errctx *ec)
{
    struct json_object *page = NULL;
    struct buf path = {0};
    enum err e = put_filter(c, r, &path, ec);

    if (!e)
        e = remote_ask_json(r, "GET", path.data, NULL, &page, ec);
    remote_put_list(c, page, "ID\tNAME\tSTATE\tSCHEDULE\tNEXT\tLAST_RUN\tRESULT\tTAGS\n", put_job);
    if (remote_find(page, "next") && !c->wanted->json)
        buf_printf(&c->out, "%zu of %s jobs; --limit shows more\n", remote_count(remote_find(page, "items")),
                   remote_text(page, "total"));
    json_object_put(page);
    buf_fini(&path);
    return e;
}

/* ---- start, stop ------------------------------------------------------------------------------------------------- */

enum err remote_switch_job(struct ctl *c, struct remote *r, struct errctx *ec)
{
    const char *verb = c->wanted->verb == CTL_START ? "start" : "stop";
    struct json_object *job = NULL;
    struct buf path = {0};
    int64_t id = 0;
    enum err e = remote_find_job(r, c->wanted->words[0], &id, ec);

    buf_printf(&path, "/jobs/%" PRId64 "/%s", id, verb);
    if (!e)
        e = buf_failed(&path) ? err_set(ec, ERR_NOMEM, "out of memory")
                              : remote_ask_json(r, "POST", path.data, "", &job, ec);
    if (!e && c->wanted->json) {
        remote_put_json(&c->out, job);
    } else if (!e) {
        buf_printf(&c->out, "job %" PRId64 ", %s, is %s", id, remote_text(job, "name"),
                   json_object_get_boolean(remote_find(job, "running")) ? "running; it fires next at " : "stopped");
        if (json_object_get_boolean(remote_find(job, "running")))
            remote_put_time(&c->out, remote_text(job, "nextFireAt"));
        buf_putc(&c->out, '\n');
    }
    json_object_put(job);
    buf_fini(&path);
    return e;
}

/* ---- export ------------------------------------------------------------------------------------------------------ */

enum err remote_export(struct ctl *c, struct remote *r, struct errctx *ec)
{
    const char *group = c->wanted->group;
    struct buf path = {0};
    char id[24];
    enum err e = group ? remote_find_group(r, group, id, ec) : ERR_OK;

    buf_puts(&path, "/export");
    remote_put_parameter(&path, "group", group && !e ? id : NULL);
    if (!e)
        e = buf_failed(&path) ? err_set(ec, ERR_NOMEM, "out of memory")
                              : remote_ask(r, "GET", path.data, NULL, &c->out, ec);
    buf_fini(&path);
    return e;
}
