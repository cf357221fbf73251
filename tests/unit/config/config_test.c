/* SPDX-License-Identifier: MIT */
/* Loading: commands, files, environment, arguments and what goes before what; the original's files; the whole's
 * rules. */
#include "config/fixture.h"

/* The shapes of the original's file, generation by generation, with values of our own. */
static const char file_of_2_3[] =
    "### web\n"
    "server.port=8180\n"
    "server.servlet.context-path=/xxl-job-admin\n"
    "\n"
    "### health\n"
    "management.server.servlet.context-path=/actuator\n"
    "management.health.mail.enabled=false\n"
    "spring.mvc.servlet.load-on-startup=0\n"
    "spring.mvc.static-path-pattern=/static/**\n"
    "spring.resources.static-locations=classpath:/static/\n"
    "spring.freemarker.templateLoaderPath=classpath:/templates/\n"
    "spring.freemarker.suffix=.ftl\n"
    "spring.freemarker.settings.number_format=0.##########\n"
    "mybatis.mapper-locations=classpath:/mybatis-mapper/*Mapper.xml\n"
    "#mybatis.type-aliases-package=com.xxl.job.admin.core.model\n"
    "\n"
    "spring.datasource.url=jdbc:mysql://10.1.2.3:3307/"
    "xxl_job?useUnicode=true&characterEncoding=UTF-8&autoReconnect=true"
    "&serverTimezone=Asia/Shanghai\n"
    "spring.datasource.username=root\n"
    "spring.datasource.password=root_pwd\n"
    "spring.datasource.driver-class-name=com.mysql.cj.jdbc.Driver\n"
    "spring.datasource.type=com.zaxxer.hikari.HikariDataSource\n"
    "spring.datasource.hikari.minimum-idle=10\n"
    "spring.datasource.hikari.maximum-pool-size=20\n"
    "spring.datasource.hikari.auto-commit=true\n"
    "spring.datasource.hikari.idle-timeout=30000\n"
    "spring.datasource.hikari.pool-name=HikariCP\n"
    "spring.datasource.hikari.max-lifetime=900000\n"
    "spring.datasource.hikari.connection-timeout=12000\n"
    "spring.datasource.hikari.connection-test-query=SELECT 1\n"
    "spring.datasource.hikari.validation-timeout=1000\n"
    "\n"
    "spring.mail.host=smtp.example.com\n"
    "spring.mail.port=25\n"
    "spring.mail.username=xxx@example.com\n"
    "spring.mail.from=xxx@example.com\n"
    "spring.mail.password=xxx\n"
    "spring.mail.properties.mail.smtp.auth=true\n"
    "spring.mail.properties.mail.smtp.starttls.enable=true\n"
    "spring.mail.properties.mail.smtp.starttls.required=true\n"
    "spring.mail.properties.mail.smtp.socketFactory.class=javax.net.ssl.SSLSocketFactory\n"
    "\n"
    "xxl.job.accessToken=default_token\n"
    "xxl.job.i18n=zh_CN\n"
    "xxl.job.triggerpool.fast.max=200\n"
    "xxl.job.triggerpool.slow.max=100\n"
    "xxl.job.logretentiondays=15\n";

static const char file_of_3_4[] =
    "server.port=8080\r\n"
    "server.servlet.context-path=/\r\n"
    "management.server.base-path=/actuator\r\n"
    "management.health.mail.enabled=false\r\n"
    "management.endpoints.web.base-path=/actuator\r\n"
    "spring.web.error.whitelabel.enabled=false\r\n"
    "spring.jackson.date-format=yyyy-MM-dd HH:mm:ss\r\n"
    "mybatis.mapper-locations=classpath:/mapper/**/*Mapper.xml\r\n"
    "spring.datasource.url = ${DB_URL:jdbc:mysql://${DB_HOST:127.0.0.1}:3306/xxl_job?useUnicode=true\\\r\n"
    "   &characterEncoding=UTF-8&autoReconnect=true&serverTimezone=${DB_ZONE:Asia/Shanghai}}\r\n"
    "spring.datasource.username: root\r\n"
    "spring.datasource.password: ${db.password}\r\n"
    "db.password=\\u0070\\u00e4ss\r\n"
    "xxl.job.access-token=t0ken\r\n"
    "xxl.job.timeout=5\r\n"
    "xxl.job.i18n=en\r\n"
    "xxl.job.triggerpool.fast.max=300\r\n"
    "xxl.job.triggerpool.slow.max=200\r\n"
    "xxl.job.schedule.batchsize=100\r\n"
    "xxl.job.logretentiondays=30\r\n"
    "xxl-sso.token.key=xxl_job_login_token\r\n"
    "xxl-sso.token.timeout=604800000\r\n"
    "xxl-sso.client.excluded.paths=\r\n"
    "xxl-sso.client.login.path=/auth/login\r\n"
    "logging.config=classpath:logback.xml\r\n";

