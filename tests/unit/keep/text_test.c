/* SPDX-License-Identifier: MIT */
/* Head and tail of a log that is too long. */
#include "test.h"

#include "keep/pack.h"
#include "keep/text.h"
#include "shardwheel/keep.h"
#include "shardwheel/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In pieces of `piece` bytes. */
static char *keep(const char *text, size_t len, size_t max, size_t piece, bool goes_on, bool *is_cut)
{
    struct keep_text t;
    struct buf out = {0};

    keep_text_init(&t, max);
    for (size_t at = 0; at < len; at += piece)
        keep_text_add(&t, text + at, len - at < piece ? len - at : piece);
    keep_text_end(&t, goes_on, &out);
    *is_cut = t.is_cut;
    keep_text_fini(&t);
    assert_false(buf_failed(&out));
    return out.data ? buf_take(&out) : calloc(1, 1);
}

static void a_short_log_is_kept_whole(void **state)
{
    static const char text[] = "one\ntwo\nthree";
    bool is_cut;

    (void)state;
    for (size_t piece = 1; piece <= sizeof text; piece++) {
        char *kept = keep(text, sizeof text - 1, sizeof text - 1, piece, false, &is_cut);

        assert_string_equal(kept, text);
        assert_false(is_cut);
        free(kept);
    }
}

static void of_a_long_one_head_and_tail_stay(void **state)
{
    char text[4000], line[32];
    size_t len = 0;
    bool is_cut;

    (void)state;
    for (int i = 0; i < 300; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "line %03d\n", i);
    for (size_t piece = 9; piece <= len; piece = piece * 3 / 2) {
        char *kept = keep(text, len - len % 9, 180, piece - piece % 9, false, &is_cut);
        int first = 0, last = 0;

        assert_true(is_cut);
        assert_memory_equal(kept, "line 000\n", 9);
        char *mark = strstr(kept, "--- shardwheel: ");
        assert_non_null(mark);
        assert_true(mark > kept && mark[-1] == '\n');
        first = (int)(mark - kept) / 9;
        char *behind = strchr(mark, '\n') + 1;
        last = (int)strlen(behind) / 9;
        assert_true(first > 5 && first <= 10 && last > 5 && last <= 10);
        snprintf(line, sizeof line, "line %03d\n", 300 - last);
        assert_memory_equal(behind, line, 9);
        snprintf(line, sizeof line, ": %d lines are", 300 - first - last);
        assert_non_null(strstr(mark, line));
        assert_string_equal(behind + strlen(behind) - 9, "line 299\n");
        free(kept);
    }
}

static void no_character_is_cut(void **state)
{
    char text[3000];
    bool is_cut;

    (void)state;
    for (size_t i = 0; i < sizeof text; i += 3)
        memcpy(text + i, "\xe6\x97\xa5", 3); /* one line without an end */
    for (size_t max = 16; max < 200; max++) {
        char *kept = keep(text, sizeof text, max, sizeof text, false, &is_cut);

        assert_true(is_cut);
        assert_true(utf8_is_valid(kept, strlen(kept)));
        assert_non_null(strstr(kept, "a part of this line is not kept"));
        assert_true(strlen(kept) <= max + KEEP_MARK_MAX);
        free(kept);
    }
}

static void what_was_not_asked_for_is_said(void **state)
{
    struct keep_text t;
    struct buf out = {0};

    (void)state;
    keep_text_init(&t, 64);
    keep_text_add(&t, "first\n", 6);
    keep_text_skip(&t, 1000);
    keep_text_add(&t, "last\n", 5);
    keep_text_end(&t, true, &out);
    assert_string_equal(out.data, "first\n--- shardwheel: 1000 lines are not kept ---\nlast\n"
                                  "--- shardwheel: the log continues; its end is not kept ---\n");
    assert_true(t.is_cut);
    buf_fini(&out);
    keep_text_fini(&t);
    /* Before anything came. */
    keep_text_init(&t, 64);
    keep_text_skip(&t, 3);
    keep_text_add(&t, "last\n", 5);
    keep_text_end(&t, false, &out);
    assert_string_equal(out.data, "--- shardwheel: 3 lines are not kept ---\nlast\n");
    buf_fini(&out);
    keep_text_fini(&t);
}

static void memory_is_bounded(void **state)
{
    struct keep_text t;

    (void)state;
    keep_text_init(&t, 1000);
    for (int i = 0; i < 100000; i++) {
        keep_text_add(&t, "0123456789\n", 11);
        assert_true(t.head.len + t.tail.len <= 2000);
    }
    keep_text_fini(&t);
}

static void what_was_packed_is_unpacked(void **state)
{
    struct buf packed = {0}, text = {0};
    struct errctx why = {{0}};

    (void)state;
    assert_true(keep_pack("some text\n", 10, &packed));
    assert_int_equal(keep_unpack((const unsigned char *)packed.data, packed.len, 10, &text, &why), ERR_OK);
    assert_string_equal(text.data, "some text\n");
    /* Broken, cut off, of another length. */
    assert_int_equal(keep_unpack((const unsigned char *)packed.data, packed.len - 1, 10, &text, &why), ERR_STATE);
    assert_int_equal(keep_unpack((const unsigned char *)packed.data, packed.len, 9, &text, &why), ERR_STATE);
    packed.data[packed.len / 2] ^= 0x55;
    assert_int_equal(keep_unpack((const unsigned char *)packed.data, packed.len, 10, &text, &why), ERR_STATE);
    assert_int_equal(keep_unpack((const unsigned char *)"", 0, SIZE_MAX, &text, &why), ERR_STATE);
    buf_fini(&packed);
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_log_is_kept_whole), cmocka_unit_test(of_a_long_one_head_and_tail_stay),
        cmocka_unit_test(no_character_is_cut),       cmocka_unit_test(what_was_not_asked_for_is_said),
        cmocka_unit_test(memory_is_bounded),         cmocka_unit_test(what_was_packed_is_unpacked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
