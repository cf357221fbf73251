/* SPDX-License-Identifier: MIT */
/*
 * contract: what schedule, dispatch and record rely on of the store, as cases that run on the real database
 * (contract_test.c) and on the one in memory (tests/unit/sim/store_test.c), which the simulation is built on.
 *
 * The includer defines the hooks below, and runs CONTRACT_TESTS.
 */
#ifndef SHARDWHEEL_TESTS_STORE_CONTRACT_H
#define SHARDWHEEL_TESTS_STORE_CONTRACT_H

#include "shardwheel/store/cluster.h"
#include "shardwheel/store/lost.h"
#include "shardwheel/store/plan.h"
#include "shardwheel/store/run.h"

#include <stdlib.h>
#include <string.h>

#define CONTRACT_S INT64_C(1700000000)

struct contract_job {
    bool exists, running;
    int64_t last_ms, next_ms;
};

struct contract_log {
    bool exists;
    int trigger_code, handle_code;
    bool unknown; /* its message says "delivery unknown" */
    const char *address;
};

/* ---- hooks ---- */

/* A new database with so many shards, whose cursors stand at CONTRACT_S; two sessions. */
static void contract_begin(int shards, struct store_session **s, struct store_session **other);
static void contract_end(struct store_session *s, struct store_session *other);
/* Ids from 1 on without a gap: running, CRON "0 * * * * ?", FIRST, handler "demo", parameter "p", group 1. */
static void contract_add_job(int64_t id, int64_t next_ms);
enum contract_change { CONTRACT_NEXT, CONTRACT_STOP, CONTRACT_CONF, CONTRACT_REMOVE };
static void contract_change_job(int64_t id, enum contract_change change);
static struct contract_job contract_read_job(int64_t id);
static struct contract_log contract_read_log(int64_t id);
/* Asia/Shanghai, a fixed delay of 60 s, valid from CONTRACT_S to CONTRACT_S + 1000. */
static void contract_set_settings(int64_t id);
static void contract_set_rate(int64_t id, const char *conf);
static void contract_set_cursor(int shard, int64_t cursor_s);
static void contract_age_notes(int64_t ms);

/* ---- helpers ---- */

#define CONTRACT_OK(call)                                                                                              \
    do {                                                                                                               \
        struct errctx contract_ec = {{0}};                                                                             \
        struct errctx *ec = &contract_ec;                                                                              \
        enum err contract_e = (call);                                                                                  \
        if (contract_e)                                                                                                \
            fail_msg("%s: %s: %s", #call, err_name(contract_e), contract_ec.text);                                     \
    } while (0)

static int64_t contract_take(struct store_session *s, int shard, int n)
{
    int64_t epoch = 0, cursor_s = 0;

    CONTRACT_OK(store_take_shard(s, shard, n, "node-a", 0, 0, &epoch, &cursor_s, ec));
    return epoch;
}

struct contract_claim {
    struct job_page page;
    struct claim_job jobs[16];
};

/* Of jobs 1 to n, each with one fire at its next time, advanced by a minute. */
static void contract_plan(struct store_session *s, int shard, int64_t epoch, int64_t n, struct contract_claim *c)
{
    int64_t ids[16];

    for (int64_t i = 0; i < n; i++)
        ids[i] = i + 1;
    memset(c, 0, sizeof *c);
    CONTRACT_OK(store_load_due(s, ids, (size_t)n, INT64_MAX, &c->page, ec));
    for (size_t i = 0; i < c->page.count; i++) {
        const struct job_due *job = &c->page.jobs[i];
        struct fire *f = fire_create();

        assert_non_null(f);
        f->job_id = job->id;
        f->group = job->group;
        f->due_s = f->original_due_s = job->next_ms / 1000;
        f->epoch = epoch;
        f->shard = shard;
        c->jobs[i] = (struct claim_job){.job = job, .new_next_ms = job->next_ms + 60000, .fires = f};
    }
}

static void contract_drop(struct contract_claim *c)
{
    for (size_t i = 0; i < c->page.count; i++)
        fire_destroy_list(c->jobs[i].fires);
    job_page_fini(&c->page);
}

static int contract_compare_fires(const void *a, const void *b)
{
    return compare_int64(&(*(struct fire *const *)a)->due_s, &(*(struct fire *const *)b)->due_s);
}

/* The open rows due in (from, to], counted from CONTRACT_S on, are due at these seconds. */
static void contract_check_planned(struct store_session *s, int64_t from, int64_t to, const int64_t *dues, size_t count)
{
    struct log_slice slice = {.from_s = CONTRACT_S + from, .to_s = CONTRACT_S + to, .limit_ms = 1000};
    struct fire *list = NULL, *fires[16];
    int64_t last_id;
    size_t n = 0;

    CONTRACT_OK(store_load_planned(s, &slice, &list, &last_id, ec));
    assert_int_equal(last_id, 0);
    for (struct fire *f = list; f; f = f->next)
        fires[n++] = f;
    assert_int_equal(n, count);
    qsort(fires, n, sizeof fires[0], contract_compare_fires);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(fires[i]->due_s, CONTRACT_S + dues[i]);
        assert_int_equal(fires[i]->original_due_s, CONTRACT_S + dues[i]);
        assert_int_equal(fires[i]->row_hash, fire_row_hash(1, "demo", "p", 0));
        assert_int_equal(fires[i]->epoch, 1);
    }
    fire_destroy_list(list);
}

/* ---- shards and cursors ---- */

