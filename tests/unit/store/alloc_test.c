/* SPDX-License-Identifier: MIT */
/* Every call with its first, second, n-th allocation failing: an error, no crash, no leak, and the next call works.
 */
#include "shardwheel/store/registry.h"
#include "store/test_claim.h"

#include "cron/alloc_fail.h"
#include "shardwheel/store/login.h"
#include "shardwheel/store/lost.h"
#include "shardwheel/store/run.h"
#include "shardwheel/store/upkeep.h"

static struct store *st;
static struct store_session *s;
static int64_t epoch; /* of shard 0, as it is before a call */

static enum err create(struct errctx *ec)
{
    struct store *one = NULL;
    enum err e = store_create(&test_db.opts, clock_system(), NULL, &one, ec);

    store_destroy(one);
    return e;
}

static enum err take_shard(struct errctx *ec)
{
    int64_t taken, cursor_s;

    return store_take_shard(s, 0, 1,
                            "n\xc3\xb6"
                            "de",
                            0, 0, &taken, &cursor_s, ec);
}

static enum err load_shards(struct errctx *ec)
{
    struct shard_row *rows = NULL;
    size_t count;
    enum err e = store_load_shards(s, &rows, &count, ec);

    free(rows);
    return e;
}

static enum err load_passed(struct errctx *ec)
{
    struct passed_shards passed = {0};
    enum err e = store_load_passed(s, &passed, ec);

    passed_shards_fini(&passed);
    return e;
}

static enum err load_takeovers(struct errctx *ec)
{
    struct takeover_note *notes = NULL;
    size_t count;
    enum err e = store_load_takeovers(s, 0, &notes, &count, ec);

    free(notes);
    if (!e)
        e = store_note_jumps(s, &(struct cursor_move){.shard = 0, .epoch = 1}, 1, NOW_S + 1, ec);
    return e ? e : store_delete_takeovers(s, 0, 1, true, ec);
}

static enum err load_due(struct errctx *ec)
{
    struct job_page page = {0};
    enum err e = load_due_jobs(s, 0, 1, INT64_MAX, 100, &page, ec);

    job_page_fini(&page);
    return e;
}

static enum err load_job_specs(struct errctx *ec)
{
    struct job_spec *specs[3];
    enum err e = store_load_job_specs(s, (int64_t[]){1, 2, 3}, 3, specs, ec);

    for (int i = 0; i < 3 && !e; i++)
        job_spec_unref(specs[i]);
    return e;
}

/* Claims nothing that lasts: the job's next time stays what it was. */
static enum err claim_jobs(struct errctx *ec)
{
    struct job_page page = {0};
    enum err e = load_due_jobs(s, 0, 1, INT64_MAX, 100, &page, NULL);

    if (e)
        return err_set(ec, e, "due jobs");
    struct fire *fire = fire_create();
    struct claim_job job = {.job = &page.jobs[0], .new_next_ms = page.jobs[0].next_ms, .fires = fire, .message = "m"};
    if (fire) {
        *fire = (struct fire){.job_id = 1,
                              .group = 1,
                              .due_s = NOW_S,
                              .original_due_s = NOW_S,
                              .epoch = 1,
                              .shard_total = 1,
                              .written_ahead = true};
        e = store_claim_jobs(s, 0, epoch, &job, 1, NULL, ec);
    } else {
        e = err_set(ec, ERR_NOMEM, "fire");
    }
    fire_destroy_list(job.fires);
    job_page_fini(&page);
    return e;
}

static enum err load_planned(struct errctx *ec)
{
    struct log_slice slice = {.from_s = NOW_S - 1, .to_s = NOW_S + 600, .limit_ms = 60000};
    struct fire *list = NULL;
    enum err e = store_load_planned(s, &slice, &list, &slice.after_id, ec);

    fire_destroy_list(list);
    list = NULL;
    slice.page_rows = 1;
    if (!e)
        e = store_load_planned(s, &slice, &list, &slice.after_id, ec);
    fire_destroy_list(list);
    return e;
}

static enum err write_results(struct errctx *ec)
{
    struct fire_result r[3] = {{.log_id = 1, .code = 200, .address = "a", .message = "h\xc3\xa9"},
                               {.log_id = 3, .code = 200, .as_planned = true},
                               {.log_id = 2, .code = 500, .message = "m", .write_job = true}};

