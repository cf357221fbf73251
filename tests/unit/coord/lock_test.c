/* SPDX-License-Identifier: MIT */
#include "coord/lock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define FOLDER "/xxl-job/schedule_lock_3"
#define UUID "01234567-89ab-4cde-8f01-23456789abcd"
#define OTHER "fedcba98-89ab-4cde-8f01-23456789abcd"
#define TICKET(uuid, number) "_c_" uuid "-lock-00000000" number

/* What was asked last. */
struct asked {
    int count;
    enum zk_verb verb;
    char path[300];
    char data[50];
    uint64_t id;
    bool refuse;
};

struct fixture {
    struct shard_lock lock;
    struct asked asked;
    uint64_t next_id;
    int64_t now_ms;
};

static bool record(void *arg, const struct zk_ask *ask)
{
    struct asked *a = arg;

    if (a->refuse)
        return false;
    a->count++;
    a->verb = ask->verb;
    a->id = ask->id;
    snprintf(a->path, sizeof a->path, "%s", ask->path);
    snprintf(a->data, sizeof a->data, "%s", ask->data ? ask->data : "");
    return true;
}

static int setup(void **state)
{
    static struct fixture f;

    memset(&f, 0, sizeof f);
    f.next_id = 1;
    f.now_ms = 1000;
    assert_int_equal(lock_init(&f.lock, FOLDER, 3), ERR_OK);
    lock_reset(&f.lock, UUID);
    f.lock.want = true;
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    lock_fini(&f->lock);
    return 0;
}

/* One step; true when exactly this was asked for. */
static bool asks(struct fixture *f, enum zk_verb verb, const char *path)
{
    int before = f->asked.count;

    lock_step(&f->lock, f->now_ms, &f->next_id, "node-a", record, &f->asked);
    return f->asked.count == before + 1 && f->asked.verb == verb && strcmp(f->asked.path, path) == 0;
}

static bool asks_nothing(struct fixture *f)
{
    int before = f->asked.count;

    lock_step(&f->lock, f->now_ms, &f->next_id, "node-a", record, &f->asked);
    return f->asked.count == before;
}

static void answer(struct fixture *f, enum zk_result result)
{
    lock_on_answer(&f->lock, &(struct zk_answer){.verb = f->asked.verb, .tag = 3, .id = f->asked.id, .result = result},
                   f->now_ms);
}

static void answer_created(struct fixture *f, const char *name)
{
    char path[300];

    snprintf(path, sizeof path, FOLDER "/%s", name);
    lock_on_answer(
        &f->lock,
        &(struct zk_answer){.verb = f->asked.verb, .tag = 3, .id = f->asked.id, .result = ZK_OK, .created = path},
        f->now_ms);
}

static void answer_names(struct fixture *f, const char *const *names, size_t count)
{
    lock_on_answer(
        &f->lock,
        &(struct zk_answer){
            .verb = f->asked.verb, .tag = 3, .id = f->asked.id, .result = ZK_OK, .names = names, .count = count},
        f->now_ms);
}

#define ANSWER_NAMES(f, ...)                                                                                           \
    do {                                                                                                               \
        const char *const names_[] = {__VA_ARGS__};                                                                    \
        answer_names(f, names_, ARRAY_LEN(names_));                                                                    \
    } while (0)

/* Up to a ticket that exists, with the number 05. */
static void create_ticket(struct fixture *f)
{
    assert_true(asks(f, ZK_CREATE_QUEUED, FOLDER "/_c_" UUID "-lock-"));
    assert_string_equal(f->asked.data, "node-a");
    answer_created(f, TICKET(UUID, "05"));
    assert_true(asks(f, ZK_LIST, FOLDER));
}

static void get_lowest(struct fixture *f)
{
    create_ticket(f);
    ANSWER_NAMES(f, TICKET(OTHER, "06"), TICKET(UUID, "05"));
    assert_int_equal(f->lock.state, TICKET_LOWEST);
}