static void contract_a_takeover_raises_epochs_and_leaves_a_note(void **state)
{
    struct store_session *s, *other;
    struct takeover_note *notes = NULL;
    int64_t epoch, cursor_s;
    struct errctx why;
    size_t count;

    (void)state;
    contract_begin(2, &s, &other);
    assert_int_equal(contract_take(s, 0, 2), 1);
    assert_int_equal(contract_take(other, 0, 2), 2);
    assert_int_equal(contract_take(s, 1, 2), 1);
    contract_set_cursor(0, CONTRACT_S + 7);
    CONTRACT_OK(store_take_shard(s, 0, 2, "node-b", 0, 0, &epoch, &cursor_s, ec));
    assert_int_equal(epoch, 3);
    assert_int_equal(cursor_s, CONTRACT_S + 7);
    assert_int_equal(store_take_shard(s, 0, 3, "node-b", 0, 0, &epoch, &cursor_s, &why), ERR_STATE);
    contract_age_notes(5000);
    CONTRACT_OK(store_load_takeovers(s, 0, &notes, &count, ec));
    assert_int_equal(count, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(notes[i].epoch, i + 1);
        assert_int_equal(notes[i].cursor_s, CONTRACT_S + (i == 2 ? 7 : 0));
        assert_in_range(notes[i].age_ms, 5000, 15000);
    }
    free(notes);
    for (int i = 0; i < 2; i++) { /* never below what the caller moved it to */
        CONTRACT_OK(store_take_shard(s, 0, 2, "node-b", 0, CONTRACT_S + (i ? 5 : 9), &epoch, &cursor_s, ec));
        assert_int_equal(cursor_s, CONTRACT_S + 9);
    }
    contract_end(s, other);
}

static void contract_notes_go_when_they_are_settled(void **state)
{
    struct store_session *s, *other;
    struct takeover_note *notes = NULL;
    size_t count;

    (void)state;
    contract_begin(2, &s, &other);
    for (int i = 0; i < 4; i++)
        (void)contract_take(s, 0, 2);
    (void)contract_take(s, 1, 2);
    contract_age_notes(60000);
    for (int twice = 0; twice < 2; twice++)
        CONTRACT_OK(store_delete_takeovers(s, 0, 2, false, ec));
    CONTRACT_OK(store_load_takeovers(s, 0, &notes, &count, ec));
    assert_int_equal(count, 2);
    assert_int_equal(notes[0].epoch, 3);
    assert_in_range(notes[0].age_ms, 60000, 70000);
    free(notes);
    CONTRACT_OK(store_delete_takeovers(s, 0, 3, true, ec));
    CONTRACT_OK(store_load_takeovers(s, 0, &notes, &count, ec));
    assert_int_equal(count, 1);
    assert_in_range(notes[0].age_ms, 0, 10000); /* put off */
    free(notes);
    CONTRACT_OK(store_load_takeovers(s, 1, &notes, &count, ec));
    assert_int_equal(count, 1);
    assert_in_range(notes[0].age_ms, 60000, 70000);
    free(notes);
    CONTRACT_OK(store_delete_takeovers(s, 1, 9, false, ec));
    CONTRACT_OK(store_load_takeovers(s, 1, &notes, &count, ec));
    assert_int_equal(count, 0);
    assert_null(notes);
    contract_end(s, other);
}

static void contract_a_jump_leaves_a_note(void **state)
{
    struct store_session *s, *other;
    struct takeover_note *notes = NULL;
    int64_t epoch, cursor_s;
    size_t count;

    (void)state;
    contract_begin(3, &s, &other);
    CONTRACT_OK(store_take_shard(s, 0, 3, "node-a", 41, 0, &epoch, &cursor_s, ec));
    assert_int_equal(epoch, 42); /* beyond what the node ever had */
    (void)contract_take(s, 1, 3);
    (void)contract_take(s, 2, 3);
    CONTRACT_OK(store_delete_takeovers(s, 0, 42, false, ec));
    CONTRACT_OK(store_delete_takeovers(s, 1, 1, false, ec));
    contract_age_notes(60000);
    contract_set_cursor(1, CONTRACT_S + 500);
    contract_set_cursor(2, CONTRACT_S + 30);
    struct cursor_move moves[] = {{0, 42, false}, {1, 1, false}, {2, 1, false}};
    for (int twice = 0; twice < 2; twice++)
        CONTRACT_OK(store_note_jumps(s, moves, 3, CONTRACT_S + 100, ec));
    CONTRACT_OK(store_load_takeovers(s, 0, &notes, &count, ec));
    assert_int_equal(count, 1);
    assert_int_equal(notes[0].epoch, 42);
    assert_int_equal(notes[0].cursor_s, CONTRACT_S);
    free(notes);
    CONTRACT_OK(store_load_takeovers(s, 1, &notes, &count, ec));
    assert_int_equal(count, 0); /* its cursor is not below */
    CONTRACT_OK(store_load_takeovers(s, 2, &notes, &count, ec));
    assert_int_equal(count, 1);
    assert_int_equal(notes[0].cursor_s, CONTRACT_S); /* that of the takeover stays, and is young again */
    assert_in_range(notes[0].age_ms, 0, 10000);
    free(notes);
    moves[0].epoch = 41;
    CONTRACT_OK(store_delete_takeovers(s, 0, 42, false, ec));
    CONTRACT_OK(store_note_jumps(s, moves, 1, CONTRACT_S + 100, ec));
    CONTRACT_OK(store_load_takeovers(s, 0, &notes, &count, ec));
    assert_int_equal(count, 0); /* another epoch */
    contract_end(s, other);
}

