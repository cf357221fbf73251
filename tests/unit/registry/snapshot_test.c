/* SPDX-License-Identifier: MIT */
/* What routes see of a group's address list, whoever wrote it. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "registry/internal.h"

static const struct registry_snapshot *create(struct group_row *rows, size_t count)
{
    struct group_list list = {.rows = rows, .count = count};
    const struct registry_snapshot *snap = NULL;
    struct errctx ec;

    assert_int_equal(snapshot_create(&list, &snap, &ec), ERR_OK);
    return snap;
}

/* The addresses with a bar between them. */
static void join(const struct registry_group *group, char *out)
{
    out[0] = '\0';
    for (size_t i = 0; i < group->count; i++)
        sprintf(out + strlen(out), "%s%s", i ? "|" : "", group->addresses[i]);
}

static void lists_are_read_as_they_were_typed(void **state)
{
    static const struct {
        const char *list, *seen;
    } cases[] = {
        {"", ""},
        {" ", ""},
        {",", ""},
        {"http://b/,http://a/", "http://b/|http://a/"}, /* the order stays */
        {"http://a/,,", "http://a/"},
        {"http://a/,,http://b/", "http://a/|http://b/"},
        {" http://a/ ,\thttp://b/\n", "http://a/|http://b/"},
        {"http://a b/", "http://a b/"},     /* not our business: its fires say that it is no URL */
        {"10.0.0.1:9999", "10.0.0.1:9999"}, /* likewise */
        {"http://b/,http://a/,http://b/", "http://b/|http://a/"}, /* each once, where it stood first */
        {"http://c/,http://b/, http://c/ ,http://a/,http://b/,http://c/", "http://c/|http://b/|http://a/"},
        {"http://a/,http://a/", "http://a/"},
        {"http://a/,http://A/,http://a", "http://a/|http://A/|http://a"}, /* other texts */
    };
    char seen[200];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct group_row rows[] = {{1, true, "x", cases[i].list, ""}, {2, false, "y", "http://y/", ""}};
        const struct registry_snapshot *snap = create(rows, 2);

        join(registry_find_group(snap, 1), seen);
        assert_string_equal(seen, cases[i].seen);
        join(registry_find_group(snap, 2), seen);
        assert_string_equal(seen, "http://y/");
        registry_put_snapshot(snap);
    }
}

/* A thousand addresses, each three times. */
static void long_lists_have_each_address_once(void **state)
{
    enum { N = 1000 };
    char *list = calloc(3 * N, 32);
    size_t at = 0, listed, missing;

    (void)state;
    for (int i = 0; i < 3 * N; i++)
        at += (size_t)sprintf(list + at, "http://h%d/,", i * 7 % N);
    struct group_row row = {1, false, "x", list, ""};
    const struct registry_snapshot *snap = create(&row, 1);
    const struct registry_group *group = registry_find_group(snap, 1);

    assert_int_equal(group->count, N);
    for (int i = 0; i < N; i++) {
        char text[32];

        sprintf(text, "http://h%d/", i * 7 % N);
        assert_string_equal(group->addresses[i], text);
        snapshot_count_address(snap, "x", text, &listed, &missing);
        assert_int_equal(listed, 1);
        assert_int_equal(missing, 0);
    }
    registry_put_snapshot(snap);
    free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_read_as_they_were_typed),
        cmocka_unit_test(long_lists_have_each_address_once),
    };

    return cmocka_run_group_tests_name("registry.snapshot", tests, NULL, NULL);
}
