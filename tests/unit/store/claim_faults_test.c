/* SPDX-License-Identifier: MIT */
/* Claims whose connection breaks, or whose rows somebody holds. */
#include "store/test_claim.h"
#include "store/test_proxy.h"

struct racer {
    struct thread thread;
    struct fixture *f;
    enum err e;
    struct errctx why;
};

static void run_claim(void *arg)
{
    struct racer *w = arg;

    w->e = store_claim_jobs(w->f->s, 0, w->f->epoch, w->f->c.jobs, w->f->c.count, NULL, &w->why);
}

static void start_claim(struct racer *w, struct fixture *f)
{
    *w = (struct racer){.f = f};
    assert_ok(thread_start(&w->thread, "claim", run_claim, w, ec));
}

static void kill_in_mid_transaction_is_lost(void **state)
{
    struct fixture f;
    struct racer w;
    struct db *holder;

    (void)state;
    set_up(&f);
    test_add_job(1, NOW_S * 1000);
    make_claim(f.s, 0, 1, f.epoch, NOW_S * 1000, &f.c);
    int64_t id = test_connection_id(f.s);
    holder = test_connect();
    test_run(holder, "START TRANSACTION");
    test_run(holder, "UPDATE xxl_job_info SET author = 'x' WHERE id = 1");
    start_claim(&w, &f);
    test_wait("SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT id, "
              "trigger_next_time%FOR UPDATE'");
    test_sql("KILL CONNECTION %" PRId64, id);
    thread_join(&w.thread);
    assert_int_equal(w.e, ERR_LOST);
    assert_false(f.c.jobs[0].advanced);
    test_run(holder, "ROLLBACK");
    db_close(holder);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"), 0);
    /* The same session connects anew, and the same claim goes through. */
    assert_ok(store_claim_jobs(f.s, 0, f.epoch, f.c.jobs, f.c.count, NULL, ec));
    assert_true(f.c.jobs[0].advanced);
    assert_true(test_connection_id(f.s) != id);
    tear_down(&f);
}

/* Blocks commits, and commits only, until `end`. */
static struct db *block_commits(void)
{
    struct db *db = test_connect();

    test_run(db, "BACKUP STAGE START");
    test_run(db, "BACKUP STAGE FLUSH");
    test_run(db, "BACKUP STAGE BLOCK_DDL");
    test_run(db, "BACKUP STAGE BLOCK_COMMIT");
    return db;
}

static const char waits_to_commit[] = "SELECT COUNT(*) FROM information_schema.processlist WHERE info = 'COMMIT' "
                                      "AND state LIKE 'Waiting for backup%'";

static void kill_at_commit_is_unknown(void **state)
{
    struct fixture f;
    struct racer w;
    struct db *blocker;
    struct store_session *other;

    (void)state;
    set_up(&f);
    test_add_job(1, NOW_S * 1000);
    test_add_job(2, NOW_S * 1000);
    make_claim(f.s, 0, 1, f.epoch, NOW_S * 1000, &f.c);
    fire_destroy_list(f.c.jobs[1].fires);
    f.c.jobs[1].fires = NULL;
    int64_t id = test_connection_id(f.s);
    blocker = block_commits();
    start_claim(&w, &f);
    test_wait(waits_to_commit);
    test_sql("KILL CONNECTION %" PRId64, id);
    thread_join(&w.thread);
    assert_int_equal(w.e, ERR_UNKNOWN);
    /* The client hears of it first; were commits let through now, this one might still happen. */
    test_wait("SELECT COUNT(*) = 0 FROM information_schema.processlist WHERE info = 'COMMIT'");
    db_close(blocker);
    other = test_take(f.st, SESSION_CLAIM);
    assert_ok(store_load_claimed(other, 0, f.epoch, f.c.jobs, f.c.count, ec));
    assert_false(f.c.jobs[0].advanced);
    assert_false(f.c.jobs[1].advanced);
    store_give_session(f.st, other);
    tear_down(&f);
}

