/* SPDX-License-Identifier: MIT */
/* /jobcode: GLUE. */
#include "http/console/refuse.h"
#include "shardwheel/admin/glue.h"

static void fail(struct console_call *call, const struct refusal *refusal)
{
    static const struct console_refusal table[] = {
        {REFUSED_REQUIRED, "glueSource", {SAY_PLEASE_INPUT, SAY_GLUE_SOURCE}},
        {REFUSED_REQUIRED, "glueRemark", {SAY_PLEASE_INPUT, SAY_GLUE_REMARK}},
        {REFUSED_LENGTH, "glueRemark", {SAY_GLUE_REMARK_LIMIT}},
        {REFUSED_UNKNOWN, NULL, {SAY_JOB_ID_INVALID}},
    };

    if (refusal->kind == REFUSED_OFF)
        console_fail(call, refusal->text.text);
    else
        console_refuse_by(call, refusal, table, ARRAY_LEN(table));
}

/* Line ends stay as they are sent, those of a shell script, too. */
static void answer_save(struct console_call *call)
{
    struct glue_save save = {.source = console_get_text(call, "glueSource"),
                             .remark = console_get_text(call, "glueRemark"),
                             .source_needed = call->dialect & DIALECTS_CD};
    struct refusal refusal;
    int64_t updated_s;

    if (!console_take_int(call, "id", &save.job_id))
        return;
    if (admin_save_glue(call->admin, &call->actor, &save, &updated_s, &refusal))
        fail(call, &refusal);
    else
        console_succeed(call);
}

static const struct console_endpoint rows[] = {
    {"/jobcode/save", DIALECTS_ALL, ROUTE_ANY, CONSOLE_CALL, NEED_USER, answer_save},
};

const struct console_topic console_jobcode = {rows, ARRAY_LEN(rows)};
