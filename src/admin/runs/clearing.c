/* SPDX-License-Identifier: MIT */
#include "admin/runs/clearing.h"

#include "shardwheel/store/upkeep.h"
#include "shardwheel/upkeep.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/queue.h>

#define IDLE_MS 3600000
#define REST 2         /* behind a step nothing is done for so many times as long as it took, */
#define REST_MIN_MS 10 /* and so long at least */
#define STEP_MS 3000
#define STEP_ROWS 200000 /* that are looked at for one statement */
#define TRIES_MAX 30     /* in a row; so much is a database that is away for half a minute */
#define AGAIN_MS 1000
#define PIECE_END_MS 10000 /* a statement of the last piece, and what is waited for behind it */

static_assert(CLEAN_BATCH_MAX <= CLEAR_BATCH_MAX, "a statement would have too many rows");

struct task {
    TAILQ_ENTRY(task) next;   /* [lock] */
    struct clear_order order; /* [const] */
    struct run_place at;      /* [lock] written by the worker alone */
    bool begun;               /* [thread] */
    size_t batch;             /* [thread] */
    int tries;                /* [thread] in a row */
    int64_t deleted;          /* [lock] written by the worker alone */
    bool done;                /* [lock] nobody works on it any more */
    bool complete;            /* [lock] all rows were looked at */
    bool stopped;             /* [lock] its piece is over */
    bool awaited;             /* [lock] who is last frees it: the caller, or the worker where nobody waits */
    enum err end;             /* [lock] */
    struct errctx why;        /* [lock] */
};
TAILQ_HEAD(task_list, task);

struct run_clearing {
    struct store *store;       /* [const] */
    const struct clock *clock; /* [const] */
    struct worker worker;      /* [const] once started */
    struct mutex lock;         /* rank LOCK_LEAF */
    struct cond ended;         /* with lock: a task is done */
    struct task_list tasks;    /* [lock] the first is under way */
    size_t count;              /* [lock] */
    bool stopping;             /* [lock] */
};

/* ---- the thread -------------------------------------------------------------------------------------------------- */

static void finish(struct run_clearing *c, struct task *task, bool complete, enum err e, const struct errctx *why)
{
    if (e)
        log_error("admin", "event=clear_given_up who=%s deleted=%" PRId64 " error=%s", log_quote(task->order.who).s,
                  task->deleted, log_quote(why->text).s);
    else
        log_info("admin", "event=log_cleared who=%s rows=%" PRId64, log_quote(task->order.who).s, task->deleted);
    mutex_lock(&c->lock);
    TAILQ_REMOVE(&c->tasks, task, next);
    c->count--;
    task->done = true;
    task->complete = complete;
    task->end = e;
    if (e)
        task->why = *why;
    bool awaited = task->awaited;
    cond_broadcast(&c->ended);
    mutex_unlock(&c->lock);
    if (!awaited)
        free(task);
}

/* The last row that stays; *none: there are no more than stay. */
static enum err begin(struct run_clearing *c, struct task *task, struct store_session *s, bool *none, struct errctx *ec)
{
    struct run_place at = task->order.from;
    bool found = true;
    enum err e = ERR_OK;

    if (task->order.keep > 0 && !at.id)
        e = store_find_place(s, &task->order.filter, task->order.keep - 1, STEP_MS, &at, &found, ec);
    *none = !found;
    task->begun = !e;
    mutex_lock(&c->lock);
    task->at = at;
    mutex_unlock(&c->lock);
    return e;
}

/* By id where all goes: rows without a time, too. */
static enum run_order find_order(const struct clear_order *order)
{
    const struct run_filter *f = &order->filter;

    return !f->job_id && !f->group && !f->until_s && !order->keep ? RUN_BY_ID : RUN_BY_TIME;
}

static enum err clear_some(struct run_clearing *c, struct task *task, struct store_session *s, bool *end,
                           struct errctx *ec)
{
    struct run_query query = {.filter = task->order.filter,
                              .order = find_order(&task->order),
                              .after = task->at,
                              .want = task->batch,
                              .limit_ms = STEP_MS,
                              .look_max = STEP_ROWS};
    struct run_ids ids = {0};
    size_t deleted = 0;
    enum err e = store_search_runs(s, &query, &ids, ec);
    int64_t begun_ms = clock_mono_ms(c->clock);

    if (!e)
        e = store_clear_runs(s, ids.ids, ids.count, &deleted, ec);
    *end = !e && ids.is_end;
    if (e || ids.count > 0)
        task->batch = upkeep_next_batch(task->batch, e ? INT64_MAX : clock_mono_ms(c->clock) - begun_ms);
    mutex_lock(&c->lock);
    task->deleted += (int64_t)deleted;
    if (!e)
        task->at = ids.last;
    mutex_unlock(&c->lock);
    run_ids_fini(&ids);
    return e;
}

