/* SPDX-License-Identifier: MIT */
/* The threads behind the chooser: one decides and keeps the ZooKeeper session, one talks to candidates, which may take
 * seconds for an answer. */
#include "coord/primary_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define TICK_MS 1000
#define START_MS 10000
#define TELL_AGAIN_MS 30000 /* why there is none, while it stays so */

/* ---- what others call -------------------------------------------------------------------------------------------- */

static void note_trouble(void *arg)
{
    struct primary *p = arg;

    mutex_lock(&p->lock);
    p->has_trouble = true;
    mutex_unlock(&p->lock);
    worker_poke(&p->worker);
}

void primary_look(struct primary *p)
{
    note_trouble(p);
}

void primary_set_changed(struct primary *p, void (*changed)(void *arg, int64_t generation, bool lossless), void *arg)
{
    mutex_lock(&p->lock);
    p->changed = changed;
    p->arg = arg;
    mutex_unlock(&p->lock);
}

/* Of one server there is nothing to agree on: most often its name or the password is wrong. */
static const char *say_none(const struct primary *p)
{
    return hosts_count(p->hosts) > 1 ? "the nodes have not agreed on a database server" : "it cannot be used";
}

bool primary_is_healthy(struct primary *p, char why[PRIMARY_WHY_MAX])
{
    bool used;

    mutex_lock(&p->lock);
    used = p->is_used;
    if (!used)
        snprintf(why, PRIMARY_WHY_MAX, "%s: %.700s", say_none(p), p->why);
    mutex_unlock(&p->lock);
    return used;
}

/* ---- candidates: on their own thread ----------------------------------------------------------------------------- */

static void carry_out(struct primary *p, struct task *t)
{
    switch (t->kind) {
    case TASK_LOOK: hosts_probe(p->hosts, t->index, &t->facts); break;
    case TASK_RAISE:
        errctx_clear(&t->error);
        t->result = hosts_raise(p->hosts, t->index, t->generation, p->node_name, &t->error);
        break;
    case TASK_NONE: break;
    }
}

static int64_t work(void *arg)
{
    struct primary *p = arg;
    struct task t;
    bool has_task;

    mutex_lock(&p->lock);
    has_task = p->has_task;
    t = p->task;
    p->has_task = false;
    mutex_unlock(&p->lock);
    if (!has_task)
        return TELL_AGAIN_MS;
    carry_out(p, &t);
    mutex_lock(&p->lock);
    p->task = t;
    p->is_done = true;
    mutex_unlock(&p->lock);
    worker_poke(&p->worker);
    return TELL_AGAIN_MS;
}

static void give_task(struct primary *p, const struct task *t)
{
    mutex_lock(&p->lock);
    p->task = *t;
    p->has_task = true;
    p->is_done = false;
    mutex_unlock(&p->lock);
    p->is_busy = true;
    worker_poke(&p->candidates);
}

static void take_task(struct primary *p, int64_t now_mono_ms)
{
    struct task t;
    bool done;

    mutex_lock(&p->lock);
    done = p->is_done;
    t = p->task;
    p->is_done = false;
    mutex_unlock(&p->lock);
    if (!done)
        return;
    p->is_busy = false;
    if (t.kind == TASK_LOOK) {
        if (p->raise.kind == TASK_NONE) /* else it was looked at before what comes now */
            chooser_set_facts(&p->chooser, t.index, &t.facts, t.asked_mono_ms, now_mono_ms);
        return;
    }
    chooser_note_raised(&p->chooser, now_mono_ms);
    if (t.result)
        log_warn("coord", "event=primary_not_raised generation=%" PRId64 " error=%s effect=\"looked at again\"",
                 t.generation, log_quote(t.error.text).s);
    else
        log_info("coord", "event=primary_raised generation=%" PRId64 " host=%s port=%d", t.generation,
                 hosts_get_address(p->hosts, t.index).host, hosts_get_address(p->hosts, t.index).port);
}

/* ---- a turn of the thread that decides --------------------------------------------------------------------------- */

static void tell_changed(struct primary *p, int64_t generation, bool lossless)
{
    void (*changed)(void *arg, int64_t generation, bool lossless);
    void *arg;

    mutex_lock(&p->lock);
    changed = p->changed;
    arg = p->arg;
    mutex_unlock(&p->lock);
    if (changed && p->told_generation && generation != p->told_generation)
        changed(arg, generation, lossless);
    p->told_generation = generation;
}

static void show_use(struct primary *p)
{
    counters_set(p->counters, COUNTER_DB_GENERATION, p->chooser.generation);
    counters_set(p->counters, COUNTER_DB_HOST, p->chooser.used + 1);
    counters_set(p->counters, COUNTER_DB_SECOND, p->chooser.second >= 0);
    mutex_lock(&p->lock);
    p->is_used = p->chooser.used >= 0;
    snprintf(p->why, sizeof p->why, "%s", p->chooser.why);
    if (p->is_used)
        cond_broadcast(&p->settled);
    mutex_unlock(&p->lock);
}

