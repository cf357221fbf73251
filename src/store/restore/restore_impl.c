/* SPDX-License-Identifier: MIT */
#include "store/restore/restore_impl.h"

#include <stdlib.h>

enum err restore_write(struct restore *r, struct errctx *ec)
{
    return r->order->dry_run ? ERR_OK : store_exec_sql(r->s, NULL, ec);
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
