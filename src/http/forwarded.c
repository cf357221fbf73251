/* SPDX-License-Identifier: MIT */
/* What reverse proxies say about their clients. Of anybody else's words nothing counts. */
#include "http/message.h"
#include "shardwheel/text.h"

#include <string.h>
#include <strings.h>

/* The part of a list up to the comma, without blanks: false when there is none or it does not fit. */
static bool copy_element(struct text_part item, char *out, size_t size)
{
    item = text_trim_blanks(item);
    if (!item.len || item.len >= size)
        return false;
    memcpy(out, item.at, item.len);
    out[item.len] = '\0';
    return true;
}

/* Some proxies write the port too: 10.0.0.1:4711, [fd00::1]:4711. */
static bool read_address(struct text_part item, struct ip *out)
{
    char text[IP_TEXT_MAX + 10];

    if (!copy_element(item, text, sizeof text))
        return false;
    if (ip_parse(text, out))
        return true;
    char *port = strrchr(text, ':');
    if (!port || strspn(port + 1, ASCII_DIGITS) != strlen(port + 1))
        return false;
    *port = '\0';
    return ip_parse(text, out);
}

/* Seen from the end the list is true up to the first address that is no proxy of ours: that one was written by a proxy
 * of ours, what stands before it by anybody. Read from the start: the last such one counts. */
static void read_chain(const char *list, const struct networks *trusted, struct ip *client, bool *found)
{
    struct text_part item;

    while (text_next_item(&list, &item)) {
        struct ip ip;
        if (!read_address(item, &ip)) {
            *found = false;
        } else if (!*found || !networks_have(trusted, &ip)) {
            *client = ip;
            *found = true;
        }
    }
}

static void get_client(const struct http_request *q, struct ip *out)
{
    static const char name[] = "X-Forwarded-For";
    struct ip client;
    bool found = false;

    *out = q->peer;
    if (!q->trusted)
        return;
    for (const char *list = request_get_header(q, name); list; list = q->get_next_header(list, name))
        read_chain(list, q->trusted, &client, &found);
    if (found)
        *out = client;
}

void request_get_client_address(const struct http_request *q, char out[IP_TEXT_MAX])
{
    struct ip client;

    get_client(q, &client);
    ip_write(&client, out);
}

bool request_is_tls(const struct http_request *q)
{
    const char *proto = q->trusted ? request_get_header(q, "X-Forwarded-Proto") : NULL;
    struct text_part item;
    char first[8];

    if (!proto)
        return q->tls;
    return text_next_item(&proto, &item) && copy_element(item, first, sizeof first) && !strcasecmp(first, "https");
}

static bool is_host(const char *text)
{
    static const char plain[] = ASCII_LETTERS ASCII_DIGITS ".-_:[]";

    return strspn(text, plain) == strlen(text);
}

bool request_get_host(const struct http_request *q, char *out, size_t size)
{
    const char *host = q->trusted ? request_get_header(q, "X-Forwarded-Host") : NULL;
    struct text_part item;

    if (host && text_next_item(&host, &item) && copy_element(item, out, size) && is_host(out))
        return true;
    host = request_get_header(q, "Host");
    return host && copy_element((struct text_part){host, strlen(host)}, out, size) && is_host(out);
}
