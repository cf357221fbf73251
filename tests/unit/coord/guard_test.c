/* SPDX-License-Identifier: MIT */
/* The guard's thread, on a store that is made of variables: what it asks for, when it gives up, what it tells. */
#include "shardwheel/coord.h"
#include "test.h"
#include "shardwheel/store/guard.h"

#include <stdlib.h>
#include <string.h>

#define DEADLINE_MS 120000

struct store_session {
    int64_t connection; /* 0 while it has asked for nothing */
};

/* The database, as the guard sees it. */
static struct {
    struct mutex lock;
    struct cond changed; /* with lock */
    bool away;           /* [lock] no connection can be made, those that are there break */
    bool java_has_row;   /* [lock] requests wait */
    int64_t connections; /* [lock] made so far */
    int64_t broken;      /* [lock] connections up to this one are broken */
    int64_t forgotten;   /* [lock] as seen by others: requests up to this one are not known at the server any more */
    int64_t killed;      /* [lock] the last KILL */
    int64_t row;         /* [lock] connection in our row; -1: no row */
    bool row_refused;    /* [lock] the row cannot be written */
    int others, others_held;  /* [lock] */
    int ended;                /* [lock] guards that were ended, not lost */
    int sessions;             /* [lock] not given back */
    bool held_at_row_removal; /* [lock] */
    bool holds;               /* [lock] */
    bool in_way;              /* [lock] somebody wants the table to himself */
    int64_t gone_mono_ms;     /* [lock] when our row was removed the last time */
    int64_t ended_mono_ms;    /* [lock] when the guard was */
} db;

static struct counters counters;

static bool is_broken(const struct store_session *s)
{
    return db.away || s->connection <= db.broken;
}

enum err store_take_session(struct store *st, enum session_kind kind, struct store_session **out, struct errctx *ec)
{
    struct store_session *s = NULL;

    (void)st;
    if (kind != SESSION_GUARD) /* the checks of cmocka work in the test's own thread only */
        abort();
    mutex_lock(&db.lock);
    if (!db.away) {
        s = calloc(1, sizeof *s);
        s->connection = ++db.connections;
        db.sessions++;
        *out = s;
    }
    mutex_unlock(&db.lock);
    return s ? ERR_OK : err_set(ec, ERR_LOST, "database away");
}

void store_give_session(struct store *st, struct store_session *s)
{
    (void)st;
    mutex_lock(&db.lock);
    db.sessions -= s != NULL;
    mutex_unlock(&db.lock);
    free(s);
}

enum err store_ask_guard(struct store_session *s, const char *incarnation, int64_t *connection, struct errctx *ec)
{
    (void)ec;
    if (strcmp(incarnation, "me") != 0)
        abort();
    *connection = s->connection;
    return ERR_OK;
}

enum err store_wait_guard(struct store_session *s, const char *incarnation, int timeout_ms, bool *held,
                          int64_t *proven_ms, struct errctx *ec)
{
    int64_t deadline = clock_mono_ms(clock_system()) + timeout_ms;
    bool broken;

    (void)incarnation;
    mutex_lock(&db.lock);
    while (db.java_has_row && !is_broken(s) && clock_mono_ms(clock_system()) < deadline)
        cond_wait_until(&db.changed, &db.lock, deadline);
    broken = is_broken(s);
    *held = db.holds = !broken && !db.java_has_row;
    *proven_ms = *held ? 1000 : 0;
    mutex_unlock(&db.lock);
    return broken ? err_set(ec, ERR_LOST, "broken") : ERR_OK;
}

/* Takes 20 ms where the real one takes 0.9 s. */
enum err store_ping_guard(struct store_session *s, int64_t *proven_ms, struct errctx *ec)
{
    int64_t deadline = clock_mono_ms(clock_system()) + 20;
    bool broken;

    mutex_lock(&db.lock);
    while (!is_broken(s) && clock_mono_ms(clock_system()) < deadline)
        cond_wait_until(&db.changed, &db.lock, deadline);
    broken = is_broken(s);
    if (broken)
        db.holds = false;
    mutex_unlock(&db.lock);
    *proven_ms = 1001;
    return broken ? err_set(ec, ERR_LOST, "broken") : ERR_OK;
}

void store_end_guard(struct store_session *s, const char *incarnation)
{
    (void)incarnation;
    mutex_lock(&db.lock);
    if (!is_broken(s) && db.holds) {
        db.ended++;
        db.ended_mono_ms = clock_mono_ms(clock_system());
        db.in_way = false;
        db.holds = false;
    }
    mutex_unlock(&db.lock);
}

enum err store_write_guard(struct store_session *s, const char *incarnation, int64_t connection, int64_t proven_ms,
                           struct errctx *ec)
{
    bool refused;

    (void)s;
    (void)incarnation;
    if (connection != 0 && proven_ms < 1000)
        abort();
    mutex_lock(&db.lock);
    refused = db.away || db.row_refused;
    if (!refused)
        db.row = connection;
    mutex_unlock(&db.lock);
    return refused ? err_set(ec, ERR_INPUT, "row refused") : ERR_OK;
}

