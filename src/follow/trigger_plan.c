/* SPDX-License-Identifier: MIT */
#include "follow/trigger_plan.h"

#include <inttypes.h>
#include <string.h>

#include "shardwheel/executor/request.h"
#include "shardwheel/text.h"

#define ADDRESS_MAX 255     /* characters of xxl_job_log.executor_address */
#define ADDRESSES_MAX 65535 /* bytes of xxl_job_group.address_list */
#define TEXT_COLUMN 65535   /* a column of this length counts bytes */

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
        e = err_set(ec, ERR_INPUT, "addresses: there is no address between the commas");
    for (size_t i = 0; i < group->count && !e; i++) {
        if (!request_is_address(group->addresses[i]))
            e = err_set(ec, ERR_INPUT, "addresses: \"%.100s\" is not an http URL", group->addresses[i]);
        else if (utf8_count(group->addresses[i], strlen(group->addresses[i]), /*utf16=*/false) > ADDRESS_MAX)
            e = err_set(ec, ERR_INPUT, "addresses: \"%.100s...\" is longer than %d characters", group->addresses[i],
                        ADDRESS_MAX);
    }
    group_spec_unref(group);
    return e;
}

enum err trigger_check(const struct trigger_order *order, struct errctx *ec)
{
    if (order->job_id < 1 || order->job_id > JOB_ID_MAX)
        return err_set(ec, ERR_INPUT, "job id: %" PRId64 " is not valid: ids go from 1 to %d", order->job_id,
                       JOB_ID_MAX);
    return str_is_blank(order->addresses) ? ERR_OK : check_addresses(order->addresses, ec);
}

static enum err check_param(const char *param, size_t param_max, struct errctx *ec)
{
    bool in_bytes = param_max >= TEXT_COLUMN;
    size_t len = in_bytes ? strlen(param) : utf8_count(param, strlen(param), /*utf16=*/false);

    if (len <= param_max)
        return ERR_OK;
    return err_set(ec, ERR_INPUT, "parameter: %zu %s; at most %zu are allowed", len, in_bytes ? "bytes" : "characters",
                   param_max);
}

/* The parameter of the run in the place of the job's; NULL: the job's. */
static const char *find_param(const struct trigger_order *order)
{
    return !order->param && order->kind == TRIGGER_MANUAL ? "" : order->param;
}

static enum err check_targets(const struct trigger_order *order, const struct job_spec *job,
                              const struct group_spec *group, size_t param_max, struct errctx *ec)
{
    const char *used;

    if (!job)
        return err_set(ec, ERR_NOTFOUND, "job id: there is no job %" PRId64, order->job_id);
    if (!group)
        return err_set(ec, ERR_NOTFOUND, "executor group: job %" PRId64 " names group %" PRId64 ", which has no row",
                       order->job_id, job->group);
    used = find_param(order) ? find_param(order) : job->param;
    return used ? check_param(used, param_max, ec) : ERR_OK;
}

enum err trigger_order_check(const struct trigger_order *order, const struct job_spec *job,
                             const struct group_spec *group, size_t param_max, struct errctx *ec)
{
    enum err e = trigger_check(order, ec);

    return e ? e : check_targets(order, job, group, param_max, ec);
}

/* The spec is the caller's to give back. */
static enum err make_job(const struct trigger_order *order, struct job_spec *job, struct job_spec **out,
                         struct errctx *ec)
{
    const char *param = find_param(order);

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
    enum err e = check_targets(order, job, group, param_max, ec);

    if (!e)
        e = make_job(order, job, &own_job, ec);
    if (!e)
        e = make_group(order, group, &own_group, ec);
    if (!e)
        e = fires_make_direct(
            &(struct direct_order){.job = own_job, .group = own_group, .kind = order->kind, .now_s = now_s}, list, ec);
    for (struct fire *f = e ? NULL : *list; f; f = f->next)
        f->addresses_given = !str_is_blank(order->addresses);
    job_spec_unref(own_job);
    group_spec_unref(own_group);
    return e;
}
