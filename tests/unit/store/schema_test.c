/* SPDX-License-Identifier: MIT */
#include "store/test_schema.h"

#include "store/schema/schema_text.h"
#include "shardwheel/store/plan.h"
#include "store/schema/upgrade.h"

#define NOW_S INT64_C(1700000000)

/* ---- installing --------------------------------------------------------------------------------------------- */

static void note(void *arg, const char *what)
{
    buf_puts(arg, what);
    buf_putc(arg, '\n');
}

static void drop_own_tables(void)
{
    test_sql("SET SESSION group_concat_max_len = 1000000");
    char *names =
        strdup(test_text("SELECT GROUP_CONCAT(table_name) FROM information_schema.tables WHERE table_schema = "
                         "'xxl_job' AND table_name LIKE 'shardwheel%%'"));
    test_sql("DROP TABLE %s", names);
    free(names);
}

/* Everything that is there, as text: columns, indexes, engines. */
static char *describe(void)
{
    test_sql("SET SESSION group_concat_max_len = 1000000");
    char *columns =
        strdup(test_text("SELECT GROUP_CONCAT(CONCAT_WS(' ', table_name, column_name, column_type, is_nullable, "
                         "IFNULL(column_default, '-'), extra) ORDER BY table_name, ordinal_position "
                         "SEPARATOR '\\n') FROM information_schema.columns WHERE table_schema = 'xxl_job'"));
    struct buf all = {0};
    buf_puts(&all, columns);
    free(columns);
    buf_puts(&all, test_text("SELECT GROUP_CONCAT(CONCAT_WS(' ', table_name, index_name, seq_in_index, column_name, "
                             "non_unique) ORDER BY table_name, index_name, seq_in_index SEPARATOR '\\n') "
                             "FROM information_schema.statistics WHERE table_schema = 'xxl_job'"));
    buf_puts(&all,
             test_text("SELECT GROUP_CONCAT(CONCAT_WS(' ', table_name, engine, table_collation) ORDER BY table_name) "
                       "FROM information_schema.tables WHERE table_schema = 'xxl_job'"));
    return buf_take(&all);
}

static void an_empty_database_gets_all(void **state)
{
    struct store_features f;
    struct buf report = {0};
    char *password = NULL, hash[65];
    struct store *st;

    (void)state;
    test_db_empty();
    st = test_store();
    assert_ok(store_load_features(st, &f, ec));
    assert_true(f.empty);
    assert_false(f.own_tables);
    assert_ok(store_install_schema(st, note, &report, &password, ec));
    assert_non_null(password);
    assert_int_equal(strlen(password), 16);
    sha256_hex(password, hash);
    assert_string_equal(
        test_text("SELECT CONCAT_WS('|', id, username, IFNULL(token, '-'), role, IFNULL(permission, '-')) "
                  "FROM xxl_job_user WHERE password = '%s'",
                  hash),
        "1|admin|-|1|-");
    assert_string_equal(test_text("SELECT GROUP_CONCAT(lock_name) FROM xxl_job_lock"), "schedule_lock");
    assert_string_equal(
        test_text("SELECT CONCAT_WS('|', id, app_name, address_type, IFNULL(address_list, '-')) FROM xxl_job_group"),
        "1|xxl-job-executor-sample|0|-");
    assert_non_null(strstr(report.data, "made table shardwheel_cluster\n"));
    assert_non_null(strstr(report.data, "made table xxl_job_info\n"));
    assert_non_null(strstr(report.data, "made the user admin with a random password\n"));
    assert_null(strstr(report.data, password));
    assert_ok(store_load_features(st, &f, ec));
    assert_false(f.empty);
    assert_true(f.own_tables);
    assert_string_equal(f.family, "3.4");

    /* A second time there is nothing to do. */
    char *before = describe();
    buf_clear(&report);
    free(password);
    password = NULL;
    assert_ok(store_install_schema(st, note, &report, &password, ec));
    assert_null(password);
    assert_int_equal(report.len, 0);
    char *after = describe();
    assert_string_equal(before, after);
    free(before);
    free(after);
    buf_fini(&report);
    store_destroy(st);
}

