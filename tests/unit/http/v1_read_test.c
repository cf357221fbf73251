/* SPDX-License-Identifier: MIT */
/* What a call of api/v1 brings, read and refused; problems, tags, cursors, instants. */
#include "http/v1/facts.h"
#include "http/v1/read.h"
#include "http/v1/write.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#define PATTERN V1_BELOW "/things/{id}/parts/{part}"

/* A call with its request, as v1_answer would make it. */
struct asked_for {
    const char *type, *if_match, *if_none_match;
    struct http_request q;
    struct v1_route route;
    struct route_call call;
    struct http_response r;
    struct v1_call c;
};

static const char *get_header(const void *connection, const char *name)
{
    const struct asked_for *a = connection;

    return !strcmp(name, "Content-Type")    ? a->type
           : !strcmp(name, "If-Match")      ? a->if_match
           : !strcmp(name, "If-None-Match") ? a->if_none_match
                                            : NULL;
}

static void begin(struct asked_for *a, const char *query, const char *body)
{
    const char *type = a->type, *if_match = a->if_match, *if_none_match = a->if_none_match;

    *a = (struct asked_for){.type = type, .if_match = if_match, .if_none_match = if_none_match};
    a->q = (struct http_request){.query = query, .body = body, .body_len = strlen(body), .get_header = get_header};
    a->q.connection = a;
    a->route.route = (struct route){.methods = ROUTE_POST, .pattern = PATTERN};
    a->route.body = V1_MAY_BODY;
    a->call = (struct route_call){.q = &a->q, .route = &a->route.route, .param = {"7", "x"}, .path = a->call.clean};
    a->c = (struct v1_call){.call = &a->call, .route = &a->route, .r = &a->r};
    a->c.body.c = &a->c;
    struct errctx ec;
    assert_int_equal(form_parse(a->q.query, strlen(a->q.query), &a->c.query, &ec), ERR_OK);
}

static void end(struct asked_for *a)
{
    form_fini(&a->c.query);
    v1_forget(&a->c);
    response_fini(&a->r);
}

/* A call whose body is JSON. */
static struct v1_object *begin_body(struct asked_for *a, const char *body)
{
    struct errctx ec;
    int status;

    a->type = "application/json; charset=utf-8";
    begin(a, "", body);
    if (v1_read_body(&a->c, &status, &ec))
        fail_msg("%s: %s", body, ec.text);
    return &a->c.body;
}

/* The call ends with a refusal of that kind and field, and with words in its text. */
static void expect_refused(struct asked_for *a, enum refusal_kind kind, const char *field, const char *words)
{
    assert_true(v1_is_refused(&a->c));
    assert_string_equal(a->r.content_type, "application/problem+json");
    assert_string_equal(refusal_name(a->c.why.kind), refusal_name(kind));
    if (field)
        assert_string_equal(a->c.why.field ? a->c.why.field : "none", field);
    if (!strstr(a->c.why.text.text, words))
        fail_msg("\"%s\" is not in \"%s\"", words, a->c.why.text.text);
    end(a);
}

static void expect_good(struct asked_for *a)
{
    if (v1_is_refused(&a->c))
        fail_msg("%s", a->c.why.text.text);
    end(a);
}

/* ---- bodies ------------------------------------------------------------------------------------------------------ */

/* With what status a body is refused; 0: it is not. */
static int read_body(const char *type, const char *body, enum v1_body wanted)
{
    struct asked_for a = {.type = type};
    struct errctx ec;
    int status;

    begin(&a, "", body);
    a.route.body = wanted;
    if (!v1_read_body(&a.c, &status, &ec))
        status = 0;
    end(&a);
    return status;
}

