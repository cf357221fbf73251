/* SPDX-License-Identifier: MIT */
#include "shardwheel/base.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum err file_read_rest(int fd, size_t max, struct buf *out, struct errctx *ec)
{
    char chunk[16 * 1024];
    ssize_t n = 0;
    int error;

    while (out->len <= max && !buf_failed(out)) {
        n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        buf_append(out, chunk, (size_t)n);
    }
    error = errno;
    explicit_bzero(chunk, sizeof chunk); /* it may be a secret */
    if (n < 0)
        return err_set(ec, ERR_IO, "%s", strerror(error));
    return buf_failed(out) ? err_set(ec, ERR_NOMEM, "out of memory") : ERR_OK;
}

enum err file_read(const char *path, int flags, size_t max, struct buf *out, struct errctx *ec)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
    enum err e;

    if (fd < 0)
        return err_set(ec, errno == ENOENT || errno == ENOTDIR ? ERR_NOTFOUND : ERR_IO, "%s", strerror(errno));
    buf_puts(out, "");
    e = file_read_rest(fd, max, out, ec);
    close(fd);
    return e;
}
