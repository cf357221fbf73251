/* SPDX-License-Identifier: MIT */
#include "http/address.h"
#include "http/console/dialect.h"
#include "http/executor/token.h"
#include "http/server.h"
#include "http/visitor.h"
#include "http/web/files.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STOP_GRACE_MS 2000 /* a callback under way may wait about a second for its commit */

/* "/admin", "admin/" and "//admin" all mean "/admin"; "/" means none. */
static char *copy_context(const char *path)
{
    struct buf out = {0};

    buf_printf(&out, "/%s", path ? path : "");
    if (!buf_failed(&out))
        route_clean_path(out.data, out.data, out.len + 1);
    return buf_take(&out);
}

/* A name as RFC 9110 has it for fields; good for cookies, too. */
static enum err copy_name(const char *name, const char *what, char **out, struct errctx *ec)
{
    if (!*name || name[strcspn(name, "()<>@,;:\\\"/[]?={} \t")])
        return err_set(ec, ERR_INPUT, "%s is not a valid name: %.100s", what, name);
    *out = str_copy(name);
    return *out ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory for the HTTP server");
}

static enum err take_login_opts(struct http *h, const struct http_opts *opts, struct errctx *ec)
{
    const char *header = opts->login_header ? opts->login_header : "";
    enum err e = copy_name(opts->login_cookie ? opts->login_cookie : TOKEN_COOKIE_DEFAULT, "xxl-sso.token.key",
                           &h->login_cookie, ec);

    if (!e && *header)
        e = copy_name(header, "shardwheel.login.proxy-header", &h->login_header, ec);
    if (!e)
        e = networks_parse(opts->login_networks ? opts->login_networks : "", &h->login_networks, ec);
    h->opts.login_cookie = h->login_cookie;
    h->opts.login_header = h->login_header;
    h->opts.login_networks = NULL;
    return e;
}

/* A node without a console runs on: its pages say how to build one. */
static void load_web(struct http *h)
{
    char program[1000];
    ssize_t len = readlink("/proc/self/exe", program, sizeof program - 1);
    struct buf dir = {0};
    struct errctx ec;

    program[len > 0 ? len : 0] = '\0';
    if (!web_find_dir(h->opts.web_dir, program, &dir))
        log_info("http", "event=console_absent effect=\"its pages say how to build it: tools/web build\"");
    else if (buf_failed(&dir))
        log_warn("http", "event=console_not_loaded error=\"out of memory\"");
    else if (web_load(dir.data, &h->web, &ec))
        log_warn("http", "event=console_not_loaded dir=%s error=%s effect=\"its pages say how to build it\"",
                 log_quote(dir.data).s, log_quote(ec.text).s);
    else
        log_info("http", "event=console_loaded dir=%s files=%zu kib=%zu", log_quote(dir.data).s,
                 web_count_files(h->web), web_count_bytes(h->web) / 1024);
    buf_fini(&dir);
    h->opts.web_dir = NULL;
}

enum err http_create(const struct http_opts *opts, const struct clock *clock, struct counters *counters,
                     struct http **out, struct errctx *ec)
{
    enum err e = address_check(opts->bind, opts->port, ec);
    if (e)
        return e;
    struct http *h = calloc(1, sizeof *h);
    if (!h)
        return err_set(ec, ERR_NOMEM, "out of memory for the HTTP server");
    h->opts = *opts;
    h->generation = dialect_of_family(opts->generation);
    h->clock = clock;
    h->counters = counters;
    load_web(h);
    h->bind = str_copy(opts->bind);
    h->context = copy_context(opts->context_path);
    progress_init(&h->progress);
    h->opts.bind = h->bind;
    h->opts.context_path = h->context;
    h->opts.trusted_networks = NULL;
    e = networks_parse(opts->trusted_networks ? opts->trusted_networks : "", &h->trusted, ec);
    if (!e)
        e = take_login_opts(h, opts, ec);
    if (!e && ((opts->bind && !h->bind) || !h->context))
        e = err_set(ec, ERR_NOMEM, "out of memory for the HTTP server");
    if (e) {
        http_destroy(h);
        return e;
    }
    *out = h;
    return ERR_OK;
}

/* Executors that beat may be among those who were turned away. */
static void note_overload(void *arg)
{
    struct http *h = arg;

    registry_note_missed(h->opts.registry);
}

enum err http_start(struct http *h, struct errctx *ec)
{
    struct front_opts opts = {
        .bind = h->bind,
        .port = h->opts.port,
        .threads = h->opts.threads,
        .waits = h->opts.waits,
        .max_body = h->opts.max_body,
        .tls = h->opts.tls,
        .hsts_s = h->opts.hsts_ms / 1000,
        .trusted = h->trusted,
        .admit = http_admit,
        .handle = http_handle,
        .write_busy = http_write_busy,
        .on_overload = note_overload,
        .arg = h,
    };
    enum err e = front_start(&opts, h->clock, h->counters, &h->front, ec);

    if (!e)
        token_log_rule(h);
    return e;
}

int http_get_port(const struct http *h)
{
    return h->front ? front_get_port(h->front) : h->opts.port;
}

void http_stop(struct http *h)
{
    atomic_store_explicit(&h->stopping, true, memory_order_relaxed);
    if (h->front)
        front_stop(h->front, STOP_GRACE_MS);
}

void http_destroy(struct http *h)
{
    if (!h)
        return;
    front_destroy(h->front);
    web_destroy(h->web);
    progress_fini(&h->progress);
    networks_destroy(h->trusted);
    networks_destroy(h->login_networks);
    free(h->login_cookie);
    free(h->login_header);
    free(h->context);
    free(h->bind);
    free(h);
}
