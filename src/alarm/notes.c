/* SPDX-License-Identifier: MIT */
#include "alarm/notes.h"

#include <stdio.h>
#include <stdlib.h>

#include "shardwheel/store/channel.h"

#define NOTES_MAX 2000 /* that wait for the database */

void notes_init(struct notes *n)
{
    mutex_init(&n->lock, LOCK_COMPLETE);
    STAILQ_INIT(&n->parcels);
    n->count = 0;
}

void notes_add(struct notes *n, const struct channel *channel, struct parcel *d)
{
    bool room;

    snprintf(d->channel, sizeof d->channel, "%s", channel->name);
    mutex_lock(&n->lock);
    room = !d->given_up && n->count < NOTES_MAX;
    if (room) {
        STAILQ_INSERT_TAIL(&n->parcels, d, in_queue);
        n->count++;
    }
    mutex_unlock(&n->lock);
    if (!room)
        parcel_destroy(d);
}

static size_t take_all(struct notes *n, struct parcel_list *out)
{
    size_t count;

    STAILQ_INIT(out);
    mutex_lock(&n->lock);
    STAILQ_CONCAT(out, &n->parcels);
    count = n->count;
    n->count = 0;
    mutex_unlock(&n->lock);
    return count;
}

static void destroy_all(struct parcel_list *list)
{
    struct parcel *d;

    while ((d = STAILQ_FIRST(list)) != NULL) {
        STAILQ_REMOVE_HEAD(list, in_queue);
        parcel_destroy(d);
    }
}

static struct sent_alarm show(const struct parcel *d)
{
    const struct message *m = d->message;

    return (struct sent_alarm){.event = alarm_event_name(m->event),
                               .job_id = m->job_id,
                               .log_id = m->log_id,
                               .app_name = m->app_name,
                               .channel = d->channel,
                               .receiver = d->to ? d->to : "",
                               .title = m->title,
                               .error = d->sent ? NULL : d->error};
}

enum err notes_write(struct notes *n, struct store_session *s, struct errctx *ec)
{
    struct parcel_list list;
    size_t count = take_all(n, &list), i = 0;
    struct sent_alarm *rows = count ? calloc(count, sizeof *rows) : NULL;
    struct parcel *d;
    enum err e = ERR_OK;

    STAILQ_FOREACH(d, &list, in_queue)
    if (rows)
        rows[i++] = show(d);
    if (i > 0)
        e = store_add_told(s, rows, i, ec);
    free(rows);
    destroy_all(&list);
    return e;
}

void notes_fini(struct notes *n)
{
    struct parcel_list list;

    take_all(n, &list);
    destroy_all(&list);
    mutex_fini(&n->lock);
}
