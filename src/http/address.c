/* SPDX-License-Identifier: MIT */
#include "http/address.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BACKLOG 16384 /* the kernel cuts it to net.core.somaxconn: what does not fit comes again after a second */

static enum err resolve(const char *bind_to, int port, struct sockaddr_storage *out, socklen_t *len, struct errctx *ec)
{
    memset(out, 0, sizeof *out);
    if (!bind_to || !*bind_to) { /* one socket for both families */
        struct sockaddr_in6 *any = (struct sockaddr_in6 *)out;
        any->sin6_family = AF_INET6;
        any->sin6_addr = in6addr_any;
        any->sin6_port = htons((uint16_t)port);
        *len = sizeof *any;
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
    memset(address, 0, sizeof *address);
    struct sockaddr_in *any = (struct sockaddr_in *)address;
    any->sin_family = AF_INET;
    any->sin_port = htons((uint16_t)port);
    *len = sizeof *any;
}

/* The descriptor, or an errno below zero. */
static int try_listen(const struct sockaddr_storage *address, socklen_t len)
{
    int on = 1, off = 0;
    int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -errno;
    /* Without it connections of a former run that are still closing would count as "in use". */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* accepted connections inherit it */
    if (address->ss_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, (const struct sockaddr *)address, len) || listen(fd, BACKLOG)) {
        int rc = errno;
        close(fd);
        return -rc;
    }
    return fd;
}

static int get_port(int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t len = sizeof address;

    if (getsockname(fd, (struct sockaddr *)&address, &len))
        return 0;
    return ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                               : ((struct sockaddr_in *)&address)->sin_port);
}

enum err address_listen(const char *bind_to, int port, int *fd, int *real_port, struct errctx *ec)
{
    struct sockaddr_storage address;
    socklen_t len = 0;
    enum err e = resolve(bind_to, port, &address, &len, ec);

    if (e)
        return e;
    int got = try_listen(&address, len);
    if ((got == -EAFNOSUPPORT || got == -EADDRNOTAVAIL) && (!bind_to || !*bind_to)) {
        use_ipv4_any(&address, &len, port); /* a machine without IPv6 */
        got = try_listen(&address, len);
    }
    const char *where = bind_to && *bind_to ? bind_to : "all addresses";
    if (got == -EADDRINUSE)
        return err_set(ec, ERR_BUSY, "port %d (%s) is in use by another process", port, where);
    if (got == -EACCES)
        return err_set(ec, ERR_DENIED, "no right to listen on port %d (%s)", port, where);
    if (got < 0)
        return err_set(ec, got == -EADDRNOTAVAIL ? ERR_INPUT : ERR_IO, "cannot listen on port %d (%s): %s", port, where,
                       strerror(-got));
    *fd = got;
    *real_port = get_port(got);
    return ERR_OK;
}

enum err address_check(const char *bind_to, int port, struct errctx *ec)
{
    int fd, real_port;
    enum err e = address_listen(bind_to, port, &fd, &real_port, ec);

    if (!e)
        close(fd);
    return e;
}
