/* SPDX-License-Identifier: MIT */
/* Jobs, groups and flows as a document for version control, page by page. */
#include "http/v1/job_form.h"
#include "http/v1/transfer.h"
#include "shardwheel/admin/transfer.h"

#include <string.h>

/* ---- items ------------------------------------------------------------------------------------------------------- */

const char *const transfer_types[] = {"auto", "manual", NULL};

static void put_group(struct buf *b, const struct group_info *group)
{
    member_text(b, "appname", group->app_name);
    member_text(b, "title", group->title);
    member_text(b, "addressType", transfer_types[group->address_type != 0]);
    if (group->address_type)
        v1_put_parts(b, "addressList", group->address_list);
}

/* What stands elsewhere in a document, or changes by itself. */
static bool is_left_out(const struct transfer_job *job, const char *field)
{
    return !strcmp(field, "jobGroup") || !strncmp(field, "trigger", 7) ||
           (!strcmp(field, "childJobId") && job->child_count);
}

/* What is not its default. */
static void put_column(struct buf *b, const struct transfer_job *job, const struct job_column *c)
{
    if (is_left_out(job, c->field))
        return;
    if (!c->is_text) {
        if (job_row_number(&job->row, c))
            member_int(b, c->field, job_row_number(&job->row, c));
        return;
    }
    const char *standard = job_find_default(c->field), *text = job_row_text(&job->row, c);
    if (strcmp(text, standard ? standard : "") != 0)
        member_text(b, c->field, text);
}

static void put_child(struct buf *b, const struct transfer_name *child)
{
    member_text(b, "appname", child->app_name);
    member_text(b, "name", child->name);
}

static void put_job(struct buf *b, const struct transfer_job *job)
{
    member_text(b, "appname", job->app_name);
    for (size_t i = 0; i < job_column_count(); i++)
        put_column(b, job, job_column_get(i));
    if (job->child_count)
        V1_PUT_LIST(b, "children", job->children, job->child_count, put_child);
    if (!job_settings_are_empty(&job->settings))
        job_put_settings(b, &job->settings, /*all=*/false);
    member_bool(b, "running", job->running == 1);
}

static void put_flow(struct buf *b, const struct transfer_flow *flow)
{
    member_json(b, "document", flow->document);
    member_bool(b, "running", flow->running == 1);
}

