/* SPDX-License-Identifier: MIT */
#include "coord/lock.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define BIT(n) (1u << (n))

/* Every state but NONE may go back to NONE: the session has ended, or somebody deleted the ticket. */
static const uint32_t ticket_next[TICKET_NSTATES] = {
    [TICKET_NONE] = BIT(TICKET_CREATING) | BIT(TICKET_NONE),
    [TICKET_CREATING] = BIT(TICKET_UNSURE) | BIT(TICKET_LOOKING) | BIT(TICKET_NONE),
    [TICKET_UNSURE] = BIT(TICKET_LOOKING) | BIT(TICKET_NONE),
    [TICKET_LOOKING] = BIT(TICKET_WAITING) | BIT(TICKET_LOWEST) | BIT(TICKET_DELETING) | BIT(TICKET_NONE),
    [TICKET_WAITING] = BIT(TICKET_LOOKING) | BIT(TICKET_DELETING) | BIT(TICKET_NONE),
    [TICKET_LOWEST] = BIT(TICKET_LOOKING) | BIT(TICKET_DELETING) | BIT(TICKET_NONE),
    [TICKET_DELETING] = BIT(TICKET_NONE),
};

static void move_ticket(struct shard_lock *l, enum ticket_state to)
{
    assert(ticket_next[l->state] & BIT(to));
    l->state = to;
}

static void clear_text(char **text)
{
    free(*text);
    *text = NULL;
}

enum err lock_init(struct shard_lock *l, const char *folder, int tag)
{
    *l = (struct shard_lock){.folder = str_copy(folder), .tag = tag};
    return l->folder ? ERR_OK : ERR_NOMEM;
}

void lock_fini(struct shard_lock *l)
{
    clear_text(&l->folder);
    clear_text(&l->name);
    clear_text(&l->before);
    clear_text(&l->stray);
}

static void forget_ticket(struct shard_lock *l)
{
    move_ticket(l, TICKET_NONE);
    l->drop = false;
    clear_text(&l->name);
    clear_text(&l->before);
}

void lock_reset(struct shard_lock *l, const char *uuid)
{
    assert(strlen(uuid) == LOCK_UUID_LEN);
    strcpy(l->uuid, uuid);
    forget_ticket(l);
    clear_text(&l->stray);
    l->pending = 0;
    l->no_folder = false;
    l->retry_mono_ms = INT64_MIN;
}

void lock_drop(struct shard_lock *l)
{
    if (l->state != TICKET_NONE)
        l->drop = true;
}

/* ---- names ------------------------------------------------------------------------------------------------------ */

bool lock_parse_number(const char *name, int64_t *out)
{
    static const char mark[] = "lock-";
    const char *last = NULL;

    for (const char *p = strstr(name, mark); p; p = strstr(p + 1, mark))
        last = p;
    /* The server's counter has 32 bits and a sign. */
    return last && parse_int(last + strlen(mark), INT32_MIN, INT32_MAX, out);
}

static bool is_ours(const struct shard_lock *l, const char *name)
{
    return strncmp(name, "_c_", 3) == 0 && strncmp(name + 3, l->uuid, LOCK_UUID_LEN) == 0 &&
           name[3 + LOCK_UUID_LEN] == '-';
}

static int compare_tickets(const char *a, int64_t a_number, const char *b, int64_t b_number)
{
    return a_number != b_number ? compare_numbers(a_number, b_number) : strcmp(a, b);
}

/* ---- asking ----------------------------------------------------------------------------------------------------- */

/* True when the request is under way. */
static bool ask_zk(struct shard_lock *l, enum zk_verb verb, const char *name, const char *data, uint64_t *next_id,
                   zk_ask_fn ask, void *arg)
{
    struct buf path = {0};
    bool asked = false;

    buf_puts(&path, l->folder);
    if (name) {
        buf_putc(&path, '/');
        buf_puts(&path, name);
    }
    if (!buf_failed(&path))
        asked =
            ask(arg, &(struct zk_ask){.verb = verb, .path = path.data, .data = data, .tag = l->tag, .id = *next_id});
    if (asked)
        l->pending = (*next_id)++;
    buf_fini(&path);
    return asked;
}

