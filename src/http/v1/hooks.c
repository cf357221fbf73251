/* SPDX-License-Identifier: MIT */
/* Webhooks that are told of events, and what was sent to them. */
#include "http/v1/write.h"
#include "shardwheel/admin/hooks.h"

#include <string.h>

#define LIST "deliveries"
#define NAME_MAX_CHARS 40

static const char *const onlys[] = {"all", "failed", NULL};

/* ---- webhooks ---------------------------------------------------------------------------------------------------- */

static void put_hook(struct buf *b, const struct hook_row *hook)
{
    char host[HOOK_HOST_MAX];

    hook_write_host(host, hook->target);
    member_int(b, "id", hook->id);
    member_text(b, "name", hook->name);
    member_text(b, "target", host);
    member_bool(b, "hasSecret", hook->secret[0] != '\0');
    member_list(b, "kinds");
    for (int kind = 0; kind < HOOK_KINDS; kind++)
        if (hook->kinds & 1 << kind)
            member_text(b, NULL, hook_kind_name((enum hook_kind)kind));
    member_list_end(b);
    member_text(b, "only", onlys[hook->only_failed != 0]);
    v1_put_parts(b, "groups", hook->app_names);
    v1_put_parts(b, "tags", hook->tags);
    member_bool(b, "enabled", hook->enabled != 0);
    member_int(b, "waiting", hook->waiting);
    member_int_if(b, "oldestWaitingMs", hook->waiting, hook->oldest_ms);
    member_int_if(b, "nextMs", hook->waiting && hook->wait_ms > 0, hook->next_ms);
    member_int_or_null(b, "lastSentMs", hook->sent_ms);
    member_text(b, "lastError", hook->error);
}

static void answer_hooks(struct v1_call *c)
{
    struct hook_rows rows = {0};

    if (V1_FAILS(c, admin_load_hooks, &rows))
        return;
    V1_PUT_LIST(&c->r->body, "items", rows.rows, rows.count, put_hook);
    hook_rows_fini(&rows);
}

/* -1: not given. */
static int take_kinds(struct v1_call *c)
{
    struct v1_texts texts = v1_text_list(&c->body, "kinds", HOOK_KINDS, 32);
    const char *const *names = hook_kind_names();
    int kinds = 0;

    for (size_t i = 0; i < texts.count; i++) {
        int kind = 0;
        while (names[kind] && strcmp(names[kind], texts.v[i]) != 0)
            kind++;
        if (!names[kind])
            v1_note(c, REFUSED_INVALID, "kinds", "there is no kind %s; use run_ended, job_changed or flow_ended",
                    texts.v[i]);
        else
            kinds |= 1 << kind;
    }
    return v1_has(&c->body, "kinds") ? kinds : -1;
}

static struct hook_row take_hook(struct v1_call *c, int64_t id)
{
    struct hook_row hook = {
        .id = id, .name = v1_text(&c->body, "name", NAME_MAX_CHARS), .target = v1_text(&c->body, "url", 2000)};

    hook.secret = v1_take_null(&c->body, "secret") ? "" : v1_text(&c->body, "secret", 500);
    hook.kinds = take_kinds(c);
    hook.only_failed = v1_choice(&c->body, "only", onlys, -1);
    hook.app_names = v1_take_groups(&c->body, /*around=*/0);
    hook.tags = v1_take_tags(&c->body, /*around=*/0);
    hook.enabled = v1_bool(&c->body, "enabled", -1);
    return hook;
}

static void answer_add(struct v1_call *c)
{
    struct hook_row hook;
    int64_t id = 0;

    v1_require(&c->body, "name");
    v1_require(&c->body, "url");
    hook = take_hook(c, 0);
    if (!V1_FAILS(c, admin_put_hook, &hook, &id))
        v1_answer_id(c, id);
}

static void answer_change(struct v1_call *c)
{
    int64_t id = v1_path_id(c, 0);
    struct hook_row hook = take_hook(c, id);

    if (!V1_FAILS(c, admin_put_hook, &hook, &id))
        v1_set_no_content(c);
}

V1_ID_ANSWER(answer_remove, admin_remove_hook)

