/* SPDX-License-Identifier: MIT */
#include "schedule/shard/ahead.h"
#include "shardwheel/dispatch.h"
#include "shardwheel/job/codes.h"
#include "shardwheel/route.h"

#include <stdlib.h>
#include <string.h>

struct message {
    char *route;
    char *text;
};

struct ahead {
    char *node_name;            /* [const] */
    char *admin_ip;             /* [const] */
    struct message_style style; /* [const] */
    struct routes *routes;      /* [schedule thread], and all that follows */
    struct message *messages;   /* of the routes seen so far: route_count() at most, since no other picks an address */
    size_t count;
};

enum err ahead_create(const char *node_name, const char *admin_ip, struct message_style style, struct ahead **out,
                      struct errctx *ec)
{
    struct ahead *a = calloc(1, sizeof *a);
    enum err e = ERR_NOMEM;

    if (a) {
        a->style = style;
        a->messages = calloc(route_count(), sizeof *a->messages);
        a->node_name = str_copy(node_name ? node_name : "");
        a->admin_ip = str_copy(admin_ip ? admin_ip : "");
    }
    e = a && a->messages && a->node_name && a->admin_ip ? routes_create(0, &a->routes, ec)
                                                        : err_set(ec, ERR_NOMEM, "routes ahead: out of memory");
    if (e) {
        ahead_destroy(a);
        return e;
    }
    *out = a;
    return ERR_OK;
}

void ahead_destroy(struct ahead *a)
{
    if (!a)
        return;
    for (size_t i = 0; i < a->count; i++) {
        free(a->messages[i].route);
        free(a->messages[i].text);
    }
    routes_destroy(a->routes);
    free(a->messages);
    free(a->node_name);
    free(a->admin_ip);
    free(a);
}

void ahead_begin(struct ahead *a, int64_t now_mono_ms)
{
    routes_begin(a->routes, now_mono_ms);
}

static void put_success(const struct ahead *a, const struct job_due *job, const struct registry_group *group,
                        const struct fire *fire, struct buf *out)
{
    const struct job_spec spec = {.route = job->route,
                                  .handler = job->handler,
                                  .param = job->param,
                                  .block = job->block,
                                  .timeout_s = job->timeout_s,
                                  .retry_count = job->retry_count};
    const struct message_facts facts = {.style = a->style,
                                        .fire = fire,
                                        .job = &spec,
                                        .group = group,
                                        .node_name = a->node_name,
                                        .admin_ip = a->admin_ip,
                                        .address = fire->address,
                                        .code = CODE_OK,
                                        .from_executor = true};

    dispatch_put_message(out, &facts);
}

/* The short text is the same for all fires in time. NULL when there is no room for it. */
static const char *find_message(struct ahead *a, const struct job_due *job, const struct fire *fire)
{
    struct buf text = {0};
    struct message *m = a->messages;

    for (; m < a->messages + a->count; m++)
        if (strcmp(m->route, job->route) == 0)
            return m->text;
    if (a->count == route_count())
        return NULL;
    put_success(a, job, NULL, fire, &text);
    *m = (struct message){str_copy(job->route), buf_take(&text)};
    if (m->route && m->text) {
        a->count++;
        return m->text;
    }
    free(m->route);
    free(m->text);
    return NULL;
}

static bool is_in_time(const struct fire *fire)
{
    return fire->due_s == fire->original_due_s && fire->kind == TRIGGER_CRON && !(fire->flags & ~FIRE_LAST);
}

/* A text of its own. False without memory: its way is found when it is sent. */
static bool write_full(struct ahead *a, const struct job_due *job, const struct registry_group *group,
                       struct fire *fire)
{
    struct buf text = {0};

    put_success(a, job, group, fire, &text);
    free(fire->message);
    fire->message = buf_take(&text);
    return fire->message;
}

const char *ahead_route(struct ahead *a, const struct job_due *job, const struct registry_group *group,
                        struct fire *list)
{
    uint32_t route_hash = fire_route_hash(job->route);
    const char *message = NULL;

    for (struct fire *fire = list; fire; fire = fire->next) {
        struct route_choice choice;

        if (!is_in_time(fire))
            continue;
        routes_pick(a->routes, fire, job->route, group, &choice);
        if (!choice.address)
            continue;
        if (!fire->address)
            fire->address = str_copy(choice.address);
        if (!fire->address)
            continue; /* its way is found when it is sent */
        if (!a->style.full && !message)
            message = find_message(a, job, fire);
        if (a->style.full ? !write_full(a, job, group, fire) : !message)
            continue;
        fire->route_hash = route_hash;
        fire->written_ahead = true;
    }
    return message;
}
