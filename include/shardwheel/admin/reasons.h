/* SPDX-License-Identifier: MIT */
/*
 * admin/reasons: why a run did not go well, as a code that is the same in every language. Known are the words of nodes,
 * and the standard ones of executors and Java admins: whatever a handler says itself has no code. Pure.
 */
#ifndef SHARDWHEEL_ADMIN_REASONS_H
#define SHARDWHEEL_ADMIN_REASONS_H

#include "shardwheel/admin/explain.h"
#include "shardwheel/store/runs.h"

/* Those of enum explain_cause come first, with their names; 0 is none. */
enum run_reason {
    REASON_NONE = CAUSE_NONE,
    REASON_CONNECTION_REFUSED = CAUSES,
    REASON_CONNECT_TIMEOUT,
    REASON_HOST_UNKNOWN,
    REASON_HTTP_STATUS, /* value: the status */
    REASON_BAD_ANSWER,
    REASON_DELIVERY_UNKNOWN,
    REASON_BLOCK_DISCARD_LATER,
    REASON_BLOCK_COVER_EARLY,
    REASON_TIME_LIMIT,
    REASON_KILLED, /* value: by whom, where that is known */
    REASON_FLOW_CANCELLED,
    REASON_EXECUTOR_STOPPED,
    REASON_NO_HANDLER, /* value: its name */
    REASON_REPEATED,
    REASON_NO_RESULT,
    REASON_SCRIPT_EXIT,        /* value: the exit code */
    REASON_TYPE_NOT_SUPPORTED, /* value: of GLUE */
    REASON_WRONG_TOKEN,
    REASON_UNKNOWN_PATH, /* value: of the request */
    REASON_LOST,
    REASON_LOST_UNREGISTERED,
    REASON_LOST_LEFT,
    REASON_LOST_IDLE,
    REASONS
};
const char *run_reason_name(enum run_reason reason); /* "connection-refused", ... */

/* Texts as they stand in the row. */
struct run_said {
    enum run_state state;
    int handle_code;
    const char *trigger_msg; /* or its end; may be NULL, as the next one */
    const char *handle_msg;
};
/* Appends the value that belongs to it. */
enum run_reason run_find_reason(const struct run_said *said, struct buf *value);
/* The same as its name; NULL: none. */
const char *run_said_name(const struct run_said *said, struct buf *value);

#endif
