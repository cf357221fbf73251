/* SPDX-License-Identifier: MIT */
#include "http/console/console.h"

#include <time.h>

enum date_form {
    FORM_ISO_OFFSET, /* 2018-11-03T14:21:31.000+00:00 */
    FORM_ISO_Z,      /* 2018-11-03T14:21:31.000Z */
    FORM_PLAIN,      /* 2018-11-03 14:21:31 */
};

static enum date_form find_form(const struct console_call *call)
{
    switch (call->dialect) {
    case DIALECT_A:
    case DIALECT_B: return FORM_ISO_OFFSET;
    case DIALECT_C: return call->route->h->generation < DIALECT_C ? FORM_ISO_Z : FORM_PLAIN;
    case DIALECT_D: break;
    }
    return FORM_PLAIN;
}

static void put_date(enum date_form form, struct buf *out, const char *name, int64_t wall_s)
{
    static const char *const ends[] = {
        [FORM_ISO_OFFSET] = ".000+00:00\"", [FORM_ISO_Z] = ".000Z\"", [FORM_PLAIN] = "\""};
    time_t t = (time_t)wall_s;
    struct tm tm;

    member_name(out, name);
    if (wall_s < 0 || !gmtime_r(&t, &tm)) {
        buf_puts(out, "null");
        return;
    }
    buf_printf(out, "\"%04d-%02d-%02d%c%02d:%02d:%02d%s", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
               form == FORM_PLAIN ? ' ' : 'T', tm.tm_hour, tm.tm_min, tm.tm_sec, ends[form]);
}

void console_put_date(const struct console_call *call, struct buf *out, const char *name, int64_t wall_s)
{
    put_date(find_form(call), out, name, wall_s);
}

void console_put_run_date(const struct console_call *call, struct buf *out, const char *name, int64_t wall_s)
{
    const struct zone *zone = call->route->h->opts.console_zone;
    enum date_form form = find_form(call);

    put_date(form, out, name,
             wall_s < 0 || form != FORM_PLAIN || !zone ? wall_s : wall_s + zone_offset_s(zone, wall_s));
}
