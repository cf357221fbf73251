/* SPDX-License-Identifier: MIT */
/* callbacks_expected: the short way in which results are stored. Private to store. */
#ifndef STORE_RUN_CALLBACKS_EXPECTED_H
#define STORE_RUN_CALLBACKS_EXPECTED_H

#include "shardwheel/store/run.h"
#include "store/conn/session.h"

#define CALLBACK_MESSAGE_UNITS 15000 /* of UTF-16, as the original cuts handle_msg */

/* A condition on a row as it was before the blanks behind its text are trimmed: it was written ahead, as sent to its
 * address, and waits for its code alone. */
#define CALLBACK_PROVES_SENT "trigger_code = 0 AND executor_address IS NOT NULL AND trigger_msg LIKE '<!--sw:p:%-->_%'"

/* A transaction of its own that takes for granted what nearly always holds: each row is there, open, without an older
 * message, and without a result of its dispatch where the entry brings one along. The statement says so and counts the
 * rows; if one is missing, or the entries do not suit, nothing is written and *written is false. Log ids must
 * differ. */
MUST_CHECK enum err store_write_expected(struct store_session *s, struct callback_entry *entries, size_t count,
                                         int64_t now_s, bool *written, struct errctx *ec);

#endif
