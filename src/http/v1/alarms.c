/* SPDX-License-Identifier: MIT */
/* Channels of alarms, jobs of which people are told, and a message of test. */
#include "http/v1/transfer.h"
#include "http/v1/write.h"
#include "shardwheel/admin/alarms.h"
#include "shardwheel/alarm.h"

#include <stdlib.h>

#define LIST "alarms"
#define TOLD_LIST "alarms-sent"
#define AROUND 2 /* a list is stored with a comma at either end */

static void put_channel(void *arg, const struct alarm_channel *channel)
{
    struct buf *b = arg;

    member_object(b, NULL);
    member_int_or_null(b, "id", channel->id);
    member_text(b, "name", channel->name);
    member_text(b, "kind", channel->kind);
    member_text(b, "host", channel->host);
    v1_put_texts(b, "groups", (const char *const *)channel->groups, channel->group_count);
    v1_put_texts(b, "tags", (const char *const *)channel->tags, channel->tag_count);
    member_text(b, "quiet", channel->quiet && channel->quiet[0] ? channel->quiet : NULL);
    member_bool(b, "hasSecret", channel->has_secret);
    v1_put_instant(b, "changedAt", channel->changed_ms);
    member_text(b, "leftOut", channel->left_out);
    member_object_end(b);
}

static void answer_channels(struct v1_call *c)
{
    struct buf items = {0};
    bool mail = false, can_add = false;

    if (!V1_FAILS(c, admin_list_channels, put_channel, &items, &mail, &can_add)) {
        member_bool(&c->r->body, "mail", mail);
        member_bool(&c->r->body, "canAdd", can_add);
        v1_put_collected(&c->r->body, "items", &items);
    }
    buf_fini(&items);
}

void v1_take_route(struct v1_object *o, struct channel_row *out)
{
    out->app_names = v1_take_groups(o, AROUND);
    out->tags = v1_take_tags(o, AROUND);
    out->quiet = v1_take_null(o, "quiet") ? "" : v1_text(o, "quiet", 100);
}

static struct channel_row take_channel(struct v1_call *c, int64_t id)
{
    const char *const *kinds = alarm_webhook_kinds();
    int kind = v1_choice(&c->body, "kind", kinds, -1);
    struct channel_row row = {
        .id = id, .name = v1_text(&c->body, "name", 40), .target = v1_text(&c->body, "url", 2000)};

    row.kind = kind >= 0 ? kinds[kind] : NULL;
    row.secret = v1_take_null(&c->body, "secret") ? "" : v1_text(&c->body, "secret", 500);
    v1_take_route(&c->body, &row);
    return row;
}

static void answer_add_channel(struct v1_call *c)
{
    struct channel_row row;
    int64_t id = 0;

    v1_require(&c->body, "kind");
    v1_require(&c->body, "url");
    row = take_channel(c, 0);
    if (!V1_FAILS(c, admin_put_channel, &row, /*dry_run=*/false, &id))
        v1_answer_id(c, id);
}

static void answer_change_channel(struct v1_call *c)
{
    int64_t id = v1_path_id(c, 0);
    struct channel_row row = take_channel(c, id);

    if (!V1_FAILS(c, admin_put_channel, &row, /*dry_run=*/false, &id))
        v1_set_no_content(c);
}

V1_ID_ANSWER(answer_remove_channel, admin_remove_channel)

static void put_told(struct buf *b, const struct sent_alarm *row)
{
    member_int(b, "id", row->id);
    v1_put_instant(b, "at", row->at_ms);
    member_text(b, "event", row->event);
    member_int_or_null(b, "jobId", row->job_id);
    member_int_or_null(b, "jobGroup", row->job_group);
    member_text(b, "jobName", row->job_name);
    member_int_or_null(b, "logId", row->log_id);
    member_text(b, "appname", row->app_name);
    member_text(b, "channel", row->channel);
    member_text(b, "to", row->receiver[0] ? row->receiver : NULL);
    member_text(b, "title", row->title);
    member_bool(b, "ok", !row->error);
    member_text(b, "error", row->error);
}

