/* SPDX-License-Identifier: MIT */
/* Bad input: what is said and where it points; bounds of every key; secrets that must not show; memory that runs
 * out. */
#include "config/fixture.h"
#include "config/key.h"
#include "cron/alloc_fail.h"

#include <inttypes.h>

static void check_file_error(const char *text, const char *expected)
{
    write_file("a.properties", text);
    check_error(ARGS("--config", "a.properties", URL), NO_ENV, expected);
}

static void unknown_keys_are_named_with_place_and_suggestion(void **state)
{
    (void)state;
    check_file_error("\nserver.prot=1\n", "a.properties:2: unknown key \"server.prot\": did you mean server.port?");
    check_file_error("sever.prt=1", "did you mean server.port?");
    check_file_error("spring.datasorce.url=x", "did you mean spring.datasource.url?");
    check_file_error("spring.datasource.hikari.maximum-pool-sizes=1",
                     "did you mean spring.datasource.hikari.maximum-pool-size?");
    check_file_error("zookeeper.servers=a", "did you mean shardwheel.zookeeper.servers?");
    check_file_error("shardwheel.max-hold=1s",
                     "a.properties:1: unknown key \"shardwheel.max-hold\": did you mean shardwheel.lock.max-hold?");
    check_file_error("xxl.job.accesstokens=1", "did you mean xxl.job.accessToken?");
    check_file_error("spring.datasource.urn=1", "did you mean spring.datasource.url?");
    check_file_error("spring.datasource.passwd=1", "did you mean spring.datasource.password?");
    check_file_error("completely.different=1", "a.properties:1: unknown key \"completely.different\"; --help-config");
    check_file_error("a\\nb=1", "unknown key \"a?b\"");
    check_error(ARGS(URL, "--server.prot=1"), NO_ENV,
                "command line: unknown key \"server.prot\": did you mean server.port?");
}

static void keys_that_cannot_be_ignored_are_refused(void **state)
{
    (void)state;
    check_file_error("server.ssl.bundle=x",
                     "a.properties:1: \"server.ssl.bundle\" is not supported here: write server");
    check_file_error("server.ssl.enabled=true\nserver.ssl.bundle=x", "write server.ssl.certificate and");
    check_error(ARGS(URL), ENV("SERVER_SSL_BUNDLE=x"), "environment SERVER_SSL_BUNDLE: ");
    check_file_error("spring.datasource.hikari.jdbc-url=x", "write spring.datasource.url");
    check_file_error("spring.datasource.jndi-name=x", "write spring.datasource.url");
}

/* Who asks for TLS must not get plain HTTP. */
static void half_of_tls_is_refused(void **state)
{
    (void)state;
    check_file_error("server.ssl.enabled=true",
                     "a.properties:1: server.ssl.enabled needs server.ssl.certificate or server.ssl.key-store");
    check_file_error("server.ssl.certificate-private-key=x",
                     "server.ssl.certificate-private-key needs server.ssl.cert");
    check_file_error("server.ssl.client-auth=need", "server.ssl.client-auth needs server.ssl.certificate or");
    check_file_error("server.ssl.certificate=x\nserver.ssl.key-store=y",
                     "a.properties:2: server.ssl.key-store conflicts with server.ssl.certificate");
    check_file_error("server.ssl.certificate=x\nserver.ssl.client-auth=want",
                     "a.properties:2: server.ssl.client-auth needs server.ssl.trust-certificate or");
    check_file_error("server.ssl.key-store=x\nserver.ssl.key-store-type=PEM",
                     "a.properties:2: server.ssl.key-store-type: got \"PEM\", expected PKCS12");
    check_file_error("server.ssl.certificate=x\nserver.ssl.client-auth=must", "expected none, want or need");
}

static void an_empty_one_is_as_if_not_set(void **state)
{
    struct config *c;

    (void)state;
    write_file("a.properties", "spring.datasource.jndi-name= \nserver.ssl.bundle=\n");
    c = load(ARGS("--config", "a.properties", URL), ENV("SPRING_DATASOURCE_HIKARI_JDBC_URL="));
    check_note(c, CONFIG_NOTE_IGNORED, "spring.datasource.jndi-name (a.properties:1): empty: as if not set");
    check_note(c, CONFIG_NOTE_IGNORED, "server.ssl.bundle (a.properties:2): empty: as if not set");
    check_note(c, CONFIG_NOTE_IGNORED, "empty: as if not set");
    config_destroy(c);
}

