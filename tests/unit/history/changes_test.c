/* SPDX-License-Identifier: MIT */
/* What a node tells of itself: looks by hand, events in their order. */
#include "test.h"

#include "history/changes.h"
#include "shardwheel/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct changes c;
static struct events q;
static struct changes_facts facts;
static struct shard_status shards[4];

static int setup(void **state)
{
    (void)state;
    changes_init(&c, "n1");
    memset(&q, 0, sizeof q);
    memset(shards, 0, sizeof shards);
    for (int i = 0; i < 4; i++)
        shards[i].shard = i;
    facts = (struct changes_facts){.now_ms = 1000, .database_up = true, .zookeeper_up = true, .shards = shards};
    return 0;
}

/* Looks at that time; "kind shard" of each event, and of one that has a length its beginning and end. */
static const char *look(int64_t now_ms)
{
    static char out[1000];
    size_t n = 0;

    out[0] = '\0';
    memset(&q, 0, sizeof q);
    facts.now_ms = now_ms;
    changes_look(&c, &facts, &q);
    for (size_t i = 0; i < q.count; i++) {
        const struct event_row *row = &q.rows[i];
        n += (size_t)snprintf(out + n, sizeof out - n, "%s%s", i ? ", " : "", row->kind);
        if (row->shard >= 0)
            n += (size_t)snprintf(out + n, sizeof out - n, " %d", row->shard);
        if (row->until_ms)
            n += (size_t)snprintf(out + n, sizeof out - n, " %" PRId64 "-%" PRId64, row->at_ms, row->until_ms);
        assert_string_equal(row->node, "n1");
    }
    return out;
}

static const char *look_at_shards(int64_t now_ms, size_t count)
{
    const char *told;

    facts.count = count;
    told = look(now_ms);
    facts.count = 0;
    return told;
}

static void own(int shard, int64_t epoch)
{
    shards[shard].state = epoch ? SHARD_OWNED : SHARD_FOREIGN;
    shards[shard].epoch = epoch;
}

static void an_outage_is_told_when_it_is_over(void **state)
{
    (void)state;
    assert_string_equal(look(1000), "");
    facts.database_up = false;
    assert_string_equal(look(2000), "");
    facts.zookeeper_up = false;
    assert_string_equal(look(3000), "");
    assert_string_equal(look(9000), "");
    facts.database_up = true;
    assert_string_equal(look(10000), "database-away 2000-10000");
    assert_string_equal(q.rows[0].detail,
                        "The database was unavailable for 8 s, seen by n1: nothing was planned or sent.");
    assert_string_equal(look(11000), "");
    facts.zookeeper_up = true;
    assert_string_equal(look(12000), "zookeeper-away 3000-12000");
    assert_int_equal(c.back_ms, 9000);
}

static void one_look_that_failed_is_no_outage(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        facts.database_up = false;
        assert_string_equal(look(10000 * i + 1000), "");
        facts.database_up = true;
        assert_string_equal(look(10000 * i + 1000 + CHANGES_AWAY_MS - 1), "");
    }
}

static void a_lost_guard_is_told(void **state)
{
    (void)state;
    facts.guard_losses = 5; /* before the first look */
    assert_string_equal(look(1000), "");
    assert_string_equal(look(2000), "");
    facts.guard_losses = 6;
    assert_string_equal(look(3000), "guard-lost");
    assert_string_equal(look(4000), "");
}

static void shards_come_and_go(void **state)
{
    (void)state;
    assert_string_equal(look_at_shards(1000, 3), "");
    own(1, 7);
    own(2, 7);
    assert_string_equal(look_at_shards(2000, 3), "shard-taken 1, shard-taken 2");
    assert_string_equal(q.rows[0].detail, "n1 took over shard 1.");
    assert_string_equal(look_at_shards(3000, 3), "");
    shards[1].state = SHARD_HANDOVER;
    assert_string_equal(look_at_shards(4000, 3), "");
    own(1, 0);
    assert_string_equal(look_at_shards(5000, 3), "shard-handed-over 1");
    own(2, 0);
    facts.shard_losses = 1;
    assert_string_equal(look_at_shards(6000, 3), "shard-lost 2");
    shards[0].state = SHARD_TAKEOVER;
    shards[0].epoch = 3;
    assert_string_equal(look_at_shards(7000, 3), "");
    own(0, 3);
    assert_string_equal(look_at_shards(8000, 3), "shard-taken 0");
    own(0, 5); /* lost and taken anew between two looks */
    facts.shard_losses = 2;
    assert_string_equal(look_at_shards(9000, 3), "shard-lost 0, shard-taken 0");
}

static void another_number_of_shards_is_told(void **state)
{
    (void)state;
    own(0, 3);
    assert_string_equal(look_at_shards(1000, 2), "shard-taken 0");
    own(0, 9);
    own(3, 9);
    assert_string_equal(look_at_shards(2000, 4), "resharded, shard-taken 0, shard-taken 3");
    assert_string_equal(q.rows[0].detail, "The number of shards changed from 2 to 4.");
    assert_string_equal(q.rows[0].data, "{\"shardsBefore\":2,\"shardsAfter\":4}");
    assert_null(q.rows[1].data);
}

/* ---- the queue --------------------------------------------------------------------------------------------------- */

static void post(int i)
{
    events_post(&q, &(struct event_row){.at_ms = i, .kind = "k", .node = "n1", .shard = -1}, "event %d", i);
}

static void events_keep_their_order_and_their_bound(void **state)
{
    static struct event_row rows[EVENTS_BATCH];
    int64_t next = 0;
    size_t n;
    (void)state;

    for (int i = 0; i < 30; i++)
        post(i);
    n = events_peek(&q, rows);
    assert_int_equal(n, 30);
    events_drop(&q, 30, "n1", 5);
    for (int i = 0; i < EVENTS_MAX + 7; i++)
        post(i);
    assert_int_equal(q.count, EVENTS_MAX);
    while (next < EVENTS_MAX && (n = events_peek(&q, rows)) > 0) {
        assert_true(n <= EVENTS_BATCH);
        for (size_t i = 0; i < n && next < EVENTS_MAX; i++, next++)
            assert_int_equal(rows[i].at_ms, next);
        events_drop(&q, n, "n1", 77);
    }
    /* What was left out is told behind those that were there. */
    n = events_peek(&q, rows);
    assert_int_equal(n, 1);
    assert_string_equal(rows[0].kind, EVENT_LEFT_OUT);
    assert_int_equal(rows[0].at_ms, 77);
    assert_int_equal(strncmp(rows[0].detail, "7 events are missing", 20), 0);
    assert_string_equal(rows[0].data, "{\"count\":7}");
    events_drop(&q, 1, "n1", 78);
    assert_int_equal(events_peek(&q, rows), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_outage_is_told_when_it_is_over, setup),
        cmocka_unit_test_setup(one_look_that_failed_is_no_outage, setup),
        cmocka_unit_test_setup(a_lost_guard_is_told, setup),
        cmocka_unit_test_setup(shards_come_and_go, setup),
        cmocka_unit_test_setup(another_number_of_shards_is_told, setup),
        cmocka_unit_test_setup(events_keep_their_order_and_their_bound, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
