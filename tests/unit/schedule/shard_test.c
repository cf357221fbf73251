/* SPDX-License-Identifier: MIT */
/* How a shard is taken over, turn by turn on a clock of the test's own, with stand-ins for the database, the locks, the
 * loader and the ring: no thread. */
#include "test.h"

#include "fake_job_spec.h"
#include "schedule/fake_clock.h"
#include "schedule/shard/shard_impl.h"
#include "shardwheel/store/plan.h"

#include <stdlib.h>
#include <string.h>

#define T_S INT64_C(1767225600)
#define NUMBER 3

static struct world {
    struct fake_clock time;
    struct shard *shard;
    int64_t highest[8];
    struct primary_use primary;
    int64_t floor_s;
    /* The database. */
    int64_t epoch, cursor_s;
    enum err take_result, notes_result;
    int takeovers;
    /* The locks. */
    struct coord_grant grant;
    bool connected;
    int releases;
    /* The loader. */
    bool asked;
    struct load_ask ask;
    enum err load_result;
    int asks;
    /* The ring. */
    struct ring_shard ring;
    int64_t pushed; /* entries, with their epochs */
    int64_t pushed_epoch;
    bool added_before_push;
} w;

struct store_session {
    int unused;
};
static struct store_session the_session;

static enum err answer(enum err e, struct errctx *ec)
{
    return e ? err_set(ec, e, "told so") : ERR_OK;
}

/* ---- the database ----------------------------------------------------------------------------------------------- */

enum err store_take_session(struct store *st, enum session_kind kind, struct store_session **out, struct errctx *ec)
{
    (void)st, (void)kind, (void)ec;
    *out = &the_session;
    return ERR_OK;
}

void store_give_session(struct store *st, struct store_session *s)
{
    (void)st, (void)s;
}

enum err store_take_shard(struct store_session *s, int shard, int n, const char *owner, int64_t above, int64_t floor_s,
                          int64_t *epoch, int64_t *cursor_s, struct errctx *ec)
{
    (void)s;
    assert_int_equal(shard, NUMBER);
    assert_int_equal(n, 8);
    assert_string_equal(owner, "node-a");
    if (w.take_result)
        return answer(w.take_result, ec);
    w.takeovers++;
    w.epoch = (w.epoch > above ? w.epoch : above) + 1;
    *epoch = w.epoch;
    *cursor_s = w.cursor_s > floor_s ? w.cursor_s : floor_s;
    return ERR_OK;
}

enum err store_load_takeovers(struct store_session *s, int shard, struct takeover_note **out, size_t *count,
                              struct errctx *ec)
{
    (void)s, (void)shard;
    *out = NULL;
    *count = 0;
    return answer(w.notes_result, ec);
}

enum err store_end_doubtful(struct store_session *s, int shard, int64_t epoch, const int64_t *log_ids, size_t count,
                            struct errctx *ec)
{
    (void)shard, (void)epoch;
    (void)s, (void)log_ids, (void)count;
    return err_set(ec, ERR_STATE, "not here");
}

enum err store_end_unknown(struct store_session *s, const int64_t *log_ids, size_t count, int64_t until_s,
                           size_t *ended, struct errctx *ec)
{
    (void)s, (void)log_ids, (void)count, (void)until_s, (void)ended;
    return err_set(ec, ERR_STATE, "not here");
}

enum err store_delete_takeovers(struct store_session *s, int shard, int64_t epoch, bool put_off, struct errctx *ec)
{
    (void)s, (void)shard, (void)epoch, (void)put_off;
    return err_set(ec, ERR_STATE, "not here");
}

/* ---- the loader ------------------------------------------------------------------------------------------------- */

void loader_ask(struct loader *l, int shard, const struct load_ask *ask)
{
    (void)l;
    assert_int_equal(shard, NUMBER);
    w.asked = true;
    w.ask = *ask;
    w.asks++;
}

enum err loader_take(struct loader *l, int shard, struct fire **out, size_t *count, struct errctx *ec)
{
    (void)l;
    assert_int_equal(shard, NUMBER);
    assert_true(w.asked);
    if (w.load_result)
        return answer(w.load_result, ec);
    w.asked = false;
    *count = 1;
    *out = fire_create();
    assert_non_null(*out);
    (*out)->due_s = w.ask.from_s + 1;
    (*out)->epoch = w.ask.epoch;
    return ERR_OK;
}

