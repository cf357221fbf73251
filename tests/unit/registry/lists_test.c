/* SPDX-License-Identifier: MIT */
#include "registry/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct list_changes compute(struct group_row *groups, size_t group_count, struct registry_row *rows,
                                   size_t count)
{
    struct group_list g = {.rows = groups, .count = group_count};
    struct registry_list r = {.rows = rows, .count = count};
    struct list_changes changes = {0};
    struct errctx ec;
    assert_int_equal(lists_compute(&g, &r, &changes, &ec), ERR_OK);
    return changes;
}

static void joins_sorted_without_duplicates(void **state)
{
    (void)state;
    struct group_row groups[] = {{1, false, "a", "", ""}, {2, false, "b", "", ""}};
    struct registry_row rows[] = {
        {"EXECUTOR", "a", "http://10.0.0.9:1/"}, {"EXECUTOR", "a", "http://10.0.0.10:1/"},
        {"EXECUTOR", "a", "http://10.0.0.9:1/"}, {"EXECUTOR", "b", "http://b/"},
        {"ADMIN", "a", "http://admin/"},         {"EXECUTOR", "A", "http://other-case/"},
        {"EXECUTOR", "a ", "http://blank/"},
    };
    struct list_changes c = compute(groups, 2, rows, ARRAY_LEN(rows));
    assert_int_equal(c.count, 2);
    assert_int_equal(c.changes[0].group, 1);
    assert_string_equal(c.changes[0].new_list, "http://10.0.0.10:1/,http://10.0.0.9:1/");
    assert_string_equal(c.changes[1].new_list, "http://b/");
    lists_fini(&c);
}

static void leaves_manual_and_unchanged_groups_alone(void **state)
{
    (void)state;
    struct group_row groups[] = {
        {1, true, "a", "http://manual/", ""}, {2, false, "a", "http://x/", ""}, {3, false, "gone", "http://old/", ""}};
    struct registry_row rows[] = {{"EXECUTOR", "a", "http://x/"}};
    struct list_changes c = compute(groups, 3, rows, 1);
    assert_int_equal(c.count, 1);
    assert_int_equal(c.changes[0].group, 3);
    assert_string_equal(c.changes[0].old_list, "http://old/");
    assert_string_equal(c.changes[0].new_list, "");
    lists_fini(&c);
}

static void keeps_what_fits_into_the_column(void **state)
{
    (void)state;
    enum { N = 2000 };
    struct group_row groups[] = {{1, false, "a", "", ""}};
    struct registry_row *rows = calloc(N, sizeof(*rows));
    char(*values)[64] = calloc(N, sizeof(*values));
    for (int i = 0; i < N; i++) { /* 36 bytes each, 37 with the comma: 65,535 take 1,771 of them */
        snprintf(values[i], sizeof(values[i]), "http://executor-%05d.example:9999/%02d", i, i % 100);
        rows[N - 1 - i] = (struct registry_row){"EXECUTOR", "a", values[i]};
    }
    size_t each = strlen(values[0]) + 1;
    struct list_changes c = compute(groups, 1, rows, N);
    assert_int_equal(c.cut, 1);
    size_t len = strlen(c.changes[0].new_list);
    assert_true(len <= ADDRESS_LIST_MAX && len + each > ADDRESS_LIST_MAX);
    assert_int_equal((len + 1) % each, 0); /* whole addresses only */
    assert_memory_equal(c.changes[0].new_list, values[0], each - 1);
    lists_fini(&c);
    free(values);
    free(rows);
}

/* One UTF-8 character of the code point; returns its length. */
static int put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    int len = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (int i = len - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(lead[len] | c);
    return len;
}

static int put_utf16(uint16_t *out, uint32_t c)
{
    if (c < 0x10000) {
        out[0] = (uint16_t)c;
        return 1;
    }
    out[0] = (uint16_t)(0xd800 + ((c - 0x10000) >> 10));
    out[1] = (uint16_t)(0xdc00 + ((c - 0x10000) & 0x3ff));
    return 2;
}

