/* SPDX-License-Identifier: MIT */
#include "store/people/audit.h"

#include <stdio.h>
#include <string.h>

/* What made it shall bound it; a change does not fail for its audit. */
static void put_json(struct sqlbuf *q, const char *json)
{
    char instead[64];

    sql_puts(q, ", ");
    if (!json || strlen(json) <= AUDIT_JSON_MAX) {
        sql_text_or_null(q, json);
        return;
    }
    snprintf(instead, sizeof instead, "{\"bytesLeftOut\":%zu}", strlen(json));
    sql_text(q, instead);
}

enum err store_put_audit(struct store_session *s, const struct audit_row *row, struct errctx *ec)
{
    struct sqlbuf *q;
    enum err e;

    if (!row)
        return ERR_OK;
    q = store_start_sql(s, "INSERT INTO shardwheel_audit (at_ms, user_id, who, address, via, action, target, "
                           "target_name, job_group, before_json, after_json) VALUES (" STORE_NOW_MS ", ");
    sql_int(q, row->user_id);
    const struct {
        const char *text;
        size_t max;
    } texts[] = {{row->who, 100}, {row->address, 64}, {row->via, 64}, {row->action, 40}};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        sql_puts(q, ", ");
        sql_text_fitted(q, texts[i].text ? texts[i].text : "", texts[i].max, TEXT_AS_IS);
    }
    sql_puts(q, ", ");
    sql_int(q, row->target);
    sql_puts(q, ", ");
    sql_text_fitted(q, row->target_name ? row->target_name : "", 100, TEXT_AS_IS);
    sql_puts(q, ", ");
    sql_int(q, row->job_group);
    put_json(q, row->before);
    put_json(q, row->after);
    sql_puts(q, ")");
    e = store_exec_sql(s, NULL, ec);
    return e ? err_wrap(ec, e, "write the audit row of %s", row->action) : ERR_OK;
}
