/* SPDX-License-Identifier: MIT */
/* Which requests a page of another origin made a browser send; in which order proofs count; what cookies say. */
#include "http/visitor.h"
#include "test.h"

#include <string.h>

static const char *headers[12][2];
static struct http h;
static char cookie_name[] = TOKEN_COOKIE_DEFAULT, header_name[] = "X-Forwarded-User";

/* What the use case was asked with, and what it says. */
static struct proof asked[4];
static char texts[4][2][200];
static size_t asked_count;
static enum refusal_kind verdicts[4];

enum err __wrap_admin_identify(struct admin *a, const struct proof *proof, const struct origin *from,
                               struct identity *out, struct refusal *r);
enum err __wrap_admin_identify(struct admin *a, const struct proof *proof, const struct origin *from,
                               struct identity *out, struct refusal *r)
{
    size_t i = asked_count++;

    (void)a;
    assert_true(i < ARRAY_LEN(asked));
    assert_string_equal(from->address, "192.0.2.9");
    asked[i] = *proof;
    strcpy(texts[i][0], proof->name ? proof->name : "");
    strcpy(texts[i][1], proof->secret ? proof->secret : "");
    if (verdicts[i] != REFUSED_NOT)
        return refuse(r, verdicts[i], NULL, "no");
    *out = (struct identity){.actor = {.user_id = 1}};
    return ERR_OK;
}

static const char *get_header(const void *connection, const char *name)
{
    (void)connection;
    for (size_t i = 0; i < ARRAY_LEN(headers) && headers[i][0]; i++) {
        if (!strcmp(headers[i][0], name))
            return headers[i][1];
    }
    return NULL;
}

static const char *get_next_header(const char *value, const char *name)
{
    (void)value;
    (void)name;
    return NULL;
}

static void set_headers(const char *const list[][2], size_t count)
{
    memset(headers, 0, sizeof headers);
    for (size_t i = 0; i < count; i++) {
        headers[i][0] = list[i][0];
        headers[i][1] = list[i][1];
    }
}

#define HEADERS(...)                                                                                                   \
    set_headers((const char *const[][2])__VA_ARGS__, sizeof((const char *[][2])__VA_ARGS__) / (2 * sizeof(char *)))

static struct http_request make_request(void)
{
    struct http_request q = {.method = "POST",
                             .path = "/",
                             .query = "",
                             .body = "",
                             .get_header = get_header,
                             .get_next_header = get_next_header};

    assert_true(ip_parse("192.0.2.9", &q.peer));
    return q;
}

/* ---- foreign pages ----------------------------------------------------------------------------------------------- */

static void requests_of_other_origins_are_foreign(void **state)
{
    static const struct {
        const char *site, *origin, *host;
        bool foreign;
    } cases[] = {
        {NULL, NULL, "jobs:8080", false}, /* a program */
        {"same-origin", NULL, "jobs:8080", false},
        {"none", NULL, "jobs:8080", false}, /* typed in, or a bookmark */
        {"cross-site", NULL, "jobs:8080", true},
        {"same-site", NULL, "jobs:8080", true}, /* another host, or port, of the same site */
        {"cross-site", "http://jobs:8080", "jobs:8080", true},
        {"same-origin", "https://jobs.example.com", "backend:8080", false}, /* a proxy that tells no Host */
        {"anything", NULL, "jobs:8080", true},
        {NULL, "http://jobs:8080", "jobs:8080", false},
        {NULL, "http://JOBS:8080", "jobs:8080", false},
        {NULL, "http://jobs", "jobs:80", false},
        {NULL, "https://jobs", "jobs:443", false},
        {NULL, "https://jobs", "jobs", false},
        {NULL, "http://jobs:8081", "jobs:8080", true},
        {NULL, "http://jobs.evil", "jobs", true},
        {NULL, "http://evil/jobs", "jobs", true},
        {NULL, "http://jobs:443", "jobs", true},
        {NULL, "null", "jobs", true},
        {NULL, "", "jobs", true},
        {NULL, "file://", "jobs", true},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *list[3][2] = {{"Host", cases[i].host}};
        size_t n = 1;
        if (cases[i].site) {
            list[n][0] = "Sec-Fetch-Site";
            list[n++][1] = cases[i].site;
        }
        if (cases[i].origin) {
            list[n][0] = "Origin";
            list[n++][1] = cases[i].origin;
        }
        set_headers(list, n);
        struct http_request q = make_request();
        if (request_is_foreign(&q) != cases[i].foreign)
            fail_msg("site %s, origin %s, host %s", cases[i].site, cases[i].origin, cases[i].host);
    }
}

