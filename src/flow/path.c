/* SPDX-License-Identifier: MIT */
/* flow/path: where a value is, and what is there. */
#include "flow/impl.h"

#include <stdlib.h>
#include <string.h>

#define JSON_DEPTH_MAX 32

bool flow_is_name(const char *text, size_t len)
{
    if (len == 0 || len > FLOW_NAME_MAX)
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_'))
            return false;
    }
    return true;
}

size_t flow_find_step(const struct flow *flow, const char *name, size_t len)
{
    size_t i = 0;

    while (i < flow->step_count && (strlen(flow->steps[i].name) != len || memcmp(flow->steps[i].name, name, len) != 0))
        i++;
    return i;
}

enum err flow_parse_json(const char *text, size_t len, struct json_object **out, struct errctx *ec)
{
    struct json_tokener *tok = json_tokener_new_ex(JSON_DEPTH_MAX);
    char *copy = malloc(len + 1);
    enum err e = ERR_NOMEM;

    if (!tok || !copy) {
        err_set(ec, e, "out of memory");
        goto out;
    }
    memcpy(copy, text, len);
    copy[len] = '\0'; /* which ends a number */
    json_tokener_set_flags(tok, JSON_TOKENER_STRICT | JSON_TOKENER_ALLOW_TRAILING_CHARS | JSON_TOKENER_VALIDATE_UTF8);
    struct json_object *value = json_tokener_parse_ex(tok, copy, (int)len + 1);
    enum json_tokener_error why = json_tokener_get_error(tok);
    size_t end = json_tokener_get_parse_end(tok);
    if (why == json_tokener_success)
        while (end < len && copy[end] && strchr(" \t\r\n", copy[end]))
            end++;
    if (why != json_tokener_success || end < len) {
        json_object_put(value);
        e = err_set(ec, ERR_INPUT, "not JSON at byte %zu: %s", end + 1,
                    why == json_tokener_success           ? "there is text after the end"
                    : why == json_tokener_error_parse_eof ? "the end is missing"
                                                          : json_tokener_error_desc(why));
        goto out;
    }
    *out = value;
    e = ERR_OK;
out:
    free(copy);
    if (tok)
        json_tokener_free(tok);
    return e;
}

/* ---- reading a path ---------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    enum flow_root root;
} step_members[] = {{"result", FLOW_AT_RESULT},   {"state", FLOW_AT_STATE},       {"code", FLOW_AT_CODE},
                    {"address", FLOW_AT_ADDRESS}, {"startedAt", FLOW_AT_STARTED}, {"endedAt", FLOW_AT_ENDED}};

/* A text that is being read: where, and where it ends. */
struct cut {
    const char *at, *end;
};

/* What stands before the next of `stops`, or the rest. */
static struct cut take_until(struct cut *from, const char *stops)
{
    struct cut taken = {from->at, from->at};

    while (taken.end < from->end && (!*taken.end || !strchr(stops, *taken.end)))
        taken.end++;
    from->at = taken.end;
    return taken;
}

static bool cut_is(struct cut c, const char *text)
{
    return (size_t)(c.end - c.at) == strlen(text) && memcmp(c.at, text, (size_t)(c.end - c.at)) == 0;
}

static bool skip(struct cut *from, char c)
{
    if (from->at == from->end || *from->at != c)
        return false;
    from->at++;
    return true;
}

static int cut_len(struct cut c)
{
    return (int)(c.end - c.at);
}

static bool has_pointer(enum flow_root root)
{
    return root == FLOW_AT_PARAMETER || root == FLOW_AT_ITEM || root == FLOW_AT_RESULT;
}

static enum err parse_parameter(const struct flow *flow, struct cut *rest, struct flow_path *out, struct errctx *ec)
{
    struct cut name = take_until(rest, "/");
    size_t i = 0;

    while (i < flow->parameter_count && !cut_is(name, flow->parameters[i].name))
        i++;
    if (i == flow->parameter_count)
        return err_set(ec, ERR_INPUT, "the flow has no parameter \"%.*s\"", cut_len(name), name.at);
    *out = (struct flow_path){.root = FLOW_AT_PARAMETER, .number = i};
    return ERR_OK;
}

