/* SPDX-License-Identifier: MIT */
#include "coord/engine_impl.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAG_MEMBER (-1)
#define TAG_NODES (-2) /* used by member: its tag less one */
#define TAG_PATH (-3)
#define ROTATE_AWAY_MS 3000 /* so long the holder of before leaves a shard that goes round to others */
#define VAIN_MS 10000       /* a shard back within that time was given back in vain */
#define REFUSED_LOG_MS 10000
#define DELETED_CHECK_MS 500 /* by then who deletes znodes by hand has come to the end */

/* ---- making ---------------------------------------------------------------------------------------------------- */

static enum err init_seats(struct engine *e)
{
    for (int k = 0; k < e->shards; k++) {
        char *folder = zk_format("%s/schedule_lock_%d", e->base_path, k);
        enum err err = folder ? lock_init(&e->seats[k].lock, folder, k) : ERR_NOMEM;

        free(folder);
        if (err)
            return err;
    }
    return ERR_OK;
}

enum err engine_create(const struct engine_opts *opts, struct engine **out, struct errctx *ec)
{
    struct engine *e = calloc(1, sizeof *e);
    char *nodes = NULL;
    enum err err = ERR_NOMEM;

    if (!e)
        return err_set(ec, ERR_NOMEM, "out of memory");
    e->shards = opts->shards;
    e->max_hold_ms = opts->max_hold_ms;
    e->jitter = opts->jitter_seed * 2 + 1; /* the generator must not stand at 0 */
    e->ask = opts->ask;
    e->arg = opts->arg;
    e->able = true;
    e->next_id = 1;
    e->refused_log_mono_ms = INT64_MIN;
    e->excess_after_mono_ms = INT64_MIN;
    e->node_name = str_copy(opts->node_name);
    e->base_path = str_copy(opts->base_path);
    e->member_data = str_copy(opts->member_data);
    e->seats = calloc((size_t)opts->shards, sizeof *e->seats);
    e->items = calloc((size_t)opts->shards, sizeof *e->items);
    if (!e->node_name || !e->base_path || !e->member_data || !e->seats || !e->items)
        goto out;
    nodes = zk_format("%s/nodes", e->base_path);
    if (!nodes || member_init(&e->member, nodes, e->node_name, TAG_MEMBER) || init_seats(e))
        goto out;
    err = random_hex(e->random, UUID_RANDOM_BYTES, ec);
    if (err)
        goto out;
    *out = e;
    e = NULL;
out:
    free(nodes);
    engine_destroy(e);
    return err == ERR_NOMEM ? err_set(ec, err, "out of memory") : err;
}

void engine_destroy(struct engine *e)
{
    if (!e)
        return;
    for (int k = 0; e->seats && k < e->shards; k++)
        lock_fini(&e->seats[k].lock);
    member_fini(&e->member);
    free(e->seats);
    free(e->items);
    free(e->node_name);
    free(e->base_path);
    free(e->member_data);
    free(e);
}

/* ---- what comes in --------------------------------------------------------------------------------------------- */

void engine_begin_session(struct engine *e)
{
    char uuid[LOCK_UUID_LEN + 1];

    e->connected = false;
    e->leaving_list = 0; /* lists are counted anew */
    e->rejoining = engine_count_grants(e, COORD_OWN) > 0;
    e->sessions++;
    e->paths_wanted = true;
    e->paths_retry_mono_ms = INT64_MIN;
    member_reset(&e->member);
    for (int k = 0; k < e->shards; k++) {
        struct seat *s = &e->seats[k];

        /* A version 4 uuid in form, as Curator's clients expect; session and shard make it unique within this node. */
        snprintf(uuid, sizeof uuid, "%.8s-%.4s-4%.3s-8%.3s-%08" PRIx32 "%04x", e->random, e->random + 8, e->random + 12,
                 e->random + 15, e->sessions, (unsigned)k & 0xffffu);
        lock_reset(&s->lock, uuid);
        s->confirmed = false;
        s->releasing = false;
        s->list_needed = 0;
    }
}

