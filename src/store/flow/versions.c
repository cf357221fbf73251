/* SPDX-License-Identifier: MIT */
/* Versions of flows. A version is never changed. */
#include "shardwheel/store/flow.h"

#include <inttypes.h>

#include "store/conn/rows.h"

static const struct row_type rows_of_versions =
    ROWS(struct flow_version_row, FIELDS(struct flow_version_row, flow_id, version, at_ms, who),
         NULL_TEXTS(struct flow_version_row, document));

enum err store_list_flow_versions(struct store_session *s, int64_t flow_id, int64_t before, int64_t limit,
                                  struct flow_version_rows *out, struct errctx *ec)
{
    store_sql(
        s,
        "SELECT flow_id, version, at_ms, who, NULL FROM shardwheel_flow_version WHERE flow_id = ? AND version < ? "
        "ORDER BY version DESC LIMIT ?",
        flow_id, before, limit);
    enum err e = store_read_list(s, &rows_of_versions, out, ec);
    return e ? err_wrap(ec, e, "list the versions of flow %" PRId64, flow_id) : ERR_OK;
}

enum err store_load_flow_version(struct store_session *s, int64_t flow_id, int64_t version,
                                 struct flow_version_rows *out, struct errctx *ec)
{
    store_sql(s,
              "SELECT flow_id, version, at_ms, who, document FROM shardwheel_flow_version WHERE flow_id = ? AND "
              "version = ?",
              flow_id, version);
    enum err e = store_read_list(s, &rows_of_versions, out, ec);
    return e ? err_wrap(ec, e, "read version %" PRId64 " of flow %" PRId64, version, flow_id) : ERR_OK;
}
