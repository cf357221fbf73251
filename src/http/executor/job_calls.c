/* SPDX-License-Identifier: MIT */
#include "http/executor/job_calls.h"

#include <stdio.h>
#include <string.h>

#include "http/console/jobinfo.h"
#include "http/executor/token.h"
#include "http/json.h"

#define TURN_US (INT64_C(1000000) / JOB_CALLS_PER_S)

/* A call as the console of D answers it; the body's members, which live until its end. */
struct job_call {
    struct console_call console;
    const char *group_name;
    struct json_value body;
    struct buf texts[24]; /* of members that are texts */
    size_t text_count;
    struct errctx fault; /* what is wrong with a member; "" */
};

/* ---- turns ------------------------------------------------------------------------------------------------------- */

/* free_us: when the turns that were taken are over. */
bool job_calls_take(_Atomic int64_t *free_us, int64_t now_us)
{
    int64_t was = atomic_load_explicit(free_us, memory_order_relaxed), next;

    do {
        next = (was > now_us ? was : now_us) + TURN_US;
        if (next - now_us > JOB_CALLS_BURST * TURN_US)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(free_us, &was, next, memory_order_relaxed, memory_order_relaxed));
    return true;
}

/* ---- members ----------------------------------------------------------------------------------------------------- */

static struct json_value find_member(const struct job_call *c, const char *wanted)
{
    struct json_place place = {0};
    struct json_value name, value, found = {0};

    while (json_next_member(&c->body, &place, &name, &value))
        if (json_is_text(&name, wanted) && value.kind != JSON_NULL)
            found = value;
    return found;
}

/* NULL: absent. Numbers are texts, too. */
static const char *take_text(struct job_call *c, const char *name)
{
    struct json_value value = find_member(c, name);
    struct buf *out;
    bool has_nul = false;

    if (value.kind == JSON_ABSENT || c->text_count == ARRAY_LEN(c->texts))
        return NULL;
    out = &c->texts[c->text_count++];
    buf_append(out, "", 0);
    if (value.kind == JSON_TEXT)
        has_nul = json_put_text(out, &value, SIZE_MAX / 2);
    else
        json_put_value(out, &value, SIZE_MAX / 2);
    if (has_nul || buf_failed(out))
        err_set(&c->fault, ERR_INPUT, "%s: %s", name, has_nul ? "a NUL in it" : "out of memory");
    return out->data ? out->data : "";
}

/* 0: absent. A whole number, also as a text. */
static int64_t take_int(struct job_call *c, const char *name)
{
    struct json_value value = find_member(c, name);
    int64_t number = 0;

    if (value.kind != JSON_ABSENT && !json_get_int(&value, INT32_MIN, INT32_MAX, &number))
        err_set(&c->fault, ERR_INPUT, "%s: not a whole number of 32 bits", name);
    return number;
}

