/* SPDX-License-Identifier: MIT */
/* What changes of jobs leave in the audit. */
#include "admin/jobs/jobs_impl.h"

#include <string.h>

static void put_column(struct audit_diff *d, const struct job_column *c, const struct job_row *before,
                       const struct job_row *after)
{
    static const struct job_row none;
    const struct job_row *a = before ? before : &none, *b = after ? after : &none;

    if (!strcmp(c->field, "triggerStatus"))
        audit_bool(d, "running", a->status == 1, b->status == 1);
    else if (!strcmp(c->field, "glueSource"))
        audit_source(d, c->field, a->glue_source, b->glue_source);
    else if (c->is_text)
        audit_text(d, c->field, job_row_text(a, c), job_row_text(b, c));
    else if (strcmp(c->field, "triggerLastTime") && strcmp(c->field, "triggerNextTime"))
        audit_int(d, c->field, job_row_number(a, c), job_row_number(b, c));
}

/* NULL where it is not set. Instants are in the zone of `zone`. */
static const char *find_setting(const struct job_settings *settings, size_t i, const struct zone *zone, struct buf *out)
{
    buf_clear(out);
    if (settings)
        job_setting_put(settings, i, zone, out);
    return out->len == 0 || buf_failed(out) || !strcmp(out->data, "none") ? NULL : out->data;
}

static void put_settings(struct audit_diff *d, const struct job_settings *before, const struct job_settings *after)
{
    struct buf old = {0}, new = {0};
    struct zone *utc = NULL;

    if (zone_load("UTC", &utc, NULL))
        return;
    for (size_t i = 0; i < job_setting_count(); i++)
        audit_text(d, job_setting_name(i), find_setting(before, i, utc, &old), find_setting(after, i, utc, &new));
    zone_destroy(utc);
    buf_fini(&old);
    buf_fini(&new);
}

struct audit_row *job_put_audit(struct audit_diff *d, const struct actor *actor, const char *action,
                                const struct job_row *before, const struct job_settings *settings_before,
                                const struct job_row *after, const struct job_settings *settings_after)
{
    const struct job_row *shown = after ? after : before;

    audit_begin(d, !before ? AUDIT_ADDED : after ? AUDIT_CHANGED : AUDIT_REMOVED);
    for (size_t k = 0; k < job_column_count(); k++)
        put_column(d, job_column_get(k), before, after);
    put_settings(d, settings_before, settings_after);
    return audit_end(d, actor, action, shown->id, shown->name, shown->group);
}
