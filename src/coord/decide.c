/* SPDX-License-Identifier: MIT */
#include "coord/engine_impl.h"

#include <inttypes.h>

#define PASS_MS 2000   /* a round of a queue in which everybody lets pass ends well within */
#define UNABLE_MS 1500 /* nodes find out within a second of each other that the database is away for all */
/* Locks of dead nodes went with their membership: what somebody still has then is a stopping node's, for 10 s at most,
 * or none of ours. */
#define LAST_WAIT_MS 12000
#define LEAVE_MS 3000  /* a shutdown waits so long to see who else is there */
#define REJOIN_MS 1000 /* after a lost session: first find out what is still ours, then be a member */

int engine_count_grants(const struct engine *e, enum coord_wish wish)
{
    int n = 0;

    for (int k = 0; k < e->shards; k++)
        n += e->seats[k].grant.wish == wish;
    return n;
}

static uint64_t next_jitter(struct engine *e)
{
    e->jitter ^= e->jitter << 13;
    e->jitter ^= e->jitter >> 7;
    e->jitter ^= e->jitter << 17;
    return e->jitter;
}

static bool is_below_share(const struct engine *e)
{
    return engine_count_grants(e, COORD_OWN) + engine_count_grants(e, COORD_GIVE_BACK) <
           share_get_size(e->shards, e->member.live);
}

/* May this node have shards at all? */
static bool is_contending(const struct engine *e)
{
    if (e->leaving != LEAVING_NOT)
        return e->able && e->leaving == LEAVING_LAST;
    return e->able && !e->drained && e->member.state == MEMBER_PRESENT && e->member.listed;
}

static void arm_hold(struct engine *e, struct seat *s, int64_t now_mono_ms)
{
    s->hold_until_mono_ms =
        e->max_hold_ms > 0 ? now_mono_ms + share_get_hold_ms(e->max_hold_ms, next_jitter(e)) : INT64_MAX;
}

static void grant_shard(struct engine *e, int shard, int64_t now_mono_ms)
{
    struct seat *s = &e->seats[shard];

    s->grant = (struct coord_grant){.wish = e->leaving == LEAVING_LAST ? COORD_FINISH : COORD_OWN,
                                    .serial = s->grant.serial + 1};
    s->confirmed = true;
    s->rotating = false;
    s->excess = false;
    s->list_needed = 0;
    s->pass_until_mono_ms = INT64_MIN;
    s->taken_mono_ms = now_mono_ms;
    arm_hold(e, s, now_mono_ms);
    log_info("coord", "event=granted shard=%d serial=%" PRIu64 " ticket=%s", shard, s->grant.serial, s->lock.name);
}

static void ask_back(struct seat *s, int shard, const char *why)
{
    s->grant.wish = COORD_GIVE_BACK;
    log_info("coord", "event=asked_back shard=%d serial=%" PRIu64 " reason=%s", shard, s->grant.serial, why);
}

/* Everybody let it pass, so we take it though we have our share. How long it may stay depends on whether that is
 * news. */
static void grant_above_share(struct engine *e, int shard, int64_t now_mono_ms)
{
    if (now_mono_ms >= e->excess_after_mono_ms) { /* several shards of one moment count once */
        e->streak = now_mono_ms < e->seats[shard].vain_until_mono_ms ? e->streak + 1 : 0;
        e->excess_after_mono_ms = now_mono_ms + share_get_patience_ms(e->streak);
    }
    grant_shard(e, shard, now_mono_ms);
}

static void settle_head(struct engine *e, int shard, int64_t now_mono_ms)
{
    struct seat *s = &e->seats[shard];

    if (s->confirmed || !e->connected)
        return;
    if (s->grant.wish == COORD_OWN || s->grant.wish == COORD_FINISH) {
        grant_shard(e, shard, now_mono_ms);
    } else if (s->grant.wish == COORD_GIVE_BACK || !is_contending(e)) {
        lock_drop(&s->lock);
    } else if (is_below_share(e)) {
        grant_shard(e, shard, now_mono_ms);
    } else if (now_mono_ms < s->pass_until_mono_ms) {
        grant_above_share(e, shard, now_mono_ms);
    } else if (!s->list_needed) {
        /* When a node dies, its shards and its membership go in one moment; our share may have grown just now. */
        s->list_needed = e->member.lists_begun + 1;
        e->member.list_stale = true;
    } else if (e->member.lists_done >= s->list_needed) {
        s->list_needed = 0;
        s->pass_until_mono_ms = now_mono_ms + PASS_MS;
        lock_drop(&s->lock);
    }
}