static void put_channel(struct buf *b, const struct channel_row *channel)
{
    member_text(b, "name", channel->name);
    member_text(b, "kind", channel->kind);
    if (channel->app_names[0])
        v1_put_parts(b, "groups", channel->app_names);
    if (channel->tags[0])
        v1_put_parts(b, "tags", channel->tags);
    if (channel->quiet[0])
        member_text(b, "quiet", channel->quiet);
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* An escape with its backslash, as short as there is one; how many bytes it had. */
static size_t put_escape(struct buf *out, const char *from, size_t left)
{
    static const struct {
        const char *is, *instead;
    } shorter[] = {{"\\u000a", "\\n"}, {"\\u0009", "\\t"}, {"\\u000d", "\\r"}};

    for (size_t i = 0; i < ARRAY_LEN(shorter); i++) {
        if (left >= 6 && !memcmp(from, shorter[i].is, 6)) {
            buf_puts(out, shorter[i].instead);
            return 6;
        }
    }
    buf_append(out, from, left < 2 ? left : 2);
    return 2;
}

/* A text with its quotes; how many bytes it had. */
static size_t put_whole_text(struct buf *out, const char *from, size_t left)
{
    size_t i = 1;

    buf_putc(out, '"');
    while (i < left && from[i] != '"') {
        size_t run = strcspn(from + i, "\\\"");
        buf_append(out, from + i, run);
        i += run;
        if (i < left && from[i] == '\\')
            i += put_escape(out, from + i, left - i);
    }
    buf_putc(out, '"');
    return i + 1;
}

/* What stands before a byte that is not within a text: a line where it is the first of its kind, or the last. */
static void put_before(struct json_lines *lines, char byte, struct buf *out)
{
    bool closes = byte == '}' || byte == ']';

    lines->depth -= closes;
    if (lines->opened != closes)
        buf_printf(out, "\n%*s", 2 * lines->depth, "");
    lines->opened = false;
}

void json_put_lines(struct json_lines *lines, const char *json, size_t len, struct buf *out)
{
    for (size_t i = 0; i < len; i++) {
        put_before(lines, json[i], out);
        if (json[i] == '"') {
            i += put_whole_text(out, json + i, len - i) - 1;
            continue;
        }
        buf_putc(out, json[i]);
        lines->opened = json[i] == '{' || json[i] == '[';
        lines->depth += lines->opened;
        if (json[i] == ',')
            buf_printf(out, "\n%*s", 2 * lines->depth, "");
        else if (json[i] == ':')
            buf_putc(out, ' ');
    }
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

/* A document under way. */
struct exporting {
    struct v1_call *c;
    struct exporter *exporter;
    const char *list; /* that is open; NULL: none yet */
    struct json_lines lines;
    struct buf compact; /* of which the first `done` bytes are in the body */
    size_t done;
};

/* The last byte stays, by which the next value knows whether a comma is due. */
static void put_to_body(struct exporting *x)
{
    struct buf *from = &x->compact;

    if (buf_failed(from)) {
        x->c->r->body.failed = true;
        return;
    }
    json_put_lines(&x->lines, from->data + x->done, from->len - x->done, &x->c->r->body);
    char last = from->data[from->len - 1];
    buf_clear(from);
    buf_putc(from, last);
    x->done = 1;
}

/* The client has it, as far as it is much. */
static enum err push(struct exporting *x)
{
    struct errctx ec;

    put_to_body(x);
    return response_push(x->c->r, &ec);
}

/* Ends the list before it. Nothing where it is open. */
static void open_list(struct exporting *x, const char *name)
{
    if (x->list && !strcmp(x->list, name))
        return;
    if (x->list)
        member_list_end(&x->compact);
    member_list(&x->compact, name);
    x->list = name;
}

#define PUT_PAGE(items, item_count, put)                                                                               \
    static enum err put_##items(struct exporting *x, const struct transfer *page)                                      \
    {                                                                                                                  \
        enum err e = ERR_OK;                                                                                           \
                                                                                                                       \
        if (page->item_count)                                                                                          \
            open_list(x, #items);                                                                                      \
        for (size_t i = 0; !e && i < page->item_count; i++) {                                                          \
            V1_PUT_EACH(&x->compact, &page->items[i], 1, put);                                                         \
            e = push(x);                                                                                               \
        }                                                                                                              \
        return e;                                                                                                      \
    }
PUT_PAGE(groups, group_count, put_group)
PUT_PAGE(jobs, job_count, put_job)
PUT_PAGE(flows, flow_count, put_flow)
#undef PUT_PAGE

/* A document without flows, rules or channels is one of releases that know none. */
static const struct part {
    const char *always; /* the list is there even if it is empty; NULL: it is not */
    enum err (*read)(struct exporter *x, struct transfer *out, bool *more, struct refusal *r);
    enum err (*put)(struct exporting *x, const struct transfer *page);
} parts[] = {
    {"groups", exporter_read_groups, put_groups},
    {"jobs", exporter_read_jobs, put_jobs},
    {NULL, exporter_read_flows, put_flows},
};

static void put_alarms(struct exporting *x, const struct transfer *all)
{
    if (all->rule_count)
        open_list(x, "rules");
    V1_PUT_EACH(&x->compact, all->rules, all->rule_count, v1_put_portable_rule);
    if (all->channel_count)
        open_list(x, "channels");
    V1_PUT_EACH(&x->compact, all->channels, all->channel_count, put_channel);
}

static void begin_document(struct exporting *x)
{
    member_object(&x->compact, NULL);
    member_text(&x->compact, "format", TRANSFER_FORMAT);
    member_int(&x->compact, "version", TRANSFER_VERSION);
}

static void end_document(struct exporting *x)
{
    member_list_end(&x->compact);
    member_object_end(&x->compact);
    put_to_body(x);
    buf_putc(&x->c->r->body, '\n');
}

/* A fault of the database behind the answer's head: all that is left is that the client sees it. */
static void give_up(struct exporting *x)
{
    log_warn("http", "event=export_broken reason=%s", log_quote(x->c->why.text.text).s);
    response_break(x->c->r);
}

/* The parts as they come; `page` has the first items of all. */
static void put_all(struct exporting *x, struct transfer *page, bool more[ARRAY_LEN(parts)])
{
    enum err fault = ERR_OK, gone = ERR_OK;

    begin_document(x);
    for (size_t i = 0; i < ARRAY_LEN(parts) && !gone && !fault; i++) {
        if (parts[i].always)
            open_list(x, parts[i].always);
        gone = parts[i].put(x, page);
        while (!gone && !fault && more[i]) {
            fault = parts[i].read(x->exporter, page, &more[i], &x->c->why);
            gone = fault ? ERR_OK : parts[i].put(x, page);
        }
    }
    if (!gone && !fault)
        put_alarms(x, page);
    end_document(x);
    if (fault)
        give_up(x);
}

/* The first pages are read before the answer begins, so that most faults are told as such. What they have whole is
 * answered whole, with a tag. */
static void answer(struct exporting *x)
{
    struct v1_call *c = x->c;
    struct transfer page = {0};
    bool more[ARRAY_LEN(parts)] = {0}, whole = true;
    struct errctx ec = {{0}};

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (v1_has_failed(c, parts[i].read(x->exporter, &page, &more[i], &c->why)))
            return;
        whole = whole && !more[i];
    }
    if (v1_has_failed(c, exporter_read_alarms(x->exporter, &page, &c->why)))
        return;
    if (!whole && response_begin_stream(c->r, &ec)) {
        (void)v1_has_failed(c, refuse(&c->why, REFUSED_TRY_AGAIN, NULL, "%s", ec.text));
        return;
    }
    v1_take_answer(c);
    put_all(x, &page, more);
    if (whole)
        v1_tag_answer(c);
}

static void answer_export(struct v1_call *c, const struct export_opts *opts)
{
    struct exporting x = {.c = c};

    if (!V1_FAILS(c, admin_begin_export, opts, &x.exporter))
        answer(&x);
    exporter_destroy(x.exporter);
    buf_fini(&x.compact);
}

void v1_answer_export(struct v1_call *c)
{
    struct v1_ints groups = v1_query_ints(c, "group", 1, INT32_MAX, 100);

    answer_export(c, &(struct export_opts){.groups = groups.v, .group_count = groups.count});
}

/* Too many for a query. */
void v1_answer_export_of(struct v1_call *c)
{
    v1_require(&c->body, "ids");
    struct v1_ints ids = v1_int_list(&c->body, "ids", 1, INT32_MAX, EXPORT_LISTED);

    answer_export(c, &(struct export_opts){.jobs = ids.v ? ids.v : (const int64_t[]){0}, .job_count = ids.count});
}
