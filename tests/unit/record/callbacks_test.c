/* SPDX-License-Identifier: MIT */
#include "record/fake_results.h"
#include "registry/fake_store.h"
#include "shardwheel/job/times.h"
#include "shardwheel/record.h"
#include "shardwheel/store/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static struct counters counters;

static void let_wait(int64_t log_id)
{
    fake_results[log_id].waits = true;
}

/* The clock of the writer and of who waits. It runs like the system's until a test stops it: then it stands well behind
 * that one, so that nobody sleeps, and moves where the test moves it. */
static _Atomic int64_t stopped_at_ms; /* 0: it runs */
static _Thread_local _Atomic int *own_looks;
static _Atomic int writer_looks; /* at the clock, as all those of threads that do not count their own */

static int64_t read_mono_ms(const struct clock *clock)
{
    int64_t at_ms;

    (void)clock;
    atomic_fetch_add(own_looks ? own_looks : &writer_looks, 1);
    at_ms = stopped_at_ms;
    return at_ms ? at_ms : clock_mono_ms(clock_system());
}

static int64_t read_boot_ms(const struct clock *clock)
{
    (void)clock;
    return clock_boot_ms(clock_system());
}

static int64_t read_wall_us(const struct clock *clock)
{
    (void)clock;
    return clock_wall_us(clock_system());
}

static void stop_clock(void)
{
    stopped_at_ms = clock_mono_ms(clock_system()) - 60000;
}

struct fixture {
    struct store *st;
    struct complete *c;
    struct mutex lock;
    int sent[100]; /* [lock] children, by the parent's log id less 900 */
};

static void take_children(void *arg, struct fire *list)
{
    struct fixture *f = arg;
    mutex_lock(&f->lock);
    for (const struct fire *fire = list; fire; fire = fire->next)
        f->sent[fire->log_id - 500900]++;
    mutex_unlock(&f->lock);
    fire_destroy_list(list);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    static const struct clock clock = {.wall_us = read_wall_us, .mono_ms = read_mono_ms, .boot_ms = read_boot_ms};
    struct errctx ec;
    stopped_at_ms = 0;
    fake_sending = false;
    memset(&counters, 0, sizeof(counters));
    memset(fake_results, 0, sizeof(fake_results));
    f->st = fake_create();
    *state = f;
    mutex_init(&f->lock, LOCK_LEAF);
    if (complete_create(&(struct complete_opts){.store = f->st,
                                                .is_sending = fake_is_sending,
                                                .submit = take_children,
                                                .incarnation = "0123456789abcdef",
                                                .arg = f},
                        &clock, &counters, &f->c, &ec))
        return 1;
    return complete_start(f->c, &ec) ? 1 : 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    fake_lock(f->st);
    f->st->gate_closed = false; /* of a test that failed */
    fake_unlock(f->st);
    complete_stop(f->c);
    complete_join(f->c);
    complete_destroy(f->c);
    fake_destroy(f->st);
    mutex_fini(&f->lock);
    free(f);
    return 0;
}

/* A thread that submits entries first..first+count-1. */
struct client {
    struct fixture *f;
    struct thread thread;
    int64_t first;
    size_t count;
    int rounds;
    const char *message;
    enum err result;
    struct errctx ec;
    int failures, wrong;
    _Atomic int looks; /* at the clock */
    _Atomic bool ended;
};

static enum err submit(struct complete *c, struct callback_entry *entries, size_t count, struct errctx *ec)
{
    return complete_submit(c, entries, count, complete_get_deadline(c), ec);
}

static void run_client(void *arg)
{
    struct client *k = arg;
    own_looks = &k->looks;
    for (int round = 0; round < (k->rounds ? k->rounds : 1); round++) {
        struct callback_entry *entries = calloc(k->count, sizeof(*entries));
        for (size_t i = 0; i < k->count; i++)
            entries[i] = (struct callback_entry){.log_id = k->first + round * (int64_t)k->count + (int64_t)i,
                                                 .code = 200,
                                                 .message = k->message,
                                                 .outcome = CALLBACK_UNKNOWN_LOG};
        k->result = submit(k->f->c, entries, k->count, &k->ec);
        k->failures += k->result != ERR_OK;
        fake_lock(k->f->st);
        for (size_t i = 0; i < k->count && !k->result; i++)
            k->wrong += k->f->st->logs[entries[i].log_id].code != 200 || entries[i].outcome != CALLBACK_STORED;
        fake_unlock(k->f->st);
        free(entries);
    }
    own_looks = NULL;
    k->ended = true;
}

