/* SPDX-License-Identifier: MIT */
/*
 * reach: flows with all that they lead to: the flows that they run, these flows' flows, and the jobs of all of them.
 * Private to admin/flows.
 *
 * Use         reach_init; reach_add for each; reach_close, which reads what is missing (also after more were added);
 *             then ask; reach_fini.
 * Ownership   What is returned lives as long as the reach.
 */
#ifndef ADMIN_FLOWS_REACH_H
#define ADMIN_FLOWS_REACH_H

#include "admin/admin_impl.h"
#include "shardwheel/admin/flows.h"

struct reach_step {
    char name[FLOW_NAME_MAX + 1];
    enum flow_step_kind kind;
    int64_t job_id;               /* 0: none */
    char flow[FLOW_NAME_MAX + 1]; /* "": none */
    struct reach_flow *runs;      /* of that name; NULL: none, or not closed yet */
};

/* What is needed of a document. */
struct reach_flow {
    char name[FLOW_NAME_MAX + 1]; /* by which others run it; "": it is no newest version */
    int64_t id;                   /* 0: there is no flow of that name, or it is not saved yet */
    int64_t version;
    bool is_planned; /* it will be there before what names it is saved */
    struct reach_step *steps;
    size_t step_count;
    char *tags;
    int64_t deadline_s;
    int deep;      /* of flows below it; -1: not known, -2: it is being looked at */
    unsigned seen; /* in which walk */
};

struct reach {
    struct store_session *s;
    struct reach_flow **flows;
    size_t count;
    struct reach_flow **by_name; /* those with a name, in its order */
    size_t name_count;
    size_t linked;    /* of flows: whose steps have the flows that they run */
    size_t looked_up; /* of flows: whose jobs were read, too */
    struct flow_jobs jobs;
    const struct flow_job *planned; /* jobs as they will be, which count in place of those of the same id; ascending */
    size_t planned_count;
    unsigned walk;
};

void reach_init(struct reach *reach, struct store_session *s);
void reach_fini(struct reach *reach);
/* A version; `name` NULL: not the newest one. A document that cannot be read (of a newer release) has no steps. */
MUST_CHECK enum err reach_add(struct reach *reach, const char *name, int64_t id, int64_t version, const char *document,
                              const struct reach_flow **out, struct errctx *ec);
/* The same of a document that was read. */
MUST_CHECK enum err reach_add_flow(struct reach *reach, const char *name, int64_t id, int64_t version,
                                   const struct flow *flow, const struct reach_flow **out, struct errctx *ec);
MUST_CHECK enum err reach_close(struct reach *reach, struct errctx *ec);

/* What runs it by its name leads to the saved flow of that name instead, after the next reach_close. */
void reach_drop_name(struct reach *reach, struct reach_flow *flow);

const struct reach_flow *reach_find(const struct reach *reach, const char *name);
const struct reach_flow *reach_find_version(const struct reach *reach, int64_t id, int64_t version);
const struct flow_job *reach_find_job(const struct reach *reach, int64_t id); /* NULL: there is none */
/* Which versions of saved flows it was closed with, each flow once; but that one's. Free with free. */
MUST_CHECK enum err reach_load_versions(const struct reach *reach, int64_t but_id, struct flow_version **out,
                                        size_t *count, struct errctx *ec);
/* Ascending; free with free. */
MUST_CHECK enum err reach_load_groups(struct reach *reach, const struct reach_flow *flow, int64_t **out, size_t *count,
                                      struct errctx *ec);
/* The jobs of all that it leads to, also those that are gone; ascending; free with free. */
MUST_CHECK enum err reach_load_job_ids(struct reach *reach, const struct reach_flow *flow, int64_t **out, size_t *count,
                                       struct errctx *ec);
/* Whether that flow is among those that this one leads to. */
bool reach_leads_to(struct reach *reach, const struct reach_flow *from, const char *name, int64_t id);
/* How many flows deep it goes: 0: it runs none. Above FLOWS_DEEP_MAX: at least so many, or in a circle. */
int reach_get_depth(struct reach *reach, const struct reach_flow *flow);

/* ---- rights.c ---------------------------------------------------------------------------------------------------- */

/* The right in one of the groups; in all of them. */
MUST_CHECK enum err reach_refuse_unless_sees(struct reach *reach, const struct reach_flow *flow,
                                             const struct actor *actor, struct refusal *r);
MUST_CHECK enum err reach_refuse_unless(struct reach *reach, const struct reach_flow *flow, const struct actor *actor,
                                        enum admin_right right, struct refusal *r);
/* Pure: of groups. */
bool groups_are_seen(const int64_t *groups, size_t count, const struct actor *actor);
bool groups_allow(const int64_t *groups, size_t count, const struct actor *actor, enum admin_right right);
/* For the rows of audit: the one group, or 0. */
MUST_CHECK enum err reach_find_one_group(struct reach *reach, const struct reach_flow *flow, int64_t *out,
                                         struct errctx *ec);

/* A box for each step, see flow_boxes_destroy. */
MUST_CHECK enum err reach_load_boxes(struct reach *reach, const struct reach_flow *flow, const struct actor *actor,
                                     struct flow_box **out, struct errctx *ec);

#endif
