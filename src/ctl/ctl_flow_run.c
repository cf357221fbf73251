/* SPDX-License-Identifier: MIT */
/* Runs of flows: started, shown, and what is asked of them. */
#include "ctl/parts.h"

#include "shardwheel/admin/flows.h"
#include "shardwheel/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_SHOWN 50
#define PARAMETERS_SHOWN 2000 /* bytes */

static void put_time(const struct ctl *c, int64_t ms, struct buf *out)
{
    if (ms)
        zone_put_second(c->zone, ms / 1000, out);
    else
        buf_puts(out, "-");
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

/* The --param on the line as a JSON object. */
static enum err put_parameters(const struct ctl *c, const struct flow *flow, struct buf *out, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t i = 0; !e && i < c->wanted->setting_count; i++) {
        const char *text = c->wanted->settings[i].value, *equals = strchr(text, '=');

        if (strcmp(c->wanted->settings[i].name, "param") != 0)
            continue;
        if (!equals)
            return err_set(ec, ERR_INPUT, "param: expected NAME=VALUE, not %s", log_quote(text).s);
        buf_puts(out, out->len ? "," : "{");
        e = flow_put_parameter(out, flow, text, (size_t)(equals - text), equals + 1, ec);
    }
    if (!e && out->len)
        buf_puts(out, "}");
    return !e && buf_failed(out) ? err_set(ec, ERR_NOMEM, "out of memory") : e;
}

static enum err make_order(struct ctl *c, const struct flow_row *row, struct buf *parameters, struct errctx *ec)
{
    struct flow *flow = NULL;
    enum err e = flow_load(row->document, strlen(row->document), &flow, NULL, ec);

    if (!e)
        e = put_parameters(c, flow, parameters, ec);
    flow_destroy(flow);
    return e;
}

enum err ctl_run_flow(struct ctl *c, struct errctx *ec)
{
    struct flow_run_order order = {.key = ctl_find_option(c->wanted, "key")};
    struct buf parameters = {0};
    struct flow_rows rows = {0};
    struct refusal r = {0};
    int64_t id = 0;
    bool is_new = false;
    enum err e =
        ctl_check_options(c->wanted, (const char *const[]){"param", "key", NULL}, "--param, --key and --json", ec);

    if (!e)
        e = ctl_find_flow(c, c->wanted->words[0], &rows, ec);
    if (!e)
        e = make_order(c, &rows.rows[0], &parameters, ec);
    order.parameters = parameters.data;
    if (!e)
        e = ctl_refused(admin_start_flow_run(c->admin, &ctl_actor, rows.rows[0].id, &order, &id, &is_new, &r), &r, ec);
    if (!e && c->wanted->json) {
        member_object(&c->out, NULL);
        member_int(&c->out, "run", id);
        member_bool(&c->out, "isNew", is_new);
        buf_puts(&c->out, "}\n");
    } else if (!e) {
        buf_printf(&c->out, is_new ? "flow run %" PRId64 " starts\n" : "flow run %" PRId64 " already has this key\n",
                   id);
    }
    buf_fini(&parameters);
    flow_rows_fini(&rows);
    return e;
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

/* The beginning of an object, to be ended by the caller. */
static void put_run_json(const struct flow_run_card *card, struct buf *out)
{
    const struct flow_run_row *row = &card->row;

    member_int(out, "run", row->id);
    member_text(out, "flow", row->flow_name);
    member_int(out, "version", row->version);
    member_text(out, "state", flow_run_state_name(row->state));
    member_text(out, "kind", flow_run_kind_name(row->kind));
    member_int(out, "dueSeconds", row->due_s);
    member_text(out, "who", row->who[0] ? row->who : NULL);
    member_int(out, "createdMs", row->created_ms);
    member_int_or_null(out, "startedMs", row->started_ms);
    member_int_or_null(out, "endedMs", row->ended_ms);
    member_bool(out, "late", card->late);
    member_int_or_null(out, "parentRun", card->parent_run);
    member_text(out, "message", row->message);
}

static void put_run_line(const struct ctl *c, const struct flow_run_card *card, struct buf *out)
{
    const struct flow_run_row *row = &card->row;

    buf_printf(out, "%" PRId64 "\t%s\t%" PRId64 "\t%s%s\t%s\t", row->id, row->flow_name, row->version,
               flow_run_state_name(row->state), card->late ? ", late" : "", flow_run_kind_name(row->kind));
    zone_put_second(c->zone, row->due_s, out);
    buf_puts(out, "\t");
    put_time(c, row->started_ms, out);
    buf_puts(out, "\t");
    put_time(c, row->ended_ms, out);
    buf_puts(out, "\t");
    ctl_put_cell(out, row->message ? row->message : "");
    buf_puts(out, "\n");
}

enum err ctl_list_flow_runs(struct ctl *c, struct errctx *ec)
{
    struct flow_run_filter filter = {.before = INT64_MAX};
    struct flow_run_cards *cards = calloc(1, sizeof *cards);
    struct flow_rows rows = {0};
    struct buf lines = {0};
    struct refusal r = {0};
    enum err e = cards ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");

