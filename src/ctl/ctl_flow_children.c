/* SPDX-License-Identifier: MIT */
/* A job and all that follow it by child_jobid, as the document of a flow. */
#include "ctl/parts.h"

#include "shardwheel/flow.h"
#include "shardwheel/job.h"
#include "shardwheel/store/jobs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Jobs in the order in which they are found: each stands behind the parent that named it first. */
struct chain {
    int64_t ids[FLOW_STEPS_MAX];
    struct flow_chain_job jobs[FLOW_STEPS_MAX];
    struct job_list lists[FLOW_STEPS_MAX]; /* that the names lie in: one for each job */
    int64_t children[FLOW_STEPS_MAX][CHILDREN_MAX];
    size_t count, loaded;
};

static enum err add_job(struct chain *chain, int64_t id, struct errctx *ec)
{
    for (size_t i = 0; i < chain->count; i++)
        if (chain->ids[i] == id)
            return ERR_OK;
    if (chain->count == FLOW_STEPS_MAX)
        return err_set(ec, ERR_INPUT, "more than %d jobs follow: that is more than a flow can have", FLOW_STEPS_MAX);
    chain->ids[chain->count++] = id;
    return ERR_OK;
}

/* The next job of the chain, and its children behind all others. */
static enum err load_job(struct ctl *c, struct chain *chain, struct errctx *ec)
{
    size_t at = chain->loaded;
    struct job_list *list = &chain->lists[at];
    struct child_item items[CHILDREN_MAX];
    size_t count;
    enum err e = store_load_jobs(c->session, &chain->ids[at], 1, list, ec);

    if (!e && list->count == 0)
        e = err_set(ec, ERR_NOTFOUND, "there is no job %" PRId64 "%s", chain->ids[at],
                    at ? ", which is the child of another one" : "");
    if (e)
        return e;
    chain->loaded++;
    chain->jobs[at] = (struct flow_chain_job){.id = chain->ids[at],
                                              .name = list->rows[0].name,
                                              .broadcast = list->rows[0].route &&
                                                           strcmp(list->rows[0].route, "SHARDING_BROADCAST") == 0,
                                              .children = chain->children[at]};
    count = children_parse(list->rows[0].children, chain->ids[at], items);
    for (size_t i = 0; !e && i < count; i++) {
        if (items[i].verdict == CHILD_ILLEGAL)
            return err_set(ec, ERR_INPUT, "job %" PRId64 " has the child \"%.*s\", which is no id of a job",
                           chain->ids[at], (int)items[i].len, items[i].text);
        chain->children[at][chain->jobs[at].child_count++] = items[i].id;
        e = add_job(chain, items[i].id, ec);
    }
    return e;
}

enum err ctl_put_children(struct ctl *c, int64_t job_id, struct buf *out, struct errctx *ec)
{
    struct chain *chain = calloc(1, sizeof *chain);
    enum err e = chain ? add_job(chain, job_id, ec) : err_set(ec, ERR_NOMEM, "out of memory");

    while (!e && chain->loaded < chain->count)
        e = load_job(c, chain, ec);
    if (!e)
        e = flow_put_chain(out, NULL, chain->jobs, chain->count, ec);
    for (size_t i = 0; chain && i < chain->count; i++)
        job_list_fini(&chain->lists[i]);
    free(chain);
    return e;
}
