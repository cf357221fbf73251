/* SPDX-License-Identifier: MIT */
/* The ring on a clock of the test's own, with stand-ins for the database and dispatch: no thread, no waiting. */
#include "test.h"

#include "fake_job_spec.h"
#include "schedule/fake_clock.h"
#include "schedule/ring/lead.h"
#include "schedule/ring/ring.h"
#include "shardwheel/dispatch.h"
#include "shardwheel/store/cluster.h"
#include "shardwheel/store/plan.h"

#include <stdlib.h>
#include <string.h>

#define T 1767225600 /* 2026-01-01T00:00:00Z, the second at which each test begins */
#define MAX_SENT 2000

/* ---- the world around the ring ----------------------------------------------------------------------------------- */

struct world {
    struct fake_clock time;
    struct ring *ring;
    int64_t db_epoch[2]; /* as the database has it */
    int64_t db_cursor[2];
    int64_t db_note[2]; /* cursor of the note of a jump; 0: none */
    int notes_asked;
    bool notes_fail;
    bool db_away;
    bool read_only; /* connects and reads, but takes no write */
    bool full;      /* dispatch has no room */
    bool job_running;
    bool job_deleted;
    int64_t commit_ms;  /* a move of cursors takes so long */
    int64_t moved[400]; /* seconds of cursor moves, in order */
    int64_t lead_ms;    /* how long before its second the last move began */
    size_t moves;
    struct {
        int64_t log_id, due_s, at_ms, deadline_ms;
    } sent[MAX_SENT];
    size_t sent_count;
    int64_t cancelled[MAX_SENT];
    size_t cancelled_count;
    int64_t unknown; /* the row that was ended as delivery unknown */
    int able_calls;
    bool able;
    int changed_calls;
    void (*during_read)(void); /* called once, in the midst of the next reading of jobs */
};

static struct world w;

struct store_session {
    int unused;
};
static struct store_session the_session;

enum err store_take_session(struct store *st, enum session_kind kind, struct store_session **out, struct errctx *ec)
{
    (void)st;
    assert_int_equal(kind, SESSION_RING);
    if (w.db_away)
        return err_set(ec, ERR_LOST, "away");
    *out = &the_session;
    return ERR_OK;
}

void store_give_session(struct store *st, struct store_session *s)
{
    (void)st;
    (void)s;
}

enum err store_check_writable(struct store_session *s, struct errctx *ec)
{
    (void)s;
    return w.db_away || w.read_only ? err_set(ec, ERR_LOST, "away") : ERR_OK;
}

enum err store_note_jumps(struct store_session *s, const struct cursor_move *moves, size_t count, int64_t below_s,
                          struct errctx *ec)
{
    (void)s;
    w.notes_asked++;
    if (w.db_away || w.read_only || w.notes_fail)
        return err_set(ec, ERR_UNKNOWN, "away");
    for (size_t i = 0; i < count; i++) {
        int k = moves[i].shard;

        if (moves[i].epoch == w.db_epoch[k] && w.db_cursor[k] < below_s)
            w.db_note[k] = w.db_cursor[k];
    }
    return ERR_OK;
}

enum err store_move_cursors(struct store_session *s, struct cursor_move *moves, size_t count, int64_t second_s,
                            struct errctx *ec)
{
    (void)s;
    w.lead_ms = second_s * 1000 - w.time.wall_us / 1000;
    fake_clock_pass_ms(&w.time, w.commit_ms);
    if (w.db_away || w.read_only)
        return err_set(ec, ERR_UNKNOWN, "away");
    for (size_t i = 0; i < count; i++) {
        int k = moves[i].shard;

        moves[i].moved = moves[i].epoch == w.db_epoch[k];
        /* No cursor passes more than a minute at once without a note of where it was. */
        if (moves[i].moved && w.db_cursor[k] < second_s - RING_JUMP_S)
            assert_int_equal(w.db_note[k], w.db_cursor[k]);
        if (moves[i].moved && w.db_cursor[k] < second_s)
            w.db_cursor[k] = second_s;
    }
    assert_true(w.moves < ARRAY_LEN(w.moved));
    w.moved[w.moves++] = second_s;
    return ERR_OK;
}