static void answer_test(struct v1_call *c)
{
    int64_t id = v1_path_id(c, 0);
    struct errctx why;
    int status = 0;

    if (V1_FAILS(c, admin_test_hook, id, &status, &why))
        return;
    member_bool(&c->r->body, "delivered", !why.text[0]);
    member_int_or_null(&c->r->body, "status", status);
    member_text(&c->r->body, "error", why.text);
}

/* ---- deliveries -------------------------------------------------------------------------------------------------- */

static void put_delivery(struct buf *b, const struct delivery *d)
{
    bool is_flow = d->line < 0;

    member_int(b, "id", d->id);
    member_int(b, "hookId", d->hook_id);
    member_text(b, "hook", d->hook);
    member_text(b, "kind", hook_kind_name((enum hook_kind)d->kind));
    member_int_if(b, "jobId", !is_flow, d->line);
    member_text(b, "job", is_flow || !d->job[0] ? NULL : d->job);
    member_int_or_null(b, "logId", d->log_id);
    member_int_if(b, "flowId", is_flow, -d->line);
    member_text(b, "flow", is_flow && d->flow[0] ? d->flow : NULL);
    member_int_or_null(b, "runId", d->run_id);
    member_text(b, "state", delivery_state_names()[d->state]);
    member_int(b, "tries", d->tries);
    member_int(b, "madeMs", d->made_ms);
    member_int_if(b, "nextMs", d->state == DELIVERY_WAITING && d->next_ms, d->next_ms);
    member_int_if(b, "sentMs", d->state == DELIVERY_SENT, d->ended_ms);
    member_int_or_null(b, "status", d->status);
    member_text(b, "error", d->error);
}

static void answer_deliveries(struct v1_call *c)
{
    struct v1_page page = v1_query_ids(c, LIST, /*counted=*/false);
    struct delivery_filter filter = {.hook_id = v1_query_int(c, "hook", 1, INT32_MAX, 0),
                                     .state = v1_query_choice(c, "state", delivery_state_names(), -1),
                                     .job_id = v1_query_int(c, "jobId", 1, INT32_MAX, 0)};
    struct deliveries list = {0};

    if (V1_FAILS(c, admin_load_deliveries, &filter, page.after ? page.from.keys[0] : INT64_MAX, (size_t)page.want,
                 &list))
        return;
    V1_PUT_PAGE(c, &page, list.rows, list.count, put_delivery, id);
    deliveries_fini(&list);
}

static void answer_delivery(struct v1_call *c)
{
    int64_t id = v1_path_id(c, 0);
    struct deliveries list = {0};
    struct buf body = {0};

    if (!V1_FAILS(c, admin_load_delivery, id, &list, &body)) {
        c->r->body.failed |= buf_failed(&body);
        put_delivery(&c->r->body, &list.rows[0]);
        member_text(&c->r->body, "body", buf_failed(&body) ? "" : body.data);
    }
    deliveries_fini(&list);
    buf_fini(&body);
}

V1_ID_ANSWER(answer_resend, admin_resend_delivery)

static const struct v1_route routes[] = {
    {V1_ROUTE(ROUTE_GET, "/events/hooks", ROUTE_LOGIN), V1_NO_BODY, 0, answer_hooks},
    {V1_ROUTE(ROUTE_POST, "/events/hooks", ROUTE_LOGIN), V1_JSON_BODY, 0, answer_add},
    {V1_ROUTE(ROUTE_PATCH, "/events/hooks/{id}", ROUTE_LOGIN), V1_JSON_BODY, 0, answer_change},
    {V1_ROUTE(ROUTE_DELETE, "/events/hooks/{id}", ROUTE_LOGIN), V1_NO_BODY, 0, answer_remove},
    {V1_ROUTE(ROUTE_POST, "/events/hooks/{id}/test", ROUTE_LOGIN), V1_NO_BODY, 0, answer_test},
    {V1_ROUTE(ROUTE_GET, "/events/deliveries", ROUTE_LOGIN), V1_NO_BODY, 0, answer_deliveries},
    {V1_ROUTE(ROUTE_GET, "/events/deliveries/{id}", ROUTE_LOGIN), V1_NO_BODY, 0, answer_delivery},
    {V1_ROUTE(ROUTE_POST, "/events/deliveries/{id}/resend", ROUTE_LOGIN), V1_NO_BODY, 0, answer_resend},
};

const struct v1_topic v1_hooks = {routes, ARRAY_LEN(routes)};