static void the_originals_file_of_2_3_works_as_it_is(void **state)
{
    struct config *c;

    (void)state;
    write_file("application.properties", file_of_2_3);
    c = load(NO_ARGS, NO_ENV);
    assert_int_equal(c->command, CONFIG_RUN);
    assert_null(c->data_dir);
    assert_int_equal(c->server_port, 8180);
    assert_string_equal(c->server_context_path, "/xxl-job-admin");
    assert_string_equal(c->datasource->hosts[0].host, "10.1.2.3");
    assert_int_equal(c->datasource->hosts[0].port, 3307);
    assert_string_equal(c->datasource->time_zone, "Asia/Shanghai");
    assert_string_equal(c->datasource_username, "root");
    assert_string_equal(c->datasource_password, "root_pwd");
    assert_int_equal(c->datasource_max_sessions, 20);
    assert_int_equal(c->datasource_connection_timeout_ms, 12000);
    assert_string_equal(c->access_token, "default_token");
    assert_int_equal(c->log_retention_days, 15);
    assert_int_equal(c->coordination, CONFIG_COORDINATION_STANDALONE);
    assert_string_equal(config_get_source(c, "server.port"), "./application.properties:2");
    assert_string_equal(config_get_source(c, "xxl.job.timeout"), "default");
    /* 9 of web, 8 of the pool, 2 of xxl.job; those of mail are ours, too. */
    assert_int_equal(count_notes(c, CONFIG_NOTE_IGNORED), 19);
    assert_string_equal(c->mail_host, "smtp.example.com");
    assert_int_equal(c->mail_port, 25);
    assert_string_equal(c->mail_from, "xxx@example.com");
    assert_true(c->mail_auth && c->mail_starttls && c->mail_starttls_required);
    assert_false(c->mail_ssl);
    assert_string_equal(c->mail_socket_factory, "javax.net.ssl.SSLSocketFactory");
    assert_int_equal(count_notes(c, CONFIG_NOTE_WARNING), 0);
    assert_string_equal(c->i18n, "zh_CN");
    check_note(c, CONFIG_NOTE_IGNORED, "spring.datasource.hikari.pool-name (./application.properties:26): ");
    config_destroy(c);
}

static void the_originals_file_of_3_4_works_as_it_is(void **state)
{
    struct config *c;

    (void)state;
    write_file("application.properties", file_of_3_4);
    c = load(NO_ARGS, ENV("DB_HOST=db.example.com"));
    assert_string_equal(c->server_context_path, "");
    assert_string_equal(c->datasource->hosts[0].host, "db.example.com");
    assert_string_equal(c->datasource->time_zone, "Asia/Shanghai");
    assert_string_equal(c->datasource_password, "p\xc3\xa4ss");
    assert_string_equal(c->access_token, "t0ken");
    assert_int_equal(c->executor_timeout_ms, 5000);
    assert_int_equal(count_notes(c, CONFIG_NOTE_IGNORED), 13);
    assert_int_equal(count_notes(c, CONFIG_NOTE_WARNING), 0);
    config_destroy(c);
}

static void defaults_hold_where_nothing_is_given(void **state)
{
    struct config *c = load(ARGS(URL), NO_ENV);

    (void)state;
    assert_int_equal(c->server_port, 8080);
    assert_string_equal(c->server_context_path, "");
    assert_string_equal(c->http_bind, "");
    assert_int_equal(c->http_threads, 64);
    assert_string_equal(c->datasource_username, "");
    assert_string_equal(c->datasource_password, "");
    assert_int_equal(c->datasource_max_sessions, 30);
    assert_int_equal(c->datasource_connection_timeout_ms, 10000);
    assert_true(c->schema_auto);
    assert_string_equal(c->access_token, "");
    assert_int_equal(c->executor_timeout_ms, 3000);
    assert_int_equal(c->log_retention_days, 30);
    assert_int_equal(c->coordination, CONFIG_COORDINATION_STANDALONE);
    assert_string_equal(c->zookeeper_servers, "");
    assert_int_equal(c->zookeeper_session_timeout_ms, 4000);
    assert_string_equal(c->zookeeper_base_path, "/xxl-job");
    assert_int_equal(c->shards, 8);
    assert_int_equal(c->lock_max_hold_ms, 600000);
    assert_string_equal(c->node_name, "");
    assert_string_equal(c->time_zone, "");
    assert_int_equal(c->log_level, LOG_INFO);
    assert_null(config_get_source(c, "no.such.key"));
    config_destroy(c);
    config_destroy(NULL);
}

static int64_t port_of(char **args, char **env)
{
    struct config *c = load(args, env);
    int64_t port = c->server_port;

    config_destroy(c);
    return port;
}

static void later_sources_win(void **state)
{
    (void)state;
    write_file("application.properties", "server.port=1\nserver.port=2\n");
    assert_int_equal(port_of(ARGS(URL), NO_ENV), 2);
    write_file("config/application.properties", "SERVER.Port=3\n");
    assert_int_equal(port_of(ARGS(URL), NO_ENV), 3);
    assert_int_equal(port_of(ARGS(URL), ENV("SERVER_PORT=4")), 4);
    assert_int_equal(port_of(ARGS("--server.port=5", URL), ENV("SERVER_PORT=4")), 5);
    assert_int_equal(port_of(ARGS("--server.port=5", URL, "--server.port=6"), NO_ENV), 6);
}

