/* SPDX-License-Identifier: MIT */
/* restore_impl: what the files of this folder share. All of it runs in the one transaction of store_after_restore. */
#ifndef STORE_RESTORE_RESTORE_IMPL_H
#define STORE_RESTORE_RESTORE_IMPL_H

#include "shardwheel/store/restore.h"
#include "store/conn/rows.h"

struct restore {
    struct store_session *s;
    const struct restore_order *order;
    struct restore_result *out;
};

/* Not in a dry run: the statement under construction; or a whole one, see store_exec. */
MUST_CHECK enum err restore_write(struct restore *r, struct errctx *ec);
#define restore_change(r, ec, ...) (store_sql((r)->s, __VA_ARGS__), restore_write(r, ec))
/* One more entry: several of a job become one at the end. */
MUST_CHECK enum err restore_note(struct restore *r, const struct restored_job *job, struct errctx *ec);

/* rows.c: rows of the log that are open, or failed and not dealt with. */
MUST_CHECK enum err restore_rows(struct restore *r, struct errctx *ec);
/* later.c: later rows that are due. */
MUST_CHECK enum err restore_later(struct restore *r, struct errctx *ec);
/* jobs.c: next times; the ids of the log, before any row is written. */
MUST_CHECK enum err restore_ids(struct restore *r, struct errctx *ec);
MUST_CHECK enum err restore_jobs(struct restore *r, struct errctx *ec);
/* flows.c: runs that were open; next times. */
MUST_CHECK enum err restore_flows(struct restore *r, struct errctx *ec);
/* Rows for due times that may have run. */
MUST_CHECK enum err restore_insert_rows(struct restore *r, const struct restored_job *jobs, size_t count,
                                        struct errctx *ec);

#endif
