/* SPDX-License-Identifier: MIT */
/*
 * text: the text of one log as it comes, page by page: of what is too long the head and the tail stay. Pure.
 *
 * Memory      About twice `max`, however much comes.
 */
#ifndef KEEP_TEXT_H
#define KEEP_TEXT_H

#include "shardwheel/base.h"

#define KEEP_MARK_MAX 160 /* bytes of the line that says what is missing */

struct keep_text {
    size_t max;      /* bytes in all, but for the marks; at least 16 */
    struct buf head; /* at most a half of that */
    struct buf tail; /* the last that came behind it, at most twice the other half */
    int64_t cut;     /* lines that went between the two */
    bool is_cut;
};

void keep_text_init(struct keep_text *t, size_t max);
void keep_text_fini(struct keep_text *t);
void keep_text_add(struct keep_text *t, const char *text, size_t len); /* UTF-8 */
/* Lines that were not asked for: nothing that comes behind them joins the head. */
void keep_text_skip(struct keep_text *t, int64_t lines);
/* The whole, with a line in the place of what is missing; `goes_on`: and one at its end, for there is more. Out of
 * memory: buf_failed. Nothing comes behind it. */
void keep_text_end(struct keep_text *t, bool goes_on, struct buf *out);

#endif