static void answer_told(struct v1_call *c)
{
    struct v1_page page = v1_query_ids(c, TOLD_LIST, /*counted=*/false);
    struct sent_filter filter = {.job_id = v1_query_int(c, "job", 1, INT32_MAX, 0),
                                 .channel = v1_query_text(c, "channel", 40),
                                 .failed = v1_query_bool(c, "failed", false)};
    struct sent_alarms list = {0};

    if (V1_FAILS(c, admin_load_told, &filter, page.after ? page.from.keys[0] : INT64_MAX, (size_t)page.want, &list))
        return;
    V1_PUT_PAGE(c, &page, list.rows, list.count, put_told, id);
    sent_alarms_fini(&list);
}

static void put_state(struct buf *b, const struct alarm_state *state)
{
    member_int(b, "jobId", state->job_id);
    member_int_or_null(b, "jobGroup", state->job_group);
    member_text(b, "name", state->job_group ? state->job_name : NULL);
    member_int(b, "lastLogId", state->last_log);
    member_int(b, "untoldFailures", state->failures);
    member_bool(b, "failing", state->failing);
    member_bool(b, "due", state->due);
    v1_put_instant(b, "quietUntil", state->quiet_until_ms);
}

static void answer_alarms(struct v1_call *c)
{
    struct v1_page page = v1_query_ids(c, LIST, /*counted=*/true);
    struct alarm_state *list = NULL;
    size_t count = 0;

    if (V1_FAILS(c, admin_load_alarms, page.from.keys[0], (size_t)page.want, &list, &count))
        return;
    page.count = false; /* which is asked for in vain */
    V1_PUT_PAGE(c, &page, list, count, put_state, job_id);
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
    member_object(&test->items, NULL);
    member_text(&test->items, "channel", channel);
    member_text(&test->items, "to", to);
    member_bool(&test->items, "ok", !error);
    member_text(&test->items, "error", error);
    member_object_end(&test->items);
}

static void answer_test(struct v1_call *c)
{
    const char *group = v1_text(&c->body, "group", V1_APP_NAME_MAX);
    const char *channel = v1_text(&c->body, "channel", 40);
    struct test test = {0};

    if (!V1_FAILS(c, admin_test_alarms, group ? group : "", channel, put_result, &test)) {
        member_bool(&c->r->body, "ok", !test.failed);
        v1_put_collected(&c->r->body, "items", &test.items);
    }
    buf_fini(&test.items);
}

static const struct v1_route routes[] = {
    {V1_ROUTE(ROUTE_GET, "/alarms", ROUTE_LOGIN), V1_NO_BODY, 0, answer_alarms},
    {V1_ROUTE(ROUTE_GET, "/alarms/channels", ROUTE_LOGIN), V1_NO_BODY, 0, answer_channels},
    {V1_ROUTE(ROUTE_POST, "/alarms/channels", ROUTE_LOGIN), V1_JSON_BODY, 0, answer_add_channel},
    {V1_ROUTE(ROUTE_PATCH, "/alarms/channels/{id}", ROUTE_LOGIN), V1_JSON_BODY, 0, answer_change_channel},
    {V1_ROUTE(ROUTE_DELETE, "/alarms/channels/{id}", ROUTE_LOGIN), V1_NO_BODY, 0, answer_remove_channel},
    {V1_ROUTE(ROUTE_GET, "/alarms/sent", ROUTE_LOGIN), V1_NO_BODY, 0, answer_told},
    {V1_ROUTE(ROUTE_POST, "/alarms/test", ROUTE_LOGIN), V1_MAY_BODY, 0, answer_test},
};

const struct v1_topic v1_alarms = {routes, ARRAY_LEN(routes)};
