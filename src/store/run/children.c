/* SPDX-License-Identifier: MIT */
#include "store/run/children.h"

#include <stdlib.h>

#include "store/run/direct.h"
#include "shardwheel/job/codes.h"
#include "shardwheel/job/words.h"
#include "shardwheel/text.h"

#define ILLEGAL_MAX_BYTES 200 /* of what is no id, as shown */

/* ---- finding ----------------------------------------------------------------------------------------------- */

const struct parent *parents_find(const struct parents *parents, int64_t log_id)
{
    return list_find(parents->items, parents->count, sizeof *parents->items, log_id);
}

static bool has_list(const struct store_session *s, const struct db_rows *row, void *item)
{
    (void)s, (void)row;
    return !str_is_blank(((struct parent *)item)->list);
}

/* The log first: its ids are given, runs of them as ranges, and each leads to one job. */
static enum err find_some(struct store_session *s, const int64_t *ids, size_t count, struct parents *out,
                          struct errctx *ec)
{
    static const struct row_type rows = ROWS_AND(struct parent, has_list, FIELDS(struct parent, log_id, job_id, list));
    struct sqlbuf *q = store_start_sql(s, "SELECT STRAIGHT_JOIN l.id, l.job_id, j.child_jobid FROM (SELECT id, job_id "
                                          "FROM xxl_job_log FORCE INDEX (PRIMARY) WHERE ");

    sql_id_among(q, ids, count);
    sql_puts(q, ") l JOIN xxl_job_info j FORCE INDEX (PRIMARY) ON j.id = l.job_id WHERE j.child_jobid > ''");
    return store_append_list(s, &rows, out, ec);
}

enum err store_find_parents(struct store_session *s, const struct callback_entry *entries, size_t count, int64_t *ids,
                            struct parents *out, struct errctx *ec)
{
    size_t n = 0, distinct = 0;
    enum err e = ERR_OK;

    for (size_t i = 0; i < count; i++)
        if (entries[i].code == CODE_OK && !entries[i].childless)
            ids[n++] = entries[i].log_id;
    if (n > 0)
        distinct = sort_distinct(ids, n);
    for (size_t at = 0; at < distinct && !e; at += STORE_LIST_MAX)
        e = find_some(s, ids + at, distinct - at < STORE_LIST_MAX ? distinct - at : STORE_LIST_MAX, out, ec);
    if (e)
        parents_fini(out);
    else if (out->count > 0)
        qsort(out->items, out->count, sizeof *out->items, compare_int64);
    return e ? err_wrap(ec, e, "look for jobs with children") : ERR_OK;
}

/* ---- making ------------------------------------------------------------------------------------------------ */

/* One item of a list, and what came of it. */
struct item {
    struct child_item item;
    bool too_deep;
    const struct fire *first; /* NULL: nothing was made */
    size_t fires;
};

/* Everything of one transaction. */
struct family {
    const struct parent_run *runs;
    size_t count;
    struct item *items; /* those of each run, one run after the other */
    size_t *run_items;  /* how many each has */
    int64_t *ids;       /* of the children, ascending and distinct */
    size_t id_count;
    struct job_spec **jobs;
    struct group_spec **groups;
};

static void fini_family(struct family *f)
{
    for (size_t i = 0; i < f->id_count && f->jobs; i++) {
        job_spec_unref(f->jobs[i]);
        group_spec_unref(f->groups[i]);
    }
    free(f->jobs);
    free(f->groups);
    free(f->ids);
    free(f->run_items);
    free(f->items);
}

static enum err read_lists(struct family *f, struct errctx *ec)
{
    size_t total = 0, n = 0;

    f->items = calloc(f->count * CHILDREN_MAX, sizeof *f->items);
    f->run_items = calloc(f->count, sizeof *f->run_items);
    f->ids = calloc(f->count * CHILDREN_MAX, sizeof *f->ids);
    if (!f->items || !f->run_items || !f->ids)
        return err_set(ec, ERR_NOMEM, "out of memory");
    for (size_t r = 0; r < f->count; r++) {
        const struct parent *parent = f->runs[r].parent;
        struct child_item items[CHILDREN_MAX];

        f->run_items[r] = children_parse(parent->list, parent->job_id, items);
        for (size_t i = 0; i < f->run_items[r]; i++) {
            struct item *item = &f->items[total++];
            *item = (struct item){.item = items[i],
                                  .too_deep = generation_of_child(f->runs[r].generation) >= CHILD_GENERATIONS};
            if (item->item.verdict == CHILD_ID && !item->too_deep)
                f->ids[n++] = item->item.id;
        }
    }
    f->id_count = sort_distinct(f->ids, n);
    f->jobs = calloc(f->id_count + 1, sizeof(struct job_spec *));
    f->groups = calloc(f->id_count + 1, sizeof(struct group_spec *));
    return f->jobs && f->groups ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");
}