static enum err parse_step(const struct flow *flow, struct cut *rest, struct flow_path *out, struct errctx *ec)
{
    struct cut name = take_until(rest, "."), member;
    size_t step = flow_find_step(flow, name.at, (size_t)(name.end - name.at));

    if (step == flow->step_count)
        return err_set(ec, ERR_INPUT, "the flow has no step \"%.*s\"", cut_len(name), name.at);
    if (!skip(rest, '.'))
        return err_set(ec, ERR_INPUT,
                       "after \"steps.%s\", .result, .state, .code, .address, .startedAt or .endedAt is missing",
                       flow->steps[step].name);
    member = take_until(rest, "/");
    for (size_t i = 0; i < ARRAY_LEN(step_members); i++)
        if (cut_is(member, step_members[i].name)) {
            *out = (struct flow_path){.root = step_members[i].root, .number = step};
            return ERR_OK;
        }
    return err_set(ec, ERR_INPUT,
                   "a step has no value \"%.*s\"; it has result, state, code, address, startedAt and endedAt",
                   cut_len(member), member.at);
}

/* ~0 and ~1 alone may stand behind a tilde. */
static bool is_pointer(struct cut pointer)
{
    for (const char *p = pointer.at; p < pointer.end; p++)
        if (!*p || (*p == '~' && (p + 1 == pointer.end || (p[1] != '0' && p[1] != '1'))))
            return false;
    return true;
}

enum err flow_parse_path(const struct flow *flow, const char *text, size_t len, bool item, struct flow_path *out,
                         struct errctx *ec)
{
    struct cut rest = {text, text + len}, head = take_until(&rest, "./");
    struct flow_path path = {.root = FLOW_AT_RUN_ID};
    enum err e = ERR_OK;

    if (cut_is(head, "flow") && skip(&rest, '.'))
        e = parse_parameter(flow, &rest, &path, ec);
    else if (cut_is(head, "steps") && skip(&rest, '.'))
        e = parse_step(flow, &rest, &path, ec);
    else if (item && (cut_is(head, "item") || cut_is(head, "index")))
        path.root = cut_is(head, "item") ? FLOW_AT_ITEM : FLOW_AT_INDEX;
    else if (len == strlen("run.id") && memcmp(text, "run.id", len) == 0)
        rest.at = rest.end;
    else if (len >= 2 && memcmp(text, "${", 2) == 0)
        e = err_set(ec, ERR_INPUT, "\"%.*s\": a path without ${ and } is expected", (int)len, text);
    else
        e = err_set(ec, ERR_INPUT, "\"%.*s\" is not a value; use flow.NAME, steps.NAME.result or run.id%s", (int)len,
                    text, item ? ", item, index" : "");
    if (e)
        return e;
    if (rest.at < rest.end && (!has_pointer(path.root) || *rest.at != '/'))
        return err_set(ec, ERR_INPUT, "\"%.*s\" has text after its end: %.*s", (int)len, text, cut_len(rest), rest.at);
    if (!is_pointer(rest))
        return err_set(ec, ERR_INPUT, "\"%.*s\" is not a JSON Pointer", cut_len(rest), rest.at);
    path.pointer = rest.at;
    path.pointer_len = (size_t)(rest.end - rest.at);
    *out = path;
    return ERR_OK;
}

bool flow_path_has_step(const struct flow_path *path)
{
    return path->root >= FLOW_AT_RESULT;
}

/* ---- what is there ----------------------------------------------------------------------------------------------- */

const char *flow_state_name(enum flow_state state)
{
    static const char *const names[FLOW_STATES] = {"waiting", "running", "succeeded", "failed", "skipped", "cancelled"};

    return names[state];
}

/* json_pointer_get of json-c takes an item that is null for one that is not there. */
static bool find_part(struct json_object *value, const char *token, struct json_object **out)
{
    int64_t index;

    if (json_object_is_type(value, json_type_object))
        return json_object_object_get_ex(value, token, out);
    if (!json_object_is_type(value, json_type_array) || (token[0] == '0' && token[1]) || token[0] == '+' ||
        !parse_int(token, 0, INT32_MAX, &index) || (size_t)index >= json_object_array_length(value))
        return false;
    *out = json_object_array_get_idx(value, (size_t)index);
    return true;
}