static void start_client(struct client *k)
{
    struct errctx ec;
    assert_int_equal(thread_start(&k->thread, "client", run_client, k, &ec), ERR_OK);
}

struct wish {
    struct fixture *f;
    int waiting;
};

static bool somebody_waits(void *arg)
{
    struct wish *w = arg;
    fake_lock(w->f->st);
    bool ok = w->f->st->waiting >= w->waiting;
    fake_unlock(w->f->st);
    return ok;
}

struct look {
    const struct client *k;
    _Atomic int *looks;
    int until;
};

static bool has_looked_or_ended(void *arg)
{
    const struct look *l = arg;
    return *l->looks >= l->until || l->k->ended;
}

/* The client, or the writer, has seen what the clock says now, has done what there is to do, and the client waits. */
static void assert_goes_on_waiting(struct client *k, _Atomic int *looks)
{
    assert_true(fake_poll(has_looked_or_ended, &(struct look){k, looks, *looks + 20}));
    assert_false(k->ended);
}

static void set_gate(struct fixture *f, bool closed)
{
    fake_lock(f->st);
    f->st->gate_closed = closed;
    fake_unlock(f->st);
}

static void outcomes_come_back(void **state)
{
    struct fixture *f = *state;
    struct errctx ec;
    struct callback_entry e[] = {
        {.log_id = 5, .code = 200, .message = "first"},
        {.log_id = 5, .code = 500, .message = "second"},
        {.log_id = FAKE_LOGS + 1, .code = 200},
        {.log_id = 6, .code = 502, .message = NULL},
    };
    assert_int_equal(submit(f->c, e, 4, &ec), ERR_OK);
    assert_int_equal(e[0].outcome, CALLBACK_STORED);
    assert_int_equal(e[1].outcome, CALLBACK_REPEATED);
    assert_int_equal(e[2].outcome, CALLBACK_UNKNOWN_LOG);
    assert_int_equal(e[3].outcome, CALLBACK_STORED);
    assert_int_equal(f->st->logs[5].code, 200);
    assert_string_equal(f->st->logs[5].message, "first");
    assert_int_equal(counters_get(&counters, COUNTER_CALLBACKS), 2);
    assert_int_equal(counters_get(&counters, COUNTER_CALLBACKS_REPEATED), 1);
    assert_int_equal(counters_get(&counters, COUNTER_CALLBACKS_FOREIGN), 1);
    assert_int_equal(counters_get(&counters, COUNTER_CALLBACK_BATCHES), 1);
    assert_int_equal(counters_get(&counters, COUNTER_RUNS_SUCCEEDED), 1);
    assert_int_equal(counters_get(&counters, COUNTER_RUNS_FAILED), 1);
    assert_int_equal(submit(f->c, e, 0, &ec), ERR_OK);
}

static int64_t late_mono_ms(const struct clock *clock)
{
    (void)clock;
    return clock_mono_ms(clock_system()) + 3600000;
}

/* No wait ends by itself: what is committed was committed because enough were there. */
static void start_patient(const struct fixture *f, struct fixture *patient)
{
    static const struct clock late = {.wall_us = read_wall_us, .mono_ms = late_mono_ms, .boot_ms = late_mono_ms};
    struct errctx ec;
    *patient = (struct fixture){.st = f->st};
    assert_int_equal(complete_create(&(struct complete_opts){.store = f->st, .is_sending = fake_is_sending}, &late,
                                     &counters, &patient->c, &ec),
                     ERR_OK);
    assert_int_equal(complete_start(patient->c, &ec), ERR_OK);
}

static void end_patient(struct fixture *patient)
{
    complete_stop(patient->c);
    complete_join(patient->c);
    complete_destroy(patient->c);
}

