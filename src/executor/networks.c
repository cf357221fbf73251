/* SPDX-License-Identifier: MIT */
#include "shardwheel/executor/networks.h"

#include "shardwheel/text.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

struct executor_networks {
    struct networks *given;
};

struct denied {
    struct ip ip;
    int bits;
};

#define V4(a, b, c, d, bits)                                                                                           \
    {                                                                                                                  \
        {{[10] = 0xff, [11] = 0xff, [12] = (a), [13] = (b), [14] = (c), [15] = (d)}}, 96 + (bits)                      \
    }

static const struct denied built_in[] = {
    V4(0, 0, 0, 0, 8),                                 /* this host, by a detour */
    V4(169, 254, 0, 0, 16),                            /* link-local; 169.254.169.254 has metadata in most clouds */
    V4(100, 100, 100, 200, 32),                        /* metadata of Alibaba Cloud */
    V4(192, 0, 0, 192, 32),                            /* of Oracle Cloud */
    V4(168, 63, 129, 16, 32),                          /* of Azure's machines */
    V4(224, 0, 0, 0, 4),                               /* multicast */
    V4(255, 255, 255, 255, 32),                        /* everybody */
    {{{0}}, 128},                                      /* :: */
    {{{0xfe, 0x80}}, 10},                              /* link-local */
    {{{0xff}}, 8},                                     /* multicast */
    {{{0xfd, 0x00, 0x0e, 0xc2, [14] = 2, 0x54}}, 128}, /* fd00:ec2::254, metadata of AWS */
    {{{0xfd, 0x20, 0x00, 0xce, [14] = 2, 0x54}}, 128}, /* fd20:ce::254, of Google Cloud */
};

/* ---- rules ------------------------------------------------------------------------------------------------------- */

enum err executor_networks_create(const char *text, struct executor_networks **out, struct errctx *ec)
{
    struct executor_networks *n = calloc(1, sizeof *n);
    enum err e = n ? networks_parse(text, &n->given, ec) : err_set(ec, ERR_NOMEM, "out of memory for networks");

    if (e) {
        executor_networks_destroy(n);
        return e;
    }
    *out = n;
    return ERR_OK;
}

void executor_networks_destroy(struct executor_networks *n)
{
    if (!n)
        return;
    networks_destroy(n->given);
    free(n);
}

/* Length of the built-in prefix that refuses it; 0: none does. */
static int find_built_in(const struct ip *ip)
{
    for (size_t i = 0; i < ARRAY_LEN(built_in); i++) {
        if (ip_has_prefix(ip, &built_in[i].ip, built_in[i].bits))
            return built_in[i].bits;
    }
    return 0;
}

/* NULL, or why not. */
static const char *find_refusal(const struct executor_networks *n, const struct ip *ip)
{
    static const char special[] = "is a link-local, metadata or multicast address";
    static const char outside[] = "is not in a network that shardwheel.executor.networks allows";
    const struct networks *given = n ? n->given : NULL;
    int given_bits;
    enum networks_verdict verdict = networks_look_up(given, ip, &given_bits);
    int bits = find_built_in(ip);
    struct ip inner;

    if (verdict == NETWORKS_OUT)
        return outside;
    if (bits && (verdict == NETWORKS_NONE || given_bits < bits))
        return special;
    if (verdict == NETWORKS_NONE && networks_have_entries_in(given))
        return outside;
    if (!ip_find_inner(ip, &inner))
        return NULL;
    /* Who lets the outer one in may not have thought of what is within. */
    bits = find_built_in(&inner);
    verdict = networks_look_up(given, &inner, &given_bits);
    return verdict == NETWORKS_OUT ? outside : bits && (!verdict || given_bits < bits) ? special : NULL;
}

bool executor_networks_allow(const struct executor_networks *n, const struct ip *ip)
{
    return !find_refusal(n, ip);
}

/* ---- addresses --------------------------------------------------------------------------------------------------- */

/* The host between scheme or user name and port or path. */
static size_t find_host(const char *address, size_t len, const char **host)
{
    const char *end = address + len, *scheme = memmem(address, len, "://", 3);
    const char *from = scheme ? scheme + 3 : address, *to = from, *at;

    while (to < end && !strchr("/?#\\", *to))
        to++;
    at = memrchr(from, '@', (size_t)(to - from));
    from = at ? at + 1 : from;
    *host = from;
    if (from < to && *from == '[') {
        const char *close = memchr(from, ']', (size_t)(to - from));
        return close ? (size_t)(close + 1 - from) : (size_t)(to - from);
    }
    const char *colon = memchr(from, ':', (size_t)(to - from));
    return (size_t)((colon ? colon : to) - from);
}

/* Also the spellings that systems take for IPs: 2130706433, 0x7f.1, fe80::1%eth0. */
static bool read_ip(const char *host, size_t len, struct ip *out)
{
    char text[200];
    struct sockaddr_in old = {.sin_family = AF_INET};

    if (!len || len >= sizeof text)
        return false;
    memcpy(text, host, len);
    text[len] = '\0';
    char *zone = strchr(text, '%');
    if (zone)
        strcpy(zone, text[0] == '[' ? "]" : "");
    if (ip_parse(text, out))
        return true;
    return inet_aton(text, &old.sin_addr) && ip_from_socket((struct sockaddr *)&old, out);
}

static enum err refuse_one(const char *address, size_t len, const char *why, char refused[EXECUTOR_ADDRESS_SHOWN],
                           struct errctx *ec)
{
    char shown[EXECUTOR_ADDRESS_SHOWN];
    size_t size = utf8_cut(address, len, sizeof shown - 1);

    memcpy(shown, address, size);
    shown[size] = '\0';
    if (refused)
        memcpy(refused, shown, sizeof shown);
    return err_set(ec, ERR_INPUT, "%s %s", shown, why);
}

enum err executor_networks_check_list(const struct executor_networks *n, const char *list,
                                      char refused[EXECUTOR_ADDRESS_SHOWN], struct errctx *ec)
{
    struct text_part address;

    while (text_next_item(&list, &address)) {
        address = text_trim_part(address);
        const char *host;
        size_t host_len = find_host(address.at, address.len, &host);
        struct ip ip;
        const char *why = read_ip(host, host_len, &ip) ? find_refusal(n, &ip) : NULL;
        if (why)
            return refuse_one(address.at, address.len, why, refused, ec);
    }
    return ERR_OK;
}
