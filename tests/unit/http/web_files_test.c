/* SPDX-License-Identifier: MIT */
/* The console's files: where they are looked for, what is read, and what of a damaged folder is told. */
#include "cron/alloc_fail.h"
#include "http/web_folder.h"

static struct errctx ec;

/* The library behind it ends the process where it gets no memory. */
void __real_md5_hex(const void *data, size_t len, char out[33]);
void __wrap_md5_hex(const void *data, size_t len, char out[33]);
void __wrap_md5_hex(const void *data, size_t len, char out[33])
{
    long until = alloc_until_fail;

    alloc_until_fail = 0;
    __real_md5_hex(data, len, out);
    alloc_until_fail = until;
}

static struct web *load(void)
{
    struct web *web = NULL;

    errctx_clear(&ec);
    if (web_load(folder, &web, &ec))
        fail_msg("%s", ec.text);
    return web;
}

static void expect_refused(enum err e, const char *why)
{
    struct web *web = NULL;

    errctx_clear(&ec);
    assert_int_equal(web_load(folder, &web, &ec), e);
    assert_null(web);
    if (!strstr(ec.text, why))
        fail_msg("\"%s\" is not in \"%s\"", why, ec.text);
}

static void files_have_their_path_and_type(void **state)
{
    static const struct {
        const char *path, *type;
    } cases[] = {
        {"index.html", "text/html; charset=utf-8"},
        {"assets/index-B4x.js", "text/javascript; charset=utf-8"},
        {"assets/index-C.css", "text/css; charset=utf-8"},
        {"assets/deeper/still/font.woff2", "font/woff2"},
        {"favicon.svg", "image/svg+xml"},
        {"docs/jobs.html", "text/html; charset=utf-8"},
        {"README", "application/octet-stream"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        folder_add(cases[i].path, i ? cases[i].path : INDEX_TEXT);
    folder_add(".stamp", "x");
    folder_add("assets/.hidden.js", "x");
    folder_add("empty.txt", "");
    struct web *web = load();
    assert_int_equal(web_count_files(web), ARRAY_LEN(cases) + 1);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct web_file *file = web_find_file(web, cases[i].path);
        assert_non_null(file);
        assert_string_equal(file->content_type, cases[i].type);
        assert_int_equal(file->bytes.len, strlen(i ? cases[i].path : INDEX_TEXT));
    }
    assert_string_equal(web_find_file(web, "README")->digest, "c47c7c7383225ab55ff591cb59c41e6b");
    assert_int_equal(web_find_file(web, "empty.txt")->bytes.len, 0);
    static const char *const absent[] = {"",
                                         "assets",
                                         "assets/",
                                         "assets/index-B4x.jsx",
                                         "assets/index-B4x.j",
                                         "/index.html",
                                         "../index.html",
                                         ".stamp",
                                         "assets/../index.html"};
    for (size_t i = 0; i < ARRAY_LEN(absent); i++)
        assert_null(web_find_file(web, absent[i]));
    assert_null(web_find_file(NULL, "index.html"));
    web_destroy(web);
}

static void a_compressed_twin_is_no_file_of_its_own(void **state)
{
    (void)state;
    folder_add("index.html", INDEX_TEXT);
    folder_add("assets/a.js", "aaaaaaaaaa");
    folder_add("assets/a.js-b.js", "sorts in between");
    folder_add("assets/a.js.gz", "small");
    folder_add("assets/b.js", "tiny");
    folder_add("assets/b.js.gz", "larger than it");
    folder_add("assets/alone.gz", "alone");
    struct web *web = load();
    const struct web_file *a = web_find_file(web, "assets/a.js");
    assert_string_equal(a->bytes.data, "aaaaaaaaaa");
    assert_string_equal(a->gzip.data, "small");
    assert_int_equal(web_find_file(web, "assets/b.js")->gzip.len, 0);
    assert_null(web_find_file(web, "assets/a.js.gz"));
    assert_null(web_find_file(web, "assets/b.js.gz"));
    assert_non_null(web_find_file(web, "assets/alone.gz"));
    assert_non_null(web_find_file(web, "assets/a.js-b.js"));
    web_destroy(web);
}

static void what_is_no_console_is_told(void **state)
{
    (void)state;
    expect_refused(ERR_INPUT, "there is no index.html");
    folder_add("index.html", "");
    expect_refused(ERR_INPUT, "it has no %BASE% or no %NONCE%");
    folder_add("index.html", "<base href=\"%BASE%\">");
    expect_refused(ERR_INPUT, "it has no %BASE% or no %NONCE%");
    folder_add("index.html", INDEX_TEXT);
    folder_add("1/2/3/file", "is read");
    web_destroy(load());
    folder_add("1/2/3/4/file", "is too deep");
    expect_refused(ERR_INPUT, "1/2/3/4 is more than 4 folders deep");
}

static void links_are_followed_but_not_for_ever(void **state)
{
    char to[sizeof folder];

    (void)state;
    folder_add("index.html", INDEX_TEXT);
    folder_add("a.txt", "text");
    assert_int_equal(symlink("a.txt", folder_path("b.txt")), 0);
    struct web *web = load();
    assert_string_equal(web_find_file(web, "b.txt")->bytes.data, "text");
    web_destroy(web);
    assert_int_equal(symlink("nowhere", folder_path("c.txt")), 0);
    expect_refused(ERR_IO, "cannot read c.txt: No such file");
    assert_int_equal(remove(folder_path("c.txt")), 0);
    strcpy(to, folder);
    assert_int_equal(symlink(to, folder_path("loop")), 0);
    expect_refused(ERR_INPUT, "is more than 4 folders deep");
}

static void there_are_limits(void **state)
{
    char name[100];

    (void)state;
    folder_add("index.html", INDEX_TEXT);
    folder_add("large.js", "");
    assert_int_equal(truncate(folder_path("large.js"), WEB_BYTES_MAX + 1), 0);
    expect_refused(ERR_INPUT, "larger than 64 MiB in total");
    assert_int_equal(truncate(folder_path("large.js"), WEB_BYTES_MAX - 10), 0);
    expect_refused(ERR_INPUT, "larger than 64 MiB in total");
    assert_int_equal(remove(folder_path("large.js")), 0);
    for (int i = 0; i < WEB_FILES_MAX; i++) {
        snprintf(name, sizeof name, "assets/%d", i);
        folder_add(name, "");
    }
    expect_refused(ERR_INPUT, "more than 2000 files");
    assert_int_equal(remove(folder_path("assets/7")), 0);
    web_destroy(load());
}

static void a_folder_that_is_not_there(void **state)
{
    struct web *web;

    (void)state;
    assert_int_equal(web_load("/nonexistent/web", &web, &ec), ERR_IO);
    assert_non_null(strstr(ec.text, "No such file or directory"));
    folder_add("file", "");
    assert_int_equal(web_load(folder_path("file"), &web, &ec), ERR_IO);
    assert_non_null(strstr(ec.text, "Not a directory"));
}

static void it_is_found_beside_the_program(void **state)
{
    struct buf dir = {0};
    char program[1000];

    (void)state;
    assert_true(web_find_dir("/opt/console", "/usr/bin/shardwheel", &dir));
    assert_string_equal(dir.data, "/opt/console");
    strcpy(program, folder_path("build/release/shardwheel"));
    assert_false(web_find_dir("", program, &dir));
    folder_add("build/web/index.html", "");
    assert_true(web_find_dir(NULL, program, &dir));
    assert_string_equal(dir.data, folder_path("build/web"));
    strcpy(program, folder_path("other/release/shardwheel")); /* a neighbour "web" of a program is not ours elsewhere */
    folder_add("other/web/index.html", "");
    assert_false(web_find_dir("", program, &dir));
    folder_add("build/share/shardwheel/web/index.html", "");
    strcpy(program, folder_path("build/bin/shardwheel"));
    assert_true(web_find_dir("", program, &dir));
    assert_string_equal(dir.data, folder_path("build/share/shardwheel/web"));
    assert_false(web_find_dir("", "", &dir));
    assert_false(web_find_dir("", "shardwheel", &dir));
    assert_false(web_find_dir("", "/bin/nothing-of-ours", &dir));
    buf_fini(&dir);
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    folder_add("index.html", INDEX_TEXT);
    folder_add("assets/a.js", "aaaaaaaaaa");
    folder_add("assets/a.js.gz", "small");
    web_destroy(load()); /* what is made once is made */
    for (long n = 1; alloc_fail_works; n++) {
        struct web *web = NULL;
        long live = alloc_live;
        alloc_fail_start(n);
        enum err e = web_load(folder, &web, &ec);
        bool failed = alloc_fail_stop();
        web_destroy(web);
        assert_int_equal(alloc_live, live);
        assert_true(failed == (e != ERR_OK));
        if (!failed)
            break;
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, folder_create, folder_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(files_have_their_path_and_type),
        CASE(a_compressed_twin_is_no_file_of_its_own),
        CASE(what_is_no_console_is_told),
        CASE(links_are_followed_but_not_for_ever),
        CASE(there_are_limits),
        CASE(a_folder_that_is_not_there),
        CASE(it_is_found_beside_the_program),
        CASE(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
