/* SPDX-License-Identifier: MIT */
/* What a call is asked for: parameters, and the answer when they are not there or no good. */
#include "http/console/console.h"

#include <string.h>

const char *console_get_text(const struct console_call *call, const char *name)
{
    return params_get(&call->params, name);
}

const char *console_get_filter(const struct console_call *call, const char *name)
{
    const char *text = params_get(&call->params, name);

    return text ? text : "";
}

static bool refuse_absent(struct console_call *call, const char *name)
{
    if (call->dialect == DIALECT_A)
        console_fail_hard(call, "parameter %s is missing", name);
    else
        console_fail_status(call, 400, "parameter %s is missing", name);
    return false;
}

static bool refuse_number(struct console_call *call, const char *name)
{
    console_fail_status(call, 400, "parameter %s is not a whole number, or out of range", name);
    return false;
}

static bool take_number(struct console_call *call, const char *name, int64_t min, int64_t max, int64_t *out)
{
    switch (params_get_number(&call->params, name, min, max, out)) {
    case PARAM_NUMBER: return true;
    case PARAM_ABSENT: return refuse_absent(call, name);
    case PARAM_EMPTY:
    case PARAM_BROKEN: break;
    }
    return refuse_number(call, name);
}

bool console_take_int(struct console_call *call, const char *name, int64_t *out)
{
    return take_number(call, name, INT32_MIN, INT32_MAX, out);
}

bool console_take_long(struct console_call *call, const char *name, int64_t *out)
{
    return take_number(call, name, INT64_MIN, INT64_MAX, out);
}

bool console_take_int_or(struct console_call *call, const char *name, int64_t otherwise, int64_t *out)
{
    *out = otherwise;
    return str_is_blank(params_get_first(&call->params, name)) || console_take_int(call, name, out);
}

bool console_take_field(struct console_call *call, const char *name, int64_t *out)
{
    *out = 0;
    return !params_get_first(&call->params, name) || console_take_int(call, name, out);
}

/* "7" is one; "", "7,8" and the same one twice are not. */
static bool take_one_of_list(struct console_call *call, int64_t *out)
{
    const char *list = params_has(&call->params, "ids[]") ? params_get(&call->params, "ids[]") : NULL;

    if (!list)
        return refuse_absent(call, "ids[]");
    if (str_is_blank(list) || strchr(list, ',')) {
        console_fail_words(call, SAY_PLEASE_CHOOSE, SAY_ONE, SAY_DATA, SAY_END);
        return false;
    }
    return number_parse(list, INT64_MIN, INT64_MAX, out) || refuse_number(call, "ids[]");
}

bool console_take_id(struct console_call *call, int64_t *out)
{
    return call->dialect & DIALECTS_CD ? take_one_of_list(call, out) : console_take_int(call, "id", out);
}

bool console_take_page(struct console_call *call, int64_t *offset, int64_t *limit)
{
    bool ab = call->dialect & DIALECTS_AB;
    const char *from = ab ? "start" : "offset", *size = ab ? "length" : "pagesize";

    if (!console_take_int_or(call, from, 0, offset) || !console_take_int_or(call, size, 10, limit))
        return false;
    if (*offset < 0 || *limit < 0) {
        console_fail_hard(call, "parameter %s must not be negative", *offset < 0 ? from : size);
        return false;
    }
    if (*limit > CONSOLE_ROWS_MAX)
        *limit = CONSOLE_ROWS_MAX;
    return true;
}
