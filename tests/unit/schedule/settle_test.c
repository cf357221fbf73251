/* SPDX-License-Identifier: MIT */
/* When notes of takeovers are settled, in which order and how, with a stand-in for the database, the loader and the
 * ring. */
#include "test.h"

#include "schedule/fake_clock.h"
#include "schedule/shard/shard_impl.h"
#include "shardwheel/store/plan.h"

#include <stdlib.h>
#include <string.h>

#define T_S INT64_C(1767225600)

/* ---- the world around it ----------------------------------------------------------------------------------------- */

struct row {
    int64_t id;
    int64_t due_s;
    int64_t epoch; /* of its mark */
    bool open;
};

static struct world {
    struct fake_clock time;
    struct row rows[8];
    enum err take_result, load_result, end_result, delete_result;
    int sessions; /* taken and not given back */
    bool asked;
    struct load_ask ask;
    int64_t ranges[16][2]; /* that were asked for, from T_S */
    int loads;
    int busy; /* so often the loader says that it is under way */
    struct ring_shard ring;
    int failures;
    int64_t deleted[8]; /* up to which epoch, each time */
    int deletes;
    int put_offs;
    int64_t pushed[8]; /* log ids */
    int pushes;
    struct shard shard;
} w;

struct store_session {
    int unused;
};
static struct store_session the_session;

static enum err answer(enum err e, struct errctx *ec)
{
    return e ? err_set(ec, e, "told so") : ERR_OK;
}

enum err store_take_session(struct store *st, enum session_kind kind, struct store_session **out, struct errctx *ec)
{
    (void)st;
    assert_int_equal(kind, SESSION_CLAIM);
    if (w.take_result)
        return answer(w.take_result, ec);
    w.sessions++;
    *out = &the_session;
    return ERR_OK;
}

void store_give_session(struct store *st, struct store_session *s)
{
    (void)st;
    w.sessions -= s != NULL;
}

void loader_ask(struct loader *l, int shard, const struct load_ask *ask)
{
    assert_ptr_equal(l, &w);
    assert_int_equal(shard, 3);
    assert_int_equal(ask->under, 50);
    assert_int_equal(ask->epoch, 50);
    assert_false(ask->urgent);
    assert_false(w.asked);
    w.asked = true;
    w.ask = *ask;
    w.ranges[w.loads][0] = ask->from_s - T_S;
    w.ranges[w.loads++][1] = ask->to_s - T_S;
}

void loader_drop(struct loader *l, int shard)
{
    (void)l, (void)shard;
    w.asked = false;
}

enum err loader_take(struct loader *l, int shard, struct fire **out, size_t *count, struct errctx *ec)
{
    struct fire **tail = out;

    (void)l;
    assert_true(w.asked);
    if (w.busy > 0) {
        w.busy--;
        return ERR_BUSY;
    }
    if (w.load_result)
        return answer(w.load_result, ec);
    w.asked = false;
    *count = 0;
    for (size_t i = 0; i < ARRAY_LEN(w.rows); i++) {
        const struct row *row = &w.rows[i];

        if (!row->open || row->due_s > w.ask.to_s || row->due_s <= w.ask.from_s || row->epoch >= w.ask.under)
            continue;
        *tail = calloc(1, sizeof **tail);
        assert_non_null(*tail);
        **tail = (struct fire){.log_id = row->id, .due_s = row->due_s, .epoch = w.ask.epoch, .shard = shard};
        tail = &(*tail)->next;
        ++*count;
    }
    return ERR_OK;
}

struct ring_shard ring_get_shard(struct ring *ring, int shard)
{
    (void)ring;
    assert_int_equal(shard, 3);
    return w.ring;
}

void fire_destroy_list(struct fire *list)
{
    while (list) {
        struct fire *next = list->next;

        free(list);
        list = next;
    }
}

enum err store_end_unknown(struct store_session *s, const int64_t *log_ids, size_t count, int64_t until_s,
                           size_t *ended, struct errctx *ec)
{
    (void)until_s;
    assert_ptr_equal(s, &the_session);
    if (w.end_result)
        return answer(w.end_result, ec);
    for (size_t i = 0; i < count; i++)
        w.rows[log_ids[i] - 1].open = false;
    *ended = count;
    return ERR_OK;
}

enum err store_delete_takeovers(struct store_session *s, int shard, int64_t epoch, bool put_off, struct errctx *ec)
{
    assert_ptr_equal(s, &the_session);
    assert_int_equal(shard, 3);
    if (w.delete_result)
        return answer(w.delete_result, ec);
    w.deleted[w.deletes++] = epoch;
    w.put_offs += put_off;
    return ERR_OK;
}

