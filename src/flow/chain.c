/* SPDX-License-Identifier: MIT */
/* flow/chain: a document out of jobs that start each other as children. */
#include "flow/impl.h"
#include "shardwheel/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DESCRIPTION_MAX 1000 /* bytes */

struct name {
    char text[FLOW_NAME_MAX + 1];
};

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* What a name may have, and one - for all that is between. "": there is nothing of it. */
static struct name make_name(const char *text)
{
    struct name name = {""};
    size_t len = 0;

    for (; *text && len < FLOW_NAME_MAX; text++) {
        if (flow_is_name(text, 1) && *text != '-')
            name.text[len++] = *text;
        else if (len > 0 && name.text[len - 1] != '-')
            name.text[len++] = '-';
    }
    while (len > 0 && name.text[len - 1] == '-')
        len--;
    name.text[len] = '\0';
    return name;
}

static bool is_taken(const struct name *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i].text, name) == 0)
            return true;
    return false;
}

/* That of the job; of several with one name all but the first get their ids behind it. */
static void choose_name(struct name *names, size_t i, const struct flow_chain_job *job)
{
    struct name plain = make_name(job->name ? job->name : "");
    char tail[48];

    names[i] = plain;
    for (int n = 0; !names[i].text[0] || is_taken(names, i, names[i].text); n++) {
        size_t len = (size_t)(n ? snprintf(tail, sizeof tail, "-%" PRId64 "-%d", job->id, n)
                                : snprintf(tail, sizeof tail, "-%" PRId64, job->id));

        snprintf(names[i].text, sizeof names[i].text, "%.*s%s", (int)(FLOW_NAME_MAX - len),
                 plain.text[0] ? plain.text : "job", tail);
    }
}

/* ---- edges ------------------------------------------------------------------------------------------------------- */

static size_t find_job(const struct flow_chain_job *jobs, size_t count, int64_t id)
{
    size_t i = 0;

    while (i < count && jobs[i].id != id)
        i++;
    return i;
}

/* It stands in the list for the first time, and is not the job itself, which no node starts as its own child. */
static bool counts(const struct flow_chain_job *job, size_t child)
{
    for (size_t i = 0; i < child; i++)
        if (job->children[i] == job->children[child])
            return false;
    return job->children[child] != job->id;
}

static bool is_child(const struct flow_chain_job *job, int64_t id)
{
    for (size_t i = 0; i < job->child_count; i++)
        if (job->children[i] == id)
            return job->id != id;
    return false;
}

static enum err check_children(const struct flow_chain_job *jobs, size_t count, struct errctx *ec)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < jobs[i].child_count; k++)
            if (find_job(jobs, count, jobs[i].children[k]) == count)
                return err_set(ec, ERR_INPUT, "job %" PRId64 " has the child %" PRId64 ", which does not exist",
                               jobs[i].id, jobs[i].children[k]);
    return ERR_OK;
}

/* ---- the document ------------------------------------------------------------------------------------------------ */

static void put_description(struct buf *out, const char *text)
{
    struct buf clean = {0};

    text_put_utf8(&clean, text, strlen(text), DESCRIPTION_MAX);
    buf_puts(out, ", \"description\": ");
    buf_put_json(out, clean.data);
    out->failed = out->failed || buf_failed(&clean);
    buf_fini(&clean);
}

static void put_steps(struct buf *out, const struct flow_chain_job *jobs, size_t count, const struct name *names)
{
    for (size_t i = 0; i < count; i++) {
        size_t parents = 0;

        for (size_t k = 0; k < count; k++)
            parents += is_child(&jobs[k], jobs[i].id);
        buf_printf(out, "%s    {\"name\": \"%s\", \"type\": \"%s\", \"jobId\": %" PRId64, i ? ",\n" : "", names[i].text,
                   jobs[i].broadcast ? "broadcast" : "job", jobs[i].id);
        if (parents > 1)
            buf_puts(out, ", \"join\": \"any\"");
        if (jobs[i].name && jobs[i].name[0] && strcmp(jobs[i].name, names[i].text) != 0)
            put_description(out, jobs[i].name);
        buf_puts(out, "}");
    }
}

static void put_edges(struct buf *out, const struct flow_chain_job *jobs, size_t count, const struct name *names)
{
    bool first = true;

    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < jobs[i].child_count; k++) {
            if (!counts(&jobs[i], k))
                continue;
            buf_printf(out, "%s    {\"from\": \"%s\", \"to\": \"%s\"}", first ? "" : ",\n", names[i].text,
                       names[find_job(jobs, count, jobs[i].children[k])].text);
            first = false;
        }
    }
    buf_puts(out, first ? "" : "\n");
}

/* What is written can be saved; circles are found here. */
static enum err check_document(const struct buf *document, struct errctx *ec)
{
    struct flow_faults *faults = calloc(1, sizeof *faults);
    struct flow *flow = NULL;
    enum err e;

    if (!faults || buf_failed(document))
        e = err_set(ec, ERR_NOMEM, "out of memory");
    else
        e = flow_load(document->data, document->len, &flow, faults, ec);
    if (e == ERR_INPUT)
        err_set(ec, e, "%s", faults->list[0].text);
    flow_destroy(flow);
    free(faults);
    return e;
}

enum err flow_put_chain(struct buf *out, const char *name, const struct flow_chain_job *jobs, size_t count,
                        struct errctx *ec)
{
    struct name names[FLOW_STEPS_MAX], own;
    struct buf document = {0};
    enum err e;

    if (count == 0 || count > FLOW_STEPS_MAX)
        return err_set(ec, ERR_INPUT, "there are %zu jobs; a flow has 1 to %d steps", count, FLOW_STEPS_MAX);
    e = check_children(jobs, count, ec);
    if (e)
        return e;
    for (size_t i = 0; i < count; i++)
        choose_name(names, i, &jobs[i]);
    own = name ? make_name(name) : names[0];
    buf_printf(&document, "{\n  \"name\": \"%s\",\n  \"steps\": [\n", own.text);
    put_steps(&document, jobs, count, names);
    buf_puts(&document, "\n  ],\n  \"edges\": [\n");
    put_edges(&document, jobs, count, names);
    buf_puts(&document, "  ]\n}\n");
    e = check_document(&document, ec);
    if (!e)
        buf_puts(out, document.data);
    buf_fini(&document);
    return e;
}