static void bad_values_are_named_with_place_and_expectation(void **state)
{
    (void)state;
    check_file_error("server.address=localhost",
                     "a.properties:1: server.address: got \"localhost\", expected an IP address");
    check_file_error("# x\n\nserver.port=http\n",
                     "a.properties:3: server.port: got \"http\", expected a whole number from 0 to 65535");
    check_file_error("server.port=", "server.port: got \"\", expected a whole number");
    check_file_error("SERVER.PORT=65536", "a.properties:1: server.port: got \"65536\"");
    check_file_error("server.servlet.context-path=x/", "expected nothing, or a path such as /xxl-job-admin");
    check_file_error("shardwheel.zookeeper.session-timeout=2x", "expected a duration from 1s to 1m, such as 500ms");
    check_file_error("shardwheel.zookeeper.servers=a:b",
                     "got \"a:b\", \"a:b\" is not host:port; expected host:port,host:port");
    check_file_error("shardwheel.zookeeper.base-path=/", "it must not be empty; expected a path");
    check_file_error("shardwheel.kept-logs-size=big", "expected a size from 4k to 1m, such as 512k or 64m");
    check_file_error("shardwheel.schema.auto=2", "shardwheel.schema.auto: got \"2\", expected on or off");
    check_file_error("shardwheel.log.level=loud", "expected error, warn, info or debug");
    check_file_error("shardwheel.coordination=x", "expected auto, zookeeper or standalone");
    check_file_error("shardwheel.http.bind=localhost", "expected an IP address");
    check_file_error("shardwheel.node.name=a b", "expected at most 100 letters, digits");
    check_file_error("spring.datasource.driver-class-name=org.postgresql.Driver",
                     "got \"org.postgresql.Driver\", expected a driver of MySQL or MariaDB");
    check_file_error("shardwheel.shards=${nil}", "a.properties:1: shardwheel.shards: placeholder ${nil} has neither");
    check_file_error("x=0\nshardwheel.shards=${x}", "a.properties:2: shardwheel.shards: got \"0\"");
    check_file_error("shardwheel.shards=\\u00", "a.properties:1: \\u must be followed");
    check_error(ARGS("--spring.datasource.url=jdbc:h2:mem"), NO_ENV,
                "command line: spring.datasource.url: it begins with \"jdbc:h2:mem\", not with jdbc:mysql://");
    check_error(ARGS(URL), ENV("SERVER_PORT=tcp://1.2.3.4:80"),
                "environment SERVER_PORT: server.port: got \"tcp://1.2.3.4:80\"");
}

static enum err load_one(const char *key, const char *value, struct errctx *ec)
{
    struct config *config = NULL;
    char arg[21000];
    char *args[] = {"shardwheel", arg, URL, "--shardwheel.coordination=standalone", "--server.ssl.enabled=false", NULL};
    enum err e;

    snprintf(arg, sizeof(arg), "--%s=%s", key, value);
    e = config_load(5, args, NO_ENV, &config, ec);
    config_destroy(config);
    return e;
}

static void check_number(const struct key_row *row, int64_t number, bool accepted)
{
    struct errctx ec = {{0}};
    char text[64];

    snprintf(text, sizeof(text), "%" PRId64 "%s", number, row->kind == KIND_DURATION ? "ms" : "");
    if ((load_one(row->name, text, &ec) == ERR_OK) != accepted)
        fail_msg("%s=%s: %s", row->name, text, accepted ? ec.text : "accepted");
    if (!accepted && (!strstr(ec.text, row->name) || !strstr(ec.text, text) || !strstr(ec.text, "expected")))
        fail_msg("%s=%s: %s", row->name, text, ec.text);
}

static void check_length(const struct key_row *row, size_t len, bool accepted)
{
    struct errctx ec = {{0}};
    char text[20002];

    memset(text, 'x', len);
    text[len] = 0;
    if (row->kind == KIND_PATH && len)
        text[0] = '/';
    if (row->kind == KIND_DRIVER)
        memcpy(text, "com.mysql.", 10);
    if (row->kind == KIND_SERVERS)
        memcpy(text + len - 2, ":1", 2);
    if ((load_one(row->name, text, &ec) == ERR_OK) != accepted)
        fail_msg("%s of %zu characters: %s", row->name, len, accepted ? ec.text : "accepted");
    if (!accepted && !strstr(ec.text, row->name))
        fail_msg("%s of %zu characters: %s", row->name, len, ec.text);
}

