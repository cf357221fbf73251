/* SPDX-License-Identifier: MIT */
/* What is asked of nodes and of the cluster: rights, what is refused, and who did it. */
#include "store/test_db.h"

#include "shardwheel/admin/alarms.h"
#include "shardwheel/admin/cluster.h"
#include "shardwheel/admin/settings.h"
#include "shardwheel/admin/tokens.h"

#define NOW_S INT64_C(1700000000)

static const int64_t groups[] = {3};
static const struct actor boss = {.user_id = 1, .name = "boss", .role = ROLE_ADMIN, .rights = RIGHTS_ALL};
static const struct actor reader = {
    .user_id = 2, .name = "reader", .role = ROLE_READER, .rights = RIGHTS_ALL, .all_groups = true};
static const struct actor user = {
    .user_id = 3, .name = "user", .role = ROLE_USER, .rights = RIGHTS_ALL, .groups = groups, .group_count = 1};
static const struct actor nobody = {.user_id = 4, .name = "nobody", .role = ROLE_USER, .rights = RIGHTS_ALL};

static struct refusal why;

static struct admin *begin(struct store **st)
{
    struct admin *a = NULL;
    struct errctx ec;

    *st = test_db_fresh(2, NOW_S);
    assert_int_equal(
        admin_create(&(struct admin_opts){.store = *st, .node_name = "node-a"}, clock_system(), NULL, &a, &ec), ERR_OK);
    return a;
}

static void beat(struct store *st, const char *incarnation, const char *node)
{
    struct store_session *s = test_take(st, SESSION_NORMAL);

    assert_ok(store_write_beat(
        s,
        &(struct node_beat){
            .incarnation = incarnation, .node = node, .url = "", .version = "1", .owned = 1, .released = -1},
        ec));
    store_give_session(st, s);
}

static void end(struct admin *a, struct store *st)
{
    admin_destroy(a);
    store_destroy(st);
}

#define assert_refused(call, kind_, field_)                                                                            \
    do {                                                                                                               \
        assert_int_not_equal(call, ERR_OK);                                                                            \
        assert_string_equal(refusal_name(why.kind), refusal_name(kind_));                                              \
        assert_string_equal(why.field ? why.field : "", field_);                                                       \
    } while (0)
#define assert_done(call)                                                                                              \
    do {                                                                                                               \
        if ((call) != ERR_OK)                                                                                          \
            fail_msg("%s", why.text.text);                                                                             \
    } while (0)

/* "ACTION WHO NAME BEFORE AFTER" of the newest one. */
static const char *last_audit(void)
{
    return test_text("SELECT CONCAT_WS(' ', action, who, target, target_name, IFNULL(before_json, '-'), "
                     "IFNULL(after_json, '-')) FROM shardwheel_audit ORDER BY id DESC LIMIT 1");
}

static void seeing_is_for_all_groups_and_changing_for_admins(void **state)
{
    (void)state;
    struct store *st;
    struct admin *a = begin(&st);
    struct cluster_status status = {0};
    struct cluster_nodes nodes = {0};
    struct setting_list settings = {0};
    struct reshard_wish wish;
    struct node_row node;
    int64_t now_ms;
    bool mail;

    assert_done(admin_load_nodes(a, &reader, &nodes, &why));
    cluster_nodes_fini(&nodes);
    assert_done(admin_load_shards(a, &reader, false, &status, &why));
    assert_int_equal(status.count, 2);
    cluster_status_fini(&status);
    assert_refused(admin_load_nodes(a, &user, &nodes, &why), REFUSED_RIGHT, "");
    assert_refused(admin_load_shards(a, &user, true, &status, &why), REFUSED_RIGHT, "");
    assert_refused(admin_set_drain(a, &reader, "n", true, true, &node, &now_ms, &why), REFUSED_RIGHT, "");
    assert_refused(admin_set_drain(a, &reader, "n", false, false, &node, &now_ms, &why), REFUSED_RIGHT, "");
    assert_refused(admin_release_shard(a, &reader, 0, &node, &why), REFUSED_RIGHT, "");
    assert_refused(admin_reshard(a, &reader, 4, &wish, &why), REFUSED_RIGHT, "");
    assert_refused(admin_cancel_reshard(a, &reader, &why), REFUSED_RIGHT, "");
    assert_refused(admin_load_settings(a, &reader, &settings, &why), REFUSED_RIGHT, "");
    assert_refused(admin_list_channels(a, &reader, NULL, NULL, &mail, &mail, &why), REFUSED_RIGHT, "");
    assert_refused(admin_test_alarms(a, &reader, "", NULL, NULL, NULL, &why), REFUSED_RIGHT, "");
    end(a, st);
}