enum err store_delete_guard(struct store_session *s, const char *incarnation, struct errctx *ec)
{
    (void)s;
    (void)ec;
    mutex_lock(&db.lock);
    if (incarnation) {
        db.held_at_row_removal = db.holds;
        db.row = -1;
        db.gone_mono_ms = clock_mono_ms(clock_system());
    }
    mutex_unlock(&db.lock);
    return ERR_OK;
}

/* He has it as soon as the guard is ended. */
enum err store_is_guard_in_way(struct store_session *s, bool *in_way, struct errctx *ec)
{
    (void)s;
    (void)ec;
    mutex_lock(&db.lock);
    *in_way = db.in_way;
    mutex_unlock(&db.lock);
    return ERR_OK;
}

enum err store_check_asking(struct store_session *s, const char *incarnation, int64_t connection, bool *alive,
                            struct errctx *ec)
{
    (void)s;
    (void)incarnation;
    (void)ec;
    mutex_lock(&db.lock);
    *alive = connection > db.forgotten;
    mutex_unlock(&db.lock);
    return ERR_OK;
}

enum err store_count_guards(struct store_session *s, const char *except, int *nodes, int *held, struct errctx *ec)
{
    (void)s;
    (void)except;
    (void)ec;
    mutex_lock(&db.lock);
    *nodes = db.others;
    *held = db.others_held;
    mutex_unlock(&db.lock);
    return ERR_OK;
}

enum err store_kill_session(struct store_session *s, int64_t connection, struct errctx *ec)
{
    (void)s;
    (void)ec;
    mutex_lock(&db.lock);
    db.killed = connection;
    mutex_unlock(&db.lock);
    return ERR_OK;
}

/* ---- fixture ------------------------------------------------------------------------------------------------- */

static struct guard *guard;
static int store_place;

static int setup(void **state)
{
    (void)state;
    memset(&db, 0, sizeof db);
    memset(&counters, 0, sizeof counters);
    mutex_init(&db.lock, LOCK_LEAF);
    cond_init(&db.changed);
    db.row = -1;
    return guard_create((struct store *)&store_place, "me", clock_system(), &counters, &guard, NULL);
}

static int teardown(void **state)
{
    (void)state;
    guard_stop(guard);
    guard_stop(guard); /* may be called twice */
    guard_join(guard);
    guard_destroy(guard);
    guard_destroy(NULL);
    assert_int_equal(db.sessions, 0);
    assert_int_equal(counters_get(&counters, COUNTER_GUARD_HELD), 0);
    cond_fini(&db.changed);
    mutex_fini(&db.lock);
    return 0;
}

#define CHANGE(statement)                                                                                              \
    do {                                                                                                               \
        mutex_lock(&db.lock);                                                                                          \
        statement;                                                                                                     \
        cond_broadcast(&db.changed);                                                                                   \
        mutex_unlock(&db.lock);                                                                                        \
    } while (0)

