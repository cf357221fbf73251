/* SPDX-License-Identifier: MIT */
/* Reload: what takes effect, what waits for a restart, and that an error leaves the old config as it was. */
#include "config/fixture.h"

static struct config *reload(const struct config *current, char **args, char **env)
{
    struct errctx ec = {{0}};
    struct config *fresh = NULL;

    if (config_reload(current, count_of(args), args, env, &fresh, &ec))
        fail_msg("%s", ec.text);
    return fresh;
}

static void reloadable_keys_take_effect_others_wait(void **state)
{
    struct config *c;
    struct config *fresh;

    (void)state;
    write_file("application.properties", "shardwheel.log.level=warn\nxxl.job.accessToken=one\nshardwheel.shards=8\n"
                                         "spring.datasource.url=jdbc:mysql://a/d\nspring.datasource.password=p1\n");
    c = load(NO_ARGS, NO_ENV);
    write_file("application.properties",
               "shardwheel.log.level=debug\nxxl.job.accessToken=two\nxxl.job.timeout=7\n"
               "shardwheel.shards=16\nspring.datasource.url=jdbc:mysql://b/d\n"
               "spring.datasource.password=p2\nserver.port=8080\nshardwheel.schema.auto=off\n");
    fresh = reload(c, NO_ARGS, NO_ENV);
    assert_int_equal(fresh->log_level, LOG_DEBUG);
    assert_string_equal(fresh->access_token, "two");
    assert_int_equal(fresh->executor_timeout_ms, 7000);
    assert_int_equal(fresh->shards, 8);
    assert_true(fresh->schema_auto);
    assert_string_equal(fresh->datasource_url, "jdbc:mysql://a/d");
    assert_string_equal(fresh->datasource->hosts[0].host, "a");
    assert_string_equal(fresh->datasource_password, "p1");
    assert_string_equal(config_get_source(fresh, "shardwheel.log.level"), "./application.properties:1");
    assert_string_equal(config_get_source(fresh, "shardwheel.shards"), "./application.properties:3");
    assert_string_equal(config_get_source(fresh, "shardwheel.schema.auto"), "default");
    check_note(fresh, CONFIG_NOTE_RESTART,
               "./application.properties:4: shardwheel.shards: \"16\" needs a restart; until then \"8\" is used");
    check_note(fresh, CONFIG_NOTE_RESTART, "./application.properties:6: spring.datasource.password has changed");
    check_note(fresh, CONFIG_NOTE_RESTART, "spring.datasource.url: \"jdbc:mysql://b/d\" needs a restart");
    check_note(fresh, CONFIG_NOTE_RESTART,
               "shardwheel.schema.auto: \"off\" needs a restart; until then \"on\" is used");
    assert_int_equal(count_notes(fresh, CONFIG_NOTE_RESTART), 4); /* a port said as it was is no change */
    /* The old one is untouched. */
    assert_int_equal(c->log_level, LOG_WARN);
    assert_string_equal(c->access_token, "one");
    assert_int_equal(count_notes(c, CONFIG_NOTE_RESTART), 0);
    config_destroy(c);

    /* The next one compares with what is in force. */
    c = reload(fresh, NO_ARGS, NO_ENV);
    assert_int_equal(c->shards, 8);
    assert_int_equal(count_notes(c, CONFIG_NOTE_RESTART), 4);
    config_destroy(c);
    config_destroy(fresh);
}

static void a_bad_file_leaves_the_old_config_in_force(void **state)
{
    static const char *const bad[] = {"xxl.job.accessToken=two\nserver.port=x\n", "xxl.job.accessToken=two\nnosuch=1\n",
                                      "xxl.job.accessToken=two\nx=\\u1\n", "xxl.job.accessToken=${nil}\n"};
    struct config *c;

    (void)state;
    write_file("application.properties", "xxl.job.accessToken=one\n");
    c = load(ARGS(URL), NO_ENV);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct errctx ec = {{0}};
        struct config *fresh = NULL;

        write_file("application.properties", bad[i]);
        assert_int_equal(config_reload(c, 2, ARGS(URL), NO_ENV, &fresh, &ec), ERR_INPUT);
        assert_null(fresh);
        assert_non_null(strstr(ec.text, "./application.properties:"));
        assert_string_equal(c->access_token, "one");
        assert_string_equal(c->datasource->hosts[0].host, "h");
    }
    config_destroy(c);
}

static void what_has_gone_from_the_file_is_a_change_too(void **state)
{
    struct config *c;
    struct config *fresh;

    (void)state;
    write_file("application.properties", "xxl.job.accessToken=one\nshardwheel.zookeeper.servers=a:1\n");
    c = load(ARGS(URL), NO_ENV);
    assert_int_equal(unlink("application.properties"), 0);
    fresh = reload(c, ARGS(URL), NO_ENV);
    assert_string_equal(fresh->access_token, "");
    assert_string_equal(fresh->zookeeper_servers, "a:1");
    assert_int_equal(fresh->coordination, CONFIG_COORDINATION_ZOOKEEPER);
    check_note(fresh, CONFIG_NOTE_RESTART, "default: shardwheel.zookeeper.servers: \"\" needs a restart");
    config_destroy(fresh);
    config_destroy(c);
}

static void a_private_database_reloads(void **state)
{
    char **args = ARGS("standalone", "--data", "d");
    struct config *c = load(args, NO_ENV);
    struct config *fresh = reload(c, args, NO_ENV);

    (void)state;
    assert_string_equal(fresh->data_dir, "d");
    assert_null(fresh->datasource);
    assert_int_equal(count_notes(fresh, CONFIG_NOTE_RESTART), 0);
    config_destroy(fresh);
    config_destroy(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fixture_test(reloadable_keys_take_effect_others_wait),
        fixture_test(a_bad_file_leaves_the_old_config_in_force),
        fixture_test(what_has_gone_from_the_file_is_a_change_too),
        fixture_test(a_private_database_reloads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