static void places_of_files(void **state)
{
    char *with_scheme[] = {"shardwheel", URL, NULL, NULL};
    char text[128];

    (void)state;
    write_file("application.properties", "server.port=1\n");
    write_file("a.properties", "server.port=2\n");
    write_file("b.properties", "server.port=3\n");
    write_file("etc/application.properties", "server.port=4\n");
    assert_int_equal(port_of(ARGS(URL, "--config", "a.properties"), NO_ENV), 2);
    assert_int_equal(port_of(ARGS(URL, "--config=a.properties", "--config", "b.properties"), NO_ENV), 3);
    assert_int_equal(port_of(ARGS(URL, "--config", "etc"), NO_ENV), 4);
    assert_int_equal(port_of(ARGS(URL, "--spring.config.location=a.properties"), NO_ENV), 2);
    assert_int_equal(port_of(ARGS(URL, "--spring.config.location=b.properties, file:./a.properties"), NO_ENV), 2);
    assert_int_equal(port_of(ARGS(URL, "--spring.config.location=b.properties;etc/"), NO_ENV), 4);
    assert_int_equal(port_of(ARGS(URL, "--spring.config.additional-location=optional:file:etc/"), NO_ENV), 4);
    assert_int_equal(port_of(ARGS(URL), ENV("SPRING_CONFIG_LOCATION=b.properties")), 3);
    assert_int_equal(port_of(ARGS(URL), ENV("SPRING_CONFIG_ADDITIONAL_LOCATION=b.properties")), 3);
    assert_int_equal(port_of(ARGS(URL), ENV("SPRING_CONFIG_ADDITIONALLOCATION=${X}.properties", "X=b")), 3);
    snprintf(text, sizeof(text), "--spring.config.location=file://%s/b.properties", fixture_folder);
    with_scheme[2] = text;
    assert_int_equal(port_of(with_scheme, NO_ENV), 3);
    assert_int_equal(port_of(ARGS(URL, "--spring.config.location=optional:file:nosuch"), NO_ENV), 8080);
    check_error(ARGS(URL, "--config", "nosuch"), NO_ENV, "nosuch: No such file or directory");
    check_error(ARGS(URL, "--spring.config.location=file:nosuch/"), NO_ENV,
                "command line: spring.config.location: nosuch/: No such file");
    check_error(ARGS(URL, "--config", "application.yml"), NO_ENV, "application.yml: YAML is not read");
    check_error(ARGS(URL), ENV("SPRING_CONFIG_LOCATION=x.YAML"), "environment SPRING_CONFIG_LOCATION: ");
    check_error(ARGS(URL, "--config=/dev/zero"), NO_ENV, "/dev/zero: more than 1048576 bytes");
}

static void what_is_not_read_is_said(void **state)
{
    struct config *c;

    (void)state;
    write_file("application.yml", "a: b\n");
    c = load(ARGS(URL, "--spring.config.additional-location=classpath:/x/"), NO_ENV);
    check_note(c, CONFIG_NOTE_WARNING, "./application.yml is not read");
    check_note(c, CONFIG_NOTE_WARNING, "classpath:/x/: not read: there is no class path");
    config_destroy(c);
}

static void profiles(void **state)
{
    struct config *c;

    (void)state;
    write_file("application.properties", "spring.profiles.active=a\nserver.port=1\n");
    write_file("config/application.properties", "server.port=2\n");
    write_file("application-a.properties", "server.port=3\n");
    write_file("application-b.properties", "server.port=4\n");
    c = load(ARGS(URL), NO_ENV);
    assert_int_equal(c->server_port, 3);
    assert_int_equal(count_notes(c, CONFIG_NOTE_WARNING), 0);
    config_destroy(c);
    assert_int_equal(port_of(ARGS(URL, "--spring.profiles.active=b"), NO_ENV), 4);
    assert_int_equal(port_of(ARGS(URL), ENV("SPRING_PROFILES_ACTIVE=b, a")), 3);
    assert_int_equal(port_of(ARGS(URL), ENV("SPRING_PROFILES_ACTIVE=")), 2);
    c = load(ARGS(URL, "--spring.profiles.active=none"), NO_ENV);
    check_note(c, CONFIG_NOTE_WARNING, "profile none: there is no application-none.properties");
    assert_int_equal(count_notes(c, CONFIG_NOTE_IGNORED), 0);
    config_destroy(c);
    check_error(ARGS(URL, "--spring.profiles.active=../x"), NO_ENV, "\"../x\" is not the name of a profile");
}

static void the_environment_sets_keys_in_relaxed_form(void **state)
{
    struct config *c = load(NO_ARGS, ENV("SPRING_DATASOURCE_URL=jdbc:mysql://h/d", "XXL_JOB_ACCESSTOKEN=t",
                                         "SERVER_SERVLET_CONTEXT_PATH=/x", "SHARDWHEEL_ZOOKEEPER_SERVERS=z:1",
                                         "SHARDWHEEL_LOCK_MAXHOLD=1s", "SPRING_DATASOURCE_HIKARI_MAXIMUM_POOL_SIZE=7",
                                         "shardwheel.shards=3", "PATH=/bin", "SHARDWHEEL_NODE_NAME=n", "=odd", "odd"));

    (void)state;
    assert_string_equal(c->datasource_url, "jdbc:mysql://h/d");
    assert_string_equal(c->access_token, "t");
    assert_string_equal(c->server_context_path, "/x");
    assert_string_equal(c->zookeeper_servers, "z:1");
    assert_int_equal(c->lock_max_hold_ms, 1000);
    assert_int_equal(c->datasource_max_sessions, 7);
    assert_int_equal(c->shards, 3);
    assert_string_equal(c->node_name, "n");
    assert_string_equal(config_get_source(c, "shardwheel.lock.max-hold"), "environment SHARDWHEEL_LOCK_MAXHOLD");
    config_destroy(c);
    c = load(ARGS(URL), ENV("SHARDWHEEL_LOCK_MAX_HOLD=2s"));
    assert_int_equal(c->lock_max_hold_ms, 2000);
    config_destroy(c);
}

