/* SPDX-License-Identifier: MIT */
/* Certificates and keys from files, and what is wrong with them in words that name the key and the file. */
#include "http/tls/impl.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define FILE_MAX ((size_t)4 << 20) /* a bundle of all authorities there are has some 200 KB */

#define CERTIFICATE "server.ssl.certificate"
#define PRIVATE_KEY "server.ssl.certificate-private-key"
#define STORE "server.ssl.key-store"
#define TRUST "server.ssl.trust-certificate"
#define TRUST_STORE "server.ssl.trust-store"

static bool is_set(const char *text)
{
    return text && *text;
}

const char *tls_openssl_reason(char out[200])
{
    unsigned long code = ERR_peek_last_error();
    const char *reason = code ? ERR_reason_error_string(code) : NULL;

    snprintf(out, 200, "%s", reason ? reason : code ? "unknown" : "the reason is not known");
    ERR_clear_error();
    return out;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

const char *tls_path_of(const char *value)
{
    if (strncasecmp(value, "file:", 5) != 0)
        return value;
    value += 5;
    return strncmp(value, "//", 2) ? value : value + 2;
}

static enum err read_file(const char *key, const char *value, struct buf *out, struct errctx *ec)
{
    const char *path = tls_path_of(value);
    struct errctx why;

    if (!strncasecmp(value, "classpath:", 10) || !strncmp(value, "-----BEGIN", 10))
        return err_set(ec, ERR_INPUT, "%s: give the path of a file", key);
    enum err e = file_read(path, 0, FILE_MAX, out, &why);
    if (e == ERR_NOMEM)
        return err_set(ec, e, "out of memory for %s", key);
    if (e)
        return err_set(ec, ERR_INPUT, "%s: cannot read %.300s: %s", key, path, why.text);
    return out->len > FILE_MAX ? err_set(ec, ERR_INPUT, "%s: %.300s is too large", key, path) : ERR_OK;
}

/* It may have a key in it. */
static void forget(struct buf *bytes)
{
    if (bytes->data)
        OPENSSL_cleanse(bytes->data, bytes->len);
    buf_fini(bytes);
}

static bool begins_with(const struct buf *bytes, const char *magic)
{
    return bytes->len >= 4 && !memcmp(bytes->data, magic, 4);
}

/* A key store in Java's own format, which only Java reads. */
static bool is_jks(const struct buf *bytes)
{
    return begins_with(bytes, "\xfe\xed\xfe\xed") || begins_with(bytes, "\xce\xce\xce\xce");
}

static enum err refuse_jks(const char *key, const char *path, struct errctx *ec)
{
    size_t len = strlen(path);
    size_t stem =
        len > 4 && (!strcasecmp(path + len - 4, ".jks") || !strcasecmp(path + len - 4, ".jck")) ? len - 4 : len;

    return err_set(ec, ERR_INPUT,
                   "%s: %.180s is a JKS key store, which only Java reads. To convert it to PKCS12: keytool "
                   "-importkeystore -srckeystore %.180s -destkeystore %.*s.p12 -deststoretype PKCS12",
                   key, path, path, stem > 176 ? 176 : (int)stem, path);
}

/* ---- PEM --------------------------------------------------------------------------------------------------------- */

static enum err refuse_pem(const char *key, const char *path, const struct buf *bytes, const char *what,
                           struct errctx *ec)
{
    ERR_clear_error();
    if (is_jks(bytes))
        return refuse_jks(key, path, ec);
    if (bytes->len && bytes->data[0] == 0x30)
        return err_set(ec, ERR_INPUT, "%s: %.300s is not PEM, but a DER or PKCS12 file (a PKCS12 is for " STORE ")",
                       key, path);
    return err_set(ec, ERR_INPUT, "%s: %.300s has no %s in PEM", key, path, what);
}

/* All of the file, at least one. */
static enum err read_certificates(const char *key, const char *value, STACK_OF(X509) * *out, struct errctx *ec)
{
    struct buf bytes = {0};
    STACK_OF(X509) *list = NULL;
    BIO *bio = NULL;
    X509 *one;
    enum err e = read_file(key, value, &bytes, ec);

    if (e)
        goto out;
    bio = BIO_new_mem_buf(bytes.len ? bytes.data : "", (int)bytes.len);
    list = sk_X509_new_null();
    if (!bio || !list) {
        e = err_set(ec, ERR_NOMEM, "out of memory for %s", key);
        goto out;
    }
    while ((one = PEM_read_bio_X509(bio, NULL, NULL, NULL)))
        sk_X509_push(list, one);
    if (sk_X509_num(list) > 0 && ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) {
        char reason[200];
        e = err_set(ec, ERR_INPUT, "%s: certificate %d in %.300s is broken: %s", key, sk_X509_num(list) + 1,
                    tls_path_of(value), tls_openssl_reason(reason));
        goto out;
    }
    ERR_clear_error(); /* the end of the file is one, too */
    if (!sk_X509_num(list)) {
        e = refuse_pem(key, tls_path_of(value), &bytes, "certificate", ec);
        goto out;
    }
    *out = list;
    list = NULL;
out:
    BIO_free(bio);
    sk_X509_pop_free(list, X509_free);
    forget(&bytes);
    return e;
}

struct password {
    const char *text;
    bool was_asked;
};

static int give_password(char *out, int size, int writes, void *arg)
{
    struct password *p = arg;
    size_t len = is_set(p->text) ? strlen(p->text) : 0;

    (void)writes;
    p->was_asked = true;
    if (!len || len > (size_t)size)
        return -1;
    memcpy(out, p->text, len);
    return (int)len;
}

static enum err read_key(const struct tls_files *files, EVP_PKEY **out, struct errctx *ec)
{
    bool beside = !is_set(files->key);
    const char *name = beside ? CERTIFICATE : PRIVATE_KEY, *value = beside ? files->certificate : files->key;
    struct password password = {.text = files->key_password};
    struct buf bytes = {0};
    enum err e = read_file(name, value, &bytes, ec);

    if (!e) {
        BIO *bio = BIO_new_mem_buf(bytes.len ? bytes.data : "", (int)bytes.len);
        *out = bio ? PEM_read_bio_PrivateKey(bio, NULL, give_password, &password) : NULL;
        BIO_free(bio);
        if (!*out && password.was_asked)
            e = err_set(ec, ERR_INPUT, "%s-password: %s for the key in %.300s", PRIVATE_KEY,
                        is_set(files->key_password) ? "is wrong" : "is needed", tls_path_of(value));
        else if (!*out && beside && !is_jks(&bytes) &&
                 memmem(bytes.data ? bytes.data : "", bytes.len, "-----BEGIN", 10))
            e = err_set(ec, ERR_INPUT, PRIVATE_KEY " is not set, and %.300s has no private key", tls_path_of(value));
        else if (!*out)
            e = refuse_pem(name, tls_path_of(value), &bytes, "private key", ec);
    }
    ERR_clear_error();
    forget(&bytes);
    return e;
}

static enum err load_pem(const struct tls_files *files, struct tls_identity *id, struct errctx *ec)
{
    enum err e = read_certificates(CERTIFICATE, files->certificate, &id->chain, ec);

    if (e)
        return e;
    id->certificate = sk_X509_shift(id->chain);
    e = read_key(files, &id->key, ec);
    if (e)
        return e;
    if (!X509_check_private_key(id->certificate, id->key)) {
        ERR_clear_error();
        return err_set(
            ec, ERR_INPUT, PRIVATE_KEY ": the key in %.200s does not match the (first) certificate in %.200s",
            tls_path_of(is_set(files->key) ? files->key : files->certificate), tls_path_of(files->certificate));
    }
    return ERR_OK;
}

/* ---- PKCS12 ------------------------------------------------------------------------------------------------------ */

/* Key stores that Java wrote before 2021 have ciphers that OpenSSL keeps apart. */
static bool parse_store(PKCS12 *store, const char *password, struct tls_identity *id)
{
    if (PKCS12_parse(store, password, &id->key, &id->certificate, &id->chain))
        return true;
    OSSL_PROVIDER *legacy = OSSL_PROVIDER_try_load(NULL, "legacy", /*retain_fallbacks=*/1);
    if (!legacy)
        return false;
    ERR_clear_error();
    tls_identity_fini(id);
    bool good = PKCS12_parse(store, password, &id->key, &id->certificate, &id->chain);
    OSSL_PROVIDER_unload(legacy);
    return good;
}

static enum err load_store(const char *key, const char *value, const char *password, struct tls_identity *id,
                           struct errctx *ec)
{
    const char *path = tls_path_of(value);
    struct buf bytes = {0};
    PKCS12 *store = NULL;
    char reason[200];
    enum err e = read_file(key, value, &bytes, ec);

    if (!e && is_jks(&bytes))
        e = refuse_jks(key, path, ec);
    if (!e) {
        const unsigned char *at = (const unsigned char *)bytes.data;
        store = bytes.len ? d2i_PKCS12(NULL, &at, (long)bytes.len) : NULL;
        if (!store)
            e = err_set(ec, ERR_INPUT, "%s: %.300s is not a PKCS12 key store%s", key, path,
                        begins_with(&bytes, "----") ? " but PEM: see " CERTIFICATE : "");
    }
    password = password ? password : "";
    if (!e && PKCS12_mac_present(store) && !PKCS12_verify_mac(store, password, -1))
        e = err_set(ec, ERR_INPUT, "%s-password: is %s for %.300s", key, *password ? "wrong" : "needed", path);
    if (!e && !parse_store(store, password, id))
        e = err_set(ec, ERR_INPUT,
                    "%s: %.250s cannot be read (%s). Write it again with a current keytool or openssl pkcs12", key,
                    path, tls_openssl_reason(reason));
    ERR_clear_error();
    PKCS12_free(store);
    forget(&bytes);
    return e;
}

static bool has_alias(X509 *certificate, const char *alias)
{
    int len = 0;
    const unsigned char *name = X509_alias_get0(certificate, &len);

    return name && (size_t)len == strlen(alias) && !strncasecmp((const char *)name, alias, (size_t)len);
}

static enum err load_pkcs12(const struct tls_files *files, struct tls_identity *id, struct errctx *ec)
{
    const char *path = tls_path_of(files->store);
    enum err e = ERR_OK;

    if (is_set(files->store_key_password) &&
        strcmp(files->store_key_password, files->store_password ? files->store_password : "") != 0)
        e = err_set(ec, ERR_INPUT,
                    "server.ssl.key-password: the key of a PKCS12 has the password of its store: omit this key");
    if (!e)
        e = load_store(STORE, files->store, files->store_password, id, ec);
    if (!e && (!id->key || !id->certificate))
        e = err_set(ec, ERR_INPUT, STORE ": %.300s has no private key with its certificate", path);
    if (!e && is_set(files->store_alias) && !has_alias(id->certificate, files->store_alias)) {
        int len = 0;
        const unsigned char *name = X509_alias_get0(id->certificate, &len);
        e = err_set(
            ec, ERR_INPUT,
            "server.ssl.key-alias: the first entry of %.150s is \"%.*s\". To make a key store of the other one: "
            "keytool -importkeystore -srckeystore %.150s -srcalias %.50s -destkeystore one.p12",
            path, name ? len : 0, name ? (const char *)name : "", path, files->store_alias);
    }
    return e;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

void tls_identity_fini(struct tls_identity *id)
{
    EVP_PKEY_free(id->key);
    X509_free(id->certificate);
    sk_X509_pop_free(id->chain, X509_free);
    *id = (struct tls_identity){0};
}

enum err tls_identity_load(const struct tls_files *files, struct tls_identity *out, struct errctx *ec)
{
    struct tls_identity id = {0};
    enum err e = is_set(files->store) ? load_pkcs12(files, &id, ec) : load_pem(files, &id, ec);

    if (e) {
        tls_identity_fini(&id);
        return e;
    }
    *out = id;
    return ERR_OK;
}

enum err tls_trust_load(const struct tls_files *files, STACK_OF(X509) * *out, struct errctx *ec)
{
    struct tls_identity id = {0};

    if (is_set(files->trust))
        return read_certificates(TRUST, files->trust, out, ec);
    if (!is_set(files->trust_store))
        return err_set(ec, ERR_INPUT, "server.ssl.client-auth needs " TRUST " or " TRUST_STORE);
    enum err e = load_store(TRUST_STORE, files->trust_store, files->trust_store_password, &id, ec);
    if (!e && sk_X509_num(id.chain) < 1)
        e = err_set(ec, ERR_INPUT, TRUST_STORE ": %.300s has no certificate", tls_path_of(files->trust_store));
    if (!e) {
        *out = id.chain;
        id.chain = NULL;
    }
    tls_identity_fini(&id);
    return e;
}

/* ---- what stands in it ------------------------------------------------------------------------------------------- */

static int64_t to_seconds(const ASN1_TIME *time)
{
    struct tm tm;

    return ASN1_TIME_to_tm(time, &tm) ? (int64_t)timegm(&tm) : 0;
}

/* Of the names that count, or the common one, for people. */
static void read_name(X509 *certificate, char *out, size_t size)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);

    *out = '\0';
    for (int i = 0; i < sk_GENERAL_NAME_num(names) && !*out; i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        if (name->type == GEN_DNS)
            snprintf(out, size, "%.*s", ASN1_STRING_length(name->d.dNSName),
                     (const char *)ASN1_STRING_get0_data(name->d.dNSName));
    }
    GENERAL_NAMES_free(names);
    if (!*out && X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, out, (int)size) < 0)
        *out = '\0';
}

void tls_read_facts(X509 *certificate, struct tls_facts *out)
{
    *out = (struct tls_facts){.from_s = to_seconds(X509_get0_notBefore(certificate)),
                              .until_s = to_seconds(X509_get0_notAfter(certificate))};
    read_name(certificate, out->name, sizeof out->name);
    ERR_clear_error();
}

bool tls_names_host(X509 *certificate, const char *host)
{
    bool good = X509_check_ip_asc(certificate, host, 0) == 1 || X509_check_host(certificate, host, 0, 0, NULL) == 1;

    ERR_clear_error();
    return good;
}
