/* SPDX-License-Identifier: MIT */
/* The failure monitor on a clock of the test's own, pass by pass, on a log in memory: no thread, no server, no mail. */
#include "test.h"

#include "fake_job_spec.h"
#include "shardwheel/follow.h"
#include "shardwheel/job.h"
#include "shardwheel/store/cluster.h"
#include "shardwheel/store/plan.h"
#include "shardwheel/store/run.h"

#include <stdlib.h>
#include <string.h>

#define T INT64_C(1700000000)
#define ROWS_MAX 30000
#define SENT_MAX 20000

struct row {
    int64_t id;
    struct log_state state;
    int64_t written_s;
    int retries;
    bool hidden; /* its transaction is not committed yet */
};

static struct world {
    struct clock clock;
    int64_t ms; /* all three clocks, from T on */
    struct row rows[ROWS_MAX];
    size_t count;
    int64_t next_id;
    int64_t sent[SENT_MAX]; /* log ids of the retries that were submitted */
    size_t sent_count;
    int64_t too_late[100];
    size_t too_late_count;
    int64_t ended[100];
    size_t ended_count;
    const char *live; /* incarnation with a beat */
    int shards;
    int64_t cursor_s[4];
    bool noted[4]; /* a note of a takeover stands for that shard */
    int passed_loads;
    /* How the calls end. */
    enum err error;         /* of every call */
    int64_t refused_id;     /* a batch with this row is refused */
    int64_t held_id;        /* a batch with this row finds it locked */
    int unknown;            /* so many commits are lost, after... */
    bool unknown_happened;  /* ...having happened or not */
    int64_t handle_took_ms; /* what a transaction costs */
    size_t list_reads, range_reads;
    struct failures *f;
    struct counters counters;
} w;

static int64_t read_us(const struct clock *clock)
{
    (void)clock;
    return T * 1000000 + w.ms * 1000;
}

static int64_t read_ms(const struct clock *clock)
{
    (void)clock;
    return w.ms;
}

/* ---- the log in memory ----------------------------------------------------------------------------------------- */

struct store_session {
    int unused;
};
static struct store_session the_session;

static struct row *find_row(int64_t id)
{
    for (size_t i = 0; i < w.count; i++)
        if (w.rows[i].id == id)
            return &w.rows[i];
    return NULL;
}

static int64_t add_row(int trigger_code, int handle_code, int retries)
{
    assert_true(w.count < ROWS_MAX);
    struct row *r = &w.rows[w.count++];
    *r = (struct row){.id = ++w.next_id, .written_s = T + w.ms / 1000, .retries = retries};
    r->state = (struct log_state){.id = r->id, .trigger_code = trigger_code, .handle_code = handle_code};
    return r->id;
}

static int64_t add_direct(const char *incarnation, int64_t due_s)
{
    struct log_state *s = &find_row(add_row(0, 0, 0))->state;

    s->marked = true;
    s->due_s = due_s;
    strcpy(s->incarnation, incarnation);
    return s->id;
}

static int64_t add_planned(int64_t job_id, int64_t due_s)
{
    struct log_state *s = &find_row(add_row(0, 0, 0))->state;

    s->marked = true;
    s->due_s = due_s;
    s->job_id = job_id;
    return s->id;
}

static enum err answer(struct errctx *ec)
{
    return w.error ? err_set(ec, w.error, "as told") : ERR_OK;
}

enum err store_take_session(struct store *st, enum session_kind kind, struct store_session **out, struct errctx *ec)
{
    (void)st, (void)kind;
    *out = &the_session;
    return answer(ec);
}

void store_give_session(struct store *st, struct store_session *s)
{
    (void)st, (void)s;
}

bool log_state_is_failed(const struct log_state *row)
{
    return row->alarm_status == 0 && row->handle_code != 200 &&
           (row->handle_code != 0 || (row->trigger_code != 0 && row->trigger_code != 200));
}

