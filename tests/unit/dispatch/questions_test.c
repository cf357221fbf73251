/* SPDX-License-Identifier: MIT */
/* FAILOVER and BUSYOVER: executors are asked in the order of their list, and the first that says yes gets the fire. */
#include "test.h"

#include "dispatch/asking.h"
#include "dispatch/fixture.h"
#include "dispatch/questions.h"

#define NO "{\"code\":500,\"msg\":\"job thread is running\"}"
#define YES "{\"code\":200}"

/* Time that has passed while nobody answers, without waiting for it. */
static void pass_ms(int64_t ms)
{
    world_mono_offset_ms += ms;
}

static void the_first_that_says_yes_gets_the_fire(void **state)
{
    static const struct {
        const char *route, *path, *body;
    } cases[] = {{"FAILOVER", "POST /beat HTTP/1.1\r\n", "\r\nContent-Length: 0\r\n\r\n"},
                 {"BUSYOVER", "POST /idleBeat HTTP/1.1\r\n", "\r\n\r\n{\"jobId\":8}"}};
    static const struct {
        enum fake_manner manner;
        const char *body, *told; /* of the first address; NULL: it says yes */
    } answers[] = {
        {FAKE_ANSWER, YES, NULL},
        {FAKE_ANSWER, "{\"code\":\"200\",\"msg\":\"Success\"}", NULL},
        {FAKE_ANSWER, NO, "<br>code: 500<br>msg: job thread is running"},
        {FAKE_ANSWER, "{}", "<br>code: 500<br>msg: "}, /* no code is no yes */
        {FAKE_ANSWER, "{\"code\":0}", "<br>code: 500<br>msg: "},
        {FAKE_ANSWER, "{\"code\":201}", "<br>code: 201<br>msg: "},
        {FAKE_ANSWER, "[]", "<br>code: 500<br>msg: "},
        {FAKE_ANSWER, "", "<br>code: 500<br>msg: "},
        {FAKE_CLOSE, "", "<br>code: 500<br>msg: "},
        {FAKE_RAW, "no http", "<br>code: 500<br>msg: "},
    };
    struct fixture *f = *state;

    for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
        for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
            struct world *w = world_create(f->addresses, 2, (struct dispatch_opts){0});
            int takes = answers[i].told ? 1 : 0;
            long questions[2] = {fake_server_questions(f->server, 0), fake_server_questions(f->server, 1)};
            long arrived = f->server->arrived_by_port[takes];

            fake_server_set_questions(f->server, 0, answers[i].manner, answers[i].body);
            fake_server_set_questions(f->server, 1, FAKE_ANSWER, YES);
            world_submit(w, one_fire(w, cases[c].route));
            assert_true(world_wait_done(w));
            assert_int_equal(get_row(w, 1)->code, 200);
            assert_string_equal(get_row(w, 1)->address, f->urls[takes]);
            assert_int_equal(f->server->arrived_by_port[takes], arrived + 1);
            assert_int_equal(fake_server_questions(f->server, 0), questions[0] + 1);
            assert_int_equal(fake_server_questions(f->server, 1), questions[1] + takes);
            assert_non_null(strstr(f->server->questions[0].last, cases[c].path));
            assert_non_null(strstr(f->server->questions[0].last, cases[c].body));
            assert_non_null(strstr(f->server->questions[0].last, "\r\nXXL-JOB-APPNAME: app\r\n"));
            assert_non_null(strstr(f->server->questions[0].last, "\r\nXXL-JOB-ACCESS-TOKEN: secret\r\n"));
            if (answers[i].told)
                assert_ends(w, 1, 200, answers[i].told);
            else
                assert_null(strstr(get_row(w, 1)->message, "code:"));
            assert_int_equal(w->sent[0], 1);
            assert_int_equal(COUNT(w, QUESTIONS_YES), 1);
            assert_int_equal(COUNT(w, QUESTIONS_NO) + COUNT(w, QUESTIONS_SILENT), takes);
            world_destroy(w);
        }
    }
}