/* Lists joined by commas, item by item, so that a difference shows where it is. */
static void check_lists(const char *got, const char *expected)
{
    while (*got || *expected) {
        size_t n = strcspn(got, ","), m = strcspn(expected, ",");
        if (n != m || strncmp(got, expected, n) != 0)
            fail_msg("there is '%.*s', expected '%.*s'", (int)n, got, (int)m, expected);
        got += n + (got[n] != '\0');
        expected += m + (expected[m] != '\0');
    }
}

/* The matrix of family 3.4: name, type, may be NULL, default. */
static void the_full_schema_is_that_of_its_family(void **state)
{
    static const char expected[] =
        "xxl_job_group id int(11) NO - auto_increment,xxl_job_group app_name varchar(64) NO - ,"
        "xxl_job_group title varchar(64) NO - ,xxl_job_group address_type tinyint(4) NO 0 ,"
        "xxl_job_group address_list text YES NULL ,xxl_job_group update_time datetime YES NULL ,"
        "xxl_job_info id int(11) NO - auto_increment,xxl_job_info job_group int(11) NO - ,"
        "xxl_job_info job_desc varchar(255) NO - ,xxl_job_info add_time datetime YES NULL ,"
        "xxl_job_info update_time datetime YES NULL ,xxl_job_info author varchar(64) YES NULL ,"
        "xxl_job_info alarm_email varchar(255) YES NULL ,xxl_job_info schedule_type varchar(50) NO 'NONE' ,"
        "xxl_job_info schedule_conf varchar(128) YES NULL ,xxl_job_info misfire_strategy varchar(50) NO "
        "'DO_NOTHING' ,"
        "xxl_job_info executor_route_strategy varchar(50) YES NULL ,xxl_job_info executor_handler varchar(255) YES "
        "NULL ,"
        "xxl_job_info executor_param text YES NULL ,xxl_job_info executor_block_strategy varchar(50) YES NULL ,"
        "xxl_job_info executor_timeout int(11) NO 0 ,xxl_job_info executor_fail_retry_count int(11) NO 0 ,"
        "xxl_job_info glue_type varchar(50) NO - ,xxl_job_info glue_source mediumtext YES NULL ,"
        "xxl_job_info glue_remark varchar(128) YES NULL ,xxl_job_info glue_updatetime datetime YES NULL ,"
        "xxl_job_info child_jobid varchar(255) YES NULL ,xxl_job_info trigger_status tinyint(4) NO 0 ,"
        "xxl_job_info trigger_last_time bigint(13) NO 0 ,xxl_job_info trigger_next_time bigint(13) NO 0 ,"
        "xxl_job_lock lock_name varchar(50) NO - ,"
        "xxl_job_log id bigint(20) NO - auto_increment,xxl_job_log job_group int(11) NO - ,"
        "xxl_job_log job_id int(11) NO - ,xxl_job_log executor_address varchar(255) YES NULL ,"
        "xxl_job_log executor_handler varchar(255) YES NULL ,xxl_job_log executor_param text YES NULL ,"
        "xxl_job_log executor_sharding_param varchar(20) YES NULL ,xxl_job_log executor_fail_retry_count int(11) "
        "NO 0 ,"
        "xxl_job_log trigger_time datetime YES NULL ,xxl_job_log trigger_code int(11) NO - ,"
        "xxl_job_log trigger_msg text YES NULL ,xxl_job_log handle_time datetime YES NULL ,"
        "xxl_job_log handle_code int(11) NO - ,xxl_job_log handle_msg text YES NULL ,"
        "xxl_job_log alarm_status tinyint(4) NO 0 ,"
        "xxl_job_log_report id int(11) NO - auto_increment,xxl_job_log_report trigger_day datetime YES NULL ,"
        "xxl_job_log_report running_count int(11) NO 0 ,xxl_job_log_report suc_count int(11) NO 0 ,"
        "xxl_job_log_report fail_count int(11) NO 0 ,xxl_job_log_report update_time datetime YES NULL ,"
        "xxl_job_logglue id int(11) NO - auto_increment,xxl_job_logglue job_id int(11) NO - ,"
        "xxl_job_logglue glue_type varchar(50) YES NULL ,xxl_job_logglue glue_source mediumtext YES NULL ,"
        "xxl_job_logglue glue_remark varchar(128) NO - ,xxl_job_logglue add_time datetime YES NULL ,"
        "xxl_job_logglue update_time datetime YES NULL ,"
        "xxl_job_registry id bigint(20) NO - auto_increment,xxl_job_registry registry_group varchar(50) NO - ,"
        "xxl_job_registry registry_key varchar(255) NO - ,xxl_job_registry registry_value varchar(255) NO - ,"
        "xxl_job_registry update_time datetime YES NULL ,"
        "xxl_job_user id int(11) NO - auto_increment,xxl_job_user username varchar(50) NO - ,"
        "xxl_job_user password varchar(100) NO - ,xxl_job_user token varchar(100) YES NULL ,"
        "xxl_job_user role tinyint(4) NO - ,xxl_job_user permission varchar(255) YES NULL ";
    static const char indexes[] =
        "xxl_job_group PRIMARY id 0,xxl_job_info PRIMARY id 0,xxl_job_lock PRIMARY lock_name 0,"
        "xxl_job_log I_handle_code handle_code 1,xxl_job_log I_jobgroup job_group 1,xxl_job_log I_jobid job_id 1,"
        "xxl_job_log I_trigger_time trigger_time 1,xxl_job_log PRIMARY id 0,"
        "xxl_job_log_report i_trigger_day trigger_day 0,xxl_job_log_report PRIMARY id 0,xxl_job_logglue PRIMARY id "
        "0,"
        "xxl_job_registry i_g_k_v registry_group 0,xxl_job_registry i_g_k_v registry_key 0,"
        "xxl_job_registry i_g_k_v registry_value 0,xxl_job_registry PRIMARY id 0,"
        "xxl_job_user i_username username 0,xxl_job_user PRIMARY id 0";
    struct store *st = test_db_fresh(1, NOW_S);

    (void)state;
    test_sql("SET SESSION group_concat_max_len = 1000000");
    check_lists(test_text("SELECT GROUP_CONCAT(CONCAT_WS(' ', table_name, column_name, column_type, is_nullable, "
                          "IFNULL(column_default, '-'), extra) ORDER BY BINARY table_name, ordinal_position) "
                          "FROM information_schema.columns WHERE table_schema = 'xxl_job' AND table_name LIKE 'xxl%%'"),
                expected);
    check_lists(test_text("SELECT GROUP_CONCAT(CONCAT_WS(' ', table_name, index_name, column_name, non_unique) "
                          "ORDER BY BINARY table_name, index_name, seq_in_index) FROM information_schema.statistics "
                          "WHERE table_schema = 'xxl_job' AND table_name LIKE 'xxl%%'"),
                indexes);
    assert_int_equal(test_int("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'xxl_job' AND "
                              "engine = 'InnoDB' AND table_collation LIKE 'utf8mb4%%'"),
                     50);
    store_destroy(st);
}

