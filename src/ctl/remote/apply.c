/* SPDX-License-Identifier: MIT */
/* The document of an export is compared with the cluster, and applied: jobs and flows in version control. */
#include "ctl/remote/remote.h"

#include <string.h>

#define TIMES_MAX 100 /* a call has its time; what is left is done by the next one */

static int64_t count(struct json_object *result, const char *outcome)
{
    return json_object_get_int64(remote_find(result, outcome));
}

/* Of a flow: how the next version differs, in lines of its own. */
static void put_changes(struct buf *out, struct json_object *changes)
{
    for (size_t i = 0; i < remote_count(changes); i++)
        buf_printf(out, "    %s\n", json_object_get_string(json_object_array_get_idx(changes, i)));
}

/* "  member: before -> after", as JSON. */
static void put_difference(struct buf *out, struct json_object *before, struct json_object *after)
{
    json_object_object_foreach(after, name, value)
    {
        struct json_object *old = remote_find(before, name);

        if (strcmp(name, "changes") == 0 && json_object_is_type(value, json_type_array)) {
            put_changes(out, value);
            continue;
        }
        buf_printf(out, "    %s: %s -> ", name,
                   old ? json_object_to_json_string_ext(old, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)
                       : "null");
        buf_printf(out, "%s\n",
                   json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
    }
}

/* Every list of the result, whatever its items are called: groups, jobs, flows. */
static void put_items(struct buf *out, const char *kind, struct json_object *items)
{
    for (size_t i = 0; i < remote_count(items); i++) {
        struct json_object *item = json_object_array_get_idx(items, i), *after = remote_find(item, "after");
        const char *outcome = remote_text(item, "outcome"), *name = remote_text(item, "name");
        const char *appname = remote_text(item, "appname"), *field = remote_text(item, "field");

        if (strcmp(outcome, "same") == 0)
            continue;
        buf_printf(out, "%-8s %.*s %s%s%s", outcome, (int)(strlen(kind) - 1), kind, appname,
                   *appname && *name ? "/" : "", name);
        if (*remote_text(item, "detail"))
            buf_printf(out, ": %s%s%s", field, *field ? ": " : "", remote_text(item, "detail"));
        buf_putc(out, '\n');
        if (strcmp(outcome, "change") == 0 && json_object_is_type(after, json_type_object))
            put_difference(out, remote_find(item, "before"), after);
    }
}

static void put_result(struct ctl *c, struct json_object *result)
{
    if (c->wanted->json) {
        remote_put_json(&c->out, result);
        return;
    }
    json_object_object_foreach(result, kind, items)
    {
        if (json_object_is_type(items, json_type_array))
            put_items(&c->out, kind, items);
    }
    buf_printf(&c->out, "%s: %lld created, %lld changed, %lld the same, %lld refused, %lld left\n",
               json_object_get_boolean(remote_find(result, "dryRun")) ? "plan" : "applied",
               (long long)count(result, "create"), (long long)count(result, "change"), (long long)count(result, "same"),
               (long long)count(result, "refused"), (long long)count(result, "left"));
}

/* Again as long as a call leaves something and has done something. */
static enum err import(struct ctl *c, struct remote *r, const char *document, struct errctx *ec)
{
    struct json_object *result = NULL;
    enum err e = ERR_OK;
    int64_t left = 1, done = 1;

    for (int i = 0; !e && i < TIMES_MAX && left > 0 && done > 0; i++) {
        e = remote_ask_json(r, "POST", "/import", document, &result, ec);
        left = count(result, "left");
        done = count(result, "create") + count(result, "change");
        if (!e)
            put_result(c, result);
        if (!e && count(result, "refused") > 0)
            e = err_set(ec, ERR_STATE, "%lld items were refused", (long long)count(result, "refused"));
        json_object_put(result);
    }
    return !e && left > 0 ? err_set(ec, ERR_STATE, "%lld items were not processed: apply again", (long long)left) : e;
}

enum err remote_apply(struct ctl *c, struct remote *r, struct errctx *ec)
{
    static const char *const known[] = {"file", NULL};
    struct json_object *plan = NULL;
    struct buf document = {0};
    int64_t refused = 0, drift = 0;
    enum err e = ctl_check_options(c->wanted, known, "-f", ec);

    if (!e)
        e = ctl_read_file(ctl_find_option(c->wanted, "file"), REMOTE_DOCUMENT_MAX, &document, ec);
    if (!e)
        e = remote_ask_json(r, "POST", "/import?dryRun=true", document.data, &plan, ec);
    if (!e) {
        refused = count(plan, "refused");
        drift = count(plan, "create") + count(plan, "change") + count(plan, "left");
        if (c->wanted->dry_run || refused > 0 || !drift)
            put_result(c, plan);
        if (refused > 0)
            e = err_set(ec, ERR_STATE, "%lld items are refused: nothing was applied", (long long)refused);
        else if (c->wanted->dry_run)
            c->exit_status = drift > 0 ? CTL_STATUS_DRIFT : 0;
        else if (drift > 0)
            e = import(c, r, document.data, ec);
    }
    json_object_put(plan);
    buf_fini(&document);
    if (e && c->out.len && ctl_print(&c->out, ec))
        return ERR_IO;
    return e;
}
