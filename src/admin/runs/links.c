/* SPDX-License-Identifier: MIT */
/* Which runs belong together: retries and what they are of, parents and children; and whose step a run is. */
#include "shardwheel/admin/runs.h"

#include "admin/flows/flows_impl.h"
#include "shardwheel/job/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_MS 500

/* ---- pure -------------------------------------------------------------------------------------------------------- */

/* The number behind `text`, which it begins with; NULL: none does. */
static const char *read_number(const char *text, int64_t *out)
{
    char digits[20] = "";
    size_t len = strspn(text, ASCII_DIGITS);

    if (len == 0 || len >= sizeof digits)
        return NULL;
    memcpy(digits, text, len);
    return parse_int(digits, 1, INT64_MAX, out) ? text + len : NULL;
}

/* Behind the part of a word up to its %; NULL: `text` does not begin with it. */
static const char *skip_part(const char *text, const char *part, size_t len)
{
    return strncmp(text, part, len) == 0 ? text + len : NULL;
}

/* "job %1 triggered as log %2", in one language, at the very beginning. */
static const char *read_child(const char *text, enum lang lang, int64_t *job, int64_t *run)
{
    const char *word = word_get(lang, WORD_CHILD_TRIGGERED), *first = strstr(word, "%1");
    const char *second = first ? strstr(first, "%2") : NULL;
    const char *at = second ? skip_part(text, word, (size_t)(first - word)) : NULL;

    at = at ? read_number(at, job) : NULL;
    at = at ? skip_part(at, first + 2, (size_t)(second - first - 2)) : NULL;
    return at ? read_number(at, run) : NULL;
}

size_t run_find_children(const char *handle_msg, int64_t out[RUN_CHILDREN_MAX])
{
    size_t count = 0;

    for (const char *at = handle_msg; at && *at && count < RUN_CHILDREN_MAX; at++)
        for (int lang = 0; lang < LANGS; lang++) {
            int64_t job, run;

            if (count < RUN_CHILDREN_MAX && read_child(at, (enum lang)lang, &job, &run))
                out[count++] = run;
        }
    return count;
}

static bool has_child(const char *handle_msg, int64_t run)
{
    int64_t children[RUN_CHILDREN_MAX];
    size_t count = run_find_children(handle_msg, children);

    for (size_t i = 0; i < count; i++)
        if (children[i] == run)
            return true;
    return false;
}

/* ---- looking ----------------------------------------------------------------------------------------------------- */

struct looking {
    struct store_session *s;
    const struct actor *actor;
    const struct run_row *row;
    struct run_links *links;
};

/* What takes too long is left out. */
static enum err part(struct looking *l, enum err e)
{
    if (e == ERR_TIMEOUT)
        l->links->complete = false;
    return e == ERR_TIMEOUT ? ERR_OK : e;
}

static enum err mention(struct looking *l, const struct run_mention *what, int64_t ids[MENTIONS_MAX], size_t *count,
                        struct errctx *ec)
{
    bool indexed = true;
    enum err e = part(l, store_find_mentions(l->s, what, LOOK_MS, ids, count, &indexed, ec));

    l->links->complete = l->links->complete && indexed;
    return e;
}

static enum err find_origin(struct looking *l, struct errctx *ec)
{
    char link[40];
    int64_t ids[MENTIONS_MAX];
    size_t count = 0;

    fire_format_retry_link(l->row->id, link);
    enum err e = mention(l, &(struct run_mention){l->row->job_id, l->row->id, false, link}, ids, &count, ec);
    l->links->retry_of = count > 0 ? ids[0] : 0;
    return e;
}

/* Of rows that have the number somewhere, the one that says that it made this run. */
static enum err take_parent(struct looking *l, const int64_t *ids, size_t count, struct errctx *ec)
{
    struct run_rows rows;
    enum err e = store_load_run_rows(l->s, ids, count, 0, SIZE_MAX, &rows, ec);

