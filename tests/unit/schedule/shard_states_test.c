/* SPDX-License-Identifier: MIT */
/* The states of a shard: when it takes over, loses, hands over, and what it tells ring and locks of it. */
#include "test.h"

#include "schedule/fake_session.h"
#include "schedule/shard/shard_impl.h"
#include "shardwheel/store/plan.h"
#include "sim/fibers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define T_S INT64_C(1767225600)
#define SHARD 3
#define SHARDS 8

/* ---- the world around it ----------------------------------------------------------------------------------------- */

static struct world {
    struct clock clock;
    struct shard *shard;
    struct zone *zone;
    struct coord_grant grant;
    bool connected;
    int released;
    uint64_t released_serial;
    int64_t released_us;

    enum err takeover_result;
    int takeovers;
    int64_t takeover_us; /* the last one */
    int64_t epoch, cursor_s;
    int loads; /* fires beyond the cursor, which the takeover loads */
    struct load_ask ask;
    int64_t highest[SHARDS];
    struct primary_use primary;
    int64_t floor_s, taken_floor_s;

    struct ring_shard ring;
    bool able;
    int64_t passed_s;
    int pushed, pushed_before_add, adds, removes;

    bool part_is_there, can_claim;
    enum claim_outcome outcome;
    int asks, hasty_asks, claims, drops, settles;
    int64_t claim_us;
} w;

static int64_t read_wall_us(const struct clock *clock)
{
    (void)clock;
    return T_S * 1000000 + fibers_now_us();
}

static int64_t read_mono_ms(const struct clock *clock)
{
    (void)clock;
    return fibers_mono_ms(0);
}

struct coord_grant coord_get_grant(struct coord *c, int shard)
{
    (void)c;
    assert(shard == SHARD);
    return w.grant;
}

void coord_release(struct coord *c, int shard, uint64_t serial)
{
    (void)c, (void)shard;
    w.released++;
    w.released_serial = serial;
    w.released_us = fibers_now_us();
    w.grant.wish = COORD_NOT_OURS;
}

bool coord_is_connected(struct coord *c)
{
    (void)c;
    return w.connected;
}

enum err store_take_shard(struct store_session *s, int shard, int n, const char *owner, int64_t above, int64_t floor_s,
                          int64_t *epoch, int64_t *cursor_s, struct errctx *ec)
{
    (void)s, (void)shard, (void)n, (void)owner, (void)above;
    w.taken_floor_s = floor_s;
    w.takeovers++;
    w.takeover_us = fibers_now_us();
    if (w.takeover_result)
        return err_set(ec, w.takeover_result, "told so");
    *epoch = ++w.epoch;
    *cursor_s = w.cursor_s;
    return ERR_OK;
}

enum err store_load_takeovers(struct store_session *s, int shard, struct takeover_note **out, size_t *count,
                              struct errctx *ec)
{
    (void)s, (void)shard, (void)ec;
    *out = NULL;
    *count = 0;
    return ERR_OK;
}

void loader_ask(struct loader *l, int shard, const struct load_ask *ask)
{
    (void)l, (void)shard;
    w.ask = *ask;
}

void loader_drop(struct loader *l, int shard)
{
    (void)l, (void)shard;
}

enum err loader_take(struct loader *l, int shard, struct fire **out, size_t *count, struct errctx *ec)
{
    (void)l, (void)ec;
    for (int i = 0; i < w.loads; i++) {
        struct fire *fire = fire_create();

        fire->shard = shard;
        fire->epoch = w.ask.epoch;
        fire->due_s = w.ask.from_s + 1 + i;
        fire->next = *out;
        *out = fire;
    }
    *count = (size_t)w.loads;
    return ERR_OK;
}

enum err store_end_doubtful(struct store_session *s, int shard, int64_t epoch, const int64_t *log_ids, size_t count,
                            struct errctx *ec)
{
    (void)shard, (void)epoch;
    (void)s, (void)log_ids, (void)count, (void)ec;
    return ERR_OK;
}

void ring_push(struct ring *r, struct fire *fire)
{
    (void)r;
    w.pushed++;
    fire_destroy(fire);
}

