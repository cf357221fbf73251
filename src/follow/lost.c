/* SPDX-License-Identifier: MIT */
/*
 * Finding: rows without a result lie together in the index of handle_code. New ones are read once they are LOST_YOUNG_S
 * old, and all of them once more every SWEEP_MS, for a row may become an open run long after it was made. Runs among
 * them are kept in memory and looked at again in each turn.
 */
#include "shardwheel/follow/lost.h"
#include "follow/horizons.h"
#include "follow/idle.h"
#include "follow/lost_address.h"
#include "follow/lost_rule.h"
#include "shardwheel/executor/access.h"
#include "shardwheel/job/times.h"
#include "shardwheel/store/cluster.h"
#include "shardwheel/store/lost.h"
#include "shardwheel/store/registry.h"
#include "shardwheel/store/upkeep.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TURN_MS 10000
#define GAP_MS 30000           /* a turn that comes later than that after the one before has missed something */
#define RUNS_MAX 100000        /* that are watched */
#define PAGE_ROWS 2000         /* rows in a statement */
#define FRONT_PAGES 100        /* statements for new rows in a turn */
#define SWEEP_PAGES 10         /* ... and for old ones */
#define SWEEP_MS (10 * 60000)  /* from the beginning of one sweep to that of the next */
#define ASK_MAX 2000           /* questions in a turn */
#define ASK_BUDGET_MS 5000     /* ... and what they may take */
#define CHECK_MAX 200          /* addresses in a turn that are looked for by the database's way to compare */
#define FORGET_MS (60 * 60000) /* an address that nobody has registered for so long */
#define BEGIN_SLACK_S 60       /* an executor that is just leaving may still accept a run */
#define END_MAX 500            /* runs ended in one transaction */

struct run {
    int64_t id;
    int64_t job_id;
    int64_t group;
    int64_t triggered_s;
    struct lost_address *address;
    int64_t asked_mono_ms; /* INT64_MIN: not yet */
    int64_t idle_mono_ms;  /* first and last answer that the job is idle; INT64_MIN: none */
    int64_t last_idle_mono_ms;
};

struct lost {
    struct lost_opts opts;         /* [const] the strings are ours */
    const struct clock *clock;     /* [const] */
    struct counters *counters;     /* [const] */
    struct worker worker;          /* [const] locks by itself */
    struct idle_asker *asker;      /* [thread] */
    struct mutex lock;             /* rank LOCK_LEAF; held while the one below is copied */
    struct executor_access access; /* [lock] */
    struct log_limit full_log;     /* [atomic] */

    struct lost_addresses addresses; /* [thread], as all below */
    int64_t quiet_mono_ms;           /* since then callbacks were accepted, as far as is known */
    int64_t turn_mono_ms;            /* the last turn that did its work; INT64_MIN: none */
    int64_t refused;                 /* COUNTER_CALLBACKS_REFUSED as seen last */
    bool failing;

    int64_t epoch;    /* of shard 0; 0: it is not ours, and nothing below is known */
    struct run *runs; /* ascending by id */
    size_t run_count, run_cap;
    int64_t front_id; /* rows up to here were looked at */
    int64_t sweep_id; /* ... and again, up to here */
    int64_t sweep_mono_ms;
    struct horizons horizons; /* of earlier turns */
};

/* ---- addresses --------------------------------------------------------------------------------------------------- */

static void mark_used(struct lost *l, bool used)
{
    for (size_t i = 0; i < l->run_count; i++)
        l->runs[i].address->used = used;
}

static enum err look_at_registry(struct lost *l, struct store_session *s, struct errctx *ec)
{
    struct address_list list = {0};
    enum err e = store_load_addresses(s, &list, ec);

    if (e)
        return e;
    for (size_t i = 0; i < l->addresses.count; i++)
        l->addresses.list[i]->used = l->addresses.list[i]->registered = false;
    mark_used(l, true);
    lost_addresses_forget(&l->addresses, clock_mono_ms(l->clock) - FORGET_MS);
    for (size_t i = 0; i < list.count; i++) {
        struct lost_address *a = lost_addresses_get(&l->addresses, list.list[i]);
        if (a)
            lost_address_see(a, l->clock);
    }
    address_list_fini(&list);
    return ERR_OK;
}