/* Four jobs: one with a fire, one that was changed, one without fires, one that stops. */
static void make_mixed_claim(struct fixture *f)
{
    for (int id = 1; id <= 4; id++)
        test_add_job(id, NOW_S * 1000);
    make_claim(f->s, 0, 1, f->epoch, NOW_S * 1000, &f->c);
    test_sql("UPDATE xxl_job_info SET schedule_conf = 'changed' WHERE id = 2");
    for (int i = 2; i < 4; i++) {
        fire_destroy_list(f->c.jobs[i].fires);
        f->c.jobs[i].fires = NULL;
    }
    f->c.jobs[3].stop = true;
}

static void commits_with_unknown_outcome_are_read_back(void **state)
{
    static const enum test_proxy_mode modes[] = {PROXY_LOSE_COMMIT, PROXY_LOSE_ANSWER};
    struct test_proxy proxy;

    (void)state;
    test_proxy_start(&proxy);
    for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
        bool happened = modes[m] == PROXY_LOSE_ANSWER;
        struct errctx why;
        struct fixture f;

        test_db.opts.socket = proxy.path;
        set_up(&f);
        test_db.opts.socket = test_db.socket;
        make_mixed_claim(&f);
        const struct fire *unclaimed = f.c.jobs[1].fires;
        atomic_store(&proxy.mode, modes[m]);
        assert_int_equal(store_claim_jobs(f.s, 0, f.epoch, f.c.jobs, f.c.count, NULL, &why), ERR_UNKNOWN);
        assert_int_equal(atomic_load(&proxy.mode), PROXY_PASS);
        for (int i = 0; i < 4; i++)
            assert_false(f.c.jobs[i].advanced);
        struct store_session *other = test_take(f.st, SESSION_CLAIM);
        assert_ok(store_load_claimed(other, 0, f.epoch, f.c.jobs, f.c.count, ec));
        for (int i = 0; i < 4; i++)
            assert_int_equal(f.c.jobs[i].advanced, happened && i != 1);
        assert_ptr_equal(f.c.jobs[1].fires, unclaimed);
        assert_int_equal(
            test_int("SELECT COUNT(*) FROM xxl_job_log WHERE job_id = 1 AND id = %" PRId64, f.c.jobs[0].fires->log_id),
            happened);
        /* A row that has taken the id since, after a restart of the server, is not taken for ours. */
        test_sql("UPDATE xxl_job_log SET job_id = 9");
        assert_ok(store_load_claimed(other, 0, f.epoch, f.c.jobs, f.c.count, ec));
        assert_false(f.c.jobs[0].advanced);
        store_give_session(f.st, other);
        tear_down(&f);
    }
    test_proxy_stop(&proxy);
}

/* The doubtful transaction still holds the shard row: reading back must wait for its end, not look past it. */
static void reading_back_waits_for_the_doubtful_transaction(void **state)
{
    struct fixture f;
    struct errctx why;
    struct db *holder;

    (void)state;
    test_db.opts.read_timeout_ms = 3000; /* lock waits end after a second */
    set_up(&f);
    test_db.opts.read_timeout_ms = 10000;
    test_add_job(1, NOW_S * 1000);
    make_claim(f.s, 0, 1, f.epoch, NOW_S * 1000, &f.c);
    holder = test_connect();
    test_run(holder, "START TRANSACTION");
    test_run(holder, "UPDATE shardwheel_shard SET owner = 'x' WHERE shard = 0");
    assert_int_equal(store_load_claimed(f.s, 0, f.epoch, f.c.jobs, f.c.count, &why), ERR_TIMEOUT);
    /* And so must a claim; the message names it. No smaller one would do better, so it is no ERR_CONFLICT. */
    assert_int_equal(store_claim_jobs(f.s, 0, f.epoch, f.c.jobs, f.c.count, NULL, &why), ERR_TIMEOUT);
    assert_int_equal(store_claim_free_jobs(f.s, 0, f.epoch, f.c.jobs, f.c.count, NULL, &why), ERR_TIMEOUT);
    assert_non_null(strstr(why.text, "claim 1 jobs of shard 0"));
    db_close(holder);
    assert_ok(store_claim_jobs(f.s, 0, f.epoch, f.c.jobs, f.c.count, NULL, ec));
    tear_down(&f);
}

/* ---- jobs that somebody holds -------------------------------------------------------------------------------- */