static void with_nobody_who_says_yes_the_row_tells_who_said_what(void **state)
{
    struct fixture *f = *state;
    struct world *w;
    const char *addresses[4] = {f->urls[0], "10.0.0.1:9999", "http://127.0.0.1:1/", f->urls[1]};

    w = world_create(addresses, 4, (struct dispatch_opts){0});
    fake_server_set_questions(f->server, 0, FAKE_ANSWER, NO);
    fake_server_set_questions(f->server, 1, FAKE_CLOSE, "");
    world_submit(w, one_fire(w, "BUSYOVER"));
    assert_true(world_wait_done(w));
    assert_ends(w, 1, 500, "reason: not sent: no executor has answered that the job is idle there<br><br>idle check");
    assert_ends(w, 1, 500,
                "<br>msg: job thread is running<br><br>idle check<br>address: 10.0.0.1:9999<br>code: 500<br>"
                "msg: the address is no http URL<br><br>idle check<br>address: http://127.0.0.1:1/<br>");
    assert_ends(w, 1, 500, "executor address: none");
    assert_null(get_row(w, 1)->address);
    assert_int_equal(fake_server_arrivals(f->server), 0);
    assert_int_equal(COUNT(w, FIRES_FAILED), 1);
    assert_int_equal(COUNT(w, QUESTIONS_NO), 1);
    assert_int_equal(COUNT(w, QUESTIONS_SILENT), 2);
    assert_int_equal(w->sent[0], 1);
    world_destroy(w);
}

/* The executor may be gone between its answer and the fire: that is not tried elsewhere. */
static void what_was_sent_after_a_yes_is_not_sent_again(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 2, (struct dispatch_opts){0});

    fake_server_set_questions(f->server, 0, FAKE_ANSWER, NO);
    fake_server_set_questions(f->server, 1, FAKE_ANSWER, YES);
    fake_server_set(f->server, FAKE_CLOSE, 0, "");
    world_submit(w, one_fire(w, "FAILOVER"));
    assert_true(world_wait_done(w));
    assert_ends(w, 1, 500, "the executor may have taken it<br><br>heartbeat"); /* and why it went there */
    assert_string_equal(get_row(w, 1)->address, f->urls[1]);
    assert_int_equal(fake_server_arrivals(f->server), 1);
    world_destroy(w);
}

/* One question serves all the fires that want to know the same; what nobody answers does, too. */
static void fires_share_a_heartbeat(void **state)
{
    enum { FIRES = 500 };
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 2, (struct dispatch_opts){0});
    struct fire *list = NULL;

    fake_server_set_questions(f->server, 0, FAKE_SILENT, "");
    for (int i = 0; i < FIRES; i++)
        list = world_list(list, one_fire(w, "FAILOVER"));
    world_submit(w, list);
    assert_true(WORLD_WAIT(fake_server_questions(f->server, 0) == 1));
    assert_true(WORLD_WAIT(COUNT(w, DISPATCH_QUEUED) == FIRES));
    fake_server_release(f->server);
    assert_true(world_wait_done(w));
    assert_int_equal(fake_server_questions(f->server, 0), 1);
    assert_int_equal(f->server->arrived_by_port[0], FIRES);
    assert_int_equal(world_sent_total(w), FIRES);
    world_destroy(w);
}

/* Whether a job is idle is asked for each; so many at once, the others in order. */
static void idle_checks_have_a_bound_at_each_address(void **state)
{
    enum { FIRES = 50, AT_ONCE = 4 };
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 1, (struct dispatch_opts){0});
    struct fire *list = NULL;

    fake_server_set_questions(f->server, 0, FAKE_SILENT, "");
    for (int i = 0; i < FIRES; i++)
        list = world_list(list, one_fire(w, "BUSYOVER"));
    world_submit(w, list);
    for (int i = 1; i * AT_ONCE <= FIRES; i++) {
        assert_true(WORLD_WAIT(fake_server_questions(f->server, 0) == i * AT_ONCE));
        fake_server_release(f->server);
    }
    assert_true(WORLD_WAIT(fake_server_questions(f->server, 0) == FIRES));
    fake_server_release(f->server);
    assert_true(world_wait_done(w));
    assert_int_equal(f->server->arrived_by_port[0], FIRES);
    world_destroy(w);
}