static void contract_a_cursor_moves_under_its_epoch_and_never_falls(void **state)
{
    struct store_session *s, *other;
    struct shard_row *rows = NULL;
    size_t count;

    (void)state;
    contract_begin(3, &s, &other);
    for (int k = 0; k < 3; k++)
        (void)contract_take(s, k, 3);
    (void)contract_take(other, 1, 3);
    contract_set_cursor(2, CONTRACT_S + 50);
    struct cursor_move moves[] = {{0, 1, false}, {1, 1, true}, {2, 1, false}};
    for (int twice = 0; twice < 2; twice++) {
        CONTRACT_OK(store_move_cursors(s, moves, 3, CONTRACT_S + 9, ec));
        assert_true(moves[0].moved);
        assert_false(moves[1].moved); /* another owner */
        assert_true(moves[2].moved);  /* it is beyond */
    }
    CONTRACT_OK(store_load_shards(s, &rows, &count, ec));
    assert_int_equal(count, 3);
    assert_int_equal(rows[0].cursor_s, CONTRACT_S + 9);
    assert_int_equal(rows[1].cursor_s, CONTRACT_S);
    assert_int_equal(rows[1].epoch, 2);
    assert_int_equal(rows[2].cursor_s, CONTRACT_S + 50);
    assert_string_equal(rows[0].owner, "node-a");
    free(rows);
    CONTRACT_OK(store_move_cursors(s, NULL, 0, CONTRACT_S + 9, ec));
    CONTRACT_OK(store_check_writable(s, ec));
    contract_end(s, other);
}

/* ---- jobs ---- */

static void contract_a_look_finds_what_is_due(void **state)
{
    static const int64_t next_ms[] = {3000, 1000, 9000, 2000, 1000}, order[] = {2, 5, 4, 1};
    struct store_session *s, *other;
    struct due_scan scan;

    (void)state;
    contract_begin(1, &s, &other);
    for (int i = 0; i < 5; i++)
        contract_add_job(i + 1, next_ms[i]);
    CONTRACT_OK(store_scan_due(s, (int[]){0}, 1, 1, 3000, 10, &scan, ec));
    assert_int_equal(scan.count, 4);
    assert_true(scan.complete);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(scan.list[i].id, order[i]);
        assert_int_equal(scan.list[i].next_ms, next_ms[order[i] - 1]);
    }
    free(scan.list);
    contract_change_job(2, CONTRACT_STOP);
    CONTRACT_OK(store_scan_due(s, (int[]){0}, 1, 1, 3000, 2, &scan, ec));
    assert_int_equal(scan.count, 2);
    assert_int_equal(scan.list[0].id, 5);
    assert_false(scan.complete);
    free(scan.list);
    CONTRACT_OK(store_scan_due(s, (int[]){0, 2}, 2, 3, INT64_MAX, 10, &scan, ec));
    assert_int_equal(scan.count, 2); /* 3 and 5 */
    free(scan.list);
    contract_end(s, other);
}

static void contract_jobs_are_read_by_id(void **state)
{
    struct store_session *s, *other;
    struct job_spec *specs[4];
    struct job_page page;

    (void)state;
    contract_begin(1, &s, &other);
    for (int64_t id = 1; id <= 4; id++)
        contract_add_job(id, 1000 * id);
    contract_change_job(2, CONTRACT_STOP);
    contract_change_job(3, CONTRACT_REMOVE);
    CONTRACT_OK(store_load_due(s, (int64_t[]){1, 2, 3, 4, 9}, 5, 3000, &page, ec));
    assert_int_equal(page.count, 1);
    assert_int_equal(page.jobs[0].id, 1);
    assert_int_equal(page.jobs[0].group, 1);
    assert_int_equal(page.jobs[0].next_ms, 1000);
    assert_string_equal(page.jobs[0].schedule_type, "CRON");
    assert_string_equal(page.jobs[0].schedule_conf, "0 * * * * ?");
    assert_string_equal(page.jobs[0].misfire, "DO_NOTHING");
    assert_string_equal(page.jobs[0].route, "FIRST");
    assert_string_equal(page.jobs[0].handler, "demo");
    assert_string_equal(page.jobs[0].param, "p");
    job_page_fini(&page);
    CONTRACT_OK(store_load_job_specs(s, (int64_t[]){1, 2, 3, 9}, 4, specs, ec));
    assert_true(specs[0]->running);
    assert_false(specs[1]->running);
    assert_null(specs[2]);
    assert_null(specs[3]);
    assert_string_equal(specs[0]->handler, "demo");
    assert_int_equal(specs[0]->row_hash, fire_row_hash(1, "demo", "p", 0));
    assert_int_equal(specs[0]->route_hash, fire_route_hash("FIRST"));
    job_spec_unref(specs[0]);
    job_spec_unref(specs[1]);
    contract_end(s, other);
}

/* ---- claims ---- */

static void contract_a_claim_advances_and_plans(void **state)
{
    struct store_session *s, *other;
    struct contract_claim c;
    int64_t epoch;

    (void)state;
    contract_begin(1, &s, &other);
    epoch = contract_take(s, 0, 1);
    for (int64_t id = 1; id <= 3; id++)
        contract_add_job(id, (CONTRACT_S + id) * 1000);
    contract_plan(s, 0, epoch, 3, &c);
    c.jobs[2].stop = true;
    c.jobs[2].new_next_ms = 0;
    fire_destroy_list(c.jobs[1].fires);
    c.jobs[1].fires = NULL; /* advanced, and nothing planned */
    CONTRACT_OK(store_claim_jobs(s, 0, epoch, c.jobs, 3, NULL, ec));
    assert_true(c.jobs[0].advanced && c.jobs[1].advanced && c.jobs[2].advanced);
    struct contract_job first = contract_read_job(1), last = contract_read_job(3);
    assert_int_equal(first.last_ms, (CONTRACT_S + 1) * 1000);
    assert_int_equal(first.next_ms, (CONTRACT_S + 61) * 1000);
    assert_true(first.running);
    assert_false(last.running);
    assert_int_equal(last.last_ms + last.next_ms, 0);
    assert_true(contract_read_log(c.jobs[0].fires->log_id).exists);
    assert_int_equal(contract_read_log(c.jobs[0].fires->log_id).trigger_code, 0);
    assert_int_equal(c.jobs[0].fires->row_hash, fire_row_hash(1, "demo", "p", 0));
    contract_check_planned(s, 0, 600, (int64_t[]){1, 3}, 2);
    contract_drop(&c);
    contract_end(s, other);
}

