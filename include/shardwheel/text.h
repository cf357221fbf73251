/* SPDX-License-Identifier: MIT */
/*
 * text: foreign text made safe: the one UTF-8 decoder, cuts between characters, HTML escapes; and lists, instants
 * and mail addresses in it. JSON strings are written by buf_put_json (base.h). Pure.
 */
#ifndef SHARDWHEEL_TEXT_H
#define SHARDWHEEL_TEXT_H

#include "shardwheel/base.h"

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Length of the character at `text`, of which `left` bytes are there (left > 0); 0 where none begins: shortest forms
 * only, no surrogates, nothing beyond U+10FFFF. A NUL is a character of one byte. */
size_t utf8_measure(const char *text, size_t left);
bool utf8_is_valid(const char *text, size_t len);
/* The longest start of at most `max` bytes that does not end within a character; `max` of what is no UTF-8 at all. */
size_t utf8_cut(const char *text, size_t len, size_t max);
/* Its characters, as columns count them; `utf16`: its units of UTF-16, as Java does. A byte of no character is one. */
size_t utf8_count(const char *text, size_t len, bool utf16);

/* Appends the character, which is none of a surrogate pair. */
void utf8_put(struct buf *out, uint32_t code);

/* Appends at most about `max` bytes, cut between characters and then ended by "...". What is no UTF-8 becomes U+FFFD,
 * control characters but tab and line ends become blanks. */
void text_put_utf8(struct buf *out, const char *text, size_t len, size_t max);
/* The same, with & < > " ' written as HTML entities (max counts what is written) and line ends as <br>. */
void text_put_html(struct buf *out, const char *text, size_t len, size_t max);
/* Of & < > " ': what stands for it in HTML. */
struct html_entity {
    const char *plain, *html;
};
const struct html_entity *html_find_entity(char c);           /* NULL: the character stands for itself */
const struct html_entity *html_read_entity(const char *text); /* which begins with it; NULL: with none */
/* In lines that begin with `prefix` and are at most `width` bytes wide, as far as words allow. */
void text_put_wrapped(struct buf *out, const char *prefix, const char *text, size_t width);

bool text_has_control(const char *text, size_t len); /* a control character of ASCII */

/* A part of a text that is somebody else's, not ended by a NUL. */
struct text_part {
    const char *at;
    size_t len;
};
/* Without what is not above a blank at both ends, as String.trim of Java. */
struct text_part text_trim(const char *text);
struct text_part text_trim_part(struct text_part part);
/* Without blanks and tabs at both ends, and nothing else: of what protocols say. */
struct text_part text_trim_blanks(struct text_part part);

/* The next item of a list with commas between them; *list moves behind it. False: there is none; nothing stands behind
 * a last comma. */
bool text_next_item(const char **list, struct text_part *item);
/* In a text that may be changed: the next item that is not blank, trimmed and ended by a NUL there; NULL: there is
 * none. */
char *text_cut_item(char **list);
size_t text_count_items(const char *list); /* empty ones and an empty list too: room for as many is enough */
/* An item is just this; NULL: there is none. */
bool text_list_has(const char *list, const char *word);
bool text_list_has_part(const char *list, struct text_part word);

/* 2026-11-22T16:00:00.000Z, or with another zone and other digits of the second; years 1970 to 9999. */
bool instant_parse(const char *text, int64_t *out_ms);

#define MAIL_ADDRESS_MAX 254 /* bytes */
/* local@domain in plain ASCII, as it may stand in an envelope and in a header. */
bool mail_is_address(const char *text);

#endif
