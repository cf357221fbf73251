/* SPDX-License-Identifier: MIT */
#include "shardwheel/store/replication.h"

#include "test.h"

#include <string.h>

static struct replication noted(const char *const *pairs)
{
    struct replication r = {0};

    for (; *pairs; pairs += 2)
        replication_note(&r, pairs[0], pairs[1]);
    return r;
}

#define NOTED(...) noted((const char *const[]){__VA_ARGS__, NULL})

/* The codes of all risks, each with a blank behind it. */
static const char *codes(struct replication r)
{
    static char text[200];
    struct replication_risk risks[REPLICATION_RISKS_MAX];
    size_t count = replication_find_risks(&r, risks);

    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        assert_true(risks[i].settings[0] && risks[i].what && risks[i].change);
        strcat(strcat(text, risks[i].code), " ");
    }
    return text;
}

static void a_server_alone_has_no_risk(void **state)
{
    (void)state;
    assert_string_equal(codes((struct replication){0}), "");
    assert_string_equal(codes(NOTED("rpl_semi_sync_master_enabled", "OFF", "rpl_semi_sync_master_timeout", "10000",
                                    "rpl_semi_sync_master_wait_point", "AFTER_COMMIT")),
                        "");
    assert_string_equal(codes(NOTED("group_replication_group_name", "", "group_replication_consistency", "EVENTUAL")),
                        "");
}

static void semi_sync_without_fallback_has_none(void **state)
{
    struct replication r =
        NOTED("rpl_semi_sync_master_enabled", "ON", "rpl_semi_sync_master_timeout", "18446744073709551615",
              "rpl_semi_sync_master_wait_no_slave", "ON", "rpl_semi_sync_master_wait_point", "AFTER_SYNC",
              "Rpl_semi_sync_master_status", "ON", "Rpl_semi_sync_master_clients", "2");

    (void)state;
    assert_true(r.semi_sync && r.is_confirming && replication_waits(&r));
    assert_int_equal(r.replicas, 2);
    assert_string_equal(codes(r), "");
}

static void each_setting_that_may_lose_commits_is_told(void **state)
{
    struct replication_risk risks[REPLICATION_RISKS_MAX];
    struct replication r =
        NOTED("rpl_semi_sync_master_enabled", "ON", "rpl_semi_sync_master_timeout", "10000",
              "rpl_semi_sync_master_wait_no_slave", "OFF", "rpl_semi_sync_master_wait_point", "AFTER_COMMIT");

    (void)state;
    assert_string_equal(codes(r), "commits_replicas_time commits_replicas_seen ");
    assert_int_equal(replication_find_risks(&r, risks), 2);
    assert_string_equal(risks[0].settings, "rpl_semi_sync_master_timeout=10000 rpl_semi_sync_master_wait_no_slave=OFF");
    r.timeout_ms = INT64_MAX;
    replication_find_risks(&r, risks);
    assert_string_equal(risks[0].settings, "rpl_semi_sync_master_wait_no_slave=OFF");
    assert_string_equal(codes(NOTED("rpl_semi_sync_master_enabled", "1", "rpl_semi_sync_master_timeout", "86399999")),
                        "commits_replicas_time ");
    assert_string_equal(codes(NOTED("rpl_semi_sync_master_enabled", "1", "rpl_semi_sync_master_timeout", "86400000")),
                        "");
}

static void names_of_later_versions_are_known(void **state)
{
    struct replication_risk risks[REPLICATION_RISKS_MAX];
    struct replication r =
        NOTED("rpl_semi_sync_source_enabled", "ON", "rpl_semi_sync_source_timeout", "10000",
              "rpl_semi_sync_source_wait_no_replica", "OFF", "rpl_semi_sync_source_wait_point", "AFTER_SYNC",
              "rpl_semi_sync_replica_enabled", "OFF", "Rpl_semi_sync_source_status", "OFF");

    (void)state;
    assert_true(r.semi_sync && !r.is_confirming);
    assert_int_equal(replication_find_risks(&r, risks), 1);
    assert_string_equal(risks[0].settings,
                        "rpl_semi_sync_source_timeout=10000 rpl_semi_sync_source_wait_no_replica=OFF");
    assert_non_null(strstr(risks[0].change, "source"));
}

static void groups_are_told_apart(void **state)
{
    (void)state;
    assert_string_equal(codes(NOTED("group_replication_group_name", "a-uuid", "group_replication_single_primary_mode",
                                    "OFF", "group_replication_consistency", "EVENTUAL")),
                        "group_primaries ");
    assert_string_equal(codes(NOTED("group_replication_group_name", "a-uuid", "group_replication_single_primary_mode",
                                    "ON", "group_replication_consistency", "EVENTUAL")),
                        "group_consistency ");
    assert_string_equal(
        codes(NOTED("group_replication_group_name", "a-uuid", "group_replication_single_primary_mode", "ON")),
        "group_consistency ");
    assert_string_equal(codes(NOTED("group_replication_group_name", "a-uuid", "group_replication_single_primary_mode",
                                    "ON", "group_replication_consistency", "BEFORE_ON_PRIMARY_FAILOVER")),
                        "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_alone_has_no_risk),
        cmocka_unit_test(semi_sync_without_fallback_has_none),
        cmocka_unit_test(each_setting_that_may_lose_commits_is_told),
        cmocka_unit_test(names_of_later_versions_are_known),
        cmocka_unit_test(groups_are_told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
