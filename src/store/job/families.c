/* SPDX-License-Identifier: MIT */
/* Which jobs name children: all of them, in one statement. */
#include "shardwheel/store/jobs.h"

#include "store/conn/rows.h"

enum err store_load_parents(struct store_session *s, int64_t max, int limit_ms, struct job_parents *out,
                            struct errctx *ec)
{
    static const struct row_type parents = ROWS(struct job_parent, FIELDS(struct job_parent, id, children));
    struct job_parents read = {0};

    store_limited(s, limit_ms, "id, child_jobid FROM xxl_job_info WHERE child_jobid <> '' ORDER BY id LIMIT ?",
                  max + 1);
    enum err e = store_read_list(s, &parents, &read, ec);
    if (e)
        return err_wrap(ec, e, "look for jobs with children");
    read.cut = read.count > (size_t)max;
    read.count -= read.cut;
    *out = read;
    return ERR_OK;
}