enum err store_load_log_bounds(struct store_session *s, int64_t from_s, int64_t *first_id, int64_t *last_id,
                               struct errctx *ec)
{
    (void)s;
    *last_id = 0;
    for (size_t i = 0; i < w.count; i++)
        if (!w.rows[i].hidden && w.rows[i].id > *last_id)
            *last_id = w.rows[i].id;
    *first_id = *last_id + 1;
    for (size_t i = 0; i < w.count; i++)
        if (!w.rows[i].hidden && w.rows[i].written_s >= from_s && w.rows[i].id < *first_id)
            *first_id = w.rows[i].id;
    return answer(ec);
}

enum err store_find_next_log(struct store_session *s, int64_t after_id, int64_t *out, struct errctx *ec)
{
    (void)s;
    *out = 0;
    for (size_t i = 0; i < w.count; i++)
        if (!w.rows[i].hidden && w.rows[i].id > after_id && (*out == 0 || w.rows[i].id < *out))
            *out = w.rows[i].id;
    return answer(ec);
}

static bool is_of_interest(const struct row *r)
{
    return !r->hidden && r->state.handle_code != 200 && r->state.alarm_status == 0;
}

enum err store_load_log_range(struct store_session *s, int64_t after_id, int64_t until_id, struct log_state **out,
                              size_t *count, struct errctx *ec)
{
    struct log_state *list = calloc(w.count + 1, sizeof *list);
    size_t n = 0;

    (void)s, (void)ec;
    assert_non_null(list);
    assert_true(until_id - after_id <= 20001);
    for (size_t i = 0; i < w.count; i++)
        if (w.rows[i].id > after_id && w.rows[i].id <= until_id) {
            w.range_reads++;
            if (is_of_interest(&w.rows[i]))
                list[n++] = w.rows[i].state;
        }
    *out = list;
    *count = n;
    return ERR_OK;
}

enum err store_load_log_list(struct store_session *s, const int64_t *ids, size_t count, struct log_state **out,
                             size_t *out_count, struct errctx *ec)
{
    struct log_state *list = calloc(count + 1, sizeof *list);
    size_t n = 0;

    (void)s, (void)ec;
    assert_non_null(list);
    for (size_t i = 0; i < count; i++) {
        const struct row *r = find_row(ids[i]);
        w.list_reads++;
        if (r && is_of_interest(r))
            list[n++] = r->state;
    }
    *out = list;
    *out_count = n;
    return ERR_OK;
}

void failed_batch_fini(struct failed_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        fire_destroy_list(batch->rows[i].retries);
    free(batch->rows);
    *batch = (struct failed_batch){0};
}

static struct job_spec the_job = {.refs = 1, .id = 1, .group = 1, .route = "FIRST"};

static void apply(const struct failed_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        find_row(batch->rows[i].id)->state.alarm_status = batch->rows[i].alarm;
        for (struct fire *f = batch->rows[i].retries; f; f = f->next)
            f->log_id = add_row(0, 0, 0);
    }
}

enum err store_handle_failures(struct store_session *s, const int64_t *ids, size_t count, const char *incarnation,
                               enum err (*decide)(void *arg, struct failed_row *row, struct errctx *ec), void *arg,
                               struct failed_batch *out, struct errctx *ec)
{
    struct failed_batch batch = {.rows = calloc(count + 1, sizeof *batch.rows)};

