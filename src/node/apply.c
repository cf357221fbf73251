/* SPDX-License-Identifier: MIT */
/* Settings that may change while the node runs. */
#include "node/node_impl.h"

#include "shardwheel/admin/settings.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static enum err check_readable(const char *key, const char *path, struct errctx *ec)
{
    if (!*path || access(path, R_OK) == 0)
        return ERR_OK;
    return err_set(ec, ERR_INPUT, "%s: cannot read %s: %s", key, path, strerror(errno));
}

enum err node_set_access(struct node *node, const struct config *config, struct errctx *ec)
{
    struct http_tls tls = node_get_tls(config);
    enum err e = check_readable("shardwheel.executor.tls.ca", tls.ca, ec);

    if (!e && *tls.key && !*tls.cert)
        e = err_set(ec, ERR_INPUT, "shardwheel.executor.tls.key needs shardwheel.executor.tls.cert");
    if (!e)
        e = check_readable("shardwheel.executor.tls.cert", tls.cert, ec);
    if (!e)
        e = check_readable("shardwheel.executor.tls.key", tls.key, ec);
    if (!access_box_set(&node->access, config->access_token, e ? NULL : &tls, config->executor_timeout_ms))
        e = err_set(ec, ERR_NOMEM, "out of memory for the access to executors");
    return e;
}

void node_apply(struct node *node, const struct config *config)
{
    struct errctx ec = {0};

    node->config = config;
    if (node_set_access(node, config, &ec) != ERR_OK)
        log_error("main", "event=tls_kept error=%s effect=\"calls to https executors use the old files\"",
                  log_quote(ec.text).s);
    if (admin_set_config(node->admin, config, &ec) != ERR_OK)
        log_error("main", "event=settings_kept error=%s effect=\"api/v1 shows the old settings\"",
                  log_quote(ec.text).s);
    node_follow_tls(node, /*now=*/true);
    weak_watch_poke(node->weak_watch);
}