/* An address that is silent to questions holds up neither the fires of other jobs there, nor those of other
 * addresses. */
static void fires_that_ask_nobody_pass(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 2, (struct dispatch_opts){.per_address = 2});
    struct fire *list = NULL;

    fake_server_set_questions(f->server, 0, FAKE_SILENT, "");
    for (int i = 0; i < 20; i++)
        list = world_list(list, one_fire(w, i % 2 ? "FAILOVER" : "BUSYOVER"));
    world_submit(w, list);
    assert_true(WORLD_WAIT(fake_server_questions(f->server, 0) == 4));
    list = NULL;
    for (int i = 0; i < 100; i++)
        list = world_list(list, one_fire(w, i % 2 ? "FIRST" : "LAST"));
    world_submit(w, list);
    assert_true(WORLD_WAIT(fake_server_arrivals(f->server) == 100));
    assert_true(WORLD_WAIT(dispatch_count_open(w->dispatch) == 20));
    fake_server_set_questions(f->server, 0, FAKE_ANSWER, YES);
    fake_server_release(f->server);
    assert_true(world_wait_done(w));
    assert_int_equal(fake_server_arrivals(f->server), 120);
    world_destroy(w);
}

/* A silent address costs those that wait for it the time of one call, however many they are. */
static void a_silent_address_is_left_after_the_time_of_a_call(void **state)
{
    enum { FIRES = 40 };
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 2, (struct dispatch_opts){0});
    struct fire *list = NULL;

    fake_server_set_questions(f->server, 0, FAKE_SILENT, "");
    fake_server_set_questions(f->server, 1, FAKE_ANSWER, YES);
    for (int i = 0; i < FIRES; i++)
        list = world_list(list, one_fire(w, i % 2 ? "FAILOVER" : "BUSYOVER"));
    world_submit(w, list);
    assert_true(WORLD_WAIT(fake_server_questions(f->server, 0) == 4));
    pass_ms(3000);
    assert_true(WORLD_WAIT(COUNT(w, FIRES_DELIVERED) == FIRES));
    world_stop(w); /* the writer of results would wait for as long as time was passed */
    assert_int_equal(fake_server_questions(f->server, 0), 4); /* and no other round for those behind */
    assert_int_equal(f->server->arrived_by_port[1], FIRES);
    for (int i = 1; i <= FIRES; i++)
        assert_ends(w, i, 200, "<br>code: 500<br>msg: no answer ");
    world_destroy(w);
}

/* Those whose time has passed while they waited for their turn make room for those that came later. */
static void who_came_later_is_asked_all_the_same(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 1, (struct dispatch_opts){0});
    struct fire *list = NULL;

    fake_server_set_questions(f->server, 0, FAKE_SILENT, "");
    world_mono_frozen_ms = world_mono_ms(&w->clock);
    for (int i = 0; i < 6; i++)
        list = world_list(list, one_fire(w, "BUSYOVER"));
    world_submit(w, list);
    assert_true(WORLD_WAIT(fake_server_questions(f->server, 0) == 4));
    world_mono_frozen_ms += 2000;
    world_submit(w, world_list(one_fire(w, "BUSYOVER"), one_fire(w, "BUSYOVER")));
    assert_true(WORLD_WAIT(COUNT(w, DISPATCH_QUEUED) == 8));
    world_mono_frozen_ms += 1000;
    assert_true(WORLD_WAIT(fake_server_questions(f->server, 0) == 6));
    fake_server_release(f->server);
    assert_true(WORLD_WAIT(fake_server_arrivals(f->server) == 2));
    assert_true(WORLD_WAIT(COUNT(w, FIRES_DELIVERED) == 2 && COUNT(w, FIRES_FAILED) == 6));
    world_mono_frozen_ms = 0;
    world_stop(w);
    assert_int_equal(fake_server_questions(f->server, 0), 6);
    world_destroy(w);
}