static bool ask_ticket(struct shard_lock *l, const char *data, uint64_t *next_id, zk_ask_fn ask, void *arg)
{
    char name[LOCK_UUID_LEN + 16];

    stpcpy(stpcpy(stpcpy(name, "_c_"), l->uuid), "-lock-");
    return ask_zk(l, ZK_CREATE_QUEUED, name, data, next_id, ask, arg);
}

void lock_step(struct shard_lock *l, int64_t now_mono_ms, uint64_t *next_id, const char *data, zk_ask_fn ask, void *arg)
{
    if (l->pending || now_mono_ms < l->retry_mono_ms)
        return;
    if (l->stray) {
        ask_zk(l, ZK_DELETE, l->stray, NULL, next_id, ask, arg);
        return;
    }
    if ((l->state == TICKET_LOOKING || l->state == TICKET_WAITING) && !l->want)
        l->drop = true;
    if (l->drop && (l->state == TICKET_LOOKING || l->state == TICKET_WAITING || l->state == TICKET_LOWEST))
        move_ticket(l, TICKET_DELETING);
    switch (l->state) {
    case TICKET_NONE:
        if (l->want && ask_ticket(l, data, next_id, ask, arg))
            move_ticket(l, TICKET_CREATING);
        break;
    case TICKET_CREATING: break;
    case TICKET_UNSURE: ask_zk(l, ZK_LIST_SYNCED, NULL, NULL, next_id, ask, arg); break;
    case TICKET_LOOKING: ask_zk(l, l->before ? ZK_WATCH : ZK_LIST, l->before, NULL, next_id, ask, arg); break;
    case TICKET_WAITING:
    case TICKET_LOWEST:
        if (now_mono_ms >= l->check_mono_ms)
            ask_zk(l, ZK_LIST, NULL, NULL, next_id, ask, arg);
        break;
    case TICKET_DELETING: ask_zk(l, ZK_DELETE, l->name, NULL, next_id, ask, arg); break;
    case TICKET_NSTATES: break;
    }
}

/* ---- answers ---------------------------------------------------------------------------------------------------- */

static void on_created(struct shard_lock *l, const struct zk_answer *answer)
{
    switch (answer->result) {
    case ZK_OK:
        l->name = str_copy(strrchr(answer->created, '/') + 1);
        move_ticket(l, l->name ? TICKET_LOOKING : TICKET_UNSURE);
        break;
    case ZK_NO_NODE:
        l->no_folder = true;
        forget_ticket(l);
        break;
    case ZK_LOST: move_ticket(l, TICKET_UNSURE); break;
    case ZK_EXISTS:
    case ZK_CHANGED:
    case ZK_REFUSED: forget_ticket(l); break;
    }
}

/* Sorts the folder's names into: ours, the one right before ours, and tickets of ours that should not be. */
struct place {
    const char *ours;
    int64_t ours_number;
    const char *before;
    int64_t before_number;
    const char *stray;
};

static void find_ours(const struct shard_lock *l, const struct zk_answer *answer, struct place *place)
{
    for (size_t i = 0; i < answer->count; i++) {
        const char *name = answer->names[i];
        int64_t number;

        if (!is_ours(l, name) || !lock_parse_number(name, &number))
            continue;
        if (l->name ? strcmp(name, l->name) != 0
                    : place->ours && compare_tickets(place->ours, place->ours_number, name, number) < 0) {
            place->stray = name;
            continue;
        }
        if (place->ours)
            place->stray = place->ours;
        place->ours = name;
        place->ours_number = number;
    }
}

