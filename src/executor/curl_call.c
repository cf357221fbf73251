/* SPDX-License-Identifier: MIT */
#include "executor/curl_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "executor/http_reader.h"
#include "executor/reasons.h"
#include "shardwheel/executor/networks.h"

#define READ_BUFFER 8192L
#define BODY_KEPT_MAX (16 * (size_t)READ_BUFFER) /* memory that a call keeps for its next answer */
#define CA_CACHE_S 60L                           /* a file of authorities that was replaced counts after so long */

/* ---- what libcurl calls ------------------------------------------------------------------------------------------ */

static size_t on_body(char *data, size_t size, size_t count, void *arg)
{
    struct curl_call *call = arg;
    size_t len = size * count;

    if (len > HTTP_ANSWER_MAX - call->body.len) {
        call->too_long = true;
        if (call->takes_start)
            buf_append(&call->body, data, HTTP_ANSWER_MAX - call->body.len);
        return 0;
    }
    buf_append(&call->body, data, len);
    return buf_failed(&call->body) ? 0 : len;
}

static size_t on_header(char *line, size_t size, size_t count, void *arg)
{
    static const char name[] = "Keep-Alive:";
    struct curl_call *call = arg;
    size_t len = size * count;

    while (len > 0 && (line[len - 1] == '\r' || line[len - 1] == '\n'))
        len--;
    if (len >= sizeof name - 1 && strncasecmp(line, name, sizeof name - 1) == 0)
        call->idle_s = http_read_keep_alive(line + sizeof name - 1, len - (sizeof name - 1));
    return size * count;
}

static int on_before_write(void *arg, char *peer, char *local, int peer_port, int local_port)
{
    struct curl_call *call = arg;

    (void)peer, (void)local, (void)peer_port, (void)local_port;
    if (call->writes > 0)
        return CURL_PREREQFUNC_ABORT;
    if (call->may_send && !call->may_send(call->arg)) {
        call->refused = true;
        return CURL_PREREQFUNC_ABORT;
    }
    call->writes++;
    return CURL_PREREQFUNC_OK;
}

/* Called before libcurl looks a name up by itself. */
static int refuse_look_up(void *resolver, void *reserved, void *arg)
{
    (void)resolver, (void)reserved, (void)arg;
    return 1;
}

/* The address is the one that libcurl connects to, whatever the host's name meant when somebody saved it. */
static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct curl_call *call = arg;
    struct ip ip;

    (void)purpose;
    if (ip_from_socket(&address->addr, &ip) && !executor_networks_allow(call->sockets->networks, &ip)) {
        call->forbidden = true;
        return CURL_SOCKET_BAD;
    }
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (fd >= 0 && !poller_adopt(call->sockets->poller, fd)) {
        close(fd);
        fd = -1;
    }
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static int close_socket(void *arg, curl_socket_t fd)
{
    const struct curl_sockets *sockets = arg;

    poller_forget(sockets->poller, fd);
    return close(fd);
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

void curl_call_destroy(struct curl_call *call)
{
    if (!call)
        return;
    curl_easy_cleanup(call->easy);
    curl_slist_free_all(call->headers);
    curl_slist_free_all(call->addresses);
    buf_fini(&call->body);
    free(call);
}

static bool set_options_once(struct curl_call *call)
{
    CURL *e = call->easy;
    CURLcode r = CURLE_OK;

#define SET(option, value) (r = r ? r : curl_easy_setopt(e, option, value))
    SET(CURLOPT_PRIVATE, call);
    SET(CURLOPT_POST, 1L);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_NOPROXY, "*");
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_TCP_NODELAY, 1L);
    SET(CURLOPT_BUFFERSIZE, READ_BUFFER);
    SET(CURLOPT_KEYPASSWD, ""); /* else OpenSSL asks the terminal for the password of a key */
    SET(CURLOPT_CA_CACHE_TIMEOUT, CA_CACHE_S);
    SET(CURLOPT_ERRORBUFFER, call->error);
    SET(CURLOPT_WRITEFUNCTION, on_body);
    SET(CURLOPT_WRITEDATA, call);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, call);
    SET(CURLOPT_PREREQFUNCTION, on_before_write);
    SET(CURLOPT_PREREQDATA, call);
    SET(CURLOPT_OPENSOCKETFUNCTION, open_socket);
    SET(CURLOPT_OPENSOCKETDATA, call);
    SET(CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    SET(CURLOPT_CLOSESOCKETDATA, call->sockets);
#undef SET
    return r == CURLE_OK;
}

