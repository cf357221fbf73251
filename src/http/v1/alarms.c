/* SPDX-License-Identifier: MIT */
/* Channels of alarms, jobs of which people are told, and a message of test. */
#include "http/v1/write.h"
#include "shardwheel/admin/alarms.h"

#include <stdlib.h>

#define LIST "alarms"
#define APP_NAME_MAX 64

static void put_channel(void *arg, const struct alarm_channel *channel)
{
    struct buf *b = arg;

    v1_put_object(b, NULL);
    v1_put_text(b, "name", channel->name);
    v1_put_text(b, "kind", channel->kind);
    v1_put_list(b, "groups");
    for (size_t i = 0; i < channel->group_count; i++)
        v1_put_text(b, NULL, channel->groups[i]);
    v1_put_list_end(b);
    v1_put_bool(b, "hasSecret", channel->has_secret);
    v1_put_object_end(b);
}

static void answer_channels(struct v1_call *c)
{
    struct buf items = {0};
    bool mail = false;

    buf_append(&items, "", 0);
    if (!v1_is_refused(c) &&
        !v1_has_failed(c, admin_list_channels(c->admin, c->actor, put_channel, &items, &mail, &c->why))) {
        c->r->body.failed |= buf_failed(&items);
        v1_put_object(&c->r->body, NULL);
        v1_put_bool(&c->r->body, "mail", mail);
        v1_put_list(&c->r->body, "items");
        buf_puts(&c->r->body, buf_failed(&items) ? "" : items.data);
        v1_put_list_end(&c->r->body);
        v1_put_object_end(&c->r->body);
    }
    buf_fini(&items);
}

static void put_state(struct buf *b, const struct alarm_state *state)
{
    v1_put_object(b, NULL);
    v1_put_int(b, "jobId", state->job_id);
    if (state->job_group)
        v1_put_int(b, "jobGroup", state->job_group);
    else
        v1_put_null(b, "jobGroup");
    v1_put_text(b, "name", state->job_group ? state->job_name : NULL);
    v1_put_int(b, "lastLogId", state->last_log);
    v1_put_int(b, "untoldFailures", state->failures);
    v1_put_bool(b, "failing", state->failing);
    v1_put_bool(b, "due", state->due);
    v1_put_instant(b, "quietUntil", state->quiet_until_ms);
    v1_put_object_end(b);
}

static void answer_alarms(struct v1_call *c)
{
    struct v1_page page = v1_query_page(c, LIST, 1, false);
    struct alarm_state *list = NULL;
    struct v1_cursor next = {.count = 1};
    size_t count = 0;

    if (v1_is_refused(c) || v1_has_failed(c, admin_load_alarms(c->admin, c->actor, page.after ? page.from.keys[0] : 0,
                                                               page.limit + 1, &list, &count, &c->why)))
        return;
    v1_begin_page(c);
    for (size_t i = 0; i < count && i < page.limit; i++) {
        put_state(&c->r->body, &list[i]);
        next.keys[0] = list[i].job_id;
    }
    v1_end_page(c, LIST, count > page.limit ? &next : NULL);
    free(list);
}

struct test {
    struct buf items;
    bool failed;
};

static void put_result(void *arg, const char *channel, const char *to, const char *error)
{
    struct test *test = arg;

    test->failed |= error != NULL;
    v1_put_object(&test->items, NULL);
    v1_put_text(&test->items, "channel", channel);
    v1_put_text(&test->items, "to", to);
    v1_put_bool(&test->items, "ok", !error);
    v1_put_text(&test->items, "error", error);
    v1_put_object_end(&test->items);
}

static void answer_test(struct v1_call *c)
{
    const char *group = v1_text(&c->body, "group", APP_NAME_MAX);
    struct test test = {0};

    buf_append(&test.items, "", 0);
    if (!v1_is_refused(c) &&
        !v1_has_failed(c, admin_test_alarms(c->admin, c->actor, group ? group : "", put_result, &test, &c->why))) {
        c->r->body.failed |= buf_failed(&test.items);
        v1_put_object(&c->r->body, NULL);
        v1_put_bool(&c->r->body, "ok", !test.failed);
        v1_put_list(&c->r->body, "items");
        buf_puts(&c->r->body, buf_failed(&test.items) ? "" : test.items.data);
        v1_put_list_end(&c->r->body);
        v1_put_object_end(&c->r->body);
    }
    buf_fini(&test.items);
}

static const struct v1_route routes[] = {
    {V1_ROUTE(ROUTE_GET, "/alarms", ROUTE_LOGIN), V1_NO_BODY, 0, answer_alarms},
    {V1_ROUTE(ROUTE_GET, "/alarms/channels", ROUTE_LOGIN), V1_NO_BODY, 0, answer_channels},
    {V1_ROUTE(ROUTE_POST, "/alarms/test", ROUTE_LOGIN), V1_MAY_BODY, 0, answer_test},
};

const struct v1_topic v1_alarms = {routes, ARRAY_LEN(routes)};