static void gets_of_browsers_must_come_from_a_page_of_ours(void **state)
{
    static const struct {
        const char *method, *agent, *languages, *page, *origin;
        bool foreign;
    } cases[] = {
        {"GET", "Mozilla/5.0 (X11)", "en", NULL, NULL, true},
        {"GET", "Mozilla/5.0 (X11)", "en", "http://evil/page", NULL, true},
        {"HEAD", "Mozilla/5.0 (X11)", "en", "http://jobs:8081/", NULL, true},
        {"GET", "Mozilla/5.0 (X11)", "en", "http://jobs:8080/jobinfo", NULL, false},
        {"GET", "Mozilla/5.0 (X11)", "en", "http://jobs:8080", NULL, false},
        {"POST", "Mozilla/5.0 (X11)", "en", NULL, NULL, false},              /* an Origin comes with it */
        {"GET", "Mozilla/5.0 (X11)", "en", NULL, "http://jobs:8080", false}, /* request_is_foreign looks at it */
        {"GET", "Mozilla/5.0 (Windows NT) WindowsPowerShell/5.1", NULL, NULL, NULL, false},
        {"GET", "curl/8.5.0", NULL, NULL, NULL, false},
        {"GET", NULL, "en", NULL, NULL, false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *const given[][2] = {{"User-Agent", cases[i].agent},
                                        {"Accept-Language", cases[i].languages},
                                        {"Referer", cases[i].page},
                                        {"Origin", cases[i].origin}};
        const char *list[5][2] = {{"Host", "jobs:8080"}};
        size_t n = 1;
        for (size_t k = 0; k < ARRAY_LEN(given); k++) {
            if (given[k][1]) {
                list[n][0] = given[k][0];
                list[n++][1] = given[k][1];
            }
        }
        set_headers(list, n);
        struct http_request q = make_request();
        q.method = cases[i].method;
        if (request_may_be_foreign(&q) != cases[i].foreign)
            fail_msg("case %zu", i);
    }
}

/* ---- proofs ------------------------------------------------------------------------------------------------------ */

#define ROW "7b22757365726e616d65223a22616e6e222c2270617373776f7264223a2278227d" /* ann, x */
#define TOKEN "eyJ1c2VySWQiOiI3Iiwic2lnbmF0dXJlIjoieSJ9"                         /* 7, y */
#define BOTH ROW_COOKIE "=" ROW "; " TOKEN_COOKIE_DEFAULT "=" TOKEN

static struct visitor find_for(bool changes)
{
    struct http_request q = make_request();
    struct route_call call = {.h = &h, .q = &q};
    struct visitor v;

    asked_count = 0;
    visitor_find(&call, "api/v1", changes, &v);
    return v;
}

static struct visitor find(void)
{
    return find_for(false);
}

static void proofs_count_in_their_order(void **state)
{
    (void)state;
    HEADERS({{"Authorization", "bearer swt_abc"}, {"X-Forwarded-User", "bob"}, {"Cookie", BOTH}});
    struct visitor v = find();
    assert_int_equal(v.state, VISITOR_KNOWN);
    assert_int_equal(asked_count, 1);
    assert_int_equal(asked[0].kind, PROOF_TOKEN);
    assert_string_equal(texts[0][1], "swt_abc");
    assert_false(v.by_browser);

    HEADERS({{"Authorization", "Basic swt_abc"}, {"X-Forwarded-User", "bob"}, {"Cookie", BOTH}});
    v = find();
    assert_int_equal(asked[0].kind, PROOF_NAME);
    assert_string_equal(texts[0][0], "bob");
    assert_true(v.by_browser);

    HEADERS({{"Authorization", "Bearer eyJ"}, {"Cookie", BOTH}}); /* of somebody else's login */
    verdicts[0] = REFUSED_UNKNOWN;
    v = find();
    assert_int_equal(v.state, VISITOR_KNOWN);
    assert_int_equal(asked_count, 2);
    assert_int_equal(asked[0].kind, PROOF_SESSION);
    assert_int_equal(asked[0].user_id, 7);
    assert_string_equal(texts[0][1], "y");
    assert_int_equal(asked[1].kind, PROOF_ROW);
    assert_string_equal(texts[1][0], "ann");
    assert_false(v.forget_row || v.forget_token);
}

static void who_changes_something_is_looked_up(void **state)
{
    static const char *const proofs[][2] = {
        {"Authorization", "Bearer swt_abc"}, {"X-Forwarded-User", "bob"}, {"Cookie", BOTH}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(proofs); i++) {
        set_headers(&proofs[i], 1);
        find_for(false);
        assert_false(asked[0].now);
        find_for(true);
        assert_true(asked[0].now);
    }
}

static void a_proof_that_is_no_good_leads_to_no_other_kind(void **state)
{
    (void)state;
    verdicts[0] = REFUSED_UNKNOWN;
    HEADERS({{"Authorization", "Bearer swt_abc"}, {"Cookie", BOTH}});
    struct visitor v = find();
    assert_int_equal(v.state, VISITOR_NOBODY);
    assert_non_null(strstr(v.why.text.text, "token"));
    HEADERS({{"X-Forwarded-User", "bob"}, {"Cookie", BOTH}});
    v = find();
    assert_int_equal(v.state, VISITOR_NOBODY);
    assert_int_equal(asked_count, 1);
    assert_non_null(strstr(v.why.text.text, "bob"));
    verdicts[0] = REFUSED_TRY_AGAIN;
    assert_int_equal(find().state, VISITOR_UNSURE);
}

static void only_proxies_of_the_networks_name_users(void **state)
{
    struct networks *networks = h.login_networks;

    (void)state;
    HEADERS({{"X-Forwarded-User", "bob"}});
    assert_int_equal(find().state, VISITOR_KNOWN);
    assert_ptr_equal(h.login_networks, networks);
    h.login_networks = NULL;
    assert_int_equal(find().state, VISITOR_NOBODY);
    assert_int_equal(asked_count, 0);
    h.login_networks = networks;
    HEADERS({{"X-Forwarded-User", " "}});
    assert_int_equal(find().state, VISITOR_NOBODY);
}

static void cookies_that_are_no_good_are_forgotten(void **state)
{
    struct visitor v;

    (void)state;
    verdicts[0] = verdicts[1] = REFUSED_UNKNOWN;
    HEADERS({{"Cookie", ROW_COOKIE "=xyz"}});
    v = find();
    assert_true(v.forget_row && !v.forget_token);
    HEADERS({{"Cookie", ROW_COOKIE "=" ROW}}); /* a Java admin leaves one alone that could be another one's */
    v = find();
    assert_false(v.forget_row || v.forget_token);
    HEADERS({{"Cookie", TOKEN_COOKIE_DEFAULT "=" TOKEN}});
    v = find();
    assert_true(!v.forget_row && v.forget_token);
}

/* ---- what is set ------------------------------------------------------------------------------------------------- */

static void cookies_are_for_no_script_and_no_other_site(void **state)
{
    char name[] = "ann";
    struct login login = {.user = {.id = 7, .name = name, .password = "x"}, .row = true, .secret = "y"};
    struct http_request q = make_request();
    struct route_call call = {.h = &h, .q = &q};
    struct http_response r = {0};

    (void)state;
    HEADERS({{"X-Forwarded-Proto", "https"}});
    assert_true(visitor_set_token_cookie(&call, &r, &login, true));
    assert_non_null(strstr(r.headers.data, "Set-Cookie: " TOKEN_COOKIE_DEFAULT "=eyJ"));
    assert_non_null(strstr(r.headers.data, "; Max-Age=2147483647; Path=/; HttpOnly; SameSite=Lax\r\n")); /* untrusted */
    response_fini(&r);
    q.trusted = h.login_networks;
    assert_true(visitor_set_row_cookie(&call, &r, &login, false));
    assert_non_null(strstr(r.headers.data, "d; Path=/; HttpOnly; SameSite=Lax; Secure\r\n"));
    response_fini(&r);
    assert_true(visitor_forget_row_cookie(&call, &r));
    assert_non_null(strstr(r.headers.data, "IDENTITY=; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:10 GMT; Path=/;"));
    response_fini(&r);
}

static int set_up(void **state)
{
    static struct admin *admin = (struct admin *)1;
    struct networks *networks = NULL;

    (void)state;
    assert_int_equal(networks_parse("192.0.2.0/24", &networks, NULL), ERR_OK);
    h = (struct http){.clock = clock_system(),
                      .login_cookie = cookie_name,
                      .login_header = header_name,
                      .login_networks = networks,
                      .opts = {.admin = admin}};
    memset(verdicts, 0, sizeof verdicts);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    networks_destroy(h.login_networks);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(requests_of_other_origins_are_foreign, set_up, tear_down),
        cmocka_unit_test_setup_teardown(gets_of_browsers_must_come_from_a_page_of_ours, set_up, tear_down),
        cmocka_unit_test_setup_teardown(proofs_count_in_their_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_changes_something_is_looked_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_proof_that_is_no_good_leads_to_no_other_kind, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_proxies_of_the_networks_name_users, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cookies_that_are_no_good_are_forgotten, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cookies_are_for_no_script_and_no_other_site, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
