/* SPDX-License-Identifier: MIT */
/* Nodes, shards, and another number of shards. */
#include "http/v1/write.h"
#include "shardwheel/admin/cluster.h"

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static void put_node(struct buf *b, const struct node_row *node, int64_t now_ms)
{
    member_text(b, "node", node->node);
    member_text(b, "incarnation", node->incarnation);
    member_text(b, "url", node->url);
    member_text(b, "version", node->version);
    member_text(b, "state", node_get_state(node, now_ms));
    member_int(b, "owned", node->owned);
    member_bool(b, "drain", node->drain);
    member_int_if(b, "releasing", node->release_shard >= 0, node->release_shard);
    v1_put_instant(b, "startedAt", node->started_ms);
    v1_put_instant(b, "beatAt", node->beat_ms);
    member_int(b, "upSeconds", node_get_up_ms(node, now_ms) / 1000);
    member_int(b, "beatAgeMilliseconds", now_ms > node->beat_ms ? now_ms - node->beat_ms : 0);
    member_int(b, "clockAheadMilliseconds", node->clock_ms);
}

static void answer_nodes(struct v1_call *c)
{
    struct cluster_nodes nodes = {0};

    if (V1_FAILS(c, admin_load_nodes, &nodes))
        return;
    v1_put_instant(&c->r->body, "now", nodes.now_ms);
    V1_PUT_LIST(&c->r->body, "items", nodes.rows, nodes.count, put_node, nodes.now_ms);
    cluster_nodes_fini(&nodes);
}

static void set_drain(struct v1_call *c, bool drain, bool force)
{
    const char *wanted = v1_path_text(c, 0);
    struct node_row node;
    int64_t now_ms;

    if (V1_FAILS(c, admin_set_drain, wanted, drain, force, &node, &now_ms))
        return;
    c->r->status = 202;
    put_node(&c->r->body, &node, now_ms);
}

static void answer_drain(struct v1_call *c)
{
    set_drain(c, true, v1_bool(&c->body, "force", false));
}

static void answer_undrain(struct v1_call *c)
{
    set_drain(c, false, false);
}

/* ---- shards ------------------------------------------------------------------------------------------------------ */

static void put_shard(struct buf *b, const struct shard_view *shard, int64_t now_ms, bool counted)
{
    int64_t held_ms = shard_get_held_ms(shard, now_ms);

    member_int(b, "shard", shard->shard);
    member_text(b, "owner", shard->owner[0] ? shard->owner : NULL);
    member_int(b, "epoch", shard->epoch);
    member_int_if(b, "heldSeconds", held_ms >= 0, held_ms / 1000);
    v1_put_instant(b, "cursor", shard->cursor_s * 1000);
    member_int_if(b, "lagMilliseconds", shard->cursor_s, now_ms - shard->cursor_s * 1000);
    if (counted) {
        member_int(b, "planned", shard->planned);
        member_int(b, "openBefore", shard->open_before);
    }
}

static void put_wish(struct buf *b, const struct reshard_wish *wish)
{
    member_int(b, "shards", wish->shards);
    v1_put_instant(b, "lastSecond", wish->last_s * 1000);
    member_int(b, "try", wish->tries);
    member_int(b, "tries", RESHARD_TRIES);
}

static void answer_shards(struct v1_call *c)
{
    bool count = v1_query_bool(c, "countFires", false);
    struct buf *b = &c->r->body;
    struct cluster_status status = {0};

    if (V1_FAILS(c, admin_load_shards, count, &status))
        return;
    v1_put_instant(b, "now", status.now_ms);
    member_int(b, "shards", status.shards);
    if (member_object_if(b, "reshard", status.wish.shards)) {
        put_wish(b, &status.wish);
        member_object_end(b);
    }
    V1_PUT_LIST(b, "items", status.rows, status.count, put_shard, status.now_ms, count);
    cluster_status_fini(&status);
}

static void answer_release(struct v1_call *c)
{
    int64_t shard = -1;
    struct node_row owner;

    if (!parse_int(c->call->param[0], 0, STORE_SHARDS_MAX, &shard))
        v1_note(c, REFUSED_INVALID, "shard", "shard must be a whole number from 0 to %d", STORE_SHARDS_MAX);
    if (V1_FAILS(c, admin_release_shard, (int)shard, &owner))
        return;
    c->r->status = 202;
    member_int(&c->r->body, "shard", shard);
    member_text(&c->r->body, "owner", owner.node);
    member_text(&c->r->body, "incarnation", owner.incarnation);
}

/* ---- reshard ----------------------------------------------------------------------------------------------------- */

static void answer_reshard(struct v1_call *c)
{
    struct reshard_wish wish;

    v1_require(&c->body, "shards");
    int64_t shards = v1_int(&c->body, "shards", 1, STORE_SHARDS_MAX, 0);
    if (V1_FAILS(c, admin_reshard, shards, &wish))
        return;
    c->r->status = 202;
    put_wish(&c->r->body, &wish);
}

static void answer_cancel(struct v1_call *c)
{
    if (!v1_is_refused(c) && !v1_has_failed(c, admin_cancel_reshard(c->admin, c->actor, &c->why)))
        v1_set_no_content(c);
}

static const struct v1_route routes[] = {
    {V1_ROUTE(ROUTE_GET, "/nodes", ROUTE_LOGIN), V1_NO_BODY, 0, answer_nodes},
    {V1_ROUTE(ROUTE_POST, "/nodes/{node}/drain", ROUTE_LOGIN), V1_MAY_BODY, 0, answer_drain},
    {V1_ROUTE(ROUTE_POST, "/nodes/{node}/undrain", ROUTE_LOGIN), V1_NO_BODY, 0, answer_undrain},
    {V1_ROUTE(ROUTE_GET, "/shards", ROUTE_LOGIN), V1_NO_BODY, 0, answer_shards},
    {V1_ROUTE(ROUTE_POST, "/shards/{shard}/release", ROUTE_LOGIN), V1_NO_BODY, 0, answer_release},
    {V1_ROUTE(ROUTE_POST, "/reshard", ROUTE_LOGIN), V1_JSON_BODY, 0, answer_reshard},
    {V1_ROUTE(ROUTE_DELETE, "/reshard", ROUTE_LOGIN), V1_NO_BODY, 0, answer_cancel},
};

const struct v1_topic v1_cluster = {routes, ARRAY_LEN(routes)};
