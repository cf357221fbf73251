/* SPDX-License-Identifier: MIT */
#include "dispatch/delivery.h"

#include <stddef.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "dispatch/asking.h"
#include "shardwheel/dispatch.h"

void batch_put(struct batch *batch)
{
    /* acq_rel: the last one to let go sees what the others did before they let go. */
    if (!batch || atomic_fetch_sub_explicit(&batch->refs, 1, memory_order_acq_rel) > 1)
        return;
    registry_put_snapshot(batch->snapshot);
    executor_access_unref(batch->access);
    free(batch);
}

struct batch *batch_create(struct post_office *office, struct executor_access *access, int64_t deadline_boot_ms,
                           int64_t asked_wall_us)
{
    struct batch *batch = calloc(1, sizeof *batch);

    if (!batch)
        return NULL;
    atomic_init(&batch->refs, 1);
    batch->snapshot = registry_get_snapshot(office->registry);
    batch->access = executor_access_ref(access);
    batch->deadline_boot_ms = deadline_boot_ms;
    batch->asked_wall_us = asked_wall_us;
    return batch;
}

void delivery_list_add(struct delivery_list *list, struct delivery *d)
{
    d->next = NULL;
    d->prev = list->tail;
    if (list->tail)
        list->tail->next = d;
    else
        list->head = d;
    list->tail = d;
    list->count++;
}

void delivery_list_join(struct delivery_list *list, struct delivery_list *more)
{
    if (!more->head)
        return;
    more->head->prev = list->tail;
    if (list->tail)
        list->tail->next = more->head;
    else
        list->head = more->head;
    list->tail = more->tail;
    list->count += more->count;
    *more = (struct delivery_list){0};
}

void delivery_list_remove(struct delivery_list *list, struct delivery *d)
{
    if (d->prev)
        d->prev->next = d->next;
    else
        list->head = d->next;
    if (d->next)
        d->next->prev = d->prev;
    else
        list->tail = d->prev;
    list->count--;
    d->next = d->prev = NULL;
}

struct delivery *delivery_list_take(struct delivery_list *list)
{
    struct delivery *d = list->head;

    if (d)
        delivery_list_remove(list, d);
    return d;
}

/* The registry's, but for a fire that was made with its group, which may be newer or given by hand, or brings addresses
 * along. False: out of memory. */
static bool find_group(struct delivery *d)
{
    struct fire *fire = d->fire;
    const struct registry_group *group = fire->target ? NULL : registry_find_group(d->batch->snapshot, fire->group);
    const struct group_spec *target;

    if (group && fire->own && fire->own->addresses) {
        fire->target =
            group_spec_create(group->id, group->app_name, group->access_token, /*manual=*/true, fire->own->addresses);
        if (!fire->target)
            return false;
    }
    d->group = group;
    target = fire->target;
    if (!target)
        return true;
    d->target = (struct registry_group){.id = target->id,
                                        .app_name = target->app_name,
                                        .access_token = target->access_token,
                                        .manual = target->manual,
                                        .addresses = target->addresses,
                                        .count = target->count};
    d->group = &d->target;
    return true;
}

struct delivery *delivery_create(struct post_office *office, struct batch *batch, struct fire *fire)
{
    struct delivery *d = calloc(1, sizeof *d);

    if (!d)
        return NULL;
    atomic_fetch_add_explicit(&batch->refs, 1, memory_order_relaxed);
    d->batch = batch;
    d->fire = fire;
    d->result.log_id = fire->log_id;
    d->result.job_id = fire->job_id;
    d->result.childless = fire->job->childless;
    d->result.deadline_boot_ms = batch->deadline_boot_ms;
    if (!find_group(d)) {
        batch_put(batch);
        free(d);
        return NULL;
    }
    /* relaxed: counts only; what they count is handed over under locks. */
    atomic_fetch_add_explicit(&office->open, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&office->unended, 1, memory_order_relaxed);
    return d;
}

void delivery_destroy(struct delivery *d)
{
    if (!d)
        return;
    free(d->body);
    free(d->message);
    asking_destroy(d->asking);
    fire_destroy(d->fire);
    batch_put(d->batch);
    free(d);
}

