/* SPDX-License-Identifier: MIT */
/* A message of test to every channel. */
#include <stdio.h>
#include <string.h>

#include "alarm/outlets.h"
#include "alarm/template.h"

#define TEST_WAIT_MS 25000 /* more than a receiver may take */

struct test_run {
    struct mutex lock; /* rank LOCK_COMPLETE */
    struct cond wake;  /* with lock */
    size_t pending;    /* [lock] */
};

/* The parcel stays among the posts, with what came of it. */
static void on_done(void *arg, const struct channel *channel, struct parcel *d)
{
    struct test_run *run = arg;

    (void)channel, (void)d;
    mutex_lock(&run->lock);
    run->pending--;
    cond_signal(&run->wake);
    mutex_unlock(&run->lock);
}

static void wait_for_all(struct test_run *run, const struct clock *clock)
{
    int64_t until_ms = clock_mono_ms(clock) + TEST_WAIT_MS;

    mutex_lock(&run->lock);
    while (run->pending > 0 && clock_mono_ms(clock) < until_ms)
        cond_wait_until(&run->wake, &run->lock, until_ms);
    mutex_unlock(&run->lock);
}

/* Posts all, waits for them, stops the receivers, and tells. */
static enum err carry_out(struct test_run *run, struct outlets *outlets, struct outlet_posts *posts,
                          const struct clock *clock,
                          void (*each)(void *arg, const char *channel, const char *to, const char *error), void *arg,
                          struct errctx *ec)
{
    enum err e = outlets_start(outlets, ec);

    run->pending = posts->count;
    for (size_t i = 0; i < posts->count && !e; i++) {
        struct parcel *d = posts->items[i].parcel;
        if (!receiver_post(posts->items[i].receiver, d)) {
            snprintf(d->error, sizeof d->error, "too many receivers");
            on_done(run, NULL, d);
        }
    }
    if (!e)
        wait_for_all(run, clock);
    outlets_stop(outlets);
    for (size_t i = 0; i < posts->count && !e; i++) {
        const struct parcel *d = posts->items[i].parcel;
        each(arg, receiver_get_channel(posts->items[i].receiver)->name, d->to, d->sent ? NULL : d->error);
    }
    outlet_posts_fini(posts, /*with_parcels=*/true);
    return e;
}

/* Leaves the posts to one channel; mails have one receiver for all their channels. */
static void keep_one(struct outlets *outlets, const char *channel, struct outlet_posts *posts)
{
    size_t kept = 0;

    for (size_t i = 0; i < outlets->channels.count; i++)
        if (strcmp(outlets->channels.items[i].name, channel) == 0 && outlets->channels.items[i].kind == CHANNEL_MAIL)
            channel = outlets->mail_channel.name;
    for (size_t i = 0; i < posts->count; i++) {
        if (strcmp(receiver_get_channel(posts->items[i].receiver)->name, channel) == 0)
            posts->items[kept++] = posts->items[i];
        else
            parcel_destroy(posts->items[i].parcel);
    }
    posts->count = kept;
}

enum err alarms_test(const struct alarms_opts *opts, const char *app, const char *channel, const struct clock *clock,
                     void (*each)(void *arg, const char *channel, const char *to, const char *error), void *arg,
                     struct errctx *ec)
{
    const struct wording wording = {opts->title, opts->text, opts->link, opts->node_name};
    struct test_run run = {.pending = 0};
    struct outlets outlets = {0};
    struct outlet_posts posts = {0};
    struct message *message = NULL;
    enum err e;

    mutex_init(&run.lock, LOCK_COMPLETE);
    cond_init(&run.wake);
    e = templates_check(opts->title, opts->text, ec);
    if (!e)
        e = outlets_create(opts, &(struct receiver_opts){.once = true, .done = on_done, .arg = &run}, clock, NULL,
                           &outlets, ec);
    if (!e && outlets_is_empty(&outlets))
        e = err_set(ec, ERR_INPUT, "neither spring.mail.host nor shardwheel.alarm.channels is set");
    if (!e) {
        message = message_create_test(&wording, app);
        e = message ? outlets_collect(&outlets,
                                      &(struct outlet_about){.apps = app[0] ? &app : NULL,
                                                             .app_count = 1,
                                                             .any_tag = true,
                                                             .emails = outlets.mail ? outlets.from : ""},
                                      message, NULL, &posts, ec)
                    : err_set(ec, ERR_NOMEM, "out of memory for the test");
    }
    message_unref(message);
    if (!e && channel)
        keep_one(&outlets, channel, &posts);
    if (!e)
        e = carry_out(&run, &outlets, &posts, clock, each, arg, ec);
    outlets_fini(&outlets);
    cond_fini(&run.wake);
    mutex_fini(&run.lock);
    return e;
}