static void an_existing_schema_is_left_as_it_is(void **state)
{
    struct buf report = {0};
    char *password = NULL;
    struct store *st = test_db_fresh(1, NOW_S);

    (void)state;
    test_make_family("2.3");
    drop_own_tables();
    test_sql("DELETE FROM xxl_job_lock");
    test_sql("DELETE FROM xxl_job_user");
    test_sql("DELETE FROM xxl_job_group");
    assert_ok(store_install_schema(st, note, &report, &password, ec));
    assert_null(password);
    assert_string_equal(report.data,
                        "made table shardwheel_schema\nmade table shardwheel_cluster\nmade table shardwheel_shard\n"
                        "made table shardwheel_primary\n"
                        "made table shardwheel_cursor\nmade table shardwheel_node\n"
                        "made table shardwheel_guard\nmade table shardwheel_reshard\n"
                        "made table shardwheel_takeover\nmade table shardwheel_beats\n"
                        "made table shardwheel_job\nmade table shardwheel_later\n"
                        "made table shardwheel_alarm\nmade table shardwheel_channel\n"
                        "made table shardwheel_told\nmade table shardwheel_removed\n"
                        "made table shardwheel_audit\n"
                        "made table shardwheel_role\n"
                        "made table shardwheel_outside\n"
                        "made table shardwheel_password\n"
                        "made table shardwheel_factor\nmade table shardwheel_recovery\n"
                        "made table shardwheel_session\n"
                        "made table shardwheel_token\nmade table shardwheel_view\n"
                        "made table shardwheel_login\n"
                        "made table shardwheel_minute\n"
                        "made table shardwheel_event\n"
                        "made table shardwheel_flow\nmade table shardwheel_flow_version\n"
                        "made table shardwheel_flow_run\nmade table shardwheel_flow_step\n"
                        "made table shardwheel_flow_item\nmade table shardwheel_flow_fire\n"
                        "made table shardwheel_flow_request\n"
                        "made table shardwheel_flow_alarm\nmade table shardwheel_kept_log\n"
                        "made table shardwheel_rule\nmade table shardwheel_watch\nmade table shardwheel_held\n"
                        "made table shardwheel_hook\nmade table shardwheel_delivery\n"
                        "wrote the missing row schedule_lock of xxl_job_lock\n");
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_user"), 0);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_group"), 0);
    assert_string_equal(test_text("SELECT lock_name FROM xxl_job_lock"), "schedule_lock");
    buf_fini(&report);
    store_destroy(st);
}

