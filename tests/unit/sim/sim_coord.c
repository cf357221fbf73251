/* SPDX-License-Identifier: MIT */
/* The lock service: who should own a shard. A node is told of a change when it can be reached; cut off or stopped, it
 * goes on believing what it was told last. */
#include "sim/sim_impl.h"

#include <string.h>

#define TURN_US 100000
#define UNABLE_US INT64_C(1500000)

static void tell(struct coord *c, int shard, enum coord_wish wish)
{
    struct coord_grant *grant = &c->grant[shard];

    if (grant->wish == wish)
        return;
    if (wish == COORD_OWN || (wish == COORD_FINISH && grant->wish == COORD_NOT_OURS))
        grant->serial = ++c->sim->serial;
    grant->wish = wish;
    c->telling = true;
    c->changed(c->arg, shard);
    c->telling = false;
}

static bool is_reached(const struct sim_run *run)
{
    return run && run->state == RUN_ALIVE && !run->coord.cut;
}

static bool contends(const struct sim_run *run)
{
    return is_reached(run) && run->coord.member && run->coord.able && !run->coord.drained && !run->coord.draining;
}

static int count_held(const struct sim *sim, const struct sim_run *run)
{
    int n = 0;

    for (int k = 0; k < SIM_SHARDS_MAX; k++)
        n += sim->holder[k] == run;
    return n;
}

static int count_contenders(const struct sim *sim)
{
    int n = 0;

    for (int i = 0; i < sim->opts.nodes; i++)
        n += sim->run[i] && contends(sim->run[i]);
    return n;
}

/* Sessions end after the lease, and are begun anew when the node is reached again. */
static void follow_session(struct sim *sim, struct sim_run *run)
{
    struct coord *c = &run->coord;

    if (is_reached(run)) {
        c->heard_us = fibers_now_us();
        for (int k = 0; k < c->shards && !c->member; k++)
            tell(c, k, COORD_NOT_OURS);
        c->member = true;
    } else if (c->member && fibers_now_us() - c->heard_us > LOCK_LEASE_US) {
        c->member = false;
        for (int k = 0; k < SIM_SHARDS_MAX; k++)
            if (sim->holder[k] == run)
                sim->holder[k] = NULL;
    }
}

static int find_taker(const struct sim *sim, int shard)
{
    int best = -1;

    for (int i = 0; i < sim->opts.nodes; i++) {
        if (!sim->run[i] || !contends(sim->run[i]) || shard >= sim->run[i]->coord.shards)
            continue;
        if (sim->wanted[shard] == i)
            return i;
        if (best < 0 || count_held(sim, sim->run[i]) < count_held(sim, sim->run[best]))
            best = i;
    }
    return best;
}

static void give_free_ones(struct sim *sim)
{
    for (int k = 0; k < SIM_SHARDS_MAX; k++) {
        int taker = !sim->holder[k] ? find_taker(sim, k) : -1;

        if (taker < 0)
            continue;
        sim->holder[k] = sim->run[taker];
        tell(&sim->run[taker]->coord, k, COORD_OWN);
    }
}

/* Everything of a node that shall have nothing; one too many of one that has more than its share. */
static void ask_back(struct sim *sim, struct sim_run *run)
{
    struct coord *c = &run->coord;
    int contenders = count_contenders(sim), others = contenders - contends(run);
    bool unable = !c->able && fibers_now_us() - c->unable_us > UNABLE_US && others > 0;
    int share = contenders ? (c->shards + contenders - 1) / contenders : c->shards;
    int held = count_held(sim, run);

    for (int k = 0; k < c->shards; k++) {
        bool wanted_elsewhere = sim->wanted[k] >= 0 && sim->wanted[k] != run->node && sim->run[sim->wanted[k]] &&
                                contends(sim->run[sim->wanted[k]]);

        if (sim->holder[k] != run || c->grant[k].wish != COORD_OWN)
            continue;
        if (c->drained || unable || wanted_elsewhere || (c->draining && others > 0)) {
            tell(c, k, COORD_GIVE_BACK);
        } else if (c->draining) {
            tell(c, k, COORD_FINISH);
        } else if (held > share && sim->wanted[k] < 0) {
            held = 0; /* one at a time */
            tell(c, k, COORD_GIVE_BACK);
        }
    }
}

