/* SPDX-License-Identifier: MIT */
/* JDBC URLs: every part, the forms found in people's files, what is refused, and that no password shows. */
#include "config/key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct jdbc_url *parse(const char *text)
{
    struct errctx ec = {{0}};
    struct jdbc_url *url = NULL;

    if (jdbc_url_parse(text, &url, &ec))
        fail_msg("%s: %s", text, ec.text);
    return url;
}

static void check_refused(const char *text, const char *expected)
{
    struct errctx ec = {{0}};
    struct jdbc_url *url = NULL;

    if (!jdbc_url_parse(text, &url, &ec))
        fail_msg("%s was accepted", text);
    if (!strstr(ec.text, expected))
        fail_msg("\"%s\" is not in \"%s\"", expected, ec.text);
    if (strstr(ec.text, "secret"))
        fail_msg("the password shows: %s", ec.text);
    assert_null(url);
}

static void check_host(const struct jdbc_url *url, size_t index, const char *host, int64_t port)
{
    assert_true(index < url->host_count);
    assert_string_equal(url->hosts[index].host, host);
    assert_int_equal(url->hosts[index].port, port);
}

static void the_originals_default_url(void **state)
{
    struct jdbc_url *url = parse("jdbc:mysql://127.0.0.1:3306/xxl_job?useUnicode=true&characterEncoding=UTF-8"
                                 "&autoReconnect=true&serverTimezone=Asia/Shanghai");

    (void)state;
    assert_int_equal(url->host_count, 1);
    check_host(url, 0, "127.0.0.1", 3306);
    assert_string_equal(url->database, "xxl_job");
    assert_string_equal(url->time_zone, "Asia/Shanghai");
    assert_int_equal(url->tls, JDBC_TLS_PREFERRED);
    assert_null(url->socket);
    assert_null(url->user);
    assert_null(url->password);
    assert_null(url->tls_ca);
    assert_int_equal(url->connect_timeout_ms, 0);
    assert_int_equal(url->socket_timeout_ms, 0);
    assert_int_equal(url->unknown_count, 0);
    jdbc_url_destroy(url);
}

static void check_one_host(const char *text, const char *host, int64_t port)
{
    struct jdbc_url *url = parse(text);

    assert_int_equal(url->host_count, 1);
    check_host(url, 0, host, port);
    assert_string_equal(url->database, "d");
    jdbc_url_destroy(url);
}

static void hosts_and_ports(void **state)
{
    struct jdbc_url *url;

    (void)state;
    check_one_host("jdbc:mysql://db.example.com/d", "db.example.com", 3306);
    check_one_host("jdbc:mariadb://h:1/d?", "h", 1);
    check_one_host("JDBC:MySQL://h:65535/d", "h", 65535);
    check_one_host("jdbc:mysql:///d", "localhost", 3306);
    check_one_host("jdbc:mysql://:3307/d", "localhost", 3307);
    check_one_host("jdbc:mysql://[::1]/d", "::1", 3306);
    check_one_host("jdbc:mysql://[fe80::1]:3307/d", "fe80::1", 3307);

    url = parse("jdbc:mysql://a,b:3307,[::1]:3308/d");
    assert_int_equal(url->host_count, 3);
    check_host(url, 0, "a", 3306);
    check_host(url, 1, "b", 3307);
    check_host(url, 2, "::1", 3308);
    jdbc_url_destroy(url);

    /* Ways of the drivers to use several: a list in order. */
    static const char *const ways[] = {"mysql:replication", "mysql:loadbalance", "MariaDB:Sequential",
                                       "mariadb:failover", "mariadb:load-balance-read"};

    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        char text[80];

        snprintf(text, sizeof text, "jdbc:%s://a,b/d", ways[i]);
        url = parse(text);
        assert_int_equal(url->host_count, 2);
        check_host(url, 0, "a", 3306);
        jdbc_url_destroy(url);
    }
}