static void move(struct primary *p, const struct plan *plan)
{
    struct host_address at;

    switch (plan->move) {
    case PLAN_STAY: break;
    case PLAN_STOP:
        hosts_stop(p->hosts, plan->why);
        log_warn("coord",
                 "event=primary_left generation=%" PRId64 " reason=%s effect=\"nothing is planned until a "
                 "server is agreed on\"",
                 p->chooser.generation, log_quote(plan->why).s);
        break;
    case PLAN_USE:
        at = hosts_get_address(p->hosts, plan->index);
        hosts_use(p->hosts, plan->index, p->chooser.server, plan->generation);
        log_info("coord", "event=primary_used generation=%" PRId64 " host=%s port=%d server=%s lossless=%s",
                 plan->generation, at.host, at.port, log_quote(p->chooser.server).s, plan->is_lossless ? "yes" : "no");
        tell_changed(p, plan->generation, plan->is_lossless);
        break;
    }
    if (plan->notes) {
        hosts_note_generation(p->hosts, plan->generation);
        tell_changed(p, plan->generation, /*lossless=*/true);
    }
}

static void tell_of_trouble(struct primary *p, int64_t now_mono_ms)
{
    const struct chooser *c = &p->chooser;
    bool gone = c->used >= 0 && c->bad_mono_ms != INT64_MAX && now_mono_ms >= c->bad_mono_ms + CHOOSER_GONE_MS;

    if (gone && !p->told_gone)
        log_warn("coord", "event=primary_gone generation=%" PRId64 " server=%s text=%s", c->generation,
                 log_quote(c->server).s, log_quote(c->list[c->used].facts.why).s);
    p->told_gone = gone;
    if (c->second >= 0 && c->second != p->told_second)
        log_error("coord",
                  "event=second_primary host=%s port=%d server=%s effect=\"it is not used, and writes to it are lost: "
                  "make it read-only\"",
                  hosts_get_address(p->hosts, c->second).host, hosts_get_address(p->hosts, c->second).port,
                  log_quote(c->list[c->second].facts.server).s);
    if (chooser_is_fine(c))
        p->told_second = c->second;
    if (c->used >= 0 || c->why[0] == '\0') {
        p->told_none_mono_ms = now_mono_ms - TELL_AGAIN_MS + 2 * CHOOSER_GONE_MS; /* not of a passing one */
    } else if (now_mono_ms >= p->told_none_mono_ms + TELL_AGAIN_MS) {
        p->told_none_mono_ms = now_mono_ms;
        log_warn("coord", "event=primary_none text=%s effect=\"tried again until there is one\"", log_quote(c->why).s);
    }
}

/* While all is well this is all that is done: two looks at memory. */
static void find_trouble(struct primary *p)
{
    int64_t errors = counters_get(p->counters, COUNTER_DB_ERRORS);
    bool trouble;

    mutex_lock(&p->lock);
    trouble = p->has_trouble;
    p->has_trouble = false;
    mutex_unlock(&p->lock);
    /* A server that has become read-only refuses statements and breaks no connection. */
    if (trouble || (p->chooser.count > 1 && errors != p->errors))
        chooser_note_trouble(&p->chooser);
    p->errors = errors;
}

static void agree(struct primary *p, const struct plan *plan, int64_t now_mono_ms)
{
    const struct agreed *a = &p->agreed;

    /* Only now that nothing older is used. */
    agreed_set_own(&p->agreed, p->chooser.known, chooser_is_fine(&p->chooser), p->agreed_timeout_ms);
    if (plan->proposes && !a->wants_decision && !a->primary_stale) {
        if (!plan->next.is_used)
            log_warn("coord", "event=primary_proposed generation=%" PRId64 " server=%s", plan->next.generation,
                     log_quote(plan->next.server).s);
        agreed_propose(&p->agreed, &plan->next);
    }
    agreed_step(&p->agreed, now_mono_ms, &p->next_id, primary_ask, p);
}

/* Also for who is stopped right here. Galera's commits refuse what others must not see. */
static void lend(struct primary *p, int64_t now_mono_ms)
{
    bool forever = !p->servers || p->chooser.is_galera;

    hosts_set_lease(p->hosts, forever ? INT64_MAX : clock_boot_ms(p->clock) + p->lease_mono_ms - now_mono_ms);
}

