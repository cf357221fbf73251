/* SPDX-License-Identifier: MIT */
#include "alarm/in_use.h"

#include <stdlib.h>
#include <string.h>

#define CHANNELS_WAIT_MS 20000 /* others go on with what they have; then it is told anew */

static void drop(struct outlets *o)
{
    if (!o)
        return;
    outlets_stop(o);
    outlets_fini(o);
    free(o);
}

static enum err create(struct in_use *u, const struct channel_rows *rows, struct outlets **out, struct errctx *ec)
{
    struct alarms_opts opts = *u->opts;
    struct outlets *o = calloc(1, sizeof *o);
    enum err e;

    if (!o)
        return err_set(ec, ERR_NOMEM, "out of memory for the alarms");
    opts.rows = rows->rows;
    opts.row_count = rows->count;
    e = outlets_create(&opts, &u->receiver, u->clock, u->counters, o, ec);
    if (e)
        free(o);
    else
        *out = o;
    return e;
}

enum err in_use_init(struct in_use *u, const struct clock *clock, struct counters *counters, struct errctx *ec)
{
    u->clock = clock;
    u->counters = counters;
    mutex_init(&u->lock, LOCK_COMPLETE);
    return create(u, &u->rows, &u->outlets, ec);
}

void in_use_fini(struct in_use *u)
{
    drop(u->outlets);
    channel_rows_fini(&u->rows);
    mutex_fini(&u->lock);
}

static bool is_same(const struct channel_rows *a, const struct channel_rows *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct channel_row *x = &a->rows[i], *y = &b->rows[i];
        if (x->id != y->id || strcmp(x->name, y->name) != 0 || strcmp(x->kind, y->kind) != 0 ||
            strcmp(x->target, y->target) != 0 || strcmp(x->secret, y->secret) != 0 ||
            strcmp(x->app_names, y->app_names) != 0 || strcmp(x->tags, y->tags) != 0 || strcmp(x->quiet, y->quiet) != 0)
            return false;
    }
    return true;
}

static enum err change(struct in_use *u, struct channel_rows *rows, struct errctx *ec)
{
    struct outlets *fresh = NULL, *old;
    enum err e = create(u, rows, &fresh, ec);

    if (!e)
        e = outlets_start(fresh, ec);
    if (e) {
        drop(fresh);
        return e;
    }
    mutex_lock(&u->lock);
    old = u->outlets;
    u->outlets = fresh;
    mutex_unlock(&u->lock);
    drop(old);
    channel_rows_fini(&u->rows);
    u->rows = *rows;
    *rows = (struct channel_rows){0};
    log_info("alarm", "event=channels settings_and_console=%zu", fresh->channels.count);
    return ERR_OK;
}

enum err in_use_look(struct in_use *u, struct store_session *s, bool idle, struct errctx *ec)
{
    struct channel_rows rows = {0};
    int64_t now_ms = clock_mono_ms(u->clock);
    enum err e;

    if (!u->opts->console_channels || now_ms < u->look_mono_ms)
        return ERR_OK;
    e = store_load_channels(s, &rows, ec);
    if (e)
        return e;
    u->look_mono_ms = now_ms + CHANNELS_LOOK_MS;
    if (is_same(&rows, &u->rows)) {
        u->differ_mono_ms = 0;
    } else {
        u->differ_mono_ms = u->differ_mono_ms ? u->differ_mono_ms : now_ms;
        if (idle || now_ms - u->differ_mono_ms >= CHANNELS_WAIT_MS)
            e = change(u, &rows, ec);
    }
    channel_rows_fini(&rows);
    return e;
}

bool in_use_choose(struct in_use *u, const char *app, bool *wanted)
{
    mutex_lock(&u->lock);
    bool served = outlets_serve(u->outlets, app);
    bool can = served || (*wanted && u->outlets->mail);
    mutex_unlock(&u->lock);

    *wanted = *wanted || served;
    return can;
}
