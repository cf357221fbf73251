/* SPDX-License-Identifier: MIT */
/* The node goes over to another number of shards. */
#include "node/node_impl.h"

#include "shardwheel/coord.h"

#include <inttypes.h>

#define RESIZE_RETRY_MS 1000 /* after a try that failed */

static void halt(struct node *node)
{
    node_stop_coord(node);
    schedule_halt(node->schedule);
    coord_destroy(node->coord);
    node->coord = NULL;
}

/* Planning and firing begin anew with n shards; what is in flight, callbacks and beats go on meanwhile. */
static enum err resize(struct node *node, int n, struct errctx *ec)
{
    enum err e;

    halt(node);
    mutex_lock(&node->lock);
    e = schedule_resize(node->schedule, n, ec);
    if (!e)
        node->shards = n;
    mutex_unlock(&node->lock);
    if (!e)
        e = node_start_coord(node, /*in_background=*/true, ec);
    return e ? e : schedule_start(node->schedule, node->coord, node->dispatch, ec);
}

void node_follow(struct node *node)
{
    int wanted = schedule_get_wanted_shards(node->schedule);
    int64_t now_ms = clock_mono_ms(node->clock);
    struct errctx ec = {0};

    node_follow_tls(node, /*now=*/false);
    if (wanted == 0)
        wanted = node->resize_to; /* what the try of before halted does not look at the cluster any more */
    if (wanted == 0 || now_ms < node->resize_mono_ms)
        return;
    node->resize_to = resize(node, wanted, &ec) ? wanted : 0;
    if (node->resize_to) {
        log_error("main", "event=resize_failed shards=%d error=%s effect=\"tried again\"", wanted,
                  log_quote(ec.text).s);
        halt(node);
        node->resize_mono_ms = now_ms + RESIZE_RETRY_MS;
        return;
    }
    log_info("main", "event=resized shards=%d ms=%" PRId64, wanted, clock_mono_ms(node->clock) - now_ms);
}
