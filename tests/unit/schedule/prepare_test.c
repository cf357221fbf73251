/* SPDX-License-Identifier: MIT */
/* Many fires get their jobs: each its own, each job read once. */
#include "test.h"

#include "fake_job_spec.h"
#include "schedule/ring/prepare.h"
#include "shardwheel/store/plan.h"

#include <stdlib.h>

#define STOPPED(id) ((id) % 7 == 3)

static struct world {
    size_t read; /* jobs */
    int64_t last_id;
    bool any;
    size_t cancelled, ended;
    int64_t epoch[2]; /* of the shards, in the database */
    int64_t group;    /* of all jobs */
} w;

static int setup(void **state)
{
    (void)state;
    w = (struct world){0};
    return 0;
}

enum err store_load_job_specs(struct store_session *s, const int64_t *ids, size_t count, struct job_spec **out,
                              struct errctx *ec)
{
    (void)s;
    (void)ec;
    for (size_t i = 0; i < count; i++) {
        assert_true(!w.any || w.last_id < ids[i]); /* ascending and distinct, as the store wants them */
        w.any = true;
        w.last_id = ids[i];
        w.read++;
        out[i] = calloc(1, sizeof **out);
        assert_non_null(out[i]);
        atomic_init(&out[i]->refs, 1);
        out[i]->id = ids[i];
        out[i]->group = w.group;
        out[i]->running = !STOPPED(ids[i]);
    }
    return ERR_OK;
}

enum err store_cancel_planned(struct store_session *s, int shard, int64_t epoch, const struct gone_fires *gone,
                              struct errctx *ec)
{
    (void)s;
    for (size_t i = 1; i < gone->count; i++)
        assert_true(gone->ids[i - 1] < gone->ids[i]);
    if (epoch != w.epoch[shard])
        return err_set(ec, ERR_STATE, "fenced");
    w.cancelled += gone->count;
    w.ended += gone->resent_count;
    return ERR_OK;
}

static void push(struct fire **list, int64_t job_id)
{
    static int64_t log_id;
    struct fire *fire = fire_create();

    assert_non_null(fire);
    fire->log_id = ++log_id;
    fire->job_id = job_id;
    fire->next = *list;
    *list = fire;
}

static size_t check_and_count(const struct fire *list)
{
    size_t n = 0;

    for (; list; list = list->next, n++) {
        assert_non_null(list->job);
        assert_int_equal(list->job->id, list->job_id);
        assert_false(STOPPED(list->job_id));
    }
    return n;
}

static void each_fire_gets_its_job(void **state)
{
    enum { MANY = 5000 };
    struct prepare_gone gone = {0};
    struct fire *list = NULL;
    uint64_t random = 88172645463325252u;
    size_t stopped = 0;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        int64_t id;

        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        id = i % 3 == 0 ? (int64_t)(random >> 1) : (int64_t)(random % 3000); /* over all bytes, and many twice */
        stopped += STOPPED(id);
        push(&list, id);
    }
    assert_int_equal(prepare_fires(NULL, &list, &gone, NULL), ERR_OK);
    assert_int_equal(check_and_count(list), MANY - stopped);
    assert_int_equal(gone.count, stopped);
    assert_int_equal(w.cancelled, stopped);
    assert_in_range(w.read, MANY / 3, MANY - 1);
    fire_destroy_list(list);
    fire_destroy_list(gone.fires);
}

/* Their new owner has loaded them, and may have sent them already. */
static void rows_of_another_owner_stay(void **state)
{
    struct prepare_gone gone = {0};
    struct fire *list = NULL;
    size_t n = 0;

    (void)state;
    w.epoch[0] = 3;
    w.epoch[1] = 5;
    for (int64_t id = 0; id < 4000; id++) {
        push(&list, id);
        list->shard = id % 4 == 0;
        list->epoch = list->shard ? 4 : 3;
        list->flags = id % 8 == 1 ? FIRE_RESENT : 0;
        n += STOPPED(id) && !list->shard;
    }
    assert_int_equal(prepare_fires(NULL, &list, &gone, NULL), ERR_OK);
    assert_true(w.cancelled > 0 && w.ended > 0 && gone.count > n);
    assert_int_equal(w.cancelled + w.ended, n);
    fire_destroy_list(list);
    fire_destroy_list(gone.fires);
}

static void odd_ids_have_their_place(void **state)
{
    static const int64_t ids[] = {0, INT64_MAX, -1, 256, 255, INT64_MIN, 1, -256, 65536, 256};
    struct prepare_gone gone = {0};
    struct fire *list = NULL;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ids); i++)
        push(&list, ids[i]);
    assert_int_equal(prepare_fires(NULL, &list, &gone, NULL), ERR_OK);
    assert_int_equal(w.read, ARRAY_LEN(ids) - 1);
    assert_int_equal(check_and_count(list) + gone.count, ARRAY_LEN(ids));
    fire_destroy_list(list);
    fire_destroy_list(gone.fires);
    assert_int_equal(prepare_fires(NULL, &(struct fire *){NULL}, &gone, NULL), ERR_OK);
}

