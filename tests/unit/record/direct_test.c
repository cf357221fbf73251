/* SPDX-License-Identifier: MIT */
/* Direct fires whose rows are written: sent in time or ended, and asked for where their commit had no answer. */
#include "test.h"

#include "fake_job_spec.h"
#include "schedule/fake_clock.h"
#include "schedule/fake_session.h"
#include "shardwheel/job/times.h"
#include "shardwheel/record.h"
#include "shardwheel/store/run.h"

#include <stdlib.h>
#include <string.h>

#define AT_ONCE 200 /* rows in a statement */

static struct world {
    struct fake_clock time;
    struct counters counters;
    size_t sent, ended;
    int statements;
    int fail_from;  /* statements from this one on fail; 0: none does */
    int lost_looks; /* the next looks for rows that fail */
    int looks;
    bool found;
    struct direct_sender sender;
} w;

enum err store_write_results(struct store_session *s, const struct fire_result *results, size_t count,
                             struct errctx *ec)
{
    (void)s;
    assert_in_range(count, 1, AT_ONCE);
    if (++w.statements >= w.fail_from && w.fail_from)
        return err_set(ec, ERR_LOST, "away");
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(results[i].log_id, w.ended + i + 1);
        assert_int_equal(results[i].code, 500);
        assert_string_equal(results[i].message, "not sent: too late");
    }
    w.ended += count;
    return ERR_OK;
}

enum err store_find_direct(struct store_session *s, const struct fire *fire, const char *incarnation, bool *found,
                           struct errctx *ec)
{
    (void)s;
    assert_non_null(fire);
    assert_string_equal(incarnation, "me");
    w.looks++;
    if (w.lost_looks > 0 && w.lost_looks--)
        return err_set(ec, ERR_LOST, "away");
    *found = w.found;
    return ERR_OK;
}

static void submit(void *arg, struct fire *list)
{
    assert_ptr_equal(arg, &w);
    for (const struct fire *f = list; f; f = f->next)
        w.sent++;
    fire_destroy_list(list);
}

/* ---- helpers ----------------------------------------------------------------------------------------------------- */

static int setup(void **state)
{
    (void)state;
    memset(&w, 0, sizeof w);
    fake_sessions = 0;
    w.time = fake_clock_at(INT64_C(1767225600000));
    w.sender = (struct direct_sender){.clock = &w.time.clock, .counters = &w.counters, .submit = submit, .arg = &w};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    direct_sender_fini(&w.sender);
    assert_null(w.sender.late);
    assert_int_equal(fake_sessions, 0);
    return 0;
}

/* Log ids from `first` on. */
static struct fire *make_fires(size_t count, int64_t first, enum trigger_kind kind)
{
    struct fire *list = NULL;

    for (size_t i = count; i-- > 0;) {
        struct fire *fire = fire_create();

        assert_non_null(fire);
        fire->log_id = first + (int64_t)i;
        fire->job_id = 7;
        fire->kind = kind;
        fire->next = list;
        list = fire;
    }
    return list;
}

