/* SPDX-License-Identifier: MIT */
#include "events/post.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shardwheel/executor/networks.h"
#include "shardwheel/text.h"

/* ---- URLs -------------------------------------------------------------------------------------------------------- */

/* Bytes of scheme and host; 0: this is not an http or https URL. */
static size_t measure_address(const char *url)
{
    size_t scheme = strncmp(url, "http://", 7) == 0 ? 7 : strncmp(url, "https://", 8) == 0 ? 8 : 0;
    size_t host = scheme ? strcspn(url + scheme, "/?#") : 0;

    for (const char *c = url; *c; c++)
        if ((unsigned char)*c <= ' ' || (unsigned char)*c >= 0x7f || *c == '"' || *c == '\\')
            return 0;
    return host > 0 && !memchr(url, '@', scheme + host) ? scheme + host : 0;
}

enum err events_check_url(const char *url, struct errctx *ec)
{
    size_t len = measure_address(url);
    char *address = strndup(url, len);
    struct errctx why;
    enum err e = ERR_OK;

    errctx_clear(&why);
    if (!address)
        return err_set(ec, ERR_NOMEM, "out of memory");
    if (len == 0)
        e = err_set(ec, ERR_INPUT, "this is not an http or https URL");
    else if (strchr(address, ',') || executor_networks_check_list(NULL, address, NULL, &why))
        e = err_set(ec, ERR_INPUT, "calls to that address are not allowed");
    free(address);
    return e;
}

/* What follows the address, without a fragment; it begins with a slash. */
static char *copy_path(const char *rest)
{
    struct buf path = {0};

    buf_puts(&path, *rest == '/' ? "" : "/");
    buf_append(&path, rest, strcspn(rest, "#"));
    return buf_take(&path);
}

enum err hook_target_create(struct http_client *http, const char *url, struct hook_target **out, struct errctx *ec)
{
    size_t len = measure_address(url);
    struct hook_target *target = calloc(1, sizeof *target);
    char *address = strndup(url, len);
    enum err e = ERR_NOMEM;

    if (len == 0) {
        free(target);
        free(address);
        return err_set(ec, ERR_INPUT, "this is not an http or https URL");
    }
    if (target && address) {
        target->url = str_copy(url);
        target->path = copy_path(url + len);
        e = target->url && target->path ? http_client_add_peer(http, address, &target->peer) : ERR_NOMEM;
    }
    free(address);
    if (e) {
        hook_target_destroy(http, target);
        return err_set(ec, e, "out of memory for a webhook");
    }
    *out = target;
    return ERR_OK;
}

void hook_target_destroy(struct http_client *http, struct hook_target *target)
{
    if (!target)
        return;
    if (target->peer)
        http_client_drop_peer(http, target->peer);
    free(target->url);
    free(target->path);
    free(target);
}

/* ---- posts ------------------------------------------------------------------------------------------------------- */

void event_post_put_headers(struct event_post *post, const char *event, int64_t id, const char *secret)
{
    char digest[65];

    buf_printf(&post->headers,
               "Content-Type: application/json\r\nUser-Agent: shardwheel\r\nX-Shardwheel-Event: %s\r\n"
               "X-Shardwheel-Event-Id: %" PRId64 "\r\n",
               event, id);
    if (!*secret || buf_failed(&post->body))
        return;
    hmac_sha256_hex(secret, post->body.data, digest);
    buf_printf(&post->headers, "X-Shardwheel-Signature: sha256=%s\r\n", digest);
}

static void judge(struct event_post *post, const struct http_answer *answer)
{
    struct buf said = {0};

    post->aborted = answer->outcome == HTTP_ABORTED;
    post->status = answer->outcome == HTTP_ANSWERED ? answer->status : 0;
    post->sent = post->status >= 200 && post->status < 300;
    post->away = post->status == 0 || post->status >= 500 || post->status == 408 || post->status == 429;
    if (post->sent)
        return;
    buf_puts(&said, "");
    if (post->status)
        text_put_utf8(&said, answer->body, answer->len, 200);
    if (post->status)
        snprintf(post->error, sizeof post->error, "HTTP status %d%s%s", post->status, said.len ? ": " : "",
                 buf_failed(&said) ? "" : said.data);
    else
        snprintf(post->error, sizeof post->error, "%s", answer->reason ? answer->reason : "no answer");
    buf_fini(&said);
}

static void on_done(void *arg, const struct http_answer *answer)
{
    struct event_post *post = arg;

    judge(post, answer);
    post->done(post->arg, post);
}

bool event_post_start(struct event_post *post, struct http_client *http, const struct hook_target *target,
                      const struct http_tls *tls)
{
    struct http_request request = {.peer = target->peer,
                                   .path = target->path,
                                   .headers = post->headers.data,
                                   .headers_len = post->headers.len,
                                   .body = post->body.data,
                                   .body_len = post->body.len,
                                   .tls = tls,
                                   .timeout_ms = EVENTS_TIMEOUT_MS,
                                   .takes_start = true,
                                   .done = on_done,
                                   .arg = post};

    return !buf_failed(&post->body) && !buf_failed(&post->headers) && http_client_start(http, &request) == ERR_OK;
}

void event_post_fini(struct event_post *post)
{
    buf_fini(&post->body);
    buf_fini(&post->headers);
}

/* ---- a test ------------------------------------------------------------------------------------------------------ */

static void note_done(void *arg, struct event_post *post)
{
    bool *done = arg;

    (void)post;
    *done = true;
}

enum err events_test(const struct hook_row *hook, const char *ca, struct resolver *resolver, const struct clock *clock,
                     int *status, struct errctx *ec)
{
    const struct http_tls tls = {.verify = true, .ca = ca, .cert = "", .key = ""};
    bool done = false;
    struct event_post post = {.done = note_done, .arg = &done};
    struct http_client *http = NULL;
    struct hook_target *target = NULL;
    enum err e = http_client_create(clock, resolver, &http, ec);

    *status = 0;
    if (!e)
        e = hook_target_create(http, hook->target, &target, ec);
    if (!e) {
        buf_printf(&post.body, "{\"event\":\"test\",\"id\":0,\"timeMs\":%" PRId64 ",\"hook\":", clock_wall_ms(clock));
        buf_put_json(&post.body, hook->name);
        buf_putc(&post.body, '}');
        event_post_put_headers(&post, "test", 0, hook->secret);
        if (!event_post_start(&post, http, target, &tls))
            e = err_set(ec, ERR_NOMEM, "out of memory for a test");
    }
    while (!e && !done)
        http_client_turn(http, INT64_C(1000000));
    if (!e) {
        *status = post.status;
        e = post.sent ? ERR_OK : err_set(ec, ERR_LOST, "%s", post.error);
    }
    if (http && target)
        hook_target_destroy(http, target);
    http_client_destroy(http);
    event_post_fini(&post);
    return e;
}
