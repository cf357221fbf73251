/* SPDX-License-Identifier: MIT */
#include "dispatch/lanes.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "dispatch/window.h"

#define FIRST_BUCKETS 256
/* Windows of the lanes that are busy together share so many requests: with more under way in all no fire goes out any
 * sooner, and each connection costs. */
#define SHARED 40
#define PERIOD_MS 2000 /* of the number of lanes that are busy at once; that of the one before counts as well */

struct lane {
    struct lane *next_in_bucket;
    STAILQ_ENTRY(lane) in_ready;
    bool is_ready; /* in the list of lanes that may send */
    bool is_busy;  /* something waits or is under way */
    bool is_away;  /* the last request there reached nobody */
    uint64_t hash;
    char *address;
    struct http_peer *peer;
    int expected; /* deliveries that are to come */
    int pins;
    struct lane_questions questions;
    struct delivery_list waiting;
    int under_way;
    struct window window; /* of those under way */
    int64_t used_mono_ms; /* when the last request ended */
};

struct lanes {
    int per_address;
    struct http_client *http;
    struct lane **buckets;
    size_t bucket_count; /* a power of two */
    size_t lane_count;
    size_t waiting;
    int busy;        /* lanes */
    int busy_most;   /* at once, in this period */
    int busy_before; /* ... in the one before */
    int64_t period_end_ms;
    STAILQ_HEAD(, lane) ready; /* lanes that wait and are below their window, next one first */
};

enum err lanes_create(int per_address, struct http_client *http, struct lanes **out, struct errctx *ec)
{
    struct lanes *lanes = calloc(1, sizeof *lanes);

    if (lanes) {
        lanes->per_address = per_address;
        lanes->http = http;
        STAILQ_INIT(&lanes->ready);
        lanes->bucket_count = FIRST_BUCKETS;
        lanes->buckets = calloc(FIRST_BUCKETS, sizeof(struct lane *));
    }
    if (!lanes || !lanes->buckets) {
        free(lanes);
        return err_set(ec, ERR_NOMEM, "out of memory for the lanes of addresses");
    }
    *out = lanes;
    return ERR_OK;
}

static void destroy_lane(struct lanes *lanes, struct lane *lane)
{
    http_client_drop_peer(lanes->http, lane->peer);
    free(lane->address);
    free(lane);
}

void lanes_destroy(struct lanes *lanes)
{
    if (!lanes)
        return;
    for (size_t i = 0; i < lanes->bucket_count; i++) {
        while (lanes->buckets[i]) {
            struct lane *lane = lanes->buckets[i];
            lanes->buckets[i] = lane->next_in_bucket;
            destroy_lane(lanes, lane);
        }
    }
    free(lanes->buckets);
    free(lanes);
}

/* Without memory the chains only grow longer. */
static void grow_buckets(struct lanes *lanes)
{
    size_t count = lanes->bucket_count * 2;
    struct lane **grown = calloc(count, sizeof(struct lane *));

    if (!grown)
        return;
    for (size_t i = 0; i < lanes->bucket_count; i++) {
        while (lanes->buckets[i]) {
            struct lane *lane = lanes->buckets[i];
            lanes->buckets[i] = lane->next_in_bucket;
            lane->next_in_bucket = grown[lane->hash & (count - 1)];
            grown[lane->hash & (count - 1)] = lane;
        }
    }
    free(lanes->buckets);
    lanes->buckets = grown;
    lanes->bucket_count = count;
}

static struct lane *find_or_add_lane(struct lanes *lanes, const char *address, uint64_t hash)
{
    struct lane *lane = lanes->buckets[hash & (lanes->bucket_count - 1)];

    while (lane && (lane->hash != hash || strcmp(lane->address, address) != 0))
        lane = lane->next_in_bucket;
    if (lane)
        return lane;
    if (lanes->lane_count >= lanes->bucket_count)
        grow_buckets(lanes);
    lane = calloc(1, sizeof *lane);
    if (!lane)
        return NULL;
    lane->address = str_copy(address);
    if (!lane->address || http_client_add_peer(lanes->http, address, &lane->peer) != ERR_OK) {
        free(lane->address);
        free(lane);
        return NULL;
    }
    lane->hash = hash;
    window_init(&lane->window, lanes->per_address);
    lane->next_in_bucket = lanes->buckets[hash & (lanes->bucket_count - 1)];
    lanes->buckets[hash & (lanes->bucket_count - 1)] = lane;
    lanes->lane_count++;
    return lane;
}

static void count_busy(struct lanes *lanes, struct lane *lane)
{
    bool is_busy = lane->waiting.head || lane->under_way > 0;

    if (is_busy != lane->is_busy)
        lanes->busy += is_busy ? 1 : -1;
    lane->is_busy = is_busy;
}

static void note_busy(struct lanes *lanes, struct lane *lane, int64_t now_mono_ms)
{
    count_busy(lanes, lane);
    if (now_mono_ms >= lanes->period_end_ms) {
        lanes->busy_before = now_mono_ms < lanes->period_end_ms + PERIOD_MS ? lanes->busy_most : 0;
        lanes->busy_most = 0;
        lanes->period_end_ms = now_mono_ms + PERIOD_MS;
    }
    if (lanes->busy > lanes->busy_most)
        lanes->busy_most = lanes->busy;
}

