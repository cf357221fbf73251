/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "record/sent.h"
#include "schedule/fake_clock.h"

#include <string.h>

static struct fake_clock the_time;
static struct sent_row asked[2000];
static size_t asked_count;
static struct sent_row last_fire, last_end; /* of all that were asked for */
static struct errctx ec;

enum err store_write_sent(struct store_session *s, const struct sent_row *rows, size_t count, const char *incarnation,
                          int64_t now_s, struct sent_counts *counts, struct errctx *why)
{
    (void)s, (void)incarnation, (void)now_s, (void)why;
    for (size_t i = 0; i < count; i++)
        if (asked_count < ARRAY_LEN(asked))
            asked[asked_count++] = rows[i];
    for (size_t i = 0; i < count; i++) {
        if (rows[i].was_sent)
            last_fire = rows[i];
        else
            last_end = rows[i];
    }
    counts->written += count;
    return ERR_OK;
}

static struct sent *make(void)
{
    struct sent *m = NULL;

    the_time = fake_clock_at(1767225600000);
    assert_int_equal(sent_create(&the_time.clock, &m, &ec), ERR_OK);
    return m;
}

static uint64_t note(struct sent *m, int64_t log_id)
{
    struct fire fire = {.log_id = log_id, .job_id = 3, .group = 1, .due_s = 1767225600, .epoch = 7};

    return sent_note_fires(m, &fire);
}

static struct sent_summary compare(struct sent *m)
{
    struct sent_summary sum = {0};

    asked_count = 0;
    assert_int_equal(sent_compare(m, NULL, "i", &sum, &ec), ERR_OK);
    return sum;
}

static void what_is_known_of_a_run_comes_together(void **state)
{
    struct sent *m = make();
    struct result done = {.log_id = 12, .row = {.log_id = 12, .code = 200}};
    struct result held = {.log_id = 13, .row = {.log_id = 13, .code = 500, .away = (const struct fire *)&held}};
    const struct result *both[] = {&done, &held};
    struct callback_entry ends[] = {{.log_id = 12, .code = 500}, {.log_id = 90, .code = 200}};

    (void)state;
    (void)note(m, 11);
    done.sent = note(m, 12);
    held.sent = note(m, 13);
    sent_note_codes(m, both, 2);
    sent_note_ends(m, ends, 2);
    assert_int_equal(compare(m).checked, 3); /* the ends may be being stored right now */
    fake_clock_pass_ms(&the_time, SENT_AGAIN_MS);
    assert_int_equal(compare(m).checked, 4);
    assert_int_equal(asked[0].log_id, 11);
    assert_int_equal(asked[0].code, 0);
    assert_int_equal(asked[1].code, 200);
    assert_int_equal(asked[1].handle_code, 500);
    assert_true(asked[1].was_sent);
    assert_int_equal(asked[2].code, 0); /* it may be waiting for an executor */
    assert_int_equal(asked[3].log_id, 90);
    assert_false(asked[3].was_sent);
    assert_int_equal(asked[3].handle_code, 200);
    sent_destroy(m);
}

/* A node that stops has nobody who looks later. */
static void at_the_end_young_ends_are_compared_too(void **state)
{
    struct sent *m = make();
    struct callback_entry end = {.log_id = 90, .code = 200};

    (void)state;
    sent_note_ends(m, &end, 1);
    assert_int_equal(compare(m).checked, 0);
    sent_end(m);
    assert_int_equal(compare(m).checked, 1);
    assert_int_equal(asked[0].handle_code, 200);
    sent_destroy(m);
}

/* What found nobody waits: its later row is to go out again, until it does. A retry does not wait in its failure. */
static void what_it_came_from_is_known_until_it_waits(void **state)
{
    struct sent *m = make();
    struct fire fire = {.log_id = 21, .job_id = 3, .due_s = 1767225600, .epoch = 7, .source = 50};
    struct fire retry = {.log_id = 22, .job_id = 3, .due_s = 1767225600, .shard = -1, .source = 11};
    struct result held = {.log_id = 21, .row = {.log_id = 21, .code = 500, .away = &fire}};
    const struct result *list[] = {&held};

    (void)state;
    held.sent = sent_note_fires(m, &fire);
    (void)sent_note_fires(m, &retry);
    assert_int_equal(compare(m).checked, 2);
    assert_int_equal(asked[0].source, 50);
    assert_int_equal(asked[1].source, 11);
    sent_note_codes(m, list, 1);
    assert_int_equal(compare(m).checked, 2);
    assert_int_equal(asked[0].source, 0);
    fire.due_s += 9;
    (void)sent_note_fires(m, &fire);
    assert_int_equal(compare(m).checked, 2);
    assert_int_equal(asked[0].source, 50);
    assert_int_equal(asked[0].due_s, fire.due_s);
    sent_destroy(m);
}

