/* SPDX-License-Identifier: MIT */
/* The certificate of the server: where it comes from, when it is read again, and what the log says about it. */
#include "node/node_impl.h"

#include "shardwheel/http/tls.h"
#include "shardwheel/text.h"

#include <inttypes.h>

#define LOOK_MS 2000
#define DAY_MS (INT64_C(24) * 3600 * 1000)
#define SOON_MS (14 * DAY_MS)

static void tell_times(struct node *node)
{
    int64_t now_ms = clock_wall_ms(node->clock);
    struct tls_facts facts;
    char until[TIME_TEXT_MAX] = "";

    tls_server_load_facts(node->tls, &facts);
    if (!time_put_text(facts.until_s * 1000, until))
        return;
    node->tls_told_ms = now_ms;
    if (facts.until_s * 1000 <= now_ms)
        log_warn("http", "event=certificate_expired name=%s until=%s effect=\"clients refuse this node\"",
                 log_quote(facts.name).s, until);
    else if (facts.from_s * 1000 > now_ms)
        log_warn("http", "event=certificate_not_valid_yet name=%s effect=\"clients refuse this node until then\"",
                 log_quote(facts.name).s);
    else if (facts.until_s * 1000 - now_ms < SOON_MS)
        log_warn("http", "event=certificate_expires_soon name=%s until=%s", log_quote(facts.name).s, until);
}

static void tell_loaded(struct node *node)
{
    struct tls_facts facts;
    char until[TIME_TEXT_MAX] = "";

    tls_server_load_facts(node->tls, &facts);
    if (!time_put_text(facts.until_s * 1000, until))
        until[0] = '\0';
    log_info("http", "event=certificate_loaded name=%s until=%s", log_quote(facts.name).s, until);
    tell_times(node);
}

enum err node_load_tls(struct node *node, struct errctx *ec)
{
    struct tls_files files;
    enum err e;

    if (!tls_load_files(node->config, &files))
        return ERR_OK;
    e = tls_server_create(&files, &node->tls, ec);
    if (!e)
        tell_loaded(node);
    return e;
}

void node_follow_tls(struct node *node, bool now)
{
    int64_t mono_ms = clock_mono_ms(node->clock);
    struct errctx ec = {0};

    if (!node->tls || (!now && mono_ms < node->tls_mono_ms))
        return;
    node->tls_mono_ms = mono_ms + LOOK_MS;
    switch (tls_server_follow(node->tls, now, &ec)) {
    case TLS_SAME:
        if (clock_wall_ms(node->clock) - node->tls_told_ms > DAY_MS)
            tell_times(node);
        break;
    case TLS_RELOADED: tell_loaded(node); break;
    case TLS_KEPT:
        log_error("http", "event=certificate_kept error=%s effect=\"the old certificate stays in use\"",
                  log_quote(ec.text).s);
        break;
    }
}
