/* SPDX-License-Identifier: MIT */
/* The one file that includes OpenSSL. Its headers have an ERR_STATE too, so that name is moved out of the way. */
#define ERR_STATE openssl_err_state
#include <openssl/evp.h>
#include <openssl/hmac.h>
#undef ERR_STATE

#include "shardwheel/base.h"

#include <stdlib.h>
#include <string.h>

/* OpenSSL fails here only when it was built without the digest: nothing of ours could work then. */
static void digest(const EVP_MD *md, const void *data, size_t len, unsigned char *out)
{
    if (EVP_Digest(data, len, out, NULL, md, NULL) != 1)
        abort();
}

void md5_digest(const void *data, size_t len, unsigned char out[16])
{
    digest(EVP_md5(), data, len, out);
}

void md5_hex(const void *data, size_t len, char out[33])
{
    unsigned char bytes[16];

    md5_digest(data, len, bytes);
    hex_write(bytes, sizeof bytes, out);
}

void sha256_digest(const void *data, size_t len, unsigned char out[32])
{
    digest(EVP_sha256(), data, len, out);
}

void sha256_hex(const char *text, char out[65])
{
    unsigned char bytes[32];

    sha256_digest(text, strlen(text), bytes);
    hex_write(bytes, sizeof bytes, out);
}

void hmac_sha256(const char *key, const char *text, unsigned char out[32])
{
    unsigned int len = 32;

    if (!HMAC(EVP_sha256(), key, (int)strlen(key), (const unsigned char *)text, strlen(text), out, &len))
        abort();
}

void hmac_sha256_hex(const char *key, const char *text, char out[65])
{
    unsigned char bytes[32];

    hmac_sha256(key, text, bytes);
    hex_write(bytes, sizeof bytes, out);
}

void hmac_sha1(const void *key, size_t key_len, const void *data, size_t len, unsigned char out[20])
{
    unsigned int out_len = 20;

    if (!HMAC(EVP_sha1(), key, (int)key_len, data, len, out, &out_len))
        abort();
}