/* While one transaction is under way the others gather, and go together in the next. */
static void many_submissions_share_a_transaction(void **state)
{
    struct fixture *f = *state;
    struct fixture patient;
    struct client k[17] = {0};
    start_patient(f, &patient);
    set_gate(f, true);
    k[0] = (struct client){.f = &patient, .first = 10000, .count = 1000}; /* so many go at once */
    start_client(&k[0]);
    struct wish w = {f, 1};
    assert_true(fake_poll(somebody_waits, &w));
    for (int i = 1; i < 17; i++) {
        k[i] = (struct client){.f = &patient, .first = 100 * i, .count = 10};
        start_client(&k[i]);
    }
    set_gate(f, false);
    for (int i = 0; i < 17; i++) {
        thread_join(&k[i].thread);
        assert_int_equal(k[i].failures + k[i].wrong, 0);
    }
    assert_int_equal(f->st->callbacks_stored, 1160);
    assert_int_equal(f->st->callback_batches, 2);
    end_patient(&patient);
}

static void submissions_gather_for_a_transaction(void **state)
{
    struct fixture *f = *state;
    struct fixture patient;
    struct client k[16] = {0};
    start_patient(f, &patient);
    for (int i = 0; i < 16; i++) { /* so many submissions */
        k[i] = (struct client){.f = &patient, .first = 1 + 10 * i, .count = 2};
        start_client(&k[i]);
    }
    for (int i = 0; i < 16; i++)
        thread_join(&k[i].thread);
    assert_int_equal(f->st->callback_batches, 1);
    for (int i = 0; i < 2; i++) { /* so many entries */
        k[i] = (struct client){.f = &patient, .first = 1000 + 1000 * i, .count = 500};
        start_client(&k[i]);
    }
    for (int i = 0; i < 2; i++)
        thread_join(&k[i].thread);
    assert_int_equal(f->st->callback_batches, 2);
    end_patient(&patient);
    for (int i = 0; i < 16; i++)
        assert_int_equal(k[i].failures + k[i].wrong, 0);
}

/* Results wait longer for callbacks that are behind (dispatch): those that the writer waits for are not. */
static void what_comes_to_an_idle_writer_is_not_behind(void **state)
{
    struct fixture *f = *state;
    int times = 0;
    for (int i = 0; i < 20; i++) { /* the writer may not have come back in time, but not each time */
        struct client k = {.f = f, .first = 1 + i, .count = 1};
        fake_behind = 0;
        run_client(&k);
        assert_int_equal(k.failures + k.wrong, 0);
        times += fake_behind == 0;
    }
    assert_true(times > 0);
}

static void what_came_while_the_writer_wrote_is_behind(void **state)
{
    struct fixture *f = *state;
    struct wish w = {f, 1};
    fake_behind = 0;
    for (int i = 0; i < 20 && fake_behind == 0; i++) { /* the second may come late, but not each time */
        struct client k[2] = {{.f = f, .first = 1 + 10 * i, .count = 1}, {.f = f, .first = 2 + 10 * i, .count = 1}};
        set_gate(f, true);
        start_client(&k[0]);
        assert_true(fake_poll(somebody_waits, &w));
        start_client(&k[1]);
        clock_sleep_ms(100);
        set_gate(f, false);
        for (int n = 0; n < 2; n++) {
            thread_join(&k[n].thread);
            assert_int_equal(k[n].failures + k[n].wrong, 0);
        }
    }
    assert_true(fake_behind > 0);
}

/* They wait while fires go out, but not as long as an executor waits for its answer. */
static void callbacks_let_fires_pass(void **state)
{
    struct fixture *f = *state;
    struct client k = {.f = f, .first = 1, .count = 1000};
    stop_clock();
    fake_sending = true;
    start_client(&k); /* so many would go at once, were it not for the fires */
    assert_goes_on_waiting(&k, &fake_sending_asked);
    stopped_at_ms += 149;
    assert_goes_on_waiting(&k, &fake_sending_asked);
    stopped_at_ms += 1;
    thread_join(&k.thread);
    fake_sending = false;
    assert_int_equal(k.failures + k.wrong, 0);
}

