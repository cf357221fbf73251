/* SPDX-License-Identifier: MIT */
#include "http/address.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static enum err resolve(const char *bind_to, int port, struct sockaddr_storage *out, socklen_t *len, struct errctx *ec)
{
    memset(out, 0, sizeof(*out));
    if (!bind_to || !*bind_to) { /* one socket for both families */
        struct sockaddr_in6 *any = (struct sockaddr_in6 *)out;
        any->sin6_family = AF_INET6;
        any->sin6_addr = in6addr_any;
        any->sin6_port = htons((uint16_t)port);
        *len = sizeof(*any);
        return ERR_OK;
    }
    char service[12];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    snprintf(service, sizeof(service), "%d", port);
    int rc = getaddrinfo(bind_to, service, &hints, &found);
    if (rc)
        return err_set(ec, ERR_INPUT, "server address %s: %s", bind_to, gai_strerror(rc));
    memcpy(out, found->ai_addr, found->ai_addrlen);
    *len = found->ai_addrlen;
    freeaddrinfo(found);
    return ERR_OK;
}

static void use_ipv4_any(struct sockaddr_storage *address, socklen_t *len, int port)
{
    memset(address, 0, sizeof(*address));
    struct sockaddr_in *any = (struct sockaddr_in *)address;
    any->sin_family = AF_INET;
    any->sin_port = htons((uint16_t)port);
    *len = sizeof(*any);
}

static int try_bind(const struct sockaddr_storage *address, socklen_t len)
{
    int on = 1, rc = 0;
    int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    /* As the library does: without it, connections of a former run that are still closing would count as "in use". */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, (const struct sockaddr *)address, len) || listen(fd, 1))
        rc = errno;
    close(fd);
    return rc;
}

enum err address_check(const char *bind_to, int port, struct sockaddr_storage *address, socklen_t *len,
                       struct errctx *ec)
{
    enum err e = resolve(bind_to, port, address, len, ec);
    if (e)
        return e;
    int rc = try_bind(address, *len);
    if ((rc == EAFNOSUPPORT || rc == EADDRNOTAVAIL) && (!bind_to || !*bind_to)) {
        use_ipv4_any(address, len, port); /* a machine without IPv6 */
        rc = try_bind(address, *len);
    }
    const char *where = bind_to && *bind_to ? bind_to : "all addresses";
    if (rc == EADDRINUSE)
        return err_set(ec, ERR_BUSY, "port %d (%s) is in use by another process", port, where);
    if (rc == EACCES)
        return err_set(ec, ERR_DENIED, "no right to listen on port %d (%s)", port, where);
    if (rc)
        return err_set(ec, rc == EADDRNOTAVAIL ? ERR_INPUT : ERR_IO, "cannot listen on port %d (%s): %s", port, where,
                       strerror(rc));
    return ERR_OK;
}

void address_format(const struct sockaddr_storage *address, bool any, int port, char *out, size_t size)
{
    char host[64];
    socklen_t len = address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    if (any) {
        snprintf(out, size, address->ss_family == AF_INET6 ? "+%d" : "%d", port);
        return;
    }
    if (getnameinfo((const struct sockaddr *)address, len, host, sizeof(host), NULL, 0, NI_NUMERICHOST))
        strcpy(host, "?");
    snprintf(out, size, address->ss_family == AF_INET6 ? "[%s]:%d" : "%s:%d", host, port);
}

void address_connect_once(const struct sockaddr_storage *address, socklen_t len, int port)
{
    struct sockaddr_storage to = *address;
    struct sockaddr_in *v4 = (struct sockaddr_in *)&to;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&to;
    if (to.ss_family == AF_INET6) {
        v6->sin6_port = htons((uint16_t)port);
        if (IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr))
            v6->sin6_addr = in6addr_loopback;
    } else {
        v4->sin_port = htons((uint16_t)port);
        if (v4->sin_addr.s_addr == htonl(INADDR_ANY))
            v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    }
    int fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    (void)!connect(fd, (struct sockaddr *)&to, len); /* that it was tried is enough */
    close(fd);
}
