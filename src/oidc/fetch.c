/* SPDX-License-Identifier: MIT */
#include "oidc/fetch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shardwheel/network.h"
#include "shardwheel/transfer.h"

/* ---- addresses --------------------------------------------------------------------------------------------------- */

static bool is_loopback(const char *host)
{
    struct ip ip;

    return !strcmp(host, "localhost") || !strcmp(host, "[::1]") || (ip_parse(host, &ip) && !strncmp(host, "127.", 4));
}

/* libcurl takes "https:/host", too, for which a browser may go elsewhere. */
static bool is_whole(const char *url, const char *scheme)
{
    size_t len = strlen(scheme);

    return !strncasecmp(url, scheme, len) && !strncmp(url + len, "://", 3) && url[len + 3] != '/';
}

/* ERR_INPUT where it is nothing to be asked. */
static enum err learn_host(const char *url, struct transfer_host *out, struct errctx *ec)
{
    enum err e = transfer_learn_host(url, out);

    if (e == ERR_NOMEM)
        return err_set(ec, e, "out of memory for a request");
    if (e)
        return err_set(ec, e, "it is not a URL: %.200s", url);
    if (strlen(url) > OIDC_TEXT_MAX || !is_whole(url, out->scheme))
        e = err_set(ec, ERR_INPUT, "it is not a URL: %.200s", url);
    else if (strcmp(out->scheme, "https") != 0 && (strcmp(out->scheme, "http") != 0 || !is_loopback(out->name)))
        e = err_set(ec, ERR_INPUT, "it must begin with https:// (http:// only for this machine, 127.0.0.1): %.200s",
                    url);
    if (e)
        transfer_host_fini(out);
    return e;
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
    struct transfer_host host;
    enum err e = learn_host(url, &host, ec);

    if (!e)
        transfer_host_fini(&host);
    return e;
}

/* ---- a request --------------------------------------------------------------------------------------------------- */

static size_t on_header(char *data, size_t size, size_t count, void *arg)
{
    struct fetch_answer *answer = arg;
    size_t len = size * count;
    char value[80];

    if (len > 5 && !curl_strnequal(data, "date:", 5))
        return len;
    if (len > 5 && len < sizeof value) {
        snprintf(value, sizeof value, "%.*s", (int)(len - 5), data + 5);
        answer->date_s = (int64_t)curl_getdate(value, NULL);
    }
    return len;
}

static CURLcode set_options(CURL *easy, const struct fetch_request *request, struct fetch_answer *answer)
{
    CURLcode r = easy ? CURLE_OK : CURLE_OUT_OF_MEMORY;

#define SET(option, value) r = r ? r : curl_easy_setopt(easy, option, value)
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, answer);
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
#undef SET
    return r;
}

static enum err run(struct transfer *t, int64_t timeout_ms, struct errctx *ec)
{
    CURLcode r = transfer_run(t, timeout_ms);
    const char *host = t->host->name;

    if (t->too_long)
        return err_set(ec, ERR_LOST, "%s: the answer has more than %zu bytes", host, FETCH_MAX);
    if (r == CURLE_SSL_CACERT_BADFILE)
        return err_set(ec, ERR_DENIED, "shardwheel.oidc.ca cannot be used: %s", t->reason);
    if (r == CURLE_PEER_FAILED_VERIFICATION)
        return err_set(ec, ERR_DENIED, "the certificate of %s is refused: %s; shardwheel.oidc.ca is %s", host,
                       t->reason, t->ca[0] ? t->ca : "not set");
    return r == CURLE_OK ? ERR_OK : err_set(ec, ERR_LOST, "%s does not answer: %s", host, t->reason);
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
    struct fetch_answer answer = {.date_s = -1};
    struct transfer_host host;
    struct transfer t = {.easy = curl_easy_init(),
                         .host = &host,
                         .url = request->url,
                         .protocols = "http,https", /* which of them: see learn_host */
                         .resolver = f->resolver,
                         .clock = f->clock,
                         .stopped = f->stopped,
                         .ca = f->ca,
                         .verify = true,
                         .answer = &answer.body,
                         .answer_max = FETCH_MAX};
    enum err e = learn_host(request->url, &host, ec);

    if (e) {
        curl_easy_cleanup(t.easy);
        return e;
    }
    buf_append(&answer.body, "", 0);
    e = set_options(t.easy, request, &answer) ? err_set(ec, ERR_NOMEM, "out of memory for a request")
                                              : transfer_find(&t, NULL, f->wait_ms, ec);
    left_ms = deadline_mono_ms - clock_mono_ms(f->clock);
    if (!e)
        e = run(&t, left_ms > 1 ? left_ms : 1, ec);
    if (!e && buf_failed(&answer.body))
        e = err_set(ec, ERR_NOMEM, "out of memory for an answer");
    answer.status = t.status;
    curl_easy_cleanup(t.easy);
    transfer_fini(&t);
    transfer_host_fini(&host);
    if (e) {
        fetch_answer_fini(&answer);
        return e;
    }
    *out = answer;
    return ERR_OK;
}
