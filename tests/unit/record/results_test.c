/* SPDX-License-Identifier: MIT */
/* What results come to: each is given back once, and what is known of it for a comparison is its code, whoever wrote
 * it. */
#include "test.h"

#include "record/sent.h"
#include "schedule/fake_session.h"
#include "shardwheel/record.h"

#include <string.h>

#define RESULTS 5

static struct world {
    struct counters counters;
    struct results *results;
    struct result list[RESULTS];
    /* By the thread of results, and read once it has ended. */
    int noted[RESULTS]; /* codes that were noted */
    int done[RESULTS];
    size_t committed, written;
    enum err write_result;
} w;

static struct sent *const the_sent = (struct sent *)&w;

enum err sent_create(const struct clock *clock, struct sent **out, struct errctx *ec)
{
    (void)clock, (void)ec;
    *out = the_sent;
    return ERR_OK;
}

void sent_destroy(struct sent *m)
{
    (void)m;
}

uint64_t sent_note_fires(struct sent *m, const struct fire *list)
{
    (void)m, (void)list;
    return 0;
}

void sent_note_codes(struct sent *m, const struct result *const *results, size_t count)
{
    assert_ptr_equal(m, the_sent);
    for (size_t i = 0; i < count; i++)
        w.noted[results[i]->log_id]++;
}

void sent_note_ends(struct sent *m, const struct callback_entry *entries, size_t count)
{
    (void)m, (void)entries, (void)count;
}

void sent_hold(struct sent *m, bool hold)
{
    (void)m, (void)hold;
}

void sent_end(struct sent *m)
{
    (void)m;
}

enum err sent_compare(struct sent *m, struct store_session *s, const char *incarnation, struct sent_summary *sum,
                      struct errctx *ec)
{
    (void)m, (void)s, (void)incarnation, (void)sum;
    return err_set(ec, ERR_LOST, "not here");
}

enum err store_write_results(struct store_session *s, const struct fire_result *results, size_t count,
                             struct errctx *ec)
{
    (void)s, (void)results;
    if (w.write_result)
        return err_set(ec, w.write_result, "told so");
    w.written += count;
    return ERR_OK;
}

static void take_back(void *arg, struct result *r)
{
    assert_ptr_equal(arg, &w);
    w.done[r->log_id]++;
}

static void note_committed(void *arg, size_t count)
{
    assert_ptr_equal(arg, &w);
    w.committed += count;
}

/* ---- helpers ----------------------------------------------------------------------------------------------------- */

static int setup(void **state)
{
    struct errctx ec;

    (void)state;
    memset(&w, 0, sizeof w);
    fake_sessions = 0;
    assert_int_equal(
        results_create(&(struct results_opts){.waiting_max = 100}, clock_system(), &w.counters, &w.results, &ec),
        ERR_OK);
    results_serve(w.results, take_back, note_committed, &w);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    results_destroy(w.results);
    assert_int_equal(fake_sessions, 0);
    return 0;
}

/* It waits for its callback, if that was not there before. */
static void expect(int i)
{
    w.list[i] = (struct result){
        .log_id = i, .deadline_boot_ms = INT64_MAX, .row = {.log_id = i, .code = 200, .as_planned = true}};
    results_expect(w.results, &w.list[i]);
}

static void post(int i)
{
    struct result_list list = {0};

    result_list_add(&list, &w.list[i]);
    results_post(w.results, &list);
}

static void come_back(int i, bool written)
{
    bool childless;

    assert_true(results_claim(w.results, i, &childless));
    results_settle(w.results, i, written);
}

/* All that is left is written, as far as that goes. */
static void run_to_the_end(void)
{
    struct errctx ec;

    assert_int_equal(results_start(w.results, &ec), ERR_OK);
    results_stop(w.results);
    results_join(w.results);
    assert_int_equal(counters_get(&w.counters, COUNTER_RESULTS_QUEUED), 0);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void each_way_notes_the_code_and_gives_back_once(void **state)
{
    (void)state;
    expect(0); /* its callback comes behind its answer, */
    post(0);
    come_back(0, /*written=*/true);
    assert_int_equal(w.noted[0], 1);
    assert_int_equal(w.done[0], 1);
    assert_int_equal(w.committed, 1);
    expect(1); /* before it, */
    come_back(1, /*written=*/true);
    assert_int_equal(w.noted[1], 0); /* there is no result yet */
    post(1);
    expect(2); /* and is written without it; */
    post(2);
    come_back(2, /*written=*/false);
    expect(3); /* here none comes, */
    post(3);
    expect(4); /* and this is not what was planned */
    results_forget(w.results, &w.list[4]);
    w.list[4].row.as_planned = false;
    post(4);
    run_to_the_end();
    for (int i = 0; i < RESULTS; i++) {
        assert_int_equal(w.noted[i], 1);
        assert_int_equal(w.done[i], 1);
    }
    assert_int_equal(w.written, 3);
    assert_int_equal(w.committed, RESULTS);
    assert_int_equal(counters_get(&w.counters, COUNTER_RESULTS_PAIRED), 2);
    assert_int_equal(counters_get(&w.counters, COUNTER_RESULTS_WRITTEN), RESULTS);
}

/* The database is away at the end: nothing is known to be written, and nothing is kept. */
static void what_cannot_be_written_is_given_back(void **state)
{
    (void)state;
    w.write_result = ERR_LOST;
    for (int i = 0; i < RESULTS; i++) {
        expect(i);
        post(i);
    }
    run_to_the_end();
    for (int i = 0; i < RESULTS; i++) {
        assert_int_equal(w.noted[i], 0);
        assert_int_equal(w.done[i], 1);
    }
    assert_int_equal(w.committed, 0);
    assert_int_equal(counters_get(&w.counters, COUNTER_RESULTS_WRITTEN), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_way_notes_the_code_and_gives_back_once),
        TEST(what_cannot_be_written_is_given_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