    (void)s, (void)incarnation;
    assert_non_null(batch.rows);
    *out = (struct failed_batch){0};
    w.ms += w.handle_took_ms;
    for (size_t i = 0; i < count; i++) {
        if (ids[i] == w.refused_id || ids[i] == w.held_id) {
            failed_batch_fini(&batch);
            return err_set(ec, ids[i] == w.held_id ? ERR_CONFLICT : ERR_INPUT, "as told");
        }
        const struct row *r = find_row(ids[i]);
        if (!r || !log_state_is_failed(&r->state))
            continue;
        struct failed_row *row = &batch.rows[batch.count++];
        *row = (struct failed_row){
            .id = r->id, .job_id = 1, .retries_left = r->retries, .job = &the_job, .group_exists = true};
        assert_int_equal(decide(arg, row, ec), ERR_OK);
    }
    if (w.unknown > 0) {
        w.unknown--;
        if (w.unknown_happened)
            apply(&batch);
        *out = batch;
        return err_set(ec, ERR_UNKNOWN, "as told");
    }
    apply(&batch);
    *out = batch;
    return ERR_OK;
}

enum err store_find_failures(struct store_session *s, const struct failed_batch *batch, const char *incarnation,
                             bool *happened, struct errctx *ec)
{
    (void)s, (void)incarnation, (void)batch;
    *happened = w.unknown_happened;
    return answer(ec);
}

enum err store_load_live_nodes(struct store_session *s, int64_t within_ms, char (**out)[INCARNATION_MAX], size_t *count,
                               struct errctx *ec)
{
    (void)s, (void)within_ms, (void)ec;
    *out = calloc(1, sizeof **out);
    assert_non_null(*out);
    *count = w.live ? 1 : 0;
    if (w.live)
        strcpy((*out)[0], w.live);
    return ERR_OK;
}

/* Of others than the failure monitor. */
enum err store_find_direct(struct store_session *s, const struct fire *fire, const char *incarnation, bool *found,
                           struct errctx *ec)
{
    (void)s, (void)fire, (void)incarnation, (void)found, (void)ec;
    fail();
    return ERR_OK;
}

enum err store_end_direct(struct store_session *s, const int64_t *log_ids, size_t count, size_t *ended,
                          struct errctx *ec)
{
    (void)s, (void)ec;
    for (size_t i = 0; i < count; i++) {
        w.ended[w.ended_count++] = log_ids[i];
        find_row(log_ids[i])->state.trigger_code = 500;
    }
    *ended = count;
    return ERR_OK;
}

enum err store_load_passed(struct store_session *s, struct passed_shards *out, struct errctx *ec)
{
    (void)s;
    w.passed_loads++;
    *out = (struct passed_shards){.shards = w.shards, .until_s = calloc(4, sizeof *out->until_s)};
    assert_non_null(out->until_s);
    for (int k = 0; k < w.shards; k++)
        out->until_s[k] = w.noted[k] ? PASSED_NOT_KNOWN : w.cursor_s[k];
    return answer(ec);
}

void passed_shards_fini(struct passed_shards *passed)
{
    free(passed->until_s);
    *passed = (struct passed_shards){0};
}

enum err store_end_unknown(struct store_session *s, const int64_t *log_ids, size_t count, int64_t until_s,
                           size_t *ended, struct errctx *ec)
{
    (void)until_s;
    return store_end_direct(s, log_ids, count, ended, ec);
}

enum err store_write_results(struct store_session *s, const struct fire_result *results, size_t count,
                             struct errctx *ec)
{
    (void)s, (void)ec;
    assert_int_equal(count, 1);
    assert_string_equal(results->message, "not sent: too late");
    w.too_late[w.too_late_count++] = results->log_id;
    find_row(results->log_id)->state.trigger_code = results->code;
    return ERR_OK;
}

enum err store_set_aside_failure(struct store_session *s, int64_t log_id, struct errctx *ec)
{
    (void)s, (void)ec;
    find_row(log_id)->state.alarm_status = ALARM_FAILED;
    return ERR_OK;
}

/* Nobody can be told here: the alarms are the test's own. */
enum err alarms_create(const struct alarms_opts *opts, const struct clock *clock, struct counters *counters,
                       struct alarms **out, struct errctx *ec)
{
    (void)opts, (void)clock, (void)counters, (void)ec;
    *out = NULL;
    return ERR_OK;
}

enum err alarms_start(struct alarms *a, struct errctx *ec)
{
    (void)a, (void)ec;
    return ERR_OK;
}

