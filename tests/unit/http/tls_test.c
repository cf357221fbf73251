/* SPDX-License-Identifier: MIT */
/* Certificates: which files are taken, what is said about the others, and when new ones are. */
#include "shardwheel/http/tls.h"
#include "test.h"
#include "http/certificates.h"

static struct certificates dir;
static struct errctx ec;

static char *path(const char *name)
{
    return strdup(certificates_path(&dir, name)); /* leaked by the test that uses it once */
}

static struct tls_server *create(const struct tls_files *files)
{
    struct tls_server *s = NULL;

    errctx_clear(&ec);
    if (tls_server_create(files, &s, &ec))
        fail_msg("%s", ec.text);
    return s;
}

/* `part` of the text may have one %s: the folder. */
static void check_refused(const struct tls_files *files, const char *part)
{
    struct tls_server *s = NULL;
    char expected[1000];

    errctx_clear(&ec);
    snprintf(expected, sizeof expected, part, dir.dir, dir.dir, dir.dir);
    assert_int_equal(tls_server_create(files, &s, &ec), ERR_INPUT);
    if (!strstr(ec.text, expected))
        fail_msg("expected \"%s\" in \"%s\"", expected, ec.text);
}

static struct tls_files pem(const char *certificate, const char *key, const char *password)
{
    static char certificate_path[200], key_path[200];

    snprintf(certificate_path, sizeof certificate_path, "%s/%s", dir.dir, certificate);
    snprintf(key_path, sizeof key_path, "%s/%s", dir.dir, key);
    return (struct tls_files){.certificate = certificate_path, .key = *key ? key_path : "", .key_password = password};
}

static struct tls_files store(const char *name, const char *password)
{
    static char store_path[200];

    snprintf(store_path, sizeof store_path, "%s/%s", dir.dir, name);
    return (struct tls_files){.store = store_path, .store_password = password};
}

static void check_good(struct tls_files files)
{
    struct tls_server *s = create(&files);
    struct tls_facts facts;

    tls_server_load_facts(s, &facts);
    assert_string_equal(facts.name, "one.test");
    assert_int_equal(facts.until_s - facts.from_s, 30 * 24 * 3600);
    assert_true(tls_server_names_host(s, "one.test"));
    assert_true(tls_server_names_host(s, "127.0.0.1"));
    assert_false(tls_server_names_host(s, "two.test"));
    assert_false(tls_server_names_host(s, "127.0.0.2"));
    tls_server_destroy(s);
}

static void pem_files(void **state)
{
    char prefixed[200];
    struct tls_files files;

    (void)state;
    check_good(pem("one.pem", "one.key", ""));
    check_good(pem("both.pem", "", ""));
    check_good(pem("one.pem", "locked.key", "secret"));
    files = pem("both.pem", "", NULL);
    snprintf(prefixed, sizeof prefixed, "file://%s", files.certificate);
    files.certificate = prefixed;
    check_good(files);

    files = pem("none.pem", "one.key", "");
    check_refused(&files, "server.ssl.certificate: cannot read %s/none.pem: No such file or directory");
    files = pem("one.pem", "none.key", "");
    check_refused(&files, "server.ssl.certificate-private-key: cannot read %s/none.key: No such file");
    files = pem("one.pem", "", "");
    check_refused(&files, "server.ssl.certificate-private-key is not set, and %s/one.pem has no private key");
    files = pem("one.pem", "two.key", "");
    check_refused(&files, "server.ssl.certificate-private-key: the key in %s/two.key does not match the (first) "
                          "certificate in %s/one.pem");
    files = pem("one.pem", "locked.key", "wrong");
    check_refused(&files, "server.ssl.certificate-private-key-password: is wrong for the key in %s/locked.key");
    files = pem("one.pem", "locked.key", "");
    check_refused(&files, "server.ssl.certificate-private-key-password: is needed for the key in %s/locked.key");
    files = pem("one.key", "one.key", "");
    check_refused(&files, "server.ssl.certificate: %s/one.key has no certificate in PEM");
    files = pem("one.pem", "one.pem", "");
    check_refused(&files, "server.ssl.certificate-private-key: %s/one.pem has no private key in PEM");
    files = pem("one.der", "one.key", "");
    check_refused(&files, "server.ssl.certificate: %s/one.der is not PEM, but a DER or PKCS12 file");
    files = pem("empty", "one.key", "");
    check_refused(&files, "server.ssl.certificate: %s/empty has no certificate in PEM");
    files = pem("half.pem", "one.key", "");
    check_refused(&files, "server.ssl.certificate: certificate 2 in %s/half.pem is broken: ");
    files = pem("", "one.key", "");
    check_refused(&files, "server.ssl.certificate: cannot read %s/: Is a directory");
    files = (struct tls_files){.certificate = "classpath:server.pem"};
    check_refused(&files, "server.ssl.certificate: give the path of a file");
    files = pem("weak.pem", "weak.key", "");
    check_refused(&files, "the certificate in %s/weak.pem cannot be used: ee key too small");
}

