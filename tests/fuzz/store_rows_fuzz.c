/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target for rows of the database as strangers write them: what nodes load by themselves (strange_store.h). It
 * goes through the pure code that reads it next: the planner, the decision about a failure, the messages of alarms,
 * the texts of settings.
 * Run: store_rows_fuzz -max_len=600 -max_total_time=60
 */
#include "strange_store.h"

#include "alarm/mail_text.h"
#include "alarm/message.h"
#include "follow/retry.h"
#include "schedule/plan/planner.h"
#include "shardwheel/store/alarm.h"
#include "shardwheel/store/going_back.h"
#include "shardwheel/store/job.h"
#include "shardwheel/store/jobs.h"
#include "shardwheel/store/later.h"
#include "shardwheel/store/lost.h"
#include "shardwheel/store/plan.h"
#include "shardwheel/store/run.h"

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

static void plan_job(const struct job_due *job, const struct zone *zone, struct errctx *ec)
{
    struct plan_moment moment = {.now_ms = NOW_S * 1000,
                                 .window_end_ms = NOW_S * 1000 + 5000,
                                 .planned_until_ms = NOW_S * 1000 + 4000 - 60000 * (int64_t)draw(3),
                                 .earliest_s = NOW_S + 1,
                                 .newest_s = draw(2) ? INT64_MIN : NOW_S - 1};
    struct planner *planner = NULL;
    struct plan plan = {0};

    if (planner_create(zone, 2126, &planner, ec))
        abort();
    planner_begin(planner);
    if (!planner_plan_job(planner, job, &moment, NULL, &plan, ec)) {
        if (!plan.stop && plan.new_next_ms <= 0)
            abort(); /* a job that runs is due some time */
        fire_destroy_list(plan.fires);
    }
    planner_destroy(planner);
}

static enum err load_due(struct store_session *s, struct errctx *ec)
{
    struct job_page page = {0};
    enum err e = store_load_due(s, ids, ARRAY_LEN(ids), NOW_S * 1000, &page, ec);

    for (size_t i = 0; !e && i < page.count; i++)
        plan_job(&page.jobs[i], s->st->zone, ec);
    job_page_fini(&page);
    return e;
}

static enum err scan_due(struct store_session *s, struct errctx *ec)
{
    struct due_scan scan = {0};
    enum err e = store_scan_due(s, (const int[]){0, 2}, 2, 4, NOW_S * 1000, 3, &scan, ec);

    free(scan.list);
    return e;
}

static enum err load_specs(struct store_session *s, struct errctx *ec)
{
    struct job_spec *specs[ARRAY_LEN(ids)] = {0};
    struct group_spec *groups[ARRAY_LEN(ids)] = {0};
    enum err e = draw(2) ? store_load_job_specs(s, ids, ARRAY_LEN(ids), specs, ec)
                         : store_load_targets(s, ids, ARRAY_LEN(ids), specs, groups, ec);

    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        if (!e && specs[i])
            touch(specs[i]->handler), touch(specs[i]->glue_source), touch(specs[i]->param);
        if (!e)
            job_spec_unref(specs[i]), group_spec_unref(groups[i]);
    }
    return e;
}

static enum err load_settings(struct store_session *s, struct errctx *ec)
{
    struct job_settings *list = NULL;
    struct errctx why = {""};
    size_t count = 0;
    enum err e = store_load_job_settings(s, ids, ARRAY_LEN(ids), &list, &count, ec);

    for (size_t i = 0; !e && i < count; i++) {
        (void)!job_settings_check(&list[i], &why);
        for (size_t k = 0; k < job_setting_count(); k++)
            job_setting_put(&list[i], k, s->st->zone, &sink);
        sink.len = 0;
    }
    free(list);
    return e;
}

static enum err decide(void *arg, struct store_session *s, const struct job_state *state, struct job_change *out,
                       struct errctx *ec)
{
    (void)arg, (void)s, (void)ec;
    out->row = state->row;
    out->settings = state->settings;
    out->row.next_ms = NOW_S * 1000;
    out->row.param = draw(2) ? "p" : state->row.param;
    out->remove = draw(4) == 3;
    out->guarded = draw(2);
    return ERR_OK;
}

