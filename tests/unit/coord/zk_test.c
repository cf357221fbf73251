/* SPDX-License-Identifier: MIT */
/* What the library hands over, as no server of today says it: its functions that zk.c calls are the test's own. */
#include "coord/zk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define THREADED
#include <zookeeper/zookeeper.h>

#define TICKET "/xxl-job/schedule_lock_0/_c_x-lock-"

static int handle; /* stands for one */
static string_completion_t created;
static const void *created_arg;
static struct zk_event *posted;

zhandle_t *zookeeper_init2(const char *host, watcher_fn fn, int recv_timeout, const clientid_t *clientid, void *context,
                           int flags, log_callback_fn log_callback)
{
    (void)host, (void)fn, (void)recv_timeout, (void)clientid, (void)context, (void)flags, (void)log_callback;
    return (zhandle_t *)&handle;
}

int zookeeper_close(zhandle_t *zh)
{
    (void)zh;
    return ZOK;
}

int zoo_acreate(zhandle_t *zh, const char *path, const char *value, int valuelen, const struct ACL_vector *acl,
                int mode, string_completion_t completion, const void *data)
{
    (void)zh, (void)value, (void)valuelen, (void)acl, (void)mode;
    assert_string_equal(path, TICKET);
    created = completion;
    created_arg = data;
    return ZOK;
}

static void post(void *arg, struct zk_event *event)
{
    (void)arg;
    assert_null(posted);
    posted = event;
}

static void poke(void *arg)
{
    (void)arg;
}

static void expect_created(struct zk *zk, const char *says, enum zk_result result)
{
    char *value = says ? strdup(says) : NULL; /* so that the sanitizer sees its end */

    assert_true(zk_ask(zk, &(struct zk_ask){.verb = ZK_CREATE_QUEUED, .path = TICKET, .id = 1}));
    created(ZOK, value, created_arg);
    free(value);
    assert_non_null(posted);
    assert_int_equal(posted->answer.result, result);
    if (result == ZK_OK)
        assert_string_equal(posted->answer.created, says);
    else
        assert_null(posted->answer.created);
    zk_event_destroy(posted);
    posted = NULL;
}

static void a_name_that_is_none_is_an_answer_that_got_lost(void **state)
{
    struct errctx ec;
    struct zk *zk = NULL;

    (void)state;
    assert_int_equal(
        zk_open(&(struct zk_opts){.servers = "x:1", .clock = clock_system(), .post = post, .poke = poke}, &zk, &ec),
        ERR_OK);
    expect_created(zk, TICKET "0000000007", ZK_OK);
    expect_created(zk, TICKET "-2147483648", ZK_OK); /* its counter has gone round */
    expect_created(zk, TICKET "000000000000000000000000000000000000000000000000000000000000", ZK_LOST);
    expect_created(zk, "0000000007", ZK_LOST);
    expect_created(zk, "", ZK_LOST);
    expect_created(zk, NULL, ZK_LOST);
    zk_close(zk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_name_that_is_none_is_an_answer_that_got_lost)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
