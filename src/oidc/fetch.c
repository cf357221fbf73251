/* SPDX-License-Identifier: MIT */
#include "oidc/fetch.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shardwheel/network.h"
#include "shardwheel/resolver.h"

#define LOOK_MS 500 /* a stop is noticed so late */

struct place {
    char *scheme, *host, *port;
    bool is_ip;
};

static void place_fini(struct place *place)
{
    curl_free(place->scheme);
    curl_free(place->host);
    curl_free(place->port);
    *place = (struct place){0};
}

/* ---- addresses --------------------------------------------------------------------------------------------------- */

static bool is_loopback(const struct place *place)
{
    char text[64];
    struct ip ip;
    size_t len = strlen(place->host);

    if (!strcmp(place->host, "localhost"))
        return true;
    if (place->host[0] == '[' && len > 2 && len < sizeof text)
        snprintf(text, sizeof text, "%.*s", (int)(len - 2), place->host + 1);
    else
        snprintf(text, sizeof text, "%.60s", place->host);
    return !strcmp(text, "::1") || (ip_parse(text, &ip) && !strncmp(text, "127.", 4));
}

/* libcurl takes "https:/host", too, for which a browser may go elsewhere. */
static bool is_whole(const char *url, const char *scheme)
{
    size_t len = strlen(scheme);

    return !strncasecmp(url, scheme, len) && !strncmp(url + len, "://", 3) && url[len + 3] != '/';
}

/* ERR_INPUT where it is nothing to be asked. */
static enum err take_place(const char *url, struct place *out, struct errctx *ec)
{
    CURLU *parts = curl_url();
    struct place place = {0};
    CURLUcode r = parts ? CURLUE_OK : CURLUE_OUT_OF_MEMORY;
    enum err e = ERR_OK;

    r = r ? r : curl_url_set(parts, CURLUPART_URL, url, 0);
    r = r ? r : curl_url_get(parts, CURLUPART_SCHEME, &place.scheme, 0);
    r = r ? r : curl_url_get(parts, CURLUPART_HOST, &place.host, 0);
    r = r ? r : curl_url_get(parts, CURLUPART_PORT, &place.port, CURLU_DEFAULT_PORT);
    curl_url_cleanup(parts);
    if (r == CURLUE_OUT_OF_MEMORY)
        e = err_set(ec, ERR_NOMEM, "out of memory for a request");
    else if (r || strlen(url) > OIDC_TEXT_MAX || !is_whole(url, place.scheme))
        e = err_set(ec, ERR_INPUT, "it is no URL: %.200s", url);
    else if (strcmp(place.scheme, "https") != 0 && (strcmp(place.scheme, "http") != 0 || !is_loopback(&place)))
        e = err_set(ec, ERR_INPUT, "it must begin with https:// (http:// only for this machine, 127.0.0.1): %.200s",
                    url);
    if (e) {
        place_fini(&place);
        return e;
    }
    place.is_ip = place.host[0] == '[' || host_is_ip(place.host);
    *out = place;
    return ERR_OK;
}

enum err fetch_begin(struct errctx *ec)
{
    return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? ERR_OK
                                                             : err_set(ec, ERR_NOMEM, "libcurl cannot be started");
}

void fetch_end(void)
{
    curl_global_cleanup();
}

enum err fetch_check_url(const char *url, struct errctx *ec)
{
    struct place place;
    enum err e = take_place(url, &place, ec);

    if (!e)
        place_fini(&place);
    return e;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static bool is_stopped(const struct fetcher *f)
{
    return atomic_load_explicit(f->stopped, memory_order_relaxed); /* set once; nothing else is told by it */
}

struct deadline {
    const struct fetcher *f;
    int64_t mono_ms;
};

static int may_wait_ms(const void *arg)
{
    const struct deadline *d = arg;
    int64_t left_ms = is_stopped(d->f) ? 0 : d->mono_ms - clock_mono_ms(d->f->clock);

    return (int)(left_ms < LOOK_MS ? left_ms : LOOK_MS);
}

/* The addresses of the host as libcurl takes them; NULL for an IP. */
static enum err find_addresses(const struct fetcher *f, const struct place *place, int64_t deadline_mono_ms,
                               struct curl_slist **out, struct errctx *ec)
{
    char found[RESOLVER_TEXT_MAX];
    struct buf line = {0};
    enum err e;

    *out = NULL;
    if (place->is_ip)
        return ERR_OK;
    e = resolver_await(f->resolver, place->host, may_wait_ms, &(struct deadline){f, deadline_mono_ms}, found, ec);
    if (e)
        return e;
    buf_printf(&line, "+%s:%s:%s", place->host, place->port, found);
    if (!buf_failed(&line))
        *out = curl_slist_append(NULL, line.data);
    buf_fini(&line);
    return *out ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory for a request");
}

/* ---- what libcurl calls ------------------------------------------------------------------------------------------ */

struct call {
    const struct fetcher *f;
    struct fetch_answer answer;
    bool too_long;
};

static size_t on_body(char *data, size_t size, size_t count, void *arg)
{
    struct call *call = arg;
    size_t len = size * count;

    if (call->answer.body.len + len > FETCH_MAX) {
        call->too_long = true;
        return 0;
    }
    buf_append(&call->answer.body, data, len);
    return len;
}

static size_t on_header(char *data, size_t size, size_t count, void *arg)
{
    struct call *call = arg;
    size_t len = size * count;
    char value[80];

    if (len > 5 && !curl_strnequal(data, "date:", 5))
        return len;
    if (len > 5 && len < sizeof value) {
        snprintf(value, sizeof value, "%.*s", (int)(len - 5), data + 5);
        call->answer.date_s = (int64_t)curl_getdate(value, NULL);
    }
    return len;
}

static int on_progress(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const struct call *call = arg;

    (void)a, (void)b, (void)c, (void)d;
    return is_stopped(call->f);
}

/* A name that was not looked up by us is not looked up at all. */
static int refuse_look_up(void *state, void *reserved, void *arg)
{
    (void)state, (void)reserved, (void)arg;
    return 1;
}

/* ---- a request --------------------------------------------------------------------------------------------------- */

#define SET(option, value) ok = ok && curl_easy_setopt(easy, option, value) == CURLE_OK

static bool set_options(CURL *easy, const struct fetch_request *request, struct call *call, const struct place *place,
                        struct curl_slist *addresses, char *reason, int64_t left_ms)
{
    bool ok = true;