/* Against the plain definition: the code units one by one. */
static void compares_like_java(void **state)
{
    (void)state;
    static const uint32_t edges[] = {'a',    'b',    0x7f,   0x80,    0x7ff,   0x800,   0xd7ff,
                                     0xe000, 0xfffd, 0xffff, 0x10000, 0x1f600, 0x10ffff};
    unsigned seed = 12345;
    for (int round = 0; round < 200000; round++) {
        char text[2][32];
        uint16_t units[2][16];
        int count[2];
        for (int k = 0; k < 2; k++) {
            int len = rand_r(&seed) % 5, bytes = 0;
            count[k] = 0;
            for (int i = 0; i < len; i++) {
                uint32_t c = edges[(unsigned)rand_r(&seed) % ARRAY_LEN(edges)];
                bytes += put_utf8(text[k] + bytes, c);
                count[k] += put_utf16(units[k] + count[k], c);
            }
            text[k][bytes] = '\0';
        }
        int expected = 0;
        for (int i = 0; !expected && (i < count[0] || i < count[1]); i++)
            expected = (i < count[0] ? units[0][i] : -1) - (i < count[1] ? units[1][i] : -1);
        int got = lists_compare_utf16(text[0], text[1]);
        assert_int_equal((got > 0) - (got < 0), (expected > 0) - (expected < 0));
    }
}

/* Random rows: every list is sorted, has no duplicate, and holds exactly the addresses of its name. */
static void lists_are_sets_in_order(void **state)
{
    (void)state;
    unsigned seed = 99;
    for (int round = 0; round < 300; round++) {
        enum { ROWS = 60, APPS = 4 };
        char values[ROWS][24], apps[APPS][4] = {"a", "A", "aa", "b"};
        struct registry_row rows[ROWS];
        struct group_row groups[APPS];
        for (int i = 0; i < APPS; i++)
            groups[i] = (struct group_row){i + 1, false, apps[i], "none", ""};
        for (int i = 0; i < ROWS; i++) {
            snprintf(values[i], sizeof(values[i]), "http://h%d:%d/", rand_r(&seed) % 12, rand_r(&seed) % 3);
            rows[i] =
                (struct registry_row){rand_r(&seed) % 5 ? "EXECUTOR" : "ADMIN", apps[rand_r(&seed) % APPS], values[i]};
        }
        struct list_changes c = compute(groups, APPS, rows, ROWS);
        assert_int_equal(c.count, APPS);
        for (int g = 0; g < APPS; g++) {
            char *save = NULL, *previous = NULL;
            size_t items = 0;
            char *copy = strdup(c.changes[g].new_list);
            for (char *item = strtok_r(copy, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
                assert_true(!previous || strcmp(previous, item) < 0);
                bool known = false;
                for (int i = 0; i < ROWS; i++)
                    known |=
                        !strcmp(rows[i].group, "EXECUTOR") && !strcmp(rows[i].key, apps[g]) && !strcmp(values[i], item);
                assert_true(known);
                previous = item;
                items++;
            }
            size_t distinct = 0;
            for (int i = 0; i < ROWS; i++) {
                bool first = !strcmp(rows[i].group, "EXECUTOR") && !strcmp(rows[i].key, apps[g]);
                for (int k = 0; k < i && first; k++)
                    first = strcmp(rows[k].group, "EXECUTOR") || strcmp(rows[k].key, apps[g]) ||
                            strcmp(values[k], values[i]);
                distinct += first;
            }
            assert_int_equal(items, distinct);
            free(copy);
        }
        lists_fini(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joins_sorted_without_duplicates), cmocka_unit_test(leaves_manual_and_unchanged_groups_alone),
        cmocka_unit_test(keeps_what_fits_into_the_column), cmocka_unit_test(compares_like_java),
        cmocka_unit_test(lists_are_sets_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
