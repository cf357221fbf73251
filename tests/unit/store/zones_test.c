/* SPDX-License-Identifier: MIT */
/* The zones of a cluster: put on record, compared, changed. */
#include "store/test_db.h"

#include "shardwheel/store/cluster.h"

#define NOW_S INT64_C(1700000000)

/* One start of a node whose DATETIME columns and cron expressions are in these zones. */
struct start {
    enum err e;
    struct errctx why;
    struct cluster_zones zones;
};

static struct start start_with(const char *database, const struct zone *cron)
{
    struct start start = {0};
    struct store_opts opts = test_db.opts;
    struct store_session *s;
    struct store *st = NULL;

    opts.zone = database; /* NULL: that of the process */
    assert_ok(store_create(&opts, clock_system(), NULL, &st, ec));
    s = test_take(st, SESSION_NORMAL);
    start.e = store_agree_on_zones(s, cron, &start.zones, &start.why);
    store_give_session(st, s);
    store_destroy(st);
    return start;
}

static struct start start_node(const char *database, const char *cron)
{
    struct zone *zone = NULL;

    assert_ok(zone_load(cron, &zone, ec));
    struct start start = start_with(database, zone);
    zone_destroy(zone);
    return start;
}

static void check_starts(const char *database, const char *cron)
{
    struct start start = start_node(database, cron);

    if (start.e)
        fail_msg("%s, %s: %s", database, cron, start.why.text);
}

static void check_refused(const char *database, const char *cron, const char *zones, const char *command)
{
    struct start start = start_node(database, cron);

    assert_int_equal(start.e, ERR_STATE);
    if (!strstr(start.why.text, zones) || !strstr(start.why.text, command))
        fail_msg("not '%s' and '%s': %s", zones, command, start.why.text);
}

static void check_record(const char *database, const char *cron)
{
    assert_string_equal(test_text("SELECT IFNULL(zone_database, '-') FROM shardwheel_cluster"), database);
    assert_string_equal(test_text("SELECT IFNULL(zone_cron, '-') FROM shardwheel_cluster"), cron);
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

static void the_first_start_puts_them_on_record_and_others_are_compared(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);

    (void)state;
    check_record("-", "-");
    check_starts("Asia/Shanghai", "Europe/Berlin");
    check_record("Asia/Shanghai", "Europe/Berlin");
    check_starts("Asia/Shanghai", "Europe/Berlin");
    check_refused("UTC", "Europe/Berlin", "the cluster's zone of DATETIME columns is Asia/Shanghai, this node's is UTC",
                  "shardwheelctl set-zone database UTC");
    check_refused("Asia/Shanghai", "UTC", "the cluster's zone of cron expressions is Europe/Berlin, this node's is UTC",
                  "shardwheelctl set-zone cron UTC");
    check_record("Asia/Shanghai", "Europe/Berlin");
    /* Only what is not known is filled in, and nothing of a start that is refused. */
    test_sql("UPDATE shardwheel_cluster SET zone_database = NULL");
    check_refused("Asia/Tokyo", "UTC", "this node's is UTC", "set-zone cron UTC");
    check_record("-", "Europe/Berlin");
    check_starts("Asia/Tokyo", "Europe/Berlin");
    check_record("Asia/Tokyo", "Europe/Berlin");
    store_destroy(st);
}

static void nobody_is_refused_for_a_synonym(void **state)
{
    static const char *const same[][5] = {{"Asia/Shanghai", "PRC", "CTT", "+08:00", "Etc/GMT-8"},
                                          {"UTC", "Etc/UTC", "+00:00", "GMT", "Z"},
                                          {"Europe/Berlin", "Europe/Paris", "CET", "Europe/Rome", "MET"}};
    struct store *st = test_db_fresh(1, NOW_S);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        test_sql("UPDATE shardwheel_cluster SET zone_database = NULL, zone_cron = NULL");
        for (size_t k = 0; k < ARRAY_LEN(same[i]); k++) {
            check_starts(same[i][k], same[i][ARRAY_LEN(same[i]) - 1 - k]);
            check_record(same[i][0], same[i][ARRAY_LEN(same[i]) - 1]); /* the first ones stay */
        }
    }
    /* The same in winter only, or only until some years ago. */
    check_refused("+01:00", "Europe/Berlin", "is Europe/Berlin, this node's is +01:00", "set-zone database +01:00");
    store_destroy(st);
}

static void a_zone_that_cannot_be_read_here_is_named(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);

    (void)state;
    test_sql("UPDATE shardwheel_cluster SET zone_cron = 'Asia/Nowhere'");
    check_refused("UTC", "UTC", "is Asia/Nowhere, this node's is UTC", "there is no /usr/share/zoneinfo/Asia/Nowhere");
    store_destroy(st);
}

static void copy_file(const char *from, const char *to)
{
    char block[65536];
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");

    assert_non_null(in);
    assert_non_null(out);
    size_t n = fread(block, 1, sizeof block, in);
    assert_int_equal(fwrite(block, 1, n, out), n);
    fclose(in);
    fclose(out);
}

/* One start in a process whose zone is a file without a name, as where /etc/localtime is mounted into a container. */
static struct start start_unnamed(const char *zone)
{
    static int count; /* a name of its own for each: the zone library keeps what it has read */
    char from[200], path[100], tz[110];
    struct zone *local = NULL;

    snprintf(from, sizeof from, "/usr/share/zoneinfo/%s", zone);
    snprintf(path, sizeof path, "%s/localtime-%d", test_db.dir, count++);
    snprintf(tz, sizeof tz, ":%s", path);
    copy_file(from, path);
    setenv("TZ", tz, 1);
    assert_ok(zone_load_local(&local, ec));
    assert_string_equal(zone_get_name(local), "localtime");
    struct start start = start_with(NULL, local);
    zone_destroy(local);
    unsetenv("TZ");
    unlink(path);
    return start;
}

