/* SPDX-License-Identifier: MIT */
/* Later rows of a shard: what becomes of each, and how those that are locked or refused keep no other waiting. */
#include "test.h"

#include "fake_job_spec.h"
#include "schedule/fake_clock.h"
#include "schedule/fake_session.h"
#include "schedule/shard/shard_impl.h"
#include "shardwheel/job/times.h"
#include "shardwheel/store/later.h"
#include "shardwheel/store/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define T_S INT64_C(1767225600)
#define EARLIEST_S (T_S + 1)
#define AHEAD_S (PLAN_AHEAD_MS / 1000)
#define ROWS 600

/* Jobs: their id says what they are like. */
enum { PLAIN = 1, STOPPED, GONE, LONELY, BROADCAST, LONELY_BROADCAST };
#define GROUP 5
#define EMPTY_GROUP 6

/* ---- the world around it ----------------------------------------------------------------------------------------- */

struct seen {
    int64_t id;
    enum later_fate fate;
    int64_t again_s;
    char why[40];
    size_t parts;
    struct {
        int64_t due_s, original_due_s;
        char address[20], param[8];
        int index, total, retries, flags, generation;
        enum trigger_kind kind;
        bool broadcast;
    } part[4];
};

static struct world {
    struct fake_clock time;
    struct later_row rows[ROWS]; /* by id */
    size_t row_count;
    struct seen seen[ROWS]; /* of the claims that were written, in their order */
    size_t seen_count;
    int64_t locked, refused; /* rows: the server cannot pass it by; it takes none of its texts */
    int64_t passed_by;       /* the server passes it by */
    int64_t claim_takes_ms;
    enum err load_result, claim_result;
    enum err read_back_results[3];
    bool pauses; /* false: the thread is to stop */
    bool called_away;
    int claims, read_backs, paused, pushed;
    size_t sizes[ROWS]; /* of each claim */
    struct shard shard;
} w;

enum err store_load_later(struct store_session *s, const int64_t *ids, size_t count, struct later_page *out,
                          struct errctx *ec)
{
    (void)s;
    if (w.load_result)
        return err_set(ec, w.load_result, "told so");
    for (size_t i = 1; i < count; i++)
        assert_true(ids[i - 1] < ids[i]);
    out->rows = calloc(count, sizeof *out->rows);
    assert_non_null(out->rows);
    for (size_t i = 0, k = 0; i < count && k < w.row_count; i++) {
        while (k < w.row_count && w.rows[k].id < ids[i])
            k++;
        if (k < w.row_count && w.rows[k].id == ids[i])
            out->rows[out->count++] = w.rows[k];
    }
    return ERR_OK;
}

void store_free_list(void *items, void *memory)
{
    (void)memory;
    free(items);
}

enum err store_load_job_specs(struct store_session *s, const int64_t *ids, size_t count, struct job_spec **out,
                              struct errctx *ec)
{
    (void)s;
    (void)ec;
    for (size_t i = 0; i < count; i++) {
        assert_true(i == 0 || ids[i - 1] < ids[i]);
        out[i] = NULL;
        if (ids[i] == GONE)
            continue;
        out[i] = calloc(1, sizeof *out[i]);
        assert_non_null(out[i]);
        atomic_init(&out[i]->refs, 1);
        out[i]->id = ids[i];
        out[i]->group = ids[i] == LONELY || ids[i] == LONELY_BROADCAST ? EMPTY_GROUP : GROUP;
        out[i]->running = ids[i] != STOPPED;
        out[i]->route = ids[i] == BROADCAST || ids[i] == LONELY_BROADCAST ? ROUTE_NAME_BROADCAST : "FIRST";
        out[i]->handler = "h";
        out[i]->param = "job's";
        out[i]->retry_count = 3;
    }
    return ERR_OK;
}

enum err store_cancel_planned(struct store_session *s, int shard, int64_t epoch, const struct gone_fires *gone,
                              struct errctx *ec)
{
    (void)s, (void)shard, (void)epoch, (void)gone;
    return err_set(ec, ERR_LOST, "not here");
}