static void variables_that_nobody_can_mean(void **state)
{
    (void)state;
    check_error(ARGS(URL), ENV("SHARDWHEEL_SHARD=8"),
                "environment: unknown key \"SHARDWHEEL_SHARD\": did you mean shardwheel.shards?");
    check_error(ARGS(URL), ENV("SHARDWHEEL_=8"), "environment: unknown key \"SHARDWHEEL_\"");
    check_error(ARGS(URL), ENV("SHARDWHEEL_PORT=8080"), "environment: unknown key \"SHARDWHEEL_PORT\"");
    /* What Kubernetes makes of a Service named shardwheel or shardwheel-admin. */
    config_destroy(
        load(ARGS(URL), ENV("SHARDWHEEL_SERVICE_HOST=10.0.0.1", "SHARDWHEEL_SERVICE_PORT=8080",
                            "SHARDWHEEL_SERVICE_PORT_HTTP=8080", "SHARDWHEEL_PORT=tcp://10.0.0.1:8080",
                            "SHARDWHEEL_PORT_8080_TCP=tcp://10.0.0.1:8080", "SHARDWHEEL_PORT_8080_TCP_PORT=8080",
                            "SHARDWHEEL_PORT_8080_TCP_PROTO=tcp", "SHARDWHEEL_PORT_8080_TCP_ADDR=10.0.0.1",
                            "SHARDWHEEL_ADMIN_SERVICE_HOST=10.0.0.1", "MY_SHARDWHEEL_X=1")));
}

/* The original's and Spring's names never stop a start, known or not. */
static void keys_of_others_are_named_once_and_stop_nothing(void **state)
{
    static const char *const ignored[] = {
        "server.ssl.protocol=TLS",
        "server.tomcat.max-threads=200",
        "server.nobody.knows=1",
        "spring.application.name=xxl-job-admin",
        "spring.main.banner-mode=off",
        "spring.datasource.foo.bar=1",
        "spring.datasource.hikari.keepalive-time=1",
        "spring.datasource.hikari.data-source-properties.cachePrepStmts=true",
        "spring.datasource.platform=mysql",
        "spring.mail.default-encoding=UTF-8",
        "spring.mail.properties.mail.smtp.timeout=5000",
        "spring.mail.properties.mail.smtps.auth=true",
        "spring.mvc.view.prefix=/",
        "spring.jackson.time-zone=GMT+8",
        "spring.resources.add-mappings=true",
        "management.endpoints.web.exposure.include=*",
        "management.server.port=9090",
        "logging.config=classpath:logback.xml",
        "logging.level.com.xxl=debug",
        "mybatis.configuration.map-underscore-to-camel-case=true",
        "info.app.name=x",
        "info.version=1",
        "xxl-sso.server.address=x",
        "xxl.job.executor.appname=x",
        "xxl.job.admin.addresses=http://127.0.0.1:8080",
        "xxl.job.nobody.knows[0]=1",
        "debug=true",
    };
    static const char *const warned[] = {
        "spring.profiles.include=x",
        "spring.profiles.group.a=b",
        "spring.config.import=optional:file:x",
        "spring.config.name=other",
        "spring.config.location=x",
        "spring.application.json={\"server.port\":1}",
        "shardwheel.http.max-body=1g",
        "shardwheel.dispatch.threads=4",
        "shardwheel.dispatch.queue-max=200000",
        "shardwheel.dispatch.per-address=x",
        "shardwheel.results.queue-max=",
        "shardwheel.oidc.clock-skew=2m",
        "shardwheel.kept-logs-per-second=20",
    };
    struct buf text = {0};
    struct config *c;

    (void)state;
    for (int round = 0; round < 2; round++) { /* each stands twice */
        for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
            buf_printf(&text, "%s\n", ignored[i]);
        for (size_t i = 0; i < ARRAY_LEN(warned); i++)
            buf_printf(&text, "%s\n", warned[i]);
    }
    write_file("a.properties", text.data);
    buf_fini(&text);
    c = load(ARGS("--config", "a.properties", URL), NO_ENV);
    assert_int_equal(count_notes(c, CONFIG_NOTE_IGNORED), ARRAY_LEN(ignored));
    assert_int_equal(count_notes(c, CONFIG_NOTE_WARNING), ARRAY_LEN(warned));
    for (size_t i = 0; i < ARRAY_LEN(ignored) + ARRAY_LEN(warned); i++) {
        bool is_ignored = i < ARRAY_LEN(ignored);
        const char *line = is_ignored ? ignored[i] : warned[i - ARRAY_LEN(ignored)];
        char note[200];

        snprintf(note, sizeof(note), "%.*s (a.properties:%zu): ", (int)strcspn(line, "="), line,
                 ARRAY_LEN(ignored) + ARRAY_LEN(warned) + i + 1);
        check_note(c, is_ignored ? CONFIG_NOTE_IGNORED : CONFIG_NOTE_WARNING, note);
    }
    assert_int_equal(c->server_port, 8080);
    config_destroy(c);

    /* Of the environment only what asks for something; the rest of it is not ours to judge. */
    c = load(ARGS(URL), ENV("SPRING_CONFIG_IMPORT=x", "SPRING_CONFIG_NAME=y", "SPRING_APPLICATION_JSON={}",
                            "SERVER_SSL_ENABLED=false", "SERVER_SSL_KEY_STORE=x", "INFO_X=1", "SERVER_NAME=x",
                            "SHARDWHEEL_DISPATCH_THREADS=4"));
    assert_int_equal(count_notes(c, CONFIG_NOTE_WARNING), 4);
    check_note(c, CONFIG_NOTE_WARNING, "shardwheel.dispatch.threads (environment SHARDWHEEL_DISPATCH_THREADS): ");
    check_note(c, CONFIG_NOTE_WARNING,
               "spring.config.import (environment SPRING_CONFIG_IMPORT): \"x\" is not imported");
    check_note(c, CONFIG_NOTE_WARNING, "spring.config.name (environment SPRING_CONFIG_NAME): not followed");
    check_note(c, CONFIG_NOTE_WARNING, "spring.application.json (environment SPRING_APPLICATION_JSON): not read");
    assert_int_equal(count_notes(c, CONFIG_NOTE_IGNORED), 0);
    config_destroy(c);
}