static void an_installation_that_broke_off_is_finished(void **state)
{
    char *password = NULL;
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_features f;

    (void)state;
    test_sql("DROP TABLE xxl_job_info, xxl_job_user");
    assert_ok(store_install_schema(st, NULL, NULL, &password, ec));
    assert_non_null(password);
    free(password);
    assert_ok(store_load_features(st, &f, ec));
    assert_string_equal(f.family, "3.4");
    store_destroy(st);
}

struct installer {
    struct thread thread;
    struct store *st;
    char *password;
    enum err e;
    struct errctx why;
};

static void run_install(void *arg)
{
    struct installer *i = arg;

    i->e = store_install_schema(i->st, NULL, NULL, &i->password, &i->why);
}

static void two_nodes_install_at_once(void **state)
{
    struct installer i[2] = {{.st = NULL}};

    (void)state;
    test_db_empty();
    for (int k = 0; k < 2; k++) {
        i[k].st = test_store();
        assert_ok(thread_start(&i[k].thread, "install", run_install, &i[k], ec));
    }
    for (int k = 0; k < 2; k++) {
        thread_join(&i[k].thread);
        if (i[k].e)
            fail_msg("%s", i[k].why.text);
        store_destroy(i[k].st);
    }
    assert_true(!i[0].password != !i[1].password); /* one of them, and one only, made the user */
    free(i[0].password);
    free(i[1].password);
}

/* ---- the files of sql/ --------------------------------------------------------------------------------------- */

static char *read_file(const char *folder, const char *name)
{
    char path[600];
    struct buf all = {0};
    char piece[4096];
    size_t n;

    snprintf(path, sizeof path, "%s/%s/%s", SHARDWHEEL_SOURCE_DIR, folder, name);
    FILE *file = fopen(path, "r");
    if (!file)
        fail_msg("%s: %s", path, strerror(errno));
    while ((n = fread(piece, 1, sizeof piece, file)) > 0)
        buf_append(&all, piece, n);
    fclose(file);
    return buf_take(&all);
}

static void the_program_holds_the_files(void **state)
{
    char *own = read_file("sql", "shardwheel.sql"), *full = read_file("sql", "schema.sql");

    (void)state;
    assert_string_equal(own, schema_text_own);
    assert_string_equal(full, schema_text_full);
    free(own);
    free(full);
}

