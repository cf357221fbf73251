/* SPDX-License-Identifier: MIT */
/*
 * form: fields of a query or of a body of type application/x-www-form-urlencoded, and cookies. Pure.
 *
 * Ownership   A form owns a copy of what it was read from.
 * Limits      FORM_FIELDS_MAX fields.
 */
#ifndef HTTP_FORM_H
#define HTTP_FORM_H

#include "shardwheel/base.h"

#define FORM_FIELDS_MAX 1000

struct form_field {
    const char *name, *value; /* decoded, without a NUL inside; bytes that are no UTF-8 stand as they came */
};

struct form {
    struct form_field *fields; /* in the order in which they came */
    size_t count;
    char *memory;
};

/* ERR_INPUT names the field: a % without two hexadecimal digits, a NUL, too many. One without "=" has the value "". */
MUST_CHECK enum err form_parse(const char *text, size_t len, struct form *out, struct errctx *ec);
const char *form_get(const struct form *form,
                     const char *name); /* the first of that name, in exactly this case; NULL */
void form_fini(struct form *form);
/* In place. False when a % has no two hexadecimal digits behind it, or they say NUL. */
bool percent_decode(char *text, bool plus_is_blank);
/* Of either alphabet, with padding or without; ended by a NUL that *len does not count. False when it is none, or may
 * not fit. */
bool base64_read(const char *text, char *out, size_t size, size_t *len);
/* The cookie of that name in the value of a field "Cookie", without quotes; false when absent or longer than out can
 * hold. */
bool cookie_find(const char *header, const char *name, char *out, size_t size);

#endif
