/* SPDX-License-Identifier: MIT */
#include "executor/plain_address.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#define SCHEME "http://"
#define DEFAULT_PORT 80

static bool copy_host(const char *from, const char *to, char out[INET6_ADDRSTRLEN])
{
    size_t len = (size_t)(to - from);

    if (len >= INET6_ADDRSTRLEN)
        return false;
    memcpy(out, from, len);
    out[len] = '\0';
    return true;
}

/* One to five digits up to the end, no zero before them. 0: it is none. */
static unsigned parse_port(const char *from, const char *to)
{
    unsigned port = 0;

    if (from == to || to - from > 5 || *from == '0')
        return 0;
    for (; from < to; from++) {
        if (*from < '0' || *from > '9')
            return 0;
        port = port * 10 + (unsigned)(*from - '0');
    }
    return port <= UINT16_MAX ? port : 0;
}

static bool parse_ip(const char *from, const char *to, unsigned port, struct plain_address *out)
{
    char ip[INET6_ADDRSTRLEN];

    if (*from == '[') {
        if (to - from < 3 || to[-1] != ']' || !copy_host(from + 1, to - 1, ip))
            return false;
        out->socket.v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
        out->socket_len = sizeof out->socket.v6;
        return inet_pton(AF_INET6, ip, &out->socket.v6.sin6_addr) == 1;
    }
    if (!copy_host(from, to, ip))
        return false;
    out->socket.v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    out->socket_len = sizeof out->socket.v4;
    return inet_pton(AF_INET, ip, &out->socket.v4.sin_addr) == 1;
}

static bool is_plain_path(const char *path, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char c = path[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     (c && strchr("/-_~!$&'()*+,;=:", c)) || (c == '.' && i > 0 && path[i - 1] != '/');
        if (!plain)
            return false;
    }
    return true;
}

bool plain_address_parse(const char *address, struct plain_address *out)
{
    const char *host = address + strlen(SCHEME), *path, *ip_end;
    unsigned port = DEFAULT_PORT;
    size_t path_len;

    if (strncasecmp(address, SCHEME, strlen(SCHEME)) != 0)
        return false;
    path = host + strcspn(host, "/");
    if (path == host)
        return false;
    ip_end = *host == '[' ? memchr(host, ']', (size_t)(path - host)) : memchr(host, ':', (size_t)(path - host));
    if (*host == '[')
        ip_end = ip_end ? ip_end + 1 : path;
    else if (!ip_end)
        ip_end = path;
    if (ip_end < path) {
        port = *ip_end == ':' ? parse_port(ip_end + 1, path) : 0;
        if (!port)
            return false;
    }
    path_len = strlen(path);
    if (path_len > 0 && path[path_len - 1] == '/')
        path_len--;
    if (!parse_ip(host, ip_end, port, out) || !is_plain_path(path, path_len))
        return false;
    out->host = host;
    out->host_len = (size_t)((port == DEFAULT_PORT ? ip_end : path) - host);
    out->path = path;
    out->path_len = path_len;
    return true;
}
