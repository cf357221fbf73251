/* SPDX-License-Identifier: MIT */
/* The contract of later rows: cases of contract.h, which includes this. */
#ifndef SHARDWHEEL_TESTS_STORE_CONTRACT_LATER_H
#define SHARDWHEEL_TESTS_STORE_CONTRACT_LATER_H

#include "shardwheel/job/times.h"
#include "shardwheel/store/later.h"

/* ---- hooks ---- */

static int64_t contract_add_later(const struct later_row *row);
struct contract_later {
    bool exists, planned;
    int64_t due_s, log_id, hold_until_s;
};
static struct contract_later contract_read_later(int64_t id);
static void contract_set_hold(int64_t job, int64_t hold_s);

/* ---- helpers ---- */

/* A claim of rows by their ids, each with one fire, or `parts` of a broadcast. */
struct contract_later_claim {
    struct later_page page;
    struct later_claim claims[8];
};

static struct fire *contract_later_fire(struct store_session *s, const struct later_row *row, int64_t epoch, int index,
                                        int total)
{
    struct fire *f = fire_create();

    assert_non_null(f);
    CONTRACT_OK(store_load_job_specs(s, &row->job_id, 1, &f->job, ec));
    f->job_id = row->job_id;
    f->group = f->job->group;
    f->due_s = row->due_s;
    f->original_due_s = row->original_due_s;
    f->epoch = epoch;
    f->kind = row->kind;
    f->flags = FIRE_LATER;
    f->broadcast = total > 1;
    f->shard_index = index;
    f->shard_total = total;
    if (f->broadcast)
        f->address = str_copy(index ? "http://b/" : "http://a/");
    f->own = fire_own_create(
        &(struct fire_own){.param = row->param, .retries = row->retries_left, .hold_until_s = row->hold_until_s});
    assert_non_null(f->own);
    return f;
}

static void contract_read_rows(struct store_session *s, int64_t epoch, const int64_t *ids, size_t count, int parts,
                               struct contract_later_claim *c)
{
    memset(c, 0, sizeof *c);
    CONTRACT_OK(store_load_later(s, ids, count, &c->page, ec));
    for (size_t i = 0; i < c->page.count; i++) {
        c->claims[i] = (struct later_claim){.row = &c->page.rows[i], .fate = LATER_PLAN};
        for (int k = parts; k-- > 0;) {
            struct fire *f = contract_later_fire(s, &c->page.rows[i], epoch, k, parts);

            f->next = c->claims[i].fires;
            c->claims[i].fires = f;
        }
    }
}

static void contract_drop_later(struct contract_later_claim *c)
{
    for (size_t i = 0; i < c->page.count; i++)
        fire_destroy_list(c->claims[i].fires);
    later_page_fini(&c->page);
}

/* Claims them one by one under epoch 1; the ids of their logs. */
static void contract_plan_later(struct store_session *s, const int64_t *ids, size_t count, int64_t *log_ids)
{
    struct contract_later_claim c;

    contract_read_rows(s, 1, ids, count, 1, &c);
    assert_int_equal(c.page.count, count);
    CONTRACT_OK(store_claim_later(s, 0, 1, c.claims, count, ec));
    for (size_t i = 0; i < count; i++) {
        assert_true(c.claims[i].done);
        log_ids[i] = c.claims[i].fires->log_id;
    }
    contract_drop_later(&c);
}

/* The planned fires due within ten minutes of CONTRACT_S. */
static struct fire *contract_load_all(struct store_session *s, size_t expected)
{
    struct log_slice slice = {.from_s = CONTRACT_S - 600, .to_s = CONTRACT_S + 600, .limit_ms = 1000};
    struct fire *list = NULL;
    int64_t last_id;
    size_t n = 0;

    CONTRACT_OK(store_load_planned(s, &slice, &list, &last_id, ec));
    for (struct fire *f = list; f; f = f->next)
        n++;
    assert_int_equal(n, expected);
    return list;
}

static int64_t contract_add_plain(int64_t job, int64_t in_s)
{
    return contract_add_later(&(struct later_row){.job_id = job,
                                                  .due_s = CONTRACT_S + in_s,
                                                  .original_due_s = CONTRACT_S + in_s,
                                                  .kind = TRIGGER_MANUAL,
                                                  .param = "own",
                                                  .addresses = "http://x/,http://y/",
                                                  .retries_left = 3});
}