/* ~1 is a slash, ~0 a tilde. `at` is behind the slash before the token; returns where it ends. */
static const char *read_token(const char *at, const char *end, struct buf *token)
{
    buf_clear(token);
    buf_puts(token, "");
    for (; at < end && *at != '/'; at++)
        if (*at == '~')
            buf_putc(token, *++at == '1' ? '/' : '~');
        else
            buf_putc(token, *at);
    return at;
}

/* The part of `value` that the pointer names, with a reference; drops the reference to `value`. */
static enum err follow_pointer(struct json_object *value, const struct flow_path *path, const char *text, size_t len,
                               struct json_object **out, struct errctx *ec)
{
    const char *at = path->pointer, *end = path->pointer + path->pointer_len;
    struct json_object *part = value;
    struct buf token = {0};
    enum err e = ERR_OK;

    while (at < end && !e) {
        at = read_token(at + 1, end, &token);
        if (buf_failed(&token))
            e = err_set(ec, ERR_NOMEM, "out of memory");
        else if (!find_part(part, token.data, &part))
            e = err_set(ec, ERR_NOTFOUND, "%.*s: there is no \"%s\"", (int)len, text, token.data);
    }
    if (!e)
        *out = json_object_get(part);
    json_object_put(value);
    buf_fini(&token);
    return e;
}

static struct json_object *make_time(int64_t at_ms)
{
    char text[TIME_TEXT_MAX];

    return json_object_new_string(time_put_text(at_ms, text) ? text : "");
}

static enum err find_of_step(const struct flow_values *values, const struct flow_path *path, const char *text,
                             size_t len, struct json_object **out, struct errctx *ec)
{
    const struct flow_step_values *step = &values->steps[path->number];

    if (path->root != FLOW_AT_STATE && !step->has_end)
        return err_set(ec, ERR_NOTFOUND, "%.*s: the step %s", (int)len, text,
                       step->state == FLOW_SKIPPED     ? "was skipped"
                       : step->state == FLOW_CANCELLED ? "was cancelled"
                                                       : "has not ended");
    if (path->root == FLOW_AT_STATE)
        *out = json_object_new_string(flow_state_name(step->state));
    else if (path->root == FLOW_AT_CODE)
        *out = json_object_new_int64(step->code);
    else if (path->root == FLOW_AT_STARTED || path->root == FLOW_AT_ENDED)
        *out = make_time(path->root == FLOW_AT_STARTED ? step->started_ms : step->ended_ms);
    else if (path->root == FLOW_AT_ADDRESS && step->address)
        *out = json_object_new_string(step->address);
    else if (path->root == FLOW_AT_RESULT && step->has_result)
        return follow_pointer(json_object_get(step->result), path, text, len, out, ec);
    else
        return err_set(ec, ERR_NOTFOUND, "%.*s: the step has none", (int)len, text);
    return *out ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");
}

enum err flow_find_value(const struct flow_values *values, const struct flow_path *path, const char *text, size_t len,
                         const struct flow_item *item, struct json_object **out, struct errctx *ec)
{
    struct json_object *value = NULL;
    enum err e;

    if (flow_path_has_step(path))
        return find_of_step(values, path, text, len, out, ec);
    if (path->root == FLOW_AT_PARAMETER) {
        if (!json_object_object_get_ex(values->parameters, values->flow->parameters[path->number].name, &value))
            return err_set(ec, ERR_NOTFOUND, "%.*s: the run has no such parameter", (int)len, text);
        return follow_pointer(json_object_get(value), path, text, len, out, ec);
    }
    if (path->root == FLOW_AT_RUN_ID) {
        *out = json_object_new_int64(values->run_id);
        return *out ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");
    }
    if (!item)
        return err_set(ec, ERR_NOTFOUND, "%.*s: this step is not a map", (int)len, text);
    if (path->root == FLOW_AT_INDEX) {
        *out = json_object_new_int64(item->number);
        return *out ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");
    }
    e = flow_parse_json(item->json, strlen(item->json), &value, ec);
    return e ? err_wrap(ec, e, "%.*s", (int)len, text) : follow_pointer(value, path, text, len, out, ec);
}
