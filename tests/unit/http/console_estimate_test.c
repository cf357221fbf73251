/* SPDX-License-Identifier: MIT */
/* Lists whose rows cannot be counted in time: the server ends the count, and the page comes all the same. */
#include "http/console_send.h"
#include "shardwheel/admin/groups.h"
#include "shardwheel/admin/jobs.h"
#include "shardwheel/admin/runs.h"
#include "store/test_schema.h"

#define NOW_S INT64_C(1700000000)
#define LIMIT_MS 20

static struct store *st;
static struct admin *admin;
static struct zone *zone;
static const char *locked; /* a table that counts wait for; NULL: none */

static int lock(int limit_ms)
{
    if (!locked)
        return limit_ms;
    test_sql("LOCK TABLES %s WRITE", locked);
    return LIMIT_MS;
}

static void unlock(void)
{
    if (locked)
        test_sql("UNLOCK TABLES");
}

#define WRAP_COUNT(function, filter_type)                                                                              \
    enum err __real_##function(struct store_session *s, const struct filter_type *filter, int limit_ms, int64_t *out,  \
                               struct errctx *why);                                                                    \
    enum err __wrap_##function(struct store_session *s, const struct filter_type *filter, int limit_ms, int64_t *out,  \
                               struct errctx *why);                                                                    \
    enum err __wrap_##function(struct store_session *s, const struct filter_type *filter, int limit_ms, int64_t *out,  \
                               struct errctx *why)                                                                     \
    {                                                                                                                  \
        enum err e = __real_##function(s, filter, lock(limit_ms), out, why);                                           \
                                                                                                                       \
        unlock();                                                                                                      \
        return e;                                                                                                      \
    }

WRAP_COUNT(store_count_jobs, job_filter)
WRAP_COUNT(store_count_runs, run_filter)
WRAP_COUNT(store_count_groups, group_filter)

/* Seven groups, nine jobs and eleven runs. */
static void begin(void)
{
    static char context[] = "";

    st = test_db_fresh(1, NOW_S);
    test_make_family("3.4");
    test_sql("DELETE FROM xxl_job_group");
    test_sql("INSERT INTO xxl_job_group (id, app_name, title) SELECT seq, 'app', 'g' FROM seq_1_to_7");
    test_sql("INSERT INTO xxl_job_info (id, job_group, job_desc, author, glue_type) SELECT seq, 1, 'j', 'a', 'BEAN' "
             "FROM seq_1_to_9");
    test_sql("INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code) SELECT 1, 1, "
             "NOW(), 200, 200 FROM seq_1_to_11");
    store_destroy(st);
    st = test_store(); /* one that reads the features anew */
    assert_ok(zone_load("Asia/Shanghai", &zone, ec));
    assert_ok(admin_create(&(struct admin_opts){.store = st, .zone = zone}, clock_system(), NULL, &admin, ec));
    h = (struct http){
        .context = context, .generation = DIALECT_C, .opts = {.admin = admin, .lang = LANG_EN, .console_zone = zone}};
    who = "admin";
    content_type = "application/x-www-form-urlencoded";
}

static int tear_down(void **state)
{
    (void)state;
    response_fini(&answer);
    answer = (struct http_response){0};
    admin_destroy(admin);
    store_destroy(st);
    zone_destroy(zone);
    admin = NULL;
    st = NULL;
    zone = NULL;
    locked = cookie = NULL;
    return 0;
}

struct list {
    const char *table;
    const char *path;
    const char *filter; /* of all rows */
    const char *other;  /* likewise, and never counted before */
    int rows;
    int guess; /* of `other`: what a page of three behind two shows; of runs also that there are more */
};

/* A as well as C: they put the number in places of their own. */
static void expect_total(const struct list *l, const char *filter, int total, bool is_estimate)
{
    for (int a = 0; a < 2; a++) {
        char body[200], part[60];

        cookie = a ? ADMIN : SSO;
        snprintf(body, sizeof body, "%s%s", filter, a ? "&start=2&length=3" : "&offset=2&pagesize=3");
        snprintf(part, sizeof part, a ? "\"recordsFiltered\":%d,\"data\":[{" : "],\"total\":%d}", total);
        const char *got = console_send("POST", l->path, "", body);
        const char *headers = answer.headers.len ? answer.headers.data : "";
        if (!strstr(got, part))
            fail_msg("%s %s: %s\nexpected %s", l->path, body, got + (strlen(got) > 99 ? strlen(got) - 99 : 0), part);
        if (is_estimate != (strstr(headers, "X-Count: estimate") != NULL))
            fail_msg("%s %s: headers \"%s\"", l->path, body, headers);
    }
}

static const struct list jobs = {"xxl_job_info",
                                 "/jobinfo/pageList",
                                 "jobGroup=0&triggerStatus=-1&jobDesc=j&executorHandler=&author=",
                                 "jobGroup=0&triggerStatus=-1&jobDesc=&executorHandler=&author=a",
                                 9,
                                 5};
static const struct list runs = {"xxl_job_log",
                                 "/joblog/pageList",
                                 "jobGroup=0&jobId=0&logStatus=-1&filterTime=",
                                 "jobGroup=1&jobId=1&logStatus=-1&filterTime=",
                                 11,
                                 6};
static const struct list groups = {
    "xxl_job_group", "/jobgroup/pageList", "appname=app&title=", "appname=&title=g", 7, 5};

static void the_last_count_is_given_for_one_that_takes_too_long(void **state)
{
    static const struct list *const lists[] = {&jobs, &runs};
    (void)state;

    begin();
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        const struct list *l = lists[i];

        locked = NULL;
        expect_total(l, l->filter, l->rows, false);
        locked = l->table;
        expect_total(l, l->filter, l->rows, true);
        expect_total(l, l->other, l->guess, true);
    }
    locked = NULL;
    expect_total(&jobs, jobs.other, jobs.rows, false);
    expect_total(&runs, runs.filter, runs.rows, true); /* not tried again at once */
}

static void of_groups_nothing_is_kept(void **state)
{
    (void)state;
    begin();
    expect_total(&groups, groups.filter, groups.rows, false);
    locked = groups.table;
    expect_total(&groups, groups.filter, groups.guess, true);
    expect_total(&groups, groups.other, groups.guess, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_last_count_is_given_for_one_that_takes_too_long, tear_down),
        cmocka_unit_test_teardown(of_groups_nothing_is_kept, tear_down),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
