/* SPDX-License-Identifier: MIT */
/* The monitor of lost runs, turn by turn on a clock of the test's own: no thread, no server, no executor. */
#include "test.h"

#include "follow/idle.h"
#include "shardwheel/executor/access.h"
#include "shardwheel/follow/lost.h"
#include "shardwheel/job/times.h"
#include "shardwheel/store/cluster.h"
#include "shardwheel/store/lost.h"
#include "shardwheel/store/registry.h"
#include "shardwheel/store/upkeep.h"

#include <stdlib.h>
#include <string.h>

#define T INT64_C(1700000000)
#define ROWS_MAX 5000

struct row {
    int64_t id, job, triggered_s;
    const char *address;
    int trigger_code, handle_code;
    const char *reason;
    int64_t ended_ms;
};

static struct world {
    struct clock clock;
    int64_t ms;
    int64_t epoch, owned_epoch;
    struct row rows[ROWS_MAX];
    size_t count;
    int64_t next_id;
    const char *registered[20];
    size_t registered_count;
    int64_t missed_s;        /* what store_load_missed says */
    int64_t node_started_ms; /* of the other node */
    enum idle_answer (*say)(const char *address, int64_t job);
    size_t asked, longest_ask;
    size_t pages;
    enum err error;
    struct access_box access;
    struct lost *l;
    struct counters counters;
} w;

static int64_t read_us(const struct clock *clock)
{
    (void)clock;
    return T * 1000000 + w.ms * 1000;
}

static int64_t read_ms(const struct clock *clock)
{
    (void)clock;
    return 500000 + w.ms;
}

static int64_t get_epoch(void *arg)
{
    (void)arg;
    return w.epoch;
}

/* ---- the world --------------------------------------------------------------------------------------------------- */

struct store_session {
    int unused;
};
static struct store_session the_session;

static enum err answer(struct errctx *ec)
{
    return w.error ? err_set(ec, w.error, "as told") : ERR_OK;
}

enum err store_take_session(struct store *st, enum session_kind kind, struct store_session **out, struct errctx *ec)
{
    (void)st, (void)kind;
    *out = &the_session;
    return answer(ec);
}

void store_give_session(struct store *st, struct store_session *s)
{
    (void)st, (void)s;
}

enum err store_check_epoch(struct store_session *s, int shard, int64_t epoch, struct errctx *ec)
{
    (void)s, (void)shard;
    return epoch == w.owned_epoch ? answer(ec) : err_set(ec, ERR_CONFLICT, "another owner");
}

enum err store_load_newest_log(struct store_session *s, int64_t *id, struct errctx *ec)
{
    (void)s;
    *id = w.next_id;
    return answer(ec);
}

enum err store_load_open_runs(struct store_session *s, int64_t after_id, int64_t until_id, size_t max,
                              struct open_runs *out, struct errctx *ec)
{
    struct open_run *list = calloc(max + 1, sizeof *list);
    size_t seen = 0;

    (void)s;
    w.pages++;
    *out = (struct open_runs){.rows = list, .memory = list, .until_id = until_id};
    for (size_t i = 0; i < w.count; i++) {
        const struct row *r = &w.rows[i];
        if (r->id <= after_id || r->id > until_id || r->handle_code != 0)
            continue;
        if (seen++ == max) {
            out->until_id = w.rows[i - 1].id;
            break;
        }
        if (r->trigger_code == 200)
            list[out->count++] = (struct open_run){r->id, r->job, 1, r->triggered_s, r->address};
    }
    return answer(ec);
}

void store_free_list(void *items, void *memory)
{
    (void)items; /* static, or the memory */
    free(memory);
}

static struct row *find_row(int64_t id)
{
    for (size_t i = 0; i < w.count; i++)
        if (w.rows[i].id == id)
            return &w.rows[i];
    return NULL;
}

enum err store_keep_open_runs(struct store_session *s, int64_t *ids, size_t *count, struct errctx *ec)
{
    size_t n = 0;

    (void)s;
    for (size_t i = 0; i < *count; i++) {
        const struct row *r = find_row(ids[i]);
        if (r && r->trigger_code == 200 && r->handle_code == 0)
            ids[n++] = ids[i];
    }
    *count = n;
    return answer(ec);
}

enum err store_load_addresses(struct store_session *s, struct address_list *out, struct errctx *ec)
{
    (void)s;
    *out = (struct address_list){.list = w.registered, .count = w.registered_count};
    return answer(ec);
}