struct curl_call *curl_call_create(const struct curl_sockets *sockets)
{
    struct curl_call *call = calloc(1, sizeof *call);

    if (!call)
        return NULL;
    call->sockets = sockets;
    call->easy = curl_easy_init();
    if (!call->easy || !set_options_once(call)) {
        curl_call_destroy(call);
        return NULL;
    }
    return call;
}

bool curl_call_clear(struct curl_call *call)
{
    curl_slist_free_all(call->headers);
    curl_slist_free_all(call->addresses);
    call->headers = call->addresses = NULL;
    if (call->body.cap > BODY_KEPT_MAX)
        return false;
    buf_clear(&call->body);
    return true;
}

/* ---- what is asked ----------------------------------------------------------------------------------------------- */

static bool add_header(struct curl_call *call, const char *line)
{
    struct curl_slist *grown = curl_slist_append(call->headers, line);

    if (grown)
        call->headers = grown;
    return grown != NULL;
}

/* libcurl wants each without its line end. */
static bool add_lines(struct curl_call *call, const char *lines, size_t len)
{
    struct buf line = {0};
    bool ok = true;

    while (ok && len > 0) {
        const char *end = memmem(lines, len, "\r\n", 2);
        size_t size = end ? (size_t)(end - lines) : len;
        size_t step = end ? size + 2 : size;

        buf_clear(&line);
        buf_append(&line, lines, size);
        ok = !buf_failed(&line) && add_header(call, line.data);
        lines += step;
        len -= step;
    }
    buf_fini(&line);
    return ok;
}

/* libcurl cuts the age of a connection down to seconds, and takes an age of 0 for none: so a second less, and a
 * connection of its own for each request where that leaves nothing. */
static CURLcode set_idle(CURL *e, int idle_s)
{
    long fresh = idle_s <= 1;
    CURLcode r = CURLE_OK;

#define SET(option, value) (r = r ? r : curl_easy_setopt(e, option, value))
    SET(CURLOPT_FRESH_CONNECT, fresh);
    SET(CURLOPT_FORBID_REUSE, fresh);
    SET(CURLOPT_MAXAGE_CONN, fresh ? 1L : (long)idle_s - 1);
#undef SET
    return r;
}

/* NULL for "", which libcurl takes for nothing given. */
static const char *or_null(const char *text)
{
    return text && text[0] ? text : NULL;
}

/* libcurl uses a connection again only for the same settings. */
static CURLcode set_tls(CURL *e, const struct http_tls *tls)
{
    static const struct http_tls none = {.verify = true};
    char *file = NULL, *folder = NULL; /* of the system's authorities */
    CURLcode r = curl_easy_getinfo(e, CURLINFO_CAINFO, &file);

    if (!tls)
        tls = &none;
    r = r ? r : curl_easy_getinfo(e, CURLINFO_CAPATH, &folder);
#define SET(option, value) (r = r ? r : curl_easy_setopt(e, option, value))
    SET(CURLOPT_SSL_VERIFYPEER, tls->verify ? 1L : 0L);
    SET(CURLOPT_SSL_VERIFYHOST, tls->verify ? 2L : 0L);
    SET(CURLOPT_CAINFO, or_null(tls->ca) ? tls->ca : file);
    SET(CURLOPT_CAPATH, or_null(tls->ca) ? NULL : folder);
    SET(CURLOPT_SSLCERT, or_null(tls->cert));
    SET(CURLOPT_SSLKEY, or_null(tls->key));
#undef SET
    return r;
}