enum err store_load_job_specs(struct store_session *s, const int64_t *ids, size_t count, struct job_spec **out,
                              struct errctx *ec)
{
    (void)s;
    if (w.db_away)
        return err_set(ec, ERR_LOST, "away");
    if (w.during_read) {
        void (*call)(void) = w.during_read;

        w.during_read = NULL;
        call();
    }
    for (size_t i = 0; i < count; i++) {
        out[i] = w.job_deleted ? NULL : calloc(1, sizeof **out);
        if (!out[i])
            continue;
        atomic_init(&out[i]->refs, 1);
        out[i]->id = ids[i];
        out[i]->running = w.job_running;
    }
    return ERR_OK;
}

enum err store_cancel_planned(struct store_session *s, int shard, int64_t epoch, const struct gone_fires *gone,
                              struct errctx *ec)
{
    (void)s, (void)shard, (void)epoch, (void)ec;
    for (size_t i = 0; i < gone->count; i++)
        w.cancelled[w.cancelled_count++] = gone->ids[i];
    if (gone->resent_count > 0) {
        assert_int_equal(gone->resent_count, 1);
        w.unknown = gone->resent_ids[0];
    }
    return ERR_OK;
}

void dispatch_submit(struct dispatch *d, struct fire *list, int64_t deadline_boot_ms)
{
    (void)d;
    for (struct fire *fire = list; fire; fire = fire->next) {
        assert_non_null(fire->job);
        /* The one rule above all: the database's cursor stands at the fire's second, under its epoch. */
        assert_int_equal(w.db_epoch[fire->shard], fire->epoch);
        assert_true(w.db_cursor[fire->shard] >= fire->due_s);
        assert_true(w.sent_count < MAX_SENT);
        w.sent[w.sent_count].log_id = fire->log_id;
        w.sent[w.sent_count].due_s = fire->due_s;
        w.sent[w.sent_count].at_ms = w.time.wall_us / 1000;
        w.sent[w.sent_count].deadline_ms = deadline_boot_ms - w.time.mono_ms;
        w.sent_count++;
    }
    fire_destroy_list(list);
}

bool dispatch_has_room(struct dispatch *d)
{
    (void)d;
    return !w.full;
}

static void on_changed(void *arg, int shard)
{
    (void)arg;
    (void)shard;
    w.changed_calls++;
}

static void on_able(void *arg, bool able)
{
    (void)arg;
    w.able_calls++;
    w.able = able;
}

/* ---- helpers ----------------------------------------------------------------------------------------------------- */

