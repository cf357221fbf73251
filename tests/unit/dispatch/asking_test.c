/* SPDX-License-Identifier: MIT */
/* Who is asked next, for how long, and what is told of it. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/asking.h"

#define NOW 5000

static struct registry_group group_of(const char *const *addresses, size_t count)
{
    return (struct registry_group){.id = 3, .app_name = "app", .addresses = addresses, .count = count};
}

static void each_has_the_time_of_a_call_and_all_a_bound(void **state)
{
    static const struct {
        int64_t left_ms, timeout_ms, asked; /* how many, when nobody answers in time */
        int64_t last_ms;                    /* how long the last of these has */
    } cases[] = {
        {20000, 3000, 3, 1800},                          /* 3,000 + 3,000 + 1,800 */
        {20000, 10000, 1, 7800}, {20000, 1000, 5, 1000}, /* all five */
        {4000, 3000, 2, 1000},                           /* the fire must not go out any later */
        {100, 3000, 1, 100},     {0, 3000, 0, 0},        {-5, 3000, 0, 0},
    };
    static const char *const five[] = {"http://a/", "http://b/", "http://c/", "http://d/", "http://e/"};
    struct registry_group group = group_of(five, 5);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct asking *a = asking_create(ROUTE_ASK_ALIVE);
        int64_t now = NOW, asked = 0, last_ms = 0;
        const char *address;

        while ((address = asking_get_next(a, &group, now, cases[i].left_ms - (now - NOW), cases[i].timeout_ms))) {
            assert_string_equal(address, five[asked]);
            last_ms = a->until_mono_ms - now;
            now = a->until_mono_ms;
            asked++;
            asking_note_no(a, address, 500, "no answer");
        }
        assert_int_equal(asked, cases[i].asked);
        assert_int_equal(last_ms, cases[i].last_ms);
        assert_true(now - NOW <= 8000);
        asking_destroy(a);
    }
}

static void the_protocol_names_each_with_code_and_text(void **state)
{
    static const char *const list[] = {"http://a/", "b:9999", "http://c/"};
    struct registry_group group = group_of(list, 3);
    struct asking *a = asking_create(ROUTE_ASK_IDLE);

    (void)state;
    assert_string_equal(asking_get_protocol(a), "");
    assert_string_equal(asking_get_next(a, &group, NOW, 20000, 3000), list[0]);
    assert_string_equal(asking_get_next(a, &group, NOW, 20000, 3000), list[0]); /* still */
    asking_note_no(a, list[0], 500, "<running>");
    assert_string_equal(asking_get_next(a, &group, NOW, 20000, 3000), list[2]);
    asking_note_no(a, list[2], 201, NULL);
    assert_null(asking_get_next(a, &group, NOW, 20000, 3000));
    assert_string_equal(asking_get_protocol(a),
                        "<br><br>idle check<br>address: http://a/<br>code: 500<br>msg: &lt;running&gt;"
                        "<br><br>idle check<br>address: b:9999<br>code: 500<br>msg: the address is no http URL"
                        "<br><br>idle check<br>address: http://c/<br>code: 201<br>msg: ");
    assert_non_null(strstr(asking_get_reason(a), "idle"));
    asking_destroy(a);
}

static void who_is_not_asked_any_more_is_told(void **state)
{
    static const char *const list[] = {"http://a/", "http://b/", "http://c/", "http://d/"};
    struct registry_group group = group_of(list, 4);
    struct asking *a = asking_create(ROUTE_ASK_ALIVE);

    (void)state;
    assert_string_equal(asking_get_next(a, &group, NOW, 20000, 9000), list[0]);
    asking_note_no(a, list[0], 500, "no answer within 7800 ms");
    assert_null(asking_get_next(a, &group, a->until_mono_ms, 20000, 9000));
    assert_string_equal(asking_get_protocol(a),
                        "<br><br>heartbeat<br>address: http://a/<br>code: 500<br>msg: no answer within 7800 ms"
                        "<br><br>heartbeat<br>address: http://b/<br>code: 500<br>msg: not asked: the time for asking "
                        "is over<br><br>and 2 more");
    assert_non_null(strstr(asking_get_reason(a), "lives"));
    asking_destroy(a);
}

/* Long lists and texts: some thousand bytes, and how many more there were. */
static void the_protocol_is_bounded(void **state)
{
    enum { N = 300 };
    static char texts[N][64], text[20000];
    static const char *list[N];
    struct registry_group group = group_of(list, N);
    struct asking *a = asking_create(ROUTE_ASK_ALIVE);
    const char *protocol;
    size_t entries = 0;
    char more[40];

    (void)state;
    memset(text, '<', sizeof text - 1);
    for (int i = 0; i < N; i++) {
        snprintf(texts[i], sizeof texts[i], "http://host%d:9999/", i);
        list[i] = texts[i];
    }
    for (int i = 0; i < N; i++)
        asking_note_no(a, asking_get_next(a, &group, NOW, 20000, 3000), 500, text);
    assert_null(asking_get_next(a, &group, NOW, 20000, 3000));
    protocol = asking_get_protocol(a);
    assert_in_range(strlen(protocol), 4000, 5000);
    for (const char *at = protocol; (at = strstr(at, "heartbeat")) != NULL; at++)
        entries++;
    snprintf(more, sizeof more, "<br><br>and %zu more", N - entries);
    assert_string_equal(protocol + strlen(protocol) - strlen(more), more);
    asking_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_has_the_time_of_a_call_and_all_a_bound),
        cmocka_unit_test(the_protocol_names_each_with_code_and_text),
        cmocka_unit_test(who_is_not_asked_any_more_is_told),
        cmocka_unit_test(the_protocol_is_bounded),
    };

    return cmocka_run_group_tests_name("dispatch.asking", tests, NULL, NULL);
}
