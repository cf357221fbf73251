/* SPDX-License-Identifier: MIT */
#include "store/restore/restore_impl.h"

#include <stdlib.h>

enum err restore_write(struct restore *r, int64_t *count, struct errctx *ec)
{
    struct db_effect effect = {0};
    enum err e = r->order->dry_run ? ERR_OK : store_exec_sql(r->s, &effect, ec);

    if (!e && count)
        *count += effect.matched;
    return e;
}

enum err restore_note(struct restore *r, const struct restored_job *job, struct errctx *ec)
{
    if (r->out->count == r->room) {
        size_t room = r->room ? r->room * 2 : 256;
        struct restored_job *jobs = realloc(r->out->jobs, room * sizeof *jobs);

        if (!jobs)
            return err_set(ec, ERR_NOMEM, "out of memory");
        r->out->jobs = jobs;
        r->room = room;
    }
    r->out->jobs[r->out->count++] = *job;
    return ERR_OK;
}