    return store_write_results(s, r, 3, ec);
}

static enum err write_expected(struct errctx *ec)
{
    struct callback_entry c[2] = {{.log_id = 1, .code = 0}, {.log_id = 2, .code = 0}};

    return store_write_callbacks(s, c, 2, NOW_S, NULL, ec);
}

static enum err write_callbacks(struct errctx *ec)
{
    struct callback_entry c[2] = {{.log_id = 1, .code = 0, .message = "h\xc3\xa9"}, {.log_id = 1, .code = 0}};

    return store_write_callbacks(s, c, 2, NOW_S, NULL, ec);
}

static enum err load_groups(struct errctx *ec)
{
    struct group_list list = {0};
    enum err e = store_load_groups(s, &list, ec);

    group_list_fini(&list);
    return e;
}

static enum err write_beats(struct errctx *ec)
{
    const struct beat beats[] = {{"EXECUTOR", "a", "x", false}, {"EXECUTOR", "a", "x", true}};

    return store_write_beats(s, beats, 2, NOW_S, ec);
}

static enum err load_registry(struct errctx *ec)
{
    struct registry_list list = {0};
    enum err e = store_load_registry(s, NOW_S, &list, ec);

    registry_list_fini(&list);
    return e;
}

static enum err load_features(struct errctx *ec)
{
    struct store_features f;

    return store_read_features(s, &f, ec);
}

static enum err load_cluster(struct errctx *ec)
{
    struct cluster_view view;

    return store_load_cluster(s, "aaaa", &view, ec);
}

static enum err write_beat(struct errctx *ec)
{
    struct node_beat beat = {.incarnation = "aaaa", .node = "h\xc3\xa9", .url = "u", .version = "v", .released = -1};

    return store_write_beat(s, &beat, ec);
}

static enum err load_nodes(struct errctx *ec)
{
    struct node_row *rows = NULL;
    size_t count;
    int64_t now_ms;
    enum err e = store_load_nodes(s, &rows, &count, &now_ms, ec);

    free(rows);
    return e;
}

static enum err load_status(struct errctx *ec)
{
    struct cluster_status status = {0};
    enum err e = store_load_status(s, true, &status, ec);

    cluster_status_fini(&status);
    return e;
}

/* The wish is gone again afterwards, whatever failed. */
static enum err report(struct errctx *ec)
{
    struct report_counts counts[10];
    enum err e = store_count_minutes(s, 19676, 0, 10, 1000, counts, ec);

    if (!e)
        e = store_write_report(s, 19676, counts, NOW_S, ec);
    return e ? e : store_check_epoch(s, 0, epoch, ec);
}

static enum err lost(struct errctx *ec)
{
    struct open_runs runs = {0};
    struct address_list list = {0};
    int64_t ids[] = {1, 2}, jobs[] = {1, 3};
    size_t count = 2, ended;
    bool found;
    enum err e = store_load_open_runs(s, 0, 100, 10, &runs, ec);

    open_runs_fini(&runs);
    if (!e)
        e = store_keep_open_runs(s, ids, &count, ec);
    if (!e)
        e = store_load_addresses(s, &list, ec);
    address_list_fini(&list);
    if (!e)
        e = store_is_registered(s, "http://a/", &found, ec);
    return e ? e : store_end_lost(s, (int64_t[]){1, 2}, jobs, 2, "lost", NOW_S, &ended, ec);
}

static enum err load_users(struct errctx *ec)
{
    struct user_filter filter = {.role = -1, .name = "a", .limit = 10};
    struct user *list = NULL;
    size_t count = 0;
    enum err e = store_load_users(s, &filter, &list, &count, ec);

    users_destroy(list, count);
    return e;
}

static enum err load_login(struct errctx *ec)
{
    struct login_facts facts = {0};
    enum err e = store_load_login(s, &(struct login_key){.name = "admin", .session = "x"}, &facts, ec);

    login_facts_fini(&facts);
    return e;
}

static enum err sessions(struct errctx *ec)
{
    struct session_row row = {.user_id = 1, .lives_ms = 1, .id = "x"}, *list = NULL;
    size_t count = 0;
    enum err e = store_remove_session(s, 1, NULL, NULL, ec);

