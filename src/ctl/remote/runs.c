/* SPDX-License-Identifier: MIT */
/* Runs are listed, and followed as they come and go on. */
#include "ctl/remote/remote.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVERY_MS 1000
#define PAGES_MAX 20 /* of new runs between two looks; what is older is not shown */
#define KNOWN_MAX 4096
#define ASKED_MAX 20 /* runs that are asked for by themselves in a look */

static enum err put_filter(struct ctl *c, struct remote *r, struct buf *path, const char *limit, struct errctx *ec)
{
    static const char *const known[] = {"result", "text", "limit", NULL};
    const char *group = c->wanted->group;
    char id[24];
    int64_t job;
    enum err e = ctl_check_options(c->wanted, known, "--group, --result, --text and --limit", ec);

    buf_puts(path, "/runs");
    remote_put_parameter(path, "limit", limit);
    if (!e && group)
        e = remote_find_group(r, group, id, ec);
    if (!e && group)
        remote_put_parameter(path, "jobGroup", id);
    if (!e && c->wanted->word_count) {
        e = remote_find_job(r, c->wanted->words[0], &job, ec);
        snprintf(id, sizeof id, "%" PRId64, e ? 0 : job);
        remote_put_parameter(path, "jobId", id);
    }
    remote_put_parameter(path, "result", ctl_find_option(c->wanted, "result"));
    remote_put_parameter(path, "text", ctl_find_option(c->wanted, "text"));
    return !e && buf_failed(path) ? err_set(ec, ERR_NOMEM, "out of memory") : e;
}

static void put_run(struct buf *lines, struct json_object *run)
{
    const char *seconds = remote_text(run, "durationSeconds");

    buf_printf(lines, "%s\t", remote_text(run, "id"));
    remote_put_time(lines, remote_text(run, "triggerTime"));
    buf_putc(lines, '\t');
    remote_put_cell(lines, remote_text(run, "jobName"));
    buf_printf(lines, "\t%s\t", remote_text(run, "state"));
    buf_printf(lines, "%s%s\t", *seconds ? seconds : "-", *seconds ? " s" : "");
    remote_put_cell(lines, remote_text(run, "executorAddress"));
    buf_putc(lines, '\t');
    remote_put_cell(lines, remote_text(run, "sentence"));
    buf_putc(lines, '\n');
}

/* ---- following --------------------------------------------------------------------------------------------------- */

/* Runs that were shown, with the state they had; the oldest gives way. */
struct known {
    int64_t ids[KNOWN_MAX];
    char states[KNOWN_MAX][16]; /* "": it is gone */
    size_t looks[KNOWN_MAX];    /* in which it was seen last */
    size_t count, look;
    size_t next; /* that may be asked for */
};

/* Whether it is to be shown: it is new, or in another state. */
static bool note_run(struct known *k, int64_t id, const char *state)
{
    size_t have = k->count < KNOWN_MAX ? k->count : KNOWN_MAX, i = 0;

    while (i < have && k->ids[i] != id)
        i++;
    if (i == have) {
        i = k->count++ % KNOWN_MAX;
        k->ids[i] = id;
        k->states[i][0] = '\0';
    }
    k->looks[i] = k->look;
    if (strcmp(k->states[i], state) == 0)
        return false;
    snprintf(k->states[i], sizeof k->states[i], "%s", state);
    return true;
}

static bool is_known(const struct known *k, int64_t id)
{
    for (size_t i = 0; i < k->count && i < KNOWN_MAX; i++)
        if (k->ids[i] == id)
            return true;
    return false;
}

static void put_if_new(struct ctl *c, struct known *k, struct json_object *run)
{
    const char *state = remote_text(run, "state");

    if (strcmp(state, "planned") == 0 || !note_run(k, json_object_get_int64(remote_find(run, "id")), state))
        return;
    if (c->wanted->json)
        remote_put_json(&c->out, run);
    else
        put_run(&c->out, run);
}

static enum err print(struct ctl *c, struct errctx *ec)
{
    enum err e = ctl_print(&c->out, ec);

    buf_clear(&c->out);
    return !e && fflush(stdout) ? err_set(ec, ERR_IO, "the runs cannot be printed") : e;
}

/* What is to be shown of a page, its oldest run first. */
static enum err show_page(struct ctl *c, struct known *k, struct json_object *items, struct errctx *ec)
{
    for (size_t i = remote_count(items); i-- > 0;)
        put_if_new(c, k, json_object_array_get_idx(items, i));
    return print(c, ec);
}