/* ---- cases ---- */

static void contract_a_look_finds_later_rows_that_are_due(void **state)
{
    static const int all[] = {0, 1}, one[] = {1};
    struct store_session *s, *other;
    struct later_scan scan;
    int64_t ids[4], log_id;

    (void)state;
    contract_begin(2, &s, &other);
    for (int i = 0; i < 4; i++)
        contract_add_job(i + 1, (CONTRACT_S + 3600) * 1000);
    ids[0] = contract_add_plain(1, 5);
    ids[1] = contract_add_plain(2, 6);
    ids[2] = contract_add_plain(3, 7);
    ids[3] = contract_add_plain(4, 99);
    CONTRACT_OK(store_scan_later(s, all, 2, 2, CONTRACT_S + 7, 10, &scan, ec));
    assert_int_equal(scan.count, 3);
    assert_true(scan.complete);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(scan.list[i].id, ids[i]);
        assert_int_equal(scan.list[i].job_id, i + 1);
    }
    free(scan.list);
    CONTRACT_OK(store_scan_later(s, one, 1, 2, CONTRACT_S + 7, 1, &scan, ec));
    assert_int_equal(scan.count, 1);
    assert_false(scan.complete);
    assert_int_equal(scan.list[0].id, ids[0]);
    free(scan.list);
    (void)contract_take(s, 1, 2);
    struct contract_later_claim c;
    contract_read_rows(s, 1, &ids[0], 1, 1, &c);
    CONTRACT_OK(store_claim_later(s, 1, 1, c.claims, 1, ec));
    log_id = c.claims[0].fires->log_id;
    assert_int_not_equal(log_id, 0);
    contract_drop_later(&c);
    CONTRACT_OK(store_scan_later(s, one, 1, 2, CONTRACT_S + 7, 10, &scan, ec));
    assert_int_equal(scan.count, 1); /* what is planned is not found again */
    assert_int_equal(scan.list[0].id, ids[2]);
    free(scan.list);
    contract_end(s, other);
}

static void contract_a_claim_plans_later_rows(void **state)
{
    struct store_session *s, *other;
    struct contract_later_claim c;
    struct fire *list;
    int64_t ids[3];

    (void)state;
    contract_begin(1, &s, &other);
    contract_add_job(1, (CONTRACT_S + 3600) * 1000);
    (void)contract_take(s, 0, 1);
    for (int i = 0; i < 3; i++)
        ids[i] = contract_add_plain(1, i);
    contract_read_rows(s, 1, ids, 3, 1, &c);
    assert_int_equal(c.page.count, 3);
    assert_string_equal(c.page.rows[0].param, "own");
    assert_string_equal(c.page.rows[0].addresses, "http://x/,http://y/");
    assert_null(c.page.rows[0].sharding);
    assert_int_equal(c.page.rows[0].retries_left, 3);
    assert_int_equal(c.page.rows[0].kind, TRIGGER_MANUAL);
    c.claims[1].fate = LATER_WAIT;
    c.claims[1].again_s = CONTRACT_S + 50;
    c.claims[2].fate = LATER_DROP;
    CONTRACT_OK(store_claim_later(s, 0, 1, c.claims, 3, ec));
    for (int i = 0; i < 3; i++)
        assert_true(c.claims[i].done);
    assert_true(contract_read_later(ids[0]).planned);
    assert_int_equal(contract_read_later(ids[0]).log_id, c.claims[0].fires->log_id);
    assert_false(contract_read_later(ids[1]).planned);
    assert_int_equal(contract_read_later(ids[1]).due_s, CONTRACT_S + 50);
    assert_false(contract_read_later(ids[2]).exists);
    /* A second time, from what was read before. */
    CONTRACT_OK(store_claim_later(s, 0, 1, c.claims, 1, ec));
    assert_false(c.claims[0].done);
    list = contract_load_all(s, 1);
    assert_int_equal(list->log_id, contract_read_later(ids[0]).log_id);
    assert_int_equal(list->kind, TRIGGER_MANUAL);
    assert_int_equal(list->flags, FIRE_LATER);
    assert_int_equal(list->due_s, CONTRACT_S);
    assert_string_equal(list->own->param, "own");
    assert_string_equal(list->own->addresses, "http://x/,http://y/");
    assert_int_equal(list->own->retries, 3);
    assert_int_equal(list->own->hold_until_s, 0);
    fire_destroy_list(list);
    contract_drop_later(&c);
    contract_end(s, other);
}