static void note_parts(const struct later_claim *claim, struct seen *seen)
{
    for (const struct fire *f = claim->fires; f && seen->parts < ARRAY_LEN(seen->part); f = f->next, seen->parts++) {
        seen->part[seen->parts].due_s = f->due_s;
        seen->part[seen->parts].original_due_s = f->original_due_s;
        snprintf(seen->part[seen->parts].address, sizeof seen->part->address, "%s", f->address ? f->address : "(none)");
        snprintf(seen->part[seen->parts].param, sizeof seen->part->param, "%s", f->job->param);
        seen->part[seen->parts].index = f->shard_index;
        seen->part[seen->parts].total = f->shard_total;
        seen->part[seen->parts].retries = f->job->retry_count;
        seen->part[seen->parts].flags = f->flags;
        seen->part[seen->parts].generation = f->generation;
        seen->part[seen->parts].kind = f->kind;
        seen->part[seen->parts].broadcast = f->broadcast;
        assert_int_equal(f->source, claim->row->id);
        assert_int_equal(f->shard, 3);
        assert_int_equal(f->epoch, 17);
    }
}

static void carry_out(struct later_claim *claims, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct seen *seen = &w.seen[w.seen_count];

        claims[i].locked = claims[i].row->id == w.passed_by;
        claims[i].done = !claims[i].locked;
        if (claims[i].locked)
            continue;
        *seen = (struct seen){.id = claims[i].row->id, .fate = claims[i].fate, .again_s = claims[i].again_s};
        snprintf(seen->why, sizeof seen->why, "%s", claims[i].why ? claims[i].why : "");
        note_parts(&claims[i], seen);
        w.seen_count++;
    }
}

enum err store_claim_later(struct store_session *s, int shard, int64_t epoch, struct later_claim *claims, size_t count,
                           struct errctx *ec)
{
    assert_ptr_equal(s, &the_session);
    assert_int_equal(shard, 3);
    assert_int_equal(epoch, 17);
    w.sizes[w.claims++] = count;
    fake_clock_pass_ms(&w.time, w.claim_takes_ms);
    for (size_t i = 0; i < count; i++) {
        if (claims[i].row->id == w.locked)
            return err_set(ec, ERR_CONFLICT, "locked");
        if (claims[i].row->id == w.refused)
            return err_set(ec, ERR_INPUT, "refused");
    }
    if (w.claim_result)
        return err_set(ec, w.claim_result, "told so");
    carry_out(claims, count);
    return ERR_OK;
}

enum err store_find_later_claimed(struct store_session *s, int shard, int64_t epoch, struct later_claim *claims,
                                  size_t count, struct errctx *ec)
{
    enum err e = w.read_back_results[w.read_backs++];

    (void)s, (void)shard, (void)epoch;
    if (e)
        return err_set(ec, e, "told so");
    carry_out(claims, count);
    return ERR_OK;
}

const struct registry_snapshot *registry_get_snapshot(struct registry *r)
{
    (void)r;
    return NULL;
}

void registry_put_snapshot(const struct registry_snapshot *snap)
{
    (void)snap;
}

const struct registry_group *registry_find_group(const struct registry_snapshot *snap, int64_t id)
{
    static const char *const addresses[] = {"http://a/", "http://b/", "http://c/"};
    static const struct registry_group group = {.id = GROUP, .addresses = addresses, .count = 3},
                                       empty = {.id = EMPTY_GROUP};

    (void)snap;
    return id == GROUP ? &group : &empty;
}

int64_t shard_find_earliest_s(struct shard *shard, int64_t now_ms)
{
    (void)shard;
    return now_ms / 1000 + 1;
}

bool shard_pause_before_next_try(struct shard *shard)
{
    (void)shard;
    w.paused++;
    return w.pauses;
}

bool shard_is_called_away(struct shard *shard)
{
    (void)shard;
    return w.called_away;
}

void shard_push_all(struct shard *shard, struct fire *list)
{
    (void)shard;
    assert_null(list->job); /* it is read again right before its second */
    for (struct fire *f = list; f; f = f->next)
        w.pushed++;
    fire_destroy_list(list);
}

/* ---- helpers ----------------------------------------------------------------------------------------------------- */

static int setup(void **state)
{
    (void)state;
    memset(&w, 0, sizeof w);
    fake_sessions = 0;
    w.time = fake_clock_at(T_S * 1000);
    w.pauses = true;
    w.shard.number = 3;
    w.shard.epoch = 17;
    w.shard.deps = (struct shard_deps){.clock = &w.time.clock};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    left_out_fini(&w.shard.later_aside);
    delays_fini(&w.shard.delays);
    return 0;
}