static void contract_a_claim_of_an_older_epoch_is_refused(void **state)
{
    struct store_session *s, *other;
    struct contract_claim c;
    struct errctx why;
    int64_t epoch;

    (void)state;
    contract_begin(1, &s, &other);
    epoch = contract_take(s, 0, 1);
    contract_add_job(1, CONTRACT_S * 1000);
    contract_plan(s, 0, epoch, 1, &c);
    (void)contract_take(other, 0, 1);
    assert_int_equal(store_claim_jobs(s, 0, epoch, c.jobs, 1, NULL, &why), ERR_STATE);
    assert_false(c.jobs[0].advanced);
    assert_int_equal(contract_read_job(1).next_ms, CONTRACT_S * 1000);
    assert_int_equal(store_load_claimed(s, 0, epoch, c.jobs, 1, &why), ERR_STATE);
    contract_drop(&c);
    contract_end(s, other);
}

static void contract_changed_jobs_are_left_alone(void **state)
{
    struct store_session *s, *other;
    struct contract_claim c;
    int64_t epoch;

    (void)state;
    contract_begin(1, &s, &other);
    epoch = contract_take(s, 0, 1);
    for (int64_t id = 1; id <= 5; id++)
        contract_add_job(id, CONTRACT_S * 1000);
    contract_plan(s, 0, epoch, 5, &c);
    for (int i = CONTRACT_NEXT; i <= CONTRACT_REMOVE; i++)
        contract_change_job(i + 1, (enum contract_change)i);
    CONTRACT_OK(store_claim_jobs(s, 0, epoch, c.jobs, 5, NULL, ec));
    for (int i = 0; i < 5; i++)
        assert_int_equal(c.jobs[i].advanced, i == 4);
    assert_int_equal(contract_read_job(1).next_ms, CONTRACT_S * 1000 + 1);
    assert_int_equal(contract_read_job(5).next_ms, (CONTRACT_S + 60) * 1000);
    contract_drop(&c);
    contract_end(s, other);
}

/* After a commit of unknown outcome: what is there is known by the rows that it wrote, or by the jobs where it wrote
 * none. */
static void contract_a_claim_is_read_back(void **state)
{
    struct store_session *s, *other;
    struct contract_claim c;
    int64_t epoch, log_id;

    (void)state;
    contract_begin(1, &s, &other);
    epoch = contract_take(s, 0, 1);
    for (int64_t id = 1; id <= 3; id++)
        contract_add_job(id, CONTRACT_S * 1000);
    contract_plan(s, 0, epoch, 3, &c);
    fire_destroy_list(c.jobs[1].fires);
    c.jobs[1].fires = NULL;
    contract_change_job(3, CONTRACT_STOP);
    CONTRACT_OK(store_claim_jobs(s, 0, epoch, c.jobs, 3, NULL, ec));
    c.jobs[2].fires->log_id = 0;
    c.jobs[0].advanced = c.jobs[1].advanced = false;
    CONTRACT_OK(store_load_claimed(other, 0, epoch, c.jobs, 3, ec));
    assert_true(c.jobs[0].advanced && c.jobs[1].advanced);
    assert_false(c.jobs[2].advanced);
    /* An id that was given again is no proof. */
    log_id = c.jobs[0].fires->log_id;
    c.jobs[0].fires->due_s++;
    CONTRACT_OK(store_load_claimed(other, 0, epoch, c.jobs, 3, ec));
    assert_false(c.jobs[0].advanced);
    c.jobs[0].fires->due_s--;
    c.jobs[0].fires->log_id = log_id + 1000;
    CONTRACT_OK(store_load_claimed(other, 0, epoch, c.jobs, 3, ec));
    assert_false(c.jobs[0].advanced);
    contract_drop(&c);
    contract_end(s, other);
}

/* ---- rows ---- */

/* Four open rows of shard 0 of 1, due one after the other from CONTRACT_S + 1 on; their ids. */
/* ahead: as sent to "http://a/". */
static int64_t contract_add_such_rows(struct store_session *s, bool ahead, int64_t ids[4])
{
    struct contract_claim c;
    int64_t epoch = contract_take(s, 0, 1);

    for (int64_t id = 1; id <= 4; id++)
        contract_add_job(id, (CONTRACT_S + id) * 1000);
    contract_plan(s, 0, epoch, 4, &c);
    for (int i = 0; i < 4 && ahead; i++) {
        c.jobs[i].fires->written_ahead = true;
        c.jobs[i].fires->address = str_copy("http://a/");
    }
    CONTRACT_OK(store_claim_jobs(s, 0, epoch, c.jobs, 4, NULL, ec));
    for (int i = 0; i < 4; i++)
        ids[i] = c.jobs[i].fires->log_id;
    contract_drop(&c);
    return epoch;
}

static int64_t contract_add_rows(struct store_session *s, int64_t ids[4])
{
    return contract_add_such_rows(s, /*ahead=*/false, ids);
}

