/* SPDX-License-Identifier: MIT */
/* What needs no directory: settings, and servers that are none. Real ones: tests/integration/test_ldap.py. */
#include "test.h"

#include "shardwheel/directory.h"
#include "shardwheel/resolver.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct resolver *resolver;

#define HOUR_MS 3600000 /* of what ends by itself */

static struct directory_opts usual(const char *url)
{
    return (struct directory_opts){.url = url,
                                   .starttls = true,
                                   .ca_file = "",
                                   .bind_dn = "cn=a",
                                   .bind_password = "b",
                                   .base_dn = "dc=a",
                                   .user_filter = "(uid={user})",
                                   .name_attribute = "uid",
                                   .group_base_dn = "",
                                   .group_filter = DIRECTORY_GROUP_FILTER,
                                   .group_attribute = "cn",
                                   .timeout_ms = 300};
}

/* A socket that takes connections, which nobody accepts, and its URL. */
static int listen_silently(const char *scheme, char url[64])
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 5), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    snprintf(url, 64, "%s://127.0.0.1:%d", scheme, ntohs(at.sin_port));
    return fd;
}

static void check_wrong(struct directory_opts opts, const char *key)
{
    struct directory *d = NULL;
    struct errctx ec;

    assert_int_equal(directory_create(&opts, resolver, clock_system(), &d, &ec), ERR_INPUT);
    assert_non_null(strstr(ec.text, key));
    assert_null(d);
}

static void a_wrong_setting_is_named(void **state)
{
    struct directory_opts o;

    (void)state;
    check_wrong(usual("ldap://"), "shardwheel.ldap.url");
    o = usual("ldap://a");
    o.base_dn = "";
    check_wrong(o, "shardwheel.ldap.base-dn");
    o = usual("ldap://a");
    o.bind_password = "";
    check_wrong(o, "shardwheel.ldap.bind-password");
    o = usual("ldap://a");
    o.user_filter = "(uid=alice)";
    check_wrong(o, "shardwheel.ldap.user-filter");
    o.user_filter = "uid={user}";
    check_wrong(o, "shardwheel.ldap.user-filter");
    o = usual("ldap://a");
    o.group_filter = "(cn=*)";
    check_wrong(o, "shardwheel.ldap.group-filter");
    o = usual("ldap://a");
    o.name_attribute = "";
    check_wrong(o, "shardwheel.ldap.name-attribute");
    o = usual("ldap://a");
    o.group_attribute = "cn)(";
    check_wrong(o, "shardwheel.ldap.group-attribute");
}

static enum directory_answer ask(const struct directory_opts *opts, const char *name, const char *password,
                                 struct errctx *ec)
{
    struct directory_person p = {0};
    struct directory *d = NULL;

    assert_int_equal(directory_create(opts, resolver, clock_system(), &d, ec), ERR_OK);
    enum directory_answer a = directory_login(d, name, password, &p, ec);
    directory_person_fini(&p);
    directory_destroy(d);
    return a;
}

/* Nobody answers there, so a question that was sent ends as AWAY. */
static void what_cannot_be_right_is_not_asked(void **state)
{
    char url[64], huge[2000];
    int fd = listen_silently("ldap", url);
    struct directory_opts o = usual(url);
    struct errctx ec;

    (void)state;
    memset(huge, 'a', sizeof huge - 1);
    huge[sizeof huge - 1] = '\0';
    assert_int_equal(ask(&o, "alice", "", &ec), DIRECTORY_WRONG);
    assert_int_equal(ask(&o, "", "secret", &ec), DIRECTORY_WRONG);
    assert_int_equal(ask(&o, "  ", "secret", &ec), DIRECTORY_WRONG);
    assert_int_equal(ask(&o, huge, "secret", &ec), DIRECTORY_WRONG);
    assert_int_equal(ask(&o, "alice", huge, &ec), DIRECTORY_WRONG);
    assert_int_equal(ask(&o, "al\nice", "secret", &ec), DIRECTORY_WRONG);
    assert_int_equal(ask(&o, "al\xffice", "secret", &ec), DIRECTORY_WRONG);
    assert_int_equal(ask(&o, "alice", "secret", &ec), DIRECTORY_AWAY);
    close(fd);
}

static void a_silent_server_is_away(void **state)
{
    static const char *const schemes[] = {"ldap", "ldaps"};
    struct errctx ec;
    char url[64];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
        int fd = listen_silently(schemes[i], url);
        struct directory_opts o = usual(url);

        assert_int_equal(ask(&o, "alice", "secret", &ec), DIRECTORY_AWAY);
        assert_non_null(strstr(ec.text, "no answer in time"));
        o.starttls = false;
        assert_int_equal(ask(&o, "alice", "secret", &ec), DIRECTORY_AWAY);
        assert_non_null(strstr(ec.text, "no answer in time"));
        close(fd);
    }
}