/* Its id is its place, from 1 on. */
static struct later_row *add_row(int64_t job, enum trigger_kind kind, int64_t due_s)
{
    struct later_row *row = &w.rows[w.row_count++];

    *row = (struct later_row){.id = (int64_t)w.row_count,
                              .job_id = job,
                              .due_s = due_s,
                              .original_due_s = due_s,
                              .kind = kind,
                              .retries_left = -1};
    return row;
}

static void add_rows(size_t count)
{
    for (size_t i = 0; i < count; i++)
        add_row(PLAIN, TRIGGER_MANUAL, T_S);
}

/* All rows, the last one first, and `more` ids of rows that are gone. */
static enum err claim_with(size_t more)
{
    static int64_t ids[4000];
    struct store_session *session = NULL;
    size_t count = w.row_count + more;
    struct errctx ec;
    enum err e = store_take_session(NULL, SESSION_CLAIM, &session, &ec);

    assert_int_equal(e, ERR_OK);
    w.seen_count = 0;
    w.claims = 0;
    for (size_t i = 0; i < count; i++)
        ids[i] = (int64_t)(count - i);
    e = shard_claim_later(&w.shard, &session, ids, count, &ec);
    assert_true(e || session == &the_session);
    store_give_session(NULL, session);
    assert_int_equal(fake_sessions, 0);
    return e;
}

static void claim(void)
{
    assert_int_equal(claim_with(0), ERR_OK);
}

/* What was written for the row; NULL: nothing. */
static const struct seen *find(int64_t id)
{
    for (size_t i = 0; i < w.seen_count; i++)
        if (w.seen[i].id == id)
            return &w.seen[i];
    return NULL;
}

/* ---- what becomes of a row --------------------------------------------------------------------------------------- */

static void a_row_goes_out_when_it_is_due_and_stands_for_its_due_time(void **state)
{
    static const struct {
        enum trigger_kind kind;
        int64_t due_s, original_s;    /* of the row */
        int64_t sent_s, stands_for_s; /* of its fire */
    } cases[] = {
        {TRIGGER_MANUAL, T_S + 3, T_S + 3, T_S + 3, T_S + 3},
        {TRIGGER_MANUAL, EARLIEST_S, EARLIEST_S, EARLIEST_S, EARLIEST_S},
        {TRIGGER_MANUAL, T_S, T_S, EARLIEST_S, EARLIEST_S}, /* a moment late is not late */
        {TRIGGER_RETRY, T_S - 4, T_S - 4, EARLIEST_S, EARLIEST_S},
        {TRIGGER_RETRY, T_S - 5, T_S - 5, EARLIEST_S, T_S - 5},
        {TRIGGER_CRON, T_S, T_S, EARLIEST_S, T_S},
        {TRIGGER_MISFIRE, T_S, T_S, EARLIEST_S, T_S},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        add_row(PLAIN, cases[i].kind, cases[i].due_s)->original_due_s = cases[i].original_s;
    claim();
    assert_int_equal(w.seen_count, ARRAY_LEN(cases));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(w.seen[i].fate, LATER_PLAN);
        assert_int_equal(w.seen[i].parts, 1);
        assert_int_equal(w.seen[i].part[0].kind, cases[i].kind);
        assert_int_equal(w.seen[i].part[0].due_s, cases[i].sent_s);
        assert_int_equal(w.seen[i].part[0].original_due_s, cases[i].stands_for_s);
    }
    assert_int_equal(w.pushed, ARRAY_LEN(cases));
}