static void contract_later_rows_are_claimed_under_the_epoch(void **state)
{
    struct store_session *s, *other;
    struct contract_later_claim c;
    struct errctx why;
    int64_t id;

    (void)state;
    contract_begin(1, &s, &other);
    contract_add_job(1, (CONTRACT_S + 3600) * 1000);
    (void)contract_take(s, 0, 1);
    id = contract_add_plain(1, 0);
    contract_read_rows(s, 1, &id, 1, 1, &c);
    (void)contract_take(s, 0, 1);
    assert_int_equal(store_claim_later(s, 0, 1, c.claims, 1, &why), ERR_STATE);
    assert_false(c.claims[0].done);
    assert_false(contract_read_later(id).planned);
    assert_int_equal(store_find_later_claimed(other, 0, 1, c.claims, 1, &why), ERR_STATE);
    fire_destroy_list(contract_load_all(s, 0));
    contract_drop_later(&c);
    contract_end(s, other);
}

static void contract_a_claim_of_later_rows_is_read_back(void **state)
{
    struct store_session *s, *other;
    struct contract_later_claim c;
    int64_t ids[2];

    (void)state;
    contract_begin(1, &s, &other);
    contract_add_job(1, (CONTRACT_S + 3600) * 1000);
    (void)contract_take(s, 0, 1);
    for (int i = 0; i < 2; i++)
        ids[i] = contract_add_plain(1, i);
    contract_read_rows(s, 1, ids, 2, 1, &c);
    CONTRACT_OK(store_claim_later(s, 0, 1, c.claims, 1, ec));
    c.claims[0].done = false;
    CONTRACT_OK(store_find_later_claimed(other, 0, 1, c.claims, 2, ec));
    assert_true(c.claims[0].done);
    assert_false(c.claims[1].done);
    c.claims[0].fires->log_id++; /* another row than the one that was written */
    CONTRACT_OK(store_find_later_claimed(other, 0, 1, c.claims, 2, ec));
    assert_false(c.claims[0].done);
    contract_drop_later(&c);
    contract_end(s, other);
}

static int contract_compare_index(const void *a, const void *b)
{
    return (*(struct fire *const *)a)->shard_index - (*(struct fire *const *)b)->shard_index;
}

static void contract_each_part_of_a_broadcast_has_a_later_row(void **state)
{
    struct store_session *s, *other;
    struct contract_later_claim c;
    struct fire *list, *fires[3];
    int64_t id;
    size_t n = 0;

    (void)state;
    contract_begin(1, &s, &other);
    contract_add_job(1, (CONTRACT_S + 3600) * 1000);
    (void)contract_take(s, 0, 1);
    id = contract_add_plain(1, 0);
    contract_read_rows(s, 1, &id, 1, 3, &c);
    CONTRACT_OK(store_claim_later(s, 0, 1, c.claims, 1, ec));
    list = contract_load_all(s, 3);
    for (struct fire *f = list; f; f = f->next)
        fires[n++] = f;
    qsort(fires, 3, sizeof fires[0], contract_compare_index);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(fires[i]->shard_index, i);
        assert_int_equal(fires[i]->shard_total, 3);
        assert_string_equal(fires[i]->address, i ? "http://b/" : "http://a/");
        assert_string_equal(fires[i]->own->param, "own");
    }
    assert_int_equal(contract_read_later(id).log_id, fires[0]->log_id);
    fire_destroy_list(list);
    contract_drop_later(&c);
    contract_end(s, other);
}

static void contract_a_later_row_goes_when_its_run_has_ended(void **state)
{
    struct store_session *s, *other;
    int64_t ids[3], log_ids[3];
    size_t ended = 0;

    (void)state;
    contract_begin(1, &s, &other);
    contract_add_job(1, (CONTRACT_S + 3600) * 1000);
    (void)contract_take(s, 0, 1);
    for (int i = 0; i < 3; i++)
        ids[i] = contract_add_plain(1, i);
    contract_plan_later(s, ids, 2, log_ids);
    CONTRACT_OK(store_end_later(s, 10, &ended, ec));
    assert_int_equal(ended, 0);
    struct fire_result result = {.log_id = log_ids[1], .code = 200, .message = "told", .address = "http://a/"};
    CONTRACT_OK(store_write_results(s, &result, 1, ec));
    CONTRACT_OK(store_end_later(s, 10, &ended, ec));
    assert_int_equal(ended, 1);
    assert_true(contract_read_later(ids[0]).exists);
    assert_false(contract_read_later(ids[1]).exists);
    assert_true(contract_read_later(ids[2]).exists);
    CONTRACT_OK(
        store_cancel_planned(s, 0, 1, &(struct gone_fires){.ids = log_ids, .count = 1}, ec)); /* its job was deleted */
    CONTRACT_OK(store_end_later(s, 10, &ended, ec));
    assert_int_equal(ended, 1);
    assert_false(contract_read_later(ids[0]).exists);
    contract_end(s, other);
}

