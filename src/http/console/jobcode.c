/* SPDX-License-Identifier: MIT */
/* /jobcode: GLUE. */
#include "http/console/console.h"
#include "shardwheel/admin/glue.h"

#include <string.h>

static void fail_remark(struct console_call *call, const struct refusal *refusal)
{
    if (refusal->kind == REFUSED_REQUIRED)
        console_fail_words(call, SAY_PLEASE_INPUT, SAY_GLUE_REMARK, SAY_END);
    else
        console_fail_words(call, SAY_GLUE_REMARK_LIMIT, SAY_END);
}

static void fail(struct console_call *call, const struct refusal *refusal)
{
    const char *field = refusal->field ? refusal->field : "";

    if (refusal->kind == REFUSED_REQUIRED && !strcmp(field, "glueSource"))
        console_fail_words(call, SAY_PLEASE_INPUT, SAY_GLUE_SOURCE, SAY_END);
    else if (!strcmp(field, "glueRemark"))
        fail_remark(call, refusal);
    else if (refusal->kind == REFUSED_UNKNOWN)
        console_fail_words(call, SAY_JOB_ID_INVALID, SAY_END);
    else if (refusal->kind == REFUSED_OFF)
        console_fail(call, refusal->text.text);
    else
        console_fail_refusal(call, refusal);
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
