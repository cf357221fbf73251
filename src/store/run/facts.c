/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "shardwheel/store/run.h"
#include "store/conn/datetime.h"
#include "store/conn/session.h"

enum err store_load_run(struct store_session *s, int64_t log_id, struct run_facts *out, struct errctx *ec)
{
    struct store_features features;
    struct db_rows *rows = NULL;
    int64_t trigger_s;
    enum err e = store_ready_features(s, &features, ec);

    if (e)
        return err_wrap(ec, e, "read log %" PRId64, log_id);
    e = store_query(s, &rows, ec,
                    "SELECT l.job_id, l.trigger_time, l.trigger_code, l.handle_code, l.executor_address, g.app_name, ? "
                    "FROM xxl_job_log l LEFT JOIN xxl_job_group g ON g.id = l.job_group WHERE l.id = ?",
                    sql_word(features.group_access_token ? "g.access_token" : "NULL"), log_id);
    if (!e && !db_rows_next(rows)) {
        db_rows_destroy(rows);
        e = err_set(ec, ERR_NOTFOUND, "there is no such row");
    }
    if (e)
        return err_wrap(ec, e, "read log %" PRId64, log_id);
    *out = (struct run_facts){
        .job_id = db_int(rows, 0),
        .trigger_ms = datetime_parse(s->st->zone, db_text(rows, 1), &trigger_s) ? trigger_s * 1000 : 0,
        .trigger_code = (int)db_int(rows, 2),
        .handle_code = (int)db_int(rows, 3),
        .address = db_text_or_empty(rows, 4),
        .app_name = db_text_or_empty(rows, 5),
        .access_token = db_text_or_empty(rows, 6),
        .memory = rows,
    };
    return ERR_OK;
}

void run_facts_fini(struct run_facts *facts)
{
    db_rows_destroy(facts->memory);
    *facts = (struct run_facts){0};
}