void ring_add_shard(struct ring *r, int shard, int64_t epoch, int64_t cursor_s)
{
    (void)r, (void)shard;
    w.adds++;
    w.pushed_before_add = w.pushed;
    w.ring = (struct ring_shard){.active = true, .epoch = epoch, .cursor_s = cursor_s, .last_s = INT64_MAX};
}

void ring_limit_shard(struct ring *r, int shard, int64_t last_s)
{
    (void)r, (void)shard;
    w.ring.last_s = last_s;
}

void ring_remove_shard(struct ring *r, int shard)
{
    (void)r, (void)shard;
    w.removes++;
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
    return w.passed_s;
}

bool ring_is_able(struct ring *r)
{
    (void)r;
    return w.able;
}

void scanner_ask(struct scanner *s, int shard, bool at_once)
{
    (void)s, (void)shard;
    w.asks++;
    w.hasty_asks += at_once;
}

bool scanner_take(struct scanner *s, int shard, struct scan_part *out)
{
    (void)s, (void)shard;
    *out = (struct scan_part){.complete = true};
    return w.part_is_there;
}

void scan_part_fini(struct scan_part *part)
{
    *part = (struct scan_part){0};
}

void scanner_drop(struct scanner *s, int shard)
{
    (void)s, (void)shard;
    w.drops++;
}

bool shard_can_claim(struct shard *shard)
{
    (void)shard;
    return w.can_claim;
}

enum claim_outcome shard_follow_delays(struct shard *shard)
{
    (void)shard;
    return CLAIM_DONE;
}

enum claim_outcome shard_run_claims(struct shard *shard, const struct scan_part *part)
{
    (void)shard, (void)part;
    w.claims++;
    w.claim_us = fibers_now_us();
    return w.outcome;
}

void shard_set_notes(struct shard *shard, struct takeover_note *notes, size_t count)
{
    (void)shard, (void)notes, (void)count;
}

void shard_settle_undelivered(struct shard *shard)
{
    (void)shard;
    w.settles++;
}

/* ---- helpers ----------------------------------------------------------------------------------------------------- */