static void bodies_are_strict_json(void **state)
{
    (void)state;
    static const struct {
        const char *type, *body;
        int status;
    } cases[] = {
        {"application/json", "{\"a\":[1,-0.5e+3,true,false,null,\"\\u00e4\\ud83d\\ude00\",{}]}", 0},
        {"Application/JSON;charset=UTF-8", "{}", 0},
        {"application/merge-patch+json", "{}", 0},
        {"application/jsonp", "{}", 415},
        {"text/plain", "{}", 415},
        {NULL, "{}", 415},
        {"application/json", "[]", 400},
        {"application/json", "7", 400},
        {"application/json", "{", 400},
        {"application/json", "{'a':1}", 400},
        {"application/json", "{\"a\":'1'}", 400},
        {"application/json", "{\"a\":1,}", 400},
        {"application/json", "{\"a\":[1,]}", 400},
        {"application/json", "{\"a\":TRUE}", 400},
        {"application/json", "{\"a\":NaN}", 400},
        {"application/json", "{\"a\":-Infinity}", 400},
        {"application/json", "{\"a\":01}", 400},
        {"application/json", "{\"a\":1.}", 400},
        {"application/json", "{\"a\":\"line\nend\"}", 400},
        {"application/json", "{\"a\":\"\\ud83d\"}", 400},
        {"application/json", "{\"a\":\"\\ude00\"}", 400},
        {"application/json", "{\"a\":\"\\ud83d\\u0041\"}", 400},
        {"application/json", "{\"a\":\"\xff\"}", 400},
        {"application/json", "\xef\xbb\xbf{}", 400},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int status = read_body(cases[i].type, cases[i].body, V1_JSON_BODY);
        if (status != cases[i].status)
            fail_msg("%s: %d", cases[i].body, status);
    }
}

static void an_empty_body_may_be_missing(void **state)
{
    (void)state;
    assert_int_equal(read_body(NULL, "", V1_JSON_BODY), 400);
    assert_int_equal(read_body(NULL, "", V1_MAY_BODY), 0);
    assert_int_equal(read_body("application/x-www-form-urlencoded", "", V1_NO_BODY), 0);
}

static void a_large_body_is_413(void **state)
{
    (void)state;
    struct asked_for a = {.type = "application/json"};
    struct errctx ec;
    int status;

    begin(&a, "", "{\"a\":1}");
    a.route.max_body = 6;
    assert_int_equal(v1_read_body(&a.c, &status, &ec), ERR_INPUT);
    assert_int_equal(status, 413);
    end(&a);
    begin(&a, "", "");
    a.q.body_state = BODY_TOO_LARGE;
    assert_int_equal(v1_read_body(&a.c, &status, &ec), ERR_INPUT);
    assert_int_equal(status, 413);
    end(&a);
}

/* ---- members ----------------------------------------------------------------------------------------------------- */

static void members_have_types(void **state)
{
    (void)state;
    static const char *const colours[] = {"red", "green", NULL};
    struct asked_for a = {0};
    struct v1_object *o =
        begin_body(&a, "{\"t\":\"\\u00e4b\",\"i\":-3,\"r\":7.0,\"b\":true,\"w\":\"2026-11-22T17:00:00+01:00\","
                       "\"c\":\"green\",\"l\":[1,2],\"s\":[\"x\",\"y\"],\"o\":{\"n\":1},\"z\":null}");

    assert_string_equal(v1_text(o, "t", 2), "äb");
    assert_int_equal(v1_int(o, "i", -3, 3, 0), -3);
    assert_int_equal(v1_int(o, "r", 0, 9, 0), 7);
    assert_true(v1_bool(o, "b", false));
    assert_int_equal(v1_instant(o, "w", 0), 1795363200000);
    assert_int_equal(v1_choice(o, "c", colours, -1), 1);
    struct v1_ints l = v1_int_list(o, "l", 1, 2, 2);
    assert_int_equal(l.count, 2);
    assert_int_equal(l.v[1], 2);
    struct v1_texts s = v1_text_list(o, "s", 2, 1);
    assert_int_equal(s.count, 2);
    assert_string_equal(s.v[1], "y");
    struct v1_object inner = v1_object(o, "o");
    assert_int_equal(v1_int(&inner, "n", 0, 9, 0), 1);
    v1_end(&inner);
    assert_true(v1_take_null(o, "z"));
    assert_null(v1_text(o, "absent", 9));
    assert_int_equal(v1_int(o, "absent", 0, 9, 5), 5);
    assert_false(v1_has(o, "absent"));
    expect_good(&a);
}