/* The addresses of runs that are not there to the letter: as the original compares them, some letters are one. */
static enum err look_closer(struct lost *l, struct store_session *s, struct errctx *ec)
{
    size_t checked = 0;
    enum err e = ERR_OK;

    mark_used(l, false);
    for (size_t i = 0; i < l->run_count && !e; i++) {
        struct lost_address *a = l->runs[i].address;
        bool found = false;
        if (a->registered || a->used || !a->text[0])
            continue;
        if (checked++ == CHECK_MAX)
            break;
        a->used = true;
        e = store_is_registered(s, a->text, &found, ec);
        if (!e && found)
            lost_address_see(a, l->clock);
    }
    /* Those that there was no time for count as registered in this turn. */
    for (size_t i = 0; i < l->run_count && checked > CHECK_MAX; i++)
        if (!l->runs[i].address->used)
            l->runs[i].address->registered = true;
    return e;
}

/* ---- callbacks --------------------------------------------------------------------------------------------------- */

/* Whether all nodes can have accepted callbacks since the last turn. */
static enum err look_at_callbacks(struct lost *l, struct store_session *s, struct errctx *ec)
{
    int64_t now_ms = clock_mono_ms(l->clock), refused = counters_get(l->counters, COUNTER_CALLBACKS_REFUSED);
    int64_t missed_s = -1, db_now_ms = 0;
    struct node_row *nodes = NULL;
    size_t count = 0;
    bool quiet = refused == l->refused && l->turn_mono_ms != INT64_MIN && now_ms - l->turn_mono_ms <= GAP_MS;
    enum err e = store_load_missed(s, MISSED_HOLD_S, &missed_s, ec);

    if (!e)
        e = store_load_nodes(s, &nodes, &count, &db_now_ms, ec);
    if (e)
        return e;
    quiet &= missed_s < 0;
    l->refused = refused;
    if (!quiet)
        l->quiet_mono_ms = now_ms;
    /* A node that has just begun may have been away before: executors that know it alone could not call. */
    for (size_t i = 0; i < count; i++) {
        int64_t started_ms = now_ms - (db_now_ms - nodes[i].started_ms);
        if (db_now_ms - nodes[i].beat_ms < NODE_GONE_MS && started_ms > l->quiet_mono_ms)
            l->quiet_mono_ms = started_ms;
    }
    free(nodes);
    return ERR_OK;
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static void forget_runs(struct lost *l)
{
    l->run_count = 0;
    l->front_id = l->sweep_id = 0;
    l->sweep_mono_ms = clock_mono_ms(l->clock);
    l->horizons.count = 0;
}

static int compare_runs(const void *a, const void *b)
{
    return compare_int64(&((const struct run *)a)->id, &((const struct run *)b)->id);
}

static enum err make_room(struct lost *l, size_t more, struct errctx *ec)
{
    size_t cap = l->run_cap ? l->run_cap : 1024;
    struct run *grown;

    while (cap < l->run_count + more)
        cap *= 2;
    if (cap == l->run_cap)
        return ERR_OK;
    grown = realloc(l->runs, cap * sizeof *grown);
    if (!grown)
        return err_set(ec, ERR_NOMEM, "out of memory for %zu open runs", l->run_count + more);
    l->runs = grown;
    l->run_cap = cap;
    return ERR_OK;
}

static enum err add_runs(struct lost *l, const struct open_runs *found, struct errctx *ec)
{
    size_t sorted_runs = l->run_count;
    enum err e = make_room(l, found->count, ec);

    for (size_t i = 0; i < found->count && !e; i++) {
        const struct open_run *row = &found->rows[i];
        struct run run = {.id = row->id,
                          .job_id = row->job_id,
                          .group = row->group,
                          .triggered_s = row->triggered_s,
                          .asked_mono_ms = INT64_MIN,
                          .idle_mono_ms = INT64_MIN,
                          .last_idle_mono_ms = INT64_MIN};
        if (bsearch(&run, l->runs, sorted_runs, sizeof run, compare_runs))
            continue;
        if (l->run_count < RUNS_MAX)
            run.address = lost_addresses_get(&l->addresses, row->address);
        if (!run.address) {
            log_limited(&l->full_log, l->clock, LOG_WARN, "follow", "event=too_many_open_runs max=%d effect=%s",
                        RUNS_MAX, log_quote("some are not looked at before others have ended").s);
            break;
        }
        l->runs[l->run_count++] = run;
    }
    if (l->run_count > sorted_runs)
        qsort(l->runs, l->run_count, sizeof *l->runs, compare_runs);
    return e;
}

static enum err walk(struct lost *l, struct store_session *s, int64_t *at, int64_t until_id, int pages,
                     struct errctx *ec)
{
    enum err e = ERR_OK;