    if (!e)
        e = store_add_session(s, &row, 1, NULL, ec);
    if (!e)
        e = store_load_sessions(s, 1, 10, &list, &count, ec);
    free(list);
    return e;
}

static enum err tokens(struct errctx *ec)
{
    struct token_row *list = NULL;
    size_t count = 0;
    enum err e = store_load_tokens(s, 0, 0, 10, &list, &count, ec);

    free(list);
    return e;
}

static enum err clean(struct errctx *ec)
{
    static const int64_t job = 4711;
    int64_t ids[CLEAN_BATCH_MAX] = {1, 2};
    size_t count, deleted;
    bool done;
    enum err e = ERR_OK;

    for (int except = 0; except < 2 && !e; except++) {
        struct clean_walk walk = {.before_day = 1, .job_ids = &job, .job_count = 1, .except = except};
        e = store_find_expired(s, &walk, 10, ids, &count, &done, ec);
        if (!e)
            e = store_delete_expired(s, &walk, ids, 2, &deleted, ec);
    }
    return e ? e : store_delete_orphan_settings(s, NOW_S, &deleted, ec);
}

static enum err reshard(struct errctx *ec)
{
    struct reshard_wish wish;
    struct reshard_step step;
    bool found;
    enum err e = store_ask_reshard(s, 5, NULL, &wish, ec);

    if (e == ERR_CONFLICT)
        return store_cancel_reshard(s, 0, NULL, &found, ec);
    if (!e) {
        wish.last_s = 0; /* its time has come; another one stands by now */
        e = store_step_reshard(s, &wish, &step, ec);
    }
    return e ? e : store_cancel_reshard(s, 5, NULL, &found, ec);
}

static const struct {
    const char *name;
    enum err (*run)(struct errctx *ec);
} calls[] = {
    {"create", create},
    {"take_shard", take_shard},
    {"load_shards", load_shards},
    {"load_takeovers", load_takeovers},
    {"load_passed", load_passed},
    {"load_due", load_due},
    {"load_job_specs", load_job_specs},
    {"claim_jobs", claim_jobs},
    {"load_planned", load_planned},
    {"write_results", write_results},
    {"write_expected", write_expected},
    {"write_callbacks", write_callbacks},
    {"load_groups", load_groups},
    {"write_beats", write_beats},
    {"load_registry", load_registry},
    {"load_features", load_features},
    {"load_cluster", load_cluster},
    {"write_beat", write_beat},
    {"load_nodes", load_nodes},
    {"load_status", load_status},
    {"report", report},
    {"load_users", load_users},
    {"load_login", load_login},
    {"sessions", sessions},
    {"tokens", tokens},
    {"clean", clean},
    {"lost", lost},
    {"reshard", reshard},
};

static void every_allocation_may_fail(void **state)
{
    (void)state;
    if (!alloc_fail_works)
        skip();
    st = test_db_fresh(1, NOW_S);
    s = test_take(st, SESSION_NORMAL);
    test_add_job(1, NOW_S * 1000);
    test_add_job(3, NOW_S * 1000);
    assert_ok(claim_jobs(ec));
    assert_ok(claim_jobs(ec));
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        struct errctx why = {{0}};
        bool failed = true;
        for (long n = 1; failed; n++) {
            assert_ok(store_ping(s, ec)); /* connected, whatever the last round did */
            assert_true(n < 1000);
            epoch = test_int("SELECT epoch FROM shardwheel_shard");
            /* Buffers that a session keeps are not leaks. */
            sqlbuf_fini(&s->sql);
            long live = alloc_live;
            alloc_fail_start(n);
            enum err e = calls[i].run(&why);
            failed = alloc_fail_stop();
            sqlbuf_fini(&s->sql);
            if (!failed && e)
                fail_msg("%s without a failure: %s", calls[i].name, why.text);
            if (failed && e == ERR_OK && alloc_live > live)
                fail_msg("%s leaks %ld after allocation %ld failed", calls[i].name, alloc_live - live, n);
            if (s->db && alloc_live != live)
                fail_msg("%s leaves %ld blocks after allocation %ld failed (%s)", calls[i].name, alloc_live - live, n,
                         why.text);
        }
    }
    store_give_session(st, s);
    store_destroy(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
