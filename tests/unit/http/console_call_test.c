/* SPDX-License-Identifier: MIT */
/* The way of a call through the consoles: who is refused how in which dialect, and what the envelopes look like. */
#include "http/console_send.h"

static void expect_header(const char *line)
{
    if (!answer.headers.data || !strstr(answer.headers.data, line))
        fail_msg("%s is not in %s", line, answer.headers.data);
}

static int set_up(void **state)
{
    static char context[] = "/ctx";
    static struct admin *admin = (struct admin *)1;

    (void)state;
    h = (struct http){.context = context, .generation = DIALECT_C, .opts = {.admin = admin, .lang = LANG_EN}};
    cookie = accept = origin = who = NULL;
    content_type = "application/x-www-form-urlencoded; charset=GBK";
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    response_fini(&answer);
    answer = (struct http_response){0};
    return 0;
}

/* ---- who may not ------------------------------------------------------------------------------------------------- */

static void strangers_are_refused_as_by_each_dialect(void **state)
{
    (void)state;
    cookie = ADMIN;
    assert_string_equal(console_send("POST", "/xxl-job-admin/user", "", ""), "");
    assert_int_equal(answer.status, 302);
    expect_header("Location: /xxl-job-admin/toLogin\r\n");
    console_send("GET", "/nothing", "", ""); /* in A whatever is wrong with the request */
    assert_int_equal(answer.status, 302);
    expect_header("Location: /toLogin\r\n");
    cookie = SSO;
    console_send("GET", "/ctx/user", "", "");
    assert_int_equal(answer.status, 302);
    expect_header("Location: /ctx/auth/login\r\n");
    console_send("GET", "/nothing", "", "");
    assert_int_equal(answer.status, 404);
}

static void roles_are_refused_as_by_each_dialect(void **state)
{
    (void)state;
    who = "user";
    cookie = ADMIN;
    assert_non_null(strstr(console_send("GET", "/user", "", ""), "<p>Permission limit</p>"));
    assert_int_equal(answer.status, 200);
    cookie = SSO;
    assert_non_null(strstr(console_send("GET", "/user", "", ""), "does not have role:ADMIN"));
    assert_int_equal(answer.status, 200);
}

static void a_database_that_is_away_is_no_expired_session(void **state)
{
    (void)state;
    who = "?";
    assert_non_null(strstr(console_send("GET", "/user", "", ""), "the database is unavailable"));
    assert_int_equal(answer.status, 200);
}

/* ---- pages ------------------------------------------------------------------------------------------------------- */

static void pages_send_on_with_their_query(void **state)
{
    (void)state;
    static const struct {
        const char *path, *query, *location;
    } cases[] = {
        {"/jobinfo", "", "/jobs"},
        {"/jobinfo", "jobGroup=3&x=%41", "/jobs?jobGroup=3&x=%41"},
        {"/xxl-job-admin/joblog/", "jobId=5", "/xxl-job-admin/runs?jobId=5"},
        {"/joblog/logDetailPage", "id=12345678901", "/runs/12345678901"},
        {"/jobcode", "jobId=+7", "/jobs/7/glue"},
        {"/jobgroup", "", "/executors"},
        {"/jobgroup;jsessionid=F00", "", "/executors"},
        {"/user", "", "/users"},
        {"/dashboard", "", "/"},
    };
    who = "admin";
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char line[200] = "Location: ";
        console_send("GET", cases[i].path, cases[i].query, "");
        assert_int_equal(answer.status, 302);
        expect_header(strcat(strcat(line, cases[i].location), "\r\n"));
    }
    console_send("GET", "/jobcode", "jobId=x", "");
    assert_int_equal(answer.status, 400);
    assert_non_null(strstr(answer.body.data, "jobId"));
    console_send("GET", "/toLogin", "", "");
    assert_int_equal(answer.status, 303);
    expect_header("Location: /\r\n");
    who = NULL;
    accept = "text/html"; /* browsers: relative to where they are */
    console_send("POST", "/auth/login", "", "");
    assert_int_equal(answer.status, 302);
    expect_header("Location: ../login\r\n");
    console_send("GET", "/", "", "");
    assert_int_equal(answer.status, 302);
    expect_header("Location: ./auth/login\r\n");
    console_send("GET", "/xxl-job-admin", "", "");
    expect_header("Location: ./xxl-job-admin/auth/login\r\n");
    console_send("GET", "/xxl-job-admin/joblog/logDetailPage", "id=7", "");
    expect_header("Location: ../auth/login\r\n");
    console_send("GET", "/ctx/toLogin", "", "");
    expect_header("Location: ./login\r\n");
    accept = "*/*"; /* follows redirects, and must come to an end */
    console_send("GET", "/toLogin", "", "");
    assert_int_equal(answer.status, 200);
}