/* Status, times and children are not read here. */
static void take_form(struct job_call *c, struct job_form *form)
{
    *form = (struct job_form){.order = JOB_ORDER_D};
    for (size_t k = 0; k < job_column_count(); k++) {
        const struct job_column *column = job_column_get(k);

        if (!strncmp(column->field, "trigger", 7) || !strcmp(column->field, "childJobId"))
            continue;
        if (column->is_text)
            job_row_set_text(&form->row, column, take_text(c, column->field));
        else
            job_row_set_number(&form->row, column, take_int(c, column->field));
    }
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static void be_actor(struct job_call *c)
{
    const struct http_request *q = c->console.route->q;
    struct actor *actor = &c->console.actor;
    const char *app = request_get_header(q, HEADER_APP);

    *actor = (struct actor){.role = ROLE_ADMIN, .rights = RIGHTS_ALL};
    c->group_name = app ? app : "";
    snprintf(actor->name, sizeof actor->name, "%s", c->group_name);
    snprintf(actor->via, sizeof actor->via, "openapi %s", c->group_name);
    request_get_client_address(q, actor->address);
    c->console.has_actor = true;
}

static bool read_body(struct job_call *c)
{
    const struct http_request *q = c->console.route->q;
    struct errctx ec = {{0}};

    if (!json_check(q->body, q->body_len, &c->body, &ec) && c->body.kind == JSON_OBJECT)
        return true;
    console_fail_because(&c->console, ec.text[0] ? ec.text : "the body is not a JSON object");
    return false;
}

/* True: a member is wrong, and the answer says so. */
static bool has_fault(struct job_call *c)
{
    if (c->fault.text[0])
        console_fail_because(&c->console, c->fault.text);
    return c->fault.text[0] != '\0';
}

static void add(struct job_call *c)
{
    struct job_form form;

    take_form(c, &form);
    if (!has_fault(c))
        jobinfo_add(&c->console, &form);
}

/* The job stays in its group. That of one that is not there is not looked at: the caller's own is as good as any. */
static int64_t find_group(struct job_call *c, int64_t id)
{
    const struct registry_snapshot *snap;
    struct job_found job = {0};
    struct refusal refusal = {0};
    int64_t group = 0;

    if (!admin_load_job(c->console.admin, &c->console.actor, id, &job, &refusal)) {
        group = job.list.rows[0].group;
        job_found_fini(&job);
        return group;
    }
    snap = registry_get_snapshot(c->console.route->h->opts.registry);
    const struct registry_group *own = registry_find_app(snap, c->group_name);
    group = own ? own->id : 0;
    registry_put_snapshot(snap);
    return group;
}

static void update(struct job_call *c)
{
    int64_t id = take_int(c, "id");
    struct job_form form;

    take_form(c, &form);
    if (has_fault(c))
        return;
    form.row.group = find_group(c, id);
    jobinfo_update(&c->console, id, &form);
}

static void remove_job(struct job_call *c)
{
    int64_t id = take_int(c, "id");

    if (!has_fault(c))
        jobinfo_remove(&c->console, id);
}

static void start(struct job_call *c)
{
    int64_t id = take_int(c, "id");

    if (!has_fault(c))
        jobinfo_set_running(&c->console, id, true);
}

static void stop(struct job_call *c)
{
    int64_t id = take_int(c, "id");

    if (!has_fault(c))
        jobinfo_set_running(&c->console, id, false);
}

/* What is absent overrides the job's parameter with nothing, as in the console. */
static void trigger(struct job_call *c)
{
    struct trigger_order order = {.job_id = take_int(c, "id"),
                                  .kind = TRIGGER_MANUAL,
                                  .param = take_text(c, "executorParam"),
                                  .addresses = take_text(c, "addressList")};

    if (!has_fault(c))
        jobinfo_trigger(&c->console, &order);
}

/* What is the same for all: a turn, who it is, the body, then the members. */
void job_call_answer(const struct route_call *call, const char *name, struct http_response *r)
{
    static const struct {
        const char *name;
        void (*act)(struct job_call *c);
    } calls[] = {{"/addJob", add},     {"/updateJob", update}, {"/removeJob", remove_job},
                 {"/startJob", start}, {"/stopJob", stop},     {"/triggerJob", trigger}};
    struct http *h = call->h;
    struct job_call c = {.console = {.route = call,
                                     .r = r,
                                     .dialect = DIALECT_D,
                                     .lang = h->opts.lang,
                                     .admin = h->opts.admin,
                                     .refused = "openapi invoke error: "}};

    if (!job_calls_take(&h->job_calls_us, clock_mono_ms(h->clock) * 1000)) {
        buf_puts(&r->body, "{\"code\":502,\"msg\":\"Too many requests, please try again later.\",\"data\":null,"
                           "\"success\":false}");
        return;
    }
    be_actor(&c);
    if (read_body(&c))
        for (size_t i = 0; i < ARRAY_LEN(calls); i++)
            if (!strcmp(name, calls[i].name))
                calls[i].act(&c);
    for (size_t i = 0; i < c.text_count; i++)
        buf_fini(&c.texts[i]);
}
