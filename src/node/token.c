/* SPDX-License-Identifier: MIT */
/* Access tokens for databases that are new: nobody relies yet on there being none. */
#include "node/node_impl.h"

#include "shardwheel/admin/weak.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TOKEN_BYTES 24
#define TOKEN_KEY "xxl.job.accessToken"

/* Nobody but this user may ever read it; a link in its place is not followed. */
static enum err write_token(const char *path, const char *token, struct errctx *ec)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool ok;

    if (fd < 0)
        return err_set(ec, ERR_IO, "%s: %s", path, strerror(errno));
    ok = dprintf(fd, "%s\n", token) > 0 && fsync(fd) == 0;
    if (close(fd) != 0 || !ok) {
        err_set(ec, ERR_IO, "%s: %s", path, strerror(errno));
        unlink(path);
        return ERR_IO;
    }
    return ERR_OK;
}

enum err node_make_token(struct config *config, struct errctx *ec)
{
    char path[PATH_MAX], token[2 * TOKEN_BYTES + 1];
    enum err e;

    if (strcmp(config_get_source(config, TOKEN_KEY), "default") != 0)
        return ERR_OK; /* said, be it that there is none */
    if (snprintf(path, sizeof path, "%s/" CONFIG_TOKEN_FILE, config->data_dir) >= (int)sizeof path)
        return err_set(ec, ERR_INPUT, "the name of the data folder is too long");
    e = random_hex(token, TOKEN_BYTES, ec);
    if (!e)
        e = write_token(path, token, ec);
    if (!e)
        e = config_take_token(config, token, path, ec);
    explicit_bzero(token, sizeof token);
    if (e)
        return err_wrap(ec, e, TOKEN_KEY);
    log_info("main", "event=access_token_made file=%s effect=\"executors must have it as " TOKEN_KEY "\"",
             log_quote(path).s);
    return ERR_OK;
}

enum err node_propose_token(const struct config *config, struct errctx *ec)
{
    char token[2 * TOKEN_BYTES + 1];
    enum err e;

    if (config->data_dir || !(weak_check_config(config) & (1u << WEAK_TOKEN_EMPTY | 1u << WEAK_TOKEN_DEFAULT)))
        return ERR_OK;
    e = random_hex(token, TOKEN_BYTES, ec);
    if (e)
        return e;
    printf("Nodes and executors should use the same secret token. To set a random one, add this line to the "
           "configuration of\nall of them:\n" TOKEN_KEY "=%s\n",
           token);
    fflush(stdout);
    explicit_bzero(token, sizeof token);
    return ERR_OK;
}