/* By a session that waits for a row lock no longer than a second. */
static int64_t step(struct run_clearing *c, struct task *task)
{
    struct store_session *s = NULL;
    struct errctx ec = {{0}};
    int64_t begun_ms = clock_mono_ms(c->clock), rest_ms;
    bool end = false;
    enum err e = store_take_session(c->store, SESSION_CLAIM, &s, &ec);

    if (!e && !task->begun)
        e = begin(c, task, s, &end, &ec);
    else if (!e)
        e = clear_some(c, task, s, &end, &ec);
    store_give_session(c->store, s);
    task->tries = e ? task->tries + 1 : 0;
    if (e && task->tries < TRIES_MAX && e != ERR_INPUT)
        return AGAIN_MS;
    if (e || end) {
        finish(c, task, end, e, &ec);
        return 0;
    }
    rest_ms = (clock_mono_ms(c->clock) - begun_ms) * REST;
    return rest_ms > REST_MIN_MS ? rest_ms : REST_MIN_MS;
}

static int64_t turn(void *arg)
{
    struct run_clearing *c = arg;

    mutex_lock(&c->lock);
    struct task *task = TAILQ_FIRST(&c->tasks);
    bool stopped = task && task->stopped;
    mutex_unlock(&c->lock);
    if (!stopped)
        return task ? step(c, task) : IDLE_MS;
    finish(c, task, /*complete=*/false, ERR_OK, NULL);
    return 0;
}

/* ---- the object -------------------------------------------------------------------------------------------------- */

struct run_clearing *run_clearing_create(struct store *store, const struct clock *clock)
{
    struct run_clearing *c = calloc(1, sizeof *c);
    struct errctx ec;

    if (!c)
        return NULL;
    c->store = store;
    c->clock = clock;
    mutex_init(&c->lock, LOCK_LEAF);
    cond_init(&c->ended);
    TAILQ_INIT(&c->tasks);
    worker_init(&c->worker, clock);
    if (worker_start(&c->worker, "clear", turn, NULL, c, &ec)) {
        run_clearing_destroy(c);
        return NULL;
    }
    return c;
}

void run_clearing_destroy(struct run_clearing *c)
{
    if (!c)
        return;
    worker_stop(&c->worker);
    worker_join(&c->worker);
    for (struct task *task; (task = TAILQ_FIRST(&c->tasks)) != NULL;) {
        log_warn("admin", "event=clear_left who=%s deleted=%" PRId64 " effect=\"the remaining rows are kept\"",
                 log_quote(task->order.who).s, task->deleted);
        TAILQ_REMOVE(&c->tasks, task, next);
        free(task);
    }
    worker_fini(&c->worker);
    cond_fini(&c->ended);
    mutex_fini(&c->lock);
    free(c);
}

void run_clearing_stop(struct run_clearing *c)
{
    mutex_lock(&c->lock);
    c->stopping = true;
    cond_broadcast(&c->ended);
    mutex_unlock(&c->lock);
    worker_stop(&c->worker);
}

static enum err add(struct run_clearing *c, struct task *task, struct errctx *ec)
{
    mutex_lock(&c->lock);
    bool stopping = c->stopping, full = c->count >= RUNS_CLEARS_MAX;
    if (!full && !stopping) {
        TAILQ_INSERT_TAIL(&c->tasks, task, next);
        c->count++;
    }
    mutex_unlock(&c->lock);
    if (stopping)
        return err_set(ec, ERR_BUSY, "this node is stopping");
    if (full)
        return err_set(ec, ERR_BUSY, "%d requests to clear the log are waiting: try again later", RUNS_CLEARS_MAX);
    worker_poke(&c->worker);
    return ERR_OK;
}

/* With the lock, which it lets go meanwhile: waits until its statement is over. What is not under way yet is taken
 * back. */
static void end_piece(struct run_clearing *c, struct task *task)
{
    int64_t deadline_ms = clock_mono_ms(c->clock) + PIECE_END_MS;

    task->stopped = true;
    if (task != TAILQ_FIRST(&c->tasks)) {
        TAILQ_REMOVE(&c->tasks, task, next);
        c->count--;
        task->done = true;
        return;
    }
    mutex_unlock(&c->lock);
    worker_poke(&c->worker);
    mutex_lock(&c->lock);
    while (!task->done && !c->stopping && cond_wait_until(&c->ended, &c->lock, deadline_ms)) {
    }
}

enum err run_clearing_submit(struct run_clearing *c, const struct clear_order *order, int64_t wait_ms,
                             struct run_cleared *out, struct errctx *ec)
{
    struct task *task = calloc(1, sizeof *task);
    int64_t deadline_ms = clock_mono_ms(c->clock) + wait_ms;
    enum err e = task ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory for a clear");

    if (e)
        return e;
    task->order = *order;
    task->batch = UPKEEP_BATCH_START;
    task->awaited = true;
    e = add(c, task, ec);
    if (e) {
        free(task);
        return e;
    }
    mutex_lock(&c->lock);
    while (!task->done && !c->stopping && cond_wait_until(&c->ended, &c->lock, deadline_ms)) {
    }
    if (order->in_pieces && !task->done && !c->stopping)
        end_piece(c, task);
    *out = (struct run_cleared){.deleted = task->deleted, .done = task->complete, .at = task->at};
    e = task->done ? task->end : ERR_OK;
    if (e)
        *ec = task->why;
    task->awaited = false;
    bool mine = task->done;
    mutex_unlock(&c->lock);
    if (mine)
        free(task);
    return e;
}
