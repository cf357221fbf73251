/* SPDX-License-Identifier: MIT */
#include "shardwheel/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *err_name(enum err e)
{
    switch (e) {
    case ERR_OK: return "ok";
    case ERR_NOMEM: return "no_memory";
    case ERR_INPUT: return "input";
    case ERR_BUSY: return "busy";
    case ERR_LOST: return "lost";
    case ERR_UNKNOWN: return "outcome_unknown";
    case ERR_TIMEOUT: return "timeout";
    case ERR_CONFLICT: return "conflict";
    case ERR_STATE: return "state";
    case ERR_NOTFOUND: return "not_found";
    case ERR_DENIED: return "denied";
    case ERR_IO: return "io";
    case ERR_GUARD: return "unguarded";
    }
    return "?";
}

void errctx_clear(struct errctx *ec)
{
    if (ec)
        ec->text[0] = '\0';
}

enum err err_set(struct errctx *ec, enum err e, const char *fmt, ...)
{
    va_list ap;

    if (!ec)
        return e;
    va_start(ap, fmt);
    vsnprintf(ec->text, sizeof ec->text, fmt, ap);
    va_end(ap);
    return e;
}

enum err err_wrap(struct errctx *ec, enum err e, const char *fmt, ...)
{
    char inner[sizeof ec->text];
    va_list ap;
    size_t len;

    if (!ec)
        return e;
    memcpy(inner, ec->text, sizeof inner);
    va_start(ap, fmt);
    vsnprintf(ec->text, sizeof ec->text, fmt, ap);
    va_end(ap);
    len = strlen(ec->text);
    snprintf(ec->text + len, sizeof ec->text - len, ": %s", inner[0] ? inner : err_name(e));
    return e;
}
