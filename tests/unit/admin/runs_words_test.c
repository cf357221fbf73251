/* SPDX-License-Identifier: MIT */
/* What rows say of their runs, without their marks; lines for the original's viewer; how clears are meant. */
#include "admin/runs/clearing.h"
#include "admin/runs/counts.h"
#include "shardwheel/admin/runs.h"
#include "shardwheel/job/words.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static const char *sentence(struct run_row row)
{
    static struct buf out;

    buf_clear(&out);
    row.state = run_state_find(row.trigger_code, row.handle_code, row.trigger_msg, row.handle_msg);
    run_put_sentence(&out, &row);
    assert_null(strstr(out.data, "sw:"));
    return out.data;
}

static void each_state_has_its_sentence(void **state)
{
    static const struct {
        struct run_row row;
        const char *says;
    } cases[] = {
        {{.trigger_msg = "<!--sw:p:5:1-->x"}, "It will be sent at its due time."},
        {{.trigger_msg = "<!--sw:d:ab:5:M-->"}, "It is being sent, or it is not known yet"},
        {{.trigger_msg = NULL}, "It is being sent"},
        {{.trigger_msg = "<!--sw:h-->waits"}, "No executor could be reached"},
        {{.trigger_code = 200, .trigger_msg = "<!--sw:p:5:1-->"}, "An executor has accepted it"},
        {{.trigger_code = 200, .handle_code = 200}, "It ended well."},
        {{.trigger_code = 200, .handle_code = 500, .handle_msg = "a<br>b <b>c</b>\nd"},
         "It failed (code 500). a b c d"},
        {{.trigger_code = 200, .handle_code = 500, .handle_msg = "at Thing.<init>(List<String>)</span>\n<pre>"},
         "It failed (code 500). at Thing.<init>(List<String>) <pre>"},
        {{.trigger_code = 200, .handle_code = 502}, "Its executor ended it after the timeout."},
        {{.trigger_code = 500, .trigger_msg = "<!--sw:p:5:1-->why"}, "No executor accepted it (code 500)."},
        {{.trigger_code = 200, .handle_code = 500, .handle_msg = "<!--sw:l-->the executor left"},
         "An executor accepted it and will not report a result: the executor left"},
        {{.trigger_code = 500, .trigger_msg = "<!--sw:d:ab:5:R-->delivery unknown: gone"},
         "It is not known whether the executor received it"},
        {{.trigger_code = 500, .trigger_msg = "<!--sw:s:1-->x"}, "One due time passed"},
        {{.trigger_code = 500, .trigger_msg = "<!--sw:s:44-->x"}, "44 due times passed"},
        {{.trigger_code = 500, .trigger_msg = "delivery unknown: a Java admin's words"}, "No executor accepted it"},
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (strncmp(sentence(cases[i].row), cases[i].says, strlen(cases[i].says)) != 0)
            fail_msg("%zu: %s", i, sentence(cases[i].row));
}

static void outcomes_are_words_and_reasons(void **state)
{
    static const struct {
        struct run_row row;
        const char *word, *why;
    } cases[] = {
        {{.trigger_code = 200, .handle_code = 200, .trigger_msg = "a: b", .handle_msg = "fine"}, "success", "fine"},
        {{.trigger_code = 200, .trigger_msg = "a: b"}, "running", ""},
        {{.trigger_msg = "<!--sw:p:5:1-->not yet: so"}, "planned", ""},
        {{.trigger_code = 200, .handle_code = 502, .handle_msg = "too <b>long</b>"}, "timeout", "too long"},
        {{.trigger_code = 200, .handle_code = 500, .handle_msg = "x&lt;y"}, "failed", "x<y"},
        {{.trigger_code = 200, .handle_code = 500, .handle_msg = "<SPAN a=b>Thing.<init> 1 < 2 <"},
         "failed",
         "Thing.<init> 1 < 2 <"},
        {{.trigger_code = 500, .trigger_msg = "<!--sw:p:5:1-->kind: cron<br>reason: connection refused"},
         "undelivered",
         "connection refused"},
        {{.trigger_code = 500,
          .trigger_msg = "<!--sw:p:5:1-->cut",
          .tail = "kind: cron<br>msg: block strategy effect: Discard Later"},
         "blocked",
         "block strategy effect: Discard Later"},
        {{.trigger_code = 200, .handle_code = 500, .handle_msg = "block strategy effect: Cover Early [job running]"},
         "replaced",
         "Cover Early [job running]"},
        {{.trigger_code = 200, .handle_code = 500, .handle_msg = "<!--sw:l-->it left"}, "lost", "it left"},
        {{.trigger_code = 500, .trigger_msg = "<!--sw:d:ab:5:R-->delivery unknown: gone"}, "unknown", "gone"},
        {{.trigger_code = 500, .trigger_msg = "<!--sw:s:3-->3 due times skipped"}, "skipped", "3 due times skipped"},
    };
    struct buf out = {0};
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct run_row row = cases[i].row;

        row.state = run_state_find(row.trigger_code, row.handle_code, row.trigger_msg, row.handle_msg);
        assert_string_equal(run_outcome_name(&row), cases[i].word);
        buf_clear(&out);
        buf_append(&out, "", 0);
        run_put_reason(&out, &row);
        assert_string_equal(out.data, cases[i].why);
    }
    buf_fini(&out);
}