static void credentials_in_the_url(void **state)
{
    struct jdbc_url *url = parse("jdbc:mysql://ro%40ot:p@s/s:%2Fword@h:3307/d");

    (void)state;
    assert_string_equal(url->user, "ro@ot");
    assert_string_equal(url->password, "p@s/s:/word");
    check_host(url, 0, "h", 3307);
    jdbc_url_destroy(url);

    url = parse("jdbc:mysql://h/d?user=u%26x&password=a+b%3D%25");
    assert_string_equal(url->user, "u&x");
    assert_string_equal(url->password, "a+b=%");
    jdbc_url_destroy(url);

    url = parse("jdbc:mysql://u@h/d?password=");
    assert_string_equal(url->user, "u");
    assert_string_equal(url->password, "");
    jdbc_url_destroy(url);
}

static void check_zone(const char *params, const char *expected)
{
    char text[200];
    struct jdbc_url *url;

    snprintf(text, sizeof(text), "jdbc:mysql://h/d?%s", params);
    url = parse(text);
    if (expected)
        assert_string_equal(url->time_zone, expected);
    else
        assert_null(url->time_zone);
    jdbc_url_destroy(url);
}

static void time_zones(void **state)
{
    (void)state;
    check_zone("", NULL);
    check_zone("serverTimezone=GMT%2B8", "GMT+8");
    check_zone("serverTimezone=GMT+8", "GMT+8");
    check_zone("servertimezone=UTC", "UTC");
    check_zone("connectionTimeZone=LOCAL", NULL);
    check_zone("connectionTimeZone=local", NULL);
    check_zone("connectionTimeZone=server", "SERVER");
    check_zone("serverTimezone=", NULL);
    check_zone("serverTimezone=UTC&preserveInstants=false", NULL);
    check_zone("preserveInstants=true&serverTimezone=UTC", "UTC");
    check_zone("serverTimezone=UTC&connectionTimeZone=Asia%2FTokyo", "Asia/Tokyo");
}

static void check_tls(const char *params, enum jdbc_tls expected)
{
    char text[200];
    struct jdbc_url *url;

    snprintf(text, sizeof(text), "jdbc:mysql://h/d?%s", params);
    url = parse(text);
    if (url->tls != expected)
        fail_msg("%s: got %d, expected %d", params, (int)url->tls, (int)expected);
    jdbc_url_destroy(url);
}

static void tls_modes(void **state)
{
    (void)state;
    check_tls("", JDBC_TLS_PREFERRED);
    check_tls("useSSL=false", JDBC_TLS_DISABLED);
    check_tls("useSSL=true", JDBC_TLS_PREFERRED);
    check_tls("useSSL=TRUE&requireSSL=yes", JDBC_TLS_REQUIRED);
    check_tls("useSSL=true&requireSSL=true&verifyServerCertificate=true", JDBC_TLS_VERIFY_CA);
    check_tls("useSSL=false&verifyServerCertificate=true", JDBC_TLS_DISABLED);
    check_tls("sslMode=DISABLED", JDBC_TLS_DISABLED);
    check_tls("sslMode=preferred", JDBC_TLS_PREFERRED);
    check_tls("sslMode=REQUIRED&useSSL=false", JDBC_TLS_REQUIRED);
    check_tls("useSSL=false&sslMode=VERIFY_CA", JDBC_TLS_VERIFY_CA);
    check_tls("sslMode=VERIFY_IDENTITY", JDBC_TLS_VERIFY_IDENTITY);
    check_tls("sslMode=verify-full", JDBC_TLS_VERIFY_IDENTITY);
    check_tls("sslMode=trust", JDBC_TLS_REQUIRED);
}

static void the_other_parameters(void **state)
{
    struct jdbc_url *url = parse("jdbc:mariadb://h/d?localSocket=/run/my%20sql.sock&connectTimeout=5000&socketTimeout=0"
                                 "&serverSslCert=/etc/ca.pem&foo=1&bar&zeroDateTimeBehavior=convertToNull");

    (void)state;
    assert_string_equal(url->socket, "/run/my sql.sock");
    assert_int_equal(url->connect_timeout_ms, 5000);
    assert_int_equal(url->socket_timeout_ms, 0);
    assert_string_equal(url->tls_ca, "/etc/ca.pem");
    assert_int_equal(url->unknown_count, 2);
    assert_string_equal(url->unknown[0], "foo");
    assert_string_equal(url->unknown[1], "bar");
    jdbc_url_destroy(url);

    url = parse("jdbc:mysql://h/d%2D1?localSocketAddress=&useUnicode");
    assert_null(url->socket);
    assert_string_equal(url->database, "d-1");
    assert_int_equal(url->unknown_count, 0);
    jdbc_url_destroy(url);
}