enum err store_is_registered(struct store_session *s, const char *address, bool *out, struct errctx *ec)
{
    (void)s;
    *out = strcmp(address, "http://CASE/") == 0;
    return answer(ec);
}

enum err store_load_missed(struct store_session *s, int64_t hold_s, int64_t *age_s, struct errctx *ec)
{
    (void)s, (void)hold_s;
    *age_s = w.missed_s;
    return answer(ec);
}

enum err store_load_nodes(struct store_session *s, struct node_row **out, size_t *count, int64_t *now_ms,
                          struct errctx *ec)
{
    (void)s;
    *out = calloc(2, sizeof **out);
    assert_non_null(*out);
    *now_ms = T * 1000 + w.ms;
    (*out)[0] = (struct node_row){.started_ms = T * 1000 - 3600000, .beat_ms = *now_ms};
    (*out)[1] = (struct node_row){.started_ms = w.node_started_ms, .beat_ms = *now_ms};
    *count = 2;
    return answer(ec);
}

enum err store_end_lost(struct store_session *s, const int64_t *ids, const int64_t *job_ids, size_t count,
                        const char *reason, int64_t now_s, size_t *ended, struct errctx *ec)
{
    (void)s, (void)now_s;
    *ended = 0;
    for (size_t i = 0; i < count; i++) {
        struct row *r = find_row(ids[i]);
        assert_int_equal(r->job, job_ids[i]);
        assert_true(i == 0 || ids[i] > ids[i - 1]);
        if (r->handle_code != 0)
            continue;
        r->handle_code = 500;
        r->reason = reason;
        r->ended_ms = w.ms;
        ++*ended;
    }
    return answer(ec);
}

const struct registry_snapshot *registry_get_snapshot(struct registry *r)
{
    static const struct registry_snapshot none;

    (void)r;
    return &none;
}

void registry_put_snapshot(const struct registry_snapshot *snap)
{
    (void)snap;
}

const struct registry_group *registry_find_group(const struct registry_snapshot *snap, int64_t id)
{
    static const struct registry_group group = {.app_name = "app", .access_token = "secret"};

    (void)snap;
    return id == 1 ? &group : NULL;
}

enum err idle_create(const struct clock *clock, struct resolver *resolver, const struct executor_networks *networks,
                     struct idle_asker **out, struct errctx *ec)
{
    (void)networks;
    (void)clock, (void)resolver, (void)ec;
    *out = NULL;
    return ERR_OK;
}

void idle_destroy(struct idle_asker *a)
{
    (void)a;
}

void idle_ask(struct idle_asker *a, struct idle_question *questions, size_t count, const char *access_token,
              const struct http_tls *tls, int64_t budget_ms)
{
    (void)a, (void)access_token, (void)tls, (void)budget_ms;
    w.longest_ask = count > w.longest_ask ? count : w.longest_ask;
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(questions[i].app_name, "app");
        for (size_t k = 0; k < i; k++) /* nobody is asked the same twice */
            assert_true(questions[i].job_id != questions[k].job_id ||
                        strcmp(questions[i].address, questions[k].address) != 0);
        questions[i].answer = w.say ? w.say(questions[i].address, questions[i].job_id) : IDLE_UNKNOWN;
        w.asked++;
    }
}

/* ---- the test's own ---------------------------------------------------------------------------------------------- */

static void start(bool ask)
{
    struct errctx ec = {{0}};

    memset(&w, 0, sizeof w);
    w.clock = (struct clock){read_us, read_ms, read_ms};
    w.epoch = w.owned_epoch = 3;
    w.missed_s = -1;
    w.node_started_ms = T * 1000 - 3600000;
    access_box_init(&w.access);
    assert_true(access_box_set(&w.access, "", NULL, 3000));
    assert_int_equal(lost_create(&(struct lost_opts){.access = &w.access, .ask = ask, .get_epoch = get_epoch}, &w.clock,
                                 &w.counters, &w.l, &ec),
                     ERR_OK);
}

static void end(void)
{
    lost_destroy(w.l);
    access_box_fini(&w.access);
}

static void run_for(int64_t ms)
{
    for (int64_t until = w.ms + ms; w.ms < until;)
        w.ms += lost_turn(w.l);
}