static void the_index_is_found_and_used(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_features f;
    char *sql = read_file("sql", "index.sql");

    (void)state;
    assert_ok(store_load_features(st, &f, ec));
    assert_false(f.info_next_index);
    assert_string_equal(f.log_job_time_name, "");
    assert_string_equal(f.log_group_time_name, "");
    for (char *at = sql; (at = strstr(at, "CREATE INDEX")) != NULL;) {
        char *end = strchr(at, ';');

        assert_non_null(end);
        test_sql("%.*s", (int)(end - at), at);
        at = end;
    }
    assert_ok(store_load_features(st, &f, ec));
    assert_true(f.info_next_index);
    assert_string_equal(f.log_job_time_name, "i_shardwheel_job");
    assert_string_equal(f.log_group_time_name, "i_shardwheel_group");
    assert_string_equal(f.log_job_id_name, "I_jobid");
    assert_string_equal(f.log_group_name, "I_jobgroup");
    assert_string_equal(f.log_trigger_time_name, "I_trigger_time");
    test_sql("INSERT INTO xxl_job_info (job_group, job_desc, glue_type, trigger_status, trigger_next_time) "
             "SELECT 1, '', 'BEAN', 1, seq * 1000 FROM seq_1_to_5000");
    test_sql("ANALYZE TABLE xxl_job_info");
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct due_scan scan = {0};
    assert_ok(store_scan_due(s, (int[]){0}, 1, 2, 20000, 100, &scan, ec));
    assert_int_equal(scan.count, 10);
    free(scan.list);
    assert_string_equal(
        test_text("SELECT index_name FROM information_schema.statistics WHERE table_schema = 'xxl_job' AND "
                  "column_name = 'trigger_next_time'"),
        "i_shardwheel_next");
    struct buf explain = {0};
    struct db_rows *rows = NULL;
    buf_printf(&explain, "EXPLAIN %s", s->sql.text.data);
    assert_ok(db_query(test_db.sql, explain.data, explain.len, &rows, ec));
    assert_true(db_rows_next(rows));
    assert_string_equal(db_text_or_empty(rows, 5), "i_shardwheel_next");
    assert_non_null(strstr(db_text_or_empty(rows, 9), "Using index"));
    assert_null(strstr(db_text_or_empty(rows, 9), "filesort"));
    db_rows_destroy(rows);
    buf_fini(&explain);
    store_give_session(st, s);
    store_destroy(st);
    free(sql);
}

/* ---- versions of the tables of ours ------------------------------------------------------------------------------ */

/* The tables as the release before made them, instead of those that are there. */
static void make_version_2(void)
{
    char *script = read_file("tests/unit/store", "tables_2.sql");
    char *statement = strstr(script, "CREATE");

    drop_own_tables();
    while (statement) {
        char *end = strstr(statement, ";\n");
        *end = '\0';
        test_sql("%s", statement);
        statement = strstr(end + 1, "CREATE");
    }
    test_sql("INSERT INTO shardwheel_cluster (id, shards, update_time) VALUES (1, 4, NULL)");
    test_sql("INSERT INTO shardwheel_schema (id, version) VALUES (1, 2)");
    free(script);
}