static void key_stores(void **state)
{
    struct tls_files files;

    (void)state;
    check_good(store("one.p12", "secret"));
    check_good(store("old.p12", "secret")); /* with ciphers of before 2021 */
    files = store("one.p12", "secret");
    files.store_alias = "THE-ONE";
    files.store_key_password = "secret";
    check_good(files);

    files.store_alias = "other";
    check_refused(&files, "server.ssl.key-alias: the first entry of %s/one.p12 is \"the-one\"");
    files = store("one.p12", "secret");
    files.store_key_password = "different";
    check_refused(&files, "server.ssl.key-password: the key of a PKCS12 has the password of its store");
    files = store("one.p12", "wrong");
    check_refused(&files, "server.ssl.key-store-password: is wrong for %s/one.p12");
    files = store("one.p12", "");
    check_refused(&files, "server.ssl.key-store-password: is needed for %s/one.p12");
    files = store("trust.p12", "secret");
    check_refused(&files, "server.ssl.key-store: %s/trust.p12 has no private key with its certificate");
    files = store("one.pem", "");
    check_refused(&files,
                  "server.ssl.key-store: %s/one.pem is not a PKCS12 key store but PEM: see server.ssl.certificate");
    files = store("none.p12", "");
    check_refused(&files, "server.ssl.key-store: cannot read %s/none.p12: No such file");
    files = store("server.jks", "secret");
    check_refused(&files,
                  "server.ssl.key-store: %s/server.jks is a JKS key store, which only Java reads. To convert it to "
                  "PKCS12: keytool -importkeystore -srckeystore %s/server.jks -destkeystore %s/server.p12 "
                  "-deststoretype PKCS12");
}

static void who_vouches_for_clients(void **state)
{
    struct tls_files files = pem("one.pem", "one.key", "");
    char *trust = path("two.pem"), *trust_store = path("trust.p12"), *none = path("none"), *empty = path("one.key");

    (void)state;
    files.clients = TLS_CLIENTS_NEEDED;
    check_refused(&files, "server.ssl.client-auth needs server.ssl.trust-certificate or server.ssl.trust-store");
    files.trust = trust;
    check_good(files);
    files.trust = none;
    check_refused(&files, "server.ssl.trust-certificate: cannot read %s/none: ");
    files.trust = empty;
    check_refused(&files, "server.ssl.trust-certificate: %s/one.key has no certificate in PEM");
    files.trust = NULL;
    files.trust_store = trust_store;
    files.trust_store_password = "secret";
    check_good(files);
    files.trust_store_password = "wrong";
    check_refused(&files, "server.ssl.trust-store-password: is wrong for %s/trust.p12");
    free(trust);
    free(trust_store);
    free(none);
    free(empty);
}

