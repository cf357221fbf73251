/* SPDX-License-Identifier: MIT */
/* shardwheel_rule: for which jobs, groups and shards people are told of what did not happen. */
#include "shardwheel/store/watch.h"
#include "store/conn/rows.h"
#include "store/people/audit.h"

enum err store_load_watch_rules(struct store_session *s, struct watch_rules *out, struct errctx *ec)
{
    static const struct row_type rules =
        ROWS(struct watch_rule, FIELDS(struct watch_rule, id, kind, tag, app_name, bound, changed_ms));

    store_sql(s, "SELECT id, kind, tag, app_name, bound, changed_ms FROM shardwheel_rule ORDER BY id LIMIT ?",
              WATCH_RULES_MAX);
    enum err e = store_read_list(s, &rules, out, ec);
    return e ? err_wrap(ec, e, "read the rules of alarms") : ERR_OK;
}

enum err store_put_watch_rule(struct store_session *s, const struct watch_rule *rule, const struct audit_row *audit,
                              int64_t *added, struct errctx *ec)
{
    static const struct audited_table rules = {"shardwheel_rule", "rule", "a rule of alarms",
                                               "the same kind, tag and group", WATCH_RULES_MAX};

    return store_put_audited(s, &rules, rule->id,
                             SQL_VALUES("kind = ? AND tag = ? AND app_name = ?", rule->kind, rule->tag, rule->app_name),
                             SQL_VALUES("kind = ?, tag = ?, app_name = ?, bound = ?, changed_ms = " STORE_NOW_MS,
                                        rule->kind, rule->tag, rule->app_name, rule->bound),
                             audit, added, ec);
}

enum err store_remove_watch_rule(struct store_session *s, int64_t id, const struct audit_row *audit, struct errctx *ec)
{
    return store_remove_audited(s, &(struct audited_table){.table = "shardwheel_rule", .one = "rule"}, id, audit, ec);
}