static void tables_of_the_version_before_are_upgraded(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_features f;
    struct buf report = {0};
    char *password = NULL, *fresh = describe();

    (void)state;
    make_version_2();
    assert_ok(store_load_features(st, &f, ec));
    assert_true(f.own_tables);
    assert_int_equal(f.own_version, 2);
    assert_false(f.own_complete);
    assert_ok(store_install_schema(st, note, &report, &password, ec));
    assert_string_equal(report.data, "made table shardwheel_primary\n"
                                     "made table shardwheel_outside\n"
                                     "made table shardwheel_password\n"
                                     "made table shardwheel_factor\nmade table shardwheel_recovery\n"
                                     "made table shardwheel_view\n"
                                     "made table shardwheel_flow\nmade table shardwheel_flow_version\n"
                                     "made table shardwheel_flow_run\nmade table shardwheel_flow_step\n"
                                     "made table shardwheel_flow_item\nmade table shardwheel_flow_fire\n"
                                     "made table shardwheel_flow_request\n"
                                     "made table shardwheel_flow_alarm\nmade table shardwheel_kept_log\n"
                                     "made table shardwheel_rule\nmade table shardwheel_watch\n"
                                     "made table shardwheel_held\n"
                                     "made table shardwheel_hook\nmade table shardwheel_delivery\n"
                                     "added column shardwheel_shard.claims\n"
                                     "added column shardwheel_job.kept_logs\n"
                                     "added column shardwheel_node.flows\n"
                                     "added column shardwheel_channel.tags\n"
                                     "added column shardwheel_channel.quiet\n"
                                     "added column shardwheel_job.success_within_s\n"
                                     "added column shardwheel_job.longest_run_s\n"
                                     "added column shardwheel_job.done_by\n"
                                     "added column shardwheel_session.factor_ms\n");
    /* What is upgraded is what is made anew, the tables of xxl-job are what they were, and the rows have stayed. */
    char *upgraded = describe();
    assert_string_equal(upgraded, fresh);
    assert_int_equal(test_int("SELECT shards FROM shardwheel_cluster"), 4);
    assert_string_equal(test_text("SELECT zone_database FROM shardwheel_cluster"), "(null)");
    assert_ok(store_load_features(st, &f, ec));
    assert_int_equal(f.own_version, OWN_VERSION);
    assert_true(f.own_complete);
    /* A second time there is nothing to do. */
    buf_clear(&report);
    assert_ok(store_install_schema(st, note, &report, &password, ec));
    assert_int_equal(report.len, 0);
    free(fresh);
    free(upgraded);
    buf_fini(&report);
    store_destroy(st);
}

/* Back by one: what a release adds may be left out by one that does not know it. */
static void what_was_added_may_be_left_out(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);

    (void)state;
    test_sql("CREATE TABLE newest AS SELECT table_name AS t, column_name AS c, is_nullable AS n, column_default AS d "
             "FROM information_schema.columns WHERE table_schema = 'xxl_job' AND table_name LIKE 'shardwheel%%'");
    make_version_2();
    assert_string_equal(
        test_text("SELECT IFNULL(GROUP_CONCAT(n.t, '.', n.c), 'none') FROM newest n "
                  "LEFT JOIN information_schema.columns o ON o.table_schema = 'xxl_job' AND o.table_name = n.t "
                  "AND o.column_name = n.c WHERE o.column_name IS NULL AND n.n = 'NO' AND n.d IS NULL AND n.t IN "
                  "(SELECT table_name FROM information_schema.tables WHERE table_schema = 'xxl_job')"),
        "none");
    store_destroy(st);
}

static void an_upgrade_that_broke_off_is_finished(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_features f;
    char *password = NULL, *fresh = describe();

    (void)state;
    for (int on_record = 0; on_record < 2; on_record++) { /* somebody may have written the version by hand */
        test_sql("ALTER TABLE shardwheel_cluster DROP zone_cron");
        if (!on_record)
            test_sql("DELETE FROM shardwheel_schema");
        assert_ok(store_load_features(st, &f, ec));
        assert_true(f.own_tables);
        assert_false(f.own_complete);
        assert_ok(store_install_schema(st, NULL, NULL, &password, ec));
        char *finished = describe();
        assert_string_equal(finished, fresh);
        free(finished);
        assert_int_equal(test_int("SELECT version FROM shardwheel_schema"), OWN_VERSION);
    }
    free(fresh);
    store_destroy(st);
}

/* Who has the table in a transaction is not waited for long: others would wait behind the ALTER TABLE. */
static void an_upgrade_does_not_hold_others_up(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct errctx why = {{0}};
    char *password = NULL;
    struct db *other = test_connect();

    (void)state;
    test_sql("ALTER TABLE shardwheel_cluster DROP zone_cron");
    test_run(other, "BEGIN");
    test_run(other, "UPDATE shardwheel_cluster SET shards = shards");
    enum err e = store_install_schema(st, NULL, NULL, &password, &why);
    db_close(other); /* and its transaction, whatever came of it */
    assert_int_equal(e, ERR_CONFLICT);
    assert_non_null(strstr(why.text, "add column shardwheel_cluster.zone_cron"));
    assert_ok(store_install_schema(st, NULL, NULL, &password, ec));
    store_destroy(st);
}