static int setup(void **state)
{
    struct ring_opts opts = {.shards = 2, .changed = on_changed, .able = on_able};
    struct errctx ec;

    (void)state;
    memset(&w, 0, sizeof w);
    w.time = fake_clock_at((int64_t)T * 1000);
    w.job_running = true;
    w.able = true;
    w.db_epoch[0] = w.db_epoch[1] = 7;
    w.db_cursor[0] = w.db_cursor[1] = T;
    assert_int_equal(ring_create(&opts, &w.time.clock, NULL, &w.ring, &ec), ERR_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ring_destroy(w.ring);
    return 0;
}

static void pass_ms(int64_t ms)
{
    fake_clock_pass_ms(&w.time, ms);
}

/* Lets the ring work until the wall clock has reached second_s and half a second more. */
static void run_until(int64_t second_s)
{
    while (w.time.wall_us < second_s * 1000000 + 500000) {
        int64_t ms = ring_turn(w.ring);

        pass_ms(ms ? ms : 1);
    }
}

static void push(int64_t log_id, int shard, int64_t epoch, int64_t due_s)
{
    struct fire *fire = fire_create();

    assert_non_null(fire);
    fire->log_id = log_id;
    fire->job_id = 40 + log_id % 3;
    fire->shard = shard;
    fire->epoch = epoch;
    fire->due_s = fire->original_due_s = due_s;
    ring_push(w.ring, fire);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void each_second_is_moved_once_and_in_order(void **state)
{
    (void)state;
    ring_add_shard(w.ring, 0, 7, T);
    run_until(T + 20);
    assert_int_equal(w.moves, 20);
    for (size_t i = 0; i < w.moves; i++)
        assert_int_equal(w.moved[i], T + 1 + (int64_t)i);
}

static void fires_go_out_shortly_before_their_second(void **state)
{
    (void)state;
    ring_add_shard(w.ring, 0, 7, T);
    push(1, 0, 7, T + 3);
    push(2, 0, 7, T + 4);
    run_until(T + 2);
    assert_int_equal(w.sent_count, 0);
    run_until(T + 3);
    assert_int_equal(w.sent_count, 1);
    assert_int_equal(w.sent[0].log_id, 1);
    assert_true(w.sent[0].at_ms >= (T + 3) * 1000LL - 200);
    assert_true(w.sent[0].at_ms <= (T + 3) * 1000LL);
    assert_true(w.sent[0].deadline_ms <= SEND_DEADLINE_MS);
    run_until(T + 4);
    assert_int_equal(w.sent_count, 2);
    assert_int_equal(ring_get_shard(w.ring, 0).in_wheel, 0);
    assert_int_equal(ring_get_shard(w.ring, 0).unsent, 2);
    ring_note_sent(w.ring, 0, 2);
    assert_int_equal(ring_get_shard(w.ring, 0).unsent, 0);
}

/* A kill between the cursor and its second leaves the fires of that second as delivery unknown. */
static void the_cursor_moves_as_late_as_its_commit_allows(void **state)
{
    (void)state;
    ring_add_shard(w.ring, 0, 7, T);
    w.commit_ms = 3;
    run_until(T + 3);
    assert_int_equal(w.lead_ms, LEAD_MOST_MS);
    run_until(T + 30);
    assert_int_equal(w.lead_ms, LEAD_LEAST_MS);
    push(1, 0, 7, T + 31);
    run_until(T + 31);
    assert_int_equal(w.sent_count, 1);
    assert_int_equal(w.sent[0].at_ms, (T + 31) * 1000LL - LEAD_LEAST_MS + 3);
    w.commit_ms = 70;
    run_until(T + 40);
    assert_int_equal(w.lead_ms, 70 + LEAD_MARGIN_MS);
    w.commit_ms = 500;
    run_until(T + 60);
    assert_int_equal(w.lead_ms, LEAD_MOST_MS);
}

static void a_second_that_is_caught_up_with_says_nothing_of_the_next_ones(void **state)
{
    (void)state;
    ring_add_shard(w.ring, 0, 7, T);
    run_until(T + 30);
    pass_ms(6000);
    w.commit_ms = 150;
    for (int i = 0; i < 5; i++)
        ring_turn(w.ring);
    assert_int_equal(w.moved[w.moves - 1], T + 35);
    w.commit_ms = 0;
    run_until(T + 40);
    assert_int_equal(w.lead_ms, LEAD_LEAST_MS);
}

static void a_second_with_many_fires_is_handed_over_earlier(void **state)
{
    (void)state;
    ring_add_shard(w.ring, 0, 7, T);
    run_until(T + 30);
    for (int i = 0; i < MAX_SENT; i++)
        push(i, 0, 7, T + 32);
    run_until(T + 32);
    assert_int_equal(w.sent_count, MAX_SENT);
    assert_int_equal(w.lead_ms, LEAD_MARGIN_MS + MAX_SENT / LEAD_FIRES_PER_MS);
    run_until(T + 33);
    assert_int_equal(w.lead_ms, LEAD_LEAST_MS);
}

static void take_over_shard_1(void)
{
    push(2, 1, 7, T + 3);
    ring_add_shard(w.ring, 1, 7, T + 2);
}

/* Its fires of the second under way were not taken out with the others: they must not stand behind their cursor
 * unsent. */
static void a_shard_added_in_the_midst_of_a_second_begins_with_the_next_one(void **state)
{
    (void)state;
    ring_add_shard(w.ring, 0, 7, T);
    run_until(T + 2);
    push(1, 0, 7, T + 3);
    w.during_read = take_over_shard_1;
    while (w.sent_count == 0) {
        int64_t ms = ring_turn(w.ring);

        pass_ms(ms ? ms : 1);
    }
    assert_null(w.during_read);
    assert_int_equal(w.sent[0].log_id, 1);
    assert_int_equal(w.db_cursor[0], T + 3);
    assert_int_equal(w.db_cursor[1], T);
    run_until(T + 4);
    assert_int_equal(w.sent_count, 2);
    assert_int_equal(w.sent[1].log_id, 2);
    assert_int_equal(w.db_cursor[1], T + 4);
}

static void a_stall_skips_no_second(void **state)
{
    (void)state;
    ring_add_shard(w.ring, 0, 7, T);
    for (int i = 1; i <= 5; i++)
        push(i, 0, 7, T + i);
    pass_ms(30000);
    run_until(T + 31);
    assert_int_equal(w.moves, 31);
    assert_int_equal(w.sent_count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(w.sent[i].due_s, T + 1 + (int64_t)i);
}

/* Suspended for an hour: not 3,600 statements, but all that was in the wheel goes out. */
static void a_long_stall_is_caught_up_in_one_lap(void **state)
{
    (void)state;
    ring_add_shard(w.ring, 0, 7, T);
    for (int i = 1; i <= 9; i++)
        push(i, 0, 7, T + i);
    pass_ms(3600000);
    run_until(T + 3600);
    assert_int_equal(w.sent_count, 9);
    assert_true(w.moves <= RING_JUMP_S + 10);
    assert_int_equal(w.db_cursor[0], T + 3600);
}

/* What would be too late anyway stays where it is: in the wheel, and behind no cursor. */
static void nothing_is_sent_while_dispatch_has_no_room(void **state)
{
    (void)state;
    ring_add_shard(w.ring, 0, 7, T);
    push(1, 0, 7, T + 2);
    push(2, 0, 7, T + 4);
    w.full = true;
    run_until(T + 12);
    assert_int_equal(w.sent_count, 0);
    assert_int_equal(w.moves, 0);
    assert_true(ring_get_lag_ms(w.ring) > 10000);
    w.read_only = true; /* a node that cannot write must not keep its shards, room or not */
    run_until(T + 20);
    assert_int_equal(w.able_calls, 1);
    assert_false(w.able);
    w.read_only = false;
    w.full = false;
    run_until(T + 21);
    assert_true(w.able);
    assert_int_equal(w.sent_count, 2);
    assert_int_equal(w.sent[0].log_id, 1);
    assert_int_equal(w.sent[1].log_id, 2);
    assert_int_equal(w.db_cursor[0], T + 21);
}

static void nothing_is_sent_while_the_database_is_away(void **state)
{
    (void)state;
    ring_add_shard(w.ring, 0, 7, T);
    push(1, 0, 7, T + 2);
    push(2, 0, 7, T + 4);
    w.db_away = true;
    run_until(T + 12);
    assert_int_equal(w.sent_count, 0);
    assert_false(w.able);
    assert_int_equal(w.able_calls, 1);
    assert_true(ring_get_lag_ms(w.ring) > 10000);
    w.db_away = false;
    run_until(T + 13);
    assert_true(w.able);
    assert_int_equal(w.able_calls, 2);
    assert_int_equal(w.sent_count, 2);
    assert_int_equal(w.sent[0].log_id, 1);
    assert_int_equal(w.sent[1].log_id, 2);
    assert_int_equal(ring_get_lag_ms(w.ring), 0);
}

/* Connecting and reading is not enough to be of use: shards must go to a node that can write. */
static void a_read_only_database_makes_unable(void **state)
{
    (void)state;
    ring_add_shard(w.ring, 0, 7, T);
    push(1, 0, 7, T + 2);
    w.read_only = true;
    run_until(T + 6);
    assert_false(w.able);
    assert_false(ring_is_able(w.ring));
    assert_int_equal(w.sent_count, 0);
    w.read_only = false;
    run_until(T + 7);
    assert_true(w.able);
    assert_int_equal(w.sent_count, 1);

    ring_remove_shard(w.ring, 0); /* the same without a shard */
    w.read_only = true;
    run_until(T + 14);
    assert_false(w.able);
    w.read_only = false;
    run_until(T + 17);
    assert_true(w.able);
}

/* While the database was away the job was stopped: what was read before does not count any more. */
static void stale_jobs_are_read_again(void **state)
{
    (void)state;
    ring_add_shard(w.ring, 0, 7, T);
    push(1, 0, 7, T + 1);
    while (w.time.wall_us < (T + 1) * 1000000LL - 500000)
        pass_ms(ring_turn(w.ring) + 1);
    w.db_away = true;
    run_until(T + 5);
    w.db_away = false;
    w.job_running = false;
    run_until(T + 6);
    assert_int_equal(w.sent_count, 0);
    assert_int_equal(w.cancelled_count, 1);
}

static void a_fenced_shard_sends_nothing(void **state)
{
    (void)state;
    ring_add_shard(w.ring, 0, 7, T);
    ring_add_shard(w.ring, 1, 7, T);
    push(1, 0, 7, T + 2);
    push(2, 1, 7, T + 2);
    w.db_epoch[0] = 8; /* another node has taken shard 0 over */
    run_until(T + 3);
    assert_int_equal(w.sent_count, 1);
    assert_int_equal(w.sent[0].log_id, 2);
    assert_true(ring_get_shard(w.ring, 0).fenced);
    assert_false(ring_get_shard(w.ring, 1).fenced);
    assert_true(w.changed_calls >= 1);
    assert_int_equal(w.db_cursor[0], T);
    assert_int_equal(ring_get_shard(w.ring, 0).in_wheel, 0);
}

/* A takeover pushes what it loaded before it lets the ring move the cursor. */
/* A server that forgot the move must not be told less; and what a shard's number means may change. */
static void the_highest_second_of_a_shard_is_known(void **state)
{
    (void)state;
    ring_add_shard(w.ring, 0, 7, T);
    run_until(T + 5);
    assert_int_equal(ring_get_floor_s(w.ring, 0), T + 5);
    assert_int_equal(ring_get_floor_s(w.ring, 1), 0);
    ring_add_shard(w.ring, 0, 8, T + 1);
    assert_int_equal(ring_get_floor_s(w.ring, 0), T + 5);
    ring_level_floors(w.ring);
    assert_int_equal(ring_get_floor_s(w.ring, 1), T + 5);
}

static void another_server_fences_all_shards(void **state)
{
    (void)state;
    ring_add_shard(w.ring, 0, 7, T);
    push(1, 0, 7, T + 3);
    run_until(T + 1);
    ring_fence_all(w.ring);
    assert_true(ring_get_shard(w.ring, 0).fenced);
    assert_false(ring_get_shard(w.ring, 1).fenced);
    run_until(T + 5);
    assert_int_equal(w.sent_count, 0);
    ring_add_shard(w.ring, 0, 9, T + 5);
    assert_false(ring_get_shard(w.ring, 0).fenced);
}

static void loaded_fires_wait_for_their_takeover(void **state)
{
    (void)state;
    ring_add_shard(w.ring, 0, 7, T);
    run_until(T + 1);
    ring_remove_shard(w.ring, 0);
    push(1, 0, 7, T + 3); /* of the old epoch */
    push(2, 0, 9, T + 2); /* loaded under the new one, overdue by the time it may go */
    push(3, 0, 9, T + 8);
    run_until(T + 4);
    assert_int_equal(w.sent_count, 0);
    w.db_epoch[0] = 9;
    ring_add_shard(w.ring, 0, 9, T + 1);
    run_until(T + 5);
    assert_int_equal(w.sent_count, 1);
    assert_int_equal(w.sent[0].log_id, 2);
    run_until(T + 8);
    assert_int_equal(w.sent_count, 2);
    assert_int_equal(w.sent[1].log_id, 3);
    assert_int_equal(ring_get_shard(w.ring, 0).in_wheel, 0);
}

/* All nodes were down for twenty minutes: the first move of the cursor passes all of them. Whoever finds it there looks
 * back less. */
static void a_jump_leaves_a_note_before_it(void **state)
{
    (void)state;
    w.db_cursor[0] = T - 1200;
    ring_add_shard(w.ring, 0, 7, T - 1200);
    ring_add_shard(w.ring, 1, 7, T - RING_JUMP_S + 1);
    push(1, 0, 7, T - 1198);
    w.notes_fail = true;
    run_until(T + 1);
    assert_int_equal(w.moves, 0); /* no note, no move */
    assert_int_equal(w.sent_count, 0);
    assert_int_equal(ring_get_shard(w.ring, 0).jump_mono_ms, 0);
    w.notes_fail = false;
    run_until(T + 3);
    assert_int_equal(w.db_note[0], T - 1200);
    assert_int_equal(w.db_note[1], 0);
    assert_int_equal(w.db_cursor[0], T + 3);
    assert_int_equal(w.sent_count, 1);
    assert_int_equal(ring_get_shard(w.ring, 0).jump_from_s, T - 1200);
    assert_in_range(ring_get_shard(w.ring, 0).jump_mono_ms, FAKE_CLOCK_START_MONO_MS + 1, w.time.mono_ms);
    assert_int_equal(ring_get_shard(w.ring, 1).jump_mono_ms, 0);
    w.notes_asked = 0;
    run_until(T + 10);
    assert_int_equal(w.notes_asked, 0); /* it is no jump that goes second by second */
    /* A database that is away for ten minutes. */
    w.db_away = true;
    run_until(T + 600);
    w.db_away = false;
    run_until(T + 602);
    assert_int_equal(w.db_note[0], T + 10);
    assert_int_equal(w.db_note[1], T + 10);
    assert_int_equal(ring_get_shard(w.ring, 1).jump_from_s, T + 10);
    /* The next takeover knows of its own jumps alone. */
    ring_add_shard(w.ring, 1, 7, T + 602);
    assert_int_equal(ring_get_shard(w.ring, 1).jump_mono_ms, 0);
}

static void a_handover_ends_at_its_last_second(void **state)
{
    (void)state;
    ring_add_shard(w.ring, 0, 7, T);
    for (int i = 1; i <= 6; i++)
        push(i, 0, 7, T + i);
    run_until(T + 1);
    ring_limit_shard(w.ring, 0, T + 3);
    w.changed_calls = 0;
    run_until(T + 8);
    assert_int_equal(w.db_cursor[0], T + 3);
    assert_int_equal(w.sent_count, 3);
    assert_true(w.changed_calls >= 1);
    assert_int_equal(ring_get_shard(w.ring, 0).in_wheel, 0);
}

static void stopped_and_deleted_jobs_do_not_fire(void **state)
{
    struct fire *last;

    (void)state;
    ring_add_shard(w.ring, 0, 7, T);
    push(1, 0, 7, T + 2);
    w.job_running = false;
    run_until(T + 2);
    assert_int_equal(w.sent_count, 0);
    assert_int_equal(w.cancelled_count, 1);
    assert_int_equal(w.cancelled[0], 1);

    last = fire_create();
    assert_non_null(last);
    last->log_id = 2;
    last->epoch = 7;
    last->due_s = T + 4;
    last->flags = FIRE_LAST; /* its own schedule stopped the job */
    ring_push(w.ring, last);
    run_until(T + 4);
    assert_int_equal(w.sent_count, 1);

    w.job_running = true;
    w.job_deleted = true;
    push(3, 0, 7, T + 6);
    run_until(T + 6);
    assert_int_equal(w.sent_count, 1);
    assert_int_equal(w.cancelled_count, 2);
    assert_int_equal(ring_get_shard(w.ring, 0).in_wheel, 0);

    /* It may have run already: its row must stay. */
    last = fire_create();
    assert_non_null(last);
    last->log_id = 4;
    last->epoch = 7;
    last->due_s = T + 8;
    last->flags = FIRE_RESENT;
    ring_push(w.ring, last);
    run_until(T + 8);
    assert_int_equal(w.sent_count, 1);
    assert_int_equal(w.cancelled_count, 2);
    assert_int_equal(w.unknown, 4);
}

/* An edit a second before the due time counts: the job is read later than that. */
static void the_job_is_read_less_than_a_second_before(void **state)
{
    (void)state;
    ring_add_shard(w.ring, 0, 7, T);
    push(1, 0, 7, T + 3);
    while (w.time.wall_us < (T + 3) * 1000000LL - 1000000)
        (void)ring_turn(w.ring), pass_ms(1);
    w.job_running = false;
    run_until(T + 4);
    assert_int_equal(w.sent_count, 0);
    assert_int_equal(w.cancelled_count, 1);
}

/* The cursor could not be moved for seconds: what was read when that began is read again, whatever was read since. */
static void jobs_read_too_long_ago_are_read_again(void **state)
{
    (void)state;
    ring_add_shard(w.ring, 0, 7, T);
    push(1, 0, 7, T + 2);
    run_until(T + 1);
    w.read_only = true;
    run_until(T + 4);
    w.job_running = false;
    push(2, 0, 7, T + 2);
    run_until(T + 5);
    push(3, 0, 7, T + 2);
    w.read_only = false;
    run_until(T + 6);
    assert_int_equal(w.sent_count, 0);
    assert_int_equal(w.cancelled_count, 3);
}

/* A fire that was put back waits for seconds, perhaps. */
static void the_job_of_a_fire_that_was_put_back_is_read_again(void **state)
{
    (void)state;
    ring_add_shard(w.ring, 1, 7, T);
    push(1, 0, 9, T + 2); /* its takeover is under way */
    run_until(T + 2);
    w.job_running = false;
    run_until(T + 4);
    w.db_epoch[0] = 9;
    ring_add_shard(w.ring, 0, 9, T + 1);
    run_until(T + 6);
    assert_int_equal(w.sent_count, 0);
    assert_int_equal(w.cancelled_count, 1);
}

static void a_clock_set_back_fires_nothing_twice(void **state)
{
    (void)state;
    ring_add_shard(w.ring, 0, 7, T);
    push(1, 0, 7, T + 2);
    push(2, 0, 7, T + 4);
    run_until(T + 3);
    assert_int_equal(w.sent_count, 1);
    w.time.wall_us -= 10 * 1000000;
    run_until(T + 3);
    assert_int_equal(w.sent_count, 1);
    assert_int_equal(w.moves, 3);
    run_until(T + 4);
    assert_int_equal(w.sent_count, 2);
    assert_int_equal(w.moved[3], T + 4);
}

static void a_clock_set_forward_leaves_nothing_behind(void **state)
{
    (void)state;
    ring_add_shard(w.ring, 0, 7, T);
    for (int i = 1; i <= 4; i++)
        push(i, 0, 7, T + i);
    run_until(T + 1);
    w.time.wall_us += 10 * 1000000;
    run_until(T + 12);
    assert_int_equal(w.sent_count, 4);
    assert_int_equal(w.db_cursor[0], T + 12);
}

/* For a change of N: no cursor goes beyond the last second, and afterwards none was skipped and nothing left behind. */
static void a_hold_stops_all_shards_at_one_second(void **state)
{
    (void)state;
    ring_add_shard(w.ring, 0, 7, T);
    ring_add_shard(w.ring, 1, 7, T);
    for (int i = 1; i <= 6; i++)
        push(i, i % 2, 7, T + i);
    ring_hold(w.ring, T + 3);
    assert_int_equal(ring_get_hold_s(w.ring), T + 3);
    run_until(T + 8);
    assert_int_equal(w.sent_count, 3);
    assert_int_equal(w.db_cursor[0], T + 3);
    assert_int_equal(w.db_cursor[1], T + 3);
    push(7, 0, 7, T + 2); /* of a shard taken over meanwhile */
    ring_hold(w.ring, T + 10);
    run_until(T + 12);
    assert_int_equal(w.sent_count, 7);
    assert_int_equal(w.db_cursor[0], T + 10);
    ring_hold(w.ring, INT64_MAX);
    run_until(T + 13);
    assert_int_equal(w.moves, 13);
    for (size_t i = 0; i < w.moves; i++)
        assert_int_equal(w.moved[i], T + 1 + (int64_t)i);
}

int main(void)
{
#define RING_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        RING_TEST(each_second_is_moved_once_and_in_order),
        RING_TEST(fires_go_out_shortly_before_their_second),
        RING_TEST(the_cursor_moves_as_late_as_its_commit_allows),
        RING_TEST(a_second_that_is_caught_up_with_says_nothing_of_the_next_ones),
        RING_TEST(a_second_with_many_fires_is_handed_over_earlier),
        RING_TEST(a_shard_added_in_the_midst_of_a_second_begins_with_the_next_one),
        RING_TEST(a_stall_skips_no_second),
        RING_TEST(a_long_stall_is_caught_up_in_one_lap),
        RING_TEST(a_jump_leaves_a_note_before_it),
        RING_TEST(nothing_is_sent_while_dispatch_has_no_room),
        RING_TEST(nothing_is_sent_while_the_database_is_away),
        RING_TEST(a_read_only_database_makes_unable),
        RING_TEST(stale_jobs_are_read_again),
        RING_TEST(a_fenced_shard_sends_nothing),
        RING_TEST(the_highest_second_of_a_shard_is_known),
        RING_TEST(another_server_fences_all_shards),
        RING_TEST(loaded_fires_wait_for_their_takeover),
        RING_TEST(a_handover_ends_at_its_last_second),
        RING_TEST(stopped_and_deleted_jobs_do_not_fire),
        RING_TEST(the_job_is_read_less_than_a_second_before),
        RING_TEST(jobs_read_too_long_ago_are_read_again),
        RING_TEST(the_job_of_a_fire_that_was_put_back_is_read_again),
        RING_TEST(a_clock_set_back_fires_nothing_twice),
        RING_TEST(a_clock_set_forward_leaves_nothing_behind),
        RING_TEST(a_hold_stops_all_shards_at_one_second),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