bool alarms_choose(struct alarms *a, const char *app, bool *wanted)
{
    (void)a, (void)app, (void)wanted;
    return false;
}

void alarms_poke(struct alarms *a)
{
    (void)a;
}

void alarms_stop(struct alarms *a)
{
    (void)a;
}

void alarms_join(struct alarms *a)
{
    (void)a;
}

void alarms_destroy(struct alarms *a)
{
    (void)a;
}

const struct registry_snapshot *registry_get_snapshot(struct registry *r)
{
    static const struct registry_snapshot none;

    (void)r;
    return &none;
}

void registry_put_snapshot(const struct registry_snapshot *snap)
{
    (void)snap;
}

const struct registry_group *registry_find_group(const struct registry_snapshot *snap, int64_t id)
{
    (void)snap, (void)id;
    return NULL;
}

static void submit(void *arg, struct fire *list)
{
    assert_ptr_equal(arg, &w);
    for (const struct fire *f = list; f; f = f->next)
        w.sent[w.sent_count++] = f->log_id;
    fire_destroy_list(list);
}

/* ---- the tests' own ------------------------------------------------------------------------------------------- */

static int set_up(void **state)
{
    const struct failures_opts opts = {
        .incarnation = "ours",
        .alarms = {.node_name = "n", .mail = {.host = "", .username = "", .password = "", .from = ""}},
        .submit = submit,
        .arg = &w};
    struct errctx ec;

    (void)state;
    memset(&w, 0, sizeof w);
    log_set_level(LOG_ERROR);
    w.clock = (struct clock){.wall_us = read_us, .mono_ms = read_ms, .boot_ms = read_ms};
    return failures_create(&opts, &w.clock, &w.counters, &w.f, &ec) != ERR_OK;
}

static int tear_down(void **state)
{
    (void)state;
    failures_destroy(w.f);
    return 0;
}

/* One pass every 10 s. */
static void pass_for_s(int seconds)
{
    for (int64_t until = w.ms + seconds * 1000; w.ms < until; w.ms += 10000)
        while (failures_turn(w.f))
            continue;
}

static int status_of(int64_t id)
{
    return find_row(id)->state.alarm_status;
}

static void failures_are_dealt_with_once(void **state)
{
    (void)state;
    int64_t ok = add_row(200, 200, 1), failed = add_row(500, 0, 1), spent = add_row(200, 502, 0),
            open = add_row(0, 0, 1);
    pass_for_s(100);
    assert_int_equal(status_of(ok), 0);
    assert_int_equal(status_of(open), 0);
    assert_int_equal(status_of(failed), ALARM_DONE);
    assert_int_equal(status_of(spent), ALARM_DONE);
    assert_int_equal(w.sent_count, 1);
    assert_int_equal(counters_get(&w.counters, COUNTER_RETRIES), 1);
    assert_int_equal(counters_get(&w.counters, COUNTER_ALARMS_NO_ADDRESS), 2);
    assert_int_equal(counters_get(&w.counters, COUNTER_ROWS_WATCHED), 2); /* the open one, and the retry */
}

/* A row may fail hours after it was written, and after many newer ones. */
static void a_row_is_watched_until_it_ends(void **state)
{
    (void)state;
    int64_t slow = add_row(200, 0, 1);
    for (int i = 0; i < 100; i++) {
        add_row(200, 200, 0);
        pass_for_s(60);
    }
    assert_int_equal(w.sent_count, 0);
    w.list_reads = w.range_reads = 0;
    pass_for_s(10);
    assert_int_equal(w.list_reads, 1); /* it, and of the others the newest alone */
    assert_true(w.range_reads < 5);
    find_row(slow)->state.handle_code = 500;
    pass_for_s(10);
    assert_int_equal(w.sent_count, 1);
    assert_int_equal(status_of(slow), ALARM_DONE);
}

