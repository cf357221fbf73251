/* SPDX-License-Identifier: MIT */
/*
 * template: titles and texts of alarms with what they tell of. Pure.
 *
 * {word} stands for a value of the table, {{ for a brace. What a value holds is text and never looked at again.
 */
#ifndef ALARM_TEMPLATE_H
#define ALARM_TEMPLATE_H

#include "shardwheel/base.h"

/* X(word, what it is) */
#define TEMPLATE_WORDS(X)                                                                                              \
    X(event, "what happened: \"Job failed\", \"Job failed 5 times\", \"Job works again\"")                             \
    X(job, "description of the job")                                                                                   \
    X(job_id, "its id")                                                                                                \
    X(group, "title of its executor group")                                                                            \
    X(app, "app name of that group")                                                                                   \
    X(log, "id of the log row")                                                                                        \
    X(code, "the code that it ended with")                                                                             \
    X(reason, "why, as text")                                                                                          \
    X(time, "when it was triggered, as the console shows it")                                                          \
    X(count, "how many failures the message stands for")                                                               \
    X(node, "name of the node that sends the message")                                                                 \
    X(link, "the job's log in the console, where shardwheel.alarm.link is set")

struct template_values {
#define TEMPLATE_FIELD(word, what) const char *word;
    TEMPLATE_WORDS(TEMPLATE_FIELD)
#undef TEMPLATE_FIELD
};

/* ERR_INPUT says at which character what is wrong. */
MUST_CHECK enum err template_check(const char *text, struct errctx *ec);
/* Those of the settings; the text begins with the key. */
MUST_CHECK enum err templates_check(const char *title, const char *text, struct errctx *ec);
/* Appends; `text` was checked. NULL values count as "". Each value gives value_max bytes at most. */
void template_put(struct buf *out, const char *text, const struct template_values *values, size_t value_max);

#endif