static int set_up(void **state)
{
    struct shard_deps deps;
    struct errctx ec;

    (void)state;
    fibers_begin(1);
    w = (struct world){.clock = {read_wall_us, read_mono_ms, read_mono_ms},
                       .connected = true,
                       .able = true,
                       .can_claim = true,
                       .cursor_s = T_S - 1,
                       .passed_s = T_S};
    assert_int_equal(zone_load("UTC", &w.zone, &ec), ERR_OK);
    deps = (struct shard_deps){.opts = {.shards = SHARDS, .node_name = "n1", .zone = w.zone, .max_year = 2099},
                               .clock = &w.clock,
                               .highest_epochs = w.highest,
                               .primary = &w.primary};
    assert_int_equal(shard_create(SHARD, &deps, &w.shard, &ec), ERR_OK);
    assert_int_equal(shard_start(w.shard, &ec), ERR_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    shard_stop(w.shard);
    shard_join(w.shard);
    assert_false(w.ring.active);
    shard_destroy(w.shard);
    zone_destroy(w.zone);
    fibers_end();
    return 0;
}

static void pass_ms(int64_t ms)
{
    fibers_sleep_us(ms * 1000);
}

static void tell(enum coord_wish wish)
{
    if (wish == COORD_OWN && w.grant.wish != COORD_OWN)
        w.grant.serial++;
    w.grant.wish = wish;
    shard_wake(w.shard);
    pass_ms(1);
}

static enum shard_state state_of(void)
{
    struct shard_status status;

    shard_load_status(w.shard, &status);
    return status.state;
}

/* What the ring does when it finds another epoch. */
static void fence(void)
{
    w.ring.fenced = true;
    shard_wake(w.shard);
    pass_ms(1);
}

/* ---- takeover ---------------------------------------------------------------------------------------------------- */

static void nothing_is_done_without_a_grant(void **state)
{
    (void)state;
    pass_ms(10000);
    assert_int_equal(state_of(), SHARD_FOREIGN);
    assert_int_equal(w.takeovers + w.released + w.asks, 0);
    tell(COORD_GIVE_BACK); /* granted and asked back before anything was begun */
    assert_int_equal(w.released, 1);
    assert_int_equal(w.takeovers, 0);
}

static void what_was_loaded_is_pushed_before_the_cursor_may_move(void **state)
{
    struct shard_status status;

    (void)state;
    w.loads = 5;
    tell(COORD_OWN);
    assert_int_equal(state_of(), SHARD_OWNED);
    assert_int_equal(w.adds, 1);
    assert_int_equal(w.pushed_before_add, 5);
    shard_load_status(w.shard, &status);
    assert_int_equal(status.epoch, 1);
    assert_int_equal(status.cursor_s, T_S - 1);
    assert_int_equal(w.shard->planned_last_s, T_S + 4);
    assert_int_equal(w.shard->cursor_floor_s, T_S - 1);
}

/* What the scanner found before was asked for by somebody who did not own the shard. */
static void an_older_look_is_dropped(void **state)
{
    (void)state;
    w.part_is_there = true;
    tell(COORD_OWN);
    assert_true(w.drops > 0);
    assert_true(w.settles > 0);
}

/* Everything overdue is unplanned; what Java admins left behind counts as set by hand, but for the last minute. */
static void an_owner_before_us_says_what_is_unplanned(void **state)
{
    (void)state;
    tell(COORD_OWN);
    assert_int_equal(w.shard->planned_until_ms, (T_S - 1) * 1000 + 999 - PLAN_CATCH_UP_MS);
    fence();
    pass_ms(2000);
    assert_int_equal(w.takeovers, 2);
    assert_int_equal(w.shard->planned_until_ms, 0);
}

static void a_shard_that_cannot_be_taken_is_given_back(void **state)
{
    (void)state;
    w.takeover_result = ERR_LOST;
    tell(COORD_OWN);
    pass_ms(2800);
    assert_int_equal(state_of(), SHARD_TAKEOVER);
    assert_in_range(w.takeovers, 5, 12);
    assert_int_equal(w.released, 0);
    pass_ms(1000);
    assert_int_equal(state_of(), SHARD_FOREIGN);
    assert_int_equal(w.released, 1);
    assert_int_equal(w.released_serial, 1);
    assert_int_equal(w.adds, 0);
    w.takeover_result = ERR_OK;
    tell(COORD_OWN);
    assert_int_equal(state_of(), SHARD_OWNED);
}

static void a_grant_that_goes_ends_the_tries(void **state)
{
    int tries;

    (void)state;
    w.takeover_result = ERR_LOST;
    tell(COORD_OWN);
    tell(COORD_NOT_OURS);
    assert_int_equal(state_of(), SHARD_FOREIGN);
    tries = w.takeovers;
    pass_ms(5000);
    assert_int_equal(w.takeovers, tries);
    assert_int_equal(w.released, 0);
}

/* ---- loss -------------------------------------------------------------------------------------------------------- */

static void a_lost_lock_stops_it_at_once(void **state)
{
    (void)state;
    tell(COORD_OWN);
    tell(COORD_NOT_OURS);
    assert_int_equal(state_of(), SHARD_FOREIGN);
    assert_false(w.ring.active);
    assert_int_equal(w.released, 0);
}

static void another_serial_is_another_grant(void **state)
{
    (void)state;
    tell(COORD_OWN);
    w.grant.serial++; /* lost and granted again, without our noticing */
    shard_wake(w.shard);
    pass_ms(1);
    assert_int_equal(w.takeovers, 2);
    assert_int_equal(state_of(), SHARD_OWNED);
    assert_int_equal(w.ring.epoch, 2);
}

/* Two nodes that believe in the same lock must not chase each other: no call shortens the pause. */
static void a_fenced_shard_waits_before_it_takes_over_again(void **state)
{
    int64_t fenced_us;

    (void)state;
    tell(COORD_OWN);
    fenced_us = fibers_now_us();
    fence();
    assert_int_equal(state_of(), SHARD_TAKEOVER);
    assert_false(w.ring.active);
    for (int i = 0; i < 9; i++) {
        shard_wake(w.shard);
        pass_ms(100);
    }
    assert_int_equal(w.takeovers, 1);
    pass_ms(200);
    assert_int_equal(w.takeovers, 2);
    assert_true(w.takeover_us - fenced_us >= SHARD_RETAKE_MS * 1000);
    assert_int_equal(state_of(), SHARD_OWNED);
}

static void a_claim_that_is_fenced_says_the_same(void **state)
{
    (void)state;
    w.part_is_there = true;
    w.outcome = CLAIM_FENCED;
    tell(COORD_OWN);
    pass_ms(1);
    assert_int_equal(state_of(), SHARD_TAKEOVER);
    w.outcome = CLAIM_DONE;
    pass_ms(1500);
    assert_int_equal(w.takeovers, 2);
    assert_int_equal(state_of(), SHARD_OWNED);
}

/* Cut off from the locks it is told what it was granted before: whoever raised the epoch has the lock by now. */
static void a_fenced_shard_without_locks_stays_out(void **state)
{
    (void)state;
    tell(COORD_OWN);
    w.connected = false;
    fence();
    pass_ms(20000);
    assert_int_equal(w.takeovers, 1);
    assert_int_equal(state_of(), SHARD_TAKEOVER);
    w.connected = true;
    pass_ms(1500);
    assert_int_equal(w.takeovers, 2);
}

/* ---- handover ---------------------------------------------------------------------------------------------------- */

static void a_handover_waits_for_its_last_second(void **state)
{
    int asks;

    (void)state;
    tell(COORD_OWN);
    tell(COORD_GIVE_BACK);
    assert_int_equal(state_of(), SHARD_HANDOVER);
    assert_int_equal(w.ring.last_s, T_S + 2); /* the ring may be in the midst of the next one */
    asks = w.asks;
    w.ring.cursor_s = w.passed_s = T_S + 1;
    pass_ms(3000);
    assert_int_equal(w.released, 0);
    assert_true(w.ring.active);
    w.ring.cursor_s = w.passed_s = T_S + 2;
    pass_ms(200);
    assert_int_equal(w.released, 1);
    assert_int_equal(w.asks, asks); /* nothing is planned meanwhile */
    assert_false(w.ring.active);
    assert_int_equal(state_of(), SHARD_FOREIGN);
}

/* After a stall the ring may pass the last second without a move. */
static void a_last_second_that_was_jumped_over_counts_as_passed(void **state)
{
    (void)state;
    tell(COORD_OWN);
    tell(COORD_GIVE_BACK);
    w.passed_s = T_S + 60;
    pass_ms(200);
    assert_int_equal(w.released, 1);
    assert_int_equal(state_of(), SHARD_FOREIGN);
}

static void a_ring_that_cannot_move_holds_no_handover_up(void **state)
{
    (void)state;
    tell(COORD_OWN);
    tell(COORD_GIVE_BACK);
    pass_ms(1000);
    assert_int_equal(w.released, 0);
    w.able = false; /* while it waits */
    pass_ms(200);
    assert_int_equal(w.released, 1);
    w.able = true;
    tell(COORD_OWN);
    w.able = false; /* before */
    tell(COORD_GIVE_BACK);
    pass_ms(200);
    assert_int_equal(w.released, 2);
}

static void a_fenced_handover_is_over(void **state)
{
    (void)state;
    tell(COORD_OWN);
    tell(COORD_GIVE_BACK);
    w.ring.fenced = true;
    pass_ms(200);
    assert_int_equal(w.released, 1);
}

static void the_last_node_lets_out_what_is_planned(void **state)
{
    (void)state;
    w.loads = 7;
    tell(COORD_OWN);
    tell(COORD_FINISH);
    assert_int_equal(w.ring.last_s, T_S + 6); /* the cursor was at T - 1 */
    w.ring.cursor_s = T_S + 6;
    pass_ms(200);
    assert_int_equal(w.released, 1);
    /* ... but no more than ten seconds of it. */
    w.loads = 300;
    tell(COORD_OWN);
    tell(COORD_FINISH);
    assert_int_equal(w.ring.last_s, T_S + 10);
}

/* What nobody has is taken over to be finished. */
static void a_new_grant_may_be_one_to_finish(void **state)
{
    (void)state;
    w.loads = 5;
    w.grant.serial = 9;
    tell(COORD_FINISH);
    assert_int_equal(w.takeovers, 1);
    assert_int_equal(state_of(), SHARD_HANDOVER);
    assert_int_equal(w.claims, 0);
    w.ring.cursor_s = w.ring.last_s;
    pass_ms(200);
    assert_int_equal(w.released_serial, 9);
}

static void a_stop_does_not_wait_for_a_handover(void **state)
{
    int64_t began_us;

    (void)state;
    tell(COORD_OWN);
    tell(COORD_GIVE_BACK);
    began_us = fibers_now_us();
    shard_stop(w.shard);
    shard_join(w.shard);
    assert_true(fibers_now_us() - began_us < 1000);
    assert_int_equal(w.released, 0); /* the end of the session gives it back */
}

/* ---- the cycle --------------------------------------------------------------------------------------------------- */

/* Each shard has its own place in the second, away from the tick. */
static void it_claims_once_a_second_at_its_place(void **state)
{
    int64_t place_us = (300 + 500 * SHARD / SHARDS) * 1000;

    (void)state;
    w.part_is_there = true;
    tell(COORD_OWN);
    pass_ms(2200 - fibers_now_us() / 1000);
    for (int i = 0; i < 5; i++) {
        int before = w.claims;

        shard_wake(w.shard); /* the scanner has looked */
        pass_ms(1000);
        assert_int_equal(w.claims, before + 1);
        assert_in_range(w.claim_us % 1000000, place_us, place_us + 2000);
    }
}

static void a_claim_that_failed_is_tried_soon(void **state)
{
    (void)state;
    w.part_is_there = true;
    w.outcome = CLAIM_RETRY;
    tell(COORD_OWN);
    pass_ms(4800);
    assert_in_range(w.claims, 4, 10);
    assert_true(w.hasty_asks >= 4);
}

static void nothing_is_asked_for_while_nothing_may_be_planned(void **state)
{
    (void)state;
    w.can_claim = false;
    tell(COORD_OWN);
    pass_ms(5000);
    assert_int_equal(w.asks + w.claims, 0);
    assert_true(w.settles >= 5); /* what is old is settled all the same */
    w.can_claim = true;
    pass_ms(1000);
    assert_true(w.asks > 0);
}

int main(void)
{
#define SHARD_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        SHARD_TEST(nothing_is_done_without_a_grant),
        SHARD_TEST(what_was_loaded_is_pushed_before_the_cursor_may_move),
        SHARD_TEST(an_older_look_is_dropped),
        SHARD_TEST(an_owner_before_us_says_what_is_unplanned),
        SHARD_TEST(a_shard_that_cannot_be_taken_is_given_back),
        SHARD_TEST(a_grant_that_goes_ends_the_tries),
        SHARD_TEST(a_lost_lock_stops_it_at_once),
        SHARD_TEST(another_serial_is_another_grant),
        SHARD_TEST(a_fenced_shard_waits_before_it_takes_over_again),
        SHARD_TEST(a_claim_that_is_fenced_says_the_same),
        SHARD_TEST(a_fenced_shard_without_locks_stays_out),
        SHARD_TEST(a_handover_waits_for_its_last_second),
        SHARD_TEST(a_last_second_that_was_jumped_over_counts_as_passed),
        SHARD_TEST(a_ring_that_cannot_move_holds_no_handover_up),
        SHARD_TEST(a_fenced_handover_is_over),
        SHARD_TEST(the_last_node_lets_out_what_is_planned),
        SHARD_TEST(a_new_grant_may_be_one_to_finish),
        SHARD_TEST(a_stop_does_not_wait_for_a_handover),
        SHARD_TEST(it_claims_once_a_second_at_its_place),
        SHARD_TEST(a_claim_that_failed_is_tried_soon),
        SHARD_TEST(nothing_is_asked_for_while_nothing_may_be_planned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
