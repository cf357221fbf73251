/* SPDX-License-Identifier: MIT */
/*
 * multipart: fields of a body of type multipart/form-data. Pure.
 *
 * Files       Are read as text like any other field, so that `curl -F glueSource=@script.sh` does what it says. What
 *             the file was called is forgotten.
 * Ownership   Fields point into the body, and are not ended by a NUL.
 * Limits      MULTIPART_HEAD_MAX bytes for the lines before each value.
 * Facts       RFC 7578, RFC 2046 section 5.1.
 */
#ifndef HTTP_MULTIPART_H
#define HTTP_MULTIPART_H

#include "shardwheel/base.h"

#define MULTIPART_HEAD_MAX ((size_t)8 * 1024)

/* Bytes as they came: a NUL may be in them, or what is no UTF-8. */
struct multipart_field {
    const char *name, *value;
    size_t name_len, value_len;
};

bool multipart_is(const char *content_type); /* of this type at all; NULL is not */
/* Fields in the order in which they came, `max` at most. ERR_INPUT says what is wrong: no boundary, a body that does
 * not end with it, a field without a name, an encoding that is none of a form's, too many fields. */
MUST_CHECK enum err multipart_parse(const char *content_type, const char *body, size_t len,
                                    struct multipart_field *fields, size_t max, size_t *count, struct errctx *ec);

#endif