static void find_before(const struct zk_answer *answer, struct place *place)
{
    for (size_t i = 0; i < answer->count; i++) {
        const char *name = answer->names[i];
        int64_t number;

        if (!lock_parse_number(name, &number) || compare_tickets(name, number, place->ours, place->ours_number) >= 0)
            continue;
        if (!place->before || compare_tickets(place->before, place->before_number, name, number) < 0) {
            place->before = name;
            place->before_number = number;
        }
    }
}

static void on_listed(struct shard_lock *l, const struct zk_answer *answer, int64_t now_mono_ms)
{
    struct place place = {0};

    if (answer->result != ZK_OK && answer->result != ZK_NO_NODE)
        return; /* asked again */
    find_ours(l, answer, &place);
    if (place.stray)
        l->stray = str_copy(place.stray); /* without memory: seen again at the next check */
    if (!place.ours) {
        forget_ticket(l);
        return;
    }
    if (!l->name) {
        l->name = str_copy(place.ours);
        if (!l->name)
            return;
    }
    l->check_mono_ms = now_mono_ms + LOCK_CHECK_MS;
    find_before(answer, &place);
    if (!place.before) {
        clear_text(&l->before);
        if (l->state != TICKET_LOWEST) {
            if (l->state != TICKET_LOOKING)
                move_ticket(l, TICKET_LOOKING);
            move_ticket(l, TICKET_LOWEST);
        }
        return;
    }
    if (l->state == TICKET_WAITING && l->before && strcmp(l->before, place.before) == 0)
        return;
    clear_text(&l->before);
    l->before = str_copy(place.before); /* without memory the folder is read again */
    if (l->state != TICKET_LOOKING)
        move_ticket(l, TICKET_LOOKING);
}

static void on_watched(struct shard_lock *l, const struct zk_answer *answer)
{
    if (l->state != TICKET_LOOKING || !l->before)
        return; /* it went while the watch was being set */
    if (answer->result == ZK_OK)
        move_ticket(l, TICKET_WAITING);
    else
        clear_text(&l->before); /* it is gone, or nobody knows: read the folder again */
}

static void on_deleted(struct shard_lock *l, const struct zk_answer *answer)
{
    if (answer->result != ZK_OK && answer->result != ZK_NO_NODE)
        return; /* repeated until it is gone */
    if (l->stray) {
        clear_text(&l->stray);
        if (l->state == TICKET_WAITING)
            move_ticket(l, TICKET_LOOKING); /* it may have been the one before ours */
        clear_text(&l->before);
        return;
    }
    forget_ticket(l);
}

void lock_on_answer(struct shard_lock *l, const struct zk_answer *answer, int64_t now_mono_ms)
{
    if (!l->pending || answer->id != l->pending)
        return; /* of a session that is over */
    l->pending = 0;
    /* A folder that is missing may be one that nobody may make. */
    if (answer->result == ZK_REFUSED ||
        (answer->verb == ZK_CREATE_QUEUED && (answer->result == ZK_EXISTS || answer->result == ZK_NO_NODE)))
        l->retry_mono_ms = now_mono_ms + LOCK_RETRY_MS;
    switch (answer->verb) {
    case ZK_CREATE_QUEUED: on_created(l, answer); break;
    case ZK_LIST:
    case ZK_LIST_SYNCED: on_listed(l, answer, now_mono_ms); break;
    case ZK_WATCH: on_watched(l, answer); break;
    case ZK_DELETE: on_deleted(l, answer); break;
    case ZK_MAKE:
    case ZK_CREATE_EPHEMERAL:
    case ZK_LIST_WATCHED:
    case ZK_READ:
    case ZK_WRITE: break;
    }
}

void lock_on_change(struct shard_lock *l, const char *path)
{
    size_t len = strlen(l->folder);

    if (!l->before || strncmp(path, l->folder, len) != 0 || path[len] != '/' || strcmp(path + len + 1, l->before) != 0)
        return;
    clear_text(&l->before);
    if (l->state == TICKET_WAITING)
        move_ticket(l, TICKET_LOOKING);
}