static void members_are_refused_by_name(void **state)
{
    (void)state;
    static const char *const colours[] = {"red", "green", NULL};
    struct asked_for a = {0};

    v1_text(begin_body(&a, "{\"m\":7}"), "m", 9);
    expect_refused(&a, REFUSED_INVALID, "m", "m must be a text");
    v1_text(begin_body(&a, "{\"m\":null}"), "m", 9);
    expect_refused(&a, REFUSED_INVALID, "m", "m must be a text");
    v1_text(begin_body(&a, "{\"m\":\"\\u0000\"}"), "m", 9);
    expect_refused(&a, REFUSED_INVALID, "m", "without NUL");
    v1_text(begin_body(&a, "{\"m\":\"äöü\"}"), "m", 2);
    expect_refused(&a, REFUSED_LENGTH, "m", "more than 2 characters");
    v1_int(begin_body(&a, "{\"m\":\"7\"}"), "m", 0, 9, 0);
    expect_refused(&a, REFUSED_INVALID, "m", "from 0 to 9");
    v1_int(begin_body(&a, "{\"m\":10}"), "m", 0, 9, 0);
    expect_refused(&a, REFUSED_INVALID, "m", "from 0 to 9");
    v1_int(begin_body(&a, "{\"m\":1.5}"), "m", 0, 9, 0);
    expect_refused(&a, REFUSED_INVALID, "m", "from 0 to 9");
    v1_bool(begin_body(&a, "{\"m\":\"true\"}"), "m", false);
    expect_refused(&a, REFUSED_INVALID, "m", "true or false");
    v1_instant(begin_body(&a, "{\"m\":\"yesterday\"}"), "m", 0);
    expect_refused(&a, REFUSED_INVALID, "m", "an instant");
    v1_choice(begin_body(&a, "{\"m\":\"blue\"}"), "m", colours, 0);
    expect_refused(&a, REFUSED_INVALID, "m", "one of red, green");
    v1_int_list(begin_body(&a, "{\"m\":[1,\"2\"]}"), "m", 0, 9, 9);
    expect_refused(&a, REFUSED_INVALID, "m", "from 0 to 9");
    v1_int_list(begin_body(&a, "{\"m\":[1,2,3]}"), "m", 0, 9, 2);
    expect_refused(&a, REFUSED_LENGTH, "m", "more than 2 items");
    v1_text_list(begin_body(&a, "{\"m\":\"x\"}"), "m", 9, 9);
    expect_refused(&a, REFUSED_INVALID, "m", "a list");
    v1_object(begin_body(&a, "{\"m\":[]}"), "m");
    expect_refused(&a, REFUSED_INVALID, "m", "an object");
    v1_require(begin_body(&a, "{}"), "m");
    expect_refused(&a, REFUSED_REQUIRED, "m", "m is missing");
}

static void unknown_and_double_members_are_refused(void **state)
{
    (void)state;
    struct asked_for a = {0};

    v1_int(begin_body(&a, "{\"m\":1,\"\\u006e\":2}"), "m", 0, 9, 0);
    expect_refused(&a, REFUSED_INVALID, "n", "is not a known member");
    v1_int(begin_body(&a, "{\"m\":1,\"\\u006d\":2}"), "m", 0, 9, 0);
    expect_refused(&a, REFUSED_INVALID, "m", "twice");
    struct v1_object inner = v1_object(begin_body(&a, "{\"o\":{\"x\":1}}"), "o");
    v1_end(&inner);
    expect_refused(&a, REFUSED_INVALID, "x", "is not a known member");
}

static void objects_of_a_list_come_in_turn(void **state)
{
    (void)state;
    struct asked_for a = {0};
    struct v1_list list = v1_object_list(begin_body(&a, "{\"l\":[{\"n\":1},{\"n\":2}]}"), "l", 2);
    struct v1_object item;

    assert_int_equal(list.count, 2);
    for (int64_t n = 1; n <= 2; n++) {
        assert_true(v1_next_object(&list, &item));
        assert_int_equal(v1_int(&item, "n", 0, 9, 0), n);
        v1_end(&item);
    }
    assert_false(v1_next_object(&list, &item));
    expect_good(&a);
    list = v1_object_list(begin_body(&a, "{\"l\":[1]}"), "l", 2);
    assert_false(v1_next_object(&list, &item));
    expect_refused(&a, REFUSED_INVALID, "l", "a list of objects");
}

/* ---- queries ----------------------------------------------------------------------------------------------------- */

