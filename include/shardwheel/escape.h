/* SPDX-License-Identifier: MIT */
/*
 * text: foreign text made safe for a column: well-formed UTF-8, of bounded length, with or without HTML escapes. Pure.
 */
#ifndef SHARDWHEEL_ESCAPE_H
#define SHARDWHEEL_ESCAPE_H

#include "shardwheel/base.h"

/* Appends at most about `max` bytes, cut between characters and then ended by "...". What is no UTF-8 becomes U+FFFD,
 * control characters but tab and line ends become blanks. */
void text_put_utf8(struct buf *out, const char *text, size_t len, size_t max);
/* The same, with & < > " ' written as HTML entities (max counts what is written) and line ends as <br>. */
void text_put_html(struct buf *out, const char *text, size_t max);

#endif