static void test_numbers_of_names(void **state)
{
    int64_t n = 0;

    (void)state;
    assert_true(lock_parse_number("_c_" UUID "-lock-0000000012", &n));
    assert_int_equal(n, 12);
    assert_true(lock_parse_number("lock-0000000007", &n)); /* without protection, as old clients write it */
    assert_int_equal(n, 7);
    assert_true(lock_parse_number("lock-x-lock-0000000009", &n));
    assert_int_equal(n, 9);
    assert_true(lock_parse_number("lock--2147483648", &n)); /* the counter has gone round */
    assert_int_equal(n, INT32_MIN);
    assert_false(lock_parse_number("lock-", &n));
    assert_false(lock_parse_number("lock-12x", &n));
    assert_false(lock_parse_number("leases-0000000001", &n));
    assert_false(lock_parse_number("lock-99999999999", &n));
}

static void test_lowest_holds_and_order_is_by_number(void **state)
{
    struct fixture *f = *state;

    create_ticket(f);
    /* By name, the other one would come first or last; neither counts. Names that are no tickets are left out. */
    ANSWER_NAMES(f, "0000000000", TICKET(OTHER, "10"), TICKET(UUID, "05"), "_c_00000000-lock-0000000006");
    assert_int_equal(f->lock.state, TICKET_LOWEST);
    assert_true(asks_nothing(f));
}

static void test_waiter_watches_the_one_before_it(void **state)
{
    struct fixture *f = *state;

    create_ticket(f);
    ANSWER_NAMES(f, TICKET(OTHER, "01"), TICKET(UUID, "05"), "lock-0000000003", TICKET(OTHER, "09"));
    assert_int_equal(f->lock.state, TICKET_LOOKING);
    assert_true(asks(f, ZK_WATCH, FOLDER "/lock-0000000003"));
    answer(f, ZK_OK);
    assert_int_equal(f->lock.state, TICKET_WAITING);
    assert_true(asks_nothing(f));
    lock_on_change(&f->lock, FOLDER "/" TICKET(OTHER, "01")); /* not the one before us */
    lock_on_change(&f->lock, "/xxl-job/schedule_lock_33/lock-0000000003");
    assert_true(asks_nothing(f));
    lock_on_change(&f->lock, FOLDER "/lock-0000000003");
    assert_true(asks(f, ZK_LIST, FOLDER));
    ANSWER_NAMES(f, TICKET(UUID, "05"));
    assert_int_equal(f->lock.state, TICKET_LOWEST);
}

static void test_one_before_gone_while_it_is_looked_up(void **state)
{
    struct fixture *f = *state;

    create_ticket(f);
    ANSWER_NAMES(f, TICKET(OTHER, "04"), TICKET(UUID, "05"));
    assert_true(asks(f, ZK_WATCH, FOLDER "/" TICKET(OTHER, "04")));
    answer(f, ZK_NO_NODE);
    assert_true(asks(f, ZK_LIST, FOLDER));
    ANSWER_NAMES(f, TICKET(OTHER, "02"), TICKET(UUID, "05"));
    assert_true(asks(f, ZK_WATCH, FOLDER "/" TICKET(OTHER, "02")));
    lock_on_change(&f->lock, FOLDER "/" TICKET(OTHER, "02")); /* overtakes nothing: the answer is on its way */
    answer(f, ZK_OK);
    assert_int_equal(f->lock.state, TICKET_LOOKING);
    assert_true(asks(f, ZK_LIST, FOLDER));
}

static void test_lost_create_that_happened_is_found(void **state)
{
    struct fixture *f = *state;

    assert_true(asks(f, ZK_CREATE_QUEUED, FOLDER "/_c_" UUID "-lock-"));
    answer(f, ZK_LOST);
    assert_int_equal(f->lock.state, TICKET_UNSURE);
    assert_true(asks(f, ZK_LIST_SYNCED, FOLDER));
    answer(f, ZK_LOST);
    assert_true(asks(f, ZK_LIST_SYNCED, FOLDER));
    ANSWER_NAMES(f, TICKET(OTHER, "06"), TICKET(UUID, "05"));
    assert_int_equal(f->lock.state, TICKET_LOWEST);
    assert_string_equal(f->lock.name, TICKET(UUID, "05"));
}

