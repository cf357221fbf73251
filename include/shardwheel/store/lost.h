/* SPDX-License-Identifier: MIT */
/*
 * store/lost: runs that an executor has accepted and of which no result has come, and the end of those that are lost.
 * See store/conn.h for threads, ownership and errors.
 *
 * A lost run ends with handle_code 500 and a reason behind LOST_MARK in handle_msg. A callback that says 200 still
 * overwrites it (store_write_callbacks); every other one counts as repeated.
 */
#ifndef SHARDWHEEL_STORE_LOST_H
#define SHARDWHEEL_STORE_LOST_H

#include "shardwheel/store/conn.h"

#define LOST_MARK "<!--sw:l-->" /* an HTML comment, which consoles do not show */

/* A row with trigger_code 200 and handle_code 0. */
struct open_run {
    int64_t id;
    int64_t job_id;
    int64_t group;
    int64_t triggered_s; /* INT64_MIN: the row has no time */
    const char *address; /* "" for NULL */
};
/* Ascending by id; rows were looked at up to until_id. */
STORE_LIST(open_runs, struct open_run, rows, int64_t until_id;);
/* Those above after_id and up to until_id, of the next `max` rows without a result: one piece of a walk, which goes on
 * at out->until_id until that is until_id. By the index of handle_code, where the schema has it. */
MUST_CHECK enum err store_load_open_runs(struct store_session *s, int64_t after_id, int64_t until_id, size_t max,
                                         struct open_runs *out, struct errctx *ec);
MUST_CHECK enum err store_load_newest_log(struct store_session *s, int64_t *id, struct errctx *ec);
/* Of these ids (ascending) those whose run is still open, to the front. */
MUST_CHECK enum err store_keep_open_runs(struct store_session *s, int64_t *ids, size_t *count, struct errctx *ec);

/* Every address that is registered, of whatever application and however old its beat: ascending, by bytes. */
STORE_LIST(address_list, const char *, list);
MUST_CHECK enum err store_load_addresses(struct store_session *s, struct address_list *out, struct errctx *ec);
/* The same question for one address, as the original compares them: by the collation of the column. */
MUST_CHECK enum err store_is_registered(struct store_session *s, const char *address, bool *out, struct errctx *ec);

/* One transaction: ends those of these runs (ascending, distinct) that are still open. A job whose lost runs are to be
 * sent again (resend_lost) gets one retry more, which the failure monitor makes of it; not where LOST_RESENDS_MAX runs
 * of its chain were lost before, which the row says, and not for a step of a flow, which makes its tries by itself. */
MUST_CHECK enum err store_end_lost(struct store_session *s, const int64_t *ids, const int64_t *job_ids, size_t count,
                                   const char *reason, int64_t now_s, size_t *ended, struct errctx *ec);

#endif