static void our_own_pages_are_for_anybody(void **state)
{
    (void)state;
    static const char *const paths[] = {"/ctx/jobs", "/jobs/7/glue", "/runs/7", "/executors"};

    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        assert_non_null(strstr(console_send("GET", paths[i], "", ""), "/openapi.json"));
        assert_int_equal(answer.status, 200);
    }
    h.opts.admin = NULL; /* as on a node without a console */
    console_send("GET", "/jobinfo", "", "");
    assert_int_equal(answer.status, 404);
}

/* The work is done, and the client does not want to know; a stranger gets what he always gets. */
static void what_is_not_accepted(void **state)
{
    (void)state;
    accept = "text/html, application/xml;q=0.9";
    assert_non_null(strstr(console_send("GET", "/chartInfo", "", ""), "not login for path:/chartInfo"));
    assert_int_equal(answer.status, 200);
    cookie = SSO;
    who = "admin";
    console_send("GET", "/joblog/logDetailPage", "id=1", ""); /* a page */
    assert_int_equal(answer.status, 302);
    console_send("GET", "/login", "", "");
    assert_int_equal(answer.status, 200);
    assert_non_null(strstr(console_send("GET", "/nosuch", "", ""), "<p>there is no such page</p>"));
    assert_int_equal(answer.status, 404);
    accept = "*/*";
    console_send("GET", "/login", "", "");
    assert_int_equal(answer.status, 405);
    assert_non_null(strstr(console_send("GET", "/nosuch", "", ""), "no such page"));
    assert_null(strstr(console_send("GET", "/nosuch", "", ""), "\"code\"")); /* by which clients tell it */
    cookie = ADMIN;
    assert_non_null(strstr(console_send("GET", "/nosuch", "", ""), "\"status\":404"));
}

static void methods_and_preflights(void **state)
{
    (void)state;
    who = "admin";
    console_send("OPTIONS", "/jobinfo", "", "");
    assert_int_equal(answer.status, 200);
    expect_header("Allow: GET, HEAD, POST");
    origin = "https://elsewhere.example";
    console_send("OPTIONS", "/jobinfo", "", "");
    assert_int_equal(answer.status, 200);
    cookie = ADMIN;
    console_send("OPTIONS", "/jobinfo", "", "");
    assert_int_equal(answer.status, 403);
    origin = who = NULL;
    console_send("OPTIONS", "/jobinfo", "", ""); /* a stranger in A */
    assert_int_equal(answer.status, 302);
    expect_header("Allow: GET");
    expect_header("Location: /toLogin");
    console_send("OPTIONS", "/login", "", "");
    assert_int_equal(answer.status, 200);
    expect_header("Allow: POST");
    who = "admin";
    console_send("PATCH", "/jobinfo", "", "");
    assert_int_equal(answer.status, 302);
}

static void bad_texts_are_refused_by_name(void **state)
{
    (void)state;
    who = "admin";
    assert_non_null(strstr(console_send("POST", "/jobinfo", "", "a=1&jobDesc=%ff"), "jobDesc"));
    assert_int_equal(answer.status, 400);
}

/* ---- envelopes --------------------------------------------------------------------------------------------------- */

static struct console_call call;
static struct route_call route;

static void begin(enum dialect dialect)
{
    static const struct console_endpoint endpoint = {.kind = CONSOLE_CALL};

    response_fini(&answer);
    answer = (struct http_response){0};
    route.h = &h;
    call = (struct console_call){
        .route = &route, .r = &answer, .endpoint = &endpoint, .dialect = dialect, .lang = h.opts.lang};
}

static void expect(const char *type, const char *body)
{
    assert_string_equal(answer.body.data, body);
    assert_string_equal(answer.content_type, type);
    assert_int_equal(answer.status, 200);
}

#define PLAIN "application/json"
#define HARD "application/json;charset=UTF-8"

static void success(void **state)
{
    (void)state;
    static const char *const empty[] = {
        [DIALECT_A] = "{\"code\":200,\"msg\":null,\"content\":null}",
        [DIALECT_B] = "{\"code\":200,\"msg\":\"Success\",\"content\":null,\"success\":true}",
        [DIALECT_C] = "{\"code\":200,\"msg\":\"Success\",\"data\":null,\"success\":true}",
        [DIALECT_D] = "{\"code\":200,\"msg\":\"Success\",\"data\":null,\"success\":true}",
    };
    for (unsigned d = DIALECT_A; d <= DIALECT_D; d <<= 1) {
        begin((enum dialect)d);
        console_succeed(&call);
        expect(PLAIN, empty[d]);
    }
    begin(DIALECT_D);
    console_begin_success(&call);
    console_put_text(&call, &answer.body, "7");
    console_end_success(&call);
    expect(PLAIN, "{\"code\":200,\"msg\":\"Success\",\"data\":\"7\",\"success\":true}");
}

