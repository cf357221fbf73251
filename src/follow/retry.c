/* SPDX-License-Identifier: MIT */
#include "follow/retry.h"

#include "shardwheel/job.h"
#include "shardwheel/route.h"
#include "shardwheel/store/run.h"

static enum alarm_status decide_alarm(const struct failed_row *row, bool can_tell)
{
    if (!row->job)
        return ALARM_NOT_NEEDED;
    if (!row->has_mail)
        return ALARM_DONE;
    return can_tell ? ALARM_LOCKED : ALARM_FAILED;
}

/* One fire of the job as it was asked for; it shares `job`. */
static enum err add_fire(struct failed_row *row, struct job_spec *job, int index, int total, const char *address,
                         int64_t now_s, struct errctx *ec)
{
    struct fire *fire = fire_create();

    if (!fire)
        return err_set(ec, ERR_NOMEM, "out of memory for a retry");
    fire->next = row->retries;
    row->retries = fire;
    fire->job = job_spec_ref(job);
    fire->job_id = job->id;
    fire->group = job->group;
    fire->due_s = fire->original_due_s = now_s;
    fire->shard = -1;
    fire->kind = TRIGGER_RETRY;
    fire->generation = row->generation;
    fire->source = row->id;
    fire->shard_index = index;
    fire->shard_total = total;
    fire->broadcast = route_is_broadcast(job->route);
    if (address) {
        fire->address = str_copy(address);
        if (!fire->address)
            return err_set(ec, ERR_NOMEM, "out of memory for a retry");
    }
    return ERR_OK;
}

static enum err add_retries(struct failed_row *row, const struct registry_group *group, struct job_spec *job,
                            int64_t now_s, struct errctx *ec)
{
    bool broadcast = route_is_broadcast(job->route);
    size_t addresses = group ? group->count : 0;
    int index = 0, total = 1;
    bool numbered = fire_parse_sharding(row->sharding, &index, &total);
    enum err e = ERR_OK;

    if (broadcast && !numbered && addresses > 0) {
        /* From the last to the first, as each goes to the head of the list. */
        for (size_t i = addresses; i-- > 0 && !e;)
            e = add_fire(row, job, (int)i, (int)addresses, group->addresses[i], now_s, ec);
        return e;
    }
    const char *address = NULL;
    if (broadcast && addresses > 0)
        address = group->addresses[(size_t)index < addresses ? index : 0];
    return add_fire(row, job, index, total, address, now_s, ec);
}

/* Each retry doubles the wait; how many there were is what the job has more than is left. */
static int64_t find_wait_s(const struct failed_row *row)
{
    int64_t wait_s = row->retry_wait_s;

    for (int n = row->job->retry_count; n > row->retries_left && wait_s < row->retry_wait_max_s; n--)
        wait_s *= 2;
    return row->retry_wait_max_s > 0 && wait_s > row->retry_wait_max_s ? row->retry_wait_max_s : wait_s;
}

enum err retry_decide(struct failed_row *row, const struct registry_group *group, bool can_tell, int64_t now_s,
                      struct errctx *ec)
{
    row->alarm = decide_alarm(row, can_tell);
    if (!row->job || !row->group_exists || row->retries_left <= 0)
        return ERR_OK;
    if (row->retry_wait_s > 0) {
        row->retry_at_s = now_s + find_wait_s(row);
        return ERR_OK;
    }
    struct job_spec *job = job_spec_copy(row->job, row->param ? row->param : row->job->param, row->retries_left - 1);
    if (!job)
        return err_set(ec, ERR_NOMEM, "out of memory for a retry");
    enum err e = add_retries(row, group, job, now_s, ec);
    job_spec_unref(job);
    return e;
}