    if (!e && c->wanted->word_count)
        e = ctl_find_flow(c, c->wanted->words[0], &rows, ec);
    filter.flow_id = rows.count ? rows.rows[0].id : 0;
    if (!e)
        e = ctl_refused(admin_list_flow_runs(c->admin, &ctl_actor, &filter, RUNS_SHOWN, cards, &r), &r, ec);
    for (size_t i = 0; !e && i < cards->count; i++) {
        if (c->wanted->json) {
            buf_puts(&lines, i ? ",\n{" : "\n{");
            put_run_json(&cards->items[i], &lines);
            buf_puts(&lines, "}");
        } else {
            put_run_line(c, &cards->items[i], &lines);
        }
    }
    if (!e && c->wanted->json)
        buf_printf(&c->out, "[%s%s]\n", lines.len ? lines.data : "", lines.len ? "\n" : "");
    else if (!e && !lines.len)
        buf_puts(&c->out, "There are no runs.\n");
    else if (!e)
        ctl_put_table("RUN\tFLOW\tVERSION\tSTATE\tKIND\tDUE\tSTARTED\tENDED\tMESSAGE\n", &lines, &c->out);
    c->out.failed = c->out.failed || buf_failed(&lines);
    buf_fini(&lines);
    flow_rows_fini(&rows);
    if (cards)
        flow_run_cards_fini(cards);
    free(cards);
    return e;
}

/* ---- run-show ---------------------------------------------------------------------------------------------------- */

static void put_step_json(const struct flow_run_whole *whole, size_t i, struct buf *out)
{
    const struct flow_step_view *step = whole->steps[i];
    const struct flow_box *box = &whole->boxes[i];

    buf_puts(out, i ? ",\n{" : "\n{");
    member_text(out, "name", box->name);
    member_text(out, "type", flow_step_kind_name(box->kind));
    member_text(out, "state", flow_state_name(step ? (enum flow_state)step->state : FLOW_WAITING));
    member_int_or_null(out, "job", box->job_id);
    member_int_or_null(out, "log", step ? step->log_id : 0);
    member_int_or_null(out, "childRun", step ? step->child_run : 0);
    member_int(out, "tries", step ? step->tries : 0);
    member_int_or_null(out, "startedMs", step ? step->started_ms : 0);
    member_int_or_null(out, "endedMs", step ? step->ended_ms : 0);
    member_text(out, "result", step ? step->result : NULL);
    member_text(out, "message", step ? step->message : NULL);
    member_text(out, "reason", whole->reasons[i]);
    member_text(out, "who", step ? step->who : NULL);
    member_text(out, "remark", step ? step->remark : NULL);
    buf_puts(out, "}");
}

/* Why it waits, what went wrong, how far it is, what somebody said. */
static void put_note(const struct flow_run_whole *whole, size_t i, struct buf *out)
{
    const struct flow_step_view *step = whole->steps[i];

    if (whole->reasons[i])
        ctl_put_cell(out, whole->reasons[i]);
    if (!step)
        return;
    if (step->items > 0)
        buf_printf(out, "%" PRId64 " of %" PRId64 " ended, %" PRId64 " failed ", step->items_ended, step->items,
                   step->items_failed);
    if (step->message)
        ctl_put_cell(out, step->message);
    if (step->remark && step->remark[0]) {
        ctl_put_cell(out, step->message ? "; " : "");
        ctl_put_cell(out, step->who ? step->who : "");
        buf_puts(out, ": ");
        ctl_put_cell(out, step->remark);
    }
}

static void put_step_line(const struct ctl *c, const struct flow_run_whole *whole, size_t i, struct buf *out)
{
    const struct flow_step_view *step = whole->steps[i];

    buf_printf(out, "%s\t%s\t%s\t%" PRId64 "\t", whole->boxes[i].name, flow_step_kind_name(whole->boxes[i].kind),
               flow_state_name(step ? (enum flow_state)step->state : FLOW_WAITING), step ? step->tries : 0);
    put_time(c, step ? step->started_ms : 0, out);
    buf_puts(out, "\t");
    put_time(c, step ? step->ended_ms : 0, out);
    if (step && (step->log_id || step->child_run))
        buf_printf(out, "\t%s%" PRId64 "\t", step->log_id ? "log " : "flow run ",
                   step->log_id ? step->log_id : step->child_run);
    else
        buf_puts(out, "\t-\t");
    put_note(whole, i, out);
    buf_puts(out, "\n");
}

static void put_run_text(const struct ctl *c, const struct flow_run_whole *whole, struct buf *out)
{
    const struct flow_run_card *card = &whole->card.items[0];
    struct buf lines = {0};

    buf_printf(out, "flow run  %" PRId64 " of %s, version %" PRId64 "\nstate     %s%s\nkind      %s%s%s\ndue       ",
               card->row.id, card->row.flow_name, card->row.version, flow_run_state_name(card->row.state),
               card->late ? ", late" : "", flow_run_kind_name(card->row.kind), card->row.who[0] ? ", by " : "",
               card->row.who);
    zone_put_second(c->zone, card->row.due_s, out);
    buf_puts(out, "\nstarted   ");
    put_time(c, card->row.started_ms, out);
    buf_puts(out, "\nended     ");
    put_time(c, card->row.ended_ms, out);
    if (card->parent_run)
        buf_printf(out, "\nparent    flow run %" PRId64 ", step %s", card->parent_run, card->parent_step);
    if (card->row.parameters) {
        buf_puts(out, "\nparameters ");
        text_put_utf8(out, card->row.parameters, strlen(card->row.parameters), PARAMETERS_SHOWN);
    }
    if (card->row.message)
        buf_printf(out, "\nmessage   %s", card->row.message);
    buf_puts(out, "\n\n");
    for (size_t i = 0; i < whole->box_count; i++)
        put_step_line(c, whole, i, &lines);
    ctl_put_table("STEP\tTYPE\tSTATE\tTRIES\tSTARTED\tENDED\tRUN\tNOTE\n", &lines, out);
    buf_fini(&lines);
}

enum err ctl_show_flow_run(struct ctl *c, struct errctx *ec)
{
    struct flow_run_whole *whole = calloc(1, sizeof *whole);
    struct refusal r = {0};
    enum err e;