/* A release that cannot be confirmed: nobody else may know of it for as long as ZooKeeper is away, so the shard is ours
 * again, under a new serial. If another node did get it, the epoch fences one of us, and the ticket tells on
 * reconnection. */
static void own_again(struct seat *s, int shard)
{
    s->grant = (struct coord_grant){.wish = COORD_OWN, .serial = s->grant.serial + 1};
    s->rotating = false;
    s->excess = false;
    s->releasing = false;
    log_warn("coord", "event=release_unconfirmed shard=%d serial=%" PRIu64 " effect=\"taken over again\"", shard,
             s->grant.serial);
}

void engine_set_connected(struct engine *e, bool connected, int64_t session_id)
{
    for (int k = 0; e->connected && !connected && e->leaving == LEAVING_NOT && k < e->shards; k++) {
        if (e->seats[k].releasing)
            own_again(&e->seats[k], k);
    }
    e->connected = connected;
    if (connected)
        e->member.session_id = session_id;
}

void engine_set_able(struct engine *e, bool able)
{
    e->able = able;
}

void engine_set_drained(struct engine *e, bool drained)
{
    e->drained = drained;
}

void engine_drain(struct engine *e)
{
    if (e->leaving == LEAVING_NOT)
        e->leaving = LEAVING_UNDECIDED;
}

bool engine_release(struct engine *e, int shard, uint64_t serial, int64_t now_mono_ms)
{
    struct seat *s = &e->seats[shard];

    if (s->grant.wish == COORD_NOT_OURS || s->grant.serial != serial)
        return false;
    if (!e->connected && e->leaving == LEAVING_NOT) {
        own_again(s, shard);
        return true;
    }
    s->finished = e->leaving == LEAVING_LAST;
    s->grant.wish = COORD_NOT_OURS;
    s->confirmed = false;
    s->releasing = s->lock.state != TICKET_NONE;
    lock_drop(&s->lock);
    if (s->rotating)
        s->away_until_mono_ms = now_mono_ms + ROTATE_AWAY_MS;
    if (s->excess)
        s->vain_until_mono_ms = now_mono_ms + VAIN_MS;
    s->rotating = false;
    s->excess = false;
    log_info("coord", "event=given_back shard=%d serial=%" PRIu64, shard, serial);
    return true;
}

void engine_rotate(struct engine *e, int shard)
{
    e->seats[shard].hold_until_mono_ms = INT64_MIN; /* a grant sets it anew */
}

static void log_refusal(struct engine *e, const char *what, const char *error_text, int64_t now_mono_ms)
{
    if (now_mono_ms < e->refused_log_mono_ms)
        return;
    e->refused_log_mono_ms = now_mono_ms + REFUSED_LOG_MS;
    log_error(
        "coord",
        "event=refused what=\"%s\" base_path=%s text=%s hint=\"this client needs the rights to create, read, write "
        "and delete below that path; tried again every second\"",
        what, log_quote(e->base_path).s, log_quote(error_text ? error_text : "").s);
}

static void on_member_answer(struct engine *e, const struct zk_answer *answer, int64_t now_mono_ms)
{
    enum member_state before = e->member.state;

    if (!member_on_answer(&e->member, answer, now_mono_ms))
        return;
    if (e->member.state == MEMBER_TAKEN && before == MEMBER_CHECKING)
        log_warn("coord",
                 "event=name_taken node=%s owner=0x%" PRIx64
                 " hint=\"another session has the name of this node; tried again every second; the name of a node that "
                 "has just ended is free after its session timeout\"",
                 log_quote(e->node_name).s, (uint64_t)answer->owner);
    if (e->member.state == MEMBER_PRESENT && before != MEMBER_PRESENT)
        log_info("coord", "event=joined node=%s", log_quote(e->node_name).s);
}

