/* SPDX-License-Identifier: MIT */
/* xxl_job_info: jobs as their fires need them. */
#include <stdlib.h>

#include "store/conn/datetime.h"
#include "store/conn/session.h"
#include "shardwheel/job.h"
#include "shardwheel/store/plan.h"

/* ---- jobs of fires ----------------------------------------------------------------------------------------- */

#define SPEC_FIRST_TEXT 6
#define SPEC_TEXTS 6

/* The object and its texts are one block. */
static struct job_spec *create_spec(const struct zone *zone, const struct db_rows *rows)
{
    const char *texts[SPEC_TEXTS];
    size_t size = sizeof(struct job_spec);
    int64_t glue_s;

    for (unsigned i = 0; i < SPEC_TEXTS; i++)
        size += str_size(db_text_or_empty(rows, SPEC_FIRST_TEXT + i));
    struct job_spec *job = malloc(size);
    if (!job)
        return NULL;
    char *at = (char *)(job + 1);
    for (unsigned i = 0; i < SPEC_TEXTS; i++)
        texts[i] = str_pack(&at, db_text_or_empty(rows, SPEC_FIRST_TEXT + i));
    *job = (struct job_spec){
        .id = db_int(rows, 0),
        .group = db_int(rows, 1),
        .running = db_int(rows, 2) == 1,
        .childless = db_int(rows, SPEC_FIRST_TEXT + SPEC_TEXTS) == 1,
        .timeout_s = (int)db_int(rows, 3),
        .retry_count = (int)db_int(rows, 4),
        .glue_updated_ms = datetime_parse(zone, db_text(rows, 5), &glue_s) ? glue_s * 1000 : 0,
        .route = texts[0],
        .handler = texts[1],
        .param = db_text(rows, SPEC_FIRST_TEXT + 2) ? texts[2] : NULL,
        .block = texts[3],
        .glue_type = texts[4],
        .glue_source = texts[5],
    };
    job->row_hash = fire_row_hash(job->group, job->handler, job->param, job->retry_count);
    job->route_hash = fire_route_hash(job->route);
    atomic_init(&job->refs, 1);
    return job;
}

static enum err load_some_specs(struct store_session *s, const int64_t *ids, size_t count, struct job_spec **out,
                                struct errctx *ec)
{
    struct db_rows *rows = NULL;
    size_t i = 0;
    enum err e =
        store_query(s, &rows, ec,
                    "SELECT id, job_group, trigger_status, executor_timeout, executor_fail_retry_count, "
                    "glue_updatetime, executor_route_strategy, executor_handler, executor_param, "
                    "executor_block_strategy, glue_type, CASE WHEN glue_type = 'BEAN' THEN '' ELSE glue_source END, "
                    "COALESCE(child_jobid, '') = '' FROM xxl_job_info WHERE id IN (?) ORDER BY id",
                    sql_list(ids, count));

    if (e)
        return e;
    while (db_rows_next(rows) && !e) {
        while (i < count && ids[i] < db_int(rows, 0))
            i++;
        if (i == count)
            break;
        if (ids[i] != db_int(rows, 0) || out[i])
            continue;
        out[i] = create_spec(s->st->zone, rows);
        if (!out[i])
            e = err_set(ec, ERR_NOMEM, "out of memory");
    }
    db_rows_destroy(rows);
    return e;
}

enum err store_load_job_specs(struct store_session *s, const int64_t *ids, size_t count, struct job_spec **out,
                              struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < count; i++)
        out[i] = NULL;
    for (size_t at = 0; at < count && !e; at += STORE_LIST_MAX) {
        size_t n = count - at < STORE_LIST_MAX ? count - at : STORE_LIST_MAX;
        e = load_some_specs(s, ids + at, n, out + at, ec);
    }
    if (!e)
        return ERR_OK;
    for (size_t i = 0; i < count; i++) {
        job_spec_unref(out[i]);
        out[i] = NULL;
    }
    return err_wrap(ec, e, "read %zu jobs", count);
}
