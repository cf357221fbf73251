/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target for cookies of logins. What is good comes back as it was when it is written and read again. The first
 * byte chooses the kind.
 * Run: session_cookie_fuzz -max_len=4200 -max_total_time=60
 */
#include <stdlib.h>
#include <string.h>

#include "http/session_cookie.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_row(const char *value)
{
    struct session_cookie read, again;
    struct buf out = {0};

    if (row_cookie_read(value, &read) != COOKIE_GOOD)
        return;
    require(*read.secret != '\0');
    row_cookie_put(&out, &(struct user){.name = read.name}, read.secret);
    require(row_cookie_read(out.data, &again) == COOKIE_GOOD);
    require(!strcmp(read.name, again.name) && !strcmp(read.secret, again.secret));
    buf_fini(&out);
}

static void check_token(const char *value)
{
    struct session_cookie read, again;
    struct buf out = {0};

    if (token_cookie_read(value, &read) != COOKIE_GOOD)
        return;
    require(read.user_id > 0 && *read.secret != '\0');
    token_cookie_put(&out, read.user_id, read.secret);
    require(token_cookie_read(out.data, &again) == COOKIE_GOOD);
    require(read.user_id == again.user_id && !strcmp(read.secret, again.secret));
    buf_fini(&out);
}

/* Hexadecimal digits are hard to come by, so the bytes may be what they stand for. */
static void encode_hex(const uint8_t *data, size_t size, struct buf *out)
{
    for (size_t i = 0; i < size; i++)
        buf_printf(out, "%02x", data[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf value = {0};

    if (!size)
        return 0;
    buf_append(&value, "", 0);
    if (data[0] & 2 && data[0] & 1)
        encode_hex(data + 1, size - 1, &value);
    else if (data[0] & 2)
        buf_put_base64(&value, data + 1, size - 1);
    else
        buf_append(&value, data + 1, size - 1);
    if (data[0] & 1)
        check_row(value.data);
    else
        check_token(value.data);
    buf_fini(&value);
    return 0;
}
