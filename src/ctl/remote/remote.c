/* SPDX-License-Identifier: MIT */
#include "ctl/remote/remote.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONNECT_S 10L
#define CALL_S 120L /* an import of 10,000 jobs takes a while */
#define ANSWER_MAX ((size_t)256 << 20)

struct remote {
    CURL *easy;
    struct curl_slist *headers;
    char *url; /* up to /api/v1, without it */
    char reason[CURL_ERROR_SIZE];
    struct buf *answer; /* of the call under way */
};

/* ---- life -------------------------------------------------------------------------------------------------------- */

/* Without a URL, that of a node on this machine. */
static char *find_url(const struct config *config)
{
    struct buf url = {0};
    size_t len = strlen(config->ctl_url);

    while (len > 0 && config->ctl_url[len - 1] == '/')
        len--;
    if (len > 0)
        buf_append(&url, config->ctl_url, len);
    else
        buf_printf(&url, "http://127.0.0.1:%" PRId64 "%s", config->server_port, config->server_context_path);
    return buf_take(&url);
}

static size_t on_answer(char *data, size_t size, size_t count, void *arg)
{
    struct remote *r = arg;
    size_t len = size * count;

    if (r->answer->len + len > ANSWER_MAX)
        return 0;
    buf_append(r->answer, data, len);
    return buf_failed(r->answer) ? 0 : len;
}

static enum err set_up(struct remote *r, const struct config *config, struct errctx *ec)
{
    struct buf line = {0};
    bool fine = r->url && r->easy;

    buf_printf(&line, "Authorization: Bearer %s", config->ctl_token);
    fine = fine && !buf_failed(&line);
    if (fine)
        r->headers = curl_slist_append(NULL, line.data);
    buf_fini(&line);
    fine = fine && r->headers && curl_slist_append(r->headers, "Content-Type: application/json") &&
           curl_slist_append(r->headers, "Expect:");
    fine = fine && !curl_easy_setopt(r->easy, CURLOPT_HTTPHEADER, r->headers) &&
           !curl_easy_setopt(r->easy, CURLOPT_PROTOCOLS_STR, "http,https") &&
           !curl_easy_setopt(r->easy, CURLOPT_NOSIGNAL, 1L) &&
           !curl_easy_setopt(r->easy, CURLOPT_CONNECTTIMEOUT, CONNECT_S) &&
           !curl_easy_setopt(r->easy, CURLOPT_TIMEOUT, CALL_S) &&
           !curl_easy_setopt(r->easy, CURLOPT_ERRORBUFFER, r->reason) &&
           !curl_easy_setopt(r->easy, CURLOPT_WRITEFUNCTION, on_answer) &&
           !curl_easy_setopt(r->easy, CURLOPT_WRITEDATA, r) &&
           (!config->ctl_ca[0] || !curl_easy_setopt(r->easy, CURLOPT_CAINFO, config->ctl_ca));
    return fine ? ERR_OK : err_set(ec, ERR_NOMEM, "libcurl cannot be used");
}

enum err remote_create(const struct config *config, struct remote **out, struct errctx *ec)
{
    enum err e;

    *out = NULL;
    if (!config->ctl_token[0])
        return err_set(
            ec, ERR_INPUT,
            "the token is missing: set SHARDWHEEL_CTL_TOKEN, or shardwheel.ctl.token in a file that --config "
            "names; users create tokens in the console");
    if (strpbrk(config->ctl_token, "\r\n"))
        return err_set(ec, ERR_INPUT, "shardwheel.ctl.token has a line end");
    if (config->ctl_url[0] && strncmp(config->ctl_url, "http://", 7) && strncmp(config->ctl_url, "https://", 8))
        return err_set(ec, ERR_INPUT, "shardwheel.ctl.url: expected a URL that begins with http:// or https://");
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return err_set(ec, ERR_NOMEM, "libcurl cannot be started");
    *out = calloc(1, sizeof **out);
    if (!*out) {
        curl_global_cleanup();
        return err_set(ec, ERR_NOMEM, "out of memory");
    }
    (*out)->url = find_url(config);
    (*out)->easy = curl_easy_init();
    e = set_up(*out, config, ec);
    if (e) {
        remote_destroy(*out);
        *out = NULL;
    }
    return e;
}

void remote_destroy(struct remote *r)
{
    if (!r)
        return;
    curl_easy_cleanup(r->easy);
    curl_slist_free_all(r->headers);
    free(r->url);
    free(r);
    curl_global_cleanup();
}