static int64_t add_run(int64_t job, const char *address)
{
    assert_true(w.count < ROWS_MAX);
    w.rows[w.count++] = (struct row){
        .id = ++w.next_id, .job = job, .triggered_s = T + w.ms / 1000, .address = address, .trigger_code = 200};
    return w.next_id;
}

static void register_address(const char *address)
{
    w.registered[w.registered_count++] = address;
}

static const char *reason_of(int64_t id)
{
    const struct row *r = find_row(id);

    return r->reason ? r->reason : "";
}

static enum idle_answer say_yes(const char *address, int64_t job)
{
    (void)address, (void)job;
    return IDLE_YES;
}

static enum idle_answer say_no(const char *address, int64_t job)
{
    (void)address, (void)job;
    return IDLE_NO;
}

#define MINUTE 60000

/* ---- 10 minutes -------------------------------------------------------------------------------------------------- */

static void ten_minutes_without_a_registered_address(void **state)
{
    (void)state;
    start(false);
    register_address("http://here/");
    int64_t here = add_run(1, "http://here/");
    int64_t elsewhere = add_run(1, "http://elsewhere/");
    int64_t by_collation = add_run(1, "http://CASE/");
    int64_t without = add_run(1, "");
    int64_t old = add_run(1, "http://elsewhere/");
    find_row(old)->triggered_s = T - 86400 * 30;
    int64_t timeless = add_run(1, "http://elsewhere/");
    find_row(timeless)->triggered_s = INT64_MIN;
    run_for(MINUTE);
    assert_true(strstr(reason_of(old), "10 minutes") != NULL); /* whoever wrote it, and however old */
    run_for(8 * MINUTE + 50000);
    assert_string_equal(reason_of(elsewhere), "");
    run_for(20000);
    assert_true(strstr(reason_of(elsewhere), "10 minutes") != NULL);
    assert_true(strstr(reason_of(without), "10 minutes") != NULL);
    run_for(60 * MINUTE);
    assert_string_equal(reason_of(here), "");
    assert_string_equal(reason_of(by_collation), "");
    assert_string_equal(reason_of(timeless), "");
    assert_int_equal(counters_get(&w.counters, COUNTER_RUNS_LOST_UNREGISTERED), 3);
    end();
}

/* A row may become an open run long after it was made. */
static void a_run_that_begins_late_is_found(void **state)
{
    (void)state;
    start(false);
    int64_t id = add_run(1, "http://elsewhere/");
    find_row(id)->trigger_code = 0;
    run_for(60 * MINUTE);
    find_row(id)->trigger_code = 200;
    run_for(12 * MINUTE);
    assert_int_equal(find_row(id)->handle_code, 500);
    end();
}

/* ---- an executor that left --------------------------------------------------------------------------------------- */

static void an_executor_that_leaves_loses_its_runs_soon(void **state)
{
    (void)state;
    start(false);
    register_address("http://here/");
    run_for(5 * MINUTE);
    int64_t id = add_run(1, "http://here/");
    run_for(MINUTE);
    w.registered_count = 0;
    int64_t left_ms = w.ms;
    run_for(20000);
    assert_string_equal(reason_of(id), "");
    run_for(40000);
    assert_true(strstr(reason_of(id), "has left") != NULL);
    assert_true(find_row(id)->ended_ms - left_ms <= 60000);
    end();
}

static void one_that_comes_back_keeps_them(void **state)
{
    (void)state;
    start(false);
    register_address("http://here/");
    run_for(5 * MINUTE);
    int64_t id = add_run(1, "http://here/");
    run_for(MINUTE);
    w.registered_count = 0;
    run_for(20000);
    w.registered_count = 1;
    run_for(20 * MINUTE);
    assert_string_equal(reason_of(id), "");
    end();
}

/* Given by hand: it was never registered, and the original's rule is all there is. */
static void an_address_that_was_never_registered_has_not_left(void **state)
{
    (void)state;
    start(false);
    run_for(5 * MINUTE);
    int64_t id = add_run(1, "http://by-hand/");
    run_for(9 * MINUTE + 30000);
    assert_string_equal(reason_of(id), "");
    end();
}

/* ---- an executor that is idle ------------------------------------------------------------------------------------ */

