/* SPDX-License-Identifier: MIT */
#include "alarm/quiet.h"

#include <stdio.h>
#include <string.h>

#include "shardwheel/store/job.h"

/* HH:MM, of which there are `len` bytes. */
static bool read_clock(const char *at, size_t len, int *out)
{
    char text[6];
    int hour, minute;

    if (len != 5)
        return false;
    snprintf(text, sizeof text, "%.5s", at);
    if (!job_clock_parse(text, &hour, &minute))
        return false;
    *out = hour * 60 + minute;
    return true;
}

enum err quiet_parse(const char *text, struct quiet *out, struct errctx *ec)
{
    const char *dash = strchr(text, '-'), *slash = strchr(text, '/');
    struct quiet q = {0};
    size_t end = slash ? (size_t)(slash - text) : strlen(text);
    enum err e;

    *out = q;
    if (!*text)
        return ERR_OK;
    if (!dash || !read_clock(text, (size_t)(dash - text), &q.from) || end < (size_t)(dash + 1 - text) ||
        !read_clock(dash + 1, end - (size_t)(dash + 1 - text), &q.until))
        return err_set(ec, ERR_INPUT, "quiet: expected HH:MM-HH:MM or HH:MM-HH:MM/ZONE, as in 22:00-07:00/Asia/Tokyo");
    if (q.from == q.until)
        return err_set(ec, ERR_INPUT, "quiet: the two times must not be the same");
    e = zone_load(slash ? slash + 1 : "UTC", &q.zone, ec);
    if (e)
        return err_wrap(ec, e, "quiet");
    *out = q;
    return ERR_OK;
}

void quiet_fini(struct quiet *q)
{
    zone_destroy(q->zone);
    *q = (struct quiet){0};
}

bool quiet_covers(const struct quiet *q, int64_t now_s)
{
    struct civil c;
    int minute;

    if (!q->zone)
        return false;
    c = zone_to_civil(q->zone, now_s);
    minute = c.hour * 60 + c.minute;
    return q->from < q->until ? minute >= q->from && minute < q->until : minute >= q->from || minute < q->until;
}