/* All questions of a fire together have a bound, and so has each where none of them answers. */
static void asking_ends_with_its_time(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 2, (struct dispatch_opts){0});

    world_set_access(w, "secret", 60000);
    fake_server_set_questions(f->server, 0, FAKE_SILENT, "");
    fake_server_set_questions(f->server, 1, FAKE_SILENT, "");
    world_submit(w, one_fire(w, "FAILOVER"));
    assert_true(WORLD_WAIT(fake_server_questions(f->server, 0) == 1));
    pass_ms(7800);
    assert_true(WORLD_WAIT(COUNT(w, FIRES_FAILED) == 1));
    world_stop(w);
    assert_ends(w, 1, 500, "no answer");
    assert_ends(w, 1, 500, "not asked: the time for asking is over");
    assert_int_equal(fake_server_questions(f->server, 1), 0);
    assert_int_equal(fake_server_arrivals(f->server), 0);
    world_destroy(w);
}

/* Who came later to a question that is asked already may have less time. */
static void each_waits_for_its_own_time(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 2, (struct dispatch_opts){0});

    world_set_access(w, "secret", 60000);
    fake_server_set_questions(f->server, 0, FAKE_SILENT, "");
    world_submit(w, one_fire(w, "FAILOVER"));
    assert_true(WORLD_WAIT(fake_server_questions(f->server, 0) == 1));
    world_set_access(w, "secret", 3000);
    world_submit(w, one_fire(w, "FAILOVER"));
    assert_true(WORLD_WAIT(COUNT(w, DISPATCH_QUEUED) == 2));
    pass_ms(3000);
    assert_true(WORLD_WAIT(COUNT(w, FIRES_DELIVERED) == 1));
    fake_server_release(f->server);
    assert_true(WORLD_WAIT(COUNT(w, FIRES_DELIVERED) == 2));
    world_stop(w);
    assert_ends(w, 2, 200, "<br>msg: no answer in time");
    assert_string_equal(get_row(w, 2)->address, f->urls[1]);
    assert_string_equal(get_row(w, 1)->address, f->urls[0]);
    world_destroy(w);
}

static void what_is_asked_ends_at_its_deadline(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 2, (struct dispatch_opts){0});

    fake_server_set_questions(f->server, 0, FAKE_SILENT, "");
    world_mono_frozen_ms = world_mono_ms(&w->clock); /* no question is over by its own time */
    world_submit(w, one_fire(w, "BUSYOVER"));
    assert_true(WORLD_WAIT(fake_server_questions(f->server, 0) == 1));
    world_boot_offset_ms = 20001;
    world_mono_frozen_ms += 250; /* a sweep */
    assert_true(WORLD_WAIT(COUNT(w, FIRES_TOO_LATE) == 1));
    world_mono_frozen_ms = 0;
    assert_true(world_wait_done(w));
    assert_ends(w, 1, 500, "not sent: too late");
    world_destroy(w);
}

static void nothing_is_sent_after_the_deadline_whoever_says_yes(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 2, (struct dispatch_opts){0});

    world_set_access(w, "secret", 60000);
    fake_server_set_questions(f->server, 0, FAKE_SILENT, "");
    world_submit(w, one_fire(w, "FAILOVER"));
    assert_true(WORLD_WAIT(fake_server_questions(f->server, 0) == 1));
    world_boot_offset_ms = 20001;
    fake_server_release(f->server);
    assert_true(world_wait_done(w));
    assert_ends(w, 1, 500, "not sent: too late");
    assert_int_equal(fake_server_arrivals(f->server), 0);
    assert_int_equal(COUNT(w, FIRES_TOO_LATE), 1);
    world_destroy(w);
}