/* The look at FIX_DELAY jobs, once a second, learns by it which run follows the one that failed. */
static void contract_a_row_of_a_retry_stays_for_a_while(void **state)
{
    struct store_session *s, *other;
    struct contract_later_claim c;
    int64_t ids[2];
    size_t ended = 0;

    (void)state;
    contract_begin(1, &s, &other);
    contract_add_job(1, (CONTRACT_S + 3600) * 1000);
    (void)contract_take(s, 0, 1);
    for (int i = 0; i < 2; i++)
        ids[i] = contract_add_later(&(struct later_row){.job_id = 1,
                                                        .due_s = CONTRACT_S - 2 * LATER_RETRY_STAYS_S,
                                                        .original_due_s = CONTRACT_S - 2 * LATER_RETRY_STAYS_S,
                                                        .kind = TRIGGER_RETRY,
                                                        .retries_left = 1});
    contract_read_rows(s, 1, ids, 2, 1, &c);
    c.claims[1].fires->due_s = INT64_C(4000000000); /* planned late: its run is to come */
    CONTRACT_OK(store_claim_later(s, 0, 1, c.claims, 2, ec));
    for (int i = 0; i < 2; i++) {
        struct fire_result result = {
            .log_id = c.claims[i].fires->log_id, .code = 200, .message = "told", .address = "http://a/"};
        CONTRACT_OK(store_write_results(s, &result, 1, ec));
    }
    contract_drop_later(&c);
    CONTRACT_OK(store_end_later(s, 10, &ended, ec));
    assert_int_equal(ended, 1);
    assert_false(contract_read_later(ids[0]).exists);
    assert_true(contract_read_later(ids[1]).exists);
    contract_end(s, other);
}

static struct fire_result contract_away(const struct fire *fire)
{
    return (struct fire_result){.log_id = fire->log_id, .code = 500, .message = "not sent: nobody", .away = fire};
}

/* A loaded fire as dispatch has it. */
static void contract_attach(struct store_session *s, struct fire *fire)
{
    CONTRACT_OK(store_load_job_specs(s, &fire->job_id, 1, &fire->job, ec));
}

