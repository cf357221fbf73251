/* SPDX-License-Identifier: MIT */
/* The figures of the dashboard: /chartInfo. */
#include "http/console/console.h"
#include "shardwheel/admin/figures.h"
#include "shardwheel/calendar.h"

#include <ctype.h>
#include <stdio.h>

#define DAYS_SHOWN 7 /* with zeros, where the report has nothing */

/* Digits, `max` of them at most. */
static bool take_digits(const char **text, int max, int *out)
{
    int n = 0;

    for (*out = 0; n < max && isdigit((unsigned char)**text); n++)
        *out = *out * 10 + *(*text)++ - '0';
    return n > 0;
}

/* Of enough: what stands behind the seconds is not looked at, as in the original. */
static bool parse_moment(const char *text, char out[32])
{
    static const char ends[] = "-- ::";
    int part[6];

    for (int i = 0; i < 6; i++) {
        if (!take_digits(&text, i == 0 ? 4 : 2, &part[i]) || (i < 5 && *text++ != ends[i]))
            return false;
    }
    if (!civil_is_real(&(struct civil){part[0], part[1], part[2], part[3], part[4], part[5]}))
        return false;
    snprintf(out, 32, "%04d-%02d-%02d %02d:%02d:%02d", part[0] % 10000, part[1] % 100, part[2] % 100, part[3] % 100,
             part[4] % 100, part[5] % 100);
    return true;
}

/* False: the answer is there. *there: it was sent; only A may leave it out. */
static bool take_moment(struct console_call *call, const char *name, char out[32], bool *there)
{
    const char *text = console_get_text(call, name);

    if (call->dialect == DIALECT_A && (!text || !*text)) {
        *there = false;
        return true;
    }
    if (text && parse_moment(text, out))
        return true;
    console_fail_status(call, 400, "parameter %s is %s", name,
                        text ? "not a time of the form yyyy-MM-dd HH:mm:ss" : "missing");
    return false;
}

static void put_numbers(struct buf *out, const char *name, const struct report_days *days, size_t offset)
{
    int64_t total = 0;

    buf_printf(out, ",\"triggerDayCount%sList\":[", name);
    for (size_t i = 0; i < days->count; i++) {
        int64_t n = *(const int64_t *)((const char *)&days->items[i] + offset);
        member_int(out, NULL, n);
        total += n;
    }
    buf_printf(out, "],\"triggerCount%sTotal\":", name);
    buf_put_int(out, total);
}

static void put_chart(struct console_call *call, const struct report_days *days)
{
    struct buf *out = &call->r->body;

    console_begin_success(call);
    member_object(out, NULL);
    member_list(out, "triggerDayList");
    for (size_t i = 0; i < days->count; i++)
        member_text(out, NULL, days->items[i].day);
    member_list_end(out);
    put_numbers(out, "Running", days, offsetof(struct report_day, running));
    put_numbers(out, "Suc", days, offsetof(struct report_day, success));
    put_numbers(out, "Fail", days, offsetof(struct report_day, fail));
    member_object_end(out);
    console_end_success(call);
}

static void put_empty_chart(struct console_call *call)
{
    struct report_day items[DAYS_SHOWN] = {0};
    struct report_days days = {.items = items, .count = DAYS_SHOWN};

    for (int i = 0; i < DAYS_SHOWN; i++)
        admin_write_day(call->admin, DAYS_SHOWN - 1 - i, items[i].day);
    put_chart(call, &days);
}

static void answer_chart(struct console_call *call)
{
    struct report_days days = {0};
    char from[32], to[32];
    bool there = true;
    struct refusal r;

    if (!take_moment(call, "startDate", from, &there) || !take_moment(call, "endDate", to, &there))
        return;
    if (there && admin_load_days(call->admin, from, to, &days, &r)) {
        console_fail_refusal(call, &r);
        return;
    }
    if (days.count)
        put_chart(call, &days);
    else
        put_empty_chart(call);
    report_days_fini(&days);
}

static const struct console_endpoint rows[] = {
    {"/chartInfo", DIALECTS_ALL, ROUTE_ANY, CONSOLE_CALL, NEED_USER, answer_chart},
};

const struct console_topic console_dashboard = {rows, ARRAY_LEN(rows)};