static void everything_is_stored_before_it_is_answered(void **state)
{
    struct fixture *f = *state;
    struct client k[16] = {0};
    for (int i = 0; i < 16; i++) {
        k[i] = (struct client){.f = f, .first = 1 + 20000 * i, .count = 50, .rounds = 200, .message = "ok"};
        start_client(&k[i]);
    }
    for (int i = 0; i < 16; i++) {
        thread_join(&k[i].thread);
        assert_int_equal(k[i].failures, 0);
        assert_int_equal(k[i].wrong, 0);
    }
    assert_int_equal(f->st->callbacks_stored, 16 * 200 * 50);
    assert_true(f->st->callback_max <= 2000);
}

/* By their number two of them would fit into a transaction. */
static void a_transaction_is_bounded_in_bytes(void **state)
{
    struct fixture *f = *state;
    struct fixture patient;
    struct client k[5];
    char text[5001];
    memset(text, 'm', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    start_patient(f, &patient);
    set_gate(f, true);
    for (int i = 0; i < 5; i++) {
        k[i] = (struct client){.f = &patient, .first = 1 + 1000 * i, .count = 1000, .message = text};
        start_client(&k[i]);
        if (!i)
            assert_true(fake_poll(somebody_waits, &(struct wish){f, 1}));
    }
    set_gate(f, false);
    for (int i = 0; i < 5; i++) {
        thread_join(&k[i].thread);
        assert_int_equal(k[i].failures + k[i].wrong, 0);
    }
    assert_int_equal(f->st->callback_batches, 5);
    assert_int_equal(f->st->callback_max, 1000);
    end_patient(&patient);
}

/* All pieces of a call have one deadline: the call does not wait for a second with each of them. */
static void a_passed_deadline_ends_the_wait(void **state)
{
    struct fixture *f = *state;
    struct callback_entry e = {.log_id = 5, .code = 200};
    struct errctx ec;
    stop_clock(); /* a second would last for ever */
    set_gate(f, true);
    enum err end = complete_submit(f->c, &e, 1, stopped_at_ms - 1, &ec);
    set_gate(f, false);
    assert_int_equal(end, ERR_TIMEOUT);
}

static void slow_database_ends_the_wait_and_the_repeat_is_fine(void **state)
{
    struct fixture *f = *state;
    struct client k = {.f = f, .first = 1, .count = 3, .message = "held"}, queued = {.f = f, .first = 50, .count = 2};
    stop_clock();
    set_gate(f, true);
    start_client(&k);
    struct wish w = {f, 1};
    assert_true(fake_poll(somebody_waits, &w));
    start_client(&queued); /* never taken by the writer */
    for (int ms = 0; ms <= 999; ms += 999) {
        stopped_at_ms += ms;
        assert_goes_on_waiting(&k, &k.looks);
        assert_goes_on_waiting(&queued, &queued.looks);
    }
    stopped_at_ms += 1;
    thread_join(&k.thread);
    thread_join(&queued.thread);
    assert_int_equal(k.result, ERR_TIMEOUT);
    assert_int_equal(queued.result, ERR_TIMEOUT);
    assert_int_equal(counters_get(&counters, COUNTER_CALLBACKS_REFUSED), 5);
    set_gate(f, false); /* the writer ends its transaction, whose waiter has gone */
    struct errctx ec;
    struct callback_entry e = {.log_id = 1, .code = 500};
    assert_int_equal(submit(f->c, &e, 1, &ec), ERR_OK);
    assert_int_equal(e.outcome, CALLBACK_REPEATED);
    assert_string_equal(f->st->logs[1].message, "held");
    assert_int_equal(f->st->logs[50].code, 0);
    assert_int_equal(submit(f->c, &e, 1, &ec), ERR_OK); /* nobody is taken for waiting who has gone */
}

static void deadlocks_and_unknown_commits_are_repeated(void **state)
{
    struct fixture *f = *state;
    struct client k = {.f = f, .first = 1, .count = 3};
    f->st->conflicts = 4;
    run_client(&k);
    assert_int_equal(k.failures + k.wrong, 0);
    assert_int_equal(f->st->session_writes_max, 5); /* at once, not after a pause */
    struct callback_entry e = {.log_id = 9, .code = 200};
    struct errctx ec;
    f->st->commit_unknown = 1;
    assert_int_equal(submit(f->c, &e, 1, &ec), ERR_OK);
    assert_int_equal(f->st->logs[9].code, 200);
}

static void database_away_is_told(void **state)
{
    struct fixture *f = *state;
    struct client k = {.f = f, .first = 1, .count = 3};
    stop_clock();
    fake_set_error(f->st, ERR_LOST);
    start_client(&k);
    for (int ms = 0; ms <= 949; ms += 949) {
        assert_goes_on_waiting(&k, &k.looks);
        stopped_at_ms += ms;
        assert_goes_on_waiting(&k, &writer_looks);
    }
    stopped_at_ms += 1; /* the writer tells the reason shortly before the waiter gives up */
    thread_join(&k.thread);
    assert_int_equal(k.result, ERR_LOST);
    assert_non_null(strstr(k.ec.text, "away"));
    fake_set_error(f->st, ERR_OK);
    run_client(&k);
    assert_int_equal(k.result, ERR_OK);
}

static void refused_text_harms_no_other(void **state)
{
    struct fixture *f = *state;
    struct errctx ec;
    struct callback_entry e[60];
    f->st->refuse = "\xf0\x9f\x98\x80";
    for (int i = 0; i < 60; i++)
        e[i] =
            (struct callback_entry){.log_id = i + 1, .code = 200, .message = i == 33 ? "x \xf0\x9f\x98\x80" : "fine"};
    assert_int_equal(submit(f->c, e, 60, &ec), ERR_OK);
    assert_int_equal(f->st->callbacks_stored, 60);
    assert_string_equal(f->st->logs[34].message, "x ????"); /* better than an executor that sends it for ever */
    f->st->refuse = "never";
    e[0] = (struct callback_entry){.log_id = 100, .code = 200, .message = "never"};
    e[1] = (struct callback_entry){.log_id = 101, .code = 200, .message = "good"};
    assert_int_equal(submit(f->c, e, 2, &ec), ERR_INPUT);
    assert_non_null(strstr(ec.text, "callback of log 100"));
    assert_int_equal(f->st->logs[101].code, 200);
    assert_int_equal(f->st->logs[100].code, 0);
}

/* ---- results that wait for their callbacks --------------------------------------------------------------------- */

static void assert_result(int64_t log_id, bool written, int given_back)
{
    const struct fake_result *r = &fake_results[log_id];
    assert_false(r->claimed);
    assert_int_equal(r->written, written);
    assert_int_equal(r->given_back, given_back);
}

static void waiting_results_are_written_with_their_callbacks(void **state)
{
    struct fixture *f = *state;
    struct errctx ec;
    struct callback_entry e[] = {
        {.log_id = 10, .code = 200},
        {.log_id = 11, .code = 200},
        {.log_id = 12, .code = 500},
        {.log_id = 12, .code = 200}, /* a repeat brings nothing along a second time */
        {.log_id = FAKE_LOGS + 1, .code = 200},
    };
    let_wait(10);
    let_wait(12);
    assert_int_equal(submit(f->c, e, ARRAY_LEN(e), &ec), ERR_OK);
    assert_true(f->st->logs[10].delivers);
    assert_false(f->st->logs[11].delivers);
    assert_true(f->st->logs[12].delivers);
    assert_int_equal(f->st->logs[12].code, 500);
    assert_result(10, true, 0);
    assert_result(12, true, 0);
    assert_int_equal(fake_results[12].claims, 1);
}

static void a_row_that_has_its_end_writes_no_result(void **state)
{
    struct fixture *f = *state;
    struct errctx ec;
    struct callback_entry e = {.log_id = 10, .code = 200};
    assert_int_equal(submit(f->c, &e, 1, &ec), ERR_OK);
    let_wait(10);
    assert_int_equal(submit(f->c, &e, 1, &ec), ERR_OK);
    assert_int_equal(e.outcome, CALLBACK_REPEATED);
    assert_result(10, false, 1);
}

static void what_may_not_be_committed_is_left_to_the_result(void **state)
{
    struct fixture *f = *state;
    struct errctx ec;
    struct callback_entry e = {.log_id = 10, .code = 200};
    let_wait(10);
    f->st->commit_unknown = 1; /* the try after it finds the row written */
    assert_int_equal(submit(f->c, &e, 1, &ec), ERR_OK);
    assert_int_equal(fake_results[10].claims, 2);
    assert_result(10, false, 2);

    let_wait(11);
    fake_set_error(f->st, ERR_LOST);
    e.log_id = 11;
    assert_int_not_equal(submit(f->c, &e, 1, &ec), ERR_OK);
    fake_set_error(f->st, ERR_OK);
    e.log_id = 12;
    assert_int_equal(submit(f->c, &e, 1, &ec), ERR_OK); /* behind it: the writer has let go of 11 */
    assert_result(11, false, fake_results[11].claims);
    let_wait(13);
    f->st->conflicts = 3; /* rolled back for sure: the next try brings it along */
    e.log_id = 13;
    assert_int_equal(submit(f->c, &e, 1, &ec), ERR_OK);
    assert_result(13, true, 0);
}

/* ---- children ---------------------------------------------------------------------------------------------------- */

static void children_are_sent_once_behind_the_commit(void **state)
{
    struct fixture *f = *state;
    struct errctx ec;
    struct callback_entry e[] = {
        {.log_id = 899, .code = 200}, {.log_id = 900, .code = 200}, {.log_id = 901, .code = 500}};

    f->st->parents_from = 900;
    for (int i = 0; i < 3; i++)
        assert_int_equal(submit(f->c, e, ARRAY_LEN(e), &ec), ERR_OK);
    assert_int_equal(f->sent[0], 1);
    assert_int_equal(f->sent[1], 0);
    f->st->conflicts = 3; /* rolled back: the next try makes them */
    assert_int_equal(submit(f->c, &(struct callback_entry){.log_id = 902, .code = 200}, 1, &ec), ERR_OK);
    assert_int_equal(f->sent[2], 1);
    assert_int_equal(f->st->finds, 0);
    assert_int_equal(counters_get(&counters, COUNTER_CHILDREN), 2);
}

static void children_of_an_unknown_commit_are_looked_up(void **state)
{
    static const struct {
        bool lost;
        int find_errors;
    } cases[] = {{false, 0}, {true, 0}, {false, 1}, {true, 2}};
    struct fixture *f = *state;
    struct errctx ec;

    f->st->parents_from = 900;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct callback_entry e = {.log_id = 910 + (int64_t)i, .code = 200};
        f->st->finds = 0;
        f->st->commit_unknown = 1;
        f->st->unknown_is_lost = cases[i].lost;
        f->st->find_errors = cases[i].find_errors;
        assert_int_equal(submit(f->c, &e, 1, &ec), ERR_OK);
        assert_int_equal(f->sent[10 + i], 1);
        assert_int_equal(f->st->finds, 1 + cases[i].find_errors);
        assert_int_equal(f->st->logs[e.log_id].code, 200);
    }
}

