/* SPDX-License-Identifier: MIT */
#include "registry/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct beat_queue *make(size_t max)
{
    struct beat_queue *q = malloc(sizeof(*q));
    beats_init(q, max);
    return q;
}

static void drop(struct beat_queue *q)
{
    beats_fini(q);
    free(q);
}

static void newer_word_replaces_older(void **state)
{
    (void)state;
    struct beat_queue *q = make(10);
    struct errctx ec;
    size_t count;
    assert_int_equal(beats_put(q, "EXECUTOR", "a", "x", false, 100, &ec), ERR_OK);
    assert_int_equal(beats_put(q, "EXECUTOR", "a", "y", false, 101, &ec), ERR_OK);
    assert_int_equal(beats_put(q, "EXECUTOR", "a", "x", true, 102, &ec), ERR_OK);
    assert_int_equal(q->count, 2);
    struct beat_entry *list = beats_take(q, 10, &count);
    assert_int_equal(count, 2);
    assert_string_equal(list->value, "x");
    assert_true(list->remove);
    assert_int_equal(list->queued_mono_ms, 100);
    assert_int_equal(list->taken_mono_ms, 102);
    assert_string_equal(list->next->value, "y");
    assert_null(beats_take(q, 10, &count));
    beats_destroy_list(list);
    drop(q);
}

/* "ab" + "c" and "a" + "bc" are two executors. */
static void texts_do_not_run_together(void **state)
{
    (void)state;
    struct beat_queue *q = make(10);
    struct errctx ec;
    assert_int_equal(beats_put(q, "E", "ab", "c", false, 1, &ec), ERR_OK);
    assert_int_equal(beats_put(q, "E", "a", "bc", false, 1, &ec), ERR_OK);
    assert_int_equal(q->count, 2);
    drop(q);
}

static void is_bounded(void **state)
{
    (void)state;
    struct beat_queue *q = make(100);
    struct errctx ec;
    char value[16];
    size_t count;
    for (int i = 0; i < 100; i++) {
        snprintf(value, sizeof(value), "%d", i);
        assert_int_equal(beats_put(q, "E", "a", value, false, i, &ec), ERR_OK);
    }
    assert_int_equal(beats_put(q, "E", "a", "new", false, 1, &ec), ERR_BUSY);
    assert_non_null(strstr(ec.text, "100 heartbeats"));
    assert_int_equal(beats_put(q, "E", "a", "7", false, 1, &ec), ERR_OK); /* it waits already */
    struct beat_entry *list = beats_take(q, 30, &count);
    assert_int_equal(count, 30);
    assert_int_equal(q->count, 70);
    assert_int_equal(beats_put(q, "E", "a", "3", true, 5, &ec), ERR_OK);
    beats_give_back(q, list); /* "3" was replaced meanwhile, the other 29 come back */
    assert_int_equal(q->count, 100);
    list = beats_take(q, 1000, &count);
    assert_int_equal(count, 100);
    int removals = 0;
    for (struct beat_entry *e = list; e; e = e->next)
        removals += e->remove;
    assert_int_equal(removals, 1);
    assert_null(q->oldest);
    assert_null(q->newest);
    beats_destroy_list(list);
    drop(q);
}

static void generations_are_bounded_and_forgettable(void **state)
{
    (void)state;
    struct generations *g = malloc(sizeof(*g));
    char address[40];
    generations_init(g);
    assert_false(generations_has(g, "http://a/"));
    generations_note(g, "http://a/", true);
    generations_note(g, "http://a/", true);
    assert_true(generations_has(g, "http://a/"));
    assert_int_equal(g->count, 1);
    generations_note(g, "http://a/", false);
    assert_false(generations_has(g, "http://a/"));
    for (int i = 0; i < GENERATION_MAX + 5000; i++) {
        snprintf(address, sizeof(address), "http://10.0.0.1:%d/", i);
        generations_note(g, address, true);
    }
    assert_true(g->count <= GENERATION_MAX);
    assert_true(generations_has(g, address)); /* the newest is known */
    generations_fini(g);
    free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(newer_word_replaces_older),
        cmocka_unit_test(texts_do_not_run_together),
        cmocka_unit_test(is_bounded),
        cmocka_unit_test(generations_are_bounded_and_forgettable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