/* What has its job already is not read again. */
static void jobs_that_are_there_stay(void **state)
{
    struct prepare_gone gone = {0};
    struct fire *list = NULL;
    struct job_spec *job;

    (void)state;
    push(&list, 5);
    assert_int_equal(prepare_fires(NULL, &list, &gone, NULL), ERR_OK);
    job = list->job;
    push(&list->next, 6);
    assert_int_equal(prepare_fires(NULL, &list, &gone, NULL), ERR_OK);
    assert_int_equal(w.read, 2);
    assert_ptr_equal(list->job, job);
    assert_int_equal(check_and_count(list), 2);
    fire_destroy_list(list);
}

/* A later row's fire goes out as long as there is a job, with what it has of its own. */
static void fires_of_later_rows_do_not_ask_whether_their_job_runs(void **state)
{
    static const struct {
        struct fire_own own;
        const char *param;
        int retries;
    } cases[] = {
        {{.param = "own", .retries = 2}, "own", 2},
        {{.param = "", .retries = 0}, "", 0},
        {{.retries = -1}, NULL, 0}, /* the job's */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct prepare_gone gone = {0};
        struct fire *list = NULL;

        push(&list, 3); /* which is stopped */
        list->flags = FIRE_LATER;
        list->kind = TRIGGER_RETRY;
        list->own = fire_own_create(&cases[i].own);
        w = (struct world){.group = 4};
        assert_int_equal(prepare_fires(NULL, &list, &gone, NULL), ERR_OK);
        assert_int_equal(gone.count, 0);
        assert_non_null(list);
        assert_int_equal(list->group, 4);
        assert_int_equal(list->job->retry_count, cases[i].retries);
        if (cases[i].param)
            assert_string_equal(list->job->param, cases[i].param);
        else
            assert_null(list->job->param);
        fire_destroy_list(list);
    }
    assert_false(prepare_still_happens(&(struct fire){.flags = FIRE_LATER, .kind = TRIGGER_RETRY}, NULL));
}

/* One of the job's own schedule that waited for an executor is such a fire still. */
static void what_waited_of_a_stopped_jobs_schedule_does_not_happen(void **state)
{
    static const struct {
        struct fire fire;
        bool happens;
    } cases[] = {
        {{.flags = FIRE_LATER, .kind = TRIGGER_CRON}, false},
        {{.flags = FIRE_LATER, .kind = TRIGGER_MISFIRE}, false},
        {{.flags = FIRE_LATER | FIRE_LAST, .kind = TRIGGER_CRON}, true},
        {{.flags = FIRE_LATER, .kind = TRIGGER_MANUAL}, true},
        {{.flags = FIRE_LATER, .kind = TRIGGER_API}, true},
        {{.flags = FIRE_LATER, .kind = TRIGGER_RETRY}, true},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(prepare_still_happens(&cases[i].fire, &(struct job_spec){.running = false}), cases[i].happens);
        assert_true(prepare_still_happens(&cases[i].fire, &(struct job_spec){.running = true}));
    }
}

/* The group of now counts; but not for one part of a broadcast alone, nor for all of them: it has other addresses. */
static void fires_follow_their_job_to_another_group(void **state)
{
    struct prepare_gone gone = {0};
    struct fire *list = NULL;
    int64_t group[3];

    (void)state;
    for (int job = 0; job < 3; job++) {
        push(&list, job);
        list->group = 1;
        list->row_hash = 77;
        list->broadcast = job == 1;
    }
    w.group = 2;
    assert_int_equal(prepare_fires(NULL, &list, &gone, NULL), ERR_OK);
    assert_int_equal(check_and_count(list), 3);
    for (const struct fire *fire = list; fire; fire = fire->next) {
        group[fire->job_id] = fire->group;
        assert_int_equal(fire->row_hash, 77); /* the row is still what it was */
    }
    assert_int_equal(group[0], 2);
    assert_int_equal(group[1], 1);
    assert_int_equal(group[2], 2);
    /* Read too long ago, and moved once more. */
    prepare_forget(list);
    w.group = 3;
    w.any = false;
    assert_int_equal(prepare_fires(NULL, &list, &gone, NULL), ERR_OK);
    for (const struct fire *fire = list; fire; fire = fire->next)
        assert_int_equal(fire->group, fire->broadcast ? 1 : 3);
    fire_destroy_list(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_fire_gets_its_job, setup),
        cmocka_unit_test_setup(rows_of_another_owner_stay, setup),
        cmocka_unit_test_setup(odd_ids_have_their_place, setup),
        cmocka_unit_test_setup(jobs_that_are_there_stay, setup),
        cmocka_unit_test_setup(fires_of_later_rows_do_not_ask_whether_their_job_runs, setup),
        cmocka_unit_test(what_waited_of_a_stopped_jobs_schedule_does_not_happen),
        cmocka_unit_test_setup(fires_follow_their_job_to_another_group, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