    for (; pages > 0 && *at < until_id && !e && !worker_is_stopping(&l->worker); pages--) {
        struct open_runs found = {0};
        e = store_load_open_runs(s, *at, until_id, PAGE_ROWS, &found, ec);
        if (!e)
            e = add_runs(l, &found, ec);
        if (!e)
            *at = found.until_id;
        open_runs_fini(&found);
    }
    return e;
}

/* The newest id of a turn that is LOST_YOUNG_S ago; -1: not known yet. */
static int64_t find_horizon(struct lost *l, int64_t newest_id)
{
    int64_t now_ms = clock_mono_ms(l->clock), found = -1;

    while (horizons_take(&l->horizons, now_ms, LOST_YOUNG_S * 1000, &found))
        ;
    horizons_note(&l->horizons, now_ms, 0, newest_id);
    return found;
}

static enum err find_runs(struct lost *l, struct store_session *s, struct errctx *ec)
{
    int64_t now_ms = clock_mono_ms(l->clock), newest = 0, horizon;
    enum err e = store_load_newest_log(s, &newest, ec);

    if (e)
        return e;
    if (newest < l->front_id) { /* the newest rows are gone, or the ids begin anew */
        l->front_id = newest;
        l->horizons.count = 0;
        if (l->sweep_id > newest)
            l->sweep_id = newest;
    }
    horizon = find_horizon(l, newest);
    if (l->front_id == 0 && newest > 0 && l->sweep_id == 0)
        l->front_id = newest; /* all that is there is left to the first sweep */
    if (horizon > l->front_id)
        e = walk(l, s, &l->front_id, horizon, FRONT_PAGES, ec);
    if (!e && now_ms - l->sweep_mono_ms >= SWEEP_MS && l->sweep_id >= l->front_id) {
        l->sweep_id = 0;
        l->sweep_mono_ms = now_ms;
    }
    if (!e)
        e = walk(l, s, &l->sweep_id, l->front_id, SWEEP_PAGES, ec);
    return e;
}

static enum err drop_ended(struct lost *l, struct store_session *s, struct errctx *ec)
{
    size_t count = l->run_count, kept = 0, k = 0;
    int64_t *ids = calloc(count + 1, sizeof *ids);
    enum err e;

    if (!ids)
        return err_set(ec, ERR_NOMEM, "out of memory for %zu open runs", count);
    for (size_t i = 0; i < count; i++)
        ids[i] = l->runs[i].id;
    e = store_keep_open_runs(s, ids, &count, ec);
    for (size_t i = 0; i < l->run_count && !e; i++) {
        while (k < count && ids[k] < l->runs[i].id)
            k++;
        if (k < count && ids[k] == l->runs[i].id)
            l->runs[kept++] = l->runs[i];
    }
    if (!e)
        l->run_count = kept;
    free(ids);
    return e;
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static int compare_questions(const void *a, const void *b)
{
    const struct run *x = *(struct run *const *)a, *y = *(struct run *const *)b;
    int c = strcmp(x->address->text, y->address->text);

    if (c != 0)
        return c;
    return x->job_id != y->job_id ? compare_int64(&x->job_id, &y->job_id) : compare_int64(&x->id, &y->id);
}

static bool is_due(const struct run *run, int64_t now_ms, int64_t now_s)
{
    return run->address->text[0] && now_s - run->triggered_s >= LOST_YOUNG_S &&
           (run->asked_mono_ms == INT64_MIN || now_ms - run->asked_mono_ms >= LOST_IDLE_MS);
}

static bool is_same_question(const struct run *a, const struct run *b)
{
    return a->address == b->address && a->job_id == b->job_id;
}

/* One answer is for all runs of the job there that were known before it was asked. */
static void take_answer(struct run *run, enum idle_answer answer, int64_t asked_ms)
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

static void ask_all(struct lost *l, struct run *const *due, size_t due_count, struct idle_question *questions,
                    const struct executor_access *access)
{
    const struct registry_snapshot *snap = registry_get_snapshot(l->opts.registry);
    int64_t asked_ms = clock_mono_ms(l->clock);
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
    idle_ask(l->asker, questions, n, access->token, &access->tls, ASK_BUDGET_MS);
    registry_put_snapshot(snap);
    for (size_t i = 0, at = 0; i < due_count; i++) {
        at += i > 0 && !is_same_question(due[i], due[i - 1]);
        take_answer(due[i], questions[at].answer, asked_ms);
    }
}

/* Runs are asked about in turns where there are too many: the one that was asked about longest ago first. */
static int compare_asked(const void *a, const void *b)
{
    const struct run *x = *(struct run *const *)a, *y = *(struct run *const *)b;

    return x->asked_mono_ms != y->asked_mono_ms ? compare_int64(&x->asked_mono_ms, &y->asked_mono_ms)
                                                : compare_int64(&x->id, &y->id);
}

static enum err ask(struct lost *l, struct errctx *ec)
{
    int64_t now_ms = clock_mono_ms(l->clock), now_s = time_floor_div(clock_wall_ms(l->clock), 1000);
    struct run **due = calloc(l->run_count + 1, sizeof(struct run *));
    struct idle_question *questions = calloc(ASK_MAX, sizeof *questions);
    struct executor_access access;
    bool copied;
    size_t n = 0;
    enum err e = due && questions ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory for questions to executors");