static void times_of_a_run_are_told_where_rows_have_them(void **state)
{
    struct run_row row = {.trigger_s = 100, .handle_s = 107, .handle_code = 200};
    struct run_marks marks = {.due_s = 90, .sent_s = 100};
    (void)state;

    assert_int_equal(run_get_duration_s(&row), 7);
    row.handle_s = 99; /* another clock */
    assert_int_equal(run_get_duration_s(&row), 0);
    row.handle_s = INT64_MIN;
    assert_int_equal(run_get_duration_s(&row), -1);
    row = (struct run_row){.trigger_s = 100, .handle_s = 107};
    assert_int_equal(run_get_duration_s(&row), -1);
    assert_int_equal(run_get_late_s(&marks), 10);
    marks.sent_s = 80;
    assert_int_equal(run_get_late_s(&marks), 0);
    marks = (struct run_marks){.sent_s = 80};
    assert_int_equal(run_get_late_s(&marks), 0);
}

static void children_are_read_in_every_language(void **state)
{
    int64_t found[RUN_CHILDREN_MAX];
    struct buf text = {0};
    (void)state;

    buf_puts(&text, "fine<br>1/9: job 4 does not exist, job 5 triggered as log<br>");
    for (int lang = 0; lang < LANGS; lang++) {
        word_put(&text, (enum lang)lang, WORD_CHILD_TRIGGERED, 4, 70 + lang);
        buf_puts(&text, "<br>");
    }
    assert_int_equal(run_find_children(text.data, found), 3);
    for (int lang = 0; lang < LANGS; lang++)
        assert_int_equal(found[lang], 70 + lang);
    assert_int_equal(run_find_children(NULL, found), 0);
    buf_fini(&text);
}

static void marks_are_taken_out_and_read(void **state)
{
    struct run_row row = {.trigger_msg = "<!--sw:p:1700000005:3:O1700000000-->text<br>more<!--sw:r:77-->end"};
    struct run_marks marks = run_marks_read(&row);
    struct buf out = {0};
    (void)state;

    assert_true(marks.has_kind && marks.kind == TRIGGER_CRON);
    assert_int_equal(marks.due_s, 1700000000);
    assert_int_equal(marks.sent_s, 1700000005);
    assert_int_equal(marks.retry_log, 77);
    row.tail = "the end of a text that was cut<!--sw:r:78-->";
    assert_int_equal(run_marks_read(&row).retry_log, 78);
    run_put_message(&out, row.trigger_msg);
    assert_string_equal(out.data, "text<br>moreend");
    buf_clear(&out);
    run_put_message(&out, "a<!--mine--><!--sw:p:not ended");
    assert_string_equal(out.data, "a<!--mine-->");
    buf_fini(&out);
    row.trigger_msg = "<!--sw:d:0123456789abcdef:1700000000:M-->";
    marks = run_marks_read(&row);
    assert_true(marks.has_kind && marks.kind == TRIGGER_MANUAL);
    row.trigger_msg = NULL;
    assert_false(run_marks_read(&row).has_kind);
}

static void log_lines_keep_three_tags(void **state)
{
    static const char *const cases[][2] = {
        {"<br>a<b>c</b>", "<br>a<b>c</b>"},
        {"<br/><B>x</B>", "&lt;br/&gt;&lt;B&gt;x&lt;/B&gt;"},
        {"a&b\"c'd<script>", "a&amp;b&quot;c&#39;d&lt;script&gt;"},
        {"<b", "&lt;b"},
        {"\xe6\x97\xa5\n", "\xe6\x97\xa5\n"},
        {"\x1b[1mx", " [1mx"},
    };
    struct buf out = {0};
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf_clear(&out);
        run_put_log_html(&out, cases[i][0], strlen(cases[i][0]));
        assert_string_equal(out.data, cases[i][1]);
    }
    buf_fini(&out);
}

/* ---- clears ------------------------------------------------------------------------------------------------------ */

static int64_t at(const struct zone *zone, int year, int month, int day)
{
    return zone_from_civil(zone, &(struct civil){.year = year, .month = month, .day = day, .hour = 10});
}

