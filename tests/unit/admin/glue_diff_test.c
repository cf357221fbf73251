/* SPDX-License-Identifier: MIT */
/* Two sources line by line. */
#include "shardwheel/admin/glue.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct glue_diff make(const char *old, const char *new)
{
    struct glue_diff diff;
    struct errctx ec;

    assert_int_equal(glue_diff_make(old, new, &diff, &ec), ERR_OK);
    return diff;
}

static void differences_stand_in_hunks(void **state)
{
    static const struct {
        const char *old, *new, *diff;
    } cases[] = {
        {"a\nb\n", "a\nb\n", ""},
        {NULL, NULL, ""},
        {"", "a\n", "@@ -0,0 +1,1 @@\n+a\n"},
        {"a\nb", "", "@@ -1,2 +0,0 @@\n-a\n-b\n"},
        {"a\nb\nc\n", "a\nx\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"},
        {"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n", "@@ -6,4 +6,4 @@\n 6\n 7\n 8\n-9\n+nine\n"},
        {"1\n2\n3\n4\n5\n6\n7\n8\n", "one\n2\n3\n4\n5\n6\n7\n8\nnine\n",
         "@@ -1,4 +1,4 @@\n-1\n+one\n 2\n 3\n 4\n@@ -6,3 +6,4 @@\n 6\n 7\n 8\n+nine\n"},
        {"a\r\nb\n", "a\nb\n", "@@ -1,2 +1,2 @@\n-a\r\n+a\n b\n"},
        {"a\nb\nc\nd\n", "b\nc\nd\na\n", "@@ -1,4 +1,4 @@\n-a\n b\n c\n d\n+a\n"},
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct glue_diff diff = make(cases[i].old, cases[i].new);

        assert_string_equal(diff.text.len ? diff.text.data : "", cases[i].diff);
        assert_false(diff.rough);
        glue_diff_fini(&diff);
    }
}

/* What a hunk says, taken back: the old text with the diff's lines is the new one. */
static void check_patch(const char *old, const char *new, const struct glue_diff *diff)
{
    struct buf made = {0};
    const char *at = old;
    size_t line = 0;

    buf_append(&made, "", 0);
    for (const char *d = diff->text.len ? diff->text.data : ""; *d; d = strchr(d, '\n') + 1) {
        size_t len = strcspn(d, "\n");
        unsigned from, count;

        if (*d == '@') {
            assert_int_equal(sscanf(d, "@@ -%u,%u", &from, &count), 2);
            for (; line + 1 < from + (count == 0); line++) {
                buf_append(&made, at, strcspn(at, "\n") + 1);
                at += strcspn(at, "\n") + 1;
            }
            continue;
        }
        if (*d != '+') {
            assert_int_equal(strncmp(at, d + 1, len), 0);
            at += len;
            line++;
        }
        if (*d != '-')
            buf_append(&made, d + 1, len);
    }
    buf_puts(&made, at);
    assert_string_equal(made.data, new);
    buf_fini(&made);
}

static void every_difference_leads_to_the_new_text(void **state)
{
    (void)state;

    srandom(7);
    for (int round = 0; round < 3000; round++) {
        struct buf texts[2] = {{0}, {0}};

        for (int t = 0; t < 2; t++) {
            long lines = random() % 30;
            buf_append(&texts[t], "", 0);
            for (long i = 0; i < lines; i++)
                buf_printf(&texts[t], "%ld\n", random() % (2 + round % 9));
        }
        struct glue_diff diff = make(texts[0].data, texts[1].data);
        check_patch(texts[0].data, texts[1].data, &diff);
        glue_diff_fini(&diff);
        buf_fini(&texts[0]);
        buf_fini(&texts[1]);
    }
}

static void what_differs_too_much_is_replaced_whole(void **state)
{
    struct buf old = {0}, new = {0};
    (void)state;

    buf_puts(&old, "same\n");
    buf_puts(&new, "same\n");
    for (int i = 0; i < 70000; i++) {
        buf_printf(&old, "old %d\n", i);
        buf_printf(&new, "new %d\n", i % 30000);
    }
    struct glue_diff diff = make(old.data, new.data);
    assert_true(diff.rough);
    assert_int_equal(diff.added, 70000);
    assert_int_equal(diff.removed, 70000);
    assert_int_equal(strncmp(diff.text.data, "@@ -1,70001 +1,70001 @@\n same\n-old 0\n", 36), 0);
    glue_diff_fini(&diff);
    buf_fini(&old);
    buf_fini(&new);
}

/* Millions of empty lines would take as many records as their bytes. */
static void what_has_too_many_lines_is_not_compared(void **state)
{
    struct buf text = {0};
    struct glue_diff diff = {0};
    struct errctx ec;
    (void)state;

    for (int i = 0; i < GLUE_DIFF_LINES_MAX - 1; i++)
        buf_putc(&text, '\n');
    assert_int_equal(glue_diff_make("", text.data, &diff, &ec), ERR_OK);
    glue_diff_fini(&diff);
    buf_putc(&text, '\n');
    assert_int_equal(glue_diff_make("", text.data, &diff, &ec), ERR_INPUT);
    assert_int_equal(glue_diff_make(text.data, NULL, &diff, &ec), ERR_INPUT);
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences_stand_in_hunks),
        cmocka_unit_test(every_difference_leads_to_the_new_text),
        cmocka_unit_test(what_differs_too_much_is_replaced_whole),
        cmocka_unit_test(what_has_too_many_lines_is_not_compared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