static void a_node_is_drained_where_another_takes_its_shards(void **state)
{
    (void)state;
    struct store *st;
    struct admin *a = begin(&st);
    struct node_row node;
    int64_t now_ms;

    beat(st, "aaaa", "node-a");
    assert_refused(admin_set_drain(a, &boss, "node-x", true, false, &node, &now_ms, &why), REFUSED_UNKNOWN, "node");
    assert_refused(admin_set_drain(a, &boss, "node-a", true, false, &node, &now_ms, &why), REFUSED_STATE, "force");
    assert_done(admin_set_drain(a, &boss, "node-a", true, true, &node, &now_ms, &why));
    assert_string_equal(node_get_state(&node, now_ms), "draining");
    assert_string_equal(last_audit(), "node.drain boss 0 node-a {\"drain\":false} {\"drain\":true}");
    assert_done(admin_set_drain(a, &boss, "aaaa", false, false, &node, &now_ms, &why));
    assert_string_equal(last_audit(), "node.undrain boss 0 node-a {\"drain\":true} {\"drain\":false}");
    assert_done(admin_set_drain(a, &boss, "aaaa", false, false, &node, &now_ms, &why));
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit"), 2); /* nothing was to be done */
    beat(st, "bbbb", "node-b");
    assert_done(admin_set_drain(a, &boss, "node-a", true, false, &node, &now_ms, &why));
    test_sql("UPDATE shardwheel_node SET beat_ms = beat_ms - 60000 WHERE incarnation = 'bbbb'");
    assert_refused(admin_set_drain(a, &boss, "bbbb", true, true, &node, &now_ms, &why), REFUSED_STATE, "");
    beat(st, "cccc", "node-a");
    assert_refused(admin_set_drain(a, &boss, "node-a", false, false, &node, &now_ms, &why), REFUSED_INVALID, "node");
    end(a, st);
}

static void a_shard_is_released_by_an_owner_that_lives(void **state)
{
    (void)state;
    struct store *st;
    struct admin *a = begin(&st);
    struct node_row owner;

    assert_refused(admin_release_shard(a, &boss, 2, &owner, &why), REFUSED_UNKNOWN, "shard");
    assert_refused(admin_release_shard(a, &boss, 1, &owner, &why), REFUSED_STATE, "");
    test_sql("UPDATE shardwheel_shard SET owner = 'node-a'");
    assert_refused(admin_release_shard(a, &boss, 1, &owner, &why), REFUSED_STATE, "");
    beat(st, "aaaa", "node-a");
    assert_refused(admin_release_shard(a, &boss, 1, &owner, &why), REFUSED_STATE, "");
    beat(st, "bbbb", "node-b");
    assert_done(admin_release_shard(a, &boss, 1, &owner, &why));
    assert_string_equal(owner.incarnation, "aaaa");
    assert_int_equal(test_int("SELECT release_shard FROM shardwheel_node WHERE incarnation = 'aaaa'"), 1);
    assert_string_equal(last_audit(), "shard.release boss 1 node-a - {\"node\":\"node-a\"}");
    assert_refused(admin_release_shard(a, &boss, 0, &owner, &why), REFUSED_LIMIT, "");
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit"), 1);
    end(a, st);
}

static void another_number_of_shards_is_asked_for_once(void **state)
{
    (void)state;
    struct store *st;
    struct admin *a = begin(&st);
    struct reshard_wish wish;

    assert_refused(admin_reshard(a, &boss, 0, &wish, &why), REFUSED_INVALID, "shards");
    assert_refused(admin_reshard(a, &boss, 1025, &wish, &why), REFUSED_INVALID, "shards");
    assert_refused(admin_reshard(a, &boss, 2, &wish, &why), REFUSED_STATE, "");
    assert_refused(admin_cancel_reshard(a, &boss, &why), REFUSED_STATE, "");
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit"), 0);
    assert_done(admin_reshard(a, &boss, 4, &wish, &why));
    assert_int_equal(wish.shards, 4);
    assert_string_equal(last_audit(), "cluster.reshard boss 0  {\"shards\":2} {\"shards\":4}");
    assert_refused(admin_reshard(a, &boss, 8, &wish, &why), REFUSED_STATE, "");
    assert_done(admin_cancel_reshard(a, &boss, &why));
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit"), 2);
    assert_int_equal(test_int("SELECT shards FROM shardwheel_reshard"), 0);
    end(a, st);
}