static void test_lost_create_that_did_not_happen_is_repeated(void **state)
{
    struct fixture *f = *state;

    assert_true(asks(f, ZK_CREATE_QUEUED, FOLDER "/_c_" UUID "-lock-"));
    answer(f, ZK_LOST);
    assert_true(asks(f, ZK_LIST_SYNCED, FOLDER));
    ANSWER_NAMES(f, TICKET(OTHER, "06"));
    assert_true(asks(f, ZK_CREATE_QUEUED, FOLDER "/_c_" UUID "-lock-"));
}

static void test_lost_create_that_is_not_wanted_any_more(void **state)
{
    struct fixture *f = *state;

    assert_true(asks(f, ZK_CREATE_QUEUED, FOLDER "/_c_" UUID "-lock-"));
    answer(f, ZK_LOST);
    f->lock.want = false;
    lock_drop(&f->lock);
    assert_true(asks(f, ZK_LIST_SYNCED, FOLDER));
    ANSWER_NAMES(f, TICKET(UUID, "05"));
    assert_true(asks(f, ZK_DELETE, FOLDER "/" TICKET(UUID, "05")));
    answer(f, ZK_OK);
    assert_int_equal(f->lock.state, TICKET_NONE);
    assert_true(asks_nothing(f));
}

static void test_lost_delete_is_repeated_until_it_is_gone(void **state)
{
    struct fixture *f = *state;

    get_lowest(f);
    lock_drop(&f->lock);
    assert_true(asks(f, ZK_DELETE, FOLDER "/" TICKET(UUID, "05")));
    answer(f, ZK_LOST);
    assert_int_equal(f->lock.state, TICKET_DELETING);
    assert_true(asks(f, ZK_DELETE, FOLDER "/" TICKET(UUID, "05")));
    assert_true(asks_nothing(f)); /* one request at a time */
    answer(f, ZK_NO_NODE);
    assert_int_equal(f->lock.state, TICKET_NONE);
    assert_true(asks(f, ZK_CREATE_QUEUED, FOLDER "/_c_" UUID "-lock-")); /* still wanted: at the tail */
}

static void test_second_ticket_of_ours_is_deleted(void **state)
{
    struct fixture *f = *state;

    create_ticket(f);
    ANSWER_NAMES(f, TICKET(UUID, "02"), TICKET(UUID, "05"));
    assert_true(asks(f, ZK_DELETE, FOLDER "/" TICKET(UUID, "02")));
    answer(f, ZK_OK);
    assert_true(asks(f, ZK_LIST, FOLDER));
    ANSWER_NAMES(f, TICKET(UUID, "05"));
    assert_int_equal(f->lock.state, TICKET_LOWEST);
}

static void test_of_two_found_the_lower_is_kept(void **state)
{
    struct fixture *f = *state;

    assert_true(asks(f, ZK_CREATE_QUEUED, FOLDER "/_c_" UUID "-lock-"));
    answer(f, ZK_LOST);
    assert_true(asks(f, ZK_LIST_SYNCED, FOLDER));
    ANSWER_NAMES(f, TICKET(UUID, "07"), TICKET(UUID, "05"), TICKET(OTHER, "06"));
    assert_string_equal(f->lock.name, TICKET(UUID, "05"));
    assert_int_equal(f->lock.state, TICKET_LOWEST);
    assert_true(asks(f, ZK_DELETE, FOLDER "/" TICKET(UUID, "07")));
}

