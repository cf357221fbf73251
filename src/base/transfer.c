/* SPDX-License-Identifier: MIT */
#include "shardwheel/transfer.h"

#include <stdio.h>
#include <sys/socket.h>

#include "shardwheel/network.h"
#include "shardwheel/text.h"

#define LOOK_MS 500 /* a stop is noticed so late */

/* ---- the host ---------------------------------------------------------------------------------------------------- */

void transfer_host_fini(struct transfer_host *host)
{
    curl_free(host->scheme);
    curl_free(host->name);
    *host = (struct transfer_host){0};
}

enum err transfer_learn_host(const char *url, struct transfer_host *out)
{
    CURLU *parts = curl_url();
    struct transfer_host host = {0};
    char *port = NULL;
    int64_t number = 0;
    CURLUcode r = parts ? CURLUE_OK : CURLUE_OUT_OF_MEMORY;
    bool fine;

    r = r ? r : curl_url_set(parts, CURLUPART_URL, url, 0);
    r = r ? r : curl_url_get(parts, CURLUPART_SCHEME, &host.scheme, 0);
    r = r ? r : curl_url_get(parts, CURLUPART_HOST, &host.name, 0);
    r = r ? r : curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
    fine = !r && parse_int(port, 1, UINT16_MAX, &number);
    curl_free(port);
    curl_url_cleanup(parts);
    if (!fine) {
        transfer_host_fini(&host);
        return r == CURLUE_OUT_OF_MEMORY ? ERR_NOMEM : ERR_INPUT;
    }
    host.port = (int)number;
    host.is_ip = host.name[0] == '[' || host_is_ip(host.name);
    *out = host;
    return ERR_OK;
}

/* ---- its addresses ----------------------------------------------------------------------------------------------- */

static bool is_stopped(const struct transfer *t)
{
    return atomic_load_explicit(t->stopped, memory_order_relaxed);
}

struct wait {
    const struct transfer *transfer;
    int64_t deadline_mono_ms;
};

static int may_wait_ms(const void *arg)
{
    const struct wait *w = arg;
    int64_t left_ms = is_stopped(w->transfer) ? 0 : w->deadline_mono_ms - clock_mono_ms(w->transfer->clock);

    return (int)(left_ms < LOOK_MS ? left_ms : LOOK_MS);
}

/* Of the addresses in `text`, between commas, those that may be called. */
static void put_allowed(const char *text, bool (*may_call)(const char *ip), struct buf *out)
{
    const char *between = "";
    struct text_part item;

    while (text_next_item(&text, &item)) {
        char one[IP_TEXT_MAX + 2];

        snprintf(one, sizeof one, "%.*s", (int)item.len, item.at);
        if (item.len > 0 && (!may_call || may_call(one))) {
            buf_printf(out, "%s%s", between, one);
            between = ",";
        }
    }
}

enum err transfer_find(struct transfer *t, bool (*may_call)(const char *ip), int64_t wait_ms, struct errctx *ec)
{
    const struct wait wait = {t, clock_mono_ms(t->clock) + wait_ms};
    char found[RESOLVER_TEXT_MAX];
    struct buf line = {0};
    size_t head;
    enum err e;

    if (t->host->is_ip)
        return ERR_OK;
    e = resolver_await(t->resolver, t->host->name, may_wait_ms, &wait, found, ec);
    if (e)
        return e;
    buf_printf(&line, "+%s:%d:", t->host->name, t->host->port); /* +: they grow old in libcurl's cache */
    head = line.len;
    put_allowed(found, may_call, &line);
    if (!buf_failed(&line) && line.len == head)
        e = err_set(ec, ERR_LOST, "the name %s leads to addresses that may not be called", t->host->name);
    else if (buf_failed(&line) || !(t->addresses = curl_slist_append(NULL, line.data)))
        e = err_set(ec, ERR_NOMEM, "out of memory for a request");
    buf_fini(&line);
    return e;
}

/* ---- what libcurl calls ------------------------------------------------------------------------------------------ */

static size_t on_answer(char *data, size_t size, size_t count, void *arg)
{
    struct transfer *t = arg;
    size_t len = size * count, room = t->answer_max - t->answer->len;

    t->too_long = len > room; /* and nothing more comes */
    buf_append(t->answer, data, len < room ? len : room);
    return t->too_long ? 0 : len;
}

static int on_progress(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    (void)a, (void)b, (void)c, (void)d;
    return is_stopped(arg);
}

/* Called before libcurl looks a name up by itself. */
static int refuse_look_up(void *state, void *reserved, void *arg)
{
    (void)state, (void)reserved, (void)arg;
    return 1;
}

static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);

    (void)arg, (void)purpose;
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

/* ---- the transfer ------------------------------------------------------------------------------------------------ */

static CURLcode set_options(struct transfer *t, int64_t timeout_ms)
{
    CURLcode r = CURLE_OK;

#define SET(option, value) r = r ? r : curl_easy_setopt(t->easy, option, value)
    SET(CURLOPT_URL, t->url);
    SET(CURLOPT_PROTOCOLS_STR, t->protocols);
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_RESOLVE, t->addresses);
    SET(CURLOPT_RESOLVER_START_FUNCTION, t->host->is_ip ? NULL : refuse_look_up);
    SET(CURLOPT_OPENSOCKETFUNCTION, open_socket);
    SET(CURLOPT_PROXY, "");
    SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_TIMEOUT_MS, (long)timeout_ms);
    SET(CURLOPT_ERRORBUFFER, t->reason);
    SET(CURLOPT_SSL_VERIFYPEER, t->verify ? 1L : 0L);
    SET(CURLOPT_SSL_VERIFYHOST, t->verify ? 2L : 0L);
    SET(CURLOPT_NOPROGRESS, 0L);
    SET(CURLOPT_XFERINFOFUNCTION, on_progress);
    SET(CURLOPT_XFERINFODATA, t);
    SET(CURLOPT_WRITEFUNCTION, on_answer);
    SET(CURLOPT_WRITEDATA, t);
    if (t->ca[0])
        SET(CURLOPT_CAINFO, t->ca);
#undef SET
    return r;
}

CURLcode transfer_run(struct transfer *t, int64_t timeout_ms)
{
    CURLcode r = set_options(t, timeout_ms);
    long status = 0;

    t->reason[0] = '\0';
    t->too_long = false;
    if (!r)
        r = curl_easy_perform(t->easy);
    if (t->too_long)
        r = CURLE_OK;
    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    t->status = (int)status;
    if (!t->reason[0])
        snprintf(t->reason, sizeof t->reason, "%s", curl_easy_strerror(r));
    return r;
}

void transfer_fini(struct transfer *t)
{
    curl_slist_free_all(t->addresses);
    t->addresses = NULL;
}