static void alarms_are_those_of_the_actors_groups(void **state)
{
    (void)state;
    struct store *st;
    struct admin *a = begin(&st);
    struct alarm_state *list = NULL;
    size_t count = 0;

    test_sql("INSERT INTO xxl_job_info (id, job_group, job_desc, glue_type) VALUES "
             "(11, 3, 'ours', 'BEAN'), (12, 4, 'theirs', 'BEAN')");
    test_sql("INSERT INTO shardwheel_alarm (job_id, log_id, last_log, failures, failing, quiet_until_ms, incarnation) "
             "VALUES (0, NULL, 0, 0, 0, 0, 'aaaa'), (11, 5, 6, 2, 1, 9000000000000, ''), (12, NULL, 7, 0, 1, 1, ''), "
             "(13, NULL, 8, 1, 0, 0, '')");
    assert_done(admin_load_alarms(a, &boss, 0, 10, &list, &count, &why));
    assert_int_equal(count, 3);
    assert_string_equal(list[0].job_name, "ours");
    assert_true(list[0].due && list[0].failing && list[0].failures == 2 && list[0].last_log == 6);
    assert_true(list[0].quiet_until_ms == 9000000000000 && list[1].quiet_until_ms == 0);
    assert_int_equal(list[2].job_group, 0); /* the job is gone */
    free(list);
    assert_done(admin_load_alarms(a, &reader, 11, 1, &list, &count, &why));
    assert_true(count == 1 && list[0].job_id == 12);
    free(list);
    assert_done(admin_load_alarms(a, &user, 0, 10, &list, &count, &why));
    assert_true(count == 1 && list[0].job_id == 11);
    free(list);
    assert_refused(admin_load_alarms(a, &nobody, 0, 10, &list, &count, &why), REFUSED_RIGHT, "");
    end(a, st);
}

static void an_instance_says_what_it_is(void **state)
{
    (void)state;
    struct store *st;
    struct admin *a = begin(&st);
    struct instance instance;

    test_sql("UPDATE shardwheel_cluster SET zone_cron = 'Asia/Shanghai'");
    assert_done(admin_load_instance(a, &user, &instance, &why));
    assert_string_equal(instance.node, "node-a");
    assert_string_equal(instance.zones.cron, "Asia/Shanghai");
    assert_int_equal(instance.shards, 2);
    assert_string_equal(instance.console_dialect, "auto");
    assert_true(instance.schema_family[0] == '3' || instance.schema_family[0] == '2');
    end(a, st);
}

/* What a use case says of its own things must not stand for what the database says. */
static void a_database_that_is_gone_is_no_unknown_token(void **state)
{
    (void)state;
    const struct identity who = {.actor = boss};
    struct admin *a;
    struct store *st = test_db_fresh(1, NOW_S), *gone = NULL;
    struct store_opts opts = test_db.opts;

    opts.database = "gone";
    assert_ok(store_create(&opts, clock_system(), NULL, &gone, ec));
    assert_ok(admin_create(&(struct admin_opts){.store = gone}, clock_system(), NULL, &a, ec));
    assert_refused(admin_remove_token(a, &who, 7, &why), REFUSED_UNKNOWN, "");
    assert_non_null(strstr(why.text.text, "gone"));
    store_destroy(st);
    end(a, gone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seeing_is_for_all_groups_and_changing_for_admins),
        cmocka_unit_test(a_node_is_drained_where_another_takes_its_shards),
        cmocka_unit_test(a_shard_is_released_by_an_owner_that_lives),
        cmocka_unit_test(another_number_of_shards_is_asked_for_once),
        cmocka_unit_test(alarms_are_those_of_the_actors_groups),
        cmocka_unit_test(an_instance_says_what_it_is),
        cmocka_unit_test(a_database_that_is_gone_is_no_unknown_token),
    };
    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