static void contract_open_rows_are_found_by_their_second(void **state)
{
    struct log_slice slice = {.from_s = CONTRACT_S, .to_s = CONTRACT_S + 9, .limit_ms = 1000, .page_rows = 3};
    struct store_session *s, *other;
    struct fire *list = NULL;
    int64_t ids[4], last_id;

    (void)state;
    contract_begin(1, &s, &other);
    (void)contract_add_rows(s, ids);
    contract_check_planned(s, 0, 9, (int64_t[]){1, 2, 3, 4}, 4);
    contract_check_planned(s, 1, 3, (int64_t[]){2, 3}, 2);
    contract_check_planned(s, 4, 9, NULL, 0);
    /* Page by page: three rows, then the last. */
    CONTRACT_OK(store_load_planned(s, &slice, &list, &last_id, ec));
    assert_int_equal(last_id, ids[2]);
    fire_destroy_list(list);
    slice.after_id = last_id;
    CONTRACT_OK(store_load_planned(s, &slice, &list, &last_id, ec));
    assert_int_equal(last_id, 0);
    assert_non_null(list);
    assert_int_equal(list->log_id, ids[3]);
    assert_null(list->next);
    fire_destroy_list(list);
    contract_end(s, other);
}

static void contract_an_end_is_final(void **state)
{
    struct store_session *s, *other;
    struct fire_result results[4];
    int64_t ids[4], epoch;
    size_t ended = 0;

    (void)state;
    contract_begin(1, &s, &other);
    epoch = contract_add_rows(s, ids);
    CONTRACT_OK(store_end_unknown(s, ids, 1, INT64_MAX, &ended, ec));
    assert_int_equal(ended, 1);
    for (int i = 0; i < 3; i++)
        results[i] = (struct fire_result){.log_id = ids[i],
                                          .code = i == 1 ? 200 : 500,
                                          .as_planned = i == 1,
                                          .address = "http://a/",
                                          .message = "told"};
    for (int twice = 0; twice < 2; twice++) {
        CONTRACT_OK(store_write_results(s, results, 3, ec));
        results[1].code = 500; /* changes nothing */
        results[1].as_planned = false;
    }
    assert_int_equal(contract_read_log(ids[0]).trigger_code, 500);
    assert_true(contract_read_log(ids[0]).unknown);
    assert_int_equal(contract_read_log(ids[1]).trigger_code, 200);
    assert_int_equal(contract_read_log(ids[2]).trigger_code, 500);
    assert_false(contract_read_log(ids[2]).unknown);
    CONTRACT_OK(store_end_unknown(s, ids, 3, INT64_MAX, &ended, ec));
    assert_int_equal(ended, 0);
    CONTRACT_OK(store_end_doubtful(s, 0, epoch, ids, 3, ec));
    {
        const struct gone_fires gone = {.ids = ids, .count = 4};
        struct errctx why;

        assert_int_equal(store_end_doubtful(s, 0, epoch - 1, ids + 3, 1, &why), ERR_STATE);
        assert_int_equal(contract_read_log(ids[3]).trigger_code, 0);
        assert_int_equal(store_cancel_planned(s, 0, epoch + 1, &gone, &why), ERR_STATE);
        assert_true(contract_read_log(ids[3]).exists);
        CONTRACT_OK(store_cancel_planned(s, 0, epoch, &gone, ec));
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(contract_read_log(ids[i]).exists, i < 3);
    assert_false(contract_read_log(ids[2]).unknown);
    contract_check_planned(s, 0, 9, NULL, 0);
    contract_end(s, other);
}

static void contract_the_first_callback_counts(void **state)
{
    struct store_session *s, *other;
    int64_t ids[4];

    (void)state;
    contract_begin(1, &s, &other);
    (void)contract_add_rows(s, ids);
    struct callback_entry entries[] = {
        {.log_id = ids[0], .code = 200, .delivers = true},
        {.log_id = ids[1], .code = 500},
        {.log_id = ids[3] + 1000, .code = 200},
    };
    CONTRACT_OK(store_write_callbacks(s, entries, 3, CONTRACT_S, NULL, ec));
    assert_int_equal(entries[0].outcome, CALLBACK_STORED);
    assert_int_equal(entries[1].outcome, CALLBACK_STORED);
    assert_int_equal(entries[2].outcome, CALLBACK_UNKNOWN_LOG);
    assert_int_equal(contract_read_log(ids[0]).trigger_code, 200);
    assert_int_equal(contract_read_log(ids[0]).handle_code, 200);
    assert_int_equal(contract_read_log(ids[1]).trigger_code, 0); /* dispatch writes it */
    entries[1].code = 200;
    CONTRACT_OK(store_write_callbacks(s, entries, 2, CONTRACT_S, NULL, ec));
    assert_int_equal(entries[0].outcome, CALLBACK_REPEATED);
    assert_int_equal(contract_read_log(ids[1]).handle_code, 500);
    /* A row whose run has ended is not open, whoever sent it. */
    size_t ended = 0;
    CONTRACT_OK(store_end_unknown(s, ids, 2, INT64_MAX, &ended, ec));
    assert_int_equal(ended, 0);
    contract_end(s, other);
}

/* Its node may have died before it wrote the result; one that lives writes nothing worse. */
static void contract_a_callback_proves_the_delivery(void **state)
{
    struct store_session *s, *other;
    int64_t ids[4];

    (void)state;
    contract_begin(1, &s, &other);
    (void)contract_add_such_rows(s, /*ahead=*/true, ids);
    struct callback_entry entries[] = {{.log_id = ids[0], .code = 200}, {.log_id = ids[1], .code = 500}};
    CONTRACT_OK(store_write_callbacks(s, entries, 2, CONTRACT_S, NULL, ec));
    for (int i = 0; i < 3; i++)
        assert_int_equal(contract_read_log(ids[i]).trigger_code, i < 2 ? 200 : 0);
    struct fire_result results[] = {{.log_id = ids[0], .code = 500, .message = "timed out"},
                                    {.log_id = ids[1], .code = 200, .address = "http://b/", .message = "told"}};
    CONTRACT_OK(store_write_results(s, results, 2, ec));
    for (int i = 0; i < 2; i++)
        assert_int_equal(contract_read_log(ids[i]).trigger_code, 200);
    assert_string_equal(contract_read_log(ids[0]).address, "http://a/");
    assert_string_equal(contract_read_log(ids[1]).address, "http://b/");
    contract_end(s, other);
}

/* ---- nodes, and another number of shards ---- */

/* The first two of four rows were taken by an executor, the third ended, the fourth waits for its answer. */
static void contract_lost_runs_end_once(void **state)
{
    struct store_session *s, *other;
    struct contract_claim c;
    struct open_runs runs = {0};
    int64_t ids[4], job_ids[4], kept[4], newest = 0;
    size_t count = 4, ended = 0;

    (void)state;
    contract_begin(1, &s, &other);
    for (int64_t id = 1; id <= 4; id++)
        contract_add_job(id, (CONTRACT_S + 60) * 1000);
    contract_plan(s, 0, contract_take(s, 0, 1), 4, &c);
    CONTRACT_OK(store_claim_jobs(s, 0, 1, c.jobs, 4, NULL, ec));
    for (size_t i = 0; i < 4; i++) {
        kept[i] = ids[i] = c.jobs[i].fires->log_id;
        job_ids[i] = c.jobs[i].fires->job_id;
    }
    struct fire_result results[3];
    for (size_t i = 0; i < 3; i++)
        results[i] = (struct fire_result){.log_id = ids[i], .code = 200, .address = "http://a/", .message = "told"};
    CONTRACT_OK(store_write_results(s, results, 3, ec));
    struct callback_entry entry = {.log_id = ids[2], .code = 200};
    CONTRACT_OK(store_write_callbacks(s, &entry, 1, CONTRACT_S + 61, NULL, ec));

    CONTRACT_OK(store_load_newest_log(s, &newest, ec));
    assert_int_equal(newest, ids[3]);
    CONTRACT_OK(store_load_open_runs(s, 0, newest, 100, &runs, ec));
    assert_int_equal(runs.until_id, newest);
    assert_int_equal(runs.count, 2);
    for (size_t i = 0; i < runs.count; i++) {
        assert_int_equal(runs.rows[i].id, ids[i]);
        assert_int_equal(runs.rows[i].job_id, job_ids[i]);
        assert_int_equal(runs.rows[i].triggered_s, CONTRACT_S + 60);
        assert_string_equal(runs.rows[i].address, "http://a/");
    }
    open_runs_fini(&runs);
    CONTRACT_OK(store_load_open_runs(s, ids[0], newest, 100, &runs, ec)); /* behind the first */
    assert_int_equal(runs.count, 1);
    open_runs_fini(&runs);
    CONTRACT_OK(store_keep_open_runs(s, kept, &count, ec));
    assert_int_equal(count, 2);

    /* Whatever was asked for: what has ended stays as it is, and a second time nothing is left to end. */
    CONTRACT_OK(store_end_lost(s, ids, job_ids, 4, "gone", CONTRACT_S + 90, &ended, ec));
    assert_int_equal(ended, 2);
    CONTRACT_OK(store_end_lost(s, ids, job_ids, 4, "gone", CONTRACT_S + 91, &ended, ec));
    assert_int_equal(ended, 0);
    assert_int_equal(contract_read_log(ids[0]).handle_code, 500);
    assert_int_equal(contract_read_log(ids[1]).handle_code, 500);
    assert_int_equal(contract_read_log(ids[2]).handle_code, 200);
    assert_int_equal(contract_read_log(ids[3]).handle_code, 0);

    /* A callback that says 200 overwrites it, no other one does. */
    struct callback_entry entries[] = {{.log_id = ids[0], .code = 200}, {.log_id = ids[1], .code = 502}};
    CONTRACT_OK(store_write_callbacks(s, entries, 2, CONTRACT_S + 95, NULL, ec));
    assert_int_equal(contract_read_log(ids[0]).handle_code, 200);
    assert_int_equal(contract_read_log(ids[1]).handle_code, 500);
    contract_drop(&c);
    contract_end(s, other);
}

static void contract_a_node_reads_what_is_asked_of_it(void **state)
{
    struct node_beat beat = {.incarnation = "abc", .node = "n", .url = "u", .version = "v", .released = -1};
    struct store_session *s, *other;
    struct cluster_view view;

    (void)state;
    contract_begin(5, &s, &other);
    CONTRACT_OK(store_load_cluster(s, "abc", &view, ec));
    assert_int_equal(view.shards, 5);
    assert_int_equal(view.wish.shards, 0);
    assert_false(view.known);
    assert_int_equal(view.release_shard, -1);
    beat.drain = true; /* counts while the row is not there */
    CONTRACT_OK(store_write_beat(s, &beat, ec));
    beat.drain = false;
    CONTRACT_OK(store_write_beat(s, &beat, ec));
    CONTRACT_OK(store_load_cluster(s, "abc", &view, ec));
    assert_true(view.known && view.drain);
    CONTRACT_OK(store_forget_nodes(s, 60000, ec));
    CONTRACT_OK(store_load_cluster(s, "abc", &view, ec));
    assert_true(view.known);
    CONTRACT_OK(store_delete_node(s, "abc", ec));
    CONTRACT_OK(store_load_cluster(s, "abc", &view, ec));
    assert_false(view.known);
    contract_end(s, other);
}

static void contract_the_number_of_shards_changes_at_one_second(void **state)
{
    struct store_session *s, *other;
    struct takeover_note *notes = NULL;
    struct reshard_wish wish, again;
    struct reshard_step step;
    struct shard_row *rows = NULL;
    struct cluster_view view;
    struct errctx why;
    size_t count;

    (void)state;
    contract_begin(3, &s, &other);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i <= k; i++)
            (void)contract_take(s, k, 3);
    CONTRACT_OK(store_ask_reshard(s, 2, NULL, &wish, ec));
    assert_int_equal(wish.shards, 2);
    assert_int_equal(store_ask_reshard(other, 4, NULL, &again, &why), ERR_CONFLICT);
    CONTRACT_OK(store_load_cluster(s, "abc", &view, ec));
    assert_int_equal(view.wish.last_s, wish.last_s);
    contract_set_cursor(0, wish.last_s);
    contract_set_cursor(1, wish.last_s);
    CONTRACT_OK(store_step_reshard(s, &wish, &step, ec));
    assert_int_equal(step.outcome, RESHARD_WAITING);
    contract_set_cursor(2, wish.last_s);
    again = wish;
    again.last_s++;
    CONTRACT_OK(store_step_reshard(s, &wish, &step, ec));
    assert_int_equal(step.outcome, RESHARD_DONE);
    CONTRACT_OK(store_load_cluster(s, "abc", &view, ec));
    assert_int_equal(view.shards, 2);
    assert_int_equal(view.wish.shards, 0);
    CONTRACT_OK(store_load_shards(s, &rows, &count, ec));
    assert_true(count >= 2);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(rows[k].epoch, 4); /* beyond the highest there was */
        assert_int_equal(rows[k].cursor_s, wish.last_s);
        assert_string_equal(rows[k].owner, "");
    }
    free(rows);
    CONTRACT_OK(store_load_takeovers(s, 0, &notes, &count, ec));
    assert_int_equal(count, 1);
    assert_int_equal(notes[0].epoch, 4);
    assert_int_equal(notes[0].cursor_s, wish.last_s);
    free(notes);
    CONTRACT_OK(store_load_takeovers(s, 2, &notes, &count, ec));
    assert_int_equal(count, 0);
    /* No old epoch moves a cursor, and nobody takes a shard who believes in the old number. */
    struct cursor_move moves[] = {{0, 1, false}, {2, 3, false}};
    CONTRACT_OK(store_move_cursors(s, moves, 2, wish.last_s + 5, ec));
    assert_false(moves[0].moved || moves[1].moved);
    int64_t epoch, cursor_s;
    assert_int_equal(store_take_shard(s, 0, 3, "n", 0, 0, &epoch, &cursor_s, &why), ERR_STATE);
    assert_int_equal(contract_take(s, 0, 2), 5);
    CONTRACT_OK(store_step_reshard(s, &wish, &step, ec));
    assert_int_equal(step.outcome == RESHARD_GONE || step.outcome == RESHARD_WAITING, 1);
    contract_end(s, other);
}