/* Asked at its second and not before: a run that ends until then counts. */
static void nobody_is_asked_before_the_second(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 2, (struct dispatch_opts){.threads = 1});
    int64_t due_s = world_now_s(w) + 1000;

    world_submit(w, world_fire(w, world_job(8, "BUSYOVER"), due_s));
    world_submit(w, one_fire(w, "FIRST")); /* behind it in the same loop */
    assert_true(WORLD_WAIT(fake_server_arrivals(f->server) == 1));
    assert_true(WORLD_WAIT(COUNT(w, DISPATCH_QUEUED) == 1));
    assert_int_equal(fake_server_questions(f->server, 0), 0);
    world_wall_offset_us += due_s * 1000000 - clock_wall_us(&w->clock) + 1000;
    world_submit(w, one_fire(w, "FIRST"));
    assert_true(world_wait_done(w));
    assert_int_equal(fake_server_questions(f->server, 0), 1);
    assert_int_equal(fake_server_arrivals(f->server), 3);
    world_destroy(w);
}

static void a_stop_ends_what_is_being_asked(void **state)
{
    for (int how = 0; how < 2; how++) {
        struct fixture *f = *state;
        struct world *w = world_create(f->addresses, 2, (struct dispatch_opts){0});
        struct fire *list = NULL;
        long asked = fake_server_questions(f->server, 0);

        fake_server_set_questions(f->server, 0, FAKE_SILENT, "");
        for (int i = 0; i < 20; i++)
            list = world_list(list, one_fire(w, i % 2 ? "FAILOVER" : "BUSYOVER"));
        list = world_list(list, world_fire(w, world_job(8, "FAILOVER"), world_now_s(w) + 1000));
        world_submit(w, list);
        assert_true(WORLD_WAIT(fake_server_questions(f->server, 0) == asked + 4));
        if (how == 0)
            assert_true(dispatch_drain(w->dispatch, clock_mono_ms(&w->clock) + WORLD_DEADLINE_MS));
        world_stop(w);
        for (int i = 1; i <= 21; i++)
            assert_ends(w, i, 500, "not sent: this node is stopping");
        assert_int_equal(fake_server_arrivals(f->server), 0);
        assert_int_equal(world_sent_total(w), 21);
        world_destroy(w);
    }
}

/* Addresses of several loops are asked one after the other, all the same. */
static void the_order_is_that_of_the_list_whatever_loops_there_are(void **state)
{
    enum { PORTS = 12 };
    struct fake_server *s = fake_server_start(PORTS);
    static char urls[PORTS][64];
    const char *addresses[PORTS];
    struct world *w;
    struct fire *list = NULL;
    size_t at = 0;

    (void)state;
    for (int i = 0; i < PORTS; i++) {
        fake_server_url(s, i, "/", urls[i]);
        addresses[i] = urls[i];
        fake_server_set_questions(s, i, FAKE_ANSWER, i == PORTS - 1 ? YES : NO);
    }
    w = world_create(addresses, PORTS, (struct dispatch_opts){.threads = 4});
    for (int i = 0; i < PORTS; i++)
        list = world_list(list, world_plan(one_fire(w, "ROUND"), urls[i]));
    world_submit(w, list);
    assert_true(world_wait_done(w));
    assert_int_equal(atomic_load(&s->connections), PORTS);
    list = one_fire(w, "BUSYOVER");
    list->log_id = 100;
    world_submit(w, list);
    assert_true(world_wait_done(w));
    assert_int_equal(atomic_load(&s->connections), PORTS); /* each was asked by the loop that sends its fires */
    assert_string_equal(get_row(w, 100)->address, urls[PORTS - 1]);
    for (int i = 0; i < PORTS - 1; i++) {
        const char *found = strstr(get_row(w, 100)->message + at, urls[i]);

        assert_non_null(found);
        at = (size_t)(found - get_row(w, 100)->message);
        assert_int_equal(fake_server_questions(s, i), 1);
    }
    world_destroy(w);
    fake_server_stop(s);
}

