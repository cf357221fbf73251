/* SPDX-License-Identifier: MIT */
/*
 * markup: messages of log rows as others may read them. Pure.
 *
 * trigger_msg and handle_msg are HTML as we write them and anything as others do.
 */
#ifndef SHARDWHEEL_MARKUP_H
#define SHARDWHEEL_MARKUP_H

#include "shardwheel/base.h"

/* As text: line ends for <br>, no tags and marks of ours, entities as characters, all else as it is; `max` bytes at
 * most. */
void markup_put_plain(struct buf *out, const char *text, size_t max);
/* As HTML: line ends and entities stay, all else is text. */
void markup_put_html(struct buf *out, const char *text);

#endif