static enum err change_job(struct store_session *s, struct errctx *ec)
{
    return store_change_job(s, 1, decide, NULL, ec);
}

/* ---- planned and later rows -------------------------------------------------------------------------------------- */

static enum err load_planned(struct store_session *s, struct errctx *ec)
{
    struct log_slice slice = {.from_s = NOW_S - 60, .to_s = NOW_S + 60, .limit_ms = LIMIT_MS, .page_rows = draw(2) * 3};
    struct fire *list = NULL;
    int64_t last_id = 0;
    enum err e = store_load_planned(s, &slice, &list, &last_id, ec);

    for (struct fire *f = e ? NULL : list; f; f = f->next) {
        char mark[100];

        fire_format_mark(f, mark);
        touch(f->address);
        if (f->broadcast && (f->shard_index < 0 || f->shard_index >= f->shard_total))
            abort();
    }
    if (!e)
        fire_destroy_list(list);
    return e;
}

static enum err load_later(struct store_session *s, struct errctx *ec)
{
    struct later_page page = {0};
    struct later_sum sum;
    struct going_back back;
    enum err e;

    switch (draw(4)) {
    case 0: e = store_load_later(s, ids, ARRAY_LEN(ids), &page, ec); break;
    case 1: e = store_list_later(s, 1, 3, &page, ec); break;
    case 2: e = store_sum_later(s, &sum, ec); break;
    default: e = store_load_going_back(s, &back, ec); break;
    }
    for (size_t i = 0; !e && i < page.count; i++)
        touch(page.rows[i].param), touch(page.rows[i].addresses), touch(page.rows[i].sharding);
    later_page_fini(&page);
    return e;
}

static enum err end_later(struct store_session *s, struct errctx *ec)
{
    size_t ended = 0;

    return store_end_later(s, 3, &ended, ec);
}

static enum err delayed_jobs(struct store_session *s, struct errctx *ec)
{
    struct delayed_job *jobs = NULL;
    struct found_run *found = NULL;
    struct run_end ends[] = {{.log_id = 1}, {.log_id = 2}, {.log_id = 3}};
    struct run_key keys[] = {{1, NOW_S, NOW_S}, {2, NOW_S, NOW_S - 5}};
    size_t count = 0;
    enum err e = store_load_delayed_jobs(s, 0, 4, &jobs, &count, ec);

    free(jobs);
    if (!e)
        e = store_find_runs(s, keys, ARRAY_LEN(keys), LIMIT_MS, &found, &count, ec);
    for (size_t i = 0; !e && i < count; i++)
        if (found[i].key >= ARRAY_LEN(keys))
            abort();
    free(found);
    return e ? e : store_load_run_ends(s, ends, ARRAY_LEN(ends), ec);
}

/* ---- what follows a run ------------------------------------------------------------------------------------------ */

static enum err decide_failure(void *arg, struct failed_row *row, struct errctx *ec)
{
    (void)arg;
    return retry_decide(row, NULL, draw(2), NOW_S, ec);
}

static enum err handle_failures(struct store_session *s, struct errctx *ec)
{
    struct failed_batch batch = {0};
    bool happened;
    enum err e = store_handle_failures(s, ids, ARRAY_LEN(ids), "0123456789abcdef", decide_failure, NULL, &batch, ec);

    if (!e || e == ERR_UNKNOWN)
        (void)!store_find_failures(s, &batch, "0123456789abcdef", &happened, ec);
    failed_batch_fini(&batch);
    return e;
}

static enum err log_states(struct store_session *s, struct errctx *ec)
{
    struct log_state *list = NULL;
    size_t count = 0;
    enum err e = draw(2) ? store_load_log_range(s, 0, 10, &list, &count, ec)
                         : store_load_log_list(s, ids, ARRAY_LEN(ids), &list, &count, ec);

    for (size_t i = 0; !e && i < count; i++)
        (void)log_state_is_failed(&list[i]);
    free(list);
    return e;
}