static void a_zone_without_a_name_is_compared_by_its_offsets(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);

    (void)state;
    assert_int_equal(start_unnamed("Asia/Shanghai").e, ERR_OK);
    check_record("+08:00", "+08:00");
    check_starts("Asia/Shanghai", "PRC");
    struct start start = start_unnamed("Asia/Tokyo");
    assert_int_equal(start.e, ERR_STATE);
    assert_non_null(strstr(start.why.text, "is +08:00, this node's is +09:00"));
    /* Without a name and without one offset: never on record, but compared with what is. */
    test_sql("UPDATE shardwheel_cluster SET zone_database = NULL, zone_cron = NULL");
    start = start_unnamed("Europe/Berlin");
    assert_int_equal(start.e, ERR_OK);
    assert_string_equal(start.zones.database, "");
    check_record("-", "-");
    check_starts("Europe/Paris", "Europe/Berlin");
    assert_int_equal(start_unnamed("Europe/Berlin").e, ERR_OK);
    assert_int_equal(start_unnamed("America/New_York").e, ERR_STATE);
    check_record("Europe/Paris", "Europe/Berlin");
    store_destroy(st);
}

/* ---- changing them ----------------------------------------------------------------------------------------------- */

static enum err set_zone(struct store *st, enum cluster_zone which, const char *name, bool force, struct errctx *ec)
{
    struct store_session *s = test_take(st, SESSION_NORMAL);
    char before[ZONE_NAME_MAX] = "?";
    enum err e = store_set_zone(s, which, name, force, before, ec);

    store_give_session(st, s);
    return e;
}

static void they_are_changed_while_no_node_lives(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct errctx why = {{0}};

    (void)state;
    test_sql("DELETE FROM shardwheel_cluster");
    assert_int_equal(set_zone(st, CLUSTER_ZONE_CRON, "UTC", false, &why), ERR_STATE);
    assert_non_null(strstr(why.text, "no node has used this database yet"));
    test_sql("INSERT INTO shardwheel_cluster (id, shards) VALUES (1, 1)");
    check_starts("Asia/Shanghai", "Asia/Shanghai");

    test_sql("INSERT INTO shardwheel_node VALUES ('0123', 'node-a', '', '', 0, TIMESTAMPDIFF(MICROSECOND, "
             "'1970-01-01', UTC_TIMESTAMP(3)) DIV 1000, 0, 1, 0, -1, 1)");
    assert_int_equal(set_zone(st, CLUSTER_ZONE_DATABASE, "UTC", true, &why), ERR_BUSY);
    assert_non_null(strstr(why.text, "node node-a is running, or was 0."));
    assert_int_equal(set_zone(st, CLUSTER_ZONE_CRON, "UTC", true, &why), ERR_BUSY);
    check_record("Asia/Shanghai", "Asia/Shanghai");

    test_sql("UPDATE shardwheel_node SET beat_ms = beat_ms - 10001");
    assert_ok(set_zone(st, CLUSTER_ZONE_DATABASE, "UTC", false, ec));
    check_record("UTC", "Asia/Shanghai");
    assert_ok(set_zone(st, CLUSTER_ZONE_CRON, "Europe/Berlin", false, ec));
    check_record("UTC", "Europe/Berlin");
    check_starts("Etc/UTC", "Europe/Berlin");
    store_destroy(st);
}

static void planned_fires_hold_the_change_of_their_zone(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct errctx why = {{0}};
    char low[100];

    (void)state;
    check_starts("Asia/Shanghai", "Asia/Shanghai");
    /* Due 5 s after the cursor, as a node in Shanghai writes it. */
    snprintf(low, sizeof low, "FROM_UNIXTIME(%" PRId64 " + 5 + 8 * 3600)", NOW_S);
    test_sql("SET time_zone = '+00:00'");
    test_sql("INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, trigger_msg, handle_code) VALUES "
             "(1, 1, %s, 0, '<!--sw:p:%" PRId64 ":1-->', 0)",
             low, NOW_S + 5);
    assert_int_equal(set_zone(st, CLUSTER_ZONE_DATABASE, "UTC", false, &why), ERR_CONFLICT);
    assert_non_null(strstr(why.text, "1 planned fires have not ended yet"));
    assert_non_null(strstr(why.text, "start a node with zone Asia/Shanghai"));
    check_record("Asia/Shanghai", "Asia/Shanghai");
    assert_ok(set_zone(st, CLUSTER_ZONE_CRON, "UTC", false, ec)); /* they have their second already */
    assert_ok(set_zone(st, CLUSTER_ZONE_DATABASE, "UTC", true, ec));
    check_record("UTC", "UTC");
    test_sql("UPDATE shardwheel_cluster SET zone_database = 'Asia/Shanghai'");
    test_sql("UPDATE xxl_job_log SET trigger_code = 200");
    assert_ok(set_zone(st, CLUSTER_ZONE_DATABASE, "UTC", false, ec));
    store_destroy(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_start_puts_them_on_record_and_others_are_compared),
        cmocka_unit_test(nobody_is_refused_for_a_synonym),
        cmocka_unit_test(a_zone_that_cannot_be_read_here_is_named),
        cmocka_unit_test(a_zone_without_a_name_is_compared_by_its_offsets),
        cmocka_unit_test(they_are_changed_while_no_node_lives),
        cmocka_unit_test(planned_fires_hold_the_change_of_their_zone),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
