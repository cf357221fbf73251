/* SPDX-License-Identifier: MIT */
/* What happened in a run of a flow, in its order: of what the run, its steps and the rows of audit say. */
#include "http/v1/facts.h"
#include "http/v1/flow_boxes.h"

#include <stdlib.h>
#include <string.h>

struct event {
    int64_t at_ms;
    const char *what;
    const char *step;   /* NULL: it is about the run, as all texts that are not there */
    const char *state;  /* that it has since */
    const char *action; /* that was asked */
    const char *who;
    const char *text;
    struct json_value remark; /* in place of the text */
    size_t number;            /* of equal times the first one comes first */
};

struct events {
    struct event *list;
    size_t count;
};

static struct event *add(struct events *e, int64_t at_ms, const char *what)
{
    e->list[e->count] = (struct event){.at_ms = at_ms, .what = what, .number = e->count};
    return &e->list[e->count++];
}

COMPARE_BY_TWO(compare, struct event, at_ms, number)

static void add_run(struct events *e, const struct flow_run_row *run)
{
    add(e, run->created_ms, "created")->who = run->who[0] ? run->who : NULL;
    if (run->started_ms)
        add(e, run->started_ms, "started");
}

static void add_step(struct events *e, const struct flow_box *box, const struct flow_step_view *row)
{
    struct event *event;

    if (row->started_ms)
        add(e, row->started_ms, "stepStarted")->step = box->name;
    if (!row->ended_ms)
        return;
    event = add(e, row->ended_ms, "stepEnded");
    event->step = box->name;
    event->state = flow_state_name((enum flow_state)row->state);
    if (box->closed)
        return;
    event->who = row->who;
    event->text = row->message ? row->message : row->remark;
}

static void add_end(struct events *e, const struct flow_run_row *run)
{
    struct event *event;

    if (!run->ended_ms)
        return;
    event = add(e, run->ended_ms, "ended");
    event->state = flow_run_state_name(run->state);
    event->text = run->message;
}

static bool is_closed(const struct flow_run_whole *run, const char *step)
{
    for (size_t i = 0; i < run->box_count; i++)
        if (strcmp(run->boxes[i].name, step) == 0)
            return run->boxes[i].closed;
    return false;
}

/* "flow.step_retry": retry. The start is told by the run itself. */
static void add_asked(struct v1_call *c, struct events *e, const struct flow_run_whole *run,
                      const struct audit_entry *entry)
{
    const char *word = entry->row.action + strlen("flow.");
    struct json_value root, step;
    struct event *event;

    if (strcmp(word, "run") == 0 || !entry->row.after || !v1_read_object(entry->row.after, &root))
        return;
    event = add(e, entry->at_ms, "asked");
    event->action = strncmp(word, "step_", 5) == 0 ? word + 5 : word;
    event->who = entry->row.who;
    step = v1_find_member(&root, "step");
    if (step.kind == JSON_TEXT) {
        struct buf name = {0};
        json_put_text(&name, &step, step.len);
        event->step = v1_keep_buf(c, &name);
    }
    if (!event->step || !is_closed(run, event->step))
        event->remark = v1_find_member(&root, "remark");
}

static void put_event(struct buf *out, const struct event *event)
{
    v1_put_instant(out, "at", event->at_ms);
    member_text(out, "what", event->what);
    member_text(out, "step", event->step);
    member_text(out, "state", event->state);
    member_text(out, "action", event->action);
    member_text(out, "who", event->who);
    if (event->remark.kind == JSON_TEXT)
        flow_put_value(out, "text", &event->remark);
    else
        member_text(out, "text", event->text);
}

static void put_events(struct v1_call *c, const struct flow_run_whole *run, const struct audit_page *asked, bool cut)
{
    struct events e = {.list = calloc(2 * run->box_count + asked->count + 3, sizeof *e.list)};
    const struct flow_run_row *row = &run->card.items[0].row;

    if (!e.list) {
        c->r->body.failed = true;
        return;
    }
    add_run(&e, row);
    for (size_t i = 0; i < asked->count; i++)
        add_asked(c, &e, run, &asked->items[i]);
    for (size_t i = 0; i < run->box_count; i++)
        if (run->steps[i])
            add_step(&e, &run->boxes[i], run->steps[i]);
    add_end(&e, row);
    qsort(e.list, e.count, sizeof *e.list, compare);
    V1_PUT_LIST(&c->r->body, "items", e.list, e.count, put_event);
    member_bool(&c->r->body, "incomplete", cut);
    free(e.list);
}

void flow_answer_events(struct v1_call *c)
{
    int64_t id = v1_path_id(c, 0);
    struct audit_page asked = {0};
    struct flow_run_whole run;
    bool cut = false;

    if (V1_FAILS(c, admin_load_flow_run, id, &run))
        return;
    if (!v1_has_failed(c, admin_load_flow_asked(c->admin, &run.card.items[0].row, &asked, &cut, &c->why)))
        put_events(c, &run, &asked, cut);
    audit_page_fini(&asked);
    flow_run_whole_fini(&run);
}