static const char *shown(struct tls_server *s)
{
    static struct tls_facts facts;

    tls_server_load_facts(s, &facts);
    return facts.name;
}

/* A certificate and its key are rarely written at once: nothing is read while files still change, and what is broken
 * leaves what is there. */
static void new_files_are_taken_once_they_stay(void **state)
{
    struct tls_files files = pem("live.pem", "live.key", "");

    (void)state;
    assert_true(certificates_run(&dir, "cp one.pem live.pem && cp one.key live.key"));
    struct tls_server *s = create(&files);
    assert_int_equal(tls_server_follow(s, false, &ec), TLS_SAME);

    assert_true(certificates_run(&dir, "cp two.pem next && mv next live.pem"));
    assert_int_equal(tls_server_follow(s, false, &ec), TLS_SAME);
    assert_true(certificates_run(&dir, "cp two.key next && mv next live.key"));
    assert_int_equal(tls_server_follow(s, false, &ec), TLS_SAME);
    assert_string_equal(shown(s), "one.test");
    assert_int_equal(tls_server_follow(s, false, &ec), TLS_RELOADED);
    assert_string_equal(shown(s), "two.test");
    assert_true(tls_server_names_host(s, "two.test"));
    assert_int_equal(tls_server_follow(s, false, &ec), TLS_SAME);

    assert_true(certificates_run(&dir, "echo broken > live.pem"));
    assert_int_equal(tls_server_follow(s, false, &ec), TLS_SAME);
    assert_int_equal(tls_server_follow(s, false, &ec), TLS_KEPT);
    assert_non_null(strstr(ec.text, "live.pem has no certificate in PEM"));
    assert_int_equal(tls_server_follow(s, false, &ec), TLS_SAME); /* it is told once */
    assert_string_equal(shown(s), "two.test");

    assert_true(certificates_run(&dir, "rm live.pem"));
    assert_int_equal(tls_server_follow(s, true, &ec), TLS_KEPT);
    assert_string_equal(shown(s), "two.test");
    assert_true(certificates_run(&dir, "cp one.pem live.pem; cp one.key live.key"));
    assert_int_equal(tls_server_follow(s, true, &ec), TLS_RELOADED);
    assert_string_equal(shown(s), "one.test");
    tls_server_destroy(s);
}

static int set_up(void **state)
{
    (void)state;
    bool good =
        certificates_begin(&dir) && certificates_make(&dir, "two") &&
        certificates_run(&dir, "cat one.pem one.key > both.pem") &&
        certificates_run(&dir, "openssl pkcs8 -topk8 -in one.key -passout pass:secret -out locked.key") &&
        certificates_run(&dir, "openssl x509 -in one.pem -outform der -out one.der && : > empty") &&
        certificates_run(&dir, "(cat one.pem; head -n 3 two.pem; echo; echo -----END CERTIFICATE-----) > half.pem") &&
        certificates_run(&dir, "printf '\\376\\355\\376\\355\\0\\0\\0\\2' > server.jks") &&
        certificates_run(&dir, "openssl req -x509 -newkey rsa:1024 -nodes -days 30 -subj /CN=weak -keyout weak.key "
                               "-out weak.pem 2>/dev/null") &&
        certificates_run(&dir, "openssl pkcs12 -export -in one.pem -inkey one.key -name the-one -passout pass:secret "
                               "-out one.p12") &&
        certificates_run(&dir, "openssl pkcs12 -export -legacy -in one.pem -inkey one.key -name the-one -passout "
                               "pass:secret -out old.p12") &&
        certificates_run(&dir, "openssl pkcs12 -export -nokeys -in two.pem -passout pass:secret -out trust.p12");
    return good ? 0 : 1;
}

static int tear_down(void **state)
{
    (void)state;
    certificates_end(&dir);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pem_files),
        cmocka_unit_test(key_stores),
        cmocka_unit_test(who_vouches_for_clients),
        cmocka_unit_test(new_files_are_taken_once_they_stay),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
