/* SPDX-License-Identifier: MIT */
#include "follow/trigger_plan.h"

#include <inttypes.h>
#include <string.h>

#include "shardwheel/executor/request.h"
#include "shardwheel/text.h"

#define ADDRESS_MAX 255     /* characters of xxl_job_log.executor_address */
#define ADDRESSES_MAX 65535 /* bytes of xxl_job_group.address_list */
#define TEXT_COLUMN 65535   /* a column of this length counts bytes */

static size_t count_chars(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static enum err check_addresses(const char *list, struct errctx *ec)
{
    struct group_spec *group;
    enum err e = ERR_OK;

    if (strlen(list) > ADDRESSES_MAX)
        return err_set(ec, ERR_INPUT, "addresses: longer than %d bytes", ADDRESSES_MAX);
    group = group_spec_create(0, "", "", true, list);
    if (!group)
        return err_set(ec, ERR_NOMEM, "out of memory");
    if (group->count == 0)
        e = err_set(ec, ERR_INPUT, "addresses: there is none between the commas");
    for (size_t i = 0; i < group->count && !e; i++) {
        if (!request_is_address(group->addresses[i]))
            e = err_set(ec, ERR_INPUT, "addresses: \"%.100s\" is no http URL", group->addresses[i]);
        else if (count_chars(group->addresses[i]) > ADDRESS_MAX)
            e = err_set(ec, ERR_INPUT, "addresses: \"%.100s...\" is longer than %d characters", group->addresses[i],
                        ADDRESS_MAX);
    }
    group_spec_unref(group);
    return e;
}

enum err trigger_check(const struct trigger_order *order, struct errctx *ec)
{
    if (order->job_id < 1 || order->job_id > JOB_ID_MAX)
        return err_set(ec, ERR_INPUT, "job id: %" PRId64 " is none: they go from 1 to %d", order->job_id, JOB_ID_MAX);
    return str_is_blank(order->addresses) ? ERR_OK : check_addresses(order->addresses, ec);
}

static enum err check_param(const char *param, size_t param_max, struct errctx *ec)
{
    bool in_bytes = param_max >= TEXT_COLUMN;
    size_t len = in_bytes ? strlen(param) : count_chars(param);

    if (len <= param_max)
        return ERR_OK;
    return err_set(ec, ERR_INPUT, "parameter: %zu %s, the log takes %zu", len, in_bytes ? "bytes" : "characters",
                   param_max);
}

/* The parameter of the run; the spec is the caller's to give back. */
static enum err make_job(const struct trigger_order *order, struct job_spec *job, size_t param_max,
                         struct job_spec **out, struct errctx *ec)
{
    const char *param = !order->param && order->kind == TRIGGER_MANUAL ? "" : order->param;
    const char *used = param ? param : job->param;
    enum err e = used ? check_param(used, param_max, ec) : ERR_OK;

    if (e)
        return e;
    *out = param ? job_spec_copy(job, param, job->retry_count) : job_spec_ref(job);
    return *out ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");
}

static enum err make_group(const struct trigger_order *order, struct group_spec *group, struct group_spec **out,
                           struct errctx *ec)
{
    *out = str_is_blank(order->addresses)
               ? group_spec_ref(group)
               : group_spec_create(group->id, group->app_name, group->access_token, true, order->addresses);
    return *out ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");
}

enum err trigger_plan(const struct trigger_order *order, struct job_spec *job, struct group_spec *group,
                      size_t param_max, int64_t now_s, struct fire **list, struct errctx *ec)
{
    struct job_spec *own_job = NULL;
    struct group_spec *own_group = NULL;
    enum err e;

    if (!job)
        return err_set(ec, ERR_NOTFOUND, "job id: there is no job %" PRId64, order->job_id);
    if (!group)
        return err_set(ec, ERR_NOTFOUND, "executor group: job %" PRId64 " names group %" PRId64 ", which has no row",
                       order->job_id, job->group);
    e = make_job(order, job, param_max, &own_job, ec);
    if (!e)
        e = make_group(order, group, &own_group, ec);
    if (!e)
        e = fires_make_direct(
            &(struct direct_order){.job = own_job, .group = own_group, .kind = order->kind, .now_s = now_s}, list, ec);
    job_spec_unref(own_job);
    group_spec_unref(own_group);
    return e;
}