static void parameters_have_types(void **state)
{
    (void)state;
    static const char *const colours[] = {"red", "green", NULL};
    struct asked_for a = {0};

    begin(&a, "t=%C3%A4+b&i=7&b=false&w=1970-01-01T00%3A00%3A01.5Z&c=red&l=3,4", "");
    assert_int_equal(v1_path_id(&a.c, 0), 7);
    assert_string_equal(v1_query_text(&a.c, "t", 3), "ä b");
    assert_int_equal(v1_query_int(&a.c, "i", 0, 9, 0), 7);
    assert_false(v1_query_bool(&a.c, "b", true));
    assert_int_equal(v1_query_instant(&a.c, "w", 0), 1500);
    assert_int_equal(v1_query_choice(&a.c, "c", colours, -1), 0);
    struct v1_ints l = v1_query_ints(&a.c, "l", 0, 9, 2);
    assert_int_equal(l.count, 2);
    assert_int_equal(l.v[0] + l.v[1], 7);
    assert_null(v1_query_text(&a.c, "absent", 3));
    expect_good(&a);
}

static const char *name_state(int64_t i)
{
    static const char *const names[] = {"a", "bc", "b"};

    return names[i];
}

static void states_are_names_with_commas_between(void **state)
{
    (void)state;
    static const char *const bad[] = {"s=", "s=bcd", "s=A", "s=a,", "s=,a", "s=a%20"};
    struct asked_for a = {0};

    begin(&a, "s=bc,a,bc", "");
    assert_int_equal(v1_query_states(&a.c, "s", name_state, 3, "a,bc"), 3);
    assert_int_equal(v1_query_states(&a.c, "absent", name_state, 3, "a,bc"), 0);
    expect_good(&a);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        begin(&a, bad[i], "");
        v1_query_states(&a.c, "s", name_state, 3, "a,bc");
        expect_refused(&a, REFUSED_INVALID, "s", "states separated by commas, such as a,bc");
    }
}

static void parameters_are_refused_by_name(void **state)
{
    (void)state;
    struct asked_for a = {0};

    begin(&a, "m=%ff", "");
    v1_query_text(&a.c, "m", 9);
    expect_refused(&a, REFUSED_INVALID, "m", "UTF-8");
    begin(&a, "m=abc", "");
    v1_query_text(&a.c, "m", 2);
    expect_refused(&a, REFUSED_LENGTH, "m", "more than 2");
    begin(&a, "m=", "");
    v1_query_int(&a.c, "m", 0, 9, 0);
    expect_refused(&a, REFUSED_INVALID, "m", "from 0 to 9");
    begin(&a, "m=1", "");
    v1_query_bool(&a.c, "m", false);
    expect_refused(&a, REFUSED_INVALID, "m", "true or false");
    begin(&a, "m=1,,2", "");
    v1_query_ints(&a.c, "m", 0, 9, 9);
    expect_refused(&a, REFUSED_INVALID, "m", "from 0 to 9");
    begin(&a, "m=1&n=2", "");
    v1_query_int(&a.c, "m", 0, 9, 0);
    expect_refused(&a, REFUSED_INVALID, "n", "is not a parameter of this call");
    begin(&a, "m=1&m=1", "");
    v1_query_int(&a.c, "m", 0, 9, 0);
    expect_refused(&a, REFUSED_INVALID, "m", "twice");
    begin(&a, "", "");
    a.call.param[0] = "0";
    v1_path_id(&a.c, 0);
    expect_refused(&a, REFUSED_INVALID, "id", "from 1");
}

static void the_first_fault_is_told(void **state)
{
    (void)state;
    struct asked_for a = {0};

    begin(&a, "n=x&m=x", "");
    v1_query_int(&a.c, "m", 0, 9, 0);
    v1_query_int(&a.c, "n", 0, 9, 0);
    expect_refused(&a, REFUSED_INVALID, "m", "m must be");
}

/* ---- pages ------------------------------------------------------------------------------------------------------- */

static bool go_round(const char *list, size_t keys, bool text, struct v1_cursor in, struct v1_cursor *out, char *memory)
{
    struct buf b = {0};

    cursor_put(&b, "jobs.id", &in);
    bool good = cursor_parse(b.data, list, keys, text, memory, out);
    buf_fini(&b);
    return good;
}

static void cursors_go_round(void **state)
{
    (void)state;
    char memory[200];
    struct v1_cursor out, two = {.keys = {INT64_MIN, 7}, .count = 2},
                          named = {.keys = {1}, .count = 1, .text = "a b ä"};

    assert_true(go_round("jobs.id", 2, false, two, &out, memory));
    assert_true(out.keys[0] == INT64_MIN && out.keys[1] == 7);
    assert_true(go_round("jobs.id", 1, true, named, &out, memory));
    assert_string_equal(out.text, "a b ä");
    assert_false(go_round("jobs.name", 2, false, two, &out, memory));
    assert_false(go_round("jobs", 2, false, two, &out, memory));
    assert_false(go_round("jobs.id", 1, false, two, &out, memory));
    assert_false(go_round("jobs.id", 3, false, two, &out, memory));
    assert_false(go_round("jobs.id", 2, true, two, &out, memory));
}