static void ampersands_as_files_have_them(void **state)
{
    static const char *const forms[] = {
        "jdbc:mysql://h/d?useUnicode=true&serverTimezone=UTC&useSSL=false",
        "jdbc:mysql://h/d?useUnicode=true&amp;serverTimezone=UTC&amp;useSSL=false",
        "jdbc:mysql://h/d?useUnicode=true\\&serverTimezone=UTC\\&useSSL=false",
        "jdbc:mysql://h/d?&&serverTimezone=UTC&&useSSL=false&",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        struct jdbc_url *url = parse(forms[i]);

        assert_string_equal(url->time_zone, "UTC");
        assert_int_equal(url->tls, JDBC_TLS_DISABLED);
        assert_int_equal(url->unknown_count, 0);
        jdbc_url_destroy(url);
    }
}

static void what_is_refused(void **state)
{
    (void)state;
    check_refused("", "it begins with \"\"");
    check_refused("xxl_job", "it begins with \"xxl_job\"");
    check_refused("jdbc:postgresql://u:secret@h/d", "it begins with \"jdbc:postgresql:\"");
    check_refused("jdbc:mysql:srv://a,b/d", "it begins with \"jdbc:mysql:srv:\"");
    check_refused("jdbc:mysql+srv://u:secret@a/d", "jdbc:mysql+srv: looks for servers by itself");
    check_refused("jdbc:MariaDB:aurora://u:secret@a,b/d", "write all of them");
    check_refused("jdbc:mysql://h", "the name of the database is missing");
    check_refused("jdbc:mysql://h/", "the name of the database is missing");
    check_refused("jdbc:mysql://h/?user=x", "the name of the database is missing");
    check_refused("jdbc:mysql://u:secret@h", "the name of the database is missing");
    check_refused("jdbc:mysql://h/a/b", "has a slash");
    check_refused("jdbc:mysql://h:/d", "a number from 1 to 65535");
    check_refused("jdbc:mysql://h:0/d", "a number from 1 to 65535");
    check_refused("jdbc:mysql://h:65536/d", "a number from 1 to 65535");
    check_refused("jdbc:mysql://h:3306x/d", "a number from 1 to 65535");
    check_refused("jdbc:mysql://h:secret/d", "a number from 1 to 65535");
    check_refused("jdbc:mysql://h:33061111111111111111/d", "a number from 1 to 65535");
    check_refused("jdbc:mysql://::1/d", "must be in brackets");
    check_refused("jdbc:mysql://[::1/d", "must be in brackets");
    check_refused("jdbc:mysql://[]/d", "must be in brackets");
    check_refused("jdbc:mysql://[::1]x/d", "must be in brackets");
    check_refused("jdbc:mysql://[[]/d", "a character that is not allowed");
    check_refused("jdbc:mysql://a]b/d", "a character that is not allowed");
    check_refused("jdbc:mysql://a,,b/d", "a host in the list is empty");
    check_refused("jdbc:mysql://a,/d", "a host in the list is empty");
    check_refused("jdbc:mysql://,a/d", "a host in the list is empty");
    check_refused("jdbc:mysql://address=(host=a)(port=1)/d", "is not supported");
    check_refused("jdbc:mysql://(host=a,port=1)/d", "is not supported");
    check_refused("jdbc:mysql://a b/d", "a host name has");
    check_refused("jdbc:mysql://h/d%2", "the name of the database: a %");
    check_refused("jdbc:mysql://h/d?user=%zz", "parameter user: a %");
    check_refused("jdbc:mysql://h/d?password=secret%", "parameter password: a %");
    check_refused("jdbc:mysql://h/d?user=%00", "not 00");
    check_refused("jdbc:mysql://h/d?connectTimeout=5s", "parameter connectTimeout: got \"5s\", expected milliseconds");
    check_refused("jdbc:mysql://h/d?socketTimeout=-1", "parameter socketTimeout: got \"-1\"");
    check_refused("jdbc:mysql://h/d?connectTimeout=9999999999", "parameter connectTimeout");
    check_refused("jdbc:mysql://h/d?useSSL=maybe", "parameter useSSL: got \"maybe\", expected true or false");
    check_refused("jdbc:mysql://h/d?sslMode=x", "parameter sslMode: got \"x\", expected DISABLED");
}

