/* SPDX-License-Identifier: MIT */
/* flows_impl: what the files of flows share. */
#ifndef ADMIN_FLOWS_FLOWS_IMPL_H
#define ADMIN_FLOWS_FLOWS_IMPL_H

#include "admin/flows/reach.h"
#include "shardwheel/admin/audit.h"
#include "shardwheel/admin/runs.h"

/* A document that is to be saved as flow `own_id` (0: a new one). ERR_OK also with faults; then *flow may stay NULL.
 * Of what can be read, *reached is in the reach. */
MUST_CHECK enum err flow_check_document(struct reach *reach, const char *document, int64_t own_id, struct flow **flow,
                                        const struct reach_flow **reached, struct flow_faults *faults,
                                        struct refusal *r);

/* Of a flow in a reach that is closed: jobs and flows that it names, and what they are. by_name: its document has names
 * in place of ids. */
void flow_check_steps(struct reach *reach, const struct reach_flow *own, int64_t own_id, bool by_name,
                      struct flow_faults *faults);

/* The newest version of a flow, in a reach that is closed. REFUSED_UNKNOWN "id". */
MUST_CHECK enum err flow_find(struct reach *reach, int64_t id, struct flow_rows *rows, const struct reach_flow **out,
                              struct refusal *r);
/* What a call is about; flow_close lets it go, whatever came of it. */
struct flow_view {
    struct store_session *s;
    struct reach reach; /* closed */
    const struct reach_flow *flow;
    struct flow_rows flows; /* of flow_open: that one; of flow_open_run: its run and version */
    struct flow_run_rows runs;
    struct flow_version_rows version;
};
/* Of what the actor sees. */
MUST_CHECK enum err flow_open(struct admin *a, const struct actor *actor, int64_t id, struct flow_view *v,
                              struct refusal *r);
/* Rights are not looked at. */
MUST_CHECK enum err flow_open_run(struct admin *a, int64_t run_id, struct flow_view *v, struct refusal *r);
MUST_CHECK enum err flow_close(struct admin *a, struct flow_view *v, enum err e, struct refusal *r);

/* Fills in all but the row. The reach is closed. */
MUST_CHECK enum err flow_fill_run_card(struct reach *reach, const struct reach_flow *flow, const struct actor *actor,
                                       int64_t now_ms, struct flow_run_card *card, struct errctx *ec);
/* The parent's names, of those that may be seen. */
MUST_CHECK enum err flow_fill_parents(struct reach *reach, const struct actor *actor, struct flow_run_card *cards,
                                      size_t count, struct errctx *ec);
/* The run and its step by place, as `links` has them; as they are where they may not be seen, or are gone. */
MUST_CHECK enum err flow_name_step(struct store_session *s, const struct actor *actor, int64_t run_id, int64_t step,
                                   struct run_links *links, struct errctx *ec);
size_t flow_find_step_named(const struct reach_flow *flow, const char *name); /* step_count: there is none */

/* An error of the store; a refusal that is filled in already stays. */
enum err flow_refuse_error(struct refusal *r, enum err e);
/* Of a document that was saved: ERR_INPUT is no fault of who asks. */
MUST_CHECK enum err flow_load_saved(const char *document, struct flow **out, struct refusal *r);
/* The first fault refuses the document; none: ERR_OK. */
MUST_CHECK enum err flow_refuse_faults(const struct flow_faults *faults, struct refusal *r);

#define FLOW_TRIES 5 /* of a change that met a deadlock, or a version that was saved meanwhile */

#endif