static bool child_was_sent(void *arg)
{
    struct fixture *f = arg;

    mutex_lock(&f->lock);
    bool sent = f->sent[20] > 0;
    mutex_unlock(&f->lock);
    return sent;
}

/* The executor that called was told to call again, and may take its time. */
static void children_in_doubt_wait_for_no_other_callback(void **state)
{
    struct fixture *f = *state;
    struct errctx ec;
    struct callback_entry e = {.log_id = 920, .code = 200};

    f->st->parents_from = 900;
    f->st->commit_unknown = 1;
    f->st->find_errors = 1000000;
    assert_int_not_equal(complete_submit(f->c, &e, 1, clock_mono_ms(clock_system()) + 200, &ec), ERR_OK);
    fake_lock(f->st);
    f->st->find_errors = 0;
    fake_unlock(f->st);
    assert_true(fake_poll(child_was_sent, f));
    assert_int_equal(f->sent[20], 1);
}

static void direct_fires_that_are_too_late_end_together(void **state)
{
    enum { FIRES = 450 };
    struct fixture *f = *state;
    struct direct_sender sender = {
        .store = f->st, .clock = clock_system(), .counters = &counters, .submit = take_children, .arg = f};

    for (int fail = 0; fail < 2; fail++) {
        struct fire *list = NULL;

        for (int i = 0; i < FIRES; i++) {
            struct fire *fire = fire_create();
            fire->log_id = 500900 + i % 100;
            fire->kind = TRIGGER_PARENT;
            fire->next = list;
            list = fire;
        }
        f->st->result_errors = fail;
        direct_send(&sender, list, clock_boot_ms(clock_system()) - SEND_DEADLINE_MS - 1);
        assert_int_equal(f->st->result_writes, fail ? 4 : 3);
        assert_int_equal(sender.late != NULL, fail);
    }
    direct_end_late(&sender); /* the database is there again */
    assert_null(sender.late);
    assert_int_equal(f->st->result_writes, 7);
    assert_int_equal(f->st->results_late, 2 * FIRES);
    assert_int_equal(counters_get(&counters, COUNTER_FIRES_TOO_LATE), 2 * FIRES);
    assert_int_equal(f->sent[0], 0);
}

