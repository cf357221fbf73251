/* SPDX-License-Identifier: MIT */
/* Rules of alarms on what did not happen: listed, set and deleted. */
#include "ctl/remote/remote.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define RULES "/alarms/rules"

/* ---- list -------------------------------------------------------------------------------------------------------- */

static void put_limit(struct buf *lines, struct json_object *rule)
{
    const char *kind = remote_text(rule, "kind"), *limit = remote_text(rule, "limit");

    if (!*limit)
        buf_puts(lines, remote_text(rule, "doneBy"));
    else if (strcmp(kind, "long_run") == 0 && strcmp(limit, "0") == 0)
        buf_puts(lines, "3 times the usual");
    else
        buf_printf(lines, "%s %s", limit, strcmp(kind, "few_executors") ? "s" : "executors");
}

static void put_rule(struct buf *lines, struct json_object *rule)
{
    buf_printf(lines, "%s\t%s\t", remote_text(rule, "id"), remote_text(rule, "kind"));
    remote_put_cell(lines, remote_text(rule, "tag"));
    buf_putc(lines, '\t');
    remote_put_cell(lines, remote_text(rule, "group"));
    buf_putc(lines, '\t');
    put_limit(lines, rule);
    buf_putc(lines, '\n');
}

enum err remote_list_rules(struct ctl *c, struct remote *r, struct errctx *ec)
{
    struct json_object *list = NULL;
    enum err e = remote_ask_json(r, "GET", RULES, NULL, &list, ec);

    remote_put_list(c, list, "ID\tKIND\tTAG\tGROUP\tLIMIT\n", put_rule);
    json_object_put(list);
    return e;
}

/* ---- set --------------------------------------------------------------------------------------------------------- */

static void add_text(struct json_object *to, const char *name, const char *text)
{
    if (text && *text)
        json_object_object_add(to, name, json_object_new_string(text));
}

/* What is asked for: limit or doneBy. */
static enum err take_limit(struct ctl *c, struct json_object *wanted, struct errctx *ec)
{
    static const char *const known[] = {"limit", "done-by", "tag", NULL};
    const char *limit = ctl_find_option(c->wanted, "limit"), *done_by = ctl_find_option(c->wanted, "done-by");
    int64_t number;
    enum err e = ctl_check_options(c->wanted, known, "--limit, --done-by, --tag and --group", ec);

    if (e)
        return e;
    if (!limit == !done_by)
        return err_set(ec, ERR_INPUT,
                       limit ? "--limit and --done-by exclude each other"
                             : "--limit must be given, or --done-by with the kind not_done");
    if (limit && !parse_int(limit, 0, INT32_MAX, &number))
        return err_set(ec, ERR_INPUT, "--limit: expected a number, 0 to 2147483647, not %s", log_quote(limit).s);
    if (limit)
        json_object_object_add(wanted, "limit", json_object_new_int64(number));
    add_text(wanted, "doneBy", done_by);
    return done_by && !*done_by ? err_set(ec, ERR_INPUT, "--done-by: expected a time of day, HH:MM") : ERR_OK;
}

static bool has_same(struct json_object *a, struct json_object *b, const char *name)
{
    return strcmp(remote_text(a, name), remote_text(b, name)) == 0;
}

/* That of the same kind, tag and group; NULL. */
static struct json_object *find_rule(struct json_object *list, struct json_object *wanted)
{
    struct json_object *items = remote_find(list, "items");

    for (size_t i = 0; i < remote_count(items); i++) {
        struct json_object *rule = json_object_array_get_idx(items, i);

        if (has_same(rule, wanted, "kind") && has_same(rule, wanted, "tag") && has_same(rule, wanted, "group"))
            return rule;
    }
    return NULL;
}

static enum err write_rule(struct remote *r, struct json_object *wanted, int64_t *id, struct errctx *ec)
{
    const char *body = json_object_to_json_string_ext(wanted, JSON_C_TO_STRING_PLAIN);
    struct json_object *made = NULL;
    struct buf answer = {0};
    char path[48] = RULES;
    enum err e;

    if (*id) {
        snprintf(path, sizeof path, RULES "/%" PRId64, *id);
        e = remote_ask(r, "PATCH", path, body, &answer, ec);
    } else {
        e = remote_ask_json(r, "POST", path, body, &made, ec);
        *id = json_object_get_int64(remote_find(made, "id"));
    }
    json_object_put(made);
    buf_fini(&answer);
    return e;
}

static void tell(struct ctl *c, struct json_object *wanted, int64_t id, const char *outcome)
{
    if (c->wanted->json) {
        json_object_object_add(wanted, "id", json_object_new_int64(id));
        json_object_object_add(wanted, "outcome", json_object_new_string(outcome));
        remote_put_json(&c->out, wanted);
        return;
    }
    buf_printf(&c->out, "rule %" PRId64 ", %s, ", id, c->wanted->words[0]);
    put_limit(&c->out, wanted);
    buf_printf(&c->out, ": %s\n", outcome);
}

/* The kind, tag and group of a rule stay: whatever else is said of them is another rule. */
static enum err set_rule(struct ctl *c, struct remote *r, struct json_object *list, struct json_object *wanted,
                         struct errctx *ec)
{
    struct json_object *rule = find_rule(list, wanted), *change = json_object_new_object();
    bool same = rule && has_same(rule, wanted, "limit") && has_same(rule, wanted, "doneBy");
    int64_t id = rule ? json_object_get_int64(remote_find(rule, "id")) : 0;
    enum err e = ERR_OK;

    json_object_object_add(change, "limit", json_object_get(remote_find(wanted, "limit")));
    json_object_object_add(change, "doneBy", json_object_get(remote_find(wanted, "doneBy")));
    json_object_object_del(change, remote_find(wanted, "limit") ? "doneBy" : "limit");
    if (!same)
        e = write_rule(r, rule ? change : wanted, &id, ec);
    if (!e)
        tell(c, wanted, id, same ? "is so already" : rule ? "changed" : "added");
    json_object_put(change);
    return e;
}

enum err remote_set_rule(struct ctl *c, struct remote *r, struct errctx *ec)
{
    struct json_object *wanted = json_object_new_object(), *list = NULL;
    enum err e;

    add_text(wanted, "kind", c->wanted->words[0]);
    add_text(wanted, "tag", ctl_find_option(c->wanted, "tag"));
    add_text(wanted, "group", c->wanted->group);
    e = take_limit(c, wanted, ec);
    if (!e)
        e = remote_ask_json(r, "GET", RULES, NULL, &list, ec);
    if (!e)
        e = set_rule(c, r, list, wanted, ec);
    json_object_put(list);
    json_object_put(wanted);
    return e;
}

/* ---- delete ------------------------------------------------------------------------------------------------------ */

enum err remote_delete_rule(struct ctl *c, struct remote *r, struct errctx *ec)
{
    struct buf answer = {0};
    char path[48];
    enum err e;

    snprintf(path, sizeof path, RULES "/%" PRId64, c->wanted->log_id);
    e = remote_ask(r, "DELETE", path, NULL, &answer, ec);
    if (!e)
        buf_printf(&c->out, "rule %" PRId64 ": deleted\n", c->wanted->log_id);
    buf_fini(&answer);
    return e;
}
