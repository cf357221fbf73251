/* SPDX-License-Identifier: MIT */
/* What people ask of runs of flows. */
#include "shardwheel/store/flow.h"

#include <inttypes.h>

#include "store/people/audit.h"

static enum err lock_run(struct store_session *s, const struct flow_request *request, struct flow_run_now *now,
                         struct errctx *ec)
{
    *now = (struct flow_run_now){0};
    enum err e = store_number(s, -1, &now->state, ec, "SELECT state FROM shardwheel_flow_run WHERE id = ? FOR UPDATE",
                              request->run_id);

    if (!e && now->state < 0)
        e = err_set(ec, ERR_NOTFOUND, "there is no flow run %" PRId64, request->run_id);
    if (!e && request->step >= 0)
        e = store_number(s, FLOW_WAITING, &now->step_state, ec,
                         "SELECT state FROM shardwheel_flow_step WHERE run_id = ? AND step = ?", request->run_id,
                         request->step);
    return e;
}

static enum err write_request(struct store_session *s, const struct flow_request *request, struct errctx *ec)
{
    enum err e = store_exec(s, NULL, ec,
                            "INSERT INTO shardwheel_flow_request (run_id, step, action, who, remark) VALUES (?, ?, ?, "
                            "?, ?)",
                            request->run_id, request->step, request->action, sql_fitted(request->who, 100, TEXT_AS_IS),
                            sql_fitted(request->remark, 500, TEXT_AS_IS));

    return e ? e : store_exec(s, NULL, ec, "UPDATE shardwheel_flow_run SET look_ms = 0 WHERE id = ?", request->run_id);
}

enum err store_ask_flow_run(struct store_session *s, const struct flow_request *request, flow_check_request *check,
                            void *arg, const struct audit_row *audit, struct errctx *ec)
{
    struct flow_run_now now = {0};
    int64_t asked = 0;
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = lock_run(s, request, &now, ec);
    if (!e)
        e = store_number(s, 0, &asked, ec,
                         "SELECT COUNT(*) FROM shardwheel_flow_request WHERE run_id = ? AND step = ? AND action = ?",
                         request->run_id, request->step, request->action);
    if (!e && !asked)
        e = check(arg, &now, ec);
    if (!e && !asked)
        e = write_request(s, request, ec);
    return store_end_audited(s, e, asked ? NULL : audit, ec);
}