static void contract_settings_come_with_due_jobs(void **state)
{
    struct store_session *s, *other;
    struct job_page page = {0};

    (void)state;
    contract_begin(2, &s, &other);
    for (int64_t id = 1; id <= 2; id++)
        contract_add_job(id, CONTRACT_S * 1000);
    contract_set_settings(2);
    CONTRACT_OK(store_load_due(s, (int64_t[]){1, 2}, 2, INT64_MAX, &page, ec));
    assert_int_equal(page.count, 2);
    assert_true(!page.jobs[0].time_zone || !page.jobs[0].time_zone[0]);
    assert_int_equal(page.jobs[0].fixed_delay_s, 0);
    assert_int_equal(page.jobs[0].valid_from_s, 0);
    assert_int_equal(page.jobs[0].valid_until_s, 0);
    assert_string_equal(page.jobs[1].time_zone, "Asia/Shanghai");
    assert_int_equal(page.jobs[1].fixed_delay_s, 60);
    assert_int_equal(page.jobs[1].valid_from_s, CONTRACT_S);
    assert_int_equal(page.jobs[1].valid_until_s, CONTRACT_S + 1000);
    job_page_fini(&page);
    contract_end(s, other);
}

static void contract_a_next_time_alone_is_moved(void **state)
{
    struct store_session *s, *other;
    struct contract_claim c;
    int64_t epoch;
    struct errctx why;

    (void)state;
    contract_begin(1, &s, &other);
    for (int64_t id = 1; id <= 2; id++)
        contract_add_job(id, (CONTRACT_S + 90000) * 1000);
    epoch = contract_take(s, 0, 1);
    contract_plan(s, 0, epoch, 2, &c);
    contract_change_job(2, CONTRACT_NEXT);
    for (size_t i = 0; i < 2; i++) {
        fire_destroy_list(c.jobs[i].fires);
        c.jobs[i].fires = NULL;
        c.jobs[i].keeps_last = true;
        c.jobs[i].new_next_ms = (CONTRACT_S + 5) * 1000;
    }
    assert_int_equal(store_claim_free_jobs(s, 0, epoch - 1, c.jobs, 2, NULL, &why), ERR_STATE);
    CONTRACT_OK(store_claim_free_jobs(s, 0, epoch, c.jobs, 2, NULL, ec));
    assert_true(c.jobs[0].advanced);
    assert_false(c.jobs[1].advanced);
    assert_int_equal(contract_read_job(1).next_ms, (CONTRACT_S + 5) * 1000);
    assert_int_equal(contract_read_job(1).last_ms, 0);
    assert_int_equal(contract_read_job(2).next_ms, (CONTRACT_S + 90000) * 1000 + 1);
    c.jobs[0].advanced = false;
    CONTRACT_OK(store_load_claimed(other, 0, epoch, c.jobs, 2, ec));
    assert_true(c.jobs[0].advanced);
    assert_false(c.jobs[1].advanced);
    job_page_fini(&c.page);
    contract_end(s, other);
}