bool curl_call_set_request(struct curl_call *call, const struct http_request *request, const char *url)
{
    CURL *e = call->easy;
    CURLcode r = CURLE_OK;

    if (!add_lines(call, request->headers, request->headers_len))
        return false;
    if (!add_header(call, "Expect:") || !add_header(call, "Accept:")) /* libcurl sends neither then */
        return false;
#define SET(option, value) (r = r ? r : curl_easy_setopt(e, option, value))
    SET(CURLOPT_URL, url);
    SET(CURLOPT_HTTPHEADER, call->headers);
    SET(CURLOPT_POSTFIELDS, request->body);
    SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_len);
#undef SET
    r = r ? r : set_idle(e, call->peer->idle_s);
    if (strncasecmp(url, "https:", 6) == 0)
        r = r ? r : set_tls(e, request->tls);
    call->error[0] = '\0';
    call->idle_s = HTTP_IDLE_MAX_S;
    call->takes_start = request->takes_start;
    call->too_long = false;
    call->writes = 0;
    call->refused = false;
    call->forbidden = false;
    call->may_send = request->may_send;
    call->done = request->done;
    call->arg = request->arg;
    return r == CURLE_OK;
}

/* ---- whom -------------------------------------------------------------------------------------------------------- */

FINI_BY(free, curl_peer, host)

enum err curl_peer_learn(struct curl_peer *peer, const char *url)
{
    CURLU *parts = curl_url();
    char *host = NULL, *port = NULL;
    CURLUcode r = parts ? CURLUE_OK : CURLUE_OUT_OF_MEMORY;
    int64_t number;

    r = r ? r : curl_url_set(parts, CURLUPART_URL, url, CURLU_GUESS_SCHEME | CURLU_NON_SUPPORT_SCHEME);
    r = r ? r : curl_url_get(parts, CURLUPART_HOST, &host, 0);
    r = r ? r : curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
    if (!r && (host[0] == '[' || host_is_ip(host))) {
        peer->kind = CURL_HOST_IP;
    } else if (!r && parse_int(port, 1, UINT16_MAX, &number)) {
        peer->host = str_copy(host);
        peer->port = (int)number;
        peer->kind = peer->host ? CURL_HOST_NAME : CURL_HOST_UNKNOWN;
    } else if (r != CURLUE_OUT_OF_MEMORY) {
        peer->kind = CURL_HOST_NONE;
    }
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(parts);
    return peer->kind == CURL_HOST_UNKNOWN ? ERR_NOMEM : ERR_OK;
}

/* `addresses`: NULL where none are needed. */
static bool set_addresses(struct curl_call *call, const char *addresses)
{
    struct buf line = {0};

    if (!addresses)
        return true;
    buf_printf(&line, "+%s:%d:%s", call->peer->host, call->peer->port,
               addresses); /* +: they grow old in libcurl's cache */
    if (!buf_failed(&line))
        call->addresses = curl_slist_append(NULL, line.data);
    buf_fini(&line);
    return call->addresses != NULL;
}

bool curl_call_set_way(struct curl_call *call, const char *addresses, int64_t timeout_ms)
{
    bool is_ip = call->peer->kind == CURL_HOST_IP;
    CURLcode r = CURLE_OK;

    if (!set_addresses(call, addresses))
        return false;
#define SET(option, value) (r = r ? r : curl_easy_setopt(call->easy, option, value))
    SET(CURLOPT_RESOLVE, call->addresses);
    SET(CURLOPT_RESOLVER_START_FUNCTION, is_ip ? NULL : refuse_look_up);
    SET(CURLOPT_TIMEOUT_MS, (long)timeout_ms);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)timeout_ms);