/* ---- a call ------------------------------------------------------------------------------------------------------ */

/* The sentence of a problem document; of anything else the status. */
static enum err refuse_call(const struct remote *r, long status, const struct buf *answer, struct errctx *ec)
{
    struct json_object *problem = answer->len ? json_tokener_parse(answer->data) : NULL;
    const char *detail = remote_text(problem, "detail");
    const char *field = remote_text(problem, "field"), *item = remote_text(problem, "item");
    enum err e = status == 404 ? ERR_NOTFOUND : ERR_STATE;

    if (status == 401)
        err_set(ec, e, "%s does not accept the token (shardwheel.ctl.token)%s%s", r->url, *detail ? ": " : "", detail);
    else if (*detail)
        err_set(ec, e, "%s%s%s%s%s%s", *item ? "item " : "", item, *item ? ": " : "", field, *field ? ": " : "",
                detail);
    else
        err_set(ec, e, "%s answers with status %ld; is there a node at this address?", r->url, status);
    json_object_put(problem);
    return e;
}

enum err remote_ask(struct remote *r, const char *method, const char *path, const char *body, struct buf *out,
                    struct errctx *ec)
{
    struct buf url = {0};
    long status = 0;
    CURLcode code;

    buf_printf(&url, "%s/api/v1%s", r->url, path);
    if (buf_failed(&url)) {
        buf_fini(&url);
        return err_set(ec, ERR_NOMEM, "out of memory");
    }
    buf_clear(out);
    r->answer = out;
    r->reason[0] = '\0';
    code = curl_easy_setopt(r->easy, CURLOPT_URL, url.data);
    if (!code)
        code = curl_easy_setopt(r->easy, CURLOPT_CUSTOMREQUEST, NULL);
    if (!code)
        code = curl_easy_setopt(r->easy, CURLOPT_HTTPGET, 1L);
    if (!code && strcmp(method, "GET") != 0) {
        code = curl_easy_setopt(r->easy, CURLOPT_CUSTOMREQUEST, method);
        code =
            code ? code : curl_easy_setopt(r->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)(body ? strlen(body) : 0));
        code = code ? code : curl_easy_setopt(r->easy, CURLOPT_POSTFIELDS, body ? body : "");
    }
    if (!code)
        code = curl_easy_perform(r->easy);
    if (!code)
        code = curl_easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, &status);
    buf_fini(&url);
    if (code)
        return err_set(ec, ERR_LOST, "%s: %s", r->url, r->reason[0] ? r->reason : curl_easy_strerror(code));
    return status >= 200 && status <= 299 ? ERR_OK : refuse_call(r, status, out, ec);
}

enum err remote_ask_json(struct remote *r, const char *method, const char *path, const char *body,
                         struct json_object **out, struct errctx *ec)
{
    struct buf answer = {0};
    enum err e = remote_ask(r, method, path, body, &answer, ec);

    *out = !e && answer.len ? json_tokener_parse(answer.data) : NULL;
    if (!e && !json_object_is_type(*out, json_type_object)) {
        e = err_set(ec, ERR_LOST, "%s: the answer is not a JSON object; is there a node at this address?", r->url);
        json_object_put(*out);
        *out = NULL;
    }
    buf_fini(&answer);
    return e;
}

/* ---- what is read and printed ------------------------------------------------------------------------------------ */

struct json_object *remote_find(struct json_object *object, const char *name)
{
    struct json_object *member = NULL;

    if (json_object_is_type(object, json_type_object))
        json_object_object_get_ex(object, name, &member);
    return member;
}

size_t remote_count(struct json_object *list)
{
    return json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
}

const char *remote_text(struct json_object *object, const char *name)
{
    struct json_object *member = remote_find(object, name);
    const char *text = member ? json_object_get_string(member) : NULL;

    return text ? text : "";
}

void remote_put_parameter(struct buf *path, const char *name, const char *value)
{
    if (!value)
        return;
    buf_printf(path, "%c%s=", memchr(path->data, '?', path->len) ? '&' : '?', name);
    for (const unsigned char *p = (const unsigned char *)value; *p; p++)
        buf_printf(path, *p > ' ' && *p < 127 && !strchr("%&+#=?\"<>", *p) ? "%c" : "%%%02X", *p);
}

void remote_put_cell(struct buf *out, const char *text)
{
    ctl_put_cell(out, *text ? text : "-");
}

