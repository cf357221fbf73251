/* SPDX-License-Identifier: MIT */
/* A job and all that follow it by child_jobid, as the document of a flow. */
#include "admin/flows/flows_impl.h"
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

static enum err add_job(struct chain *chain, int64_t id, struct refusal *r)
{
    for (size_t i = 0; i < chain->count; i++)
        if (chain->ids[i] == id)
            return ERR_OK;
    if (chain->count == FLOW_STEPS_MAX)
        return refuse(r, REFUSED_STATE, NULL, "the job and its child jobs are more than %d: a flow cannot have so many",
                      FLOW_STEPS_MAX);
    chain->ids[chain->count++] = id;
    return ERR_OK;
}

static enum err add_children(struct chain *chain, size_t at, struct refusal *r)
{
    struct child_item items[CHILDREN_MAX];
    size_t count = children_parse(chain->lists[at].rows[0].children, chain->ids[at], items);
    enum err e = ERR_OK;

    for (size_t i = 0; i < count && !e; i++) {
        if (items[i].verdict == CHILD_ILLEGAL)
            return refuse(r, REFUSED_STATE, NULL, "job %" PRId64 " has the child \"%.*s\", which is not a job id",
                          chain->ids[at], (int)items[i].len, items[i].text);
        chain->children[at][chain->jobs[at].child_count++] = items[i].id;
        e = add_job(chain, items[i].id, r);
    }
    return e;
}

/* The next job of the chain, and its children behind all others. */
static enum err load_job(struct store_session *s, const struct actor *actor, struct chain *chain, struct refusal *r)
{
    size_t at = chain->loaded;
    struct job_list *list = &chain->lists[at];
    enum err e = store_load_jobs(s, &chain->ids[at], 1, list, &r->text);

    if (e)
        return refuse_error(r, e);
    chain->loaded++;
    if (list->count == 0 && at == 0)
        return refuse(r, REFUSED_UNKNOWN, "id", "there is no job %" PRId64, chain->ids[at]);
    if (list->count == 0)
        return refuse(r, REFUSED_STATE, NULL, "there is no job %" PRId64 ", but it is the child of another job",
                      chain->ids[at]);
    chain->jobs[at] = (struct flow_chain_job){.id = chain->ids[at],
                                              .name = list->rows[0].name,
                                              .broadcast = list->rows[0].route &&
                                                           strcmp(list->rows[0].route, "SHARDING_BROADCAST") == 0,
                                              .children = chain->children[at]};
    e = refuse_unless(actor, RIGHT_SEE, list->rows[0].group, r);
    return e ? e : add_children(chain, at, r);
}

enum err admin_put_chain(struct admin *a, const struct actor *actor, int64_t job_id, struct buf *out, struct refusal *r)
{
    struct chain *chain = calloc(1, sizeof *chain);
    struct store_session *s = NULL;
    enum err e = chain ? add_job(chain, job_id, r) : refuse(r, REFUSED_BROKEN, NULL, "out of memory");

    if (!e)
        e = admin_take_session(a, &s, r);
    while (!e && chain->loaded < chain->count)
        e = load_job(s, actor, chain, r);
    if (!e) {
        e = flow_put_chain(out, NULL, chain->jobs, chain->count, &r->text);
        e = e == ERR_INPUT ? refuse(r, REFUSED_STATE, NULL, "%s", r->text.text) : refuse_error(r, e);
    }
    for (size_t i = 0; chain && i < chain->loaded; i++)
        job_list_fini(&chain->lists[i]);
    free(chain);
    return admin_end(a, s, e, r);
}