static void a_closed_port_is_away(void **state)
{
    struct directory_opts o;
    struct errctx ec;
    char url[64];

    (void)state;
    close(listen_silently("ldaps", url));
    o = usual(url);
    o.timeout_ms = HOUR_MS;
    assert_int_equal(ask(&o, "alice", "secret", &ec), DIRECTORY_AWAY);
    assert_non_null(strstr(ec.text, "refused"));
}

struct talker {
    int fd;
    const char *text;
    size_t len;
};

static void talk(void *arg)
{
    const struct talker *t = arg;
    int fd = accept(t->fd, NULL, NULL);
    char sent[4096];

    while (recv(fd, sent, 1, MSG_PEEK) < 0)
        ;
    (void)!write(fd, t->text, t->len);
    while (read(fd, sent, sizeof sent) > 0)
        ;
    close(fd);
}

static enum directory_answer ask_talker(const char *scheme, bool starttls, const char *text, size_t len,
                                        int64_t timeout_ms, struct errctx *ec)
{
    struct talker t = {.text = text, .len = len};
    struct thread thread = {0};
    char url[64];

    t.fd = listen_silently(scheme, url);
    struct directory_opts o = usual(url);
    o.starttls = starttls;
    o.timeout_ms = timeout_ms;
    assert_int_equal(thread_start(&thread, "talker", talk, &t, ec), ERR_OK);
    enum directory_answer a = ask(&o, "alice", "secret", ec);
    thread_join(&thread);
    close(t.fd);
    assert_true(*ec->text);
    return a;
}

static void what_answers_may_be_anything(void **state)
{
    static const char http[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
    static const char half[] = "\x30\x84\x00\x0f\xff\xff\x02\x01\x01\x61";  /* the start of a large answer */
    static const char large[] = "\x30\x84\x00\x10\x00\x01\x02\x01\x01\x61"; /* and of one that is too large */
    static const char huge[] = "\x30\x84\x7f\xff\xff\xff\x02\x01\x01\x61";
    static const char refused[] = "\x30\x0c\x02\x01\x01\x78\x07\x0a\x01\x02\x04\x00\x04\x00"; /* no StartTLS here */

    struct errctx ec;

    (void)state;
    assert_int_equal(ask_talker("ldaps", false, http, sizeof http - 1, HOUR_MS, &ec), DIRECTORY_NO_TLS);
    assert_int_equal(ask_talker("ldap", false, http, sizeof http - 1, 300, &ec), DIRECTORY_AWAY); /* a start, too */
    assert_int_equal(ask_talker("ldap", false, half, sizeof half - 1, 300, &ec), DIRECTORY_AWAY);
    assert_int_equal(ask_talker("ldap", true, half, sizeof half - 1, 300, &ec), DIRECTORY_AWAY);
    assert_non_null(strstr(ec.text, "no answer in time"));
    assert_int_equal(ask_talker("ldap", false, large, sizeof large - 1, HOUR_MS, &ec), DIRECTORY_AWAY);
    assert_non_null(strstr(ec.text, "more than 1048576 bytes"));
    assert_int_equal(ask_talker("ldap", true, huge, sizeof huge - 1, HOUR_MS, &ec), DIRECTORY_AWAY);
    assert_non_null(strstr(ec.text, "more than 1048576 bytes"));
    /* And nothing was sent in plain text after that: the talker has read all there was. */
    assert_int_equal(ask_talker("ldap", true, refused, sizeof refused - 1, HOUR_MS, &ec), DIRECTORY_NO_TLS);
}

static void a_stop_ends_what_waits(void **state)
{
    char url[64];
    int fd = listen_silently("ldap", url);
    struct directory_opts o = usual(url);
    struct directory_person p = {0};
    struct directory *d = NULL;
    struct errctx ec;

    (void)state;
    o.timeout_ms = HOUR_MS;
    assert_int_equal(directory_create(&o, resolver, clock_system(), &d, &ec), ERR_OK);
    directory_stop(d);
    assert_int_equal(directory_login(d, "alice", "secret", &p, &ec), DIRECTORY_AWAY);
    directory_destroy(d);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_setting_is_named),     cmocka_unit_test(what_cannot_be_right_is_not_asked),
        cmocka_unit_test(a_silent_server_is_away),      cmocka_unit_test(a_closed_port_is_away),
        cmocka_unit_test(what_answers_may_be_anything), cmocka_unit_test(a_stop_ends_what_waits),
    };
    struct errctx ec;

    signal(SIGPIPE, SIG_IGN); /* as main does */
    if (resolver_create(clock_system(), &resolver, &ec))
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    resolver_destroy(resolver);
    return failed;
}
