/* SPDX-License-Identifier: MIT */
#include "directory/answer.h"

#include <stdarg.h>
#include <stdio.h>

enum directory_answer answer_set(struct errctx *ec, enum directory_answer answer, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(ec->text, sizeof ec->text, fmt, args);
    va_end(args);
    return answer;
}

enum directory_answer answer_no_memory(struct errctx *ec)
{
    return answer_set(ec, DIRECTORY_BROKEN, "out of memory for a question to the directory");
}