static void a_schedules_fire_needs_a_job_that_runs(void **state)
{
    (void)state;
    add_row(GONE, TRIGGER_MANUAL, T_S);
    add_row(STOPPED, TRIGGER_CRON, T_S);
    add_row(STOPPED, TRIGGER_MISFIRE, T_S);
    add_row(STOPPED, TRIGGER_MANUAL, T_S);
    add_row(STOPPED, TRIGGER_CRON, T_S)->generation = LATER_LAST;
    add_row(PLAIN, TRIGGER_PARENT, T_S)->generation = 2;
    claim();
    assert_int_equal(w.seen_count, 6);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(w.seen[i].fate, i < 3 ? LATER_DROP : LATER_PLAN);
    assert_string_equal(w.seen[0].why, "not sent: the job is gone");
    assert_string_equal(w.seen[1].why, "not sent: the job was stopped");
    assert_string_equal(w.seen[2].why, "not sent: the job was stopped");
    assert_int_equal(w.seen[3].part[0].flags, FIRE_LATER);
    assert_int_equal(w.seen[4].part[0].flags, FIRE_LATER | FIRE_LAST);
    assert_int_equal(w.seen[4].part[0].generation, 0);
    assert_int_equal(w.seen[5].part[0].flags, FIRE_LATER);
    assert_int_equal(w.seen[5].part[0].generation, 2);
    assert_int_equal(w.pushed, 3);
}

static void what_a_row_does_not_say_is_the_jobs(void **state)
{
    struct later_row *row;

    (void)state;
    add_row(PLAIN, TRIGGER_API, T_S);
    row = add_row(PLAIN, TRIGGER_API, T_S);
    row->param = "own";
    row->retries_left = 0;
    claim();
    assert_string_equal(w.seen[0].part[0].param, "job's");
    assert_int_equal(w.seen[0].part[0].retries, 3);
    assert_string_equal(w.seen[1].part[0].param, "own");
    assert_int_equal(w.seen[1].part[0].retries, 0);
    assert_string_equal(w.seen[1].part[0].address, "(none)"); /* it is chosen when it goes out */
}

static void a_broadcast_has_a_part_for_each_address(void **state)
{
    static const struct {
        int64_t job;
        const char *addresses, *sharding;
        size_t parts;
        const char *said; /* index/total address of each */
    } cases[] = {
        {BROADCAST, NULL, NULL, 3, "0/3 http://a/, 1/3 http://b/, 2/3 http://c/, "},
        {BROADCAST, " ,http://x/,,http://y/", NULL, 2, "0/2 http://x/, 1/2 http://y/, "},
        {BROADCAST, ",", NULL, 1, "0/1 (none), "},
        {BROADCAST, NULL, "2/3", 1, "2/3 http://c/, "},
        {BROADCAST, NULL, "3/4", 1, "3/4 http://a/, "}, /* nodes have left */
        {BROADCAST, NULL, "two", 3, "0/3 http://a/, 1/3 http://b/, 2/3 http://c/, "},
        {LONELY_BROADCAST, NULL, NULL, 1, "0/1 (none), "},
        {LONELY_BROADCAST, NULL, "1/2", 1, "1/2 (none), "},
        {PLAIN, NULL, "1/2", 1, "1/2 (none), "},
        {PLAIN, "http://x/,http://y/", NULL, 1, "0/1 (none), "},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct later_row *row = add_row(cases[i].job, TRIGGER_MANUAL, T_S);

        row->addresses = cases[i].addresses;
        row->sharding = cases[i].sharding;
    }
    claim();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf said = {0};

        for (size_t k = 0; k < w.seen[i].parts; k++) {
            buf_printf(&said, "%d/%d %s, ", w.seen[i].part[k].index, w.seen[i].part[k].total,
                       w.seen[i].part[k].address);
            assert_int_equal(w.seen[i].part[k].broadcast, cases[i].job != PLAIN);
        }
        assert_string_equal(said.data, cases[i].said);
        assert_int_equal(w.seen[i].parts, cases[i].parts);
        buf_fini(&said);
    }
}

/* ---- waiting for an executor ------------------------------------------------------------------------------------- */

