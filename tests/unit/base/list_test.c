/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "shardwheel/base.h"

#include <stdlib.h>
#include <string.h>

static void numbers_sort_ascending(void **state)
{
    int64_t list[] = {3, INT64_MAX, -1, INT64_MIN, INT64_C(1) << 32, 0, 3, -(INT64_C(1) << 32)};
    const int64_t sorted[] = {INT64_MIN, -(INT64_C(1) << 32), -1, 0, 3, 3, INT64_C(1) << 32, INT64_MAX};
    int64_t absent = 1;

    (void)state;
    qsort(list, ARRAY_LEN(list), sizeof *list, compare_int64);
    assert_memory_equal(list, sorted, sizeof sorted);
    for (size_t i = 0; i < ARRAY_LEN(sorted); i++) {
        int64_t *found = bsearch(&sorted[i], list, ARRAY_LEN(list), sizeof *list, compare_int64);

        assert_non_null(found);
        assert_int_equal(*found, sorted[i]);
    }
    assert_null(bsearch(&absent, list, ARRAY_LEN(list), sizeof *list, compare_int64));
    assert_int_equal(sort_distinct(list, ARRAY_LEN(list)), ARRAY_LEN(list) - 1);
    assert_memory_equal(list, sorted, 4 * sizeof *list);
    assert_memory_equal(list + 4, sorted + 5, 3 * sizeof *list);
    assert_int_equal(sort_distinct(NULL, 0), 0);
}

static void lists_grow(void **state)
{
    int64_t *list = NULL, **none = NULL;

    (void)state;
    for (size_t i = 0; i < 1000; i++) { /* the sanitizer watches the end of it */
        assert_true(list_grow(&list, i, sizeof *list));
        list[i] = (int64_t)i;
    }
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(list[i], i);
    for (size_t i = 100; i < 400; i++) { /* shorter again, and longer */
        assert_true(list_grow(&list, i, sizeof *list));
        list[i] = -1;
    }
    assert_int_equal(list[99], 99);
    assert_false(list_grow(&list, SIZE_MAX / 4 + 1, sizeof *list));
    assert_int_equal(list[99], 99);
    assert_true(list_grow(&none, 0, sizeof(int64_t *)));
    free(list);
    free(none);
}

static void items_are_found_by_their_number(void **state)
{
    const struct item {
        int64_t id;
        char name;
    } list[] = {{INT64_MIN, 'a'}, {-3, 'b'}, {5, 'c'}, {INT64_MAX, 'd'}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(list); i++) {
        const struct item *found = list_find(list, ARRAY_LEN(list), sizeof *list, list[i].id);
        assert_ptr_equal(found, &list[i]);
        assert_int_equal(list_find_place(list, ARRAY_LEN(list), sizeof *list, list[i].id), i);
    }
    assert_int_equal(list_find_place(list, ARRAY_LEN(list), sizeof *list, -2), 2);
    assert_int_equal(list_find_place(list, ARRAY_LEN(list), sizeof *list, 6), 3);
    assert_int_equal(list_find_place(list, 3, sizeof *list, 6), 3);
    assert_null(list_find(list, ARRAY_LEN(list), sizeof *list, 0));
    assert_null(list_find(NULL, 0, 8, 0));
    assert_int_equal(list_find_place(NULL, 0, 8, 0), 0);
}

struct pair {
    const char *name;
    int64_t big;
    int small;
};

COMPARE_BY_TWO(compare_by_two, struct pair, small, big)
COMPARE_AT(compare_at, struct pair, big)

static void structs_sort_by_their_members(void **state)
{
    struct pair list[] = {{"b", INT64_MAX, 2}, {"d", INT64_MIN, 2}, {"a", 0, -1}, {"c", INT64_MIN, -1}};
    const struct pair *at[] = {&list[0], &list[1], &list[2]};
    char names[5] = "";

    (void)state;
    qsort(at, ARRAY_LEN(at), sizeof *at, compare_at);
    assert_ptr_equal(at[0], &list[1]);
    assert_ptr_equal(at[2], &list[0]);
    assert_int_equal(compare_numbers(INT64_MIN, INT64_MIN), 0);
    assert_true(compare_numbers(INT64_MIN, INT64_MAX) < 0);
    assert_true(compare_numbers(INT64_MAX, INT64_MIN) > 0);
    qsort(list, ARRAY_LEN(list), sizeof *list, compare_by_two);
    for (size_t i = 0; i < ARRAY_LEN(list); i++)
        names[i] = *list[i].name;
    assert_string_equal(names, "cadb");
    qsort(list, ARRAY_LEN(list), sizeof *list, compare_texts);
    for (size_t i = 0; i < ARRAY_LEN(list); i++)
        names[i] = *list[i].name;
    assert_string_equal(names, "abcd");
}

static int compare_name(const void *name, const void *pair)
{
    return strcmp(name, ((const struct pair *)pair)->name);
}

static void the_first_place_is_found_by_any_key(void **state)
{
    const struct pair list[] = {{"a", 1, 0}, {"b", 2, 0}, {"b", 3, 0}, {"d", 4, 0}};
    const struct {
        const char *key;
        size_t place;
    } cases[] = {{"", 0}, {"a", 0}, {"b", 1}, {"c", 3}, {"d", 3}, {"e", 4}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(list_find_first(cases[i].key, list, ARRAY_LEN(list), sizeof *list, compare_name),
                         cases[i].place);
    assert_int_equal(list_find_first("a", NULL, 0, sizeof *list, compare_name), 0);
}

static void texts_are_found_in_any_order(void **state)
{
    static const char *const list[] = {"GET", "", "POST"};

    (void)state;
    assert_true(list_has_text(list, 3, "POST"));
    assert_true(list_has_text(list, 3, ""));
    assert_false(list_has_text(list, 2, "POST"));
    assert_false(list_has_text(list, 3, "POS"));
    assert_false(list_has_text(list, 3, "post"));
    assert_false(list_has_text(NULL, 0, "GET"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_sort_ascending),
        cmocka_unit_test(lists_grow),
        cmocka_unit_test(items_are_found_by_their_number),
        cmocka_unit_test(structs_sort_by_their_members),
        cmocka_unit_test(the_first_place_is_found_by_any_key),
        cmocka_unit_test(texts_are_found_in_any_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
