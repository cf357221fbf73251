/* SPDX-License-Identifier: MIT */
/* Notes of takeovers: written with the takeover, kept until they are settled. */
#include "store/test_db.h"

#define NOW_S INT64_C(1700000000)

static struct store *st;
static struct store_session *s;

static void begin(int shards)
{
    st = test_db_fresh(shards, NOW_S);
    s = test_take(st, SESSION_CLAIM);
}

static void end(void)
{
    store_give_session(st, s);
    store_destroy(st);
}

static void take(int shard, int n, int64_t cursor_s)
{
    int64_t epoch, read_s;

    test_sql("UPDATE shardwheel_cursor SET cursor_s = %" PRId64 " WHERE shard = %d", cursor_s, shard);
    assert_ok(store_take_shard(s, shard, n, "a", 0, 0, &epoch, &read_s, ec));
    assert_int_equal(read_s, cursor_s);
}

/* "shard:epoch:cursor" of all notes; a cursor counts from NOW_S. */
static void check_notes(const char *expected)
{
    assert_string_equal(test_text("SELECT GROUP_CONCAT(CONCAT_WS(':', shard, epoch, cursor_s - %" PRId64
                                  ") ORDER BY shard, epoch) FROM shardwheel_takeover",
                                  NOW_S),
                        expected);
}

static void a_takeover_and_its_note_are_one(void **state)
{
    int64_t epoch, cursor_s;
    struct errctx why;

    (void)state;
    begin(3);
    check_notes("(null)");
    take(1, 3, NOW_S + 5);
    check_notes("1:1:5");
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_takeover WHERE taken_ms BETWEEN "
                              "(UNIX_TIMESTAMP(NOW(3)) - 10) * 1000 AND UNIX_TIMESTAMP(NOW(3)) * 1000"),
                     1);
    take(1, 3, NOW_S + 7);
    take(0, 3, NOW_S + 7);
    check_notes("0:1:7,1:1:5,1:2:7");
    /* No takeover, no note. */
    assert_int_equal(store_take_shard(s, 1, 4, "a", 0, 0, &epoch, &cursor_s, &why), ERR_STATE);
    check_notes("0:1:7,1:1:5,1:2:7");
    /* No note, no takeover. */
    test_sql("RENAME TABLE shardwheel_takeover TO away");
    assert_int_equal(store_take_shard(s, 1, 3, "a", 0, 0, &epoch, &cursor_s, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "shardwheel_takeover"));
    assert_int_equal(test_int("SELECT epoch FROM shardwheel_shard WHERE shard = 1"), 2);
    assert_int_equal(test_int("SELECT epoch FROM shardwheel_cursor WHERE shard = 1"), 2);
    test_sql("RENAME TABLE away TO shardwheel_takeover");
    /* Epochs that come again, after the other tables were emptied by hand, stop nobody. */
    test_sql("UPDATE shardwheel_shard SET epoch = 0");
    test_sql("UPDATE shardwheel_cursor SET epoch = 0");
    test_sql("UPDATE shardwheel_takeover SET taken_ms = 0");
    take(1, 3, NOW_S + 9);
    check_notes("0:1:7,1:1:9,1:2:7");
    assert_int_equal(test_int("SELECT taken_ms > 0 FROM shardwheel_takeover WHERE shard = 1 AND epoch = 1"), 1);
    end();
}

static void notes_are_loaded_with_their_age(void **state)
{
    struct takeover_note *notes = NULL;
    size_t count = 7;

    (void)state;
    begin(3);
    int64_t begun = test_commands("COM_BEGIN");
    assert_ok(store_load_takeovers(s, 2, &notes, &count, ec));
    assert_int_equal(test_commands("COM_BEGIN") - begun, 1); /* a proxy may send other reads elsewhere */
    assert_null(notes);
    assert_int_equal(count, 0);
    for (int i = 0; i < 11; i++)
        take(2, 3, NOW_S + i);
    take(1, 3, NOW_S);
    test_sql("UPDATE shardwheel_takeover SET taken_ms = taken_ms - 3600000 WHERE epoch = 3");
    test_sql("UPDATE shardwheel_takeover SET taken_ms = taken_ms + 3600000 WHERE epoch = 4");
    assert_ok(store_load_takeovers(s, 2, &notes, &count, ec));
    assert_int_equal(count, 11);
    for (int i = 0; i < 11; i++) {
        assert_int_equal(notes[i].epoch, i + 1);
        assert_int_equal(notes[i].cursor_s, NOW_S + i);
        assert_in_range(notes[i].age_ms, i == 2 ? 3600000 : 0, i == 2 ? 3610000 : i == 3 ? 0 : 10000);
    }
    free(notes);
    end();
}

