/* SPDX-License-Identifier: MIT */
/* /jobinfo: jobs. */
#include "http/console/jobinfo.h"
#include "http/console/refuse.h"

#include <string.h>

#define NEXT_TIMES 5

/* ---- what comes and goes ----------------------------------------------------------------------------------------- */

static const char *name_field(const struct console_call *call)
{
    return call->dialect == DIALECT_D ? "name" : "jobDesc";
}

/* In the order in which the original declares them; NULL: an instant, see below. */
static void put_job(const struct console_call *call, const struct job_row *row)
{
    struct buf *out = &call->r->body;

    member_object(out, NULL);
    member_int(out, "id", row->id);
    for (size_t k = 0; k < job_column_count(); k++) {
        const struct job_column *c = job_column_get(k);
        bool is_name = !strcmp(c->field, "name");

        if (c->is_text)
            console_put_member(call, out, is_name ? name_field(call) : c->field, job_row_text(row, c));
        else
            member_int(out, c->field, job_row_number(row, c));
        if (is_name) {
            console_put_date(call, out, "addTime", row->added_s);
            console_put_date(call, out, "updateTime", row->updated_s);
        } else if (!strcmp(c->field, "glueRemark")) {
            console_put_date(call, out, "glueUpdatetime", row->glue_s);
        }
    }
    buf_putc(out, '}');
}

static bool take_number(struct console_call *call, const struct job_column *c, int64_t *out)
{
    bool is_long = !strcmp(c->field, "triggerLastTime") || !strcmp(c->field, "triggerNextTime");

    if (!is_long)
        return console_take_field(call, c->field, out);
    *out = 0;
    return !console_get_text(call, c->field) || console_take_long(call, c->field, out);
}

