/* SPDX-License-Identifier: MIT */
#include "admin/jobs/jobs_impl.h"

void job_keep_own(struct job_row *row, const struct job_row *from)
{
    row->id = from->id;
    row->glue_type = from->glue_type;
    row->glue_source = from->glue_source;
    row->glue_remark = from->glue_remark;
    row->status = from->status;
    row->last_ms = from->last_ms;
    row->next_ms = from->next_ms;
}

enum err job_try_edit(struct admin *a, const struct actor *actor, struct store_session *s, const struct job_row *row,
                      const struct job_settings *settings, const struct job_edit *edit, bool *same,
                      struct audit_diff *diff, struct refusal *r)
{
    struct job_form form = {.row = *row, .order = JOB_ORDER_D};
    struct job_settings before, after;
    struct job_tidy tidy = {0};

    job_settings_init(&before, row->id);
    if (settings)
        before = *settings;
    after = before;
    enum err e = edit->edit(edit->arg, &form.row, &after, r);
    const char *source = form.row.glue_source;
    job_keep_own(&form.row, row);
    if (!e && form.row.group != row->group)
        e = refuse_unless(actor, RIGHT_CHANGE, form.row.group, r);
    form.settings = &after;
    if (!e)
        e = job_check_form(a, actor, s, &form, CHECK_EDIT, row->id, &tidy, r);
    tidy.row.glue_source = source;
    *same = !e && job_settings_are_equal(&before, &after);
    for (size_t i = 0; *same && i < job_column_count(); i++)
        *same = job_column_is_equal(row, &tidy.row, job_column_get(i));
    if (!e && diff)
        job_put_audit(diff, actor, "", row, &before, &tidy.row, &after);
    job_tidy_fini(&tidy);
    return e;
}