int64_t ring_get_passed_s(struct ring *ring)
{
    (void)ring;
    return T_S + 500;
}

void shard_push_all(struct shard *shard, struct fire *list)
{
    assert_ptr_equal(shard, &w.shard);
    for (struct fire *fire = list; fire; fire = fire->next) {
        assert_int_equal(fire->epoch, 50); /* the ring would drop those of an older one */
        assert_int_equal(fire->due_s, T_S + 502);
        assert_int_equal(fire->flags, FIRE_RESENT);
        w.pushed[w.pushes++] = fire->log_id;
    }
    fire_destroy_list(list);
}

void shard_log_failure(struct shard *shard, enum shard_step step, const struct errctx *ec)
{
    (void)ec;
    assert_ptr_equal(shard, &w.shard);
    assert_int_equal(step, STEP_SETTLE);
    w.failures++;
}

void shard_log_good(struct shard *shard, enum shard_step step)
{
    assert_ptr_equal(shard, &w.shard);
    assert_int_equal(step, STEP_SETTLE);
}

/* ---- helpers ----------------------------------------------------------------------------------------------------- */

static int setup(void **state)
{
    (void)state;
    w = (struct world){.time = fake_clock_at(T_S * 1000)};
    w.shard = (struct shard){.number = 3,
                             .epoch = 50,
                             .deps = {.opts = {.shards = 8}, .clock = &w.time.clock, .loader = (struct loader *)&w}};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(w.sessions, 0);
    free(w.shard.notes);
    return 0;
}

static void set_notes(const struct takeover_note *notes, size_t count)
{
    struct takeover_note *copy = malloc(count * sizeof *copy);

    assert_non_null(copy);
    memcpy(copy, notes, count * sizeof *copy);
    shard_set_notes(&w.shard, copy, count);
}

static void add_row(int64_t id, int64_t due_s, int64_t epoch)
{
    w.rows[id - 1] = (struct row){id, due_s, epoch, true};
}

/* The cycles so many ms after the takeover, as the loader's answers wake the shard. */
static void run_at(int64_t ms)
{
    w.time.mono_ms = FAKE_CLOCK_START_MONO_MS + ms;
    for (int i = 0; i < 8; i++)
        shard_settle_undelivered(&w.shard);
}