    SET(CURLOPT_URL, request->url);
    SET(CURLOPT_PROTOCOLS_STR, "http,https"); /* which of them: see take_place */
    SET(CURLOPT_RESOLVE, addresses);
    SET(CURLOPT_RESOLVER_START_FUNCTION, place->is_ip ? NULL : refuse_look_up);
    SET(CURLOPT_PROXY, "");
    SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_TIMEOUT_MS, (long)left_ms);
    SET(CURLOPT_ERRORBUFFER, reason);
    SET(CURLOPT_SSL_VERIFYPEER, 1L);
    SET(CURLOPT_SSL_VERIFYHOST, 2L);
    SET(CURLOPT_NOPROGRESS, 0L);
    SET(CURLOPT_XFERINFOFUNCTION, on_progress);
    SET(CURLOPT_XFERINFODATA, call);
    SET(CURLOPT_WRITEFUNCTION, on_body);
    SET(CURLOPT_WRITEDATA, call);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, call);
    if (call->f->ca[0])
        SET(CURLOPT_CAINFO, call->f->ca);
    if (request->form)
        SET(CURLOPT_POSTFIELDS, request->form);
    if (request->user) {
        SET(CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        SET(CURLOPT_USERNAME, request->user);
        SET(CURLOPT_PASSWORD, request->password);
    }
    if (request->bearer) {
        SET(CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
        SET(CURLOPT_XOAUTH2_BEARER, request->bearer);
    }
    return ok;
}

static enum err perform(CURL *easy, const struct place *place, struct call *call, const char *reason, struct errctx *ec)
{
    CURLcode code = curl_easy_perform(easy);
    long status = 0;

    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    call->answer.status = (int)status;
    if (call->too_long)
        return err_set(ec, ERR_LOST, "%s: the answer has more than %zu bytes", place->host, FETCH_MAX);
    if (!reason[0])
        reason = curl_easy_strerror(code);
    if (code == CURLE_SSL_CACERT_BADFILE)
        return err_set(ec, ERR_DENIED, "shardwheel.oidc.ca cannot be used: %s", reason);
    if (code == CURLE_PEER_FAILED_VERIFICATION && call->f->ca[0])
        return err_set(ec, ERR_DENIED, "the certificate of %s is refused: %s; shardwheel.oidc.ca is %s", place->host,
                       reason, call->f->ca);
    if (code == CURLE_PEER_FAILED_VERIFICATION)
        return err_set(ec, ERR_DENIED, "the certificate of %s is refused: %s; shardwheel.oidc.ca is not set",
                       place->host, reason);
    return code == CURLE_OK ? ERR_OK : err_set(ec, ERR_LOST, "%s does not answer: %s", place->host, reason);
}

void fetch_answer_fini(struct fetch_answer *answer)
{
    buf_fini(&answer->body);
    *answer = (struct fetch_answer){0};
}

enum err fetch(const struct fetcher *f, const struct fetch_request *request, struct fetch_answer *out,
               struct errctx *ec)
{
    int64_t deadline_mono_ms = clock_mono_ms(f->clock) + f->wait_ms, left_ms;
    struct call call = {.f = f, .answer = {.date_s = -1}};
    struct curl_slist *addresses = NULL;
    struct place place;
    char reason[CURL_ERROR_SIZE] = "";
    CURL *easy = NULL;
    enum err e = take_place(request->url, &place, ec);

    if (e)
        return e;
    e = find_addresses(f, &place, deadline_mono_ms, &addresses, ec);
    left_ms = deadline_mono_ms - clock_mono_ms(f->clock);
    buf_append(&call.answer.body, "", 0);
    if (!e && !(easy = curl_easy_init()))
        e = err_set(ec, ERR_NOMEM, "out of memory for a request");
    if (!e && !set_options(easy, request, &call, &place, addresses, reason, left_ms > 1 ? left_ms : 1))
        e = err_set(ec, ERR_NOMEM, "out of memory for a request");
    if (!e)
        e = perform(easy, &place, &call, reason, ec);
    if (!e && buf_failed(&call.answer.body))
        e = err_set(ec, ERR_NOMEM, "out of memory for an answer");
    curl_easy_cleanup(easy);
    curl_slist_free_all(addresses);
    place_fini(&place);
    if (e) {
        fetch_answer_fini(&call.answer);
        return e;
    }
    *out = call.answer;
    return ERR_OK;
}