static void test_missing_folder_is_reported(void **state)
{
    struct fixture *f = *state;

    assert_true(asks(f, ZK_CREATE_QUEUED, FOLDER "/_c_" UUID "-lock-"));
    answer(f, ZK_NO_NODE);
    assert_true(f->lock.no_folder);
    assert_int_equal(f->lock.state, TICKET_NONE);
    assert_true(asks_nothing(f)); /* at once it would be missing again, should nobody be able to make it */
    f->now_ms += LOCK_RETRY_MS;
    assert_true(asks(f, ZK_CREATE_QUEUED, FOLDER "/_c_" UUID "-lock-"));
}

static void test_refusal_is_repeated_later(void **state)
{
    struct fixture *f = *state;

    assert_true(asks(f, ZK_CREATE_QUEUED, FOLDER "/_c_" UUID "-lock-"));
    answer(f, ZK_REFUSED);
    assert_true(asks_nothing(f));
    f->now_ms += LOCK_RETRY_MS;
    assert_true(asks(f, ZK_CREATE_QUEUED, FOLDER "/_c_" UUID "-lock-"));
}

static void test_request_that_could_not_be_sent_is_repeated(void **state)
{
    struct fixture *f = *state;

    f->asked.refuse = true;
    assert_true(asks_nothing(f));
    assert_int_equal(f->lock.state, TICKET_NONE);
    f->asked.refuse = false;
    create_ticket(f);
}

static void test_ticket_that_vanished_is_made_anew(void **state)
{
    struct fixture *f = *state;

    get_lowest(f);
    f->now_ms += LOCK_CHECK_MS;
    assert_true(asks(f, ZK_LIST, FOLDER));
    ANSWER_NAMES(f, TICKET(OTHER, "06"));
    assert_int_equal(f->lock.state, TICKET_NONE);
    assert_true(asks(f, ZK_CREATE_QUEUED, FOLDER "/_c_" UUID "-lock-"));
}

static void test_answers_of_an_ended_session_count_for_nothing(void **state)
{
    struct fixture *f = *state;

    assert_true(asks(f, ZK_CREATE_QUEUED, FOLDER "/_c_" UUID "-lock-"));
    lock_reset(&f->lock, OTHER);
    answer_created(f, TICKET(UUID, "05"));
    assert_int_equal(f->lock.state, TICKET_NONE);
    assert_true(asks(f, ZK_CREATE_QUEUED, FOLDER "/_c_" OTHER "-lock-"));
}

static void test_waiter_that_is_not_wanted_leaves_the_queue(void **state)
{
    struct fixture *f = *state;

    create_ticket(f);
    ANSWER_NAMES(f, TICKET(OTHER, "04"), TICKET(UUID, "05"));
    assert_true(asks(f, ZK_WATCH, FOLDER "/" TICKET(OTHER, "04")));
    answer(f, ZK_OK);
    f->lock.want = false;
    assert_true(asks(f, ZK_DELETE, FOLDER "/" TICKET(UUID, "05")));
    answer(f, ZK_OK);
    assert_int_equal(f->lock.state, TICKET_NONE);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_numbers_of_names),
        T(test_lowest_holds_and_order_is_by_number),
        T(test_waiter_watches_the_one_before_it),
        T(test_one_before_gone_while_it_is_looked_up),
        T(test_lost_create_that_happened_is_found),
        T(test_lost_create_that_did_not_happen_is_repeated),
        T(test_lost_create_that_is_not_wanted_any_more),
        T(test_lost_delete_is_repeated_until_it_is_gone),
        T(test_second_ticket_of_ours_is_deleted),
        T(test_of_two_found_the_lower_is_kept),
        T(test_missing_folder_is_reported),
        T(test_refusal_is_repeated_later),
        T(test_request_that_could_not_be_sent_is_repeated),
        T(test_ticket_that_vanished_is_made_anew),
        T(test_answers_of_an_ended_session_count_for_nothing),
        T(test_waiter_that_is_not_wanted_leaves_the_queue),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