static void a_cursor_that_was_changed_is_refused(void **state)
{
    (void)state;
    struct v1_cursor out, in = {.keys = {123456}, .count = 1};
    struct buf b = {0};
    char memory[200];

    cursor_put(&b, "jobs.id", &in);
    for (size_t i = 0; i < b.len; i++) {
        char was = b.data[i];
        b.data[i] = was == 'A' ? 'B' : 'A';
        assert_false(cursor_parse(b.data, "jobs.id", 1, false, memory, &out));
        b.data[i] = '*';
        assert_false(cursor_parse(b.data, "jobs.id", 1, false, memory, &out));
        b.data[i] = was;
    }
    assert_true(cursor_parse(b.data, "jobs.id", 1, false, memory, &out));
    buf_fini(&b);
}

static void pages_are_bounded(void **state)
{
    (void)state;
    struct asked_for a = {0};
    struct v1_page page;

    begin(&a, "", "");
    page = v1_query_page(&a.c, "jobs.id", 1, false);
    assert_true(page.limit == 50 && !page.count && !page.after);
    expect_good(&a);
    begin(&a, "limit=501", "");
    v1_query_page(&a.c, "jobs.id", 1, false);
    expect_refused(&a, REFUSED_INVALID, "limit", "from 1 to 500");
    begin(&a, "after=nonsense", "");
    v1_query_page(&a.c, "jobs.id", 1, false);
    expect_refused(&a, REFUSED_INVALID, "after", "`next`");
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static void refusals_have_their_status(void **state)
{
    (void)state;
    static const struct {
        enum refusal_kind kind;
        const char *field;
        bool conditional;
        int status;
    } cases[] = {
        {REFUSED_RIGHT, NULL, false, 403},     {REFUSED_REQUIRED, "a", false, 400},
        {REFUSED_INVALID, "a", false, 400},    {REFUSED_LENGTH, "a", false, 400},
        {REFUSED_UNKNOWN, "a", false, 400},    {REFUSED_UNKNOWN, NULL, false, 404},
        {REFUSED_UNKNOWN, "id", false, 404},   {REFUSED_UNKNOWN, "i", false, 400},
        {REFUSED_UNKNOWN, "part", false, 404}, {REFUSED_TAKEN, "a", false, 400},
        {REFUSED_SELF, "a", false, 400},       {REFUSED_IN_USE, NULL, false, 409},
        {REFUSED_LAST, NULL, false, 409},      {REFUSED_STATE, NULL, false, 409},
        {REFUSED_CHANGED, NULL, false, 409},   {REFUSED_CHANGED, NULL, true, 412},
        {REFUSED_LIMIT, NULL, false, 429},     {REFUSED_OFF, NULL, false, 403},
        {REFUSED_EXECUTOR, NULL, false, 502},  {REFUSED_TRY_AGAIN, NULL, false, 503},
        {REFUSED_UNSURE, NULL, false, 500},    {REFUSED_BROKEN, NULL, false, 500},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct refusal why = {.kind = cases[i].kind, .field = cases[i].field};
        assert_int_equal(v1_get_status(&why, PATTERN, cases[i].conditional), cases[i].status);
    }
}

static void a_problem_is_a_document(void **state)
{
    (void)state;
    struct asked_for a = {0};

    begin(&a, "", "");
    refuse(&a.c.why, REFUSED_TRY_AGAIN, "a", "say \"it\" again");
    strcpy(a.c.why.item, "7");
    v1_write_refusal(&a.c);
    v1_end_answer(&a.c);
    assert_string_equal(a.r.body.data,
                        "{\"type\":\"about:blank\",\"title\":\"Service Unavailable\",\"status\":503,"
                        "\"detail\":\"say \\\"it\\\" again\",\"kind\":\"try-again\",\"field\":\"a\",\"item\":\"7\"}");
    assert_string_equal(a.r.headers.data, "Retry-After: 1\r\n");
    end(&a);
}

static void tags_are_compared(void **state)
{
    (void)state;
    assert_true(v1_etag_is_in("\"a\"", "\"a\""));
    assert_true(v1_etag_is_in("W/\"a\"", "\"a\""));
    assert_true(v1_etag_is_in("\"b\", \"a\"", "\"a\""));
    assert_true(v1_etag_is_in("*", "\"a\""));
    assert_false(v1_etag_is_in("\"b\"", "\"a\""));
    assert_false(v1_etag_is_in("\"ab\"", "\"a\""));
    assert_false(v1_etag_is_in("a", "\"a\""));
    assert_false(v1_etag_is_in("\"a", "\"a\""));
    assert_false(v1_etag_is_in("", "\"a\""));
}

static void a_tag_that_does_not_match_is_412(void **state)
{
    (void)state;
    struct buf now = {0};
    buf_puts(&now, "{}");
    struct v1_etag tag = v1_make_etag(now.data, now.len);
    struct asked_for a = {.if_match = tag.text};

    begin(&a, "", "");
    assert_true(v1_still_matches(&a.c, &now));
    end(&a);
    a.if_match = "\"0\"";
    begin(&a, "", "");
    assert_false(v1_still_matches(&a.c, &now));
    assert_int_equal(a.r.status, 412);
    end(&a);
    buf_fini(&now);
}

static void a_known_answer_is_304(void **state)
{
    (void)state;
    struct v1_etag tag = v1_make_etag("{}", 2);
    struct asked_for a = {.if_none_match = tag.text};

    begin(&a, "", "");
    a.route.route.methods = ROUTE_GET;
    a.r.status = 200;
    member_object(&a.r.body, NULL);
    v1_tag_answer(&a.c);
    assert_int_equal(a.r.status, 304);
    assert_non_null(strstr(a.r.headers.data, tag.text));
    end(&a);
}

static void commas_come_by_themselves(void **state)
{
    (void)state;
    struct buf b = {0};

    member_object(&b, NULL);
    member_text(&b, "a", ",{[:");
    member_int(&b, "b", 1);
    member_list(&b, "c");
    member_list(&b, NULL);
    member_list_end(&b);
    v1_put_instant(&b, NULL, 1795363200007);
    v1_put_instant(&b, NULL, 0);
    member_object(&b, NULL);
    member_object_end(&b);
    member_list_end(&b);
    member_bool(&b, "d", false);
    member_object_end(&b);
    assert_string_equal(b.data, "{\"a\":\",{[:\",\"b\":1,\"c\":[[],\"2026-11-22T16:00:00.007Z\",null,{}],\"d\":false}");
    buf_fini(&b);
}

/* The columns are texts: what somebody else wrote there must not spoil the page. */
static void a_side_of_audit_is_an_object(void **state)
{
    const struct audit_entry entry = {.id = 1,
                                      .row = {.who = "x",
                                              .address = "",
                                              .via = "",
                                              .action = "a",
                                              .target_name = "",
                                              .before = "{\"a\":1}",
                                              .after = "{\"a\":"}};
    struct buf out = {0};

    (void)state;
    v1_put_audit(&out, &entry);
    assert_non_null(strstr(out.data, ",\"before\":{\"a\":1},\"after\":{\"unreadable\":\"{\\\"a\\\":\"}"));
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_are_strict_json),
        cmocka_unit_test(an_empty_body_may_be_missing),
        cmocka_unit_test(a_large_body_is_413),
        cmocka_unit_test(members_have_types),
        cmocka_unit_test(members_are_refused_by_name),
        cmocka_unit_test(unknown_and_double_members_are_refused),
        cmocka_unit_test(objects_of_a_list_come_in_turn),
        cmocka_unit_test(parameters_have_types),
        cmocka_unit_test(states_are_names_with_commas_between),
        cmocka_unit_test(parameters_are_refused_by_name),
        cmocka_unit_test(the_first_fault_is_told),
        cmocka_unit_test(cursors_go_round),
        cmocka_unit_test(a_cursor_that_was_changed_is_refused),
        cmocka_unit_test(pages_are_bounded),
        cmocka_unit_test(refusals_have_their_status),
        cmocka_unit_test(a_problem_is_a_document),
        cmocka_unit_test(tags_are_compared),
        cmocka_unit_test(a_tag_that_does_not_match_is_412),
        cmocka_unit_test(a_known_answer_is_304),
        cmocka_unit_test(commas_come_by_themselves),
        cmocka_unit_test(a_side_of_audit_is_an_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
