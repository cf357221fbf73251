/* SPDX-License-Identifier: MIT */
#include "alarm/notes.h"

#include <stdio.h>
#include <stdlib.h>

#include "shardwheel/store/channel.h"

#define NOTES_MAX 2000 /* that wait for the database */

struct note {
    STAILQ_ENTRY(note) in_list; /* [lock] of the notes */
    struct parcel *parcel;      /* [const] its own */
    char channel[41];           /* [const] */
};

void notes_init(struct notes *n)
{
    mutex_init(&n->lock, LOCK_COMPLETE);
    STAILQ_INIT(&n->items);
    n->count = 0;
}

void notes_add(struct notes *n, const struct channel *channel, struct parcel *d)
{
    struct note *note = d->given_up ? NULL : calloc(1, sizeof *note);
    bool room = false;

    if (note) {
        note->parcel = d;
        snprintf(note->channel, sizeof note->channel, "%s", channel->name);
        mutex_lock(&n->lock);
        room = n->count < NOTES_MAX;
        if (room) {
            STAILQ_INSERT_TAIL(&n->items, note, in_list);
            n->count++;
        }
        mutex_unlock(&n->lock);
    }
    if (room)
        return;
    free(note);
    parcel_destroy(d);
}

static struct note *take_all(struct notes *n, size_t *count)
{
    mutex_lock(&n->lock);
    struct note *first = STAILQ_FIRST(&n->items);
    *count = n->count;
    STAILQ_INIT(&n->items);
    n->count = 0;
    mutex_unlock(&n->lock);
    return first;
}

static void destroy_all(struct note *note)
{
    while (note) {
        struct note *next = STAILQ_NEXT(note, in_list);
        parcel_destroy(note->parcel);
        free(note);
        note = next;
    }
}

static struct sent_alarm show(const struct note *note)
{
    const struct message *m = note->parcel->message;

    return (struct sent_alarm){.event = alarm_event_name(m->event),
                               .job_id = m->job_id,
                               .log_id = m->log_id,
                               .app_name = m->app_name,
                               .channel = note->channel,
                               .receiver = note->parcel->to ? note->parcel->to : "",
                               .title = m->title,
                               .error = note->parcel->sent ? NULL : note->parcel->error};
}

enum err notes_write(struct notes *n, struct store_session *s, struct errctx *ec)
{
    size_t count, i = 0;
    struct note *first = take_all(n, &count);
    struct sent_alarm *rows = count ? calloc(count, sizeof *rows) : NULL;
    enum err e = ERR_OK;

    for (struct note *note = first; note && rows; note = STAILQ_NEXT(note, in_list))
        rows[i++] = show(note);
    if (i > 0)
        e = store_add_told(s, rows, i, ec);
    free(rows);
    destroy_all(first);
    return e;
}

void notes_fini(struct notes *n)
{
    size_t count;

    destroy_all(take_all(n, &count));
    mutex_fini(&n->lock);
}
