/* SPDX-License-Identifier: MIT */
/* What people ask of runs of flows: whether it makes sense now, and for whom. */
#include "admin/flows/flows_impl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shardwheel/text.h"

static const struct {
    const char *name;  /* in the tables, and of api/v1 */
    const char *audit; /* the action of the row */
} actions[FLOW_ACTIONS] = {
    [FLOW_ASK_CANCEL] = {"cancel", "flow.cancel"},      [FLOW_ASK_RERUN] = {"rerun", "flow.rerun"},
    [FLOW_ASK_RETRY] = {"retry", "flow.step_retry"},    [FLOW_ASK_SKIP] = {"skip", "flow.step_skip"},
    [FLOW_ASK_DONE] = {"done", "flow.step_done"},       [FLOW_ASK_APPROVE] = {"approve", "flow.step_approve"},
    [FLOW_ASK_REJECT] = {"reject", "flow.step_reject"},
};

const char *flow_action_name(enum flow_action action)
{
    return actions[action].name;
}

struct ask {
    enum flow_action action;
    enum flow_step_kind kind; /* of the step */
    struct refusal *r;
};

static enum err refuse_run(const struct ask *ask, const struct flow_run_now *now)
{
    static const char *const states[] = {"waits in line", "is running",    "has succeeded",
                                         "has failed",    "was cancelled", "was skipped"};

    return refuse(ask->r, REFUSED_STATE, NULL, "the run %s",
                  now->state >= 0 && now->state < FLOW_RUN_STATES ? states[now->state] : "is in another state");
}

/* A run in which steps can be worked on; one that has ended goes on then. */
static bool has_steps(const struct flow_run_now *now)
{
    return now->state != FLOW_RUN_QUEUED && now->state != FLOW_RUN_SKIPPED;
}

static bool may_step(const struct ask *ask, const struct flow_run_now *now)
{
    enum flow_state state = (enum flow_state)now->step_state;
    bool asks_people = ask->kind == FLOW_WAIT || ask->kind == FLOW_APPROVAL;
    bool open = now->state == FLOW_RUN_RUNNING;

    switch (ask->action) {
    case FLOW_ASK_RETRY: return state == FLOW_FAILED || state == FLOW_CANCELLED;
    case FLOW_ASK_SKIP:
    case FLOW_ASK_DONE:
        return state == FLOW_FAILED || (open && state == FLOW_WAITING) || (state == FLOW_RUNNING && asks_people);
    case FLOW_ASK_APPROVE:
    case FLOW_ASK_REJECT: return state == FLOW_RUNNING && ask->kind == FLOW_APPROVAL;
    case FLOW_ASK_CANCEL:
    case FLOW_ASK_RERUN: break;
    }
    return false;
}

static enum err check(void *arg, const struct flow_run_now *now, struct errctx *ec)
{
    const struct ask *ask = arg;
    bool good;

    (void)ec;
    if (ask->action == FLOW_ASK_CANCEL)
        good = now->state == FLOW_RUN_QUEUED || now->state == FLOW_RUN_RUNNING;
    else if (ask->action == FLOW_ASK_RERUN)
        good = now->state == FLOW_RUN_FAILED || now->state == FLOW_RUN_CANCELLED;
    else
        good = has_steps(now);
    if (!good)
        return refuse_run(ask, now);
    if (ask->action == FLOW_ASK_CANCEL || ask->action == FLOW_ASK_RERUN || may_step(ask, now))
        return ERR_OK;
    return refuse(
        ask->r, REFUSED_STATE, NULL, "%s is not possible: the state of the step is %s", flow_action_name(ask->action),
        now->step_state >= 0 && now->step_state < FLOW_STATES ? flow_state_name((enum flow_state)now->step_state)
                                                              : "another one");
}

static enum err check_remark(enum flow_action action, const char *remark, struct refusal *r)
{
    if (action == FLOW_ASK_DONE && str_is_blank(remark))
        return refuse(r, REFUSED_REQUIRED, "remark", "remark: say why the step counts as done");
    if (remark && utf8_count(remark, strlen(remark), /*utf16=*/true) > FLOW_REMARK_MAX)
        return refuse_length(r, "remark", 0, FLOW_REMARK_MAX, "remark must have at most %d characters",
                             FLOW_REMARK_MAX);
    return ERR_OK;
}

static enum err write_request(struct reach *reach, const struct actor *actor, const struct reach_flow *flow,
                              const struct flow_run_row *run, const struct flow_request *request, const char *step,
                              struct ask *ask, struct refusal *r)
{
    struct audit_diff diff;
    int64_t group = 0;
    int tries = FLOW_TRIES;
    enum err e = reach_find_one_group(reach, flow, &group, &r->text);

    audit_begin(&diff, AUDIT_ADDED);
    audit_int(&diff, "run", 0, run->id);
    audit_text(&diff, "step", NULL, step);
    audit_text(&diff, "remark", NULL, *request->remark ? request->remark : NULL);
    audit_end(&diff, actor, actions[ask->action].audit, run->flow_id, run->flow_name, group);
    while (!e && tries-- > 0) {
        e = store_ask_flow_run(reach->s, request, check, ask, &diff.row, &r->text);
        if (e != ERR_CONFLICT || r->kind != REFUSED_NOT || !tries)
            break;
        e = ERR_OK;
    }
    audit_fini(&diff);
    return flow_refuse_error(r, e);
}

static enum err ask_run(struct reach *reach, const struct actor *actor, const struct reach_flow *flow,
                        const struct flow_run_row *run, const char *step, enum flow_action action, const char *remark,
                        struct refusal *r)
{
    struct flow_request request = {.run_id = run->id,
                                   .step = -1,
                                   .action = flow_action_name(action),
                                   .who = actor->name,
                                   .remark = remark ? remark : ""};
    struct ask ask = {.action = action, .r = r};
    enum err e = reach_refuse_unless(reach, flow, actor, RIGHT_RUN, r);

    if (!e && step) {
        size_t i = flow_find_step_named(flow, step);

        if (i == flow->step_count)
            return refuse(r, REFUSED_UNKNOWN, "name", "the run has no step \"%s\"", step);
        ask.kind = flow->steps[i].kind;
        request.step = (int64_t)i;
    }
    if (!e)
        e = check_remark(action, remark, r);
    return e ? e : write_request(reach, actor, flow, run, &request, step, &ask, r);
}

enum err admin_ask_flow_run(struct admin *a, const struct actor *actor, int64_t run_id, const char *step,
                            enum flow_action action, const char *remark, struct refusal *r)
{
    struct flow_view v;
    enum err e = flow_open_run(a, run_id, &v, r);

    if (!e)
        e = ask_run(&v.reach, actor, v.flow, &v.runs.rows[0], step, action, remark, r);
    return flow_close(a, &v, e, r);
}