/* Whose rows were begun so long ago. */
static void send(size_t count, int64_t first, int64_t ago_ms)
{
    direct_send(&w.sender, make_fires(count, first, TRIGGER_MANUAL), w.time.mono_ms - ago_ms);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void what_is_too_late_is_ended_and_not_sent(void **state)
{
    (void)state;
    send(0, 1, 0);
    send(2, 1, SEND_DEADLINE_MS);
    assert_int_equal(w.sent, 2);
    assert_int_equal(w.statements, 0);
    send(3, 1, SEND_DEADLINE_MS + 1);
    assert_int_equal(w.sent, 2);
    assert_int_equal(w.ended, 3);
    assert_int_equal(w.statements, 1);
    assert_int_equal(counters_get(&w.counters, COUNTER_FIRES_TOO_LATE), 3);
    assert_int_equal(counters_get(&w.counters, COUNTER_TRIGGERS), 5);
}

static void many_are_ended_part_by_part(void **state)
{
    (void)state;
    send(AT_ONCE, 1, SEND_DEADLINE_MS + 1);
    assert_int_equal(w.statements, 1);
    send(2 * AT_ONCE + 1, AT_ONCE + 1, SEND_DEADLINE_MS + 1);
    assert_int_equal(w.statements, 4);
    assert_int_equal(w.ended, 3 * AT_ONCE + 1);
    assert_int_equal(counters_get(&w.counters, COUNTER_FIRES_TOO_LATE), 3 * AT_ONCE + 1);
}

/* They keep their order, and go with the next ones, or when somebody asks. */
static void what_cannot_be_ended_waits(void **state)
{
    (void)state;
    w.fail_from = 2;
    send(AT_ONCE + 5, 1, SEND_DEADLINE_MS + 1);
    assert_int_equal(w.ended, AT_ONCE);
    assert_int_equal(w.statements, 2);
    send(3, AT_ONCE + 6, SEND_DEADLINE_MS + 1);
    assert_int_equal(w.ended, AT_ONCE);
    w.fail_from = 0;
    direct_end_late(&w.sender);
    assert_int_equal(w.ended, AT_ONCE + 8);
    assert_null(w.sender.late);
    w.fail_from = 1;
    send(3, 1, SEND_DEADLINE_MS + 1); /* left to direct_sender_fini */
}

static void each_kind_has_its_counter(void **state)
{
    static const struct {
        enum trigger_kind kind;
        enum counter_id id;
    } cases[] = {{TRIGGER_RETRY, COUNTER_RETRIES},
                 {TRIGGER_PARENT, COUNTER_CHILDREN},
                 {TRIGGER_API, COUNTER_TRIGGERS},
                 {TRIGGER_FLOW, COUNTER_TRIGGERS}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t before = counters_get(&w.counters, cases[i].id);

        direct_send(&w.sender, make_fires(2, 1, cases[i].kind), w.time.mono_ms);
        assert_int_equal(counters_get(&w.counters, cases[i].id), before + 2);
    }
}

static void what_had_no_answer_is_looked_for(void **state)
{
    struct direct_doubt doubt = {0};
    struct errctx ec;
    bool committed = true;

    (void)state;
    assert_int_equal(direct_settle(&w.sender, &the_session, "me", &doubt, &committed, &ec), ERR_OK);
    assert_false(committed);
    assert_int_equal(w.looks, 0);

    doubt = (struct direct_doubt){make_fires(2, 1, TRIGGER_API), w.time.mono_ms};
    w.lost_looks = 1;
    assert_int_equal(direct_settle(&w.sender, &the_session, "me", &doubt, &committed, &ec), ERR_LOST);
    assert_non_null(doubt.list);
    assert_int_equal(direct_settle(&w.sender, &the_session, "me", &doubt, &committed, &ec), ERR_OK);
    assert_null(doubt.list);
    assert_false(committed);
    assert_int_equal(w.sent, 0);

    w.found = true;
    doubt = (struct direct_doubt){make_fires(2, 1, TRIGGER_API), w.time.mono_ms};
    assert_int_equal(direct_settle(&w.sender, &the_session, "me", &doubt, &committed, &ec), ERR_OK);
    assert_true(committed);
    assert_null(doubt.list);
    assert_int_equal(w.sent, 2);

    /* It took so long that other nodes may take this one for gone. */
    doubt = (struct direct_doubt){make_fires(2, 1, TRIGGER_API), w.time.mono_ms - SEND_DEADLINE_MS - 1};
    assert_int_equal(direct_settle(&w.sender, &the_session, "me", &doubt, NULL, &ec), ERR_OK);
    assert_int_equal(w.sent, 2);
    assert_int_equal(w.ended, 2);
}

static void at_the_end_it_is_looked_for_a_few_times(void **state)
{
    struct direct_doubt doubt = {make_fires(2, 1, TRIGGER_API), w.time.mono_ms};
    struct errctx ec;

    (void)state;
    w.found = true;
    w.lost_looks = DOUBT_END_TRIES;
    assert_int_equal(direct_settle_at_end(&w.sender, "me", &doubt, &ec), ERR_LOST);
    assert_int_equal(w.looks, DOUBT_END_TRIES);
    assert_non_null(doubt.list);
    w.looks = 0;
    w.lost_looks = DOUBT_END_TRIES - 1;
    assert_int_equal(direct_settle_at_end(&w.sender, "me", &doubt, &ec), ERR_OK);
    assert_int_equal(w.looks, DOUBT_END_TRIES);
    assert_int_equal(w.sent, 2);
    assert_int_equal(direct_settle_at_end(&w.sender, "me", &doubt, &ec), ERR_OK);
    assert_int_equal(w.looks, DOUBT_END_TRIES);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_too_late_is_ended_and_not_sent),
        TEST(many_are_ended_part_by_part),
        TEST(what_cannot_be_ended_waits),
        TEST(each_kind_has_its_counter),
        TEST(what_had_no_answer_is_looked_for),
        TEST(at_the_end_it_is_looked_for_a_few_times),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