static void a_refused_entry_takes_no_result_with_it(void **state)
{
    struct fixture *f = *state;
    struct errctx ec;
    struct callback_entry e[] = {
        {.log_id = 10, .code = 200, .message = "never"},
        {.log_id = 11, .code = 200, .message = "good"},
    };
    let_wait(10);
    let_wait(11);
    f->st->refuse = "never";
    assert_int_equal(submit(f->c, e, 2, &ec), ERR_INPUT);
    assert_int_equal(f->st->logs[11].code, 200);
    assert_result(10, false, 1);
    assert_result(11, false, 1); /* which of them is stored is not known to us: its result is written twice at worst */
}

static void long_text_is_cut_at_a_character(void **state)
{
    struct fixture *f = *state;
    struct errctx ec;
    size_t len = 200001;
    char *text = malloc(len + 1);
    text[0] = 'x';
    for (size_t i = 1; i + 1 < len; i += 2)
        memcpy(text + i, "\xc3\xa9", 2);
    text[len] = '\0';
    struct callback_entry e = {.log_id = 1, .code = 200, .message = text};
    assert_int_equal(submit(f->c, &e, 1, &ec), ERR_OK);
    const char *stored = f->st->logs[1].message;
    size_t stored_len = strlen(stored);
    assert_true(stored_len >= 44998 && stored_len <= 45000);
    assert_int_equal(stored_len % 2, 1); /* x and whole characters */
    free(text);
}