/* Ids are given out before their transactions commit. */
static void a_row_that_comes_to_light_late_is_found(void **state)
{
    (void)state;
    add_row(200, 200, 0);
    pass_for_s(10);
    int64_t late = add_row(500, 0, 1);
    find_row(late)->hidden = true;
    add_row(200, 200, 0);
    pass_for_s(40);
    find_row(late)->hidden = false;
    pass_for_s(10);
    assert_int_equal(status_of(late), ALARM_DONE);
}

static void the_past_is_looked_through_at_start(void **state)
{
    (void)state;
    w.ms = -INT64_C(8) * 24 * 3600 * 1000;
    int64_t ancient = add_row(500, 0, 1);
    w.ms = -INT64_C(6) * 24 * 3600 * 1000;
    int64_t old = add_row(500, 0, 1);
    w.next_id += 10000000; /* ids have gaps */
    w.ms = -3600 * 1000;
    int64_t older_run = add_row(200, 0, 1);
    w.ms = 0;
    int64_t fresh = add_row(500, 0, 1);
    pass_for_s(10);
    assert_int_equal(status_of(ancient), 0);
    assert_int_equal(status_of(old), ALARM_DONE);
    assert_int_equal(status_of(fresh), ALARM_DONE);
    find_row(older_run)->state.handle_code = 500;
    pass_for_s(10);
    assert_int_equal(status_of(older_run), ALARM_DONE);
}

static void many_failures_go_on_without_a_pause(void **state)
{
    (void)state;
    for (int i = 0; i < 2500; i++)
        add_row(500, 0, 1);
    int turns = 1;
    while (failures_turn(w.f))
        turns++;
    assert_int_equal(turns, 3);
    assert_int_equal(w.sent_count, 2500);
}

static void one_bad_row_does_not_hold_up_the_others(void **state)
{
    (void)state;
    int64_t before = add_row(500, 0, 1), bad = add_row(500, 0, 1), held = add_row(500, 0, 1),
            after = add_row(500, 0, 1);
    w.refused_id = bad;
    w.held_id = held;
    pass_for_s(10);
    assert_int_equal(status_of(before), ALARM_DONE);
    assert_int_equal(status_of(bad), ALARM_FAILED);
    assert_int_equal(status_of(held), 0);
    assert_int_equal(status_of(after), ALARM_DONE);
    w.held_id = 0;
    pass_for_s(10);
    assert_int_equal(status_of(held), ALARM_DONE);
    assert_int_equal(w.sent_count, 3);
}

static void a_database_that_is_away_loses_nothing(void **state)
{
    (void)state;
    add_row(200, 200, 0);
    pass_for_s(10);
    int64_t open = add_row(200, 0, 1);
    pass_for_s(10);
    w.error = ERR_LOST;
    find_row(open)->state.handle_code = 500;
    int64_t failed = add_row(500, 0, 1);
    pass_for_s(600);
    w.error = ERR_OK;
    pass_for_s(10);
    assert_int_equal(status_of(open), ALARM_DONE);
    assert_int_equal(status_of(failed), ALARM_DONE);
    assert_int_equal(w.sent_count, 2);
}

static void a_doubtful_commit_is_followed_up(void **state)
{
    (void)state;
    for (int happened = 0; happened < 2; happened++) {
        size_t before = w.sent_count;
        int64_t failed = add_row(500, 0, 1);
        w.unknown = 1;
        w.unknown_happened = happened;
        assert_false(failures_turn(w.f));
        assert_int_equal(w.sent_count, before);
        w.ms += 1000;
        w.unknown_happened = happened;
        assert_false(failures_turn(w.f));
        assert_int_equal(status_of(failed), ALARM_DONE);
        assert_int_equal(w.sent_count, before + 1);
        pass_for_s(30);
        assert_int_equal(w.sent_count, before + 1);
    }
}