static void every_key_keeps_its_bounds(void **state)
{
    (void)state;
    for (size_t i = 0; i < KEY_COUNT; i++) {
        const struct key_row *row = &key_rows[i];

        switch (row->kind) {
        case KIND_INT:
        case KIND_DURATION:
        case KIND_SIZE:
            check_number(row, row->min, true);
            check_number(row, row->max, true);
            check_number(row, row->min - 1, row->flags & KEY_LENIENT);
            check_number(row, row->max + 1, row->flags & KEY_LENIENT);
            break;
        case KIND_TEXT:
        case KIND_PATH:
        case KIND_NAME:
        case KIND_DRIVER:
        case KIND_SERVERS:
            check_length(row, (size_t)row->max, true);
            check_length(row, (size_t)row->max + 1, false);
            break;
        case KIND_JDBC: /* below */
        case KIND_SWITCH:
        case KIND_AUTO_OFF:
        case KIND_SHORT_LONG:
        case KIND_PASSWORDS:
        case KIND_ROLES:
        case KIND_LEVEL:
        case KIND_FORMAT:
        case KIND_LEVELS:
        case KIND_COORDINATION:
        case KIND_DIALECT:
        case KIND_ENABLED:
        case KIND_CLIENT_AUTH:
        case KIND_GLUE:
        case KIND_KEPT:
        case KIND_NETWORKS:
        case KIND_ADDRESS: break;
        }
    }
}

static void a_url_has_its_bound(void **state)
{
    char arg[5000] = URL "?x=";
    struct errctx ec = {{0}};
    struct config *config = NULL;
    size_t len = strlen("--spring.datasource.url=") + 4000;

    (void)state;
    memset(arg + strlen(arg), 'x', len - strlen(arg));
    config_destroy(load(ARGS(arg), NO_ENV));
    arg[len] = 'x';
    assert_int_equal(config_load(2, ARGS(arg), NO_ENV, &config, &ec), ERR_INPUT);
    assert_non_null(strstr(ec.text, "spring.datasource.url: it is too long"));
}

static void keys_that_only_placeholders_name_are_known(void **state)
{
    struct config *c;

    (void)state;
    write_file("a.properties", "my.port=77\nserver.port=${my.port}\n");
    c = load(ARGS("--config=a.properties", URL), NO_ENV);
    assert_int_equal(c->server_port, 77);
    assert_int_equal(count_notes(c, CONFIG_NOTE_IGNORED), 0);
    config_destroy(c);
    check_file_error("my.port=77\nserver.port=1\n", "a.properties:1: unknown key \"my.port\"");
}

static void check_no_secret(void *arg, const char *key, const char *value, const char *source)
{
    (void)arg;
    (void)key;
    assert_null(strstr(value, "s3cret"));
    assert_null(strstr(source, "s3cret"));
}

static void secrets_do_not_show(void **state)
{
    struct errctx ec = {{0}};
    char text[1100];
    size_t count;
    const struct config_note *notes;
    struct config *c = load(ARGS("--xxl.job.accessToken=s3cret", "--spring.datasource.password=s3cret",
                                 "--spring.datasource.url=jdbc:mysql://u:s3cret@h/d?password=s3cret&x=1"),
                            NO_ENV);

    (void)state;
    assert_string_equal(c->access_token, "s3cret");
    config_list(c, check_no_secret, NULL);
    notes = config_get_notes(c, &count);
    for (size_t i = 0; i < count; i++)
        assert_null(strstr(notes[i].text, "s3cret"));
    config_destroy(c);

    memset(text, 'x', sizeof(text));
    memcpy(text, "s3cret", 6);
    text[sizeof(text) - 1] = 0;
    assert_int_equal(load_one("spring.datasource.password", text, &ec), ERR_INPUT);
    assert_null(strstr(ec.text, "s3cret"));
    assert_int_equal(load_one("xxl.job.accessToken", text, &ec), ERR_INPUT);
    assert_null(strstr(ec.text, "s3cret"));
}

static void every_key_is_described(void **state)
{
    struct config_about about;

    (void)state;
    assert_true(config_describe("xxl.job.accessToken", &about));
    assert_string_equal(about.section, "Executors and logs (xxl-job keys)");
    assert_non_null(strstr(about.help, "Shared secret"));
    assert_string_equal(about.default_text, "");
    assert_true(about.reloadable);
    assert_true(config_describe("server.port", &about));
    assert_string_equal(about.default_text, "8080");
    assert_false(about.reloadable);
    assert_false(config_describe("no.such.key", &about));
}