static void no_password_is_told_of_what_is_not_understood(void **state)
{
    (void)state;
    check_refused("root:secret@h:3306/d", "it does not begin with jdbc:mysql://");
    check_refused("root:sec/secret@h:3306/d", "it does not begin with jdbc:mysql://");
    check_refused("root:secret://x@h/d", "it does not begin with jdbc:mysql://");
    check_refused("//root:secret@h/d", "it does not begin with jdbc:mysql://");
    check_refused("mysql://root:secret@h/d", "it begins with \"mysql:\"");
    check_refused("jdbc:mysql:root:secret@h/d", "it begins with \"jdbc:mysql:\"");
    check_refused("jdbc:mysql:/root:secret@h/d", "it begins with \"jdbc:mysql:\"");
    check_refused("jdbc:root:secret@h/d", "it begins with \"jdbc:root:\"");
    check_refused("jdbc:mysql:user=root;password=secret", "it begins with \"jdbc:mysql:user\"");
    check_refused("jdbc:mysql://h/d?useSSL=false;password=secret", "parameter useSSL: got \"false\"");
    check_refused("jdbc:mysql://h/d?connectTimeout=5,password1=secret", "parameter connectTimeout: got \"5\"");
    check_refused("jdbc:mysql://h/d?sslMode=x password=secret", "parameter sslMode: got \"x\"");
}

static void check_redacted(const char *text, const char *expected)
{
    struct buf out = {0};

    jdbc_url_write_redacted(text, &out);
    buf_puts(&out, "");
    assert_string_equal(out.data, expected);
    buf_fini(&out);
}

static void passwords_are_hidden(void **state)
{
    (void)state;
    check_redacted("", "");
    check_redacted("jdbc:mysql://h/d?a=b", "jdbc:mysql://h/d?a=b");
    check_redacted("jdbc:mysql://u:secret@h/d?a=b", "jdbc:mysql://u:(hidden)@h/d?a=b");
    check_redacted("jdbc:mysql://u:sec/r@et@h/d", "jdbc:mysql://u:(hidden)@h/d");
    check_redacted("jdbc:mysql://u@h/d", "jdbc:mysql://u@h/d");
    check_redacted("jdbc:mysql://h/d?password=secret", "jdbc:mysql://h/d?password=(hidden)");
    check_redacted("jdbc:mysql://h/d?a=b&PassWord=secret&c=d", "jdbc:mysql://h/d?a=b&PassWord=(hidden)&c=d");
    check_redacted("jdbc:mysql://h/d?a&amp;password=secret&", "jdbc:mysql://h/d?a&amp;password=(hidden)&");
    check_redacted("jdbc:mysql://h/d?trustCertificateKeyStorePassword=x&password",
                   "jdbc:mysql://h/d?trustCertificateKeyStorePassword=(hidden)&password");
    check_redacted("jdbc:mysql://h/d?password1=secret&PASSWORD2=b&password3=",
                   "jdbc:mysql://h/d?password1=(hidden)&PASSWORD2=(hidden)&password3=(hidden)");
    check_redacted("jdbc:other://u:secret@h/d", "jdbc:(hidden)@h/d");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_originals_default_url),
        cmocka_unit_test(hosts_and_ports),
        cmocka_unit_test(credentials_in_the_url),
        cmocka_unit_test(time_zones),
        cmocka_unit_test(tls_modes),
        cmocka_unit_test(the_other_parameters),
        cmocka_unit_test(ampersands_as_files_have_them),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(no_password_is_told_of_what_is_not_understood),
        cmocka_unit_test(passwords_are_hidden),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
