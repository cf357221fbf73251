/* SPDX-License-Identifier: MIT */
/* The folder of a private server is one user's alone, and nobody else's folder is closed to him. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shardwheel/store/private_server.h"
#include "store/conn/private_folder.h"

static char base[64];
static struct private_folder made;
static struct errctx ec;

static int set_up(void **state)
{
    (void)state;
    snprintf(base, sizeof base, "/tmp/shardwheel-test-XXXXXX");
    return mkdtemp(base) && chmod(base, 0755) == 0 ? 0 : 1; /* the server's user may have to pass */
}

static int tear_down(void **state)
{
    char command[100];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", base);
    return system(command);
}

static const char *path_of(const char *name)
{
    static char path[2000];

    snprintf(path, sizeof path, "%s/%s", base, name);
    return path;
}

static void add_folder(const char *name, mode_t mode)
{
    assert_int_equal(mkdir(path_of(name), 0700), 0);
    assert_int_equal(chmod(path_of(name), mode), 0);
}

static void add_file(const char *name)
{
    FILE *file = fopen(path_of(name), "w");

    assert_non_null(file);
    fclose(file);
}

static mode_t get_mode(const char *name)
{
    struct stat st;

    assert_int_equal(stat(path_of(name), &st), 0);
    return st.st_mode & 0777;
}

static enum err make(const char *path)
{
    made = (struct private_folder){0};
    return private_folder_make(&made, path, &ec);
}

static void expect_made(const char *name)
{
    struct stat st;

    if (make(path_of(name)))
        fail_msg("%s: %s", name, ec.text);
    assert_string_equal(made.dir, path_of(name));
    assert_int_equal(get_mode(name), 0700);
    assert_int_equal(stat(path_of(name), &st), 0);
    assert_int_equal(st.st_uid, made.uid);
    assert_int_not_equal(made.uid, 0);
    assert_int_equal(private_folder_has_other_user(&made), geteuid() == 0);
}

static void expect_refused(const char *name, enum err expected, const char *text)
{
    assert_int_equal(make(path_of(name)), expected);
    if (!strstr(ec.text, text))
        fail_msg("%s: %s", name, ec.text);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void a_new_folder_is_closed(void **state)
{
    (void)state;
    expect_made("new");
    expect_made("new"); /* and once more */
    add_folder("way", 0755);
    expect_made("way/it");
    assert_int_equal(get_mode("way"), 0755);
}

static void an_empty_one_is_closed(void **state)
{
    (void)state;
    add_folder("empty", 0777);
    expect_made("empty");
}

static void a_folder_with_other_things_is_left_as_it_is(void **state)
{
    (void)state;
    add_folder("open", 0755);
    add_file("open/letter");
    expect_refused("open", ERR_INPUT, "is open to other users (mode 755) and has other files");
    assert_int_equal(get_mode("open"), 0755);
    assert_int_equal(chmod(path_of("open"), 0701), 0);
    expect_refused("open", ERR_INPUT, "(mode 701)");
    assert_int_equal(chmod(path_of("open"), 0710), 0);
    expect_refused("open", ERR_INPUT, "(mode 710)");
    assert_int_equal(chmod(path_of("open"), 0700), 0);
    expect_made("open");
}

/* Who could write into it may have put something there. */
static void one_of_ours_that_others_could_write_into_is_refused(void **state)
{
    (void)state;
    add_folder("ours", 0755);
    add_file("ours/lock");
    add_file("ours/letter");
    expect_made("ours");
    assert_int_equal(chmod(path_of("ours"), 0720), 0);
    expect_refused("ours", ERR_INPUT, "other users can write to the data folder");
    assert_non_null(strstr(ec.text, "(mode 720)"));
    assert_int_equal(get_mode("ours"), 0720);
    assert_int_equal(chmod(path_of("ours"), 0702), 0);
    expect_refused("ours", ERR_INPUT, "(mode 702)");
}

static void what_is_no_folder_is_refused(void **state)
{
    (void)state;
    add_file("file");
    expect_refused("file", ERR_INPUT, "is not a folder");
    expect_refused("file/in", ERR_IO, "Not a directory");
}

/* The address of a socket has room for so many characters. */
static void a_name_has_a_bound(void **state)
{
    char name[PATH_MAX + 100];
    size_t most = sizeof made.socket - 1 - strlen(base) - 2 - strlen(PRIVATE_SERVER_SOCKET);

    (void)state;
    memset(name, 'x', sizeof name);
    name[most + 1] = '\0';
    expect_refused(name, ERR_INPUT, "is too deep");
    name[most] = '\0';
    expect_made(name);
    assert_int_equal(strlen(made.socket), sizeof made.socket - 1);
    memset(name, '/', sizeof name);
    name[sizeof name - 1] = '\0';
    assert_int_equal(make(name), ERR_INPUT);
    assert_non_null(strstr(ec.text, "too long"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_new_folder_is_closed),
        TEST(an_empty_one_is_closed),
        TEST(a_folder_with_other_things_is_left_as_it_is),
        TEST(one_of_ours_that_others_could_write_into_is_refused),
        TEST(what_is_no_folder_is_refused),
        TEST(a_name_has_a_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
