/* SPDX-License-Identifier: MIT */
/* Which jobs name children: all of them, in one statement. */
#include "shardwheel/store/jobs.h"

#include <stdlib.h>

#include "store/conn/session.h"

void job_parents_fini(struct job_parents *parents)
{
    db_rows_destroy(parents->memory);
    free(parents->items);
    *parents = (struct job_parents){0};
}

enum err store_load_parents(struct store_session *s, int64_t max, int limit_ms, struct job_parents *out,
                            struct errctx *ec)
{
    struct db_rows *rows = NULL;
    struct job_parent *items;
    size_t n = 0;
    enum err e =
        store_ask_limited(s, limit_ms, &rows, ec,
                          "id, child_jobid FROM xxl_job_info WHERE child_jobid <> '' ORDER BY id LIMIT ?", max + 1);

    items = db_rows_room(&rows, sizeof *items, &e, ec);
    if (e)
        return err_wrap(ec, e, "look for jobs with children");
    while (db_rows_next(rows))
        items[n++] = (struct job_parent){.id = db_int(rows, 0), .children = db_text_or_empty(rows, 1)};
    *out = (struct job_parents){
        .items = items, .count = n > (size_t)max ? (size_t)max : n, .cut = n > (size_t)max, .memory = rows};
    return ERR_OK;
}
