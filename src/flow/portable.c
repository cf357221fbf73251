/* SPDX-License-Identifier: MIT */
/* flow/portable: jobs of a document by their names, as it goes to another cluster. */
#include "flow/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct flow_portable {
    struct json_object *document;
    struct flow_job_name *names;
    size_t count;
};

static enum err no_memory(struct errctx *ec)
{
    return err_set(ec, ERR_NOMEM, "out of memory");
}

static bool runs_job(struct json_object *step)
{
    static const enum flow_step_kind kinds[] = {FLOW_JOB, FLOW_MAP, FLOW_BROADCAST};
    struct json_object *type = NULL;

    if (!json_object_is_type(step, json_type_object) || !json_object_object_get_ex(step, "type", &type) ||
        !json_object_is_type(type, json_type_string))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(json_object_get_string(type), flow_step_kind_name(kinds[i])) == 0)
            return true;
    return false;
}

/* NULL: it has none. */
static struct json_object *find_steps(struct json_object *document)
{
    struct json_object *steps = NULL;

    if (!json_object_is_type(document, json_type_object) || !json_object_object_get_ex(document, "steps", &steps) ||
        !json_object_is_type(steps, json_type_array))
        return NULL;
    return steps;
}

/* ---- reading names ----------------------------------------------------------------------------------------------- */

/* False: it is no step with a name, which is told if it should be one. */
static bool read_name(struct place *step, struct flow_job_name *out)
{
    static const char *const members[] = {"appname", "name", NULL};
    struct place job = {.r = step->r, .object = reader_find(step, "job"), .where = reader_where(step, "job")};
    size_t faults = step->r->faults->count;

    if (reader_find(step, "jobId"))
        reader_fault_at(step, "jobId", "\"job\" with \"appname\" and \"name\" is expected here");
    else if (!job.object)
        reader_fault_at(step, NULL, "\"job\" is missing");
    if (faults != step->r->faults->count || !reader_open(&job, members))
        return false;
    out->app_name = reader_text(&job, "appname", true);
    out->name = reader_text(&job, "name", true);
    return out->app_name && out->name;
}

static enum err read_names(struct flow_portable *portable, struct flow_faults *faults, struct errctx *ec)
{
    struct json_object *steps = find_steps(portable->document);
    size_t count = steps ? json_object_array_length(steps) : 0;
    struct reader reader = {.faults = faults};

    portable->names = calloc(count + 1, sizeof *portable->names);
    if (!portable->names)
        return no_memory(ec);
    for (size_t i = 0; i < count; i++) {
        struct place step = {.r = &reader, .object = json_object_array_get_idx(steps, i)};

        snprintf(step.where.text, sizeof step.where.text, "/steps/%zu", i);
        portable->names[portable->count].step = i;
        if (runs_job(step.object) && read_name(&step, &portable->names[portable->count]))
            portable->count++;
    }
    return ERR_OK;
}

enum err flow_load_portable(const char *text, struct flow_portable **out, struct flow_faults *faults, struct errctx *ec)
{
    struct flow_portable *portable = calloc(1, sizeof *portable);
    enum err e = portable ? flow_parse_json(text, strlen(text), &portable->document, ec) : no_memory(ec);

    faults->count = 0;
    if (e == ERR_INPUT) {
        reader_fault(&(struct reader){.faults = faults}, "", "%s", ec->text);
        e = ERR_OK;
    }
    if (!e)
        e = read_names(portable, faults, ec);
    if (e)
        flow_destroy_portable(portable);
    else
        *out = portable;
    return e;
}

void flow_destroy_portable(struct flow_portable *portable)
{
    if (!portable)
        return;
    free(portable->names);
    json_object_put(portable->document);
    free(portable);
}

struct flow_job_name *flow_get_job_names(struct flow_portable *portable, size_t *count)
{
    *count = portable->count;
    return portable->names;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* Takes `value`. The step gets it under another name, at the place of the old one. */
static bool replace(struct json_object *steps, size_t i, const char *member, const char *instead,
                    struct json_object *value)
{
    struct json_object *step = json_object_array_get_idx(steps, i), *made = json_object_new_object();
    bool good = made && value;

    json_object_object_foreach(step, name, old)
    {
        if (strcmp(name, member) != 0)
            good = good && json_object_object_add(made, name, json_object_get(old)) == 0;
        else if (good && (good = json_object_object_add(made, instead, value) == 0))
            value = NULL;
    }
    json_object_put(value);
    if (good && json_object_array_put_idx(steps, i, made) == 0)
        return true;
    json_object_put(made);
    return false;
}

static enum err put_document(struct buf *out, struct json_object *document, struct errctx *ec)
{
    const char *text =
        json_object_to_json_string_ext(document, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);

    if (!text)
        return no_memory(ec);
    buf_puts(out, text);
    return buf_failed(out) ? no_memory(ec) : ERR_OK;
}

enum err flow_put_with_ids(struct buf *out, struct flow_portable *portable, struct errctx *ec)
{
    struct json_object *steps = find_steps(portable->document);

    for (size_t i = 0; i < portable->count; i++)
        if (!replace(steps, portable->names[i].step, "job", "jobId", json_object_new_int64(portable->names[i].id)))
            return no_memory(ec);
    portable->count = 0; /* their texts are gone */
    return put_document(out, portable->document, ec);
}

static const struct flow_job_name *find_name(const struct flow_job_name *names, size_t count, struct json_object *id)
{
    return list_find(names, count, sizeof *names, json_object_get_int64(id));
}

static struct json_object *make_name(const struct flow_job_name *name)
{
    struct json_object *made = json_object_new_object();

    if (made && json_object_object_add(made, "appname", json_object_new_string(name->app_name)) == 0 &&
        json_object_object_add(made, "name", json_object_new_string(name->name)) == 0)
        return made;
    json_object_put(made);
    return NULL;
}

enum err flow_put_with_names(struct buf *out, const char *document, const struct flow_job_name *names, size_t count,
                             struct errctx *ec)
{
    struct json_object *root = NULL, *steps, *id;
    enum err e = flow_parse_json(document, strlen(document), &root, ec);

    steps = e ? NULL : find_steps(root);
    for (size_t i = 0; !e && steps && i < json_object_array_length(steps); i++) {
        struct json_object *step = json_object_array_get_idx(steps, i);
        const struct flow_job_name *name = NULL;

        if (runs_job(step) && json_object_object_get_ex(step, "jobId", &id))
            name = find_name(names, count, id);
        if (name && !replace(steps, i, "jobId", "job", make_name(name)))
            e = no_memory(ec);
    }
    if (!e)
        e = put_document(out, root, ec);
    json_object_put(root);
    return e;
}