static void check_bind(char **args, char **env, const char *expected, const char *source)
{
    struct config *c = load(args, env);

    assert_string_equal(c->http_bind, expected);
    assert_string_equal(config_get_source(c, "shardwheel.http.bind"), source);
    assert_int_equal(count_notes(c, CONFIG_NOTE_IGNORED) + count_notes(c, CONFIG_NOTE_WARNING), 0);
    config_destroy(c);
}

static void server_address_is_another_name(void **state)
{
    (void)state;
    write_file("a.properties", "server.address=127.0.0.1\n");
    write_file("b.properties", "shardwheel.http.bind=127.0.0.2\nserver.address=127.0.0.3\n");
    check_bind(ARGS("--config", "a.properties", URL), NO_ENV, "127.0.0.1", "a.properties:1");
    check_bind(ARGS("--config", "b.properties", URL), NO_ENV, "127.0.0.3", "b.properties:2");
    check_bind(ARGS("--config", "a.properties", URL), ENV("SERVER_ADDRESS=::1"), "::1", "environment SERVER_ADDRESS");
    check_bind(ARGS("--config", "a.properties", URL, "--shardwheel.http.bind=127.0.0.9"), ENV("SERVER_ADDRESS=::1"),
               "127.0.0.9", "command line");
    check_bind(ARGS("--config", "b.properties", URL, "--server.address=${NAME:127.0.0.5}"), NO_ENV, "127.0.0.5",
               "command line");
}

static void commands(void **state)
{
    struct config *c = load(ARGS("install-schema", URL), NO_ENV);

    (void)state;
    assert_int_equal(c->command, CONFIG_INSTALL_SCHEMA);
    config_destroy(c);
    c = load(ARGS("standalone", "--data", "/var/x"), NO_ENV);
    assert_int_equal(c->command, CONFIG_RUN);
    assert_string_equal(c->data_dir, "/var/x");
    assert_null(c->datasource);
    assert_int_equal(c->coordination, CONFIG_COORDINATION_STANDALONE);
    config_destroy(c);
    c = load(ARGS("--data=d", "standalone", "--server.port=0"), NO_ENV);
    assert_string_equal(c->data_dir, "d");
    assert_int_equal(c->server_port, 0);
    config_destroy(c);
    c = load(ARGS("standalone", URL), NO_ENV);
    assert_null(c->data_dir);
    assert_non_null(c->datasource);
    config_destroy(c);
}