/* Behind it nobody would send the retry: its row is ours. */
static void what_is_in_doubt_at_the_end_is_followed_up(void **state)
{
    (void)state;
    int64_t failed = add_row(500, 0, 1);
    w.unknown = 1;
    w.unknown_happened = true;
    assert_false(failures_turn(w.f));
    assert_int_equal(w.sent_count, 0);
    w.error = ERR_LOST; /* and an end that finds no database ends, too */
    failures_end(w.f);
    assert_int_equal(w.sent_count, 0);
    w.error = ERR_OK;
    failures_end(w.f);
    assert_int_equal(w.sent_count, 1);
    assert_int_equal(status_of(failed), ALARM_DONE);
    failures_end(w.f);
    assert_int_equal(w.sent_count, 1);
}

/* Other nodes may take ours for dead by then and retry the row themselves. */
static void a_retry_that_took_too_long_is_not_sent(void **state)
{
    (void)state;
    add_row(500, 0, 1);
    w.unknown = 1;
    w.unknown_happened = true;
    assert_false(failures_turn(w.f));
    w.ms += 20001;
    assert_false(failures_turn(w.f));
    assert_int_equal(w.sent_count, 0);
    assert_int_equal(w.too_late_count, 1);
    int64_t failed = add_row(500, 0, 1);
    w.handle_took_ms = 20001;
    failures_turn(w.f);
    assert_int_equal(status_of(failed), ALARM_DONE);
    assert_int_equal(w.sent_count, 0);
    assert_int_equal(w.too_late_count, 2);
}

static void fires_of_a_gone_node_end_after_a_minute(void **state)
{
    (void)state;
    int64_t gone = add_direct("gone", T), live = add_direct("live", T), ours = add_direct("ours", T);
    int64_t ahead = add_direct("gone", T + 3600); /* its clock was an hour ahead of ours */
    w.live = "live";
    pass_for_s(60);
    assert_int_equal(w.ended_count, 0);
    pass_for_s(10);
    assert_int_equal(w.ended_count, 1);
    assert_int_equal(w.ended[0], gone);
    assert_int_equal(status_of(gone), ALARM_DONE); /* and is a failure like any other, at once */
    pass_for_s(3500);
    assert_int_equal(w.ended_count, 1);
    w.live = NULL;
    pass_for_s(200);
    assert_int_equal(w.ended_count, 3);
    assert_int_equal(find_row(live)->state.trigger_code, 500);
    assert_int_equal(find_row(ahead)->state.trigger_code, 500);
    assert_int_equal(find_row(ours)->state.trigger_code, 0);
}

/* The due second comes from a clock that may be wrong, and a beat may be missing for a while: what this node has not
 * seen open for 50 s is not ended, whatever its mark says. */
/* Rows that all owners of their shards have missed, whatever the reason. */
static void a_row_that_its_shard_passed_long_ago_ends(void **state)
{
    (void)state;
    int64_t lost = add_planned(5, T - 1300), near = add_planned(5, T - 1100), other = add_planned(6, T - 1300);
    w.shards = 4;
    for (int k = 0; k < 4; k++)
        w.cursor_s[k] = T;
    w.cursor_s[2] = T - 1300 + 1199; /* its next owner looks back that far */
    pass_for_s(60);
    assert_int_equal(w.ended_count, 0); /* who just moved the cursor over it may be sending it */
    pass_for_s(10);
    assert_int_equal(w.ended_count, 1);
    assert_int_equal(w.ended[0], lost);
    assert_int_equal(status_of(lost), ALARM_DONE); /* and is a failure like any other, at once */
    assert_int_equal(status_of(near), 0);
    assert_int_equal(counters_get(&w.counters, COUNTER_FIRES_UNKNOWN), 1);
    /* The cursor as it was a minute ago counts. */
    w.cursor_s[1] = w.cursor_s[2] = T + 300;
    pass_for_s(60);
    assert_int_equal(w.ended_count, 1);
    pass_for_s(60);
    assert_int_equal(w.ended_count, 3);
    assert_int_equal(status_of(near), ALARM_DONE);
    assert_int_equal(status_of(other), ALARM_DONE);
    w.passed_loads = 0;
    pass_for_s(600);
    assert_int_equal(w.passed_loads, 0); /* nothing is asked for nothing */
}

