/* SPDX-License-Identifier: MIT */
#include "alarm/offline.h"

#include <stdlib.h>
#include <string.h>

#include "shardwheel/text.h"

#define ADDRESSES_MAX 20 /* named in a message */

static void drop_app(struct offline_app *a)
{
    free(a->app);
    buf_fini(&a->addresses);
}

void offline_reset(struct offline *o)
{
    for (size_t i = 0; i < o->app_count; i++)
        drop_app(&o->apps[i]);
    free(o->apps);
    executor_beats_fini(&o->before);
    *o = (struct offline){0};
}

static struct offline_app *find_app(struct offline *o, const char *app)
{
    for (size_t i = 0; i < o->app_count; i++)
        if (strcmp(o->apps[i].app, app) == 0)
            return &o->apps[i];
    return NULL;
}

/* NULL: out of memory, or too many. */
static struct offline_app *add_app(struct offline *o, const char *app)
{
    struct offline_app *found = find_app(o, app);
    char *copy = NULL;

    if (found)
        return found;
    if (!o->apps)
        o->apps = calloc(OFFLINE_APPS_MAX, sizeof *o->apps);
    if (!o->apps || o->app_count == OFFLINE_APPS_MAX || !(copy = str_copy(app)))
        return NULL;
    found = &o->apps[o->app_count++];
    *found = (struct offline_app){.app = copy, .emptied_ms = -1, .quiet_until_ms = INT64_MIN};
    return found;
}

static size_t count_left(const struct executor_beats *beats, const char *app)
{
    size_t first = list_find_first(&app, beats->rows, beats->count, sizeof *beats->rows, compare_texts), n = 0;

    while (first + n < beats->count && strcmp(beats->rows[first + n].app_name, app) == 0)
        n++;
    return n;
}

static int compare(const struct executor_beat *a, const struct executor_beat *b)
{
    int by_app = strcmp(a->app_name, b->app_name);

    return by_app ? by_app : strcmp(a->address, b->address);
}

static void note_gone(struct offline *o, const struct executor_beat *row, bool dead, size_t left, int64_t now_ms)
{
    struct offline_app *a = dead || left == 0 ? add_app(o, row->app_name) : NULL;

    if (!a)
        return;
    a->left = left;
    if (left == 0 && a->emptied_ms < 0)
        a->emptied_ms = now_ms;
    if (!dead)
        return;
    if (a->gone == 0)
        buf_clear(&a->addresses);
    if (a->gone++ < ADDRESSES_MAX) {
        text_put_utf8(&a->addresses, row->address, strlen(row->address), 300);
        buf_putc(&a->addresses, '\n');
    }
}

enum err offline_note(struct offline *o, struct executor_beats *beats, int64_t now_ms, struct errctx *ec)
{
    int64_t elapsed_s = (now_ms - o->before_ms) / 1000;
    size_t k = 0;
    bool failed = false;

    for (size_t i = 0; o->begun && i < o->before.count; i++) {
        const struct executor_beat *row = &o->before.rows[i];
        while (k < beats->count && compare(&beats->rows[k], row) < 0)
            k++;
        if (k < beats->count && compare(&beats->rows[k], row) == 0)
            continue;
        note_gone(o, row, row->age_s + elapsed_s >= OFFLINE_DEAD_S, count_left(beats, row->app_name), now_ms);
    }
    for (size_t i = 0; i < o->app_count; i++) {
        struct offline_app *a = &o->apps[i];
        a->left = count_left(beats, a->app);
        if (a->left > 0)
            a->emptied_ms = -1;
        failed = failed || buf_failed(&a->addresses);
    }
    executor_beats_fini(&o->before);
    o->before = *beats;
    *beats = (struct executor_beats){0};
    o->before_ms = now_ms;
    o->begun = true;
    return failed ? err_set(ec, ERR_NOMEM, "out of memory for offline executors") : ERR_OK;
}

bool offline_take(struct offline *o, int64_t now_ms, int64_t quiet_ms, struct offline_app *out)
{
    for (size_t i = 0; i < o->app_count;) {
        struct offline_app *a = &o->apps[i];
        bool empty = a->emptied_ms >= 0 && a->emptied_ms < INT64_MAX && now_ms - a->emptied_ms >= OFFLINE_EMPTY_MS;
        bool quiet = now_ms < a->quiet_until_ms;

        if (!quiet && (a->gone > 0 || empty)) {
            if (a->gone > ADDRESSES_MAX)
                buf_printf(&a->addresses, "and %zu more\n", a->gone - ADDRESSES_MAX);
            buf_puts(&a->addresses, "");
            *out = *a; /* the texts are the group's, until it is told of again */
            a->quiet_until_ms = now_ms + quiet_ms;
            a->gone = 0;
            a->emptied_ms = a->left == 0 ? INT64_MAX : -1; /* told: not again while it stays empty */
            return true;
        }
        if (!quiet && a->gone == 0 && a->emptied_ms < 0) {
            drop_app(a);
            *a = o->apps[--o->app_count];
            continue;
        }
        i++;
    }
    return false;
}