static void a_row_waits_until_there_is_an_executor(void **state)
{
    static const struct {
        int64_t job, due_s, hold_until_s;
        enum later_fate fate;
        int64_t at_s; /* it goes out, or is looked at again */
    } cases[] = {
        {LONELY, T_S, T_S + 100, LATER_WAIT, T_S + HOLD_AGAIN_S},
        {LONELY, T_S, T_S + HOLD_AGAIN_S, LATER_WAIT, T_S + HOLD_AGAIN_S},
        {LONELY, T_S, T_S + HOLD_AGAIN_S - 1, LATER_WAIT, T_S + HOLD_AGAIN_S - 1},
        {LONELY, T_S, T_S + AHEAD_S + 1, LATER_WAIT, T_S + AHEAD_S + 1},
        {LONELY, T_S, T_S + AHEAD_S, LATER_PLAN, T_S + AHEAD_S}, /* its last second is near */
        {LONELY, T_S, T_S - 9, LATER_PLAN, EARLIEST_S},
        {LONELY, T_S + 3, 0, LATER_PLAN, T_S + 3}, /* it does not wait */
        {PLAIN, T_S + 3, T_S + 100, LATER_PLAN, EARLIEST_S},
        {PLAIN, T_S + 3, T_S + 4, LATER_PLAN, EARLIEST_S},
        {PLAIN, T_S + 4, T_S + 4, LATER_PLAN, T_S + 4},
        {PLAIN, T_S, T_S - 9, LATER_PLAN, EARLIEST_S},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        add_row(cases[i].job, TRIGGER_CRON, cases[i].due_s)->hold_until_s = cases[i].hold_until_s;
    claim();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t at_s = w.seen[i].fate == LATER_WAIT ? w.seen[i].again_s : w.seen[i].part[0].due_s;

        if (w.seen[i].fate != cases[i].fate || at_s != cases[i].at_s)
            fail_msg("case %zu: fate %d at +%lld", i, (int)w.seen[i].fate, (long long)(at_s - T_S));
    }
}

/* Each look writes their rows: the more there are, the less often. */
static void many_that_wait_are_looked_at_less_often(void **state)
{
    static const struct {
        size_t found;
        int64_t again_s;
    } cases[] = {
        {HOLD_ROWS_PER_S - 1, HOLD_AGAIN_S},
        {HOLD_ROWS_PER_S, HOLD_AGAIN_S + 1},
        {54 * HOLD_ROWS_PER_S, AHEAD_S + HOLD_LOOK_MAX_S - 1},
        {55 * HOLD_ROWS_PER_S, AHEAD_S + HOLD_LOOK_MAX_S},
        {70 * HOLD_ROWS_PER_S, AHEAD_S + HOLD_LOOK_MAX_S},
    };

    (void)state;
    add_row(LONELY, TRIGGER_CRON, T_S)->hold_until_s = T_S + 3600;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(claim_with(cases[i].found - 1), ERR_OK);
        assert_int_equal(w.seen[0].again_s, T_S + cases[i].again_s);
    }
}

/* ---- rows that are locked or refused ----------------------------------------------------------------------------- */

static void batches_have_a_bound(void **state)
{
    (void)state;
    add_rows(501);
    claim();
    assert_int_equal(w.claims, 2);
    assert_int_equal(w.sizes[0], 500);
    assert_int_equal(w.sizes[1], 1);
    assert_int_equal(w.seen_count, 501);
}

static void one_that_is_locked_is_found_and_put_aside(void **state)
{
    (void)state;
    add_rows(20);
    w.locked = 13;
    claim();
    assert_int_equal(w.seen_count, 19);
    assert_null(find(13));

    w.locked = 0;
    w.time.mono_ms += 9999;
    claim();
    assert_int_equal(w.seen_count, 19);
    w.time.mono_ms += 1;
    claim();
    assert_int_equal(w.seen_count, 20);
    assert_int_equal(w.seen[19].id, 13); /* behind the others, by itself */
    assert_int_equal(w.claims, 2);
    claim();
    assert_int_equal(w.claims, 1); /* it is one of them again */
}

static void one_that_is_passed_by_is_put_aside(void **state)
{
    (void)state;
    add_rows(3);
    w.passed_by = 2;
    claim();
    assert_int_equal(w.claims, 1);
    assert_int_equal(w.seen_count, 2);
    assert_int_equal(w.pushed, 2);
    w.passed_by = 0;
    w.time.mono_ms += 9999;
    claim();
    assert_null(find(2));
    w.time.mono_ms += 1;
    claim();
    assert_non_null(find(2));
}

static void one_that_is_refused_waits_for_longer(void **state)
{
    (void)state;
    add_rows(3);
    w.refused = 2;
    claim();
    assert_int_equal(w.seen_count, 2);
    w.refused = 0;
    w.time.mono_ms += 59999;
    claim();
    assert_null(find(2));
    w.time.mono_ms += 1;
    claim();
    assert_non_null(find(2));
}