    if (!whole)
        return err_set(ec, ERR_NOMEM, "out of memory");
    e = ctl_refused(admin_load_flow_run(c->admin, &ctl_actor, c->wanted->log_id, whole, &r), &r, ec);
    if (!e && c->wanted->json) {
        member_object(&c->out, NULL);
        put_run_json(&whole->card.items[0], &c->out);
        member_json(&c->out, "parameters", whole->card.items[0].row.parameters);
        member_list(&c->out, "steps");
        for (size_t i = 0; i < whole->box_count; i++)
            put_step_json(whole, i, &c->out);
        buf_puts(&c->out, "\n]}\n");
    } else if (!e) {
        put_run_text(c, whole, &c->out);
    }
    flow_run_whole_fini(whole);
    free(whole);
    return e;
}

/* ---- what is asked of runs --------------------------------------------------------------------------------------- */

static enum err ask(struct ctl *c, int64_t run_id, const char *step, enum flow_action action, const char *remark,
                    struct errctx *ec)
{
    struct refusal r = {0};
    enum err e = ctl_refused(admin_ask_flow_run(c->admin, &ctl_actor, run_id, step, action, remark, &r), &r, ec);

    if (!e)
        buf_printf(&c->out, "flow run %" PRId64 "%s%s: %s was requested\n", run_id, step ? ", step " : "",
                   step ? step : "", flow_action_name(action));
    return e;
}

enum err ctl_ask_flow_run(struct ctl *c, struct errctx *ec)
{
    return ask(c, c->wanted->log_id, NULL, c->wanted->verb == CTL_FLOW_CANCEL ? FLOW_ASK_CANCEL : FLOW_ASK_RERUN, "",
               ec);
}

enum err ctl_ask_flow_step(struct ctl *c, struct errctx *ec)
{
    const char *const *words = c->wanted->words;
    const char *remark = ctl_find_option(c->wanted, "remark");
    int64_t run_id;
    enum err e = ctl_check_options(c->wanted, (const char *const[]){"remark", NULL}, "--remark", ec);

    if (!e && !parse_int(words[0], 1, INT64_MAX, &run_id))
        e = err_set(ec, ERR_INPUT, "expected the id of a flow run, not %s", log_quote(words[0]).s);
    for (int action = FLOW_ASK_RETRY; !e && action < FLOW_ACTIONS; action++)
        if (strcmp(words[2], flow_action_name((enum flow_action)action)) == 0)
            return ask(c, run_id, words[1], (enum flow_action)action, remark ? remark : "", ec);
    return e ? e
             : err_set(ec, ERR_INPUT, "expected retry, skip, done, approve or reject, not %s", log_quote(words[2]).s);
}
