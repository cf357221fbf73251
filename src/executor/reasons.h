/* SPDX-License-Identifier: MIT */
/* reasons: why a request ended without an answer, in the same words whoever spoke, http_client or libcurl. */
#ifndef EXECUTOR_REASONS_H
#define EXECUTOR_REASONS_H

#include <string.h>

#define REASON_ABORTED "aborted"
#define REASON_REFUSED "not sent"
#define REASON_LATE "no answer in time"
#define REASON_LATE_TO_CONNECT "cannot connect: no answer in time"
#define REASON_NO_ANSWER "the connection ended without an answer"
#define REASON_HALF_ANSWER "the connection ended within the answer"
#define REASON_NO_HTTP "the answer is no HTTP"
#define REASON_TOO_LONG "the answer is longer than 1 MiB"

/* Of an errno of a connection that does not come about. */
static inline const char *reason_of_errno(int number)
{
    const char *name = strerrordesc_np(number);

    return name ? name : "cannot connect";
}

#endif