static void settle_seat(struct engine *e, int shard, int64_t now_mono_ms)
{
    struct seat *s = &e->seats[shard];

    if (s->lock.state == TICKET_NONE)
        s->releasing = false;
    if (s->lock.state == TICKET_LOWEST && !s->lock.drop) {
        settle_head(e, shard, now_mono_ms);
        return;
    }
    s->list_needed = 0;
    if (s->confirmed) {
        s->confirmed = false;
        log_warn("coord",
                 "event=ticket_gone shard=%d serial=%" PRIu64 " hint=\"somebody deleted it; it is created again\"",
                 shard, s->grant.serial);
    }
    if (s->grant.wish != COORD_NOT_OURS && s->lock.state == TICKET_WAITING) {
        s->grant.wish = COORD_NOT_OURS;
        log_warn("coord", "event=lost shard=%d serial=%" PRIu64 " holder_before_us=%s", shard, s->grant.serial,
                 log_quote(s->lock.before).s);
    }
}

static void ask_all_back(struct engine *e, const char *why)
{
    for (int k = 0; k < e->shards; k++) {
        if (e->seats[k].grant.wish == COORD_OWN)
            ask_back(&e->seats[k], k, why);
    }
}

static void ask_excess_back(struct engine *e, int64_t now_mono_ms)
{
    int excess = engine_count_grants(e, COORD_OWN) - share_get_size(e->shards, e->member.live);
    size_t count = 0;

    if (excess <= 0 || now_mono_ms < e->excess_after_mono_ms)
        return;
    for (int k = 0; k < e->shards; k++) {
        const struct seat *s = &e->seats[k];

        if (s->grant.wish != COORD_OWN)
            continue;
        if (!s->confirmed)
            return; /* it will turn out first whether that one is still ours */
        e->items[count++] = (struct share_item){.shard = k, .taken_mono_ms = s->taken_mono_ms};
    }
    share_choose(e->items, count, (size_t)excess);
    for (size_t i = 0; i < count; i++) {
        if (!e->items[i].chosen)
            continue;
        e->seats[e->items[i].shard].excess = true;
        ask_back(&e->seats[e->items[i].shard], e->items[i].shard, "share");
    }
}

static void ask_old_back(struct engine *e, int64_t now_mono_ms)
{
    for (int k = 0; k < e->shards; k++) {
        struct seat *s = &e->seats[k];

        if (s->grant.wish != COORD_OWN || !s->confirmed || now_mono_ms < s->hold_until_mono_ms)
            continue;
        if (e->member.live <= 1) {
            arm_hold(e, s, now_mono_ms); /* nobody to move to; and not all at once when somebody comes */
            continue;
        }
        s->rotating = true;
        ask_back(s, k, s->hold_until_mono_ms == INT64_MIN ? "release" : "max_hold");
    }
}

/* Called at each turn of a shutdown. Membership goes first: of several nodes that stop at once, whoever is gone from
 * the list last sees it empty. Two may see it so; then both finish, one after the other where they meet. */
static void decide_leaving(struct engine *e, int64_t now_mono_ms)
{
    const char *why = NULL;

    if (e->leaving != LEAVING_UNDECIDED && e->leaving != LEAVING_TO_OTHERS)
        return;
    if (e->leaving_until_mono_ms == 0)
        e->leaving_until_mono_ms = now_mono_ms + LEAVE_MS;
    if (e->connected && e->member.state == MEMBER_NONE && !e->leaving_list) {
        e->leaving_list = e->member.lists_begun + 1;
        e->member.list_stale = true;
    } else if (e->connected && e->leaving_list && e->member.lists_done >= e->leaving_list && e->member.others == 0) {
        e->leaving = LEAVING_LAST; /* perhaps only now: a node that had died was on the list until its session ended */
        why = "list_read";
    } else if (e->leaving == LEAVING_TO_OTHERS) {
        return;
    } else if (!e->connected) {
        e->leaving = LEAVING_LAST; /* nobody can take over from us before our session has ended */
        why = "zookeeper_away";
    } else if (e->leaving_list && e->member.lists_done >= e->leaving_list) {
        e->leaving = LEAVING_TO_OTHERS;
        why = "list_read";
    } else if (now_mono_ms >= e->leaving_until_mono_ms) {
        e->leaving = LEAVING_TO_OTHERS;
        why = "no_answer";
    }
    if (e->leaving == LEAVING_LAST)
        e->last_mono_ms = now_mono_ms;
    if (why)
        log_info("coord", "event=leaving as=%s others=%d why=%s",
                 e->leaving == LEAVING_LAST ? "last_node" : "one_of_several", e->member.others, why);
}

