/* SPDX-License-Identifier: MIT */
#include "directory/dial.h"

#include "shardwheel/network.h"
#include "shardwheel/text.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* Half of the time that is left for each address, so that one which is silent leaves some for the next. */
static int dial(const struct ip *ip, int port, const struct limit *limit, const char *where, struct errctx *ec)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    bool is_v4 = ip_is_v4(ip);
    int fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error = 0;
    int64_t until_left_ms = limit_left_ms(limit) / 2;
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    socklen_t len = sizeof error;

    memcpy(&four.sin_addr, ip->bytes + 12, 4);
    memcpy(&six.sin6_addr, ip->bytes, 16);
    if (fd < 0)
        error = errno;
    else if (connect(fd, is_v4 ? (struct sockaddr *)&four : (struct sockaddr *)&six, is_v4 ? sizeof four : sizeof six))
        error = errno;
    if (error == EINPROGRESS) {
        int ready = 0;
        while (ready <= 0 && limit_left_ms(limit) > until_left_ms)
            ready = poll(&wait, 1, limit_slice_ms(limit));
        error = ETIMEDOUT;
        if (ready > 0)
            getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
    }
    if (!error)
        return fd;
    if (fd >= 0)
        close(fd);
    (void)err_set(ec, ERR_LOST, "%s: %s", where, strerror(error));
    return -1;
}

int dial_any(const char *addresses, int port, const struct limit *limit, const char *where, struct errctx *ec)
{
    struct text_part item;
    int fd = -1;

    (void)err_set(ec, ERR_LOST, "%s: no address", where);
    while (fd < 0 && limit_left_ms(limit) > 0 && text_next_item(&addresses, &item)) {
        char one[IP_TEXT_MAX + 2];
        struct ip ip;

        snprintf(one, sizeof one, "%.*s", (int)item.len, item.at);
        if (ip_parse(one, &ip))
            fd = dial(&ip, port, limit, where, ec);
    }
    return fd;
}

bool dial_set_blocking(int fd, bool on)
{
    int flags = fcntl(fd, F_GETFL);

    return flags >= 0 && fcntl(fd, F_SETFL, on ? flags & ~O_NONBLOCK : flags | O_NONBLOCK) == 0;
}

bool dial_set_limits(int fd)
{
    const struct timeval second = {.tv_sec = 1};

    return dial_set_blocking(fd, true) && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second) == 0 &&
           setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof second) == 0;
}
