/* SPDX-License-Identifier: MIT */
/* answer: an answer, with the sentence that says why. Private to directory. */
#ifndef DIRECTORY_ANSWER_H
#define DIRECTORY_ANSWER_H

#include "shardwheel/directory.h"

/* Gives back `answer`. */
PRINTF_LIKE(3, 4)
enum directory_answer answer_set(struct errctx *ec, enum directory_answer answer, const char *fmt, ...);
enum directory_answer answer_no_memory(struct errctx *ec); /* BROKEN */

#endif