/* Whoever has a note of a row will end it, or send it again. */
static void a_row_that_a_note_may_cover_is_left(void **state)
{
    (void)state;
    add_planned(5, T - 3600);
    w.shards = 4;
    w.cursor_s[1] = T;
    w.noted[1] = true;
    pass_for_s(300);
    w.noted[1] = false; /* settled: what is sent again now is on its way */
    pass_for_s(60);
    assert_int_equal(w.ended_count, 0);
    w.noted[1] = true;
    pass_for_s(60);
    w.noted[1] = false;
    pass_for_s(60);
    assert_int_equal(w.ended_count, 0);
    pass_for_s(60);
    assert_int_equal(w.ended_count, 1);
}

static void a_change_of_the_number_of_shards_begins_anew(void **state)
{
    (void)state;
    add_planned(5, T - 3600);
    w.shards = 4;
    w.cursor_s[1] = T;
    pass_for_s(50);
    w.shards = 2;
    pass_for_s(60);
    assert_int_equal(w.ended_count, 0);
    pass_for_s(70);
    assert_int_equal(w.ended_count, 1);
    assert_int_equal(w.shards, 2);
}

static void a_fresh_row_is_not_ended_by_its_mark_alone(void **state)
{
    (void)state;
    pass_for_s(10);
    add_direct("gone", T - 3600);
    pass_for_s(50);
    assert_int_equal(w.ended_count, 0);
    pass_for_s(10);
    assert_int_equal(w.ended_count, 1);
}

/* The executor's callback overtook the answer to our call. */
static void a_row_whose_result_is_on_its_way_waits_for_it(void **state)
{
    (void)state;
    int64_t id = add_direct("ours", T);
    find_row(id)->state.handle_code = 500;
    pass_for_s(20);
    assert_int_equal(status_of(id), 0);
    pass_for_s(20);
    assert_int_equal(status_of(id), ALARM_DONE);
}

static void an_emptied_table_begins_anew(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++)
        add_row(200, 200, 0);
    pass_for_s(200);
    w.count = 0;
    w.next_id = 0;
    pass_for_s(10);
    int64_t failed = add_row(500, 0, 1);
    pass_for_s(10);
    assert_int_equal(status_of(failed), ALARM_DONE);
}

int main(void)
{
#define FAILURES_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        FAILURES_TEST(failures_are_dealt_with_once),
        FAILURES_TEST(a_row_is_watched_until_it_ends),
        FAILURES_TEST(a_row_that_comes_to_light_late_is_found),
        FAILURES_TEST(the_past_is_looked_through_at_start),
        FAILURES_TEST(many_failures_go_on_without_a_pause),
        FAILURES_TEST(one_bad_row_does_not_hold_up_the_others),
        FAILURES_TEST(a_database_that_is_away_loses_nothing),
        FAILURES_TEST(a_doubtful_commit_is_followed_up),
        FAILURES_TEST(what_is_in_doubt_at_the_end_is_followed_up),
        FAILURES_TEST(a_retry_that_took_too_long_is_not_sent),
        FAILURES_TEST(fires_of_a_gone_node_end_after_a_minute),
        FAILURES_TEST(a_row_that_its_shard_passed_long_ago_ends),
        FAILURES_TEST(a_row_that_a_note_may_cover_is_left),
        FAILURES_TEST(a_change_of_the_number_of_shards_begins_anew),
        FAILURES_TEST(a_fresh_row_is_not_ended_by_its_mark_alone),
        FAILURES_TEST(a_row_whose_result_is_on_its_way_waits_for_it),
        FAILURES_TEST(an_emptied_table_begins_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
