/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "shardwheel/store/run.h"
#include "store/conn/rows.h"

enum err store_load_run(struct store_session *s, int64_t log_id, struct run_facts *out, struct errctx *ec)
{
    static const struct row_type facts =
        ROWS(struct run_facts, FIELDS(struct run_facts, job_id), TIME(struct run_facts, trigger_ms, 0),
             FIELDS(struct run_facts, trigger_code, handle_code, address, app_name, access_token));
    const struct store_features *f = store_features(s);

    store_sql(s,
              "SELECT l.job_id, l.trigger_time, l.trigger_code, l.handle_code, l.executor_address, g.app_name, ? "
              "FROM xxl_job_log l LEFT JOIN xxl_job_group g ON g.id = l.job_group WHERE l.id = ?",
              sql_word(f->group_access_token ? "g.access_token" : "NULL"), log_id);
    enum err e = store_read_row(s, &facts, out, &out->memory, ec);
    if (e)
        return err_wrap(ec, e, "read log %" PRId64, log_id);
    out->trigger_ms *= 1000; /* it was read in seconds */
    return ERR_OK;
}

FINI_BY(store_free_memory, run_facts, memory)
