/* SPDX-License-Identifier: MIT */
#include "shardwheel/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static _Atomic int level_now = LOG_INFO;

void log_set_level(enum log_level level)
{
    atomic_store_explicit(&level_now, (int)level, memory_order_relaxed);
}

static const char *const level_names[] = {"error", "warn", "info", "debug"};

void log_line(enum log_level level, const char *area, const char *fmt, ...)
{
    char line[3000];
    struct tm tm;
    int64_t us;
    time_t s;
    va_list ap;
    size_t len;

    if ((int)level > atomic_load_explicit(&level_now, memory_order_relaxed))
        return;
    us = clock_wall_us(clock_system());
    s = (time_t)time_floor_div(us, 1000000);
    gmtime_r(&s, &tm);
    len = strftime(line, sizeof line, "time=%Y-%m-%dT%H:%M:%S", &tm);
    len += (size_t)snprintf(line + len, sizeof line - len, ".%03dZ level=%s area=%s ",
                            (int)(us - (int64_t)s * 1000000) / 1000, level_names[level], area);
    va_start(ap, fmt);
    vsnprintf(line + len, sizeof line - len - 1, fmt, ap);
    va_end(ap);
    len = strlen(line);
    line[len++] = '\n';
    /* One write, so that lines of several threads do not mix. Nothing can be done when stderr is gone. */
    if (write(STDERR_FILENO, line, len) < 0)
        return;
}

struct log_text log_quote(const char *text)
{
    static const char hex[] = "0123456789abcdef";
    struct log_text out;
    size_t n = 0;

    out.s[n++] = '"';
    for (const unsigned char *p = (const unsigned char *)(text ? text : ""); *p; p++) {
        if (n > sizeof out.s - 10) {
            memcpy(out.s + n, "...", 3);
            n += 3;
            break;
        }
        if (*p == '"' || *p == '\\') {
            out.s[n++] = '\\';
            out.s[n++] = (char)*p;
        } else if (*p == '\n') {
            out.s[n++] = '\\';
            out.s[n++] = 'n';
        } else if (*p < 0x20 || *p == 0x7f) {
            out.s[n++] = '\\';
            out.s[n++] = 'x';
            out.s[n++] = hex[*p >> 4];
            out.s[n++] = hex[*p & 15];
        } else {
            out.s[n++] = (char)*p;
        }
    }
    out.s[n++] = '"';
    out.s[n] = '\0';
    return out;
}