static void two_words_a_minute_apart_end_a_run(void **state)
{
    (void)state;
    start(true);
    register_address("http://here/");
    w.say = say_no;
    run_for(5 * MINUTE);
    int64_t one = add_run(1, "http://here/"), other = add_run(1, "http://here/"), third = add_run(2, "http://here/");
    run_for(3 * MINUTE);
    assert_string_equal(reason_of(one), "");
    w.say = say_yes; /* killed and started again */
    int64_t killed_ms = w.ms;
    run_for(3 * MINUTE);
    assert_true(strstr(reason_of(one), "idle") != NULL);
    assert_true(strstr(reason_of(other), "idle") != NULL);
    assert_true(strstr(reason_of(third), "idle") != NULL);
    assert_in_range(find_row(one)->ended_ms - killed_ms, 60000, 180000);
    assert_int_equal(counters_get(&w.counters, COUNTER_RUNS_LOST_IDLE), 3);
    end();
}

static int turns_of_yes;

static enum idle_answer say_yes_and_no(const char *address, int64_t job)
{
    (void)address, (void)job;
    return turns_of_yes++ % 2 ? IDLE_NO : IDLE_YES;
}

static void a_word_that_it_is_busy_takes_the_other_back(void **state)
{
    (void)state;
    start(true);
    register_address("http://here/");
    w.say = say_yes_and_no;
    run_for(5 * MINUTE);
    int64_t id = add_run(1, "http://here/");
    run_for(30 * MINUTE);
    assert_string_equal(reason_of(id), "");
    end();
}

static void silence_says_nothing(void **state)
{
    (void)state;
    start(true);
    register_address("http://here/");
    run_for(5 * MINUTE);
    int64_t id = add_run(1, "http://here/");
    run_for(MINUTE);
    assert_int_equal(w.asked, 1); /* soon after it began */
    run_for(60 * MINUTE);
    assert_string_equal(reason_of(id), "");
    assert_in_range(w.asked, 56, 62); /* once a minute */
    end();
}

/* A run that is given by hand has no group that could have said anything of it: its own word counts. */
static void by_hand_its_own_word_counts(void **state)
{
    (void)state;
    start(true);
    w.say = say_yes;
    run_for(5 * MINUTE);
    int64_t id = add_run(1, "http://by-hand/");
    run_for(3 * MINUTE);
    assert_true(strstr(reason_of(id), "idle") != NULL);
    end();
}

static void a_new_run_is_not_judged_by_an_old_word(void **state)
{
    (void)state;
    start(true);
    register_address("http://here/");
    w.say = say_yes;
    run_for(5 * MINUTE);
    int64_t first = add_run(1, "http://here/");
    run_for(100000); /* one word was said by now */
    int64_t second = add_run(1, "http://here/");
    run_for(30000);
    assert_true(strstr(reason_of(first), "idle") != NULL);
    assert_string_equal(reason_of(second), "");
    end();
}

static void switched_off_nobody_is_asked(void **state)
{
    (void)state;
    start(false);
    register_address("http://here/");
    w.say = say_yes;
    run_for(5 * MINUTE);
    int64_t id = add_run(1, "http://here/");
    run_for(30 * MINUTE);
    assert_string_equal(reason_of(id), "");
    assert_int_equal(w.asked, 0);
    end();
}

/* ---- callbacks that could not come ------------------------------------------------------------------------------ */

static void miss_beats(void)
{
    w.missed_s = 5;
}

static void refuse_a_callback(void)
{
    counters_add(&w.counters, COUNTER_CALLBACKS_REFUSED, 1);
}

static void begin_a_node(void)
{
    w.node_started_ms = T * 1000 + w.ms;
}

static void lose_the_database(void)
{
    w.error = ERR_LOST;
}

static void nothing(void)
{
}

/* Two minutes from the last sign of a break on are waited for, whatever executors say. */
static void callbacks_must_have_been_accepted_for_two_minutes(void **state)
{
    static const struct {
        void (*breaks)(void);
        bool waits;
    } cases[] = {{miss_beats, true},
                 {refuse_a_callback, true},
                 {begin_a_node, true},
                 {lose_the_database, true},
                 {nothing, false}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        start(true);
        register_address("http://here/");
        w.say = say_yes;
        run_for(5 * MINUTE);
        int64_t id = add_run(1, "http://here/");
        run_for(80000);
        assert_string_equal(reason_of(id), "");
        cases[i].breaks();
        run_for(50000);
        w.missed_s = -1;
        w.error = ERR_OK;
        int64_t over_ms = w.ms;
        run_for(50000);
        assert_int_equal(reason_of(id)[0] != '\0', !cases[i].waits);
        run_for(4 * MINUTE);
        assert_true(strstr(reason_of(id), "idle") != NULL);
        if (cases[i].waits)
            assert_in_range(find_row(id)->ended_ms, over_ms + 60000, over_ms + 150000);
        end();
    }
}