static void what_is_settled_goes_and_the_rest_waits(void **state)
{
    struct takeover_note *notes = NULL;
    size_t count = 0;

    (void)state;
    begin(2);
    for (int i = 0; i < 4; i++)
        take(0, 2, NOW_S + i);
    take(1, 2, NOW_S);
    test_sql("UPDATE shardwheel_takeover SET taken_ms = taken_ms - 30000");
    assert_ok(store_delete_takeovers(s, 0, 2, false, ec));
    check_notes("0:3:2,0:4:3,1:1:0");
    assert_ok(store_delete_takeovers(s, 0, 2, false, ec)); /* again, as after an unknown end */
    check_notes("0:3:2,0:4:3,1:1:0");
    assert_ok(store_load_takeovers(s, 0, &notes, &count, ec));
    assert_in_range(notes[1].age_ms, 30000, 40000);
    free(notes);
    assert_ok(store_delete_takeovers(s, 0, 3, true, ec));
    check_notes("0:4:3,1:1:0");
    assert_ok(store_load_takeovers(s, 0, &notes, &count, ec));
    assert_in_range(notes[0].age_ms, 0, 10000);
    free(notes);
    assert_ok(store_load_takeovers(s, 1, &notes, &count, ec));
    assert_in_range(notes[0].age_ms, 30000, 40000); /* another shard's is left alone */
    free(notes);
    end();
}

/* A cursor that is about to jump leaves a note of where it is, under the epoch that moves it. */
static void jumps_leave_notes(void **state)
{
    const struct cursor_move moves[] = {{.shard = 0, .epoch = 1}, {.shard = 1, .epoch = 1}, {.shard = 2, .epoch = 1}};
    struct takeover_note *notes = NULL;
    size_t count = 0;

    (void)state;
    begin(4);
    for (int k = 0; k < 4; k++)
        take(k, 4, NOW_S + k);
    assert_ok(store_delete_takeovers(s, 0, 1, false, ec));
    assert_ok(store_delete_takeovers(s, 2, 1, false, ec));
    test_sql("UPDATE shardwheel_takeover SET taken_ms = taken_ms - 30000");
    test_sql("UPDATE shardwheel_cursor SET cursor_s = %" PRId64, NOW_S + 100);
    test_sql("UPDATE shardwheel_cursor SET epoch = 2 WHERE shard = 2"); /* another node has it */
    assert_ok(store_note_jumps(s, moves, 3, NOW_S + 100, ec));          /* none of them jumps */
    check_notes("1:1:1,3:1:3");
    assert_ok(store_note_jumps(s, moves, 3, NOW_S + 101, ec));
    assert_ok(store_note_jumps(s, moves, 3, NOW_S + 101, ec)); /* again, as after an unknown end */
    check_notes("0:1:100,1:1:1,3:1:3");
    /* A note that stands is young again, and reaches back as far as before. */
    assert_ok(store_load_takeovers(s, 1, &notes, &count, ec));
    assert_in_range(notes[0].age_ms, 0, 10000);
    free(notes);
    assert_ok(store_load_takeovers(s, 3, &notes, &count, ec));
    assert_in_range(notes[0].age_ms, 30000, 40000);
    free(notes);
    assert_ok(store_note_jumps(s, moves, 0, NOW_S + 1000, ec));
    check_notes("0:1:100,1:1:1,3:1:3");
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_takeover_and_its_note_are_one),
        cmocka_unit_test(notes_are_loaded_with_their_age),
        cmocka_unit_test(what_is_settled_goes_and_the_rest_waits),
        cmocka_unit_test(jumps_leave_notes),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