static void commands_of_shardwheelctl(void **state)
{
    struct config *c = load(ARGS("ctl", "shards", URL, "--json"), NO_ENV);

    (void)state;
    assert_int_equal(c->command, CONFIG_CTL);
    assert_true(c->is_ctl);
    assert_int_equal(c->ctl.verb, CTL_SHARDS);
    assert_true(c->ctl.json);
    config_destroy(c);
    write_file("a.properties", "spring.datasource.url=jdbc:mysql://h/d\nshardwheel.coordination=zookeeper\n");
    c = load(((char *[]){"/usr/bin/shardwheelctl", "--config", "a.properties", "drain", "--wait", "7", "ctl", "--force",
                         NULL}),
             NO_ENV);
    assert_int_equal(c->ctl.verb, CTL_DRAIN);
    assert_string_equal(c->ctl.node, "ctl");
    assert_int_equal(c->ctl.wait_ms, 7000);
    assert_true(c->ctl.force);
    config_destroy(c);
    c = load(ARGS("ctl", "release", "1023", "--data=d"), NO_ENV);
    assert_int_equal(c->ctl.verb, CTL_RELEASE);
    assert_int_equal(c->ctl.number, 1023);
    assert_int_equal(c->ctl.wait_ms, 30000);
    assert_string_equal(c->data_dir, "d");
    config_destroy(c);
    c = load(ARGS("ctl", "reshard", "1024", URL), NO_ENV);
    assert_int_equal(c->ctl.number, 1024);
    assert_int_equal(c->ctl.wait_ms, 60000);
    config_destroy(c);
    c = load(ARGS("ctl", "reshard", "cancel", URL), NO_ENV);
    assert_int_equal(c->ctl.number, 0);
    config_destroy(c);
    c = load(ARGS("ctl", "set-zone", "database", "Asia/Shanghai", "--force", URL), NO_ENV);
    assert_int_equal(c->ctl.verb, CTL_SET_ZONE);
    assert_false(c->ctl.is_cron_zone);
    assert_string_equal(c->ctl.zone, "Asia/Shanghai");
    assert_true(c->ctl.force);
    config_destroy(c);
    c = load(ARGS("ctl", "set-zone", "cron", "+08:00", URL), NO_ENV);
    assert_true(c->ctl.is_cron_zone);
    assert_string_equal(c->ctl.zone, "+08:00");
    config_destroy(c);
    c = load(ARGS("ctl", "job", "2147483647", "--json", URL), NO_ENV);
    assert_int_equal(c->ctl.verb, CTL_JOB);
    assert_int_equal(c->ctl.job, INT32_MAX);
    assert_int_equal(c->ctl.setting_count, 0);
    config_destroy(c);
    c = load(ARGS("ctl", "trigger", "7", "--param", "", "--at", "2030-01-01 00:00Z", "--json", URL), NO_ENV);
    assert_int_equal(c->ctl.verb, CTL_TRIGGER);
    assert_int_equal(c->ctl.job, 7);
    assert_true(c->ctl.json);
    assert_int_equal(c->ctl.setting_count, 2);
    assert_string_equal(c->ctl.settings[0].name, "param");
    assert_string_equal(c->ctl.settings[0].value, "");
    assert_string_equal(c->ctl.settings[1].value, "2030-01-01 00:00Z");
    config_destroy(c);
    c = load(ARGS("ctl", "later", "--json", URL), NO_ENV);
    assert_int_equal(c->ctl.verb, CTL_LATER);
    assert_int_equal(c->ctl.job, 0);
    config_destroy(c);
    c = load(ARGS("ctl", "cancel-later", "9223372036854775807", URL), NO_ENV);
    assert_int_equal(c->ctl.verb, CTL_CANCEL_LATER);
    assert_int_equal(c->ctl.log_id, INT64_MAX);
    config_destroy(c);
    char to[] = "--to=2030-01-02 00:00"; /* taken apart in place */
    c = load(ARGS("ctl", "why", "7", "--from", "2030-01-01 00:00", to, "--json", URL), NO_ENV);
    assert_int_equal(c->ctl.verb, CTL_WHY);
    assert_int_equal(c->ctl.job, 7);
    assert_true(c->ctl.json);
    assert_string_equal(c->ctl.settings[0].name, "from");
    assert_string_equal(c->ctl.settings[1].value, "2030-01-02 00:00");
    config_destroy(c);
    c = load(
        ARGS("ctl", "after-restore", "--from", "2030-01-01 00:00", "--ids", "5", "--dry-run", "--force", "--json", URL),
        NO_ENV);
    assert_int_equal(c->ctl.verb, CTL_AFTER_RESTORE);
    assert_true(c->ctl.dry_run && c->ctl.force && c->ctl.json);
    assert_string_equal(c->ctl.settings[1].name, "ids");
    assert_string_equal(c->ctl.settings[1].value, "5");
    config_destroy(c);
    c = load(ARGS("ctl", "flow", "list", "--json", URL), NO_ENV);
    assert_int_equal(c->ctl.verb, CTL_FLOW_LIST);
    assert_true(c->ctl.json);
    config_destroy(c);
    c = load(ARGS("ctl", "flow", "apply", "-f", "-", "--dry-run", URL), NO_ENV);
    assert_int_equal(c->ctl.verb, CTL_FLOW_APPLY);
    assert_string_equal(c->ctl.settings[0].name, "file");
    assert_string_equal(c->ctl.settings[0].value, "-");
    assert_true(c->ctl.dry_run);
    config_destroy(c);
    c = load(ARGS("ctl", "flow", "run", "etl", "--param", "region=cn", "--param", "n=1", "--key", "k", URL), NO_ENV);
    assert_int_equal(c->ctl.verb, CTL_FLOW_RUN);
    assert_string_equal(c->ctl.words[0], "etl");
    assert_string_equal(c->ctl.settings[0].value, "region=cn");
    assert_string_equal(c->ctl.settings[1].name, "param");
    assert_string_equal(c->ctl.settings[2].name, "key");
    config_destroy(c);
    c = load(ARGS("ctl", "flow", "step", "12", "load", "done", "--remark", "by hand", URL), NO_ENV);
    assert_int_equal(c->ctl.verb, CTL_FLOW_STEP);
    assert_int_equal(c->ctl.word_count, 3);
    assert_string_equal(c->ctl.words[2], "done");
    config_destroy(c);
    c = load(ARGS("ctl", "flow", "runs", URL), NO_ENV);
    assert_int_equal(c->ctl.word_count, 0);
    config_destroy(c);
    c = load(ARGS("ctl", "flow", "from-children", "7", "--apply", URL), NO_ENV);
    assert_int_equal(c->ctl.job, 7);
    assert_true(c->ctl.apply);
    config_destroy(c);
    c = load(ARGS("ctl", "flow", "run-show", "9", URL), NO_ENV);
    assert_int_equal(c->ctl.log_id, 9);
    config_destroy(c);
    c = load(ARGS("ctl", "going-back", URL), NO_ENV);
    assert_int_equal(c->ctl.verb, CTL_GOING_BACK);
    config_destroy(c);
    c = load(ARGS("ctl", "doctor", "--json", "--verbose", "--ask-executors", URL), NO_ENV);
    assert_int_equal(c->ctl.verb, CTL_DOCTOR);
    assert_true(c->ctl.json);
    assert_true(c->ctl.verbose);
    assert_true(c->ctl.ask_executors);
    assert_int_equal(c->ctl.wait_ms, 30000);
    config_destroy(c);
    char zone[] = "--time-zone=Asia/Tokyo", tags[] = "--tags="; /* taken apart in place */
    c = load(ARGS("ctl", "set-job", "7", zone, "--hold", "none", "--valid-from", "", tags, "--fixed-delay", "-5", URL),
             NO_ENV);
    assert_int_equal(c->ctl.verb, CTL_SET_JOB);
    assert_int_equal(c->ctl.job, 7);
    static const char *const set[][2] = {
        {"time-zone", "Asia/Tokyo"}, {"hold", "none"}, {"valid-from", ""}, {"tags", ""}, {"fixed-delay", "-5"}};
    assert_int_equal(c->ctl.setting_count, ARRAY_LEN(set));
    for (size_t i = 0; i < ARRAY_LEN(set); i++) {
        assert_string_equal(c->ctl.settings[i].name, set[i][0]);
        assert_string_equal(c->ctl.settings[i].value, set[i][1]);
    }
    config_destroy(c);
    c = load(ARGS("ctl", "log", "9007199254740993", "--follow", URL), NO_ENV);
    assert_int_equal(c->ctl.verb, CTL_LOG);
    assert_true(c->ctl.log_id == 9007199254740993);
    assert_true(c->ctl.follow);
    config_destroy(c);
    c = load(ARGS("ctl", "kill", "7", URL), NO_ENV);
    assert_int_equal(c->ctl.verb, CTL_KILL);
    assert_true(c->ctl.log_id == 7);
    config_destroy(c);
    c = load(ARGS("ctl", "--help"), NO_ENV);
    assert_int_equal(c->command, CONFIG_HELP);
    assert_true(c->is_ctl);
    config_destroy(c);
    c = load(ARGS("standalone", URL), NO_ENV);
    assert_false(c->is_ctl);
    config_destroy(c);
}

