/* SPDX-License-Identifier: MIT */
/* How the console's page and files go out: by the real tables, below every context. */
#include "http/web_folder.h"

#include "http/router.h"

static struct http h;
static struct http_response answer;
static const char *known, *encoding;
static char head[4000];

static const char *get_header(const void *connection, const char *name)
{
    (void)connection;
    if (!strcmp(name, "If-None-Match"))
        return known;
    return !strcmp(name, "Accept-Encoding") ? encoding : NULL;
}

static int set_up(void **state)
{
    static char context[] = "/ctx";
    static int admin; /* only looked at whether it is there */
    struct errctx ec;

    if (folder_create(state))
        return -1;
    folder_add("index.html", INDEX_TEXT);
    folder_add("favicon.svg", "<svg/>");
    folder_add("assets/a-1.js", "let a = 1, b = 2;");
    folder_add("assets/a-1.js.gz", "compressed");
    folder_add("assets/b.css", "b{}");
    folder_add("docs/jobs.html", "<h1>Jobs</h1>");
    known = encoding = NULL;
    h = (struct http){.context = context, .opts = {.admin = (struct admin *)&admin}};
    return web_load(folder, &h.web, &ec) ? -1 : 0;
}

static int tear_down(void **state)
{
    response_fini(&answer);
    answer = (struct http_response){0};
    web_destroy(h.web);
    h.web = NULL;
    return folder_remove(state);
}

/* As the server does; the status. `head` is what goes out before the body, which is answer.body. */
static int send_request(const char *method, const char *path)
{
    struct http_request q = {.method = method, .path = path, .query = "", .body = "", .get_header = get_header};
    struct buf out = {0};
    size_t max = 1000;

    response_fini(&answer);
    answer = (struct http_response){.status = 500, .content_type = "application/json"};
    enum http_lane lane = http_admit(&h, &q, &max, &answer);
    if (lane != HTTP_LANE_REFUSED) {
        assert_int_equal(lane, HTTP_LANE_AT_ONCE); /* also while the console's workers wait for the database */
        http_handle(&h, &q, &answer);
    }
    int status = answer.status;
    struct http_response copy = answer;
    copy.body = (struct buf){0};
    copy.headers = (struct buf){0};
    buf_append(&copy.body, answer.body.len ? answer.body.data : "", answer.body.len);
    buf_append(&copy.headers, answer.headers.len ? answer.headers.data : "", answer.headers.len);
    response_write(&copy, true, /*head_only=*/true, &out);
    snprintf(head, sizeof head, "%s", out.data);
    response_fini(&copy);
    buf_fini(&out);
    return status;
}

static const char *body(void)
{
    return answer.body.len ? answer.body.data : "";
}

static void expect_head(const char *line)
{
    char whole[1000];

    snprintf(whole, sizeof whole, "\r\n%s\r\n", line);
    if (!strstr(head, whole))
        fail_msg("\"%s\" is not in:\n%s", line, head);
}

/* ---- the page ---------------------------------------------------------------------------------------------------- */

static void every_address_of_the_console_is_the_page(void **state)
{
    static const char *const paths[] = {
        "/jobs",    "/jobs/7",    "/jobs/7/why",    "/jobs/7/glue", "/runs",
        "/runs/9",  "/executors", "/executors/3",   "/cluster",     "/alarms",
        "/users",   "/tokens",    "/audit",         "/settings",    "/import",
        "/account", "/jobs/",     "//jobs///7/why", "/events",      "/events/deliveries",
    };
    static const char *const contexts[] = {"", "/xxl-job-admin", "/ctx"};
    char path[200];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        for (size_t c = 0; c < ARRAY_LEN(contexts); c++) {
            snprintf(path, sizeof path, "%s%s", contexts[c], paths[i]);
            assert_int_equal(send_request("GET", path), 200);
            expect_head("Content-Type: text/html; charset=utf-8");
            expect_head("Cache-Control: no-store");
            assert_non_null(strstr(body(), "<base href=\"."));
        }
    }
}

static void links_are_relative_to_the_context(void **state)
{
    static const struct {
        const char *path, *base;
    } cases[] = {
        {"/jobs", "./"},
        {"/jobs/7", "../"},
        {"/jobs/7/why", "../../"},
        {"/jobs/", "../"},
        {"/jobs/7/", "../../"},
        {"/xxl-job-admin/jobs", "./"},
        {"/xxl-job-admin/jobs/7/why", "../../"},
        {"//xxl-job-admin/jobs/7", "../"},
        {"/ctx/jobs/7", "../"},
        {"//jobs", "../"}, /* as browsers count */
        {"/jobs//7", "../../"},
    };
    char wanted[100];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        send_request("GET", cases[i].path);
        snprintf(wanted, sizeof wanted, "<base href=\"%s\">", cases[i].base);
        if (!strstr(body(), wanted))
            fail_msg("%s: %s", cases[i].path, body());
    }
}

static void each_answer_has_a_nonce_of_its_own(void **state)
{
    char first[33], wanted[500];

    (void)state;
    send_request("GET", "/jobs");
    const char *at = strstr(body(), "<meta content=\"");
    assert_non_null(at);
    snprintf(first, sizeof first, "%s", at + strlen("<meta content=\""));
    assert_int_equal(strspn(first, "0123456789abcdef"), 32);
    snprintf(wanted, sizeof wanted, "<base href=\"./\"><meta content=\"%s\">100%% <style nonce=\"%s\">%%BAS%%</style>",
             first, first);
    assert_string_equal(body(), wanted);
    snprintf(wanted, sizeof wanted,
             "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self' 'nonce-%s'; img-src "
             "'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'self'; form-action "
             "'self'; frame-ancestors 'self'",
             first);
    expect_head(wanted);
    assert_null(strstr(strstr(head, "Content-Security-Policy") + 1, "Content-Security-Policy"));
    expect_head("X-Content-Type-Options: nosniff");
    send_request("GET", "/jobs");
    assert_null(strstr(body(), first));
}