static void a_step_of_a_flow_keeps_its_place(void **state)
{
    struct sent *m = make();
    struct fire step = {.log_id = 31, .due_s = 9, .shard = -1, .kind = TRIGGER_FLOW, .flow_run = INT64_C(1) << 40};
    struct fire item = {.log_id = 32, .due_s = 9, .shard = -1, .kind = TRIGGER_FLOW, .flow_run = 8, .flow_step = 199};
    struct fire waited = {.log_id = 31, .due_s = 12, .epoch = 7, .kind = TRIGGER_FLOW, .source = 50};
    struct callback_entry end = {.log_id = 31, .code = 200};

    (void)state;
    step.flow_item = -1;
    item.flow_item = 9999;
    item.flow_items = 10000;
    (void)sent_note_fires(m, &step);
    (void)sent_note_fires(m, &item);
    (void)sent_note_fires(m, &waited); /* the first one found nobody, and became a later row */
    sent_note_ends(m, &end, 1);
    fake_clock_pass_ms(&the_time, SENT_AGAIN_MS);
    assert_int_equal(compare(m).checked, 2);
    assert_int_equal(asked[0].flow_run, step.flow_run);
    assert_int_equal(asked[0].flow_step, 0);
    assert_int_equal(asked[0].flow_item, -1);
    assert_int_equal(asked[0].flow_items, 0);
    assert_int_equal(asked[0].source, 50);
    assert_int_equal(asked[0].handle_code, 200);
    assert_int_equal(asked[1].flow_run, 8);
    assert_int_equal(asked[1].flow_step, 199);
    assert_int_equal(asked[1].flow_item, 9999);
    assert_int_equal(asked[1].flow_items, 10000);
    assert_int_equal(asked[1].epoch, 0);
    assert_int_equal(asked[1].source, 0);
    sent_destroy(m);
}

/* The minute ends where the database was known to work; nothing of it goes before it was compared. */
static void a_minute_is_kept_however_long_nobody_is_there(void **state)
{
    struct sent *m = make();

    (void)state;
    (void)note(m, 1);
    fake_clock_pass_ms(&the_time, SENT_KEEP_MS + 1);
    (void)note(m, 2);
    assert_int_equal(compare(m).checked, 1);
    fake_clock_pass_ms(&the_time, 10 * SENT_KEEP_MS);
    assert_int_equal(compare(m).checked, 1);
    sent_hold(m, true);
    for (int i = 0; i < 1500; i++)
        (void)note(m, 10 + i);
    assert_int_equal(compare(m).checked, 1501);
    sent_hold(m, false);
    assert_int_equal(compare(m).checked, 1500);
    sent_destroy(m);
}

static void the_memory_has_an_end_and_says_so(void **state)
{
    struct sent *m = make();
    struct sent_summary sum;

    (void)state;
    for (int i = 0; i < SENT_MAX + 5; i++)
        (void)note(m, 1 + i);
    sum = compare(m);
    assert_int_equal(sum.checked, SENT_MAX);
    assert_int_equal(sum.forgotten, 5);
    assert_int_equal(asked[0].log_id, 6);
    sent_destroy(m);
}

/* Fires and ends share it: what is older goes first, whichever it is, and numbers of fires stay what they are. */
static void fires_and_ends_share_the_memory(void **state)
{
    struct sent *m = make();
    struct callback_entry end = {.log_id = 2000001, .code = 200};
    struct result done = {.row = {.code = 200}};
    const struct result *one[] = {&done};
    struct sent_summary sum;

    (void)state;
    sent_end(m);
    (void)note(m, 1);
    fake_clock_pass_ms(&the_time, 200);
    sent_note_ends(m, &end, 1);
    fake_clock_pass_ms(&the_time, 200);
    for (int i = 0; i < SENT_MAX - 1; i++)
        done.sent = note(m, 2 + i);
    done.log_id = 2 + SENT_MAX - 2;
    sent_note_codes(m, one, 1);
    sum = compare(m); /* fire 1 is gone, the end is there */
    assert_int_equal(sum.checked, SENT_MAX);
    assert_int_equal(asked[0].log_id, 2);
    assert_int_equal(last_end.log_id, 2000001);
    assert_int_equal(last_end.handle_code, 200);
    assert_int_equal(last_fire.code, 200);
    end.log_id = 2000002;
    sent_note_ends(m, &end, 1); /* the first end goes, no fire */
    sum = compare(m);
    assert_int_equal(sum.forgotten, 1);
    assert_int_equal(sum.checked, SENT_MAX);
    assert_int_equal(asked[0].log_id, 2);
    assert_int_equal(last_end.log_id, 2000002);
    sent_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_known_of_a_run_comes_together),
        cmocka_unit_test(at_the_end_young_ends_are_compared_too),
        cmocka_unit_test(what_it_came_from_is_known_until_it_waits),
        cmocka_unit_test(a_step_of_a_flow_keeps_its_place),
        cmocka_unit_test(a_minute_is_kept_however_long_nobody_is_there),
        cmocka_unit_test(the_memory_has_an_end_and_says_so),
        cmocka_unit_test(fires_and_ends_share_the_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