static void other_commands_of_shardwheelctl_are_refused(void **state)
{
    static char *lines[][6] = {
        {"shardwheelctl", NULL},
        {"shardwheelctl", "ctl", NULL},
        {"shardwheelctl", "show", NULL},
        {"shardwheelctl", "drain", NULL},
        {"shardwheelctl", "drain", "a", "b", NULL},
        {"shardwheelctl", "nodes", "a", NULL},
        {"shardwheelctl", "release", "-1", NULL},
        {"shardwheelctl", "release", "1024", NULL},
        {"shardwheelctl", "release", "x", NULL},
        {"shardwheelctl", "set-zone", NULL},
        {"shardwheelctl", "set-zone", "database", NULL},
        {"shardwheelctl", "set-zone", "UTC", "UTC", NULL},
        {"shardwheelctl", "set-zone", "cron", "UTC", "UTC", NULL},
        {"shardwheelctl", "set-zone", "cron", "UTC", "--json", NULL},
        {"shardwheelctl", "reshard", "0", NULL},
        {"shardwheelctl", "reshard", "1025", NULL},
        {"shardwheelctl", "reshard", "8.", NULL},
        {"shardwheelctl", "drain", "a", "--json", NULL},
        {"shardwheelctl", "nodes", "--force", NULL},
        {"shardwheelctl", "nodes", "--dry-run", NULL},
        {"shardwheelctl", "after-restore", "now", NULL},
        {"shardwheelctl", "shards", "--wait=3", NULL},
        {"shardwheelctl", "drain", "a", "--wait=0", NULL},
        {"shardwheelctl", "drain", "a", "--wait", NULL},
        {"shardwheelctl", "job", NULL},
        {"shardwheelctl", "job", "0", NULL},
        {"shardwheelctl", "job", "2147483648", NULL},
        {"shardwheelctl", "job", "7", "--hold", "5", NULL},
        {"shardwheelctl", "set-job", "7", NULL},
        {"shardwheelctl", "set-job", "7", "--hold", NULL},
        {"shardwheelctl", "set-job", "x", "--hold", "5", NULL},
        {"shardwheelctl", "standalone", NULL},
        {"shardwheelctl", "nodes", "-x", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        check_error(lines[i], NO_ENV, "command line: \"");
        check_error(lines[i], NO_ENV, "usage: shardwheelctl ");
    }
    check_error(ARGS("standalone", "ctl"), NO_ENV, "usage: shardwheel [standalone");
    check_error(ARGS("--config=x", "ctl", "nodes"), NO_ENV, "\"ctl\": it must be the first argument");
    check_error(ARGS("ctl", "nodes", "--shardwheel.shrads=8"), NO_ENV, "did you mean shardwheel.shards?");
    check_error(ARGS("ctl", "nodes"), NO_ENV, "spring.datasource.url is not set");
}

static void questions_go_before_all_else(void **state)
{
    static const struct {
        char *arg;
        enum config_command command;
        enum config_format format;
    } cases[] = {
        {"-h", CONFIG_HELP, CONFIG_FORMAT_TEXT},
        {"--help", CONFIG_HELP, CONFIG_FORMAT_TEXT},
        {"--version", CONFIG_VERSION, CONFIG_FORMAT_TEXT},
        {"--help-config", CONFIG_HELP_CONFIG, CONFIG_FORMAT_TEXT},
        {"--help-config=text", CONFIG_HELP_CONFIG, CONFIG_FORMAT_TEXT},
        {"--help-config=properties", CONFIG_HELP_CONFIG, CONFIG_FORMAT_PROPERTIES},
        {"--help-config=markdown", CONFIG_HELP_CONFIG, CONFIG_FORMAT_MARKDOWN},
    };

    (void)state;
    write_file("application.properties", "broken");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct config *c = load(ARGS("nonsense", "--server.port=x", cases[i].arg), ENV("SHARDWHEEL_X=1"));

        assert_int_equal(c->command, cases[i].command);
        assert_int_equal(c->help_format, cases[i].format);
        assert_int_equal(c->server_port, 8080);
        config_destroy(c);
    }
}