/* What was asked for last but `back`, in seconds from T_S. */
static void check_range(int back, int64_t from, int64_t to)
{
    assert_int_equal(w.ranges[w.loads - 1 - back][0], from);
    assert_int_equal(w.ranges[w.loads - 1 - back][1], to);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void each_note_in_its_time(void **state)
{
    (void)state;
    add_row(1, T_S, 47);      /* in flight at the first takeover */
    add_row(2, T_S + 1, 48);  /* in flight at the second */
    add_row(3, T_S + 20, 49); /* in flight at ours */
    add_row(4, T_S + 30, 49); /* still to be sent */
    add_row(5, T_S, 50);
    set_notes((struct takeover_note[]){{48, T_S, 25000}, {49, T_S + 10, 15000}, {50, T_S + 20, 3}}, 3);
    run_at(14000);
    assert_int_equal(w.loads, 0);
    run_at(15000);
    /* What is close to the cursor, then the rest. */
    assert_int_equal(w.loads, 2);
    check_range(1, -120, 0);
    check_range(0, -900, -120);
    assert_false(w.rows[0].open);
    assert_true(w.rows[1].open);
    assert_int_equal(w.deleted[w.deletes - 1], 48);
    run_at(24999);
    assert_int_equal(w.loads, 2);
    run_at(25000);
    /* The next begins where this one ended. */
    assert_int_equal(w.loads, 3);
    check_range(0, 0, 10);
    assert_false(w.rows[1].open);
    assert_int_equal(w.deleted[w.deletes - 1], 49);
    run_at(39996);
    assert_true(w.rows[2].open);
    run_at(39997);
    assert_false(w.rows[2].open);
    assert_int_equal(w.deleted[w.deletes - 1], 50);
    assert_true(w.rows[3].open);
    assert_true(w.rows[4].open);
    run_at(1000000);
    assert_int_equal(w.loads, 4);
    assert_int_equal(w.deletes, 3);
    assert_int_equal(w.put_offs, 0);
    assert_int_equal(w.pushes, 0);
}

static void notes_that_are_overdue_go_at_once(void **state)
{
    (void)state;
    add_row(1, T_S, 40);
    add_row(2, T_S + 5, 44);
    /* A node that crashed on each start: the cursor stood still, and these are one. */
    set_notes(
        (struct takeover_note[]){
            {41, T_S, 90000}, {42, T_S, 80000}, {43, T_S, 70000}, {45, T_S + 5, 60000}, {50, T_S + 5, 0}},
        5);
    run_at(1);
    assert_false(w.rows[0].open);
    assert_false(w.rows[1].open);
    assert_int_equal(w.loads, 3);
    assert_int_equal(w.deleted[0], 43);
    assert_int_equal(w.deleted[1], 45);
    assert_int_equal(w.deletes, 2);
    assert_int_equal(w.shard.note_count, 1);
    /* Ours has the same cursor as the one before, and its own time: nothing is left to look at. */
    run_at(40000);
    assert_int_equal(w.loads, 3);
    assert_int_equal(w.deletes, 3);
    assert_int_equal(w.shard.note_count, 0);
}

/* The one before us found the cursor where it had stood for an hour, loaded what was planned then, jumped to the
 * present with it, and died: these rows lie an hour behind the cursor that we found. */
static void rows_that_a_jump_passed_are_settled(void **state)
{
    (void)state;
    add_row(1, T_S - 3, 47);
    add_row(2, T_S + 4, 47);
    add_row(3, T_S + 599, 47);
    add_row(4, T_S + 3599, 48);
    set_notes((struct takeover_note[]){{48, T_S, 10000}, {50, T_S + 3600, 0}}, 2);
    run_at(30000);
    assert_false(w.rows[0].open);
    assert_true(w.rows[1].open);
    run_at(40000);
    assert_int_equal(w.loads, 5);
    check_range(2, 3480, 3600);
    check_range(1, 0, 600); /* all that the owner before us can have loaded */
    check_range(0, 2700, 3480);
    for (int i = 1; i < 4; i++)
        assert_false(w.rows[i].open);
    assert_int_equal(w.shard.note_count, 0);
    assert_int_equal(w.deletes, 2);
}

/* While the loader has nothing yet, other cycles go by. */
static void a_look_may_take_its_time(void **state)
{
    (void)state;
    add_row(1, T_S, 47);
    set_notes((struct takeover_note[]){{48, T_S, 40000}, {50, T_S + 9, 0}}, 2);
    w.busy = 100;
    for (int i = 0; i < 12; i++)
        run_at(1000 * i);
    assert_int_equal(w.loads, 1);
    assert_true(w.rows[0].open);
    assert_int_equal(w.failures, 0);
    w.busy = 0;
    run_at(13000);
    assert_false(w.rows[0].open);
    assert_int_equal(w.shard.note_count, 1);
}

/* The cursor that we move ourselves jumps: what it passes is in our hands, and stays noted for the next owner as long
 * as it may be. */
static void our_own_jump_keeps_a_note(void **state)
{
    (void)state;
    add_row(1, T_S - 1, 47);
    /* Right after the takeover, which is the rule after a standstill of all nodes. */
    set_notes((struct takeover_note[]){{50, T_S, 0}}, 1);
    w.ring = (struct ring_shard){.jump_mono_ms = FAKE_CLOCK_START_MONO_MS + 5000, .jump_from_s = T_S};
    run_at(44999);
    assert_int_equal(w.loads, 0);
    run_at(45000);
    assert_false(w.rows[0].open);
    assert_int_equal(w.deletes, 1);
    assert_int_equal(w.shard.note_count, 0);
    /* A standstill later. */
    add_row(2, T_S + 2000, 49);
    w.loads = 0;
    w.ring.jump_mono_ms = FAKE_CLOCK_START_MONO_MS + 5000000;
    w.ring.jump_from_s = T_S + 3000;
    run_at(5000001);
    assert_int_equal(w.shard.note_count, 1);
    run_at(5039999);
    assert_int_equal(w.deletes, 1);
    run_at(5040000);
    assert_int_equal(w.deletes, 2);
    assert_int_equal(w.deleted[1], 50);
    assert_int_equal(w.loads, 0);
    assert_true(w.rows[1].open);
    run_at(6000000);
    assert_int_equal(w.deletes, 2);
}

/* It may come while older notes are being settled, also while ours is. */
static void a_jump_puts_off_our_note_alone(void **state)
{
    (void)state;
    add_row(1, T_S, 47);
    add_row(2, T_S + 10, 48);
    set_notes((struct takeover_note[]){{48, T_S, 40000}, {50, T_S + 10, 0}}, 2);
    w.busy = 1000;
    run_at(1);
    w.ring = (struct ring_shard){.jump_mono_ms = FAKE_CLOCK_START_MONO_MS + 30000, .jump_from_s = T_S + 10};
    w.busy = 0;
    run_at(30000);
    assert_false(w.rows[0].open);
    w.busy = 1000;
    run_at(70000);
    w.ring.jump_mono_ms = FAKE_CLOCK_START_MONO_MS + 70001;
    run_at(70001);
    w.busy = 0;
    run_at(110000);
    assert_true(w.rows[1].open);
    run_at(110001);
    assert_false(w.rows[1].open);
    assert_int_equal(w.deletes, 2);
}

static void what_fails_is_tried_again(void **state)
{
    enum err *const results[] = {&w.take_result, &w.load_result, &w.end_result, &w.delete_result};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(results); i++) {
        for (int resend = 0; resend < 2; resend++) {
            setup(NULL);
            w.shard.deps.opts.resend = resend;
            add_row(1, T_S, 47);
            set_notes((struct takeover_note[]){{48, T_S, 40000}, {50, T_S + 9, 0}}, 2);
            *results[i] = ERR_UNKNOWN;
            run_at(0);
            if (resend && results[i] == &w.end_result) {
                assert_int_equal(w.pushes, 1); /* nothing is ended there */
            } else {
                assert_true(w.failures > 0);
                assert_int_equal(w.shard.note_count, 2);
                assert_int_equal(w.pushes, 0);
                *results[i] = ERR_OK;
                run_at(1000);
                assert_int_equal(w.pushes, resend);
                assert_int_equal(w.rows[0].open, resend);
            }
            assert_int_equal(w.shard.note_count, 1);
            assert_int_equal(w.sessions, 0);
            free(w.shard.notes);
            w.shard.notes = NULL;
        }
    }
}