void loader_drop(struct loader *l, int shard)
{
    (void)l, (void)shard;
    w.asked = false;
}

/* ---- the ring --------------------------------------------------------------------------------------------------- */

void ring_push(struct ring *r, struct fire *fire)
{
    (void)r;
    w.added_before_push = w.ring.active;
    w.pushed++;
    w.pushed_epoch = fire->epoch;
    fire_destroy(fire);
}

void ring_add_shard(struct ring *r, int shard, int64_t epoch, int64_t cursor_s)
{
    (void)r;
    assert_int_equal(shard, NUMBER);
    w.ring = (struct ring_shard){.active = true, .epoch = epoch, .cursor_s = cursor_s};
}

void ring_limit_shard(struct ring *r, int shard, int64_t last_s)
{
    (void)r, (void)shard, (void)last_s;
}

void ring_remove_shard(struct ring *r, int shard)
{
    (void)r, (void)shard;
    w.ring.active = false;
}

struct ring_shard ring_get_shard(struct ring *r, int shard)
{
    (void)r, (void)shard;
    return w.ring;
}

int64_t ring_get_floor_s(struct ring *r, int shard)
{
    (void)r, (void)shard;
    return w.floor_s;
}

int64_t ring_get_passed_s(struct ring *r)
{
    (void)r;
    return T_S;
}

bool ring_is_able(struct ring *r)
{
    (void)r;
    return true;
}

/* ---- the rest of the house --------------------------------------------------------------------------------------- */

struct coord_grant coord_get_grant(struct coord *c, int shard)
{
    (void)c, (void)shard;
    return w.grant;
}

bool coord_is_connected(struct coord *c)
{
    (void)c;
    return w.connected;
}

void coord_release(struct coord *c, int shard, uint64_t serial)
{
    (void)c, (void)shard;
    assert_int_equal(serial, w.grant.serial);
    w.releases++;
}

bool scanner_take(struct scanner *s, int shard, struct scan_part *out)
{
    (void)s, (void)shard, (void)out;
    return false;
}

void scanner_ask(struct scanner *s, int shard, bool at_once)
{
    (void)s, (void)shard, (void)at_once;
}

void scan_part_fini(struct scan_part *part)
{
    *part = (struct scan_part){0};
}

void scanner_drop(struct scanner *s, int shard)
{
    (void)s, (void)shard;
}

bool shard_can_claim(struct shard *shard)
{
    (void)shard;
    return false;
}

enum claim_outcome shard_follow_delays(struct shard *shard)
{
    (void)shard;
    return CLAIM_DONE;
}

enum claim_outcome shard_run_claims(struct shard *shard, const struct scan_part *part)
{
    (void)shard, (void)part;
    return CLAIM_DONE;
}

/* ---- helpers ---------------------------------------------------------------------------------------------------- */

static int setup(void **state)
{
    struct zone *zone = NULL;
    struct errctx ec;

    memset(&w, 0, sizeof w);
    w.time = fake_clock_at(T_S * 1000);
    w.epoch = 7;
    w.cursor_s = T_S - 5;
    w.connected = true;
    w.grant = (struct coord_grant){.wish = COORD_OWN, .serial = 11};
    w.load_result = ERR_BUSY;
    assert_int_equal(zone_load("UTC", &zone, &ec), ERR_OK);
    *state = zone;
    assert_int_equal(
        shard_create(NUMBER,
                     &(struct shard_deps){.opts = {.shards = 8, .node_name = "node-a", .zone = zone, .max_year = 2100},
                                          .highest_epochs = w.highest,
                                          .primary = &w.primary,
                                          .clock = &w.time.clock},
                     &w.shard, &ec),
        ERR_OK);
    return 0;
}

static int teardown(void **state)
{
    shard_destroy(w.shard);
    zone_destroy(*state);
    return 0;
}

/* So many turns, each after the time that the one before asked for, if that is not more than a second. */
static void turns(int n)
{
    while (n-- > 0) {
        int64_t wait_ms = shard_turn(w.shard);

        fake_clock_pass_ms(&w.time, wait_ms < 1000 ? wait_ms : 1000);
    }
}