/* Absent texts are NULL, absent numbers 0. */
static bool take_form(struct console_call *call, struct job_form *form)
{
    *form = (struct job_form){.order = call->dialect == DIALECT_D ? JOB_ORDER_D : JOB_ORDER_ABC};
    for (size_t k = 0; k < job_column_count(); k++) {
        const struct job_column *c = job_column_get(k);
        int64_t number = 0;

        if (c->is_text)
            job_row_set_text(&form->row, c,
                             console_get_text(call, strcmp(c->field, "name") ? c->field : name_field(call)));
        else if (!take_number(call, c, &number))
            return false;
        else
            job_row_set_number(&form->row, c, number);
    }
    return true;
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

/* The child at fault stands in brackets. */
static void fail_child(struct console_call *call, const struct refusal *refusal)
{
    enum say what = refusal->kind == REFUSED_UNKNOWN ? SAY_NOT_FOUND
                    : refusal->kind == REFUSED_RIGHT ? SAY_PERMISSION_LIMIT
                                                     : SAY_INVALID;
    struct buf text = {0};

    console_put_say(call, &text, SAY_CHILD_JOB_ID);
    buf_printf(&text, "(%s)", refusal->item);
    console_put_say(call, &text, what);
    console_fail(call, buf_failed(&text) ? NULL : text.data);
    buf_fini(&text);
}

static void fail_schedule(struct console_call *call, const struct refusal *refusal, const struct job_form *form,
                          bool is_new)
{
    bool is_cron = form->row.schedule_type && !strcmp(form->row.schedule_type, "CRON");

    if (refusal->kind == REFUSED_REQUIRED && is_new)
        console_fail_words(call, SAY_SCHEDULE_TYPE, SAY_END);
    else if (refusal->kind == REFUSED_INVALID && is_cron && !strcmp(refusal->field, "scheduleConf"))
        console_fail_words(call, SAY_CRON, SAY_INVALID, SAY_END);
    else
        console_fail_words(call, SAY_SCHEDULE_TYPE, SAY_INVALID, SAY_END);
}

/* D says otherwise of a group that is no number at all. */
static void fail_group(struct console_call *call, const struct job_form *form, bool is_new)
{
    if (is_new || (call->dialect == DIALECT_D && form->row.group > 0))
        console_fail_words(call, SAY_PLEASE_CHOOSE, SAY_JOB_GROUP, SAY_END);
    else
        console_fail_words(call, SAY_JOB_GROUP, SAY_INVALID, SAY_END);
}

static void fail_form(struct console_call *call, const struct refusal *refusal, const struct job_form *form,
                      bool is_new)
{
    static const struct console_refusal table[] = {
        {REFUSED_REQUIRED, "name", {SAY_PLEASE_INPUT, SAY_JOB_DESC}},
        {REFUSED_REQUIRED, "author", {SAY_PLEASE_INPUT, SAY_AUTHOR}},
        {REFUSED_REQUIRED, "executorHandler", {SAY_PLEASE_INPUT, SAY_JOB_HANDLER}},
        {REFUSED_INVALID, "glueType", {SAY_GLUE_TYPE, SAY_INVALID}},
        {REFUSED_INVALID, "executorRouteStrategy", {SAY_ROUTE_STRATEGY, SAY_INVALID}},
        {REFUSED_INVALID, "misfireStrategy", {SAY_MISFIRE_STRATEGY, SAY_INVALID}},
        {REFUSED_INVALID, "executorBlockStrategy", {SAY_BLOCK_STRATEGY, SAY_INVALID}},
        {REFUSED_UNKNOWN, "id", {SAY_JOB_ID, SAY_NOT_FOUND}},
    };
    const char *field = refusal->field ? refusal->field : "";
    bool is_schedule = !strcmp(field, "scheduleType") || !strcmp(field, "scheduleConf");

    if (console_refuse_with(call, refusal, table, ARRAY_LEN(table)))
        return;
    if (refusal->kind == REFUSED_LENGTH)
        console_fail_refusal(call, refusal);
    else if (!strcmp(field, "childJobId"))
        fail_child(call, refusal);
    else if (is_schedule)
        fail_schedule(call, refusal, form, is_new);
    else if (!strcmp(field, "jobGroup"))
        fail_group(call, form, is_new);
    else
        console_fail_refusal(call, refusal);
}

/* Of calls by id alone: no right is a plain answer here. */
static void end_action(struct console_call *call, enum err e, const struct refusal *refusal)
{
    static const struct console_refusal table[] = {
        {REFUSED_RIGHT, NULL, {SAY_PERMISSION_LIMIT}},
        {REFUSED_UNKNOWN, "id", {SAY_JOB_ID_INVALID}},
        {REFUSED_STATE, "scheduleType", {SAY_TYPE_CANNOT_START}},
        {REFUSED_STATE, "scheduleConf", {SAY_SCHEDULE_TYPE, SAY_INVALID}},
    };

    if (!e)
        console_succeed(call);
    else if (console_refuse_with(call, refusal, table, ARRAY_LEN(table)))
        return;
    else if (refusal->kind == REFUSED_INVALID || refusal->kind == REFUSED_UNKNOWN)
        console_fail(call, refusal->text.text);
    else
        console_fail_refusal(call, refusal);
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

static void answer_list(struct console_call *call)
{
    struct job_query query = {.sources = true, .count = true};
    struct job_found found = {0};
    struct refusal refusal = {0};
    int64_t status = -1;

    if (!console_take_page(call, &query.offset, &query.limit) ||
        !console_take_int(call, "jobGroup", &query.filter.group) || !console_take_int(call, "triggerStatus", &status))
        return;
    query.filter.status = status < 0 ? -1 : status > 1 ? 2 : (int)status;
    query.filter.name = console_get_filter(call, name_field(call));
    query.filter.handler = console_get_filter(call, "executorHandler");
    query.filter.author = console_get_filter(call, "author");
    if (admin_list_jobs(call->admin, &call->actor, &query, &found, &refusal)) {
        console_fail_refusal(call, &refusal);
        return;
    }
    CONSOLE_PUT_LIST(call, found.total, found.is_estimate, found.list.rows, found.list.count, put_job);
    job_found_fini(&found);
}

/* Only A has it: whole objects, of one group. */
static void answer_jobs_of_group(struct console_call *call)
{
    struct job_query query = {
        .filter = {.status = -1}, .limit = CONSOLE_ROWS_MAX, .sort = JOBS_OLDEST, .sources = true};
    struct job_found found = {0};
    struct refusal refusal = {0};

    if (!console_take_int(call, "jobGroup", &query.filter.group))
        return;
    if (admin_list_jobs(call->admin, &call->actor, &query, &found, &refusal)) {
        console_fail_refusal(call, &refusal);
        return;
    }
    console_begin_success(call);
    buf_putc(&call->r->body, '[');
    if (query.filter.group > 0)
        CONSOLE_PUT_EACH(call, found.list.rows, found.list.count, put_job);
    buf_putc(&call->r->body, ']');
    console_end_success(call);
    job_found_fini(&found);
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

void jobinfo_add(struct console_call *call, const struct job_form *form)
{
    struct refusal refusal = {0};
    int64_t id = 0;

    if (admin_add_job(call->admin, &call->actor, form, &id, &refusal)) {
        fail_form(call, &refusal, form, /*is_new=*/true);
        return;
    }
    console_begin_success(call);
    buf_printf(&call->r->body, "\"%lld\"", (long long)id); /* a text, as ever */
    console_end_success(call);
}

static void answer_add(struct console_call *call)
{
    struct job_form form;

    if (take_form(call, &form))
        jobinfo_add(call, &form);
}

void jobinfo_update(struct console_call *call, int64_t id, const struct job_form *form)
{
    struct refusal refusal = {0};

    if (admin_update_job(call->admin, &call->actor, id, form, &refusal))
        fail_form(call, &refusal, form, /*is_new=*/false);
    else
        console_succeed(call);
}

static void answer_update(struct console_call *call)
{
    struct job_form form;
    int64_t id = 0;

    if (console_take_field(call, "id", &id) && take_form(call, &form))
        jobinfo_update(call, id, &form);
}

void jobinfo_remove(struct console_call *call, int64_t id)
{
    struct refusal refusal = {0};
    enum err e = admin_remove_job(call->admin, &call->actor, id, NULL, &refusal);

    end_action(call, refusal.kind == REFUSED_UNKNOWN ? ERR_OK : e, &refusal);
}

static void answer_remove(struct console_call *call)
{
    int64_t id = 0;

    if (console_take_id(call, &id))
        jobinfo_remove(call, id);
}

void jobinfo_set_running(struct console_call *call, int64_t id, bool running)
{
    struct refusal refusal = {0};

    end_action(call, admin_set_running(call->admin, &call->actor, id, running, &refusal), &refusal);
}

static void answer_start(struct console_call *call)
{
    int64_t id = 0;

    if (console_take_id(call, &id))
        jobinfo_set_running(call, id, true);
}

static void answer_stop(struct console_call *call)
{
    int64_t id = 0;

    if (console_take_id(call, &id))
        jobinfo_set_running(call, id, false);
}

void jobinfo_trigger(struct console_call *call, const struct trigger_order *order)
{
    struct refusal refusal = {0};

    end_action(call, admin_trigger_job(call->admin, &call->actor, order, 0, NULL, NULL, &refusal), &refusal);
}

/* What is absent overrides the job's parameter with nothing, as ever. */
static void answer_trigger(struct console_call *call)
{
    struct trigger_order order = {.kind = TRIGGER_MANUAL,
                                  .param = console_get_filter(call, "executorParam"),
                                  .addresses = console_get_text(call, "addressList")};

    if (console_take_int(call, "id", &order.job_id))
        jobinfo_trigger(call, &order);
}

/* ---- times ------------------------------------------------------------------------------------------------------- */

static void fail_times(struct console_call *call, const struct refusal *refusal)
{
    struct buf text = {0};

    if (refusal->kind != REFUSED_INVALID) {
        console_fail_refusal(call, refusal);
        return;
    }
    console_put_say(call, &text, SAY_SCHEDULE_TYPE);
    console_put_say(call, &text, SAY_INVALID);
    buf_puts(&text, refusal->text.text);
    console_fail(call, buf_failed(&text) ? NULL : text.data);
    buf_fini(&text);
}

static void answer_next_times(struct console_call *call)
{
    struct schedule_text text = {.type = console_get_text(call, "scheduleType"),
                                 .conf = console_get_text(call, "scheduleConf")};
    struct refusal refusal = {0};
    struct job_times times = {0};
    bool either_blank = str_is_blank(text.type) || str_is_blank(text.conf);

    if (!(either_blank && call->dialect & DIALECTS_CD) &&
        admin_find_times(call->admin, &call->actor, &text, NEXT_TIMES, &times, &refusal)) {
        fail_times(call, &refusal);
        return;
    }
    console_begin_success(call);
    buf_putc(&call->r->body, '[');
    for (size_t i = 0; i < times.count; i++) {
        buf_puts(&call->r->body, i ? ",\"" : "\"");
        zone_put_second(admin_get_zone(call->admin), times.ms[i] / 1000, &call->r->body);
        buf_putc(&call->r->body, '"');
    }
    buf_putc(&call->r->body, ']');
    console_end_success(call);
}

static const struct console_endpoint rows[] = {
    {"/jobinfo/pageList", DIALECTS_ALL, ROUTE_ANY, CONSOLE_CALL, NEED_USER, answer_list},
    {"/jobinfo/add", DIALECTS_AB, ROUTE_ANY, CONSOLE_CALL, NEED_USER, answer_add},
    {"/jobinfo/insert", DIALECTS_CD, ROUTE_ANY, CONSOLE_CALL, NEED_USER, answer_add},
    {"/jobinfo/update", DIALECTS_ALL, ROUTE_ANY, CONSOLE_CALL, NEED_USER, answer_update},
    {"/jobinfo/remove", DIALECTS_AB, ROUTE_ANY, CONSOLE_CALL, NEED_USER, answer_remove},
    {"/jobinfo/delete", DIALECTS_CD, ROUTE_ANY, CONSOLE_CALL, NEED_USER, answer_remove},
    {"/jobinfo/start", DIALECTS_ALL, ROUTE_ANY, CONSOLE_CALL, NEED_USER, answer_start},
    {"/jobinfo/stop", DIALECTS_ALL, ROUTE_ANY, CONSOLE_CALL, NEED_USER, answer_stop},
    {"/jobinfo/trigger", DIALECTS_ALL, ROUTE_ANY, CONSOLE_CALL, NEED_USER, answer_trigger},
    {"/jobinfo/nextTriggerTime", DIALECTS_ALL, ROUTE_ANY, CONSOLE_CALL, NEED_USER, answer_next_times},
    {"/joblog/getJobsByGroup", DIALECT_A, ROUTE_ANY, CONSOLE_CALL, NEED_USER, answer_jobs_of_group},
};

const struct console_topic console_jobinfo = {rows, ARRAY_LEN(rows)};
