/* SPDX-License-Identifier: MIT */
/* Nodes and shards: shown, and asked to change, until they have. */
#include "ctl/parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POLL_MS 200

/* A line of progress; seen at once also through a pipe. */
PRINTF_LIKE(1, 2) static void say(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    fflush(stdout);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static enum err read_nodes(struct ctl *c, struct errctx *ec)
{
    struct node_row *nodes = NULL;
    enum err e = store_load_nodes(c->session, &nodes, &c->node_count, &c->now_ms, ec);

    if (e)
        return e;
    free(c->nodes);
    c->nodes = nodes;
    return ERR_OK;
}

static enum err read_status(struct ctl *c, bool count_fires, struct errctx *ec)
{
    struct cluster_status status;
    enum err e = store_load_status(c->session, count_fires, &status, ec);

    if (e)
        return e;
    cluster_status_fini(&c->status);
    c->status = status;
    c->now_ms = status.now_ms;
    return ERR_OK;
}

static const struct node_row *find_run(const struct ctl *c, const char *incarnation)
{
    for (size_t i = 0; i < c->node_count; i++) {
        if (!strcmp(c->nodes[i].incarnation, incarnation))
            return &c->nodes[i];
    }
    return NULL;
}

static bool is_over(const struct ctl *c)
{
    return clock_mono_ms(c->clock) >= c->deadline_mono_ms;
}

/* Reads all again after a moment. A database that is away for a moment is waited for. */
static enum err poll_again(struct ctl *c, struct errctx *ec)
{
    enum err e;

    do {
        clock_sleep_ms(POLL_MS);
        e = read_nodes(c, ec);
        if (!e)
            e = read_status(c, /*count_fires=*/false, ec);
    } while ((e == ERR_LOST || e == ERR_TIMEOUT || e == ERR_CONFLICT) && !is_over(c));
    return e;
}

/* ---- shards, nodes ----------------------------------------------------------------------------------------------- */

enum err ctl_show_shards(struct ctl *c, struct errctx *ec)
{
    enum err e = read_status(c, /*count_fires=*/true, ec);

    if (!e)
        ctl_write_shards(&c->status, c->wanted->json, &c->out);
    return e;
}

enum err ctl_show_nodes(struct ctl *c, struct errctx *ec)
{
    enum err e = read_nodes(c, ec);

    if (!e)
        ctl_write_nodes(c->nodes, c->node_count, c->now_ms, c->wanted->json, &c->out);
    return e;
}

/* ---- drain, undrain ---------------------------------------------------------------------------------------------- */

/* Finds the node of the command line; it is a copy, as the rows are read again. */
static enum err take_node(struct ctl *c, struct node_row *out, struct errctx *ec)
{
    enum err e = read_nodes(c, ec);
    const struct node_row *found = e ? NULL : ctl_find_node(c, c->wanted->node, ec);

    if (found)
        *out = *found;
    return e ? e : found ? ERR_OK : ERR_NOTFOUND;
}

/* What a beat says was counted after the wish was read only if the beat before it was written after the wish, too. */
static enum err wait_drained(struct ctl *c, const struct node_row *node, struct errctx *ec)
{
    int64_t beat_ms = node->beat_ms;
    int beats = 0, owned = node->owned;
    enum err e;

    while ((e = poll_again(c, ec)) == ERR_OK) {
        const struct node_row *now = find_run(c, node->incarnation);

        if (!now)
            return err_set(ec, ERR_LOST, "node %s has ended in the meantime", node->node);
        if (!now->drain)
            return err_set(ec, ERR_CONFLICT, "node %s was undrained in the meantime", node->node);
        if (now->owned != owned)
            say("node %s: owns %d shards\n", node->node, now->owned);
        owned = now->owned;
        beats += now->beat_ms != beat_ms;
        beat_ms = now->beat_ms;
        if (owned == 0 && beats >= 2) {
            say("node %s: drained\n", node->node);
            return ERR_OK;
        }
        if (is_over(c))
            return err_set(ec, ERR_TIMEOUT,
                           "node %s still owns %d shards after %" PRId64
                           " s, its last heartbeat is %.1f s old; the request stays in force: undrain cancels it",
                           node->node, owned, c->wanted->wait_ms / 1000, (double)(c->now_ms - beat_ms) / 1000.0);
    }
    return e;
}

enum err ctl_drain(struct ctl *c, struct errctx *ec)
{
    struct node_row node;
    enum err e = take_node(c, &node, ec);

    if (e)
        return e;
    if (node_is_silent(&node, c->now_ms))
        return err_set(ec, ERR_STATE,
                       "node %s is silent, its last heartbeat is %.1f s old: it cannot see the request; if it has "
                       "ended, other nodes take its shards",
                       node.node, (double)(c->now_ms - node.beat_ms) / 1000.0);
    if (!c->wanted->force && !node_count_takers(c->nodes, c->node_count, c->now_ms, node.incarnation))
        return err_set(ec, ERR_STATE,
                       "no other live node can take the shards of %s: no job would fire; --force drains it anyway",
                       node.node);
    e = store_set_drain(c->session, node.incarnation, true,
                        &(struct audit_row){AUDIT_CTL, .action = "node.drain", .target_name = node.node}, ec);
    if (e)
        return err_wrap(ec, e, "node %s", node.node);
    say("node %s: drain requested, owns %d shards\n", node.node, node.owned);
    return wait_drained(c, &node, ec);
}

enum err ctl_undrain(struct ctl *c, struct errctx *ec)
{
    struct node_row node;
    enum err e = take_node(c, &node, ec);

    if (e)
        return e;
    if (!node.drain) {
        buf_printf(&c->out, "node %s: not drained\n", node.node);
        return ERR_OK;
    }
    e = store_set_drain(c->session, node.incarnation, false,
                        &(struct audit_row){AUDIT_CTL, .action = "node.undrain", .target_name = node.node}, ec);
    if (e)
        return err_wrap(ec, e, "node %s", node.node);
    buf_printf(&c->out, "node %s: can own shards again%s\n", node.node,
               node_is_silent(&node, c->now_ms) ? " as soon as it sends a heartbeat: it is silent" : "");
    return ERR_OK;
}

/* ---- release ----------------------------------------------------------------------------------------------------- */

/* The live node that has taken the shard, and the shard as it is now. */
static enum err find_owner(struct ctl *c, int shard, struct node_row *owner, struct errctx *ec)
{
    const struct shard_view *row;
    enum err e = read_status(c, /*count_fires=*/false, ec);

    if (!e)
        e = read_nodes(c, ec);
    if (e)
        return e;
    if (!c->status.shards)
        return err_set(ec, ERR_STATE, "no node has used this database yet: there are no shards");
    row = cluster_find_shard(&c->status, shard);
    if (!row)
        return err_set(ec, ERR_INPUT, "there is no shard %d: the cluster has %d shards, 0 to %d", shard,
                       c->status.shards, c->status.shards - 1);
    if (!row->owner[0])
        return err_set(ec, ERR_STATE, "shard %d has no owner", shard);
    for (size_t i = 0; i < c->node_count; i++) {
        if (strcmp(c->nodes[i].node, row->owner) != 0 || node_is_silent(&c->nodes[i], c->now_ms))
            continue;
        *owner = c->nodes[i];
        return ERR_OK;
    }
    return err_set(ec, ERR_STATE, "the last owner of shard %d is node %s, which is not live: another node takes it",
                   shard, row->owner);
}

static enum err wait_released(struct ctl *c, const struct node_row *owner, int shard, struct errctx *ec)
{
    int64_t from_mono_ms = clock_mono_ms(c->clock);
    enum err e;

    while ((e = poll_again(c, ec)) == ERR_OK) {
        const struct shard_view *row = cluster_find_shard(&c->status, shard);

        if (!row)
            return err_set(ec, ERR_CONFLICT, "shard %d no longer exists: the cluster now has %d shards", shard,
                           c->status.shards);
        if (row->owner[0] && strcmp(row->owner, owner->node) != 0) {
            say("shard %d: owned by node %s after %.1f s\n", shard, row->owner,
                (double)(clock_mono_ms(c->clock) - from_mono_ms) / 1000.0);
            return ERR_OK;
        }
        if (is_over(c))
            break;
    }
    if (e)
        return e;
    e = store_withdraw_release(c->session, owner->incarnation, shard, ec);
    if (e)
        return err_wrap(ec, e, "cancel the request to node %s", owner->node);
    return err_set(ec, ERR_TIMEOUT, "shard %d is still owned by node %s after %" PRId64 " s", shard, owner->node,
                   c->wanted->wait_ms / 1000);
}

enum err ctl_release(struct ctl *c, struct errctx *ec)
{
    int shard = (int)c->wanted->number;
    struct node_row owner;
    enum err e = find_owner(c, shard, &owner, ec);

    if (e)
        return e;
    if (!node_count_takers(c->nodes, c->node_count, c->now_ms, owner.incarnation))
        return err_set(ec, ERR_STATE, "no other live node can take shard %d from %s", shard, owner.node);
    e = store_ask_release(
        c->session, owner.incarnation, shard,
        &(struct audit_row){AUDIT_CTL, .action = "shard.release", .target = shard, .target_name = owner.node}, ec);
    if (e)
        return err_wrap(ec, e, "node %s", owner.node);
    say("shard %d: release requested from node %s\n", shard, owner.node);
    return wait_released(c, &owner, shard, ec);
}

/* ---- reshard ----------------------------------------------------------------------------------------------------- */

static size_t count_live(const struct ctl *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->node_count; i++) {
        int64_t age_ms = c->now_ms - c->nodes[i].beat_ms;

        n += age_ms <= CTL_GONE_MS;
        if (age_ms > NODE_SILENT_MS && age_ms <= CTL_GONE_MS)
            fprintf(stderr,
                    "shardwheelctl: warning: node %s has been silent for %.1f s: if it owns shards, the change waits "
                    "until other nodes own them\n",
                    c->nodes[i].node, (double)age_ms / 1000.0);
    }
    return n;
}