static void a_row_is_sent_again_once(void **state)
{
    (void)state;
    w.shard.deps.opts.resend = true;
    add_row(1, T_S, 47);
    add_row(2, T_S + 10, 48);
    /* The second covers row 1 too, which is open until its result is there. */
    set_notes((struct takeover_note[]){{48, T_S, 30000}, {49, T_S + 10, 20000}, {50, T_S + 20, 0}}, 3);
    run_at(10000);
    assert_int_equal(w.pushes, 1);
    assert_int_equal(w.pushed[0], 1);
    /* The next owner, should we die now, waits for what we have sent: with this note, while the rest of it is looked
     * at. */
    assert_int_equal(w.put_offs, 1);
    assert_int_equal(w.deleted[0], 47);
    assert_int_equal(w.deleted[1], 48);
    run_at(20000);
    assert_int_equal(w.pushes, 2);
    assert_int_equal(w.pushed[1], 2);
    run_at(40000);
    assert_int_equal(w.pushes, 2);
    assert_int_equal(w.put_offs, 2); /* nothing was sent again this time */
    assert_int_equal(w.deletes, 4);
    assert_int_equal(w.deleted[w.deletes - 1], 50);
    /* The next takeover begins anew. */
    set_notes((struct takeover_note[]){{50, T_S + 20, 0}}, 1);
    w.time.mono_ms += 40000;
    for (int i = 0; i < 8; i++)
        shard_settle_undelivered(&w.shard);
    assert_int_equal(w.pushes, 4);
}

/* A jump in between, which begins the look anew, must not send them again either. */
static void a_row_is_sent_again_once_beside_a_jump(void **state)
{
    (void)state;
    w.shard.deps.opts.resend = true;
    add_row(1, T_S, 47);
    set_notes((struct takeover_note[]){{50, T_S, 0}}, 1);
    w.time.mono_ms = FAKE_CLOCK_START_MONO_MS + 40000;
    shard_settle_undelivered(&w.shard);
    shard_settle_undelivered(&w.shard);
    assert_int_equal(w.pushes, 1);
    assert_int_equal(w.shard.note_count, 1); /* the rest is being looked for */
    w.ring = (struct ring_shard){.jump_mono_ms = w.time.mono_ms, .jump_from_s = T_S + 20};
    run_at(100000);
    assert_int_equal(w.pushes, 1);
    assert_int_equal(w.shard.note_count, 0);
}

int main(void)
{
#define SETTLE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        SETTLE_TEST(each_note_in_its_time),
        SETTLE_TEST(notes_that_are_overdue_go_at_once),
        SETTLE_TEST(rows_that_a_jump_passed_are_settled),
        SETTLE_TEST(a_look_may_take_its_time),
        SETTLE_TEST(our_own_jump_keeps_a_note),
        SETTLE_TEST(a_jump_puts_off_our_note_alone),
        SETTLE_TEST(what_fails_is_tried_again),
        SETTLE_TEST(a_row_is_sent_again_once),
        SETTLE_TEST(a_row_is_sent_again_once_beside_a_jump),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