static enum err write_callbacks(struct store_session *s, struct errctx *ec)
{
    struct callback_entry entries[] = {{.log_id = 1, .code = 200, .message = "m"},
                                       {.log_id = 2, .code = 500},
                                       {.log_id = 3, .code = 200, .delivers = true},
                                       {.log_id = 4, .code = 200},
                                       {.log_id = 5, .code = 200, .childless = draw(2)}};
    struct children children = {.incarnation = "0123456789abcdef"};
    enum err e = store_write_callbacks(s, entries, ARRAY_LEN(entries), NOW_S, &children, ec);

    fire_destroy_list(children.made);
    fire_destroy_list(children.doubtful);
    return e;
}

static enum err write_sent(struct store_session *s, struct errctx *ec)
{
    struct sent_row rows[] = {{.log_id = 1, .job_id = 1, .group = 1, .due_s = NOW_S, .epoch = 3, .was_sent = true},
                              {.log_id = 2, .job_id = 2, .group = 1, .due_s = NOW_S, .was_sent = true, .code = 200},
                              {.log_id = 3, .handle_code = 200}};
    struct sent_counts counts = {0};

    return store_write_sent(s, rows, ARRAY_LEN(rows), "0123456789abcdef", NOW_S, &counts, ec);
}

static enum err open_runs(struct store_session *s, struct errctx *ec)
{
    struct open_runs runs = {0};
    int64_t jobs[] = {1, 1, 2, 3};
    size_t ended = 0;
    enum err e = store_load_open_runs(s, 0, 10, 3, &runs, ec);

    for (size_t i = 0; !e && i < runs.count; i++)
        touch(runs.rows[i].address);
    open_runs_fini(&runs);
    return e ? e : store_end_lost(s, ids, jobs, ARRAY_LEN(ids), "gone", NOW_S, &ended, ec);
}

static enum err load_addresses(struct store_session *s, struct errctx *ec)
{
    struct address_list list = {0};
    enum err e = store_load_addresses(s, &list, ec);

    for (size_t i = 0; !e && i < list.count; i++)
        touch(list.list[i]);
    address_list_fini(&list);
    return e;
}

static void word_alarm(const struct alarm_facts *facts)
{
    struct wording wording = {.title = "", .text = "", .link = "", .node = "n"};
    struct message *m = message_create_job(&wording, draw(2), facts, 3);
    struct mail_list mails = {0};

    if (m)
        touch(m->title), touch(m->text), touch(m->html);
    message_unref(m);
    mail_put_body(&sink, facts, "text", true, "n");
    sink.len = 0;
    if (!mail_list_parse(facts->emails, &mails, NULL))
        mail_list_fini(&mails);
}

static enum err load_alarm(struct store_session *s, struct errctx *ec)
{
    struct alarm_facts facts = {0};
    enum err e = store_load_alarm(s, 1, &facts, ec);

    if (!e)
        word_alarm(&facts);
    alarm_facts_fini(&facts);
    return e;
}

static enum err alarm_tables(struct store_session *s, struct errctx *ec)
{
    struct due_alarm *due = NULL;
    struct alarm_state *states = NULL;
    struct executor_beats beats = {0};
    size_t count = 0;
    enum err e = store_load_due_alarms(s, 3, &due, &count, ec);

    free(due);
    if (!e)
        e = store_load_alarm_states(s, 0, 3, ids, ARRAY_LEN(ids), &states, &count, ec);
    free(states);
    if (!e)
        e = store_load_executor_beats(s, NOW_S, &beats, ec);
    for (size_t i = 0; !e && i < beats.count; i++)
        touch(beats.rows[i].app_name), touch(beats.rows[i].address);
    executor_beats_fini(&beats);
    return e;
}

static way *const ways[] = {
    load_due,   scan_due,  load_specs,     load_settings,   change_job,   load_planned,
    load_later, end_later, delayed_jobs,   handle_failures, log_states,   write_callbacks,
    write_sent, open_runs, load_addresses, load_alarm,      alarm_tables,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return go_way(ways, ARRAY_LEN(ways), data, size);
}
