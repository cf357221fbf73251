/* SPDX-License-Identifier: MIT */
/* key: what is done with a row of the table of keys (keys.h), whatever its kind. Private to config. */
#ifndef CONFIG_KEY_H
#define CONFIG_KEY_H

#include "config/keys.h"

extern const struct key_row key_rows[KEY_COUNT];
const struct key_row *key_find(const char *name); /* by its relaxed name; NULL: there is none */
const char *key_section_title(enum key_section section);
enum key_held key_held(enum key_kind kind);

/* A value between text and field. */
struct key_value {
    int64_t number;
    char *text; /* of what is HELD_TEXT; owned */
};

/* ERR_INPUT when the text is no value of the row's kind or out of bounds; the reason, for which `ec` may be NULL,
 * says only what is wrong with it where that needs words beyond key_write_expected. */
MUST_CHECK enum err key_parse(const struct key_row *row, const char *text, struct key_value *out, struct errctx *ec);
/* Bounds of the row hold for numbers only; key_parse has checked all else. */
bool key_is_in_bounds(const struct key_row *row, int64_t number);
/* The part of key_parse for numbers, and the words a switch, level or coordination can be; numbers.c. */
bool key_parse_number(const struct key_row *row, const char *text, int64_t *out);
void key_write_words(const struct key_row *row, struct buf *out);
/* A phrase to follow "expected". */
void key_write_expected(const struct key_row *row, struct buf *out);

/* Frees what the field held and moves the value in. */
void key_store(const struct key_row *row, struct config *config, struct key_value *value);
bool key_is_equal(const struct key_row *row, const struct config *a, const struct config *b);
MUST_CHECK enum err key_copy(const struct key_row *row, const struct config *from, struct config *to,
                             struct errctx *ec);
/* The value as it would stand in a file; secrets and passwords in URLs are hidden. */
void key_write_value(const struct key_row *row, const struct config *config, struct buf *out);
void key_write_number(const struct key_row *row, int64_t number, struct buf *out);

/* Appends the URL with every password in it replaced. */
void jdbc_url_write_redacted(const char *text, struct buf *out);

#endif