static void without_a_console_the_page_says_how_to_build_it(void **state)
{
    (void)state;
    web_destroy(h.web);
    h.web = NULL;
    assert_int_equal(send_request("GET", "/ctx/jobs/7"), 200);
    assert_non_null(strstr(body(), "tools/web build"));
    assert_non_null(strstr(body(), "href=\"../openapi.json\""));
    assert_int_equal(send_request("GET", "/assets/a-1.js"), 404);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(send_request("GET", i ? "/favicon.ico" : "/ctx/favicon.svg"), 200);
        expect_head("Content-Type: image/svg+xml");
        assert_memory_equal(body(), "<svg xmlns=", 11);
    }
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static void assets_are_kept_for_ever(void **state)
{
    static const char *const contexts[] = {"", "/xxl-job-admin", "/ctx", "//ctx/"};
    char path[200];

    (void)state;
    for (size_t c = 0; c < ARRAY_LEN(contexts); c++) {
        snprintf(path, sizeof path, "%s/assets/b.css", contexts[c]);
        assert_int_equal(send_request("GET", path), 200);
        assert_string_equal(body(), "b{}");
        expect_head("Content-Type: text/css; charset=utf-8");
        expect_head("Cache-Control: public, max-age=31536000, immutable");
        expect_head("X-Content-Type-Options: nosniff");
        assert_null(strstr(head, "Vary"));
    }
    assert_int_equal(send_request("HEAD", "/assets/b.css"), 200);
    expect_head("Content-Length: 3");
}

static void who_takes_gzip_gets_the_twin(void **state)
{
    (void)state;
    encoding = "br, gzip";
    assert_int_equal(send_request("GET", "/assets/a-1.js"), 200);
    assert_string_equal(body(), "compressed");
    expect_head("Content-Encoding: gzip");
    expect_head("Vary: Accept-Encoding");
    expect_head("Content-Type: text/javascript; charset=utf-8");
    expect_head("Content-Length: 10");
    encoding = "gzip;q=0";
    assert_int_equal(send_request("GET", "/assets/a-1.js"), 200);
    assert_string_equal(body(), "let a = 1, b = 2;");
    assert_null(strstr(head, "Content-Encoding"));
    expect_head("Vary: Accept-Encoding");
    encoding = "gzip";
    assert_int_equal(send_request("GET", "/assets/b.css"), 200); /* which has none */
    assert_string_equal(body(), "b{}");
    assert_null(strstr(head, "Content-Encoding"));
}

static void what_the_client_has_is_not_sent_again(void **state)
{
    char tag[100];

    (void)state;
    for (int compressed = 0; compressed < 2; compressed++) {
        encoding = compressed ? "gzip" : NULL;
        known = NULL;
        send_request("GET", "/assets/a-1.js");
        const char *at = strstr(head, "ETag: ");
        assert_non_null(at);
        snprintf(tag, sizeof tag, "W/%.*s, \"other\"", (int)strcspn(at + 6, "\r"), at + 6);
        known = tag;
        assert_int_equal(send_request("GET", "/assets/a-1.js"), 304);
        assert_string_equal(body(), "");
        assert_non_null(strstr(head, "ETag: "));
        assert_null(strstr(head, "Content-Encoding"));
        expect_head("Cache-Control: public, max-age=31536000, immutable");
        assert_int_equal(send_request("GET", "/assets/b.css"), 200);
    }
}

static void other_files_are_asked_for_again(void **state)
{
    (void)state;
    assert_int_equal(send_request("GET", "/ctx/favicon.svg"), 200);
    assert_string_equal(body(), "<svg/>");
    expect_head("Content-Type: image/svg+xml");
    expect_head("Cache-Control: no-cache");
    assert_int_equal(send_request("GET", "/favicon.ico"), 200); /* browsers ask for it by that name */
    assert_string_equal(body(), "<svg/>");
    expect_head("Content-Type: image/svg+xml");
    assert_int_equal(send_request("GET", "/docs/jobs.html"), 200);
    expect_head("Cache-Control: no-cache");
    expect_head("Content-Security-Policy: default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; "
                "form-action 'self'; frame-ancestors 'self'");
}

static void nothing_else_is_served(void **state)
{
    static const char *const paths[] = {
        "/assets",
        "/assets/",
        "/assets/none.js",
        "/assets/a-1.js.gz",
        "/docs",
        "/docs/none",
        "/assets/../index.html",
        "/assets/..%2findex.html",
        "/assets//../../etc/passwd",
        "/docs/index.html",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        assert_int_equal(send_request("GET", paths[i]), 404);
        expect_head("X-Content-Type-Options: nosniff");
        expect_head("Cache-Control: no-store");
    }
    assert_int_equal(send_request("POST", "/assets/b.css"), 405);
    assert_int_equal(send_request("DELETE", "/docs/jobs.html"), 405);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(every_address_of_the_console_is_the_page),
        CASE(links_are_relative_to_the_context),
        CASE(each_answer_has_a_nonce_of_its_own),
        CASE(without_a_console_the_page_says_how_to_build_it),
        CASE(assets_are_kept_for_ever),
        CASE(who_takes_gzip_gets_the_twin),
        CASE(what_the_client_has_is_not_sent_again),
        CASE(other_files_are_asked_for_again),
        CASE(nothing_else_is_served),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
