/* SPDX-License-Identifier: MIT */
/* When notes of takeovers are settled, in which order and how, with a stand-in for the database and the ring. */
#include "test.h"

#include "schedule/fake_clock.h"
#include "schedule/shard_impl.h"
#include "shardwheel/store/plan.h"

#include <stdlib.h>
#include <string.h>

#define T_S INT64_C(1767225600)

/* ---- the world around it ---------------------------------------------------------------------------------------------- */

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
    int loads;
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

enum err store_load_before(struct store_session *s, int shard, int n, int64_t epoch, int64_t cursor_s, int64_t after_s,
                           struct fire **out, size_t *count, struct errctx *ec)
{
    struct fire **tail = out;

    assert_ptr_equal(s, &the_session);
    assert_int_equal(shard, 3);
    assert_int_equal(n, 8);
    w.loads++;
    if (w.load_result)
        return answer(w.load_result, ec);
    *count = 0;
    for (size_t i = 0; i < ARRAY_LEN(w.rows); i++) {
        const struct row *row = &w.rows[i];

        if (!row->open || row->due_s > cursor_s || row->due_s <= after_s || row->epoch >= epoch)
            continue;
        *tail = calloc(1, sizeof **tail);
        assert_non_null(*tail);
        **tail = (struct fire){.log_id = row->id, .due_s = row->due_s, .epoch = epoch, .shard = shard};
        tail = &(*tail)->next;
        ++*count;
    }
    return ERR_OK;
}

void fire_destroy_list(struct fire *list)
{
    while (list) {
        struct fire *next = list->next;

        free(list);
        list = next;
    }
}

enum err store_end_unknown(struct store_session *s, const int64_t *log_ids, size_t count, size_t *ended,
                           struct errctx *ec)
{
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

void shard_log_failure(struct shard *shard, const char *step, const struct errctx *ec)
{
    (void)ec;
    assert_ptr_equal(shard, &w.shard);
    assert_string_equal(step, "settle_undelivered");
    w.failures++;
}

/* ---- helpers ---------------------------------------------------------------------------------------------------------- */

static int setup(void **state)
{
    (void)state;
    w = (struct world){.time = fake_clock_at(T_S * 1000)};
    w.shard = (struct shard){.number = 3, .epoch = 50, .deps = {.shards = 8, .clock = &w.time.clock}};
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

/* The cycle so many ms after the takeover. */
static void run_at(int64_t ms)
{
    w.time.mono_ms = FAKE_CLOCK_START_MONO_MS + ms;
    shard_settle_undelivered(&w.shard);
}

/* ---- tests ------------------------------------------------------------------------------------------------------------ */

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
    assert_int_equal(w.loads, 1);
    assert_false(w.rows[0].open);
    assert_true(w.rows[1].open);
    assert_int_equal(w.deleted[w.deletes - 1], 48);
    run_at(24999);
    assert_int_equal(w.loads, 1);
    run_at(25000);
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
    assert_int_equal(w.loads, 3);
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
    assert_int_equal(w.loads, 2);
    assert_int_equal(w.deleted[0], 43);
    assert_int_equal(w.deleted[1], 45);
    assert_int_equal(w.deletes, 2);
    assert_int_equal(w.shard.note_count, 1);
    /* Ours has the same cursor as the one before, and its own time. */
    run_at(40000);
    assert_int_equal(w.loads, 3);
    assert_int_equal(w.shard.note_count, 0);
}

static void what_fails_is_tried_again(void **state)
{
    enum err *const results[] = {&w.take_result, &w.load_result, &w.end_result, &w.delete_result};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(results); i++) {
        for (int resend = 0; resend < 2; resend++) {
            setup(NULL);
            w.shard.deps.resend = resend;
            add_row(1, T_S, 47);
            set_notes((struct takeover_note[]){{48, T_S, 40000}, {50, T_S + 9, 0}}, 2);
            *results[i] = ERR_UNKNOWN;
            run_at(0);
            if (resend && results[i] == &w.end_result) {
                assert_int_equal(w.pushes, 1); /* nothing is ended there */
            } else {
                assert_int_equal(w.failures, 1);
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
    w.shard.deps.resend = true;
    add_row(1, T_S, 47);
    add_row(2, T_S + 10, 48);
    /* The second covers row 1 too, which is open until its result is there. */
    set_notes((struct takeover_note[]){{48, T_S, 30000}, {49, T_S + 10, 20000}, {50, T_S + 20, 0}}, 3);
    run_at(10000);
    assert_int_equal(w.pushes, 1);
    assert_int_equal(w.pushed[0], 1);
    assert_int_equal(w.put_offs, 1); /* the next owner, should we die now, waits for what we have sent */
    run_at(20000);
    assert_int_equal(w.pushes, 2);
    assert_int_equal(w.pushed[1], 2);
    run_at(40000);
    assert_int_equal(w.pushes, 2);
    assert_int_equal(w.put_offs, 2); /* nothing was sent again this time */
    assert_int_equal(w.deletes, 3);
    assert_int_equal(w.deleted[w.deletes - 1], 50);
    /* The next takeover begins anew. */
    set_notes((struct takeover_note[]){{50, T_S + 20, 0}}, 1);
    w.time.mono_ms += 40000;
    shard_settle_undelivered(&w.shard);
    assert_int_equal(w.pushes, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_note_in_its_time, setup, teardown),
        cmocka_unit_test_setup_teardown(notes_that_are_overdue_go_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(what_fails_is_tried_again, setup, teardown),
        cmocka_unit_test_setup_teardown(a_row_is_sent_again_once, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