/* A job that is there is triggered, whatever its status; one that is not has no row to tell of it but this one. */
static enum err make_item(const struct family *f, struct item *item, int generation, int64_t now_s, struct fire ***tail,
                          struct errctx *ec)
{
    int64_t *at = list_find(f->ids, f->id_count, sizeof *f->ids, item->item.id);
    struct job_spec *job = at ? f->jobs[at - f->ids] : NULL;
    enum err e;

    if (item->item.verdict != CHILD_ID || item->too_deep || !job)
        return ERR_OK;
    e = fires_make_direct(&(struct direct_order){.job = job,
                                                 .group = f->groups[at - f->ids],
                                                 .kind = TRIGGER_PARENT,
                                                 .now_s = now_s,
                                                 .generation = generation},
                          *tail, ec);
    if (e)
        return e;
    item->first = **tail;
    for (; **tail; *tail = &(**tail)->next)
        item->fires++;
    return ERR_OK;
}

static void put_line(struct buf *out, enum lang lang, const struct item *item, size_t number, size_t count)
{
    long long id = (long long)item->item.id;

    buf_printf(out, "%zu/%zu: ", number, count);
    if (item->item.verdict == CHILD_ILLEGAL) {
        buf_puts(out, word_get(lang, WORD_CHILD_ILLEGAL));
        text_put_html(out, item->item.text, item->item.len, ILLEGAL_MAX_BYTES);
    } else if (item->too_deep) {
        word_put(out, lang, WORD_CHILD_TOO_DEEP, id, (long long)CHILD_GENERATIONS);
    } else if (!item->first) {
        word_put(out, lang, WORD_CHILD_UNKNOWN, id, 0);
    } else {
        word_put(out, lang, WORD_CHILD_TRIGGERED, id, (long long)item->first->log_id);
        if (item->fires > 1)
            word_put(out, lang, WORD_MORE, (long long)item->fires - 1, 0);
    }
    buf_puts(out, "<br>");
}

static void put_lines(const struct family *f, enum lang lang)
{
    const struct item *item = f->items;

    for (size_t r = 0; r < f->count; r++) {
        words_put_heading(f->runs[r].message, word_get(lang, WORD_CHILDREN));
        for (size_t i = 0; i < f->run_items[r]; i++, item++)
            if (item->item.verdict != CHILD_SELF)
                put_line(f->runs[r].message, lang, item, i + 1, f->run_items[r]);
    }
}

enum err store_add_children(struct store_session *s, const struct parent_run *runs, size_t count, int64_t now_s,
                            const char *incarnation, struct fire **made, struct errctx *ec)
{
    struct family f = {.runs = runs, .count = count};
    struct fire **tail = made;
    struct item *item;
    enum err e = read_lists(&f, ec);

    if (!e && f.id_count > 0)
        e = store_load_targets(s, f.ids, f.id_count, f.jobs, f.groups, ec);
    item = f.items;
    for (size_t r = 0; r < count && !e; r++)
        for (size_t i = 0; i < f.run_items[r] && !e; i++)
            e = make_item(&f, item++, generation_of_child(runs[r].generation) + 1, now_s, &tail, ec);
    if (!e && *made)
        e = store_insert_direct(s, *made, incarnation, ec);
    if (!e)
        put_lines(&f, s->st->opts.lang);
    fini_family(&f);
    return e;
}

void children_take(struct children *children, struct fire *made, enum err outcome)
{
    struct fire **list = outcome ? &children->doubtful : &children->made;

    if (outcome && outcome != ERR_UNKNOWN) {
        fire_destroy_list(made); /* rolled back */
        return;
    }
    while (*list)
        list = &(*list)->next;
    *list = made;
}