static bool is_open(const char *state)
{
    return strcmp(state, "sending") == 0 || strcmp(state, "waiting") == 0 || strcmp(state, "running") == 0;
}

/* Open runs that newer ones have pushed off the pages of this look: some of them, the others with the next look. */
static enum err look_at_older(struct ctl *c, struct remote *r, struct known *k, struct errctx *ec)
{
    size_t have = k->count < KNOWN_MAX ? k->count : KNOWN_MAX, asked = 0;
    enum err e = ERR_OK;

    for (size_t n = 0; !e && n < have && asked < ASKED_MAX; n++) {
        size_t i = k->next++ % have;
        struct json_object *run = NULL;
        char path[40];

        if (k->looks[i] == k->look || !is_open(k->states[i]))
            continue;
        asked++;
        snprintf(path, sizeof path, "/runs/%" PRId64, k->ids[i]);
        e = remote_ask_json(r, "GET", path, NULL, &run, ec);
        if (e == ERR_NOTFOUND) {
            k->states[i][0] = '\0';
            e = ERR_OK;
        }
        if (run)
            put_if_new(c, k, run);
        json_object_put(run);
    }
    return e ? e : print(c, ec);
}

/* Pages from the newest run on, back to one that holds a known run; shown from the oldest on. */
static enum err look(struct ctl *c, struct remote *r, const char *path, struct known *k, struct errctx *ec)
{
    struct json_object *pages[PAGES_MAX];
    size_t count = 0;
    bool first = k->count == 0, more = true;
    struct buf next = {0};
    enum err e = ERR_OK;

    k->look++;
    buf_puts(&next, path);
    while (!e && more && count < PAGES_MAX) {
        struct json_object *items;

        e = buf_failed(&next) ? err_set(ec, ERR_NOMEM, "out of memory")
                              : remote_ask_json(r, "GET", next.data, NULL, &pages[count], ec);
        if (e)
            break;
        items = remote_find(pages[count], "items");
        more = !first && items && remote_find(pages[count], "next");
        for (size_t i = 0; more && i < remote_count(items); i++)
            more = !is_known(k, json_object_get_int64(remote_find(json_object_array_get_idx(items, i), "id")));
        buf_clear(&next);
        buf_puts(&next, path);
        remote_put_parameter(&next, "after", remote_text(pages[count], "next"));
        count++;
    }
    while (count-- > 0) {
        struct json_object *items = remote_find(pages[count], "items");

        if (!e && items)
            e = show_page(c, k, items, ec);
        json_object_put(pages[count]);
    }
    buf_fini(&next);
    return e || ctl_find_option(c->wanted, "result") ? e : look_at_older(c, r, k, ec);
}

/* Until it is interrupted. A node that is away for a while is asked again. */
static enum err follow(struct ctl *c, struct remote *r, const char *path, struct errctx *ec)
{
    struct known *k = calloc(1, sizeof *k);
    enum err e = k ? look(c, r, path, k, ec) : err_set(ec, ERR_NOMEM, "out of memory");
    bool away = false;

    while (!e) {
        struct errctx why = {{0}};
        enum err now;

        clock_sleep_ms(EVERY_MS);
        now = look(c, r, path, k, &why);
        if (now && now != ERR_LOST && now != ERR_STATE)
            e = err_wrap(&why, now, "runs");
        if (now && !e && !away)
            fprintf(stderr, "shardwheelctl: %s; trying again\n", why.text);
        away = now != ERR_OK;
        if (e)
            *ec = why;
    }
    free(k);
    return e;
}

enum err remote_list_runs(struct ctl *c, struct remote *r, struct errctx *ec)
{
    const char *limit = ctl_find_option(c->wanted, "limit");
    struct buf path = {0};
    struct json_object *page = NULL;
    enum err e = put_filter(c, r, &path, limit ? limit : "20", ec);

    if (!e && c->wanted->follow)
        e = follow(c, r, path.data, ec);
    else if (!e)
        e = remote_ask_json(r, "GET", path.data, NULL, &page, ec);
    remote_put_list(c, page, "ID\tTIME\tJOB\tSTATE\tTOOK\tEXECUTOR\tRESULT\n", put_run);
    json_object_put(page);
    buf_fini(&path);
    return e;
}