static void lists(void **state)
{
    (void)state;
    for (unsigned d = DIALECT_A; d <= DIALECT_D; d <<= 1) {
        begin((enum dialect)d);
        console_begin_list(&call, 12, /*is_estimate=*/d == DIALECT_B);
        buf_puts(&answer.body, "{},{}");
        console_end_list(&call, 12);
        expect(PLAIN, d & DIALECTS_AB ? "{\"recordsFiltered\":12,\"data\":[{},{}],\"recordsTotal\":12}"
                                      : "{\"code\":200,\"msg\":\"Success\",\"data\":{\"offset\":0,\"pagesize\":0,"
                                        "\"data\":[{},{}],\"total\":12},\"success\":true}");
        assert_int_equal(answer.headers.len > 0, d == DIALECT_B);
    }
}

static void failure(void **state)
{
    (void)state;
    static const char *const none[] = {
        [DIALECT_A] = "{\"code\":500,\"msg\":null,\"content\":null}",
        [DIALECT_B] = "{\"code\":500,\"msg\":\"Fail\",\"content\":null,\"success\":false}",
        [DIALECT_C] = "{\"code\":500,\"msg\":\"Fail\",\"data\":null,\"success\":false}",
        [DIALECT_D] = "{\"code\":500,\"msg\":\"Fail\",\"data\":null,\"success\":false}",
    };
    static const char *const hard[] = {
        [DIALECT_A] = "{\"code\":500,\"msg\":\"\\uD83D\\uDE00 <7>\",\"content\":null}",
        [DIALECT_B] = "{\"code\":203,\"msg\":\"\\uD83D\\uDE00 <7>\"}\n",
        [DIALECT_C] = "{\"code\":500,\"msg\":\"\xf0\x9f\x98\x80 <7>\"}\n",
        [DIALECT_D] = "{\"code\":500,\"msg\":\"\xf0\x9f\x98\x80 <7>\"}\n",
    };
    for (unsigned d = DIALECT_A; d <= DIALECT_D; d <<= 1) {
        begin((enum dialect)d);
        console_fail(&call, NULL);
        expect(PLAIN, none[d]);
        console_fail_hard(&call, "%s <%d>", "\xf0\x9f\x98\x80", 7);
        expect(HARD, hard[d]);
    }
    begin(DIALECT_B);
    console_fail_words(&call, SAY_PLEASE_INPUT, SAY_JOB_DESC, SAY_END);
    expect(PLAIN, "{\"code\":500,\"msg\":\"please input Job description\",\"content\":null,\"success\":false}");
}

static void dates(void **state)
{
    (void)state;
    static const struct {
        enum dialect dialect, generation;
        const char *member;
    } cases[] = {
        {DIALECT_A, DIALECT_D, "\"d\":\"2018-11-03T14:21:31.000+00:00\""},
        {DIALECT_B, DIALECT_C, "\"d\":\"2018-11-03T14:21:31.000+00:00\""},
        {DIALECT_C, DIALECT_B, "\"d\":\"2018-11-03T14:21:31.000Z\""},
        {DIALECT_C, DIALECT_C, "\"d\":\"2018-11-03 14:21:31\""},
        {DIALECT_D, DIALECT_A, "\"d\":\"2018-11-03 14:21:31\""},
    };
    struct errctx ec;
    struct zone *zone;

    assert_int_equal(zone_load("Asia/Shanghai", &zone, &ec), ERR_OK);
    h.opts.console_zone = zone;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        h.generation = cases[i].generation;
        begin(cases[i].dialect);
        console_put_date(&call, &answer.body, "d", 1541254891);
        assert_string_equal(answer.body.data, cases[i].member);
        buf_clear(&answer.body);
        console_put_date(&call, &answer.body, "d", -1);
        assert_string_equal(answer.body.data, "\"d\":null");
    }
    buf_clear(&answer.body); /* D: in the zone of the server, for runs */
    console_put_run_date(&call, &answer.body, "d", 1541254891);
    assert_string_equal(answer.body.data, "\"d\":\"2018-11-03 22:21:31\"");
    call.dialect = DIALECT_A;
    buf_clear(&answer.body);
    console_put_run_date(&call, &answer.body, "d", 1541254891);
    assert_string_equal(answer.body.data, "\"d\":\"2018-11-03T14:21:31.000+00:00\"");
    zone_destroy(zone);
}

/* ---- parameters -------------------------------------------------------------------------------------------------- */