#undef SET
    return r == CURLE_OK;
}

/* ---- what came of it --------------------------------------------------------------------------------------------- */

/* What went wrong with TLS, with libcurl's words. They have no numbers of their own. */
static const char *explain_tls(const struct curl_call *call, const char *what, struct curl_reason *out)
{
    snprintf(out->text, sizeof out->text, "%s: %s", what, call->error[0] ? call->error : "the reason is not known");
    return out->text;
}

static const char *explain_unreached(const struct curl_call *call, CURLcode result, struct curl_reason *buf)
{
    static const struct {
        CURLcode result;
        const char *text;
    } of_tls[] = {
        {CURLE_PEER_FAILED_VERIFICATION, "the executor's certificate is refused"},
        {CURLE_SSL_CONNECT_ERROR, "the TLS handshake failed"},
        {CURLE_SSL_CACERT_BADFILE, "shardwheel.executor.tls.ca cannot be used"},
        {CURLE_SSL_CERTPROBLEM, "shardwheel.executor.tls.cert or key cannot be used"},
    };
    CURL *easy = call->easy;
    long number = 0;

    for (size_t i = 0; i < ARRAY_LEN(of_tls); i++)
        if (result == of_tls[i].result)
            return explain_tls(call, of_tls[i].text, buf);

    if (call->forbidden)
        return EXECUTOR_FORBIDDEN_TEXT;
    if (result == CURLE_OPERATION_TIMEDOUT)
        return REASON_LATE_TO_CONNECT;
    if (result == CURLE_COULDNT_CONNECT && curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &number) == CURLE_OK && number) {
        return reason_of_errno((int)number);
    }
    return curl_easy_strerror(result);
}

static void explain(const struct curl_call *call, CURLcode result, struct curl_reason *buf, struct http_answer *out)
{
    out->written = call->writes > 0;
    if (call->refused) {
        out->outcome = HTTP_REFUSED;
        out->reason = REASON_REFUSED;
    } else if (!out->written) {
        out->outcome = HTTP_UNREACHED;
        out->reason = explain_unreached(call, result, buf);
    } else if (result == CURLE_OPERATION_TIMEDOUT) {
        out->outcome = HTTP_TIMEOUT;
        out->reason = REASON_LATE;
    } else if (call->too_long) {
        out->outcome = HTTP_BAD_ANSWER;
        out->reason = REASON_TOO_LONG;
    } else if (result == CURLE_UNSUPPORTED_PROTOCOL || result == CURLE_WEIRD_SERVER_REPLY ||
               result == CURLE_WRITE_ERROR) {
        out->outcome = HTTP_BAD_ANSWER;
        out->reason = REASON_NO_HTTP;
    } else {
        /* Also where libcurl was about to repeat the request: refused by us, or its new connection failed. */
        out->outcome = HTTP_CLOSED;
        out->reason = call->body.len > 0 ? REASON_HALF_ANSWER : REASON_NO_ANSWER;
        if (strstr(call->error, " alert ")) /* with TLS 1.3 a peer says after the first write that it refuses ours */
            out->reason = explain_tls(call, out->reason, buf);
    }
}

/* Of an answer that is too long. */
static bool has_start(const struct curl_call *call)
{
    return call->too_long && call->takes_start && !buf_failed(&call->body);
}

void curl_call_get_answer(struct curl_call *call, CURLcode result, struct curl_reason *buf, struct http_answer *out)
{
    long status = 0;

    *out = (struct http_answer){0};
    if ((result == CURLE_OK || has_start(call)) &&
        curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK) {
        out->outcome = HTTP_ANSWERED;
        out->written = true;
        out->status = (int)status;
        out->cut = call->too_long;
        call->peer->idle_s = call->idle_s;
    } else {
        explain(call, result, buf, out);
    }
    out->body = call->body.data ? call->body.data : "";
    out->len = call->body.len;
}
