/* SPDX-License-Identifier: MIT */
/* job_impl: what the files of this folder share. Private to store. */
#ifndef STORE_JOB_JOB_IMPL_H
#define STORE_JOB_JOB_IMPL_H

#include "shardwheel/store/jobs.h"
#include "store/conn/rows.h"

/* Settings of one job within a transaction; none set where it has no row. settings.c */
MUST_CHECK enum err store_read_settings(struct store_session *s, int64_t job_id, struct job_settings *out,
                                        struct errctx *ec);
MUST_CHECK enum err store_write_settings(struct store_session *s, const struct job_settings *settings,
                                         struct errctx *ec);
/* As in a claim: ERR_GUARD when no node holds Java admins off. A Java admin writes the next time back that it read
 * before our commit, so this is asked before the row is written and again before the commit. settings.c */
MUST_CHECK enum err store_check_guard(struct store_session *s, struct errctx *ec);
enum err store_no_such_job(int64_t job_id, struct errctx *ec);

const char *job_column_sql(const struct job_column *c, const struct store_features *features);
/* The columns of a SELECT for job_list_read. glue_source is NULL where it has more than max_source bytes; SIZE_MAX: it
 * never is; 0: it always is. */
void job_put_columns(struct sqlbuf *q, const struct store_features *features, size_t max_source);
/* Sends s->sql, which selects those columns. */
MUST_CHECK enum err job_list_read(struct store_session *s, struct job_list *out, struct errctx *ec);
void job_put_value(struct sqlbuf *q, const struct job_row *row, const struct job_column *c);

#endif