/* ---- who does it ------------------------------------------------------------------------------------------------- */

static void only_the_owner_ends_runs(void **state)
{
    (void)state;
    start(true);
    w.say = say_yes;
    w.epoch = 0;
    register_address("http://here/");
    run_for(3 * MINUTE);
    int64_t id = add_run(1, "http://here/");
    int64_t elsewhere = add_run(1, "http://elsewhere/");
    run_for(20 * MINUTE);
    assert_int_equal(w.asked + w.pages, 0);
    w.epoch = 3;
    w.owned_epoch = 4; /* somebody else has it by now */
    run_for(5 * MINUTE);
    assert_string_equal(reason_of(id), "");
    assert_string_equal(reason_of(elsewhere), "");
    w.epoch = 4;
    run_for(20000);
    assert_true(strstr(reason_of(elsewhere), "10 minutes") != NULL);
    run_for(2 * MINUTE);
    assert_true(strstr(reason_of(id), "idle") != NULL);
    end();
}

/* What the registry said is known on each node: a new owner need not wait for it. */
static void a_new_owner_knows_who_left(void **state)
{
    (void)state;
    start(false);
    w.epoch = 0;
    register_address("http://here/");
    run_for(3 * MINUTE);
    int64_t id = add_run(1, "http://here/");
    run_for(MINUTE);
    w.registered_count = 0;
    run_for(20000);
    w.epoch = w.owned_epoch = 7;
    run_for(40000);
    assert_true(strstr(reason_of(id), "has left") != NULL);
    end();
}

static void runs_that_ended_are_forgotten(void **state)
{
    (void)state;
    start(true);
    w.say = say_no;
    register_address("http://here/");
    run_for(MINUTE);
    for (int i = 0; i < 4500; i++)
        add_run(i, "http://here/");
    run_for(5 * MINUTE);
    assert_int_equal(w.longest_ask, 2000); /* the bound of a turn */
    assert_true(w.asked >= 4 * 4500);
    for (size_t i = 0; i < w.count; i++)
        w.rows[i].handle_code = 200;
    run_for(20000);
    w.asked = 0;
    run_for(5 * MINUTE);
    assert_int_equal(w.asked, 0);
    end();
}

/* The table was emptied and its ids begin anew. */
static void ids_may_begin_anew(void **state)
{
    (void)state;
    start(true);
    for (int i = 0; i < 100; i++)
        add_run(1, "http://elsewhere/");
    run_for(3 * MINUTE);
    w.count = 0;
    w.next_id = 0;
    run_for(20000);
    w.asked = 0;
    int64_t id = add_run(1, "http://elsewhere/");
    run_for(MINUTE);
    assert_int_equal(w.asked, 1); /* soon, whatever ids there were before */
    run_for(15 * MINUTE);
    assert_true(strstr(reason_of(id), "10 minutes") != NULL);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_minutes_without_a_registered_address),
        cmocka_unit_test(a_run_that_begins_late_is_found),
        cmocka_unit_test(an_executor_that_leaves_loses_its_runs_soon),
        cmocka_unit_test(one_that_comes_back_keeps_them),
        cmocka_unit_test(an_address_that_was_never_registered_has_not_left),
        cmocka_unit_test(two_words_a_minute_apart_end_a_run),
        cmocka_unit_test(a_word_that_it_is_busy_takes_the_other_back),
        cmocka_unit_test(silence_says_nothing),
        cmocka_unit_test(by_hand_its_own_word_counts),
        cmocka_unit_test(a_new_run_is_not_judged_by_an_old_word),
        cmocka_unit_test(switched_off_nobody_is_asked),
        cmocka_unit_test(callbacks_must_have_been_accepted_for_two_minutes),
        cmocka_unit_test(only_the_owner_ends_runs),
        cmocka_unit_test(a_new_owner_knows_who_left),
        cmocka_unit_test(runs_that_ended_are_forgotten),
        cmocka_unit_test(ids_may_begin_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