static void run_locks(void *arg)
{
    struct sim *sim = arg;

    while (!sim->ending) {
        for (int i = 0; i < sim->opts.nodes; i++)
            for (struct sim_run *run = sim->run[i]; run; run = run->former) /* a killed one has its locks for a while */
                if (run->state != RUN_STOPPED)
                    follow_session(sim, run);
        for (int i = 0; i < sim->opts.nodes; i++)
            if (sim->run[i] && is_reached(sim->run[i]))
                ask_back(sim, sim->run[i]);
        give_free_ones(sim);
        fibers_sleep_us(TURN_US);
    }
}

void sim_locks_begin(struct sim *sim)
{
    struct errctx ec;

    for (int k = 0; k < SIM_SHARDS_MAX; k++)
        sim->wanted[k] = -1;
    if (thread_start(&sim->locks, "locks", run_locks, sim, &ec))
        return;
}

void sim_locks_end(struct sim *sim)
{
    thread_join(&sim->locks);
}

void sim_coord_begin(struct sim_run *run, int shards)
{
    struct coord *c = &run->coord;
    bool cut = c->cut;

    *c = (struct coord){.sim = run->sim,
                        .run = run,
                        .shards = shards,
                        .able = true,
                        .cut = cut,
                        .member = true,
                        .heard_us = fibers_now_us(),
                        .changed = schedule_on_grant,
                        .arg = run->schedule};
}

void sim_coord_end(struct sim_run *run)
{
    struct sim *sim = run->sim;

    for (int k = 0; k < SIM_SHARDS_MAX; k++) {
        if (sim->holder[k] == run)
            sim->holder[k] = NULL;
        run->coord.grant[k] = (struct coord_grant){0};
    }
    run->coord.shards = 0;
    while (run->coord.telling) /* nobody is called any more behind this, as with coord_join */
        fibers_sleep_us(100);
}

void sim_coord_drain(struct sim_run *run)
{
    run->coord.draining = true;
}

int sim_coord_count_held(struct sim_run *run)
{
    return count_held(run->sim, run);
}

bool sim_coord_is_last(struct sim_run *run)
{
    return count_contenders(run->sim) == 0;
}

/* ---- coord.h ----------------------------------------------------------------------------------------------------- */

struct coord_grant coord_get_grant(struct coord *c, int shard)
{
    return c->grant[shard];
}

void coord_release(struct coord *c, int shard, uint64_t serial)
{
    struct sim *sim = c->sim;

    if (c->grant[shard].serial != serial)
        return;
    if (c->cut) { /* nobody hears of it: it is ours again, under another serial */
        c->grant[shard] = (struct coord_grant){.wish = COORD_OWN, .serial = ++sim->serial};
        c->changed(c->arg, shard);
        return;
    }
    if (sim->holder[shard] == c->run)
        sim->holder[shard] = NULL;
    tell(c, shard, COORD_NOT_OURS);
}

void coord_rotate(struct coord *c, int shard)
{
    if (c->grant[shard].wish == COORD_OWN && count_contenders(c->sim) > 1)
        tell(c, shard, COORD_GIVE_BACK);
}

void coord_set_able(struct coord *c, bool able)
{
    if (c->able && !able)
        c->unable_us = fibers_now_us();
    c->able = able;
}

void coord_set_drained(struct coord *c, bool drained)
{
    c->drained = drained;
}

bool coord_is_connected(struct coord *c)
{
    return !c->cut;
}

void guard_note_claim(struct guard *g, enum err e)
{
    (void)g, (void)e;
}