static void count_key(void *arg, const char *key, const char *value, const char *source)
{
    struct buf *out = arg;

    buf_printf(out, "%s=%s (%s)\n", key, value, source);
}

static void the_list_holds_every_key_with_its_source(void **state)
{
    struct buf out = {0};
    size_t lines = 0;
    struct config *c = load(ARGS(URL, "--shardwheel.lock.max-hold=5400s", "--xxl.job.accessToken=t"),
                            ENV("SHARDWHEEL_SCHEMA_AUTO=false"));

    (void)state;
    config_list(c, count_key, &out);
    for (const char *p = out.data; *p; p++)
        lines += *p == '\n';
    assert_int_equal(lines, KEY_COUNT);
    assert_non_null(strstr(out.data, "server.port=8080 (default)\n"));
    assert_non_null(strstr(out.data, "shardwheel.lock.max-hold=90m (command line)\n"));
    assert_non_null(strstr(out.data, "shardwheel.schema.auto=off (environment SHARDWHEEL_SCHEMA_AUTO)\n"));
    assert_non_null(strstr(out.data, "xxl.job.accessToken=(hidden) (command line)\n"));
    assert_non_null(strstr(out.data, "spring.datasource.password= (default)\n"));
    assert_non_null(strstr(out.data, "shardwheel.coordination=standalone (default)\n"));
    buf_fini(&out);
    config_destroy(c);
}

/* Lets the first, second, ... allocation fail until none does; each time there must be an error and nothing left.
 */
static void memory_that_runs_out_leaves_nothing_behind(void **state)
{
    char *env[] = {"SERVER_PORT=${p:1}", "SHARDWHEEL_TIME_ZONE=UTC", "PATH=/bin", NULL};
    char *args[] = {"shardwheel", "--shardwheel.zookeeper.servers=a,b/x", "--spring.profiles.active=a,none",
                    "--xxl.job.timeout=99", NULL};
    struct config *first = NULL;
    struct errctx ec = {{0}};
    bool failed = true;
    long n = 0;

    (void)state;
    if (!alloc_fail_works)
        skip();
    write_file(
        "application.properties",
        "spring.datasource.url=jdbc:mysql://u:p@a,b/d?serverTimezone=UTC&x=1&y=2\nspring.mvc.a=1\nmybatis.b=${h}\n"
        "shardwheel.node.name=${h:${g:n}}\n");
    write_file("application-a.properties", "xxl.job.access-token=t\n");
    write_file("config/application.properties", "shardwheel.http.bind=[::1]\n");
    first = load(args, env);
    write_file("application.properties",
               "spring.datasource.url=jdbc:mysql://u:q@a,b/d?serverTimezone=UTC&x=1&y=2\nspring.mvc.a=1\n"
               "shardwheel.node.name=${h:${g:n}}2\n");
    while (failed) {
        struct config *c = NULL;
        long live = alloc_live;
        enum err e;

        alloc_fail_start(++n);
        e = config_load(4, args, env, &c, &ec);
        if (!e) {
            struct config *fresh = NULL;

            e = config_reload(first, 4, args, env, &fresh, &ec);
            config_destroy(fresh);
        }
        failed = alloc_fail_stop();
        config_destroy(c);
        if (failed ? e != ERR_NOMEM : e != ERR_OK)
            fail_msg("allocation %ld %s: %d %s", n, failed ? "failed" : "was had", (int)e, ec.text);
        if (alloc_live != live)
            fail_msg("allocation %ld failed: %ld blocks left", n, alloc_live - live);
    }
    assert_true(n > 300);
    config_destroy(first);
}

/* The texts of errors and help are made in memory too. */
static void memory_that_runs_out_in_an_error_or_help(void **state)
{
    bool failed = true;

    (void)state;
    if (!alloc_fail_works)
        skip();
    for (long n = 1; failed; n++) {
        struct config *c = NULL;
        struct errctx ec = {{0}};
        long live = alloc_live;
        enum err e;

        alloc_fail_start(n);
        e = config_load(2, ARGS("--server.port=x"), NO_ENV, &c, &ec);
        failed = alloc_fail_stop();
        assert_int_equal(e, failed ? ERR_NOMEM : ERR_INPUT);
        assert_int_equal(alloc_live, live);
    }
    failed = true;
    for (long n = 1; failed; n++) {
        struct buf out = {0};
        long live = alloc_live;

        alloc_fail_start(n);
        config_write_help(CONFIG_FORMAT_MARKDOWN, &out);
        config_write_help(CONFIG_FORMAT_PROPERTIES, &out);
        failed = alloc_fail_stop();
        assert_true(buf_failed(&out) == failed);
        buf_fini(&out);
        assert_int_equal(alloc_live, live);
    }
}