static void contract_runs_of_fixed_delays_are_followed(void **state)
{
    struct store_session *s, *other;
    struct contract_claim c;
    struct delayed_job *jobs = NULL;
    struct found_run *rows = NULL;
    struct run_end ends[3];
    struct callback_entry entry = {.code = 200};
    struct run_key keys[3] = {{1, CONTRACT_S + 60, CONTRACT_S + 60},
                              {2, CONTRACT_S + 59, CONTRACT_S + 60},
                              {2, CONTRACT_S + 60, CONTRACT_S - 100}}; /* left to the misfire rule, by the same claim */
    int64_t epoch, log_ids[2];
    size_t count = 9;

    (void)state;
    contract_begin(1, &s, &other);
    for (int64_t id = 1; id <= 2; id++)
        contract_add_job(id, (CONTRACT_S + 60) * 1000);
    contract_set_settings(2); /* the job is CRON: whoever made it so has overruled the delay */
    CONTRACT_OK(store_load_delayed_jobs(s, 0, 1, &jobs, &count, ec));
    assert_int_equal(count, 0);
    free(jobs);
    contract_set_rate(2, "60");
    CONTRACT_OK(store_load_delayed_jobs(s, 0, 1, &jobs, &count, ec));
    assert_int_equal(count, 1);
    assert_int_equal(jobs[0].id, 2);
    assert_int_equal(jobs[0].next_ms, (CONTRACT_S + 60) * 1000);
    assert_int_equal(jobs[0].delay_s, 60);
    free(jobs);
    CONTRACT_OK(store_load_delayed_jobs(s, 1, 2, &jobs, &count, ec));
    assert_int_equal(count, 0);
    free(jobs);

    epoch = contract_take(s, 0, 1);
    contract_plan(s, 0, epoch, 2, &c);
    CONTRACT_OK(store_claim_jobs(s, 0, epoch, c.jobs, 2, NULL, ec));
    for (size_t i = 0; i < 2; i++)
        log_ids[i] = c.jobs[i].fires->log_id;
    CONTRACT_OK(store_find_runs(s, keys, 3, 1000, &rows, &count, ec));
    assert_int_equal(count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(rows[i].key, i == 0 ? 0 : 2);
        assert_int_equal(rows[i].log_id, log_ids[i]);
    }
    free(rows);

    entry.log_id = log_ids[1];
    CONTRACT_OK(store_write_callbacks(s, &entry, 1, CONTRACT_S + 61, NULL, ec));
    for (size_t i = 0; i < 3; i++)
        ends[i] = (struct run_end){.log_id = i < 2 ? log_ids[i] : 4711};
    CONTRACT_OK(store_load_run_ends(s, ends, 3, ec));
    assert_int_equal(ends[0].what, RUN_OPEN);
    assert_int_equal(ends[1].what, RUN_ENDED);
    assert_int_equal(ends[1].ended_s, CONTRACT_S + 61);
    assert_int_equal(ends[2].what, RUN_ENDED); /* gone */
    assert_int_equal(ends[2].ended_s, 0);
    for (size_t i = 0; i < 2; i++)
        fire_destroy_list(c.jobs[i].fires);
    job_page_fini(&c.page);
    contract_end(s, other);
}

