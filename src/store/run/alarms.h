/* SPDX-License-Identifier: MIT */
/* alarms: new failures on their way to shardwheel_alarm. Private to store. */
#ifndef STORE_RUN_ALARMS_H
#define STORE_RUN_ALARMS_H

#include "shardwheel/store/run.h"

/* Within the transaction that deals with those rows (ascending by id; the distinct ids of their jobs, ascending):
 * counts those that are ALARM_LOCKED in shardwheel_alarm. Of a job that is not quiet, and of which no failure waits to
 * be told, the first one stays ALARM_LOCKED; all others become ALARM_DONE and `grouped`. */
MUST_CHECK enum err store_note_failures(struct store_session *s, struct failed_row *rows, size_t count,
                                        const int64_t *job_ids, size_t job_count, struct errctx *ec);

#endif
