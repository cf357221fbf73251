/* SPDX-License-Identifier: MIT */
#include "store/flow/ids.h"
#include "shardwheel/store/flow_move.h"

enum err flow_find_tables(struct store_session *s, bool *found, struct errctx *ec)
{
    int64_t count = 0;
    enum err e = store_number(s, 0, &count, ec,
                              "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND "
                              "table_name IN ('shardwheel_flow', 'shardwheel_flow_request')");

    *found = count == 2;
    return e;
}

static enum err take_id(struct store_session *s, struct sql_value id, int64_t *out, struct errctx *ec)
{
    struct db_effect effect = {0};
    enum err e = store_exec(s, &effect, ec,
                            "INSERT INTO shardwheel_flow_run (id, flow_id, version, state, kind, due_s, depth, who, "
                            "created_ms, late_told) VALUES (?, 0, 0, ?, 'M', 0, 0, '', 0, 0)",
                            id, FLOW_RUN_SKIPPED);

    *out = effect.first_id;
    return e;
}

enum err flow_skip_run_ids(struct store_session *s, int64_t count, struct errctx *ec)
{
    int64_t id = 0;
    enum err e = take_id(s, sql_word("NULL"), &id, ec);

    if (!e)
        e = take_id(s, sql_of_int(id + count), &id, ec);
    return e ? e : store_exec(s, NULL, ec, "DELETE FROM shardwheel_flow_run WHERE flow_id = 0");
}