#include "store/contract_flows.h"
#include "store/contract_later.h"

#define CONTRACT_TESTS                                                                                                 \
    cmocka_unit_test(contract_a_takeover_raises_epochs_and_leaves_a_note),                                             \
        cmocka_unit_test(contract_a_jump_leaves_a_note), cmocka_unit_test(contract_notes_go_when_they_are_settled),    \
        cmocka_unit_test(contract_a_cursor_moves_under_its_epoch_and_never_falls),                                     \
        cmocka_unit_test(contract_a_look_finds_what_is_due), cmocka_unit_test(contract_jobs_are_read_by_id),           \
        cmocka_unit_test(contract_settings_come_with_due_jobs), cmocka_unit_test(contract_a_next_time_alone_is_moved), \
        cmocka_unit_test(contract_runs_of_fixed_delays_are_followed),                                                  \
        cmocka_unit_test(contract_a_claim_advances_and_plans),                                                         \
        cmocka_unit_test(contract_a_claim_of_an_older_epoch_is_refused),                                               \
        cmocka_unit_test(contract_changed_jobs_are_left_alone), cmocka_unit_test(contract_a_claim_is_read_back),       \
        cmocka_unit_test(contract_open_rows_are_found_by_their_second), cmocka_unit_test(contract_an_end_is_final),    \
        cmocka_unit_test(contract_the_first_callback_counts),                                                          \
        cmocka_unit_test(contract_a_callback_proves_the_delivery), cmocka_unit_test(contract_lost_runs_end_once),      \
        cmocka_unit_test(contract_a_node_reads_what_is_asked_of_it),                                                   \
        cmocka_unit_test(contract_the_number_of_shards_changes_at_one_second), CONTRACT_LATER_TESTS,                   \
        CONTRACT_FLOW_TESTS

#endif