static void no_password_of_the_command_line_is_told(void **state)
{
    (void)state;
    check_error(ARGS("spring.datasource.password=s3cret"), NO_ENV,
                "command line: \"spring.datasource.password=...\": expected --KEY=VALUE");
    check_error(ARGS("-spring.datasource.password=s3cret"), NO_ENV,
                "command line: \"-spring.datasource.password=...\": expected --KEY=VALUE");
    check_error(ARGS("standalone", "spring.datasource.password=s3cret"), NO_ENV, "\"spring.datasource.password=...\"");
    check_error(ARGS("--spring.datasource.password", "s3cret"), NO_ENV, "\"--spring.datasource.password\"");
    check_error(ARGS("--=s3cret"), NO_ENV, "command line: \"--=...\"");
    check_error(ARGS("ctl", "flows"), NO_ENV,
                "later, cancel-later, going-back, why, after-restore, set-password, reset-second-factor, doctor or "
                "flow;");
    check_error(ARGS("ctl", "flow"), NO_ENV, "expected list, show, apply, diff,");
    check_error(ARGS("ctl", "flow", "start-all"), NO_ENV, "cancel, rerun or step;");
    check_error(ARGS("ctl", "flow", "show"), NO_ENV,
                "the name of the flow is missing; usage: shardwheelctl flow show NAME");
    check_error(ARGS("ctl", "flow", "runs", "a", "b"), NO_ENV, "one argument too many");
    check_error(ARGS("ctl", "flow", "step", "1", "a"), NO_ENV, "the name of the step and the action");
    check_error(ARGS("ctl", "flow", "apply"), NO_ENV, "-f and the file");
    check_error(ARGS("ctl", "flow", "apply", "-f"), NO_ENV, "its value is missing");
    check_error(ARGS("ctl", "apply"), NO_ENV, "-f and the file");
    check_error(ARGS("ctl", "start"), NO_ENV, "the job is missing: its id, its name, or AppName/name");
    check_error(ARGS("ctl", "runs", "1", "2"), NO_ENV, "one argument too many");
    check_error(ARGS("ctl", "jobs", "--follow"), NO_ENV, "it is only for log and runs");
    check_error(ARGS("ctl", "start", "1", "--group", "a"), NO_ENV,
                "it is only for alarm-test, jobs, runs, export and set-alarm-rule");
    check_error(ARGS("ctl", "flow", "run", "a", "-f", "x"), NO_ENV, "expected --KEY=VALUE");
    check_error(ARGS("ctl", "flow", "cancel", "x"), NO_ENV, "expected the id of a flow run");
    check_error(ARGS("ctl", "flow", "list", "--apply"), NO_ENV, "it is only for flow from-children");
    check_error(ARGS("ctl", "shards", "list"), NO_ENV, "this command takes no argument");
    check_error(ARGS("ctl", "drain", "spring.datasource.password=s3cret"), NO_ENV,
                "\"spring.datasource.password=...\": expected --KEY=VALUE");
    check_error(ARGS("ctl", "drain", "a", "-spring.datasource.password=s3cret"), NO_ENV, "password=...\"");
    check_error(ARGS("jdbc:mysql://root:s3cret@h/d"), NO_ENV, "command line: \"jdbc:...\"");
    check_error(ARGS("root:s3cret@h/d"), NO_ENV, "command line: \"root:...\"");
    check_error(ARGS("--spring.datasource.url=root:s3cret@h/d"), NO_ENV, "it does not begin with jdbc:mysql://");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fixture_test(unknown_keys_are_named_with_place_and_suggestion),
        fixture_test(keys_that_cannot_be_ignored_are_refused),
        fixture_test(half_of_tls_is_refused),
        fixture_test(an_empty_one_is_as_if_not_set),
        fixture_test(bad_values_are_named_with_place_and_expectation),
        fixture_test(every_key_keeps_its_bounds),
        fixture_test(a_url_has_its_bound),
        fixture_test(keys_that_only_placeholders_name_are_known),
        fixture_test(secrets_do_not_show),
        fixture_test(no_password_of_the_command_line_is_told),
        fixture_test(every_key_is_described),
        fixture_test(the_list_holds_every_key_with_its_source),
        fixture_test(memory_that_runs_out_leaves_nothing_behind),
        fixture_test(memory_that_runs_out_in_an_error_or_help),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