static void give(const char *query)
{
    struct errctx ec;

    params_fini(&call.params);
    assert_int_equal(params_load(query, NULL, 0, NULL, 0, &call.params, &ec), ERR_OK);
}

static void numbers_are_refused_as_by_each_dialect(void **state)
{
    (void)state;
    int64_t out = 0;

    begin(DIALECT_A);
    give("a=5&b=x&c=");
    assert_true(console_take_int(&call, "a", &out));
    assert_int_equal(out, 5);
    assert_false(console_take_int(&call, "jobGroup", &out)); /* missing: code 500 in A, HTTP 400 else */
    expect(HARD, "{\"code\":500,\"msg\":\"parameter jobGroup is missing\",\"content\":null}");
    assert_false(console_take_int(&call, "b", &out));
    assert_int_equal(answer.status, 400);
    assert_false(console_take_int(&call, "c", &out));
    assert_int_equal(answer.status, 400);
    call.dialect = DIALECT_C;
    assert_false(console_take_int(&call, "jobGroup", &out));
    assert_int_equal(answer.status, 400);
    assert_true(console_take_int_or(&call, "c", 10, &out));
    assert_int_equal(out, 10);
    assert_false(console_take_int_or(&call, "b", 10, &out));
    assert_true(console_take_field(&call, "jobGroup", &out));
    assert_int_equal(out, 0);
    assert_false(console_take_field(&call, "c", &out));
    params_fini(&call.params);
}

static void one_id_is_chosen(void **state)
{
    (void)state;
    int64_t out = 0, limit = 0;
    static const char *const refused[] = {"ids[]=", "ids[]=7,8", "ids[]=7&ids[]=7"};

    begin(DIALECT_C);
    give("ids[]=%207&id=9");
    assert_true(console_take_id(&call, &out));
    assert_int_equal(out, 7);
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        give(refused[i]);
        assert_false(console_take_id(&call, &out));
        expect(PLAIN, "{\"code\":500,\"msg\":\"please choose OneData\",\"data\":null,\"success\":false}");
    }
    give("id=7&ids=7");
    assert_false(console_take_id(&call, &out));
    assert_int_equal(answer.status, 400);
    give("ids[]=x");
    assert_false(console_take_id(&call, &out));
    assert_int_equal(answer.status, 400);
    params_fini(&call.params);
    begin(DIALECT_B);
    give("id=9&start=5&length=99999");
    assert_true(console_take_id(&call, &out));
    assert_int_equal(out, 9);
    assert_true(console_take_page(&call, &out, &limit));
    assert_int_equal(out, 5);
    assert_int_equal(limit, CONSOLE_ROWS_MAX);
    give("length=-1");
    assert_false(console_take_page(&call, &out, &limit));
    expect(HARD, "{\"code\":203,\"msg\":\"parameter length must not be negative\"}\n");
    params_fini(&call.params);
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

static void every_text_is_there_in_all_languages(void **state)
{
    (void)state;
    for (int lang = 0; lang < LANGS; lang++) {
        for (int say = SAY_END + 1; say < SAYS; say++) {
            for (unsigned d = DIALECT_A; d <= DIALECT_D; d <<= 1) {
                const char *text = say_get((enum lang)lang, (enum dialect)d, (enum say)say);
                if (!text || !*text)
                    fail_msg("text %d in language %d", say, lang);
            }
        }
    }
    assert_string_equal(say_get(LANG_ZH_CN, DIALECT_A, SAY_LENGTH_LIMIT), "长度限制");
    assert_string_equal(say_get(LANG_ZH_CN, DIALECT_D, SAY_LENGTH_LIMIT), "长度限制为");
    assert_string_equal(say_get(LANG_EN, DIALECT_D, SAY_LENGTH_LIMIT), "Length limit");
    assert_string_equal(say_get(LANG_EN, DIALECT_C, SAY_JOB_DESC), "Job description");
    assert_string_equal(say_get(LANG_EN, DIALECT_D, SAY_JOB_DESC), "Job name");
    assert_string_equal(say_get(LANG_ZH_TC, DIALECT_A, SAY_PLEASE_INPUT), "請輸入");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(strangers_are_refused_as_by_each_dialect),
        CASE(roles_are_refused_as_by_each_dialect),
        CASE(a_database_that_is_away_is_no_expired_session),
        CASE(pages_send_on_with_their_query),
        CASE(our_own_pages_are_for_anybody),
        CASE(what_is_not_accepted),
        CASE(methods_and_preflights),
        CASE(bad_texts_are_refused_by_name),
        CASE(success),
        CASE(lists),
        CASE(failure),
        CASE(dates),
        CASE(numbers_are_refused_as_by_each_dialect),
        CASE(one_id_is_chosen),
        CASE(every_text_is_there_in_all_languages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