void engine_on_answer(struct engine *e, const struct zk_answer *answer, int64_t now_mono_ms)
{
    /* A folder that may not be made is no fault as long as it is there; nobody need be allowed to make "/xxl-job"
     * anew. */
    if (answer->result == ZK_REFUSED && answer->tag == TAG_PATH)
        e->path_refused = answer->error_text;
    else if (answer->result == ZK_REFUSED)
        log_refusal(e, answer->tag >= 0 ? "the lock of a shard" : "the nodes", answer->error_text, now_mono_ms);
    if (answer->tag >= 0 && answer->tag < e->shards) {
        lock_on_answer(&e->seats[answer->tag].lock, answer, now_mono_ms);
    } else if (answer->tag == TAG_MEMBER || answer->tag == TAG_NODES) {
        on_member_answer(e, answer, now_mono_ms);
    } else if (answer->tag == TAG_PATH && answer->result == ZK_LOST) {
        e->paths_wanted = true;
    }
}

void engine_on_change(struct engine *e, const char *path)
{
    member_on_change(&e->member, path);
    for (int k = 0; k < e->shards; k++)
        lock_on_change(&e->seats[k].lock, path);
}

/* ---- acting ---------------------------------------------------------------------------------------------------- */

static bool make_path(struct engine *e, const char *path)
{
    return e->ask(e->arg, &(struct zk_ask){.verb = ZK_MAKE, .path = path, .tag = TAG_PATH, .id = e->next_id++});
}

/* Makes all folders, whether they are there or not: requests are carried out in their order, so nothing waits for
 * it. */
static void make_paths(struct engine *e)
{
    char *path = str_copy(e->base_path);
    bool asked = path != NULL;

    for (char *slash = path ? strchr(path + 1, '/') : NULL; asked && slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        asked = make_path(e, path);
        *slash = '/';
    }
    asked = asked && make_path(e, e->base_path) && make_path(e, e->member.folder);
    for (int k = 0; asked && k < e->shards; k++)
        asked = make_path(e, e->seats[k].lock.folder);
    free(path);
    e->paths_wanted = !asked;
}

static void act(struct engine *e, int64_t now_mono_ms)
{
    bool missing = e->member.no_folder;

    e->member.no_folder = false;
    for (int k = 0; k < e->shards; k++) {
        /* A deleted ticket is watched by others only, who take the lock at once: find out before the next usual
         * look. */
        if (e->member.deleted && e->seats[k].lock.check_mono_ms > now_mono_ms + DELETED_CHECK_MS)
            e->seats[k].lock.check_mono_ms = now_mono_ms + DELETED_CHECK_MS;
        missing |= e->seats[k].lock.no_folder;
        e->seats[k].lock.no_folder = false;
    }
    e->member.deleted = false;
    if (missing && e->path_refused)
        log_refusal(e, "the parent znodes, which do not exist", e->path_refused, now_mono_ms);
    e->paths_wanted |= missing;
    if (e->paths_wanted && now_mono_ms >= e->paths_retry_mono_ms) {
        e->path_refused = NULL;
        e->paths_retry_mono_ms = now_mono_ms + LOCK_RETRY_MS;
        make_paths(e);
    }
    member_step(&e->member, now_mono_ms, &e->next_id, e->member_data, e->ask, e->arg);
    for (int k = 0; k < e->shards; k++)
        lock_step(&e->seats[k].lock, now_mono_ms, &e->next_id, e->node_name, e->ask, e->arg);
}

void engine_turn(struct engine *e, int64_t now_mono_ms)
{
    engine_decide(e, now_mono_ms);
    if (e->connected)
        act(e, now_mono_ms);
}

/* ---- what is asked for ----------------------------------------------------------------------------------------- */

struct coord_grant engine_get_grant(const struct engine *e, int shard)
{
    return e->seats[shard].grant;
}

int engine_count_held(const struct engine *e)
{
    int n = e->leaving == LEAVING_UNDECIDED;

    for (int k = 0; k < e->shards; k++) {
        const struct seat *s = &e->seats[k];

        /* The end of the session releases what could not be released while ZooKeeper is away. */
        n += s->grant.wish != COORD_NOT_OURS || (s->releasing && (e->connected || e->leaving == LEAVING_NOT)) ||
             (e->leaving == LEAVING_LAST && !s->finished);
    }
    return n;
}

bool engine_is_last(const struct engine *e)
{
    return e->leaving == LEAVING_LAST;
}

int engine_count_nodes(const struct engine *e)
{
    return e->member.live;
}