static void tables_of_the_version_after_are_left_alone(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_features f;
    struct buf report = {0};
    char *password = NULL;

    (void)state;
    test_sql("ALTER TABLE shardwheel_node ADD later INT NULL");
    test_sql("UPDATE shardwheel_schema SET version = %d", OWN_VERSION + 1);
    char *before = describe();
    assert_ok(store_load_features(st, &f, ec));
    assert_true(f.own_complete);
    assert_int_equal(f.own_version, OWN_VERSION + 1);
    assert_ok(store_install_schema(st, note, &report, &password, ec));
    assert_int_equal(report.len, 0);
    /* Nor does finishing what is missing of ours put the version back. */
    test_sql("DROP TABLE shardwheel_takeover");
    assert_ok(store_install_schema(st, note, &report, &password, ec));
    assert_string_equal(report.data, "made table shardwheel_takeover\n");
    assert_int_equal(test_int("SELECT version FROM shardwheel_schema"), OWN_VERSION + 1);
    char *after = describe();
    assert_string_equal(before, after);
    free(before);
    free(after);
    buf_fini(&report);
    store_destroy(st);
}

static void tables_two_versions_ahead_are_refused(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_features f;
    struct errctx why = {{0}};
    char *password = NULL;
    char expected[100];

    (void)state;
    test_sql("UPDATE shardwheel_schema SET version = %d", OWN_VERSION + 2);
    test_sql("ALTER TABLE shardwheel_cluster DROP zone_cron");
    snprintf(expected, sizeof expected, "have version %d, and this release supports versions up to %d", OWN_VERSION + 2,
             OWN_VERSION + 1);
    assert_int_equal(store_load_features(st, &f, &why), ERR_STATE);
    assert_non_null(strstr(why.text, expected));
    assert_int_equal(store_install_schema(st, NULL, NULL, &password, &why), ERR_STATE);
    test_sql("DROP TABLE xxl_job_info"); /* an installation that broke off, as it seems */
    assert_int_equal(store_install_schema(st, NULL, NULL, &password, &why), ERR_STATE);
    assert_int_equal(test_int("SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'xxl_job_info'"), 0);
    assert_int_equal(test_int("SELECT COUNT(*) FROM information_schema.columns WHERE column_name = 'zone_cron'"), 0);
    store_destroy(st);
}

static void versions_go_together_with_their_neighbours(void **state)
{
    static const struct {
        int found, own;
        const char *refused; /* NULL: they go together */
    } cases[] = {
        {0, 1, NULL},
        {0, 9, NULL},
        {1, 1, NULL},
        {1, 2, NULL},
        {4, 5, NULL},
        {5, 5, NULL},
        {6, 5, NULL},
        {7, 5, "have version 7, and this release supports versions up to 6: you can go back by one release only"},
        {3, 5,
         "have version 3, and this release supports versions from 4 on: upgrade by one release at a time; first run "
         "`shardwheel install-schema` of the release between"},
        {1, 3, "have version 1, and this release supports versions from 2 on"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct errctx why = {{0}};
        enum err e = upgrade_check_version(cases[i].found, cases[i].own, &why);
        assert_int_equal(e, cases[i].refused ? ERR_STATE : ERR_OK);
        if (cases[i].refused && !strstr(why.text, cases[i].refused))
            fail_msg("%d with %d: %s", cases[i].found, cases[i].own, why.text);
    }
}

/* ---- features -------------------------------------------------------------------------------------------------
 */

static void families_are_told_apart(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(test_families); i++) {
        struct store *st = test_db_fresh(1, NOW_S);
        const char *family = test_families[i];
        struct store_features f;

        test_make_family(family);
        assert_ok(store_load_features(st, &f, ec));
        assert_string_equal(f.family, family);
        assert_int_equal(f.job_name_is_desc, !test_is_since(family, "3.5"));
        assert_int_equal(f.group_title, !test_is_since(family, "3.5"));
        assert_int_equal(f.group_access_token, test_is_since(family, "3.5"));
        assert_int_equal(f.user_token, test_is_since(family, "3.2"));
        assert_int_equal(f.user_password_len, test_is_since(family, "3.2") ? 100 : 50);
        assert_int_equal(f.registry_unique, test_is_since(family, "2.5"));
        assert_int_equal(f.param_len, test_is_since(family, "3.4") ? 65535 : 512);
        assert_string_equal(f.log_handle_code_name, "I_handle_code");
        assert_string_equal(f.log_trigger_time_name, "I_trigger_time");
        assert_false(f.info_next_index);
        assert_true(f.own_tables);
        assert_non_null(strstr(f.server_version, "MariaDB"));
        store_destroy(st);
    }
}