static void each_waits_for_its_own_time(void **state)
{
    (void)state;
    add_rows(5);
    w.refused = 2;
    w.locked = 3;
    w.passed_by = 4;
    claim();
    assert_int_equal(w.seen_count, 2);
    w.refused = w.locked = w.passed_by = 0;
    for (int i = 0; i < 2; i++) {
        claim();
        assert_int_equal(w.seen_count, 2);
    }
    w.time.mono_ms += 10000;
    claim();
    assert_int_equal(w.seen_count, 4);
    assert_null(find(2));
    w.time.mono_ms += 50000;
    claim();
    assert_int_equal(w.seen_count, 5);
}

/* Each try waits for the lock: the search for it ends, and what is left has its turn in another cycle. */
static void a_search_has_an_end(void **state)
{
    (void)state;
    add_rows(64);
    w.locked = 1;
    w.claim_takes_ms = 1000;
    claim(); /* of 64; then 8 of them, 1; then there is no time for the 7 others of that part, and those behind it */
    assert_int_equal(w.claims, 3);
    assert_int_equal(w.seen_count, 0);

    w.locked = 0;
    w.claim_takes_ms = 0;
    claim();
    assert_int_equal(w.claims, 0);
    w.time.mono_ms += 10000;
    claim();
    assert_int_equal(w.seen_count, 64);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static void an_error_ends_the_cycle(void **state)
{
    static const enum err errors[] = {ERR_STATE, ERR_LOST, ERR_GUARD};

    (void)state;
    add_rows(501);
    for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
        w.claim_result = errors[i];
        assert_int_equal(claim_with(0), errors[i]);
        assert_int_equal(w.claims, 1);
    }
    w.claim_result = ERR_OK;
    w.load_result = ERR_LOST;
    assert_int_equal(claim_with(0), ERR_LOST);
    assert_int_equal(w.claims, 0);
    w.load_result = ERR_OK;
    claim(); /* nothing was put aside */
    assert_int_equal(w.seen_count, 501);
}

static void who_is_called_away_claims_nothing_more(void **state)
{
    (void)state;
    add_rows(3);
    w.called_away = true;
    assert_int_equal(claim_with(0), ERR_BUSY);
    assert_int_equal(w.claims, 0);
}

static void a_commit_without_an_answer_is_read_back(void **state)
{
    (void)state;
    add_rows(3);
    w.claim_result = ERR_UNKNOWN;
    w.read_back_results[0] = w.read_back_results[1] = ERR_LOST;
    claim();
    assert_int_equal(w.read_backs, 3);
    assert_int_equal(w.paused, 2);
    assert_int_equal(w.pushed, 3);
}

/* Nothing else of the shard may be planned: it is lost. */
static void one_that_cannot_be_read_back_fences_the_shard(void **state)
{
    (void)state;
    add_rows(3);
    w.claim_result = ERR_UNKNOWN;
    w.read_back_results[0] = ERR_STATE;
    assert_int_equal(claim_with(0), ERR_STATE);
    assert_int_equal(w.read_backs, 1);

    w.read_backs = 0;
    w.read_back_results[0] = ERR_LOST;
    w.pauses = false;
    assert_int_equal(claim_with(0), ERR_STATE);
    assert_int_equal(w.read_backs, 1);
    assert_int_equal(w.pushed, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_row_goes_out_when_it_is_due_and_stands_for_its_due_time),
        TEST(a_schedules_fire_needs_a_job_that_runs),
        TEST(what_a_row_does_not_say_is_the_jobs),
        TEST(a_broadcast_has_a_part_for_each_address),
        TEST(a_row_waits_until_there_is_an_executor),
        TEST(many_that_wait_are_looked_at_less_often),
        TEST(batches_have_a_bound),
        TEST(one_that_is_locked_is_found_and_put_aside),
        TEST(one_that_is_passed_by_is_put_aside),
        TEST(one_that_is_refused_waits_for_longer),
        TEST(each_waits_for_its_own_time),
        TEST(a_search_has_an_end),
        TEST(an_error_ends_the_cycle),
        TEST(who_is_called_away_claims_nothing_more),
        TEST(a_commit_without_an_answer_is_read_back),
        TEST(one_that_cannot_be_read_back_fences_the_shard),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