#define WAIT(condition)                                                                                                \
    do {                                                                                                               \
        int64_t wait_end = clock_mono_ms(clock_system()) + DEADLINE_MS;                                                \
        for (bool wait_met = false; !wait_met;) {                                                                      \
            mutex_lock(&db.lock);                                                                                      \
            wait_met = (condition);                                                                                    \
            mutex_unlock(&db.lock);                                                                                    \
            if (!wait_met && clock_mono_ms(clock_system()) > wait_end)                                                 \
                fail_msg("waited in vain for: %s", #condition);                                                        \
            if (!wait_met)                                                                                             \
                clock_sleep_ms(5);                                                                                     \
        }                                                                                                              \
    } while (0)

static bool is_held(void)
{
    int64_t since_ms = counters_get(&counters, COUNTER_GUARD_SINCE), now_ms = clock_wall_ms(clock_system());
    bool held = counters_get(&counters, COUNTER_GUARD_HELD) == 1;

    assert_true(held ? since_ms > now_ms - DEADLINE_MS && since_ms <= now_ms : since_ms == 0);
    return held;
}

static void start_and_hold(void)
{
    assert_int_equal(guard_start(guard, NULL), ERR_OK);
    WAIT(db.row > 0);
    assert_true(is_held());
}

/* ---- tests --------------------------------------------------------------------------------------------------- */

static void its_row_goes_before_the_guard_ends(void **state)
{
    (void)state;
    start_and_hold();
    guard_stop(guard);
    guard_join(guard);
    assert_int_equal(db.row, -1);
    assert_true(db.held_at_row_removal);
    assert_int_equal(db.ended, 1);
    assert_int_equal(counters_get(&counters, COUNTER_GUARD_LOSSES), 0);
}

static void a_lost_guard_is_asked_for_again(void **state)
{
    (void)state;
    start_and_hold();
    for (int i = 1; i <= 3; i++) {
        int64_t before;

        CHANGE({
            before = db.row;
            db.broken = db.row;
            db.java_has_row = true;
        });
        WAIT(db.row == 0); /* it shows that it asks */
        assert_false(is_held());
        assert_int_equal(counters_get(&counters, COUNTER_GUARD_LOSSES), i);
        CHANGE(db.java_has_row = false);
        WAIT(db.row > before);
        assert_true(is_held());
    }
}

/* Claims that looked at its row, the longest of which takes 2 s and some, are over when it ends. */
static void who_wants_the_table_to_himself_gets_it(void **state)
{
    int64_t before;

    (void)state;
    start_and_hold();
    CHANGE({
        before = db.row;
        db.in_way = true;
    });
    WAIT(db.row > before);
    assert_true(is_held());
    assert_true(db.held_at_row_removal);
    assert_int_equal(db.ended, 1);
    assert_true(db.ended_mono_ms - db.gone_mono_ms >= 2900);
    assert_int_equal(counters_get(&counters, COUNTER_GUARD_LOSSES), 0);
}

static void a_database_that_is_away_is_waited_for(void **state)
{
    (void)state;
    CHANGE(db.away = true);
    assert_int_equal(guard_start(guard, NULL), ERR_OK);
    assert_false(is_held());
    CHANGE(db.away = false);
    WAIT(db.row > 0);
    CHANGE(db.away = true);
    WAIT(!db.holds);
    guard_stop(guard);
    guard_join(guard); /* and a stop does not wait for it */
    assert_int_equal(db.ended, 0);
}

static void a_request_that_waits_is_taken_back_at_the_stop(void **state)
{
    (void)state;
    CHANGE(db.java_has_row = true);
    assert_int_equal(guard_start(guard, NULL), ERR_OK);
    WAIT(db.row == 0);
    guard_stop(guard);
    guard_join(guard);
    assert_true(db.killed > 0);
    assert_int_equal(db.row, -1);
    assert_int_equal(db.ended, 0);
}

static void a_request_that_the_server_has_forgotten_is_made_again(void **state)
{
    int64_t before;

    (void)state;
    CHANGE(db.java_has_row = true);
    assert_int_equal(guard_start(guard, NULL), ERR_OK);
    WAIT(db.row == 0);
    CHANGE({
        before = db.connections;
        db.forgotten = db.connections;
    });
    WAIT(db.connections > before);
    CHANGE(db.java_has_row = false);
    WAIT(db.row > before);
    assert_int_equal(counters_get(&counters, COUNTER_GUARD_LOSSES), 0);
}

/* It holds Java admins off all the same, and writes it as soon as that works. */
static void a_row_that_cannot_be_written_does_not_end_it(void **state)
{
    (void)state;
    CHANGE(db.row_refused = true);
    assert_int_equal(guard_start(guard, NULL), ERR_OK);
    WAIT(db.holds && is_held()); /* it is told by the database before it tells */
    CHANGE(db.row_refused = false);
    WAIT(db.row > 0);
    assert_int_equal(counters_get(&counters, COUNTER_GUARD_LOSSES), 0);
}

static bool may_end_within(bool wanted, int64_t ms)
{
    int64_t end = clock_mono_ms(clock_system()) + ms;

    /* What comes while we do not get to run has not come within that time. */
    while (clock_mono_ms(clock_system()) <= end) {
        if (guard_may_end(guard) == wanted)
            return true;
        clock_sleep_ms(20);
    }
    return false;
}

static void it_is_kept_while_others_rely_on_it(void **state)
{
    (void)state;
    assert_true(guard_may_end(guard)); /* it is not even held */
    start_and_hold();
    assert_true(guard_may_end(guard));
    CHANGE(db.others = 2);
    assert_true(may_end_within(false, DEADLINE_MS));
    assert_false(may_end_within(true, 500));
    CHANGE(db.others_held = 1);
    assert_false(may_end_within(true, 1500)); /* claims that began under ours alone may still be under way */
    assert_true(may_end_within(true, DEADLINE_MS));
    CHANGE(db.others_held = 0);
    assert_true(may_end_within(false, DEADLINE_MS));
    CHANGE(db.others = 0);
    assert_true(may_end_within(true, DEADLINE_MS));
}

static void refused_claims_are_counted(void **state)
{
    (void)state;
    guard_note_claim(guard, ERR_OK);
    guard_note_claim(guard, ERR_GUARD);
    guard_note_claim(guard, ERR_LOST);
    guard_note_claim(guard, ERR_GUARD);
    guard_note_claim(guard, ERR_UNKNOWN);
    assert_int_equal(counters_get(&counters, COUNTER_CLAIMS_UNGUARDED), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(its_row_goes_before_the_guard_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lost_guard_is_asked_for_again, setup, teardown),
        cmocka_unit_test_setup_teardown(who_wants_the_table_to_himself_gets_it, setup, teardown),
        cmocka_unit_test_setup_teardown(a_database_that_is_away_is_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(a_request_that_waits_is_taken_back_at_the_stop, setup, teardown),
        cmocka_unit_test_setup_teardown(a_request_that_the_server_has_forgotten_is_made_again, setup, teardown),
        cmocka_unit_test_setup_teardown(a_row_that_cannot_be_written_does_not_end_it, setup, teardown),
        cmocka_unit_test_setup_teardown(it_is_kept_while_others_rely_on_it, setup, teardown),
        cmocka_unit_test_setup_teardown(refused_claims_are_counted, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
