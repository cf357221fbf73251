/* SPDX-License-Identifier: MIT */
#include "store/restore/restore_impl.h"

enum err restore_write(struct restore *r, struct errctx *ec)
{
    return r->order->dry_run ? ERR_OK : store_exec_sql(r->s, NULL, ec);
}

enum err restore_note(struct restore *r, const struct restored_job *job, struct errctx *ec)
{
    if (!list_grow(&r->out->jobs, r->out->count, sizeof *job))
        return err_set(ec, ERR_NOMEM, "out of memory");
    r->out->jobs[r->out->count++] = *job;
    return ERR_OK;
}