/* The last cursor that has not left the second, or NULL when all have. */
static const struct shard_view *find_standing(const struct ctl *c, int64_t last_s)
{
    for (size_t i = 0; i < c->status.count; i++) {
        if (c->status.rows[i].cursor_s <= last_s)
            return &c->status.rows[i];
    }
    return NULL;
}

/* The number has changed: until all shards fire again. */
static enum err wait_firing(struct ctl *c, const struct reshard_wish *wish, struct errctx *ec)
{
    int64_t next_due_ms = (wish->last_s + 1) * 1000;
    enum err e;

    while (find_standing(c, wish->last_s) || (int)c->status.count < wish->shards) {
        const struct shard_view *standing = find_standing(c, wish->last_s);

        if (is_over(c))
            return err_set(
                ec, ERR_TIMEOUT, "the cluster has %d shards, but not all of them fire yet: shard %d has %s%s",
                wish->shards, standing ? standing->shard : (int)c->status.count,
                standing && standing->owner[0] ? "not moved under node " : "no owner", standing ? standing->owner : "");
        e = poll_again(c, ec);
        if (e)
            return e;
        if (c->status.shards != wish->shards)
            return err_set(ec, ERR_CONFLICT, "the number of shards was changed again, to %d", c->status.shards);
    }
    say("the cluster has %d shards; all shards stood still for %.1f s\n", wish->shards,
        c->now_ms > next_due_ms ? (double)(c->now_ms - next_due_ms) / 1000.0 : 0.0);
    return ERR_OK;
}

