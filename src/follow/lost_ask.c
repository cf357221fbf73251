/* SPDX-License-Identifier: MIT */
#include "follow/lost_ask.h"
#include "follow/lost_address.h"
#include "shardwheel/job/times.h"

#include <stdlib.h>
#include <string.h>

#define ASK_MAX 2000       /* questions in a turn */
#define ASK_BUDGET_MS 5000 /* ... and what they may take */

static int compare_questions(const void *a, const void *b)
{
    const struct lost_run *x = *(struct lost_run *const *)a, *y = *(struct lost_run *const *)b;
    int c = strcmp(x->address->text, y->address->text);

    if (c != 0)
        return c;
    return x->job_id != y->job_id ? compare_numbers(x->job_id, y->job_id) : compare_numbers(x->id, y->id);
}

static bool is_due(const struct lost_run *run, int64_t now_ms, int64_t now_s)
{
    return run->address->text[0] && now_s - run->triggered_s >= LOST_YOUNG_S &&
           (run->asked_mono_ms == INT64_MIN || now_ms - run->asked_mono_ms >= LOST_IDLE_MS);
}

static bool is_same_question(const struct lost_run *a, const struct lost_run *b)
{
    return a->address == b->address && a->job_id == b->job_id;
}

/* One answer is for all runs of the job there that were known before it was asked. */
static void take_answer(struct lost_run *run, enum idle_answer answer, int64_t asked_ms)
{
    run->asked_mono_ms = asked_ms;
    if (answer == IDLE_UNKNOWN)
        return;
    if (answer == IDLE_NO) {
        run->idle_mono_ms = run->last_idle_mono_ms = INT64_MIN;
        return;
    }
    if (run->idle_mono_ms == INT64_MIN)
        run->idle_mono_ms = asked_ms;
    run->last_idle_mono_ms = asked_ms;
}

static void ask_all(const struct lost_asking *with, struct lost_run *const *due, size_t due_count,
                    struct idle_question *questions, const struct executor_access *access)
{
    const struct registry_snapshot *snap = registry_get_snapshot(with->registry);
    int64_t asked_ms = clock_mono_ms(with->clock);
    size_t n = 0;

    for (size_t i = 0; i < due_count; i++) {
        const struct registry_group *group;
        if (i > 0 && is_same_question(due[i], due[i - 1]))
            continue;
        group = registry_find_group(snap, due[i]->group);
        questions[n++] = (struct idle_question){.address = due[i]->address->text,
                                                .app_name = group ? group->app_name : NULL,
                                                .group_token = group ? group->access_token : NULL,
                                                .job_id = due[i]->job_id};
    }
    idle_ask(with->asker, questions, n, access->token, &access->tls, ASK_BUDGET_MS);
    registry_put_snapshot(snap);
    for (size_t i = 0, at = 0; i < due_count; i++) {
        at += i > 0 && !is_same_question(due[i], due[i - 1]);
        take_answer(due[i], questions[at].answer, asked_ms);
    }
}

/* Runs are asked about in turns where there are too many: the one that was asked about longest ago first. */
static int compare_asked(const void *a, const void *b)
{
    const struct lost_run *x = *(struct lost_run *const *)a, *y = *(struct lost_run *const *)b;
    int by_time = compare_numbers(x->asked_mono_ms, y->asked_mono_ms);

    return by_time ? by_time : compare_numbers(x->id, y->id);
}

enum err lost_ask(const struct lost_asking *with, struct lost_run *runs, size_t count, struct errctx *ec)
{
    int64_t now_ms = clock_mono_ms(with->clock), now_s = time_floor_div(clock_wall_ms(with->clock), 1000);
    struct lost_run **due = calloc(count + 1, sizeof(struct lost_run *));
    struct idle_question *questions = calloc(ASK_MAX, sizeof *questions);
    struct executor_access *access = NULL;
    size_t n = 0;
    enum err e = due && questions ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory for questions to executors");

    for (size_t i = 0; i < count && !e; i++)
        if (is_due(&runs[i], now_ms, now_s))
            due[n++] = &runs[i];
    if (n > 0) {
        qsort(due, n, sizeof(struct lost_run *), compare_asked);
        n = n < ASK_MAX ? n : ASK_MAX;
        qsort(due, n, sizeof(struct lost_run *), compare_questions);
        access = access_box_get(with->access);
        if (access) /* else in the next turn */
            ask_all(with, due, n, questions, access);
        executor_access_unref(access);
    }
    free(due);
    free(questions);
    return e;
}
