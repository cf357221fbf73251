/* SPDX-License-Identifier: MIT */
/*
 * advance_world: one flow run in memory, for tests of advance_run: each move is given what the tables would say, and
 * what it decides is written back. Include it in one source of a test.
 */
#ifndef TEST_ADVANCE_WORLD_H
#define TEST_ADVANCE_WORLD_H

#include "test.h"

#include "flowrun/advance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define START_MS INT64_C(1764504000000) /* 2025-11-30T12:00:00Z, a Sunday */
#define STEPS_MAX 8
#define ITEMS_MAX 20
#define MOVES_MAX 40

enum { JOB = 1, BROADCAST_JOB = 2, PATIENT_JOB = 3, NO_JOB = 9 };

struct world {
    struct flow *flow, *child;
    struct advance_flow version, child_version;
    struct zone *zone;
    struct advance a;
    struct group_spec *group;
    int64_t now_ms;
    struct flow_moving run;
    /* The tables. */
    struct flow_step_row steps[STEPS_MAX];
    bool has_step[STEPS_MAX];
    struct flow_item_row items[ITEMS_MAX]; /* of one step; the item is the place */
    int item_count;
    struct flow_fire_end fires[ITEMS_MAX]; /* log_id 0: free */
    bool has_ended[ITEMS_MAX];
    struct flow_ask ask;
    int64_t next_log;
    /* What the moves wrote; the last one is `out`. */
    struct flow_changes past[MOVES_MAX];
    size_t moves;
    struct flow_changes *out;
    struct advance_tally tally;
    struct flow_step_row given[STEPS_MAX]; /* of a move, as the next */
    struct flow_item_row given_items[ITEMS_MAX];
};

static struct job_spec jobs[] = {
    {.refs = 1, .id = JOB, .group = 4, .route = "FIRST", .handler = "demo", .param = "job's", .glue_type = "BEAN"},
    {.refs = 1, .id = BROADCAST_JOB, .group = 4, .route = ROUTE_NAME_BROADCAST, .handler = "demo", .glue_type = "BEAN"},
    {.refs = 1, .id = PATIENT_JOB, .group = 4, .route = "FIRST", .handler = "demo", .glue_type = "BEAN"}};
static struct advance_job targets[ARRAY_LEN(jobs)];

static const struct advance_job *find_job(void *arg, int64_t id)
{
    (void)arg;
    return id >= 1 && id <= (int64_t)ARRAY_LEN(jobs) ? &targets[id - 1] : NULL;
}

static const struct advance_flow *find_flow(void *arg, const char *name)
{
    const struct world *w = arg;

    return w->child && strcmp(name, flow_get_name(w->child)) == 0 ? &w->child_version : NULL;
}

/* With ' for ". */
static struct flow *load_flow(const char *document)
{
    struct flow_faults *faults = calloc(1, sizeof *faults);
    char *text = str_copy(document);
    struct flow *flow = NULL;
    struct errctx ec;