/* Not carried out in time: it must not happen later, when nobody looks. */
static enum err withdraw(struct ctl *c, const struct reshard_wish *wish, struct errctx *ec)
{
    bool found = false;
    enum err e = store_cancel_reshard(c->session, wish->shards,
                                      &(struct audit_row){AUDIT_CTL, .action = "cluster.reshard-cancel"}, &found, ec);

    if (e)
        return e;
    e = read_status(c, /*count_fires=*/false, ec);
    if (e)
        return e;
    if (!found && c->status.shards == wish->shards)
        return wait_firing(c, wish, ec);
    return err_set(ec, ERR_TIMEOUT, "not done within %" PRId64 " s and cancelled: the cluster still has %d shards",
                   c->wanted->wait_ms / 1000, c->status.shards);
}

static enum err wait_resharded(struct ctl *c, struct reshard_wish *wish, struct errctx *ec)
{
    enum err e;

    while ((e = poll_again(c, ec)) == ERR_OK) {
        const struct reshard_wish *now = &c->status.wish;

        if (c->status.shards == wish->shards)
            return wait_firing(c, wish, ec);
        if (now->shards != wish->shards)
            return err_set(ec, ERR_CONFLICT,
                           "given up or cancelled: the cluster still has %d shards; the logs of the nodes have the "
                           "reason (event=reshard_given_up)",
                           c->status.shards);
        if (now->tries != wish->tries)
            say("try %d of %d: not every shard reached the chosen second\n", now->tries, RESHARD_TRIES);
        *wish = *now;
        if (is_over(c))
            return withdraw(c, wish, ec);
    }
    return e;
}

static enum err cancel_reshard(struct ctl *c, struct errctx *ec)
{
    bool found = false;
    enum err e = store_cancel_reshard(c->session, 0, &(struct audit_row){AUDIT_CTL, .action = "cluster.reshard-cancel"},
                                      &found, ec);

    if (e)
        return e;
    if (!found)
        return err_set(ec, ERR_STATE, "no change of the number of shards is in progress");
    say("withdrawn\n");
    return ERR_OK;
}

enum err ctl_reshard(struct ctl *c, struct errctx *ec)
{
    int n = (int)c->wanted->number;
    struct reshard_wish wish;
    char after[40];
    size_t live;
    enum err e;

    if (n == 0)
        return cancel_reshard(c, ec);
    e = read_nodes(c, ec);
    if (!e)
        e = read_status(c, /*count_fires=*/false, ec);
    if (e)
        return e;
    if (c->status.shards == n && !c->status.wish.shards) {
        say("the cluster has %d shards: nothing to do\n", n);
        return ERR_OK;
    }
    live = count_live(c);
    snprintf(after, sizeof after, "{\"shards\":%d}", n);
    e = store_ask_reshard(c->session, n, &(struct audit_row){AUDIT_CTL, .action = "cluster.reshard", .after = after},
                          &wish, ec);
    if (e)
        return e;
    if (!live) {
        say("no node is live: the first node that starts changes the number from %d to %d shards\n", c->status.shards,
            n);
        return ERR_OK;
    }
    say("%d -> %d shards: all cursors stop in %.1f s\n", c->status.shards, n,
        (double)(wish.last_s * 1000 - c->now_ms) / 1000.0);
    return wait_resharded(c, &wish, ec);
}