static enum shard_state state_of(void)
{
    struct shard_status status;

    shard_load_status(w.shard, &status);
    return status.state;
}

/* ---- tests ------------------------------------------------------------------------------------------------------ */

static void the_ring_waits_for_what_is_loaded(void **state)
{
    struct shard_status status;

    (void)state;
    turns(20);
    assert_int_equal(state_of(), SHARD_TAKEOVER);
    assert_int_equal(w.takeovers, 1); /* however long it takes */
    assert_int_equal(w.asks, 1);
    assert_int_equal(w.releases, 0);
    assert_false(w.ring.active);
    assert_int_equal(w.ask.from_s, T_S - 5);
    assert_int_equal(w.ask.to_s, T_S - 5 + LOOK_AHEAD_S);
    assert_int_equal(w.ask.under, INT64_MAX);
    assert_int_equal(w.ask.epoch, 8);
    assert_true(w.ask.urgent);
    w.load_result = ERR_OK;
    turns(1);
    assert_int_equal(state_of(), SHARD_OWNED);
    assert_int_equal(w.pushed, 1);
    assert_int_equal(w.pushed_epoch, 8);
    assert_false(w.added_before_push);
    assert_true(w.ring.active);
    assert_int_equal(w.ring.epoch, 8);
    assert_int_equal(w.ring.cursor_s, T_S - 5);
    shard_load_status(w.shard, &status);
    assert_int_equal(status.epoch, 8);
    assert_int_equal(status.planned_until_ms, status.owned_since_ms);
}

/* Who has the lock only for a while must not come back with what was loaded before: somebody else may have sent it. */
static void a_grant_that_went_drops_the_load(void **state)
{
    (void)state;
    turns(3);
    w.grant.wish = COORD_NOT_OURS;
    turns(1);
    assert_int_equal(state_of(), SHARD_FOREIGN);
    assert_false(w.asked);
    w.grant = (struct coord_grant){.wish = COORD_OWN, .serial = 12};
    turns(3);
    assert_int_equal(w.takeovers, 2);
    assert_int_equal(w.ask.epoch, 9);
    /* Another grant between two turns. */
    w.grant.serial = 13;
    w.load_result = ERR_OK;
    turns(2);
    assert_int_equal(w.takeovers, 3);
    assert_int_equal(w.ring.epoch, 10);
}

/* The load goes on by itself: the epoch is not raised again and again meanwhile. */
static void a_load_that_fails_is_waited_for(void **state)
{
    (void)state;
    turns(3);
    w.load_result = ERR_LOST;
    turns(4);
    assert_int_equal(state_of(), SHARD_TAKEOVER);
    assert_int_equal(w.takeovers, 1);
    assert_int_equal(w.asks, 1);
    w.load_result = ERR_OK;
    turns(1);
    assert_int_equal(state_of(), SHARD_OWNED);
}

/* However often: what counts is whether it goes on in between. */
static void a_long_load_may_fail_now_and_then(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        w.load_result = ERR_LOST;
        turns(5);
        w.load_result = ERR_BUSY;
        turns(2);
    }
    assert_int_equal(w.releases, 0);
    assert_int_equal(w.takeovers, 1);
}

static void what_cannot_be_taken_is_given_back(void **state)
{
    enum err *const results[] = {&w.take_result, &w.notes_result, &w.load_result};

    for (size_t i = 0; i < ARRAY_LEN(results); i++) {
        if (i > 0) {
            teardown(state);
            setup(state);
        }
        w.load_result = ERR_OK;
        *results[i] = ERR_LOST;
        turns(8);
        assert_int_equal(w.releases, 0);
        assert_int_equal(state_of(), SHARD_TAKEOVER);
        turns(4);
        assert_int_equal(w.releases, 1);
        assert_false(w.asked);
    }
}

/* A failover of the database that lost the commit of our takeover: we are fenced, and the same number must not come
 * again, under which fires of ours wait in the wheel. */