static void contract_a_fire_waits_with_its_row(void **state)
{
    struct store_session *s, *other;
    struct contract_claim plan;
    struct contract_later_claim c;
    struct fire_result result;
    struct later_scan scan;
    struct fire *list;
    int64_t log_id, id;
    int shard = 0;

    (void)state;
    contract_begin(1, &s, &other);
    contract_add_job(1, CONTRACT_S * 1000);
    contract_set_hold(1, 12);
    (void)contract_take(s, 0, 1);
    contract_plan(s, 0, 1, 1, &plan);
    CONTRACT_OK(store_claim_jobs(s, 0, 1, plan.jobs, 1, NULL, ec));
    contract_attach(s, plan.jobs[0].fires);
    log_id = plan.jobs[0].fires->log_id;
    result = contract_away(plan.jobs[0].fires);
    for (int twice = 0; twice < 2; twice++)
        CONTRACT_OK(store_write_results(s, &result, 1, ec));
    assert_int_equal(contract_read_log(log_id).trigger_code, 0);
    fire_destroy_list(contract_load_all(s, 0)); /* a takeover does not find it, */
    size_t ended = 0;
    CONTRACT_OK(store_end_unknown(s, &log_id, 1, INT64_MAX, &ended, ec));
    assert_int_equal(ended, 0); /* and ends it not */
    CONTRACT_OK(store_scan_later(s, &shard, 1, 1, CONTRACT_S + 100, 10, &scan, ec));
    assert_int_equal(scan.count, 1);
    id = scan.list[0].id;
    free(scan.list);
    assert_int_equal(contract_read_later(id).due_s, CONTRACT_S + HOLD_AGAIN_S);
    assert_int_equal(contract_read_later(id).hold_until_s, CONTRACT_S + 12);
    assert_int_equal(contract_read_later(id).log_id, log_id);
    /* It goes on with its row, and waits again, until its time is over. */
    for (int64_t due_s = CONTRACT_S + HOLD_AGAIN_S; due_s <= CONTRACT_S + 12;
         due_s = due_s + HOLD_AGAIN_S < CONTRACT_S + 12 || due_s == CONTRACT_S + 12 ? due_s + HOLD_AGAIN_S
                                                                                    : CONTRACT_S + 12) {
        contract_read_rows(s, 1, &id, 1, 1, &c);
        assert_int_equal(c.page.count, 1);
        assert_int_equal(c.page.rows[0].due_s, due_s);
        assert_int_equal(c.page.rows[0].original_due_s, CONTRACT_S);
        CONTRACT_OK(store_claim_later(s, 0, 1, c.claims, 1, ec));
        assert_true(c.claims[0].done);
        assert_int_equal(c.claims[0].fires->log_id, log_id);
        CONTRACT_OK(store_write_results(s, &result, 1, ec));                  /* of the first try, written once more */
        CONTRACT_OK(store_end_unknown(s, &log_id, 1, due_s - 1, &ended, ec)); /* by who read it before */
        assert_int_equal(ended, 0);
        list = contract_load_all(s, 1);
        assert_int_equal(list->log_id, log_id);
        assert_int_equal(list->due_s, due_s);
        assert_int_equal(list->original_due_s, CONTRACT_S);
        assert_int_equal(list->kind, TRIGGER_CRON);
        contract_attach(s, list);
        struct fire_result again = contract_away(list);
        CONTRACT_OK(store_write_results(s, &again, 1, ec));
        fire_destroy_list(list);
        contract_drop_later(&c);
        assert_int_equal(contract_read_log(log_id).trigger_code, due_s == CONTRACT_S + 12 ? 500 : 0);
    }
    contract_drop(&plan);
    contract_end(s, other);
}

static void contract_without_a_setting_it_fails(void **state)
{
    struct store_session *s, *other;
    struct contract_claim plan;
    struct fire_result result;
    struct later_scan scan;
    int shard = 0;

    (void)state;
    contract_begin(1, &s, &other);
    contract_add_job(1, CONTRACT_S * 1000);
    (void)contract_take(s, 0, 1);
    contract_plan(s, 0, 1, 1, &plan);
    CONTRACT_OK(store_claim_jobs(s, 0, 1, plan.jobs, 1, NULL, ec));
    contract_attach(s, plan.jobs[0].fires);
    result = contract_away(plan.jobs[0].fires);
    CONTRACT_OK(store_write_results(s, &result, 1, ec));
    assert_int_equal(contract_read_log(result.log_id).trigger_code, 500);
    CONTRACT_OK(store_scan_later(s, &shard, 1, 1, CONTRACT_S + 100, 10, &scan, ec));
    assert_int_equal(scan.count, 0);
    free(scan.list);
    contract_drop(&plan);
    contract_end(s, other);
}

/* A part that was made for nobody keeps no number; one that was made for an address does. */
static void contract_a_part_for_nobody_waits_without_a_number(void **state)
{
    struct store_session *s, *other;
    struct contract_claim plan;
    struct later_page page;
    struct later_scan scan;
    int shard = 0;

    (void)state;
    for (int addressed = 0; addressed < 2; addressed++) {
        struct fire_result result;
        struct fire *fire;

        contract_begin(1, &s, &other);
        contract_add_job(1, CONTRACT_S * 1000);
        contract_set_hold(1, 60);
        (void)contract_take(s, 0, 1);
        contract_plan(s, 0, 1, 1, &plan);
        fire = plan.jobs[0].fires;
        fire->broadcast = true;
        fire->shard_total = 1;
        if (addressed)
            fire->address = str_copy("http://a/");
        CONTRACT_OK(store_claim_jobs(s, 0, 1, plan.jobs, 1, NULL, ec));
        contract_attach(s, fire);
        result = contract_away(fire);
        result.sharding = "0/1";
        CONTRACT_OK(store_write_results(s, &result, 1, ec));
        CONTRACT_OK(store_scan_later(s, &shard, 1, 1, CONTRACT_S + 100, 10, &scan, ec));
        assert_int_equal(scan.count, 1);
        CONTRACT_OK(store_load_later(s, &scan.list[0].id, 1, &page, ec));
        if (addressed)
            assert_string_equal(page.rows[0].sharding, "0/1");
        else
            assert_null(page.rows[0].sharding);
        later_page_fini(&page);
        free(scan.list);
        contract_drop(&plan);
        contract_end(s, other);
    }
}