static int64_t decide(struct primary *p, int64_t now_mono_ms)
{
    struct sight sight = {.agreed = p->servers ? &p->agreed : NULL,
                          .lease_mono_ms = p->lease_mono_ms,
                          .timeout_ms = p->agreed_timeout_ms};
    struct plan plan;
    int64_t until_mono_ms = INT64_MAX;
    int index;

    chooser_plan(&p->chooser, &sight, now_mono_ms, &plan);
    lend(p, now_mono_ms);
    move(p, &plan);
    if (p->servers)
        agree(p, &plan, now_mono_ms);
    show_use(p);
    tell_of_trouble(p, now_mono_ms);
    if (plan.raise >= 0)
        p->raise = (struct task){.kind = TASK_RAISE, .index = plan.raise, .generation = plan.raise_generation};
    if (p->raise.kind != TASK_NONE) { /* the thread does one thing at a time */
        if (!p->is_busy) {
            give_task(p, &p->raise);
            p->raise.kind = TASK_NONE;
        }
        return TICK_MS;
    }
    if (plan.move != PLAN_STAY)
        return 0;
    index = p->is_busy ? -1 : chooser_find_look(&p->chooser, now_mono_ms, &until_mono_ms);
    if (index >= 0)
        give_task(p, &(struct task){.kind = TASK_LOOK, .index = index, .asked_mono_ms = now_mono_ms});
    if (p->is_busy || until_mono_ms > now_mono_ms + TICK_MS)
        return chooser_is_fine(&p->chooser) ? TICK_MS : CHOOSER_LOOK_MS;
    return until_mono_ms > now_mono_ms ? until_mono_ms - now_mono_ms : 0;
}

static int64_t turn(void *arg)
{
    struct primary *p = arg;
    int64_t now_mono_ms = clock_mono_ms(p->clock);

    find_trouble(p);
    take_task(p, now_mono_ms);
    if (p->servers)
        primary_follow_session(p, now_mono_ms);
    return decide(p, now_mono_ms);
}

static void end(void *arg)
{
    struct primary *p = arg;

    hosts_stop(p->hosts, "the node is stopping");
    if (p->zk)
        primary_close_session(p, clock_mono_ms(p->clock));
}

/* ---- lifecycle --------------------------------------------------------------------------------------------------- */

enum err primary_create(const struct primary_opts *opts, const struct clock *clock, struct counters *counters,
                        struct primary **out, struct errctx *ec)
{
    size_t count = hosts_count(opts->hosts);
    bool in_cluster = opts->servers && count > 1;
    struct primary *p = calloc(1, sizeof *p);
    enum err e = ERR_OK;

    if (!p)
        return err_set(ec, ERR_NOMEM, "out of memory");
    STAILQ_INIT(&p->events);
    mutex_init(&p->lock, LOCK_COORD);
    cond_init(&p->settled);
    worker_init(&p->worker, clock);
    worker_init(&p->candidates, clock);
    p->worker.watch = p->candidates.watch = opts->watch;
    p->hosts = opts->hosts;
    p->clock = clock;
    p->counters = counters;
    p->timeout_ms = p->agreed_timeout_ms = opts->session_timeout_ms;
    p->next_id = 1;
    p->told_second = -1;
    p->reopen_mono_ms = INT64_MIN;
    p->told_none_mono_ms = clock_mono_ms(clock) - TELL_AGAIN_MS + 2 * CHOOSER_GONE_MS;
    p->node_name = str_copy(opts->node_name);
    if (!p->node_name || chooser_init(&p->chooser, count, in_cluster, opts->incarnation))
        e = err_set(ec, ERR_NOMEM, "out of memory");
    if (!e && in_cluster)
        e = zk_split_servers(opts->servers, opts->base_path, &p->servers, &p->base_path, ec);
    if (!e && in_cluster && agreed_init(&p->agreed, p->base_path, opts->incarnation))
        e = err_set(ec, ERR_NOMEM, "out of memory");
    if (e) {
        primary_destroy(p);
        return e;
    }
    *out = p;
    return ERR_OK;
}

enum err primary_start(struct primary *p, struct errctx *ec)
{
    int64_t deadline = clock_mono_ms(p->clock) + START_MS + (p->servers ? p->timeout_ms : 0);
    enum err e;

    if (hosts_count(p->hosts) > 1 && !p->servers)
        log_warn(
            "coord",
            "event=primary_alone effect=\"another standalone node on another one of these servers is not noticed\"");
    hosts_manage(p->hosts, note_trouble, p);
    e = worker_start(&p->candidates, "candidates", work, NULL, p, ec);
    if (!e)
        e = worker_start(&p->worker, "database", turn, end, p, ec);
    if (e)
        return e;
    mutex_lock(&p->lock);
    while (!p->is_used && cond_wait_until(&p->settled, &p->lock, deadline))
        ;
    if (!p->is_used)
        e = err_set(ec, ERR_LOST, "%s: %s", say_none(p), p->why);
    mutex_unlock(&p->lock);
    return e;
}

void primary_stop(struct primary *p)
{
    worker_stop(&p->worker);
    worker_stop(&p->candidates);
}

void primary_join(struct primary *p)
{
    worker_join(&p->worker);
    worker_join(&p->candidates);
}

void primary_destroy(struct primary *p)
{
    if (!p)
        return;
    zk_events_destroy(&p->events);
    agreed_fini(&p->agreed);
    chooser_fini(&p->chooser);
    worker_fini(&p->candidates);
    worker_fini(&p->worker);
    cond_fini(&p->settled);
    mutex_fini(&p->lock);
    free(p->node_name);
    free(p->servers);
    free(p->base_path);
    free(p);
}