static void stop_ends_waiters(void **state)
{
    struct fixture *f = *state;
    struct client k[4] = {0};
    set_gate(f, true);
    for (int i = 0; i < 4; i++) {
        k[i] = (struct client){.f = f, .first = 1 + 10 * i, .count = 2};
        start_client(&k[i]);
    }
    struct wish w = {f, 1};
    assert_true(fake_poll(somebody_waits, &w));
    complete_stop(f->c);
    complete_stop(f->c); /* may be called twice */
    set_gate(f, false);
    complete_join(f->c);
    for (int i = 0; i < 4; i++) {
        thread_join(&k[i].thread);
        assert_true(k[i].result == ERR_OK || k[i].result == ERR_STATE);
        assert_int_equal(k[i].wrong, 0);
    }
    struct callback_entry e = {.log_id = 500, .code = 200};
    struct errctx ec;
    assert_int_equal(submit(f->c, &e, 1, &ec), ERR_STATE);
}

int main(void)
{
    log_set_level(LOG_ERROR);
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(waiting_results_are_written_with_their_callbacks),
        T(a_row_that_has_its_end_writes_no_result),
        T(what_may_not_be_committed_is_left_to_the_result),
        T(a_refused_entry_takes_no_result_with_it),
        T(children_are_sent_once_behind_the_commit),
        T(children_of_an_unknown_commit_are_looked_up),
        T(children_in_doubt_wait_for_no_other_callback),
        T(direct_fires_that_are_too_late_end_together),
        T(outcomes_come_back),
        T(many_submissions_share_a_transaction),
        T(submissions_gather_for_a_transaction),
        T(what_came_while_the_writer_wrote_is_behind),
        T(what_comes_to_an_idle_writer_is_not_behind),
        T(callbacks_let_fires_pass),
        T(everything_is_stored_before_it_is_answered),
        T(a_transaction_is_bounded_in_bytes),
        T(a_passed_deadline_ends_the_wait),
        T(slow_database_ends_the_wait_and_the_repeat_is_fine),
        T(deadlocks_and_unknown_commits_are_repeated),
        T(database_away_is_told),
        T(refused_text_harms_no_other),
        T(long_text_is_cut_at_a_character),
        T(stop_ends_waiters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
