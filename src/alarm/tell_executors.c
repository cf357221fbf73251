/* SPDX-License-Identifier: MIT */
/* What is told of executors that are gone. */
#include "alarm/alarms_impl.h"
#include "shardwheel/store/registry.h"

#include <string.h>

/* A group of them may have been removed, or have addresses by hand now. `groups`: read when it is needed first. */
static enum err find_automatic(struct store_session *s, struct group_list *groups, const char *app, bool *found,
                               struct errctx *ec)
{
    enum err e = groups->rows ? ERR_OK : store_load_groups(s, groups, ec);

    *found = false;
    for (size_t i = 0; !e && i < groups->count; i++)
        *found = *found || (!groups->rows[i].manual && strcmp(groups->rows[i].app_name, app) == 0);
    return e;
}

/* Nothing is written: a node that ends now takes what it saw with it. */
static enum err tell_offline(struct alarms *a, struct store_session *s, struct group_list *groups,
                             const struct offline_app *app, struct errctx *ec)
{
    struct outlet_posts posts = {0};
    struct message *message = NULL;
    bool automatic;
    enum err e = find_automatic(s, groups, app->app, &automatic, ec);

    if (e || !automatic)
        return e;
    log_limited(&a->told_log, a->clock, LOG_WARN, "alarm", "event=executors_offline app=%s gone=%zu left=%zu",
                log_quote(app->app).s, app->gone, app->left);
    if (!outlets_serve(a->in_use.outlets, app->app))
        return ERR_OK;
    message = message_create_offline(&a->wording, app->app, app->addresses.data, app->gone, app->left);
    const char *name = app->app;
    e = message ? outlets_collect(a->in_use.outlets,
                                  &(struct outlet_about){.apps = &name,
                                                         .app_count = 1,
                                                         .emails = "",
                                                         .now_s = time_floor_div(clock_wall_ms(a->clock), 1000)},
                                  message, NULL, &posts, ec)
                : err_set(ec, ERR_NOMEM, "out of memory for an alarm");
    message_unref(message);
    if (!e)
        alarms_post(a, &posts);
    return e;
}

enum err alarms_tell_executors(struct alarms *a, struct store_session *s, struct errctx *ec)
{
    struct executor_beats beats = {0};
    struct group_list groups = {0};
    struct offline_app app;
    int64_t now_ms = clock_mono_ms(a->clock);
    enum err e = store_load_executor_beats(s, time_floor_div(clock_wall_ms(a->clock), 1000), &beats, ec);

    counters_set(a->counters, COUNTER_EXECUTORS_SEEN, (int64_t)beats.count);
    if (!e)
        e = offline_note(&a->offline, &beats, now_ms, ec);
    while (!e && offline_take(&a->offline, now_ms, a->opts.quiet_ms, &app))
        e = tell_offline(a, s, &groups, &app, ec);
    group_list_fini(&groups);
    return e;
}
