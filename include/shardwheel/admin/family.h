/* SPDX-License-Identifier: MIT */
/*
 * admin/family: the jobs that a job leads to when it ends well, those that lead to it, and so on, as a graph. See
 * admin.h for threads and errors.
 */
#ifndef SHARDWHEEL_ADMIN_FAMILY_H
#define SHARDWHEEL_ADMIN_FAMILY_H

#include "shardwheel/admin.h"

#define FAMILY_JOBS_MAX 200
#define FAMILY_LINKS_MAX 1000

struct family_job {
    int64_t id;
    int64_t group; /* 0: there is no such job */
    bool is_seen;  /* who asks may see it; else the id is all that is told */
    bool running;
    const char *name; /* NULL */
    int64_t next_ms;  /* 0: none */
};
struct family_link {
    int64_t from, to; /* ids; a job may be its own ancestor, never its own child */
};
struct family {
    struct family_job *jobs; /* by how far they are from the job, which comes first */
    size_t job_count;
    struct family_link *links; /* between these, each once */
    size_t link_count;
    bool is_cut;  /* there are more */
    void *memory; /* private: the names */
};
/* RIGHT_SEE on the job's group. REFUSED_UNKNOWN "id". REFUSED_LIMIT: looking through the jobs took too long. */
MUST_CHECK enum err admin_load_family(struct admin *a, const struct actor *actor, int64_t job_id, struct family *out,
                                      struct refusal *r);
void family_fini(struct family *family);

/* ---- pure -------------------------------------------------------------------------------------------------------- */

struct job_parents;
/* Fills in jobs (ids alone) and links. ERR_NOMEM. */
MUST_CHECK enum err family_find(const struct job_parents *parents, int64_t job_id, struct family *out,
                                struct errctx *ec);

#endif