    for (size_t i = 0; i < l->run_count && !e; i++)
        if (is_due(&l->runs[i], now_ms, now_s))
            due[n++] = &l->runs[i];
    if (!e && n > 0) {
        qsort(due, n, sizeof(struct run *), compare_asked);
        n = n < ASK_MAX ? n : ASK_MAX;
        qsort(due, n, sizeof(struct run *), compare_questions);
        mutex_lock(&l->lock);
        copied = executor_access_copy(l->access.token, &l->access.tls, &access);
        mutex_unlock(&l->lock);
        if (copied) {
            ask_all(l, due, n, questions, &access);
            executor_access_fini(&access);
        }
    }
    free(due);
    free(questions);
    return e;
}

/* ---- ending ------------------------------------------------------------------------------------------------------ */

static enum lost_reason judge(const struct lost *l, const struct run *run)
{
    int64_t now_ms = clock_mono_ms(l->clock), now_s = time_floor_div(clock_wall_ms(l->clock), 1000);
    const struct lost_address *a = run->address;
    const struct lost_facts facts = {
        .age_s = run->triggered_s == INT64_MIN ? -1 : now_s - run->triggered_s,
        .registered = a->registered,
        .was_registered = a->seen_wall_s != INT64_MIN && a->seen_wall_s >= run->triggered_s - BEGIN_SLACK_S,
        .away_ms = a->seen_mono_ms == INT64_MIN ? -1 : now_ms - a->seen_mono_ms,
        .idle_ms = run->idle_mono_ms == INT64_MIN ? -1 : run->last_idle_mono_ms - run->idle_mono_ms,
        .quiet_ms = now_ms - l->quiet_mono_ms,
    };

    return lost_decide(&facts);
}

static enum err end_for(struct lost *l, struct store_session *s, enum lost_reason reason, struct errctx *ec)
{
    static const enum counter_id counter[LOST_REASONS] = {[LOST_UNREGISTERED] = COUNTER_RUNS_LOST_UNREGISTERED,
                                                          [LOST_LEFT] = COUNTER_RUNS_LOST_LEFT,
                                                          [LOST_IDLE] = COUNTER_RUNS_LOST_IDLE};
    int64_t ids[END_MAX], job_ids[END_MAX], now_s = time_floor_div(clock_wall_ms(l->clock), 1000);
    size_t at = 0, sum = 0;
    enum err e = ERR_OK;

    while (at < l->run_count && !e) {
        size_t n = 0, ended = 0;
        for (; at < l->run_count && n < END_MAX; at++) {
            if (judge(l, &l->runs[at]) != reason)
                continue;
            ids[n] = l->runs[at].id;
            job_ids[n++] = l->runs[at].job_id;
        }
        if (n > 0)
            e = store_check_epoch(s, 0, l->epoch, ec);
        if (!e && n > 0)
            e = store_end_lost(s, ids, job_ids, n, lost_reason_text(reason), now_s, &ended, ec);
        for (size_t i = 0; !e && i < n; i++)
            log_fire(FOLLOW, "event=run_lost log_id=%" PRId64 " job=%" PRId64 " why=%s", ids[i], job_ids[i],
                     log_quote(lost_reason_text(reason)).s);
        sum += ended;
    }
    counters_add(l->counters, counter[reason], (int64_t)sum);
    if (sum > 0)
        log_warn("follow", "event=runs_lost count=%zu why=%s", sum, log_quote(lost_reason_text(reason)).s);
    return e;
}

/* ---- turns ------------------------------------------------------------------------------------------------------- */

static enum err do_turn(struct lost *l, struct store_session *s, struct errctx *ec)
{
    enum err e = look_at_registry(l, s, ec);