/* The most that the window of a lane may be while so many others are busy. */
static int get_share(const struct lanes *lanes, const struct lane *lane)
{
    int busy = lanes->busy_most > lanes->busy_before ? lanes->busy_most : lanes->busy_before;
    if (busy <= 1)
        return lane->window.most; /* it is alone */
    return SHARED / busy > lane->window.least ? SHARED / busy : lane->window.least;
}

static bool is_able(const struct lanes *lanes, const struct lane *lane, int64_t now_mono_ms)
{
    return lane->waiting.head && lane->under_way < get_share(lanes, lane) &&
           lane->under_way < window_get(&lane->window, now_mono_ms);
}

static void make_ready_if_able(struct lanes *lanes, struct lane *lane, int64_t now_mono_ms)
{
    if (lane->is_ready || !is_able(lanes, lane, now_mono_ms))
        return;
    lane->is_ready = true;
    STAILQ_INSERT_TAIL(&lanes->ready, lane, in_ready);
}

enum err lanes_expect(struct lanes *lanes, struct delivery *d, bool warm)
{
    struct lane *lane = find_or_add_lane(lanes, d->address, d->address_hash);

    if (!lane)
        return ERR_NOMEM;
    d->lane = lane;
    lane->expected++;
    if (warm && lane->expected <= lane->window.size && lane->expected <= get_share(lanes, lane))
        http_client_warm_peer(lanes->http, lane->peer, (size_t)lane->expected);
    return ERR_OK;
}

enum err lanes_pin(struct lanes *lanes, const char *address, uint64_t hash, struct lane **out)
{
    struct lane *lane = find_or_add_lane(lanes, address, hash);

    if (!lane)
        return ERR_NOMEM;
    lane->pins++;
    *out = lane;
    return ERR_OK;
}

void lanes_unpin(struct lane *lane, int64_t now_mono_ms)
{
    lane->pins--;
    lane->used_mono_ms = now_mono_ms;
}

struct lane_questions *lanes_questions(struct lane *lane)
{
    return &lane->questions;
}

void lanes_cancel(struct delivery *d)
{
    d->lane->expected--;
    d->lane = NULL;
}

void lanes_add(struct lanes *lanes, struct delivery *d, int64_t now_mono_ms)
{
    struct lane *lane = d->lane;

    lane->expected--;
    delivery_list_add(&lane->waiting, d);
    lanes->waiting++;
    note_busy(lanes, lane, now_mono_ms);
    make_ready_if_able(lanes, lane, now_mono_ms);
}

struct http_peer *lanes_peer(const struct lane *lane)
{
    return lane->peer;
}

struct delivery *lanes_take_next(struct lanes *lanes, int64_t now_mono_ms)
{
    struct lane *lane;
    struct delivery *d = NULL;

    while (!d && (lane = STAILQ_FIRST(&lanes->ready)) != NULL) {
        STAILQ_REMOVE_HEAD(&lanes->ready, in_ready);
        lane->is_ready = false;
        /* What waited may have expired meanwhile, and the window may have shrunk. */
        if (is_able(lanes, lane, now_mono_ms))
            d = delivery_list_take(&lane->waiting);
    }
    if (!d)
        return NULL;
    lanes->waiting--;
    lane->under_way++;
    make_ready_if_able(lanes, lane, now_mono_ms); /* behind the others */
    return d;
}

void lanes_note_answer(struct lanes *lanes, struct lane *lane, int64_t took_ms, int64_t now_mono_ms)
{
    bool wanted = lane->waiting.head && lane->window.size < get_share(lanes, lane);

    window_note_answer(&lane->window, took_ms, wanted, now_mono_ms);
    lane->is_away = false;
}

void lanes_note_failure(struct lane *lane, bool reached)
{
    window_note_failure(&lane->window);
    lane->is_away = !reached;
}

bool lanes_is_away(const struct lane *lane)
{
    return lane->is_away;
}

void lanes_release(struct lanes *lanes, struct lane *lane, int64_t now_mono_ms)
{
    lane->under_way--;
    lane->used_mono_ms = now_mono_ms;
    note_busy(lanes, lane, now_mono_ms);
    make_ready_if_able(lanes, lane, now_mono_ms);
}

void lanes_take_expired(struct lanes *lanes, int64_t now_boot_ms, struct delivery_list *out)
{
    if (lanes->waiting == 0)
        return;
    for (size_t i = 0; i < lanes->bucket_count; i++) {
        for (struct lane *lane = lanes->buckets[i]; lane; lane = lane->next_in_bucket) {
            /* Oldest first: whoever is behind one that may wait may wait too. */
            while (lane->waiting.head && lane->waiting.head->batch->deadline_boot_ms < now_boot_ms) {
                delivery_list_add(out, delivery_list_take(&lane->waiting));
                lanes->waiting--;
            }
            count_busy(lanes, lane);
        }
    }
}

void lanes_drop_idle(struct lanes *lanes, int64_t before_mono_ms)
{
    for (size_t i = 0; i < lanes->bucket_count; i++) {
        struct lane **at = &lanes->buckets[i];
        while (*at) {
            struct lane *lane = *at;
            if (lane->under_way > 0 || lane->is_ready || lane->waiting.head || lane->expected > 0 || lane->pins > 0 ||
                lane->used_mono_ms >= before_mono_ms) {
                at = &lane->next_in_bucket;
                continue;
            }
            *at = lane->next_in_bucket;
            destroy_lane(lanes, lane);
            lanes->lane_count--;
        }
    }
}

size_t lanes_count_waiting(const struct lanes *lanes)
{
    return lanes->waiting;
}