static int clock_reads;

static int64_t count_mono_ms(const struct clock *clock)
{
    (void)clock;
    if (++clock_reads > 100000)
        fail_msg("the turn does not end");
    return clock_mono_ms(clock_system());
}

static void count_answered(void *arg, struct delivery *d, bool yes)
{
    (void)d;
    *(int *)arg += yes;
}

/* That the node stops is seen by the loop at its next turn, by a write at once: what is refused then must not be begun
 * again within the turn. */
static void a_turn_ends_while_the_node_begins_to_stop(void **state)
{
    enum { ASKING = 6 };
    struct fixture *f = *state;
    struct counters counters = {0};
    struct clock clock = *clock_system();
    struct post_office office = {.clock = &clock, .counters = &counters};
    struct registry_group group = {.app_name = "app", .access_token = "", .addresses = f->addresses, .count = 1};
    struct executor_access access = {.token = (char *)"", .timeout_ms = 3000};
    struct batch batch = {.access = &access, .deadline_boot_ms = INT64_MAX};
    struct fire fire = {.job_id = 8};
    struct delivery deliveries[ASKING];
    struct delivery_list left = {0};
    struct http_client *http;
    struct lanes *lanes;
    struct questions *q;
    struct errctx ec;
    int answered = 0;

    clock.mono_ms = count_mono_ms;
    clock_reads = 0;
    fake_server_set_questions(f->server, 0, FAKE_SILENT, "");
    assert_int_equal(http_client_create(&clock, NULL, &http, &ec), ERR_OK);
    assert_int_equal(lanes_create(4, http, &lanes, &ec), ERR_OK);
    assert_int_equal(questions_create(&office, http, lanes, count_answered, &answered, &q, &ec), ERR_OK);
    for (int i = 0; i < ASKING; i++) {
        deliveries[i] =
            (struct delivery){.batch = &batch, .fire = &fire, .group = &group, .asking = asking_create(ROUTE_ASK_IDLE)};
        asking_get_next(deliveries[i].asking, &group, clock_mono_ms(&clock), 20000, 20000);
        assert_int_equal(questions_put(q, &deliveries[i], f->urls[0], route_hash_address(f->urls[0])), ERR_OK);
    }
    while (fake_server_questions(f->server, 0) < 4)
        http_client_turn(http, 1000);
    fake_server_set_questions(f->server, 0, FAKE_ANSWER, YES);
    atomic_store(&office.draining, true);
    fake_server_release(f->server);
    while (answered < 4)
        http_client_turn(http, 1000);
    questions_take_all(q, &left);
    assert_int_equal(left.count, ASKING - 4);
    assert_int_equal(fake_server_questions(f->server, 0), 4);
    for (int i = 0; i < ASKING; i++)
        asking_destroy(deliveries[i].asking);
    questions_destroy(q);
    lanes_destroy(lanes);
    http_client_destroy(http);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(the_first_that_says_yes_gets_the_fire),
        T(with_nobody_who_says_yes_the_row_tells_who_said_what),
        T(what_was_sent_after_a_yes_is_not_sent_again),
        T(fires_share_a_heartbeat),
        T(idle_checks_have_a_bound_at_each_address),
        T(fires_that_ask_nobody_pass),
        T(a_silent_address_is_left_after_the_time_of_a_call),
        T(who_came_later_is_asked_all_the_same),
        T(asking_ends_with_its_time),
        T(each_waits_for_its_own_time),
        T(what_is_asked_ends_at_its_deadline),
        T(nothing_is_sent_after_the_deadline_whoever_says_yes),
        T(nobody_is_asked_before_the_second),
        T(a_stop_ends_what_is_being_asked),
        T(a_turn_ends_while_the_node_begins_to_stop),
        T(the_order_is_that_of_the_list_whatever_loops_there_are),
    };

    return cmocka_run_group_tests_name("dispatch.questions", tests, NULL, NULL);
}