static void check_refused(const char *sql, const char *part)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_features f;
    struct errctx why;
    char *password = NULL;

    test_sql("%s", sql);
    assert_int_equal(store_load_features(st, &f, &why), ERR_INPUT);
    if (!strstr(why.text, part))
        fail_msg("not in '%s': %s", why.text, part);
    /* Not ours to repair: nothing is made in it. */
    drop_own_tables();
    assert_int_equal(store_install_schema(st, NULL, NULL, &password, &why), ERR_INPUT);
    assert_int_equal(test_int("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'xxl_job' AND "
                              "table_name LIKE 'shardwheel%%'"),
                     0);
    store_destroy(st);
}

static void what_cannot_be_used_is_named(void **state)
{
    (void)state;
    check_refused("ALTER TABLE xxl_job_info CHANGE schedule_type job_cron VARCHAR(128)", "older than version 2.3");
    check_refused("ALTER TABLE xxl_job_info DROP misfire_strategy", "column xxl_job_info.misfire_strategy is missing");
    check_refused("ALTER TABLE xxl_job_info DROP job_desc", "xxl_job_info.job_desc");
    check_refused("ALTER TABLE xxl_job_group DROP title", "xxl_job_group.title");
    check_refused("DROP TABLE xxl_job_registry", "table xxl_job_registry is missing");
    check_refused("ALTER TABLE xxl_job_log ENGINE = MyISAM", "xxl_job_log is of engine MyISAM");
}

static void hybrids_are_judged_by_feature(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_features f;

    (void)state;
    test_sql("ALTER TABLE xxl_job_registry DROP KEY i_g_k_v");
    test_sql("ALTER TABLE xxl_job_registry ADD UNIQUE KEY other (registry_group, registry_key)");
    test_sql("ALTER TABLE xxl_job_log DROP KEY I_handle_code, DROP KEY I_trigger_time");
    test_sql("ALTER TABLE xxl_job_info ADD KEY a (trigger_status, executor_timeout, trigger_next_time), "
             "ADD KEY b (trigger_next_time, trigger_status), ADD KEY c (trigger_last_time, trigger_next_time)");
    assert_ok(store_load_features(st, &f, ec));
    assert_string_equal(f.family, "3.4");
    assert_false(f.registry_unique);
    assert_string_equal(f.log_handle_code_name, "");
    assert_string_equal(f.log_trigger_time_name, "");
    assert_false(f.info_next_index);
    store_destroy(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_database_gets_all),
        cmocka_unit_test(the_full_schema_is_that_of_its_family),
        cmocka_unit_test(an_existing_schema_is_left_as_it_is),
        cmocka_unit_test(an_installation_that_broke_off_is_finished),
        cmocka_unit_test(two_nodes_install_at_once),
        cmocka_unit_test(the_program_holds_the_files),
        cmocka_unit_test(the_index_is_found_and_used),
        cmocka_unit_test(tables_of_the_version_before_are_upgraded),
        cmocka_unit_test(what_was_added_may_be_left_out),
        cmocka_unit_test(an_upgrade_that_broke_off_is_finished),
        cmocka_unit_test(an_upgrade_does_not_hold_others_up),
        cmocka_unit_test(tables_of_the_version_after_are_left_alone),
        cmocka_unit_test(tables_two_versions_ahead_are_refused),
        cmocka_unit_test(versions_go_together_with_their_neighbours),
        cmocka_unit_test(families_are_told_apart),
        cmocka_unit_test(what_cannot_be_used_is_named),
        cmocka_unit_test(hybrids_are_judged_by_feature),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