static void no_epoch_comes_twice(void **state)
{
    (void)state;
    w.load_result = ERR_OK;
    turns(3);
    assert_int_equal(w.ring.epoch, 8);
    w.epoch = 7;
    w.ring.fenced = true;
    turns(3);
    assert_int_equal(state_of(), SHARD_OWNED);
    assert_int_equal(w.takeovers, 2);
    assert_int_equal(w.ring.epoch, 9);
    assert_int_equal(w.pushed_epoch, 9);
    /* Nor to the shard object that comes after a change of N there and back. */
    w.epoch = 7;
    shard_destroy(w.shard);
    w.ring = (struct ring_shard){0};
    assert_int_equal(shard_create(NUMBER,
                                  &(struct shard_deps){
                                      .opts = {.shards = 8, .node_name = "node-a", .zone = *state, .max_year = 2100},
                                      .highest_epochs = w.highest,
                                      .primary = &w.primary,
                                      .clock = &w.time.clock},
                                  &w.shard, NULL),
                     ERR_OK);
    turns(3);
    assert_int_equal(w.ring.epoch, 10);
}

/* Two that believe in their locks must not take the shard from each other without a pause, nor without a look at the
 * locks. */
static void a_fenced_shard_comes_back_after_a_pause(void **state)
{
    (void)state;
    w.load_result = ERR_OK;
    turns(3);
    w.ring.fenced = true;
    w.connected = false;
    assert_int_equal(shard_turn(w.shard), SHARD_RETAKE_MS);
    assert_int_equal(state_of(), SHARD_TAKEOVER);
    turns(5);
    assert_int_equal(w.takeovers, 1);
    w.connected = true;
    w.load_result = ERR_BUSY;
    turns(1);
    assert_int_equal(w.takeovers, 2);
    w.connected = false; /* the epoch is ours by now */
    w.load_result = ERR_OK;
    turns(1);
    assert_int_equal(state_of(), SHARD_OWNED);
}

/* Another database server: at once, whoever raised the epoch there, and whether the locks are in sight or not. */
static void another_server_is_taken_over_from_at_once(void **state)
{
    (void)state;
    w.load_result = ERR_OK;
    turns(3);
    assert_int_equal(w.takeovers, 1);
    w.floor_s = T_S + 3; /* the cursor that it says is older */
    w.epoch = 5;
    w.ring.fenced = true;
    w.connected = false;
    atomic_store(&w.primary.generation, 4);
    assert_int_equal(shard_turn(w.shard), 0);
    assert_int_equal(state_of(), SHARD_TAKEOVER);
    assert_int_equal(shard_turn(w.shard), 0);
    assert_int_equal(state_of(), SHARD_OWNED);
    assert_int_equal(w.takeovers, 2);
    assert_int_equal(w.releases, 0);
    assert_int_equal(w.ring.epoch, 9);
    assert_int_equal(w.ring.cursor_s, T_S + 3);
    assert_int_equal(w.ask.from_s, T_S + 3);
    turns(3);
    assert_int_equal(w.takeovers, 2);
    /* While one is under way: what was loaded so far is the other server's. */
    w.load_result = ERR_BUSY;
    w.connected = true;
    w.ring.fenced = true;
    turns(2);
    assert_int_equal(w.takeovers, 3);
    atomic_store(&w.primary.generation, 5);
    w.load_result = ERR_OK;
    turns(1);
    assert_int_equal(w.takeovers, 4);
    assert_int_equal(w.ring.epoch, 11);
    /* Found out by the fence first. */
    w.ring.fenced = true;
    w.connected = false;
    turns(3);
    assert_int_equal(state_of(), SHARD_TAKEOVER);
    atomic_store(&w.primary.generation, 6);
    turns(1);
    assert_int_equal(state_of(), SHARD_OWNED);
}

int main(void)
{
#define SHARD_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        SHARD_TEST(the_ring_waits_for_what_is_loaded),       SHARD_TEST(a_grant_that_went_drops_the_load),
        SHARD_TEST(a_load_that_fails_is_waited_for),         SHARD_TEST(a_long_load_may_fail_now_and_then),
        SHARD_TEST(what_cannot_be_taken_is_given_back),      SHARD_TEST(no_epoch_comes_twice),
        SHARD_TEST(a_fenced_shard_comes_back_after_a_pause), SHARD_TEST(another_server_is_taken_over_from_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
