/* SPDX-License-Identifier: MIT */
/* Rows of audit about jobs and runs: members are named as in api/v1. */
#include "ctl/parts.h"

#include "shardwheel/store/runs.h"

#include <string.h>

enum err ctl_note_begin(struct ctl_note *note, struct store_session *s, int64_t job_id, struct errctx *ec)
{
    struct run_job job = {0};
    enum err e = store_load_run_job(s, job_id, &job, ec);

    if (e && e != ERR_NOTFOUND) /* of a job that is gone there is a run, or something that waits */
        return e;
    *note = (struct ctl_note){.group = e ? 0 : job.group};
    buf_puts(&note->name, e ? "" : job.name);
    return ERR_OK;
}

static const char *end_side(struct buf *side)
{
    if (side->len)
        buf_putc(side, '}');
    return side->len ? side->data : NULL;
}

struct audit_row ctl_note_end(struct ctl_note *note, const char *action, int64_t target)
{
    const char *before = end_side(&note->before), *after = end_side(&note->after);

    return (struct audit_row){AUDIT_CTL,
                              .action = action,
                              .target = target,
                              .target_name = note->name.data,
                              .job_group = note->group,
                              .before = before,
                              .after = after,
                              .failed =
                                  buf_failed(&note->name) || buf_failed(&note->before) || buf_failed(&note->after)};
}

void ctl_note_fini(struct ctl_note *note)
{
    buf_fini(&note->name);
    buf_fini(&note->before);
    buf_fini(&note->after);
}
