/* SPDX-License-Identifier: MIT */
/*
 * password: forms of stored passwords, and what a name and a password may be. Pure. Private to admin.
 *
 * Forms       32 digits: MD5, up to 3.1, whose column has 50 characters. 64 digits: SHA-256, from 3.2 on.
 */
#ifndef ADMIN_PEOPLE_PASSWORD_H
#define ADMIN_PEOPLE_PASSWORD_H

#include "shardwheel/admin.h"
#include "shardwheel/text.h"

#define WORDS_MIN 4 /* characters of a name and of a password */
#define WORDS_MAX 20
#define STRONG_WORDS_MIN 8 /* of a password that is stored as a strong hash */
#define STRONG_WORDS_MAX 128

/* Takes the same time whatever is stored, "" as well, and says no to what has neither form. */
bool password_fits(const char *stored, const char *given);
bool password_column_is_md5(int column_length);
/* In the form of the column's generation. */
void password_hash(int column_length, const char *password, char out[65]);

/* A value of the column that no password fits, here and in Java admins, and that nobody can guess: as long as no hash
 * is. */
#define PASSWORD_NONE_MAX 42
MUST_CHECK enum err password_make_none(char out[PASSWORD_NONE_MAX], struct errctx *ec);
bool password_is_none(const char *stored); /* it is neither form of a hash */

/* One line for people: REFUSED_INVALID what is no UTF-8 or has control characters, REFUSED_LENGTH by characters, or by
 * those of Java. */
MUST_CHECK enum err check_line(const char *field, struct text_part text, size_t min, size_t max, bool utf16,
                               struct refusal *r);

/* The trimmed text as the caller's. REFUSED_REQUIRED, LENGTH, and for names INVALID. */
MUST_CHECK enum err check_name(const char *text, size_t min, size_t max, char **out, struct refusal *r);
MUST_CHECK enum err check_password(const char *text, bool strong, char **out, struct refusal *r);

#endif
