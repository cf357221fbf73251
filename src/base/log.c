/* SPDX-License-Identifier: MIT */
#include "shardwheel/base.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LEVEL_AT_FIRST(id, name) [LOG_AREA_##id] = LOG_INFO,
_Atomic signed char log_levels[LOG_AREA_COUNT] = {LOG_AREAS(LEVEL_AT_FIRST)};
static _Atomic int format_now = LOG_KEYVALUE;

void log_set_levels(const enum log_level levels[LOG_AREA_COUNT])
{
    for (int i = 0; i < LOG_AREA_COUNT; i++)
        atomic_store_explicit(&log_levels[i], (signed char)levels[i], memory_order_relaxed);
}

void log_set_level(enum log_level level)
{
    for (int i = 0; i < LOG_AREA_COUNT; i++)
        atomic_store_explicit(&log_levels[i], (signed char)level, memory_order_relaxed);
}

void log_get_levels(enum log_level out[LOG_AREA_COUNT])
{
    for (int i = 0; i < LOG_AREA_COUNT; i++)
        out[i] = (enum log_level)atomic_load_explicit(&log_levels[i], memory_order_relaxed);
}

void log_set_format(enum log_format format)
{
    atomic_store_explicit(&format_now, (int)format, memory_order_relaxed);
}

static bool is_wanted(const char *area, enum log_level level)
{
    for (int i = 0; i < LOG_AREA_COUNT; i++)
        if (strcmp(log_area_name((enum log_area)i), area) == 0)
            return log_is_on((enum log_area)i, level);
    return log_is_on(LOG_AREA_MAIN, level);
}

static void write_text(const char *text, size_t len)
{
    /* One write, so that lines of several threads do not mix. Nothing can be done when stderr is gone. */
    if (write(STDERR_FILENO, text, len) < 0)
        return;
}

static void write_json(const char *line)
{
    struct buf out = {0};

    log_put_json(&out, line);
    buf_putc(&out, '\n');
    if (buf_failed(&out)) {
        static const char text[] = "{\"level\":\"error\",\"area\":\"main\",\"msg\":\"out of memory for a line\"}\n";

        write_text(text, sizeof text - 1);
    } else {
        write_text(out.data, out.len);
    }
    buf_fini(&out);
}

static void write_line(enum log_level level, const char *area, const char *fmt, va_list ap)
{
    char line[3000];
    struct tm tm;
    int64_t us;
    time_t s;
    size_t len;

    us = clock_wall_us(clock_system());
    s = (time_t)time_floor_div(us, 1000000);
    gmtime_r(&s, &tm);
    len = strftime(line, sizeof line, "time=%Y-%m-%dT%H:%M:%S", &tm);
    len += (size_t)snprintf(line + len, sizeof line - len, ".%03dZ level=%s area=%s ",
                            (int)(us - (int64_t)s * 1000000) / 1000, log_level_name(level), area);
    vsnprintf(line + len, sizeof line - len - 1, fmt, ap);
    if (atomic_load_explicit(&format_now, memory_order_relaxed) == LOG_JSON) {
        write_json(line);
        return;
    }
    len = strlen(line);
    line[len++] = '\n';
    write_text(line, len);
}

void log_line(enum log_level level, const char *area, const char *fmt, ...)
{
    va_list ap;

    if (!is_wanted(area, level))
        return;
    va_start(ap, fmt);
    write_line(level, area, fmt, ap);
    va_end(ap);
}

/* False: the line is left out. *left_out: how many were, to be told before this one. */
static bool may_write(struct log_limit *limit, const struct clock *clock, int64_t *left_out)
{
    int64_t now_ms = clock_mono_ms(clock);
    int64_t begun_ms = atomic_load_explicit(&limit->begun_mono_ms, memory_order_relaxed);

    *left_out = 0;
    /* One thread begins the new time. Lines that others count before it has taken the old number are in that one, as
     * left out. */
    if ((!begun_ms || now_ms - begun_ms >= LOG_LIMIT_MS) &&
        atomic_compare_exchange_strong_explicit(&limit->begun_mono_ms, &begun_ms, now_ms ? now_ms : 1,
                                                memory_order_relaxed, memory_order_relaxed)) {
        int64_t wanted = atomic_exchange_explicit(&limit->lines, 1, memory_order_relaxed);
        if (wanted > LOG_LIMIT_LINES)
            *left_out = wanted - LOG_LIMIT_LINES;
        return true;
    }
    return atomic_fetch_add_explicit(&limit->lines, 1, memory_order_relaxed) < LOG_LIMIT_LINES;
}

void log_limited(struct log_limit *limit, const struct clock *clock, enum log_level level, const char *area,
                 const char *fmt, ...)
{
    static const char key[] = "event=";
    int64_t left_out;
    va_list ap;

    if (!is_wanted(area, level) || !may_write(limit, clock, &left_out))
        return;
    const char *name = strncmp(fmt, key, sizeof key - 1) ? "" : fmt + sizeof key - 1;
    if (left_out > 0)
        log_line(level, area, "event=lines_left_out of=%.*s count=%" PRId64, (int)strcspn(name, " "), name, left_out);
    va_start(ap, fmt);
    write_line(level, area, fmt, ap);
    va_end(ap);
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
