/* SPDX-License-Identifier: MIT */
/* Users whom somebody else proves. They are added in users_write.c. */
#include "store/people/audit.h"
#include "store/people/users.h"

#include <inttypes.h>

enum err store_find_outside_user(struct store_session *s, const char *hash, struct user *out, struct errctx *ec)
{
    sql_put(users_select(s), " WHERE o.subject_hash = ?", hash);
    enum err e = users_read_one(s, out, ec);
    return e ? err_wrap(ec, e, "find a user by who he is elsewhere") : ERR_OK;
}

enum err store_touch_outside_user(struct store_session *s, int64_t id, struct errctx *ec)
{
    enum err e =
        store_write(s, NULL, ec, "UPDATE shardwheel_outside SET seen_ms = " STORE_NOW_MS " WHERE user_id = ?", id);

    return e ? err_wrap(ec, e, "note the login of user %" PRId64, id) : ERR_OK;
}

static enum err end_java_session(struct store_session *s, int64_t id, struct errctx *ec)
{
    struct store_features features;
    enum err e = store_get_features(s, &features, ec);

    if (e || !features.user_token)
        return e;
    return store_exec(s, NULL, ec, "UPDATE xxl_job_user SET token = '' WHERE id = ? AND token <> ''", id);
}

enum err store_end_outside_user(struct store_session *s, int64_t id, const struct audit_row *audit, struct errctx *ec)
{
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = store_exec(s, NULL, ec, "UPDATE shardwheel_outside SET seen_ms = 0 WHERE user_id = ?", id);
    if (!e)
        e = store_exec(s, NULL, ec, "DELETE FROM shardwheel_session WHERE user_id = ?", id);
    if (!e)
        e = end_java_session(s, id, ec);
    e = store_end_audited(s, e, audit, ec);
    return e ? err_wrap(ec, e, "end what user %" PRId64 " may", id) : ERR_OK;
}
