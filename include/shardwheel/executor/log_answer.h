/* SPDX-License-Identifier: MIT */
/*
 * log_answer: what an executor answers to a request for lines of a run's log. Pure.
 *
 * Forms       The lines are in `data` (3.3 and later, Python) or `content` (before, Go, Python). An executor sends all
 *             that it has from the line asked for on; of an answer that was cut for its length the whole lines are
 *             taken, and the next call goes on behind them. A line that is too long by itself is cut.
 * Cost        Milliseconds for the longest answer, and a copy or two of it.
 */
#ifndef SHARDWHEEL_EXECUTOR_LOG_ANSWER_H
#define SHARDWHEEL_EXECUTOR_LOG_ANSWER_H

#include "shardwheel/executor/answer.h"

struct log_answer {
    struct answer answer; /* its code is CODE_OK where a page came; else it says why not */
    /* Of a page: */
    int64_t from_line; /* as asked for */
    int64_t to_line;   /* of the last line that came; from_line - 1: no further line is there yet */
    int64_t last_line; /* the last that the executor has, as it says, also with an answer that was cut; 0: not known */
    bool is_end;       /* as the executor says; the run itself may go on all the same */
    bool is_missing;   /* there is no log of this run (yet): the content is the executor's sentence about that */
    char *content;     /* UTF-8 without control characters but tabs, line ends and ESC; "" where nothing came */
    size_t len;
};

/* `cut`: the body goes on beyond `len` (http_answer.cut). Free with log_answer_fini. */
void log_answer_parse(int http_status, const char *body, size_t len, bool cut, int64_t from_line,
                      struct log_answer *out);
void log_answer_fini(struct log_answer *answer);

#endif