int64_t delivery_get_due_us(const struct delivery *d)
{
    return d->batch->asked_wall_us ? d->batch->asked_wall_us : d->fire->due_s * 1000000;
}

struct delivery *delivery_of(struct result *result)
{
    return (struct delivery *)((char *)result - offsetof(struct delivery, result));
}

void delivery_route(struct post_office *office, struct delivery *d, const char *address, bool kept)
{
    d->address = address;
    d->fits_row = kept && d->fire->row_hash == d->fire->job->row_hash;
    if (d->fits_row)
        results_expect(office->results, &d->result);
}

static char *make_message(const struct post_office *office, const struct delivery *d, enum delivery_outcome outcome,
                          int code, const char *text)
{
    struct buf message = {0};
    struct message_facts facts = {
        .style = office->opts.style,
        .fire = d->fire,
        .job = d->fire->job,
        .group = d->group,
        .node_name = office->opts.node_name,
        .admin_ip = office->opts.admin_ip,
        .address = d->address,
        .code = code,
        .from_executor = outcome == DELIVERY_DELIVERED || outcome == DELIVERY_REFUSED,
        .text = text,
        .asked = d->asking ? asking_get_protocol(d->asking) : "",
    };

    dispatch_put_message(&message, &facts);
    return buf_take(&message);
}

static void fill_row(struct delivery *d, int code, bool as_planned)
{
    const struct job_spec *job = d->fire->job;

    if (d->fire->broadcast)
        snprintf(d->sharding, sizeof d->sharding, "%d/%d", d->fire->shard_index, d->fire->shard_total);
    d->result.row = (struct fire_result){
        .log_id = d->fire->log_id,
        .code = code,
        .address = d->address,
        .message = d->message ? d->message : "", /* out of memory: the code at least */
        .as_planned = as_planned,
        .write_job = job->row_hash != d->fire->row_hash,
        .group = d->fire->group,
        .handler = job->handler,
        .param = job->param,
        .retry_count = job->retry_count,
        .sharding = d->sharding[0] ? d->sharding : NULL,
        /* One that is sent again may have been sent before. */
        .away = d->away && !(d->fire->flags & FIRE_RESENT) ? d->fire : NULL,
    };
}

void delivery_end(struct post_office *office, struct delivery *d, enum delivery_outcome outcome, int code,
                  const char *text)
{
    static const enum counter_id counter[] = {
        [DELIVERY_DELIVERED] = COUNTER_FIRES_DELIVERED,
        [DELIVERY_REFUSED] = COUNTER_FIRES_REFUSED,
        [DELIVERY_FAILED] = COUNTER_FIRES_FAILED,
        [DELIVERY_TOO_LATE] = COUNTER_FIRES_TOO_LATE,
    };
    static const char *const names[] = {[DELIVERY_DELIVERED] = "delivered",
                                        [DELIVERY_REFUSED] = "refused",
                                        [DELIVERY_FAILED] = "failed",
                                        [DELIVERY_TOO_LATE] = "too_late"};
    bool as_planned = outcome == DELIVERY_DELIVERED && d->fits_row;

    log_fire(DISPATCH, "event=fire_answered log_id=%" PRId64 " job=%" PRId64 " address=%s outcome=%s code=%d why=%s",
             d->fire->log_id, d->fire->job_id, log_quote(d->address).s, names[outcome], code, log_quote(text).s);

    if (!as_planned) {
        results_forget(office->results, &d->result); /* its callback must not say "delivered" of it */
        d->message = make_message(office, d, outcome, code, text);
    }
    fill_row(d, code, as_planned);
    free(d->body);
    d->body = NULL;
    d->lane = NULL;
    if (!d->has_room) {
        /* relaxed: a count; goes over results_max, for a fire that has ended must not wait. */
        atomic_fetch_add_explicit(&office->room_used, 1, memory_order_relaxed);
        d->has_room = true;
    }
    atomic_fetch_sub_explicit(&office->unended, 1, memory_order_relaxed);
    counters_add(office->counters, counter[outcome], 1);
}