void remote_put_time(struct buf *out, const char *instant)
{
    size_t len = strcspn(instant, ".");

    if (*instant)
        buf_printf(out, "%.*sZ", (int)(instant[len] ? len : len - 1), instant);
    else
        buf_putc(out, '-');
}

void remote_put_json(struct buf *out, struct json_object *object)
{
    buf_puts(out, json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
    buf_putc(out, '\n');
}

void remote_put_list(struct ctl *c, struct json_object *page, const char *head,
                     void (*put_item)(struct buf *lines, struct json_object *item))
{
    struct json_object *items = remote_find(page, "items");
    struct buf lines = {0};

    if (items && c->wanted->json) {
        remote_put_json(&c->out, page);
    } else if (items) {
        for (size_t i = 0; i < remote_count(items); i++)
            put_item(&lines, json_object_array_get_idx(items, i));
        ctl_put_table(head, &lines, &c->out);
    }
    buf_fini(&lines);
}

/* ---- what is meant ----------------------------------------------------------------------------------------------- */

/* Of a list, in pages: the items of which this member is this text; *id is that of the first. A page that names itself
 * as the next one is the last. */
static enum err find_items(struct remote *r, const char *path, const char *member, const char *text, int64_t *id,
                           size_t *found, struct errctx *ec)
{
    struct buf next = {0}, asked = {0};
    bool more = true;
    enum err e = ERR_OK;

    *found = 0;
    buf_puts(&next, path);
    while (!e && more) {
        struct json_object *page = NULL, *items;

        e = buf_failed(&next) ? err_set(ec, ERR_NOMEM, "out of memory")
                              : remote_ask_json(r, "GET", next.data, NULL, &page, ec);
        items = remote_find(page, "items");
        for (size_t i = 0; !e && i < remote_count(items); i++) {
            struct json_object *item = json_object_array_get_idx(items, i);

            if (strcmp(remote_text(item, member), text) == 0 && (*found)++ == 0)
                *id = json_object_get_int64(remote_find(item, "id"));
        }
        buf_fini(&asked);
        asked = next;
        next = (struct buf){0};
        buf_puts(&next, path);
        remote_put_parameter(&next, "after", remote_text(page, "next"));
        more = remote_find(page, "next") && (buf_failed(&next) || strcmp(next.data, asked.data) != 0);
        json_object_put(page);
    }
    buf_fini(&asked);
    buf_fini(&next);
    return e;
}

enum err remote_find_group(struct remote *r, const char *appname, char out[24], struct errctx *ec)
{
    struct buf path = {0};
    int64_t id = 0;
    size_t found = 0;
    enum err e;

    buf_puts(&path, "/groups?limit=200");
    remote_put_parameter(&path, "appname", appname); /* those whose AppName has this text in it */
    e = buf_failed(&path) ? err_set(ec, ERR_NOMEM, "out of memory")
                          : find_items(r, path.data, "appname", appname, &id, &found, ec);
    buf_fini(&path);
    snprintf(out, 24, "%" PRId64, id);
    return e || found ? e : err_set(ec, ERR_NOTFOUND, "there is no executor group %s", log_quote(appname).s);
}

enum err remote_find_job(struct remote *r, const char *wanted, int64_t *out, struct errctx *ec)
{
    const char *slash = strchr(wanted, '/'), *name = slash ? slash + 1 : wanted;
    char group[24], appname[100];
    struct buf path = {0};
    size_t found = 0;
    enum err e = ERR_OK;

    if (parse_int(wanted, 1, INT32_MAX, out))
        return ERR_OK;
    buf_puts(&path, "/jobs?limit=200");
    if (slash) {
        snprintf(appname, sizeof appname, "%.*s", (int)(slash - wanted), wanted);
        e = remote_find_group(r, appname, group, ec);
        if (!e)
            remote_put_parameter(&path, "group", group);
    }
    if (!e)
        remote_put_parameter(&path, "name", name); /* those whose name has this text in it */
    if (!e)
        e = buf_failed(&path) ? err_set(ec, ERR_NOMEM, "out of memory")
                              : find_items(r, path.data, "name", name, out, &found, ec);
    buf_fini(&path);
    if (!e && found != 1)
        e = found ? err_set(ec, ERR_NOTFOUND, "%zu jobs are called %s: use the id, or AppName/name", found,
                            log_quote(wanted).s)
                  : err_set(ec, ERR_NOTFOUND, "there is no job called %s", log_quote(wanted).s);
    return e;
}
