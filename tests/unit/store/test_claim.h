/* SPDX-License-Identifier: MIT */
/* test_claim: claims made by hand, for the tests of claims. */
#ifndef SHARDWHEEL_TESTS_STORE_TEST_CLAIM_H
#define SHARDWHEEL_TESTS_STORE_TEST_CLAIM_H

#include "store/conn/session.h"
#include "store/test_db.h"
#include "shardwheel/job.h"
#include "shardwheel/store/cluster.h"
#include "shardwheel/store/plan.h"

#define NOW_S INT64_C(1700000000)

struct claim {
    struct job_page page;
    struct claim_job jobs[600];
    size_t count;
};

static inline struct fire *new_fire(const struct job_due *job, int shard, int64_t epoch, int64_t due_s)
{
    struct fire *f = fire_create();

    assert_non_null(f);
    f->job_id = job->id;
    f->group = job->group;
    f->due_s = f->original_due_s = due_s;
    f->epoch = epoch;
    f->shard = shard;
    return f;
}

static inline int compare_claim_jobs(const void *a, const void *b)
{
    const struct claim_job *x = a, *y = b;

    return x->job->id < y->job->id ? -1 : x->job->id > y->job->id;
}

/* What is due of a shard, ascending by id. */
static inline enum err load_due_jobs(struct store_session *s, int shard, int n, int64_t until_ms, size_t limit,
                                     struct job_page *out, struct errctx *ec)
{
    struct due_scan scan = {0};
    int64_t *ids = NULL;
    enum err e = store_scan_due(s, &shard, 1, n, until_ms, limit, &scan, ec);

    if (!e && !(ids = calloc(scan.count + 1, sizeof *ids)))
        e = ERR_NOMEM;
    for (size_t i = 0; i < scan.count && !e; i++)
        ids[i] = scan.list[i].id;
    if (!e) {
        qsort(ids, scan.count, sizeof *ids, compare_int64);
        e = store_load_due(s, ids, scan.count, until_ms, out, ec);
    }
    free(ids);
    free(scan.list);
    return e;
}

/* Everything due by until_ms, each with one fire at its next time, advanced by a minute. */
static inline void make_claim(struct store_session *s, int shard, int n, int64_t epoch, int64_t until_ms,
                              struct claim *c)
{
    memset(c, 0, sizeof *c);
    assert_ok(load_due_jobs(s, shard, n, until_ms, 600, &c->page, ec));
    c->count = c->page.count;
    for (size_t i = 0; i < c->count; i++) {
        const struct job_due *job = &c->page.jobs[i];
        c->jobs[i] = (struct claim_job){
            .job = job, .new_next_ms = job->next_ms + 60000, .fires = new_fire(job, shard, epoch, job->next_ms / 1000)};
    }
    qsort(c->jobs, c->count, sizeof c->jobs[0], compare_claim_jobs);
}

static inline void drop_claim(struct claim *c)
{
    for (size_t i = 0; i < c->count; i++)
        fire_destroy_list(c->jobs[i].fires);
    job_page_fini(&c->page);
}

static inline int64_t take(struct store_session *s, int shard)
{
    int64_t epoch = 0, cursor_s = 0;

    assert_ok(store_take_shard(s, shard, (int)test_int("SELECT shards FROM shardwheel_cluster"), "node-a", 0, 0, &epoch,
                               &cursor_s, ec));
    return epoch;
}

struct fixture {
    struct store *st;
    struct store_session *s;
    int64_t epoch;
    struct claim c;
};

/* Shard 0 of 1, taken. */
static inline void set_up(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    f->st = test_db_fresh(1, NOW_S);
    f->s = test_take(f->st, SESSION_CLAIM);
    f->epoch = take(f->s, 0);
}

static inline void tear_down(struct fixture *f)
{
    drop_claim(&f->c);
    store_give_session(f->st, f->s);
    store_destroy(f->st);
}

#endif
