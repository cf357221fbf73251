/* SPDX-License-Identifier: MIT */
#include "shardwheel/network.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define V4_BITS 96 /* of the prefix of those of version 4 */

struct network {
    struct ip ip;
    int bits; /* 0..128 */
    bool is_v4;
    bool out;
};

struct networks {
    size_t count;
    struct network entries[NETWORKS_MAX];
};

static const unsigned char v4_prefix[12] = {[10] = 0xff, [11] = 0xff};

/* ---- addresses --------------------------------------------------------------------------------------------------- */

static void set_v4(struct ip *out, const void *bytes)
{
    memcpy(out->bytes, v4_prefix, sizeof v4_prefix);
    memcpy(out->bytes + sizeof v4_prefix, bytes, 4);
}

bool ip_parse(const char *text, struct ip *out)
{
    char bare[IP_TEXT_MAX];
    size_t len = strlen(text);
    unsigned char v4[4];
    struct ip ip;

    if (inet_pton(AF_INET, text, v4) == 1) {
        set_v4(out, v4);
        return true;
    }
    if (len > 2 && len - 2 < sizeof bare && text[0] == '[' && text[len - 1] == ']') {
        memcpy(bare, text + 1, len - 2);
        bare[len - 2] = '\0';
        text = bare;
    }
    if (inet_pton(AF_INET6, text, ip.bytes) != 1)
        return false;
    *out = ip;
    return true;
}

bool ip_from_socket(const struct sockaddr *address, struct ip *out)
{
    if (address->sa_family == AF_INET)
        set_v4(out, &((const struct sockaddr_in *)address)->sin_addr);
    else if (address->sa_family == AF_INET6)
        memcpy(out->bytes, &((const struct sockaddr_in6 *)address)->sin6_addr, sizeof out->bytes);
    else
        return false;
    return true;
}

bool ip_is_v4(const struct ip *ip)
{
    return !memcmp(ip->bytes, v4_prefix, sizeof v4_prefix);
}

void ip_write(const struct ip *ip, char out[IP_TEXT_MAX])
{
    bool v4 = ip_is_v4(ip);

    if (!inet_ntop(v4 ? AF_INET : AF_INET6, ip->bytes + (v4 ? sizeof v4_prefix : 0), out, IP_TEXT_MAX))
        *out = '\0';
}

bool ip_find_inner(const struct ip *ip, struct ip *out)
{
    static const unsigned char nat64[12] = {0, 0x64, 0xff, 0x9b}, compatible[12];

    if (!memcmp(ip->bytes, nat64, sizeof nat64) ||
        (!memcmp(ip->bytes, compatible, sizeof compatible) && (ip->bytes[12] || ip->bytes[13])))
        set_v4(out, ip->bytes + 12);
    else if (ip->bytes[0] == 0x20 && ip->bytes[1] == 0x02)
        set_v4(out, ip->bytes + 2);
    else
        return false;
    return true;
}

bool ip_has_prefix(const struct ip *ip, const struct ip *prefix, int bits)
{
    size_t whole = (size_t)bits / 8;
    unsigned char rest = (unsigned char)(0xff00 >> (bits % 8));

    return !memcmp(ip->bytes, prefix->bytes, whole) &&
           (bits % 8 == 0 || !((ip->bytes[whole] ^ prefix->bytes[whole]) & rest));
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

static bool has_bits_beyond(const struct network *n)
{
    for (int bit = n->bits; bit < 128; bit++) {
        if (n->ip.bytes[bit / 8] & (0x80 >> (bit % 8)))
            return true;
    }
    return false;
}

/* NULL, or what is wrong with it. Changes the text. */
static const char *read_entry(char *text, struct network *out)
{
    int64_t bits;
    char *slash;

    out->out = *text == '!';
    text += out->out;
    slash = strchr(text, '/');
    if (slash)
        *slash++ = '\0';
    if (!ip_parse(text, &out->ip))
        return "is not an IP address or a network such as 10.0.0.0/8";
    bool short_form = !strchr(text, ':');
    out->is_v4 = ip_is_v4(&out->ip);
    out->bits = 128;
    if (slash && (strspn(slash, ASCII_DIGITS) != strlen(slash) || !parse_int(slash, 0, short_form ? 32 : 128, &bits)))
        return short_form ? "needs a number from 0 to 32 after the /" : "needs a number from 0 to 128 after the /";
    if (slash)
        out->bits = (int)bits + (short_form ? V4_BITS : 0);
    if (out->is_v4 && out->bits < V4_BITS)
        return "is neither of version 4 nor of version 6";
    return has_bits_beyond(out) ? "has bits set after its prefix" : NULL;
}

static enum err read_list(char *text, struct networks *n, struct errctx *ec)
{
    static const char parting[] = ", \t\r\n";
    char *next = text, *entry;

    while ((entry = strsep(&next, parting))) {
        if (!*entry)
            continue;
        struct log_text shown = log_quote(entry); /* read_entry cuts it to pieces */
        if (n->count == NETWORKS_MAX)
            return err_set(ec, ERR_INPUT, "more than %d networks", NETWORKS_MAX);
        const char *why = read_entry(entry, &n->entries[n->count]);
        if (why)
            return err_set(ec, ERR_INPUT, "%s %s", shown.s, why);
        n->count++;
    }
    return ERR_OK;
}

enum err networks_parse(const char *text, struct networks **out, struct errctx *ec)
{
    struct networks *n = calloc(1, sizeof *n);
    char *copy = str_copy(text);
    enum err e = n && copy ? read_list(copy, n, ec) : err_set(ec, ERR_NOMEM, "out of memory for networks");

    free(copy);
    if (e) {
        networks_destroy(n);
        return e;
    }
    *out = n;
    return ERR_OK;
}

void networks_destroy(struct networks *n)
{
    free(n);
}

bool networks_have_entries_in(const struct networks *n)
{
    for (size_t i = 0; n && i < n->count; i++) {
        if (!n->entries[i].out)
            return true;
    }
    return false;
}

enum networks_verdict networks_look_up(const struct networks *n, const struct ip *ip, int *bits)
{
    const struct network *best = NULL;
    bool v4 = ip_is_v4(ip);

    for (size_t i = 0; n && i < n->count; i++) {
        const struct network *entry = &n->entries[i];
        if (entry->is_v4 != v4 || !ip_has_prefix(ip, &entry->ip, entry->bits))
            continue;
        if (!best || entry->bits > best->bits || (entry->bits == best->bits && entry->out))
            best = entry;
    }
    if (bits)
        *bits = best ? best->bits : 0;
    return !best ? NETWORKS_NONE : best->out ? NETWORKS_OUT : NETWORKS_IN;
}

bool networks_have(const struct networks *n, const struct ip *ip)
{
    return networks_look_up(n, ip, NULL) == NETWORKS_IN;
}