/* Forty jobs, of which somebody holds 7, 8 and 31. */
static struct db *hold_jobs(struct fixture *f)
{
    struct db *holder;

    for (int id = 1; id <= 40; id++)
        test_add_job(id, NOW_S * 1000);
    make_claim(f->s, 0, 1, f->epoch, NOW_S * 1000, &f->c);
    assert_int_equal(f->c.count, 40);
    holder = test_connect();
    test_run(holder, "START TRANSACTION");
    test_run(holder, "UPDATE xxl_job_info SET author = 'x' WHERE id IN (7, 8, 31)");
    return holder;
}

static bool is_held(int64_t id)
{
    return id == 7 || id == 8 || id == 31;
}

static void jobs_that_somebody_holds_are_passed_by(void **state)
{
    struct fixture f;
    struct errctx why;
    struct db *holder;

    (void)state;
    set_up(&f);
    holder = hold_jobs(&f);
    assert_int_equal(store_claim_jobs(f.s, 0, f.epoch, f.c.jobs, f.c.count, NULL, &why), ERR_CONFLICT);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"), 0);
    test_sql("UPDATE xxl_job_info SET schedule_conf = 'changed' WHERE id = 20");
    assert_ok(store_claim_free_jobs(f.s, 0, f.epoch, f.c.jobs, f.c.count, NULL, ec));
    for (size_t i = 0; i < f.c.count; i++) {
        int64_t id = f.c.jobs[i].job->id;

        assert_int_equal(f.c.jobs[i].locked, is_held(id));
        assert_int_equal(f.c.jobs[i].advanced, !is_held(id) && id != 20);
        assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log WHERE job_id = %" PRId64, id),
                         f.c.jobs[i].advanced);
    }
    assert_int_equal(
        test_int("SELECT COUNT(*) FROM xxl_job_info WHERE trigger_next_time = %" PRId64, (NOW_S + 60) * 1000), 36);
    test_run(holder, "ROLLBACK");
    db_close(holder);
    tear_down(&f);
}

/* A server that does not know SKIP LOCKED says no soon, and nothing is written; with fewer jobs it says which. */
static void without_skip_locked_a_claim_waits_for_nobody(void **state)
{
    struct store_features features;
    struct fixture f;
    struct errctx why;
    struct db *holder;

    (void)state;
    set_up(&f);
    assert_ok(store_load_features(f.st, &features, ec));
    assert_true(features.skip_locked);
    mutex_lock(&f.st->lock);
    f.st->features.skip_locked = false;
    mutex_unlock(&f.st->lock);
    holder = hold_jobs(&f);
    int64_t id = test_connection_id(f.s);
    assert_int_equal(store_claim_free_jobs(f.s, 0, f.epoch, f.c.jobs, f.c.count, NULL, &why), ERR_CONFLICT);
    /* The statement was ended; its wait for the lock did not come to an end of its own. */
    assert_non_null(strstr(why.text, "max_statement_time"));
    assert_int_equal(store_claim_free_jobs(f.s, 0, f.epoch, f.c.jobs + 6, 1, NULL, &why), ERR_CONFLICT);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"), 0);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_info WHERE trigger_next_time = %" PRId64, NOW_S * 1000),
                     40);
    assert_ok(store_claim_free_jobs(f.s, 0, f.epoch, f.c.jobs, 6, NULL, ec));
    for (int i = 0; i < 6; i++) {
        assert_true(f.c.jobs[i].advanced);
        assert_false(f.c.jobs[i].locked);
    }
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"), 6);
    assert_int_equal(test_connection_id(f.s), id);
    test_run(holder, "ROLLBACK");
    db_close(holder);
    assert_ok(store_claim_free_jobs(f.s, 0, f.epoch, f.c.jobs + 6, f.c.count - 6, NULL, ec));
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"), 40);
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kill_in_mid_transaction_is_lost),
        cmocka_unit_test(kill_at_commit_is_unknown),
        cmocka_unit_test(commits_with_unknown_outcome_are_read_back),
        cmocka_unit_test(reading_back_waits_for_the_doubtful_transaction),
        cmocka_unit_test(jobs_that_somebody_holds_are_passed_by),
        cmocka_unit_test(without_skip_locked_a_claim_waits_for_nobody),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