    if (!e)
        e = look_at_callbacks(l, s, ec);
    if (e || l->epoch == 0)
        return e;
    e = store_check_epoch(s, 0, l->epoch, ec);
    if (!e)
        e = drop_ended(l, s, ec);
    if (!e)
        e = find_runs(l, s, ec);
    if (!e)
        e = look_closer(l, s, ec);
    if (!e && l->opts.ask)
        e = ask(l, ec);
    for (int reason = LOST_NOT + 1; reason < LOST_REASONS && !e; reason++)
        e = end_for(l, s, (enum lost_reason)reason, ec);
    return e;
}

int64_t lost_turn(struct lost *l)
{
    int64_t begun_ms = clock_mono_ms(l->clock), epoch = l->opts.get_epoch(l->opts.arg), took_ms;
    struct store_session *s = NULL;
    struct errctx ec;
    enum err e;

    errctx_clear(&ec);
    if (epoch != l->epoch) {
        l->epoch = epoch;
        forget_runs(l);
    }
    e = store_take_session(l->opts.store, SESSION_CLAIM, &s, &ec);
    if (!e)
        e = do_turn(l, s, &ec);
    store_give_session(l->opts.store, s);
    if (!e)
        l->turn_mono_ms = begun_ms;
    if (e && e != ERR_CONFLICT && !l->failing)
        log_warn("follow", "event=lost_runs_failing error=%s effect=%s", log_quote(ec.text).s,
                 log_quote("lost runs are not looked for").s);
    else if (!e && l->failing)
        log_info("follow", "event=lost_runs_working");
    l->failing = e && e != ERR_CONFLICT;
    took_ms = clock_mono_ms(l->clock) - begun_ms;
    return took_ms < TURN_MS ? TURN_MS - took_ms : 1000;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static int64_t run_turn(void *lost)
{
    return lost_turn(lost);
}

enum err lost_create(const struct lost_opts *opts, const struct clock *clock, struct counters *counters,
                     struct lost **out, struct errctx *ec)
{
    struct lost *l = calloc(1, sizeof *l);
    enum err e;

    if (!l)
        return err_set(ec, ERR_NOMEM, "out of memory for the monitor of lost runs");
    l->opts = *opts;
    l->clock = clock;
    l->counters = counters;
    l->turn_mono_ms = INT64_MIN;
    l->access.tls.verify = true;
    worker_init(&l->worker, clock);
    mutex_init(&l->lock, LOCK_LEAF);
    e = opts->ask ? idle_create(clock, opts->resolver, opts->networks, &l->asker, ec) : ERR_OK;
    if (e) {
        lost_destroy(l);
        return e;
    }
    *out = l;
    return ERR_OK;
}

enum err lost_set_access(struct lost *l, const char *access_token, const struct http_tls *tls, struct errctx *ec)
{
    struct executor_access fresh, old;

    if (!executor_access_copy(access_token, tls, &fresh))
        return err_set(ec, ERR_NOMEM, "out of memory for the monitor of lost runs");
    mutex_lock(&l->lock);
    old = l->access;
    l->access = fresh;
    mutex_unlock(&l->lock);
    executor_access_fini(&old);
    return ERR_OK;
}

enum err lost_start(struct lost *l, struct errctx *ec)
{
    return worker_start(&l->worker, "lost", run_turn, NULL, l, ec);
}

void lost_stop(struct lost *l)
{
    worker_stop(&l->worker);
}

void lost_join(struct lost *l)
{
    worker_join(&l->worker);
}

void lost_destroy(struct lost *l)
{
    if (!l)
        return;
    idle_destroy(l->asker);
    lost_addresses_fini(&l->addresses);
    free(l->runs);
    executor_access_fini(&l->access);
    mutex_fini(&l->lock);
    worker_fini(&l->worker);
    free(l);
}