    if (e)
        return e;
    for (size_t i = 0; i < rows.count && !l->links->parent; i++)
        if (has_child(rows.rows[i].handle_msg, l->row->id))
            l->links->parent = rows.rows[i].id;
    run_rows_fini(&rows);
    return ERR_OK;
}

static enum err find_parent(struct looking *l, struct errctx *ec)
{
    int64_t jobs[PARENT_JOBS_MAX], ids[MENTIONS_MAX];
    char number[24];
    size_t job_count = 0;
    enum err e = part(l, store_find_parent_jobs(l->s, l->row->job_id, LOOK_MS, jobs, &job_count, ec));

    snprintf(number, sizeof number, "%" PRId64, l->row->id);
    for (size_t i = 0; i < job_count && !e && !l->links->parent; i++) {
        size_t count = 0;

        e = mention(l, &(struct run_mention){jobs[i], l->row->id, true, number}, ids, &count, ec);
        if (!e && count > 0)
            e = take_parent(l, ids, count, ec);
    }
    return e;
}

static enum err look(struct looking *l, struct errctx *ec)
{
    const struct run_marks marks = run_marks_read(l->row);
    enum err e = ERR_OK;

    l->links->retry = marks.retry_log;
    l->links->child_count = run_find_children(l->row->handle_msg, l->links->children);
    if (marks.has_kind && marks.kind == TRIGGER_RETRY)
        e = find_origin(l, ec);
    if (!e && marks.has_kind && marks.kind == TRIGGER_PARENT)
        e = find_parent(l, ec);
    if (!e && marks.flow_run)
        e = flow_name_step(l->s, l->actor, marks.flow_run, marks.flow_step, l->links, ec);
    return e;
}

/* The rows of all that was found, with names; those of groups that are not his go. */
static enum err show(struct looking *l, struct errctx *ec)
{
    struct run_links *links = l->links;
    int64_t ids[3 + RUN_CHILDREN_MAX], jobs[ARRAY_LEN(ids)];
    size_t count = 0;

    ids[count++] = links->retry_of;
    ids[count++] = links->retry;
    ids[count++] = links->parent;
    for (size_t i = 0; i < links->child_count; i++)
        ids[count++] = links->children[i];
    enum err e = store_load_run_rows(l->s, ids, count, 100, SIZE_MAX, &links->rows, ec);
    size_t kept = 0;
    for (size_t i = 0; i < links->rows.count && !e; i++)
        if (actor_may(l->actor, RIGHT_SEE, links->rows.rows[i].group)) {
            links->rows.rows[kept] = links->rows.rows[i];
            jobs[kept] = links->rows.rows[kept].job_id;
            kept++;
        }
    links->rows.count = kept;
    return e ? e : store_load_job_names(l->s, jobs, kept, &links->jobs, ec);
}

enum err admin_load_run_links(struct admin *a, const struct actor *actor, int64_t id, struct run_links *out,
                              struct refusal *r)
{
    struct looking l = {.actor = actor, .links = out};
    struct run_rows rows;
    enum err e = admin_load_run(a, actor, id, &rows, r);

    *out = (struct run_links){.complete = true};
    if (e)
        return e;
    l.row = &rows.rows[0];
    e = admin_take_session(a, &l.s, r);
    if (!e)
        e = look(&l, &r->text);
    if (!e)
        e = show(&l, &r->text);
    run_rows_fini(&rows);
    if (e)
        run_links_fini(out);
    return admin_end(a, l.s, e, r);
}

const struct run_row *run_links_find(const struct run_links *links, int64_t id)
{
    for (size_t i = 0; i < links->rows.count && id; i++)
        if (links->rows.rows[i].id == id)
            return &links->rows.rows[i];
    return NULL;
}

void run_links_fini(struct run_links *links)
{
    run_rows_fini(&links->rows);
    names_fini(&links->jobs);
    *links = (struct run_links){0};
}