static void types_say_what_goes(void **state)
{
    struct zone *zone = NULL;
    struct errctx ec;
    (void)state;

    assert_int_equal(zone_load("Asia/Shanghai", &zone, &ec), ERR_OK);
    const struct {
        int type;
        int64_t now, before, keep;
    } cases[] = {
        {1, at(zone, 2026, 3, 31), at(zone, 2026, 2, 28), 0},
        {1, at(zone, 2024, 3, 30), at(zone, 2024, 2, 29), 0},
        {1, at(zone, 2026, 1, 15), at(zone, 2025, 12, 15), 0},
        {2, at(zone, 2026, 5, 31), at(zone, 2026, 2, 28), 0},
        {3, at(zone, 2026, 5, 31), at(zone, 2025, 11, 30), 0},
        {4, at(zone, 2024, 2, 29), at(zone, 2023, 2, 28), 0},
        {5, 0, 0, 1000},
        {6, 0, 0, 10000},
        {7, 0, 0, 30000},
        {8, 0, 0, 100000},
        {9, 0, 0, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct run_clear clear = {.type = cases[i].type};

        assert_true(run_clear_resolve(&clear, zone, cases[i].now));
        assert_int_equal(clear.before_s, cases[i].before);
        assert_int_equal(clear.keep, cases[i].keep);
    }
    assert_false(run_clear_resolve(&(struct run_clear){.type = 10}, zone, 0));
    assert_false(run_clear_resolve(&(struct run_clear){.type = -1}, zone, 0));
    assert_false(run_clear_resolve(&(struct run_clear){0}, zone, 0)); /* nothing is said */
    assert_true(run_clear_resolve(&(struct run_clear){.keep = 1}, zone, 0));
    zone_destroy(zone);
}

/* ---- counts ------------------------------------------------------------------------------------------------------ */

static int64_t now_ms = 1000;

static int64_t get_now_ms(const struct clock *clock)
{
    (void)clock;
    return now_ms;
}

static void the_last_count_is_known(void **state)
{
    const struct clock clock = {.mono_ms = get_now_ms};
    struct run_counts *counts = run_counts_create(&clock);
    const struct run_filter first = {.job_id = 1}, second = {.job_id = 1, .text = "a"};
    int64_t total = 0;
    bool again;
    (void)state;

    assert_false(run_counts_find(counts, &first, &total, &again));
    assert_true(again);
    run_counts_note(counts, &first, 5);
    assert_true(run_counts_find(counts, &first, &total, &again) && again);
    assert_int_equal(total, 5);
    assert_false(run_counts_find(counts, &second, &total, &again));
    run_counts_note(counts, &first, -1); /* too slow this time: the last one stays, for some time */
    assert_true(run_counts_find(counts, &first, &total, &again));
    assert_false(again);
    assert_int_equal(total, 5);
    now_ms += COUNT_AGAIN_MS;
    assert_true(run_counts_find(counts, &first, &total, &again) && again);
    for (int64_t i = 0; i < COUNTS_MAX; i++, now_ms++) /* memory is bounded: the oldest goes */
        run_counts_note(counts, &(struct run_filter){.group = i + 1}, i);
    assert_false(run_counts_find(counts, &first, &total, &again));
    assert_true(run_counts_find(counts, &(struct run_filter){.group = 1}, &total, &again));
    run_counts_destroy(counts);
}

/* Of two who see different groups, neither is told the count of the other. */
static void a_count_is_for_its_filter_alone(void **state)
{
    static const int64_t one[] = {3}, other[] = {4}, both[] = {3, 4};
    const struct clock clock = {.mono_ms = get_now_ms};
    const struct run_filter filters[] = {
        {0},
        {.job_id = 3},
        {.group = 3},
        {.groups = one, .group_count = 1},
        {.groups = other, .group_count = 1},
        {.groups = both, .group_count = 2},
        {.states = 3},
        {.log_status = 3},
        {.late = true},
        {.from_s = 3},
        {.until_s = 3},
        {.address = "a"},
        {.text = "a"},
    };
    struct run_counts *counts = run_counts_create(&clock);
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(filters); i++)
        run_counts_note(counts, &filters[i], (int64_t)i);
    for (size_t i = 0; i < ARRAY_LEN(filters); i++) {
        int64_t total = -1;
        bool again;

        assert_true(run_counts_find(counts, &filters[i], &total, &again));
        assert_int_equal(total, i);
    }
    run_counts_destroy(counts);
}

static void slow_searches_have_a_bound(void **state)
{
    struct run_counts *counts = run_counts_create(clock_system());
    (void)state;

    for (int i = 0; i < RUNS_SLOW_MAX; i++)
        assert_true(run_counts_enter(counts));
    assert_false(run_counts_enter(counts));
    run_counts_leave(counts);
    assert_true(run_counts_enter(counts));
    run_counts_destroy(counts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_state_has_its_sentence),
        cmocka_unit_test(marks_are_taken_out_and_read),
        cmocka_unit_test(log_lines_keep_three_tags),
        cmocka_unit_test(types_say_what_goes),
        cmocka_unit_test(the_last_count_is_known),
        cmocka_unit_test(a_count_is_for_its_filter_alone),
        cmocka_unit_test(slow_searches_have_a_bound),
        cmocka_unit_test(outcomes_are_words_and_reasons),
        cmocka_unit_test(children_are_read_in_every_language),
        cmocka_unit_test(times_of_a_run_are_told_where_rows_have_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
