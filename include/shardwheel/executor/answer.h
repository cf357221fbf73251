/* SPDX-License-Identifier: MIT */
/*
 * answer: what an executor's answer to a trigger, beat, idleBeat or kill means. Pure.
 *
 * Accepted by the executor is only HTTP 200 with a JSON object that has an integer `code` (a number, or the same as
 * text); that code is stored as it comes, and 200 alone means that the job was taken. Everything else is a failure with
 * code 500 and a text that quotes the start of the answer: 0 or no code would leave a row that no monitor ever closes.
 *
 * Cost        A few milliseconds for the longest answer, whatever is in it: of one beyond 4 KiB only the members that
 *             count are parsed, and the rest is skipped by its brackets and quotes.
 */
#ifndef SHARDWHEEL_EXECUTOR_ANSWER_H
#define SHARDWHEEL_EXECUTOR_ANSWER_H

#include "shardwheel/base.h"
#include "shardwheel/job/codes.h"

struct answer {
    int code;           /* for trigger_code; never 0 */
    bool from_executor; /* the executor gave the code and the text is its msg, else the text is our reason */
    bool unknown_path;  /* the executor does not know the path: nothing was started, the other one may be tried */
    char *text;         /* UTF-8, at most about 16 KB; NULL when the executor sent no msg (or when out of memory) */
};

/* `path` is the one the request went to (request_path). Free with answer_fini. */
void answer_parse(int http_status, const char *body, size_t len, const char *path, struct answer *out);
/* The same, never by the short way that answer_parse has for the common forms of success. */
void answer_parse_fully(int http_status, const char *body, size_t len, const char *path, struct answer *out);
void answer_fini(struct answer *answer);

#endif