/* The row of a schedule's fire that waits, or has waited, is found as that of its run. */
static void contract_a_run_that_waited_is_found(void **state)
{
    struct store_session *s, *other;
    struct found_run *rows = NULL;
    struct run_key keys[2] = {{1, CONTRACT_S, CONTRACT_S - 100}, {1, CONTRACT_S - 1, CONTRACT_S + 1}};
    struct later_row row = {.job_id = 1,
                            .due_s = CONTRACT_S + 9,
                            .original_due_s = CONTRACT_S,
                            .kind = TRIGGER_CRON,
                            .retries_left = -1,
                            .hold_until_s = CONTRACT_S + 60,
                            .log_id = 4711};
    size_t count = 0;

    (void)state;
    contract_begin(1, &s, &other);
    contract_add_job(1, (CONTRACT_S + 3600) * 1000);
    (void)contract_add_later(&row);
    row.kind = TRIGGER_RETRY;
    row.log_id = 4712;
    (void)contract_add_later(&row);
    CONTRACT_OK(store_find_runs(s, keys, 2, 1000, &rows, &count, ec));
    assert_int_equal(count, 1);
    assert_int_equal(rows[0].key, 0);
    assert_int_equal(rows[0].log_id, 4711);
    free(rows);
    contract_end(s, other);
}

/* Its row of the log has ended: whoever did that, the fire does not go out. */
static void contract_one_whose_row_has_ended_is_dropped(void **state)
{
    struct store_session *s, *other;
    struct contract_later_claim c;
    int64_t id, log_id;

    (void)state;
    contract_begin(1, &s, &other);
    contract_add_job(1, (CONTRACT_S + 3600) * 1000);
    contract_set_hold(1, 60);
    (void)contract_take(s, 0, 1);
    id = contract_add_plain(1, 0);
    contract_plan_later(s, &id, 1, &log_id);
    struct fire *list = contract_load_all(s, 1);
    contract_attach(s, list);
    struct fire_result result = contract_away(list);
    CONTRACT_OK(store_write_results(s, &result, 1, ec));
    assert_false(contract_read_later(id).planned);
    result.away = NULL;
    CONTRACT_OK(store_write_results(s, &result, 1, ec));
    assert_int_equal(contract_read_log(log_id).trigger_code, 500);
    contract_read_rows(s, 1, &id, 1, 1, &c);
    CONTRACT_OK(store_claim_later(s, 0, 1, c.claims, 1, ec));
    assert_int_equal(c.claims[0].fate, LATER_DROP);
    assert_false(contract_read_later(id).exists);
    fire_destroy_list(contract_load_all(s, 0));
    contract_drop_later(&c);
    fire_destroy_list(list);
    contract_end(s, other);
}

#define CONTRACT_LATER_TESTS                                                                                           \
    cmocka_unit_test(contract_a_look_finds_later_rows_that_are_due),                                                   \
        cmocka_unit_test(contract_a_claim_plans_later_rows),                                                           \
        cmocka_unit_test(contract_later_rows_are_claimed_under_the_epoch),                                             \
        cmocka_unit_test(contract_a_claim_of_later_rows_is_read_back),                                                 \
        cmocka_unit_test(contract_each_part_of_a_broadcast_has_a_later_row),                                           \
        cmocka_unit_test(contract_a_later_row_goes_when_its_run_has_ended),                                            \
        cmocka_unit_test(contract_a_row_of_a_retry_stays_for_a_while),                                                 \
        cmocka_unit_test(contract_a_fire_waits_with_its_row), cmocka_unit_test(contract_without_a_setting_it_fails),   \
        cmocka_unit_test(contract_a_part_for_nobody_waits_without_a_number),                                           \
        cmocka_unit_test(contract_a_run_that_waited_is_found),                                                         \
        cmocka_unit_test(contract_one_whose_row_has_ended_is_dropped)

#endif
