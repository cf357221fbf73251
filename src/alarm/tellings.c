/* SPDX-License-Identifier: MIT */
#include "alarm/tellings.h"

#include <stdlib.h>
#include <string.h>

#include "shardwheel/store/watch.h"

void tellings_init(struct tellings *all)
{
    *all = (struct tellings){0};
    mutex_init(&all->lock, LOCK_COMPLETE);
}

void tellings_fini(struct tellings *all)
{
    while (!LIST_EMPTY(&all->list))
        tellings_remove(all, LIST_FIRST(&all->list));
    mutex_fini(&all->lock);
}

void tellings_add(struct tellings *all, struct telling *t)
{
    mutex_lock(&all->lock);
    LIST_INSERT_HEAD(&all->list, t, in_list);
    mutex_unlock(&all->lock);
    all->count++;
}

void tellings_remove(struct tellings *all, struct telling *t)
{
    mutex_lock(&all->lock);
    LIST_REMOVE(t, in_list);
    mutex_unlock(&all->lock);
    all->count--;
    free(t);
}

bool tellings_note(struct tellings *all, struct telling *t, const struct parcel *d)
{
    mutex_lock(&all->lock);
    t->sent += d->sent;
    t->failed = t->failed || (!d->sent && !d->given_up);
    t->given_up = t->given_up || d->given_up;
    bool last = --t->pending == 0;
    mutex_unlock(&all->lock);
    return last;
}

/* NULL: there is none. */
static struct telling *find(struct tellings *all, bool (*fits)(const struct telling *t, int64_t arg), int64_t arg)
{
    struct telling *t;

    mutex_lock(&all->lock);
    LIST_FOREACH(t, &all->list, in_list)
    if (fits(t, arg))
        break;
    mutex_unlock(&all->lock);
    return t;
}

static bool is_of_job(const struct telling *t, int64_t job_id)
{
    return t->due.job_id == job_id;
}

static bool is_ended(const struct telling *t, int64_t wanted)
{
    return (t->pending == 0) == wanted;
}

bool tellings_has_job(struct tellings *all, int64_t job_id)
{
    return find(all, is_of_job, job_id) != NULL;
}

static bool is_flow_alarm(const struct telling *t, int64_t id)
{
    return t->flow_alarm == id;
}

bool tellings_has_flow_alarm(struct tellings *all, int64_t id)
{
    return find(all, is_flow_alarm, id) != NULL;
}

bool tellings_has_watch(struct tellings *all, const char *kind, int64_t target, const char *held_for)
{
    struct telling *t;

    mutex_lock(&all->lock);
    LIST_FOREACH(t, &all->list, in_list)
    if (t->target == target && strcmp(t->watch_kind, kind) == 0 && strcmp(t->held_for, held_for) == 0)
        break;
    mutex_unlock(&all->lock);
    return t != NULL;
}

const char *telling_find_kind(const struct telling *t)
{
    if (t->watch_kind[0])
        return t->held_for[0] ? NULL : t->watch_kind;
    return t->flow_alarm ? NULL : HELD_JOB_FAILED;
}

int64_t telling_get_target(const struct telling *t)
{
    return t->watch_kind[0] ? t->target : t->due.job_id;
}

bool telling_is_over(const struct telling *t)
{
    return t->watch_kind[0] ? t->phase == WATCH_OVER : t->event == ALARM_EVENT_RECOVERED;
}

struct telling *tellings_find_ended(struct tellings *all)
{
    return find(all, is_ended, true);
}

bool tellings_are_ended(struct tellings *all)
{
    return find(all, is_ended, false) == NULL;
}