    for (char *c = text; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    if (flow_load(text, strlen(text), &flow, faults, &ec))
        fail_msg("%s: %s", faults->list[0].where, faults->list[0].text);
    free(text);
    free(faults);
    return flow;
}

static inline struct world *begin(const char *document)
{
    struct world *w = calloc(1, sizeof *w);
    struct errctx ec;

    assert_non_null(w);
    assert_int_equal(zone_load("Asia/Shanghai", &w->zone, &ec), ERR_OK);
    w->flow = load_flow(document);
    w->version = (struct advance_flow){.version = {7, 1, 0}, .flow = w->flow};
    w->group = group_spec_create(4, "app", "", false, "http://a/,http://b/,http://c/");
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
        targets[i] = (struct advance_job){.id = jobs[i].id, .spec = &jobs[i], .group = w->group};
    jobs[JOB - 1].retry_count = 0;
    jobs[PATIENT_JOB - 1].retry_count = 3;
    targets[PATIENT_JOB - 1].retry_wait_s = 10;
    targets[PATIENT_JOB - 1].retry_wait_max_s = 15;
    w->a = (struct advance){
        .flow = &w->version, .zone = w->zone, .find_job = find_job, .find_flow = find_flow, .arg = w, .param_max = 512};
    w->now_ms = START_MS;
    w->run = (struct flow_moving){
        .id = 70, .flow_id = 7, .version = 1, .state = FLOW_RUN_RUNNING, .kind = "M", .due_s = START_MS / 1000};
    w->next_log = 1000;
    return w;
}

static inline void end(struct world *w)
{
    for (size_t i = 0; i < w->moves; i++)
        flow_changes_fini(&w->past[i]);
    flow_destroy(w->flow);
    flow_destroy(w->child);
    group_spec_unref(w->group);
    zone_destroy(w->zone);
    free(w);
}

static inline void add_child(struct world *w, const char *document)
{
    w->child = load_flow(document);
    w->child_version = (struct advance_flow){.version = {8, 3, 0}, .flow = w->child};
}

/* ---- what a move is given ---------------------------------------------------------------------------------------- */

static inline int64_t find_end(const struct world *w, int64_t log_id)
{
    for (int i = 0; i < ITEMS_MAX; i++)
        if (w->fires[i].log_id == log_id && w->has_ended[i])
            return i;
    return -1;
}

static inline void give_items(struct world *w, struct flow_wake *wake)
{
    w->run.items = w->given_items;
    w->run.item_count = w->run.wake_count = 0;
    for (int i = 0; i < w->item_count; i++) {
        const struct flow_item_row *item = &w->items[i];
        if ((item->now.wake_ms && item->now.wake_ms <= w->now_ms) || find_end(w, item->now.log_id) >= 0)
            w->given_items[w->run.item_count++] = *item;
        if (item->now.wake_ms > w->now_ms && (w->run.wake_count == 0 || item->now.wake_ms < wake->wake_ms)) {
            *wake = (struct flow_wake){w->run.id, item->now.wake_ms};
            w->run.wake_count = 1;
        }
    }
    w->run.wakes = wake;
}

static inline void give_results(struct world *w, struct flow_item_result *results)
{
    w->run.results = results;
    w->run.result_count = 0;
    for (int i = 0; i < w->item_count; i++) {
        const struct flow_step_row *step = &w->steps[w->items[i].step];
        if (step->now.state == FLOW_RUNNING && step->items_ended >= step->items)
            results[w->run.result_count++] =
                (struct flow_item_result){w->run.id, step->step, i, w->items[i].now.result};
    }
}

/* ---- what it writes ---------------------------------------------------------------------------------------------- */

static inline void write_fires(struct world *w)
{
    for (struct fire *f = w->out->fires; f; f = f->next) {
        int i = 0;
        while (w->fires[i].log_id)
            i++;
        f->log_id = w->next_log++;
        w->fires[i] = (struct flow_fire_end){
            .run_id = f->flow_run, .log_id = f->log_id, .step = f->flow_step, .item = f->flow_item};
        w->has_ended[i] = false;
    }
}

static struct flow_try finish_try(struct flow_try now)
{
    now.log_id = now.fire ? now.fire->log_id : now.log_id;
    now.fire = NULL;
    return now;
}

static inline void write_items(struct world *w)
{
    for (size_t i = 0; i < w->out->forgotten_count; i++)
        w->item_count = 0;
    for (size_t i = 0; i < w->out->item_count; i++) {
        int at = w->out->items[i]->item;
        w->items[at] = *w->out->items[i];
        w->items[at].now = finish_try(w->items[at].now);
        w->item_count = at >= w->item_count ? at + 1 : w->item_count;
    }
    for (size_t i = 0; i < w->out->again_count; i++) {
        struct flow_step_row *step = &w->steps[w->out->again[i].step];
        step->items_ended = step->items_failed = 0;
        for (int k = 0; k < w->item_count; k++) {
            if (w->items[k].now.state == FLOW_SUCCEEDED)
                step->items_ended++;
            else
                w->items[k].now = (struct flow_try){.state = FLOW_RUNNING, .wake_ms = 1};
        }
    }
}

static inline void write_changes(struct world *w)
{
    write_fires(w);
    for (size_t i = 0; i < w->out->ended_count; i++)
        for (int k = 0; k < ITEMS_MAX; k++)
            if (w->fires[k].log_id == w->out->ended[i])
                w->fires[k].log_id = 0;
    if (w->out->closed_count > 0)
        memset(w->fires, 0, sizeof w->fires);
    for (size_t i = 0; i < w->out->step_count; i++) {
        int at = w->out->steps[i]->step;
        w->steps[at] = *w->out->steps[i];
        w->steps[at].now = finish_try(w->steps[at].now);
        if (w->steps[at].child)
            w->steps[at].child_run = 500;
        w->steps[at].child = NULL;
        w->has_step[at] = true;
    }
    write_items(w);
    if (w->out->ask_count > 0)
        w->ask.id = 0;
}

/* One move, as things are. */
static inline void move(struct world *w)
{
    struct flow_fire_end ends[ITEMS_MAX];
    struct flow_flight flights[STEPS_MAX] = {0};
    struct flow_item_result results[ITEMS_MAX];
    struct flow_wake wake = {0};
    struct errctx ec;

    assert_true(w->moves < MOVES_MAX);
    w->out = &w->past[w->moves++];
    w->out->fires_end = &w->out->fires;
    w->run.steps = w->given;
    w->run.step_count = w->run.end_count = 0;
    for (int i = 0; i < STEPS_MAX; i++) {
        if (w->has_step[i])
            w->given[w->run.step_count++] = w->steps[i];
        flights[i] = (struct flow_flight){w->run.id, i, 0};
    }
    for (int i = 0; i < ITEMS_MAX; i++) {
        if (w->fires[i].log_id && w->has_ended[i])
            ends[w->run.end_count++] = w->fires[i];
        if (w->fires[i].log_id && w->fires[i].item >= 0)
            flights[w->fires[i].step].count++;
    }
    w->run.ends = ends;
    w->run.flights = flights;
    w->run.flight_count = STEPS_MAX;
    give_items(w, &wake);
    give_results(w, results);
    w->run.asks = &w->ask;
    w->run.ask_count = w->ask.id ? 1 : 0;
    w->run.changed = false;
    assert_int_equal(advance_run(&w->a, &w->run, w->now_ms, w->out, &w->tally, &ec), ERR_OK);
    write_changes(w);
}

/* ---- words of the tests ------------------------------------------------------------------------------------------ */

static inline int count_fires(const struct world *w)
{
    int n = 0;

    for (const struct fire *f = w->out->fires; f; f = f->next)
        n++;
    return n;
}

/* The fire of the step (of that item of it) ends; the move that takes it in is the caller's. */
static inline void report_item(struct world *w, int step, int item, int code, const char *said)
{
    for (int i = 0; i < ITEMS_MAX; i++)
        if (w->fires[i].log_id && w->fires[i].step == step && w->fires[i].item == item) {
            w->fires[i].trigger_code = 200;
            w->fires[i].handle_code = code;
            w->fires[i].said = said;
            w->fires[i].address = "http://a/";
            w->has_ended[i] = true;
            return;
        }
    fail_msg("step %d has nothing under way", step);
}

/* It ends, and that is taken in. */
static inline void finish(struct world *w, int step, int code, const char *said)
{
    report_item(w, step, -1, code, said);
    move(w);
}

static inline void ask(struct world *w, int step, const char *action)
{
    w->ask = (struct flow_ask){.id = 33, .run_id = w->run.id, .step = step, .who = "ann", .remark = "seen"};
    snprintf(w->ask.action, sizeof w->ask.action, "%s", action);
    move(w);
}

static inline void check_states(const struct world *w, const char *letters) /* one of each step: . r s f - c */
{
    for (size_t i = 0; letters[i]; i++) {
        char is = w->has_step[i] ? ".rsf-c"[w->steps[i].now.state] : '.';
        if (is != letters[i])
            fail_msg("step %zu is '%c', not '%c'", i, is, letters[i]);
    }
}

#endif