static void other_command_lines_are_refused_with_the_usage(void **state)
{
    static char *lines[][4] = {
        {"shardwheel", "start", NULL},
        {"shardwheel", "standalone", "install-schema", NULL},
        {"shardwheel", "-x", NULL},
        {"shardwheel", "--", NULL},
        {"shardwheel", "", NULL},
        {"shardwheel", "--server.port", NULL},
        {"shardwheel", "--=8", NULL},
        {"shardwheel", "-Dserver.port=8", NULL},
        {"shardwheel", "--help-config=xml2", NULL},
        {"shardwheel", "--config", NULL},
        {"shardwheel", "--config=", NULL},
        {"shardwheel", "--config", "--server.port=1", NULL},
        {"shardwheel", "standalone", "--data", NULL},
        {"shardwheel", "--data", "x", NULL},
        {"shardwheel", "install-schema", "--data=x", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        if (strcmp(lines[i][1], "--help-config=xml2")) {
            check_error(lines[i], NO_ENV, "command line: \"");
            check_error(lines[i], NO_ENV, "usage: shardwheel [standalone");
        } else {
            check_error(lines[i], NO_ENV, "command line: unknown key \"help-config\"");
        }
    }
}

static void the_database_must_be_said_once(void **state)
{
    struct config *c;

    (void)state;
    check_error(NO_ARGS, NO_ENV, "spring.datasource.url is not set");
    check_error(ARGS("install-schema"), NO_ENV, "spring.datasource.url is not set");
    check_error(ARGS("standalone"), NO_ENV, "spring.datasource.url is not set");
    check_error(ARGS("standalone", "--data=d"), ENV("SPRING_DATASOURCE_URL=jdbc:mysql://h/d"),
                "environment SPRING_DATASOURCE_URL: spring.datasource.url: standalone --data brings its own database");
    c = load(ARGS("standalone", "--data=d", "--spring.datasource.username=u", "--spring.datasource.password=p"),
             NO_ENV);
    check_note(c, CONFIG_NOTE_WARNING, "command line: spring.datasource.username is not used");
    check_note(c, CONFIG_NOTE_WARNING, "command line: spring.datasource.password is not used");
    config_destroy(c);

    c = load(ARGS("--spring.datasource.url=jdbc:mysql://u:p@h/d?x=1"), NO_ENV);
    assert_string_equal(c->datasource_username, "u");
    assert_string_equal(c->datasource_password, "p");
    assert_string_equal(config_get_source(c, "spring.datasource.username"), "command line");
    check_note(c, CONFIG_NOTE_IGNORED, "command line: parameter \"x\" of spring.datasource.url: unknown");
    config_destroy(c);
    c = load(ARGS("--spring.datasource.url=jdbc:mysql://u:p@h/d", "--spring.datasource.username=v"), NO_ENV);
    assert_string_equal(c->datasource_username, "v");
    assert_string_equal(c->datasource_password, "p");
    config_destroy(c);
}

static void coordination_follows_from_what_is_given(void **state)
{
    struct config *c = load(ARGS(URL, "--shardwheel.zookeeper.servers=a"), NO_ENV);

    (void)state;
    assert_int_equal(c->coordination, CONFIG_COORDINATION_ZOOKEEPER);
    config_destroy(c);
    c = load(ARGS(URL, "--shardwheel.zookeeper.servers=a", "--shardwheel.coordination=standalone"), NO_ENV);
    assert_int_equal(c->coordination, CONFIG_COORDINATION_STANDALONE);
    check_note(c, CONFIG_NOTE_WARNING, "shardwheel.zookeeper.servers is not used: coordination is standalone");
    config_destroy(c);
    c = load(ARGS("standalone", URL, "--shardwheel.zookeeper.servers=a"), NO_ENV);
    assert_int_equal(c->coordination, CONFIG_COORDINATION_STANDALONE);
    assert_int_equal(count_notes(c, CONFIG_NOTE_WARNING), 1);
    config_destroy(c);
    check_error(ARGS("standalone", URL, "--shardwheel.coordination=zookeeper"), NO_ENV,
                "zookeeper conflicts with the command standalone");
    check_error(ARGS(URL, "--shardwheel.coordination=zookeeper"), NO_ENV,
                "zookeeper needs shardwheel.zookeeper.servers");
    /* Installing needs the database alone. */
    config_destroy(load(ARGS("install-schema", URL, "--shardwheel.coordination=zookeeper"), NO_ENV));
}

static void a_timeout_out_of_bounds_counts_as_three_seconds(void **state)
{
    static char *const given[] = {"0", "11", "-1", "500ms", "1h"};
    struct config *c;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(given); i++) {
        char text[100];

        snprintf(text, sizeof(text), "--xxl.job.timeout=%s", given[i]);
        c = load(ARGS(URL, text), NO_ENV);
        assert_int_equal(c->executor_timeout_ms, 3000);
        assert_int_equal(count_notes(c, CONFIG_NOTE_WARNING), 1);
        snprintf(text, sizeof(text), "xxl.job.timeout: \"%s\" is not within 1s to 10s: the default, 3s, is used",
                 given[i]);
        check_note(c, CONFIG_NOTE_WARNING, text);
        config_destroy(c);
    }
    c = load(ARGS(URL, "--xxl.job.timeout=10"), NO_ENV);
    assert_int_equal(c->executor_timeout_ms, 10000);
    assert_int_equal(count_notes(c, CONFIG_NOTE_WARNING), 0);
    config_destroy(c);
    check_error(ARGS(URL, "--xxl.job.timeout=x"), NO_ENV,
                "xxl.job.timeout: got \"x\", expected a duration from 1s to 10s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fixture_test(the_originals_file_of_2_3_works_as_it_is),
        fixture_test(the_originals_file_of_3_4_works_as_it_is),
        fixture_test(defaults_hold_where_nothing_is_given),
        fixture_test(later_sources_win),
        fixture_test(places_of_files),
        fixture_test(what_is_not_read_is_said),
        fixture_test(profiles),
        fixture_test(the_environment_sets_keys_in_relaxed_form),
        fixture_test(variables_that_nobody_can_mean),
        fixture_test(keys_of_others_are_named_once_and_stop_nothing),
        fixture_test(server_address_is_another_name),
        fixture_test(commands),
        fixture_test(commands_of_shardwheelctl),
        fixture_test(other_commands_of_shardwheelctl_are_refused),
        fixture_test(questions_go_before_all_else),
        fixture_test(other_command_lines_are_refused_with_the_usage),
        fixture_test(the_database_must_be_said_once),
        fixture_test(coordination_follows_from_what_is_given),
        fixture_test(a_timeout_out_of_bounds_counts_as_three_seconds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
