/* SPDX-License-Identifier: MIT */
/* refuse: what a topic says for the refusals of its use cases, as a table. */
#ifndef HTTP_CONSOLE_REFUSE_H
#define HTTP_CONSOLE_REFUSE_H

#include "http/console/console.h"

#define REFUSAL_WORDS 4

struct console_refusal {
    enum refusal_kind kind;
    const char *field;             /* NULL: any, or none */
    enum say words[REFUSAL_WORDS]; /* ended by SAY_END where there are fewer */
};

/* Code 500 with the words of the first row that fits. False: there is none, and nothing was written. */
bool console_refuse_with(struct console_call *call, const struct refusal *refusal, const struct console_refusal *table,
                         size_t count);
/* The same; without a row that fits, console_fail_refusal. */
void console_refuse_by(struct console_call *call, const struct refusal *refusal, const struct console_refusal *table,
                       size_t count);

#endif