static void finish_all(struct engine *e, int64_t now_mono_ms)
{
    bool waited = now_mono_ms >= e->last_mono_ms + LAST_WAIT_MS;

    for (int k = 0; k < e->shards; k++) {
        struct seat *s = &e->seats[k];

        if (s->grant.wish == COORD_OWN)
            s->grant.wish = COORD_FINISH;
        /* A node that has just come takes what we do not have; without ZooKeeper, or a database to write to, nothing
         * can be had. */
        if (s->grant.wish == COORD_NOT_OURS && (!e->connected || !e->able || e->member.others > 0 || waited))
            s->finished = true;
    }
}

static void settle_wants(struct engine *e, int64_t now_mono_ms)
{
    bool contending = is_contending(e);

    e->member.want = e->able && !e->drained && e->leaving == LEAVING_NOT && now_mono_ms >= e->join_after_mono_ms;
    for (int k = 0; k < e->shards; k++) {
        struct seat *s = &e->seats[k];

        if (s->grant.wish == COORD_OWN || s->grant.wish == COORD_FINISH)
            s->lock.want = true; /* also when we are no member for a moment: find out whether it is still ours */
        else if (s->grant.wish == COORD_GIVE_BACK)
            s->lock.want = s->confirmed;
        else
            s->lock.want = contending && !s->finished && now_mono_ms >= s->away_until_mono_ms;
    }
}

static void note_members(struct engine *e)
{
    if (!e->member.changed)
        return;
    e->member.changed = false;
    e->streak = 0;
    e->excess_after_mono_ms = INT64_MIN;
    log_info("coord", "event=members live=%d share=%d", e->member.live, share_get_size(e->shards, e->member.live));
}

/* We cannot write to the database, and others have been able to for a while: whoever is not is no member. */
static bool is_relieved(struct engine *e, int64_t now_mono_ms)
{
    if (e->able || !e->connected || e->member.state != MEMBER_NONE || e->member.others == 0)
        e->relief_mono_ms = 0;
    else if (e->relief_mono_ms == 0)
        e->relief_mono_ms = now_mono_ms;
    return e->relief_mono_ms && now_mono_ms >= e->relief_mono_ms + UNABLE_MS;
}

void engine_decide(struct engine *e, int64_t now_mono_ms)
{
    note_members(e);
    if (e->connected && e->rejoining) {
        /* When all sessions have ended, for example while ZooKeeper was away, each node should find its own again; as
         * no member it queues nowhere else, and the others do not make room for it before it is there to take it. */
        e->rejoining = false;
        e->join_after_mono_ms = now_mono_ms + REJOIN_MS;
    }
    decide_leaving(e, now_mono_ms);
    if (e->leaving == LEAVING_LAST)
        finish_all(e, now_mono_ms);
    for (int k = 0; k < e->shards; k++)
        settle_seat(e, k, now_mono_ms);
    /* While ZooKeeper is away nobody could take what we give back: then owners go on with what they own. */
    if (e->leaving == LEAVING_TO_OTHERS) {
        ask_all_back(e, "drain");
    } else if ((e->drained && e->connected) || is_relieved(e, now_mono_ms)) {
        ask_all_back(e, e->drained ? "drained" : "unable");
    } else if (e->leaving == LEAVING_NOT && e->connected && is_contending(e)) {
        ask_excess_back(e, now_mono_ms);
        ask_old_back(e, now_mono_ms);
    }
    settle_wants(e, now_mono_ms);
}
