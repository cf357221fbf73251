/* SPDX-License-Identifier: MIT */
/* The world: nodes that start, stand still and end; jobs; time. */
#include "sim/sim.h"

#include "sim/sim_impl.h"
#include "shardwheel/executor/http_client.h"
#include "shardwheel/watch.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STOP_PATIENCE_MS 90000
#define CALLBACKS_AT_ONCE 100

/* In place of the system's: equal seeds give equal runs. */
enum err __wrap_random_hex(char *out, size_t bytes, struct errctx *ec);
enum err __wrap_random_hex(char *out, size_t bytes, struct errctx *ec)
{
    (void)ec;
    for (size_t i = 0; i < bytes; i++)
        snprintf(out + 2 * i, 3, "%02x", (unsigned)fibers_draw(256));
    return ERR_OK;
}

/* ---- clocks ------------------------------------------------------------------------------------------------------ */

struct sim_run *sim_run_of_clock(const struct clock *clock)
{
    return (struct sim_run *)(uintptr_t)clock;
}

static int64_t read_wall_us(const struct clock *clock)
{
    const struct sim_run *run = sim_run_of_clock(clock);

    return run->sim->db->base_wall_us + fibers_now_us() + run->wall_offset_us;
}

static int64_t read_mono_ms(const struct clock *clock)
{
    return fibers_mono_ms(sim_run_of_clock(clock)->group);
}

static int64_t read_boot_ms(const struct clock *clock)
{
    (void)clock;
    return FIBERS_MONO_START_MS + fibers_now_us() / 1000;
}

static int64_t parse_wall_ms(const char *text)
{
    struct civil c = {0};
    struct zone *utc = NULL;
    struct errctx ec;
    int64_t s;

    if (sscanf(text, "%" SCNd64 "-%d-%dT%d:%d:%dZ", &c.year, &c.month, &c.day, &c.hour, &c.minute, &c.second) != 6 ||
        zone_load("UTC", &utc, &ec))
        abort();
    s = zone_from_civil(utc, &c);
    zone_destroy(utc);
    return s * 1000;
}

int64_t sim_now_ms(const struct sim *sim)
{
    return memory_db_wall_ms(sim->db);
}

void sim_advance_ms(struct sim *sim, int64_t ms)
{
    (void)sim;
    fibers_sleep_us(ms * 1000);
}

void sim_shift_wall_ms(struct sim *sim, int node, int64_t ms)
{
    struct sim_run *run = sim->run[node];
    int64_t wall_ms = clock_wall_ms(&run->clock);

    if (fibers_now_us() >= run->wall_high_until_us || wall_ms > run->wall_high_ms)
        run->wall_high_ms = wall_ms;
    run->wall_high_until_us = fibers_now_us() + 25000000; /* a fire is sent for 20 s */
    run->wall_offset_us += ms * 1000;
    sim->clocks_moved = sim->clocks_moved || ms != 0;
}

void sim_set_wall(struct sim *sim, const char *wall)
{
    int64_t wall_ms = parse_wall_ms(wall);

    for (int i = 0; i < sim->opts.nodes; i++)
        if (sim->run[i])
            sim_shift_wall_ms(sim, i, wall_ms - clock_wall_ms(&sim->run[i]->clock));
}

/* ---- callbacks --------------------------------------------------------------------------------------------------- */

static struct sim_run *choose_receiver(struct sim *sim)
{
    struct sim_run *chosen = NULL;
    uint64_t n = 0;

    for (int i = 0; i < sim->opts.nodes; i++)
        if (sim->run[i] && sim->run[i]->state == RUN_ALIVE && !sim->run[i]->cut && fibers_draw(++n) == 0)
            chosen = sim->run[i];
    return chosen;
}

void sim_call_back(struct sim *sim, const struct sim_callback *callback)
{
    struct sim_run *run = choose_receiver(sim);
    struct sim_callback **list = run ? &run->callbacks : &sim->waiting;
    struct sim_callback *c = calloc(1, sizeof *c);

    if (!c)
        abort();
    *c = *callback;
    c->next = *list;
    *list = c;
}

static void call_again(struct sim *sim, const struct sim_callback *callback)
{
    struct sim_callback again = *callback;

    if (again.at_us < fibers_now_us() + 1000000)
        again.at_us = fibers_now_us() + 1000000;
    sim_call_back(sim, &again);
}

/* Some node is there again: executors keep what they could not tell. */
static void give_waiting(struct sim *sim)
{
    while (sim->waiting && choose_receiver(sim)) {
        struct sim_callback *c = sim->waiting;

        sim->waiting = c->next;
        call_again(sim, c);
        free(c);
    }
}

static struct sim_callback *take_callback(struct sim_run *run)
{
    for (struct sim_callback **link = &run->callbacks; *link; link = &(*link)->next) {
        struct sim_callback *c = *link;

        if (c->at_us <= fibers_now_us()) {
            *link = c->next;
            return c;
        }
    }
    return NULL;
}

/* resend: they were not answered, so the executors send them again. */
static void drop_list(struct sim *sim, struct sim_callback **list, bool resend)
{
    while (*list) {
        struct sim_callback *c = *list;

        *list = c->next;
        if (resend)
            call_again(sim, c);
        free(c);
    }
}

static void receive(void *arg)
{
    struct sim_run *run = arg;

    while (!run->ending) {
        struct callback_entry entries[CALLBACKS_AT_ONCE];
        struct sim_callback *c;
        struct errctx ec;
        size_t n = 0;

        while (n < CALLBACKS_AT_ONCE && (c = take_callback(run)) != NULL) {
            entries[n++] = (struct callback_entry){.log_id = c->log_id, .code = c->code, .message = c->said};
            c->next = run->in_hand;
            run->in_hand = c;
        }
        drop_list(run->sim, &run->in_hand,
                  n > 0 && complete_submit(run->complete, entries, n, complete_get_deadline(run->complete), &ec));
        fibers_sleep_us(50000);
    }
}

static void drop_callbacks(struct sim_run *run, bool resend)
{
    drop_list(run->sim, &run->callbacks, resend);
    drop_list(run->sim, &run->in_hand, resend);
}

/* ---- nodes: start ------------------------------------------------------------------------------------------------ */

void sim_must(enum err e, const struct errctx *ec)
{
    if (e) {
        fprintf(stderr, "sim: %s\n", ec->text);
        abort();
    }
}

/* Another number of shards: as node.c does. */
static void follow(void *arg)
{
    struct sim_run *run = arg;
    struct errctx ec;

    while (!run->ending) {
        int wanted = schedule_get_wanted_shards(run->schedule);

        if (wanted) {
            sim_coord_end(run);
            schedule_halt(run->schedule);
            sim_must(schedule_resize(run->schedule, wanted, &ec), &ec);
            sim_coord_begin(run, wanted);
            if (run->stopping) /* the new coord does not know of it yet */
                sim_coord_drain(run);
            sim_must(schedule_start(run->schedule, &run->coord, run->dispatch, &ec), &ec);
        }
        fibers_sleep_us(100000);
    }
}

/* Whatever is away or broken here, all threads go on: a watchdog would have nothing to do. */
static void look(void *arg)
{
    struct sim_run *run = arg;
    char name[16];
    int64_t since_ms;

    while (!run->ending) {
        if (watch_look(run->watch) > 0 && watch_find_stuck(run->watch, name, &since_ms))
            sim_violate(run->sim, "threads-go-on", "node %d: thread %s is stuck for %" PRId64 " ms", run->node, name,
                        since_ms);
        if (fibers_chance(500))
            sim_registry_look(run);
        run->missed = run->missed || run->store.cut || run->store.db->away || run->cut;
        if (run->missed && !run->store.cut && !run->store.db->away && !run->cut) {
            run->missed = false;
            run->store.db->missed_ms = memory_db_wall_ms(run->store.db);
        }
        fibers_sleep_us(1000000);
    }
}

static bool is_sending(void *arg)
{
    struct sim_run *run = arg;

    return dispatch_is_sending(run->dispatch);
}

static void submit_direct(void *arg, struct fire *list)
{
    struct sim_run *run = arg;

    dispatch_submit_direct(run->dispatch, list);
}

static int64_t get_first_epoch(void *arg)
{
    struct sim_run *run = arg;

    return schedule_get_epoch(run->schedule, 0);
}

/* What comes behind the end of a run. */
static void start_following(struct sim_run *run)
{
    struct failures_opts opts = {.incarnation = run->incarnation,
                                 .store = &run->store,
                                 .registry = &run->registry,
                                 .submit = submit_direct,
                                 .arg = run};
    struct errctx ec;

    sim_must(failures_create(&opts, &run->clock, &run->counters, &run->failures, &ec), &ec);
    sim_must(failures_start(run->failures, &ec), &ec);
    sim_must(triggers_create(
                 &(struct triggers_opts){
                     .incarnation = run->incarnation, .store = &run->store, .submit = submit_direct, .arg = run},
                 &run->clock, &run->counters, &run->triggers, &ec),
             &ec);
    sim_must(triggers_start(run->triggers, &ec), &ec);
    sim_must(lost_create(&(struct lost_opts){.store = &run->store,
                                             .registry = &run->registry,
                                             .access = &run->access,
                                             .ask = true,
                                             .get_epoch = get_first_epoch,
                                             .arg = run},
                         &run->clock, &run->counters, &run->lost, &ec),
             &ec);
    sim_must(lost_start(run->lost, &ec), &ec);
}

/* As node.c has it. */
static int get_epochs(void *arg, int64_t *out)
{
    struct sim_run *run = arg;
    int n = run->coord.shards;

    for (int k = 0; k < n; k++)
        out[k] = schedule_get_epoch(run->schedule, k);
    return n;
}

static bool is_comparing(void *arg)
{
    struct sim_run *run = arg;

    return dispatch_is_comparing_sent(run->dispatch);
}

static void start_flows(struct sim_run *run)
{
    struct errctx ec;

    sim_must(flowrun_create(&(struct flowrun_opts){.incarnation = run->incarnation,
                                                   .store = &run->store,
                                                   .zone = run->sim->zone,
                                                   .max_year = 2200,
                                                   .watch = run->watch,
                                                   .get_epochs = get_epochs,
                                                   .submit = submit_direct,
                                                   .is_comparing = is_comparing,
                                                   .arg = run},
                            &run->clock, &run->counters, &run->flows, &ec),
             &ec);
    sim_must(flowrun_start(run->flows, &ec), &ec);
}

static void start_parts(struct sim_run *run)
{
    struct sim *sim = run->sim;
    struct errctx ec;

    sim_must(watch_create(&run->clock, &run->watch, &ec), &ec);

    struct schedule_opts schedule = {.shards = sim->db->shards,
                                     .node_name = run->name,
                                     .incarnation = run->incarnation,
                                     .url = "http://node/",
                                     .version = "0",
                                     .zone = sim->zone,
                                     .max_year = 2200,
                                     .resend = sim->opts.resend,
                                     .skipped_rows = true,
                                     .watch = run->watch,
                                     .store = &run->store,
                                     .registry = &run->registry,
                                     .guard = sim->opts.guarded ? (struct guard *)run : NULL};
    struct dispatch_opts dispatch = {.threads = 1,
                                     .style = {.lang = LANG_EN},
                                     .watch = run->watch,
                                     .per_address = 4,
                                     .queue_max = 100000,
                                     .results_max = 100000,
                                     .node_name = run->name,
                                     .admin_ip = "10.0.0.9",
                                     .access = &run->access,
                                     .sent = schedule_on_sent};

    sim_must(schedule_create(&schedule, &run->clock, &run->counters, &run->schedule, &ec), &ec);
    dispatch.arg = run->schedule;
    access_box_init(&run->access);
    if (!access_box_set(&run->access, "", NULL, 3000))
        abort();
    sim_must(results_create(&(struct results_opts){.watch = run->watch, .store = &run->store, .waiting_max = 50000},
                            &run->clock, &run->counters, &run->results, &ec),
             &ec);
    sim_must(dispatch_create(&dispatch, &run->registry, run->results, &run->clock, &run->counters, &run->dispatch, &ec),
             &ec);
    sim_must(results_start(run->results, &ec), &ec);
    sim_must(dispatch_start(run->dispatch, &ec), &ec);
    sim_must(complete_create(&(struct complete_opts){.watch = run->watch,
                                                     .store = &run->store,
                                                     .results = run->results,
                                                     .is_sending = is_sending,
                                                     .submit = sim->opts.follows ? submit_direct : NULL,
                                                     .incarnation = run->incarnation,
                                                     .arg = run},
                             &run->clock, &run->counters, &run->complete, &ec),
             &ec);
    sim_must(complete_start(run->complete, &ec), &ec);
    sim_coord_begin(run, sim->db->shards);
    sim_must(schedule_start(run->schedule, &run->coord, run->dispatch, &ec), &ec);
    if (sim->opts.follows)
        start_following(run);
    if (sim->opts.flows)
        start_flows(run);
    sim_must(thread_start(&run->follower, "follower", follow, run, &ec), &ec);
    sim_must(thread_start(&run->looker, "looker", look, run, &ec), &ec);
    sim_must(thread_start(&run->receiver, "receiver", receive, run, &ec), &ec);
}

static void start_run(struct sim *sim, int node)
{
    struct sim_run *run = calloc(1, sizeof *run);
    int former;

    if (!run || sim->groups + 1 >= FIBER_GROUPS)
        abort();
    run->clock = (struct clock){read_wall_us, read_mono_ms, read_boot_ms};
    run->sim = sim;
    run->node = node;
    run->former = sim->run[node];
    run->wall_offset_us = run->former ? run->former->wall_offset_us : 0;
    run->group = ++sim->groups;
    run->store = (struct store){.db = sim->db, .clock = &run->clock};
    sim_registry_begin(run);
    snprintf(run->name, sizeof run->name, "node-%d", node);
    snprintf(run->incarnation, sizeof run->incarnation, "%016x", (unsigned)run->group);
    former = fibers_enter_group(run->group);
    start_parts(run);
    fibers_enter_group(former);
    sim->run[node] = run;
    give_waiting(sim);
}

/* ---- nodes: end -------------------------------------------------------------------------------------------------- */

static void end_parts(struct sim_run *run, bool drain)
{
    int former = fibers_enter_group(run->group);

    run->ending = true;
    thread_join(&run->follower);
    thread_join(&run->looker);
    if (run->flows) {
        flowrun_stop(run->flows);
        flowrun_join(run->flows);
    }
    if (run->failures) {
        lost_stop(run->lost);
        lost_join(run->lost);
        failures_stop(run->failures);
        failures_join(run->failures);
        triggers_stop(run->triggers);
        triggers_join(run->triggers);
        sim_calls_end(run);
    }
    schedule_stop(run->schedule);
    schedule_join(run->schedule);
    if (drain && !dispatch_drain(run->dispatch, clock_mono_ms(&run->clock) + 8000))
        log_error("sim", "event=results_left");
    sim_coord_end(run);
    complete_stop(run->complete);
    thread_join(&run->receiver);
    complete_join(run->complete);
    dispatch_stop(run->dispatch);
    dispatch_join(run->dispatch);
    results_stop(run->results);
    results_join(run->results);
    flowrun_destroy(run->flows);
    run->flows = NULL;
    triggers_destroy(run->triggers);
    lost_destroy(run->lost);
    run->lost = NULL;
    failures_destroy(run->failures);
    run->triggers = NULL;
    run->failures = NULL;
    complete_destroy(run->complete);
    results_destroy(run->results);
    dispatch_destroy(run->dispatch);
    access_box_fini(&run->access);
    schedule_destroy(run->schedule);
    watch_destroy(run->watch);
    run->watch = NULL;
    run->dispatch = NULL;
    run->schedule = NULL;
    fibers_enter_group(former);
}

void sim_stop(struct sim *sim, int node)
{
    struct sim_run *run = sim->run[node];
    int64_t until_us = fibers_now_us() + STOP_PATIENCE_MS * 1000;

    run->stopping = true;
    sim_coord_drain(run);
    while (run->state == RUN_ALIVE && fibers_now_us() < until_us &&
           (sim_coord_count_held(run) > 0 || schedule_count_unsent(run->schedule) > 0))
        fibers_sleep_us(100000);
    run->messages_left = 0;
    if (run->state != RUN_ALIVE)
        return;
    end_parts(run, /*drain=*/true);
    run->state = RUN_STOPPED;
    drop_callbacks(run, /*resend=*/true);
}

void sim_kill(struct sim *sim, int node)
{
    struct sim_run *run = sim->run[node];

    run->state = RUN_KILLED;
    fibers_freeze(run->group, true);
    drop_callbacks(run, /*resend=*/true);
}

void sim_pause(struct sim *sim, int node)
{
    sim->run[node]->state = RUN_PAUSED;
    fibers_freeze(sim->run[node]->group, true);
}

void sim_wake(struct sim *sim, int node)
{
    sim->run[node]->state = RUN_ALIVE;
    fibers_freeze(sim->run[node]->group, false);
    give_waiting(sim);
    if (sim->run[node]->stopping)
        sim_stop(sim, node);
}

void sim_suspend(struct sim *sim, int node, int64_t ms)
{
    sim_pause(sim, node);
    fibers_sleep_us(ms * 1000);
    fibers_add_suspension_us(sim->run[node]->group, ms * 1000);
    sim_wake(sim, node);
}

void sim_start(struct sim *sim, int node)
{
    assert(!sim_is_running(sim, node) && sim->run[node]->state != RUN_PAUSED);
    start_run(sim, node);
}

bool sim_is_running(const struct sim *sim, int node)
{
    return sim->run[node]->state == RUN_ALIVE;
}

bool sim_is_paused(const struct sim *sim, int node)
{
    return sim->run[node]->state == RUN_PAUSED;
}

void sim_end_at(struct sim *sim, int node, int64_t messages, enum sim_end end)
{
    sim->run[node]->messages_left = messages;
    sim->run[node]->end = end;
}

void sim_move(struct sim_run *run)
{
    if (run->state != RUN_ALIVE || run->messages_left == 0 || --run->messages_left > 0)
        return;
    if (run->end == END_KILLED)
        sim_kill(run->sim, run->node);
    else
        sim_pause(run->sim, run->node);
    if (fibers_get_group() == run->group)
        fibers_sleep_us(0); /* it goes no further */
}

void sim_move_store(void *arg, struct store *st)
{
    (void)arg;
    if (st->clock)
        sim_move(sim_run_of_clock(st->clock));
}

/* Frees a run; one that was killed comes to life for that, without database, locks and executors. */
static void destroy_run(struct sim_run *run)
{
    if (run->state != RUN_STOPPED) {
        run->store.cut = true;
        run->state = RUN_KILLED;
        memset(run->coord.grant, 0, sizeof run->coord.grant);
        fibers_freeze(run->group, false);
        end_parts(run, /*drain=*/false);
    }
    drop_callbacks(run, /*resend=*/false);
}

struct sim *sim_create(struct sim_opts opts)
{
    struct sim *sim = calloc(1, sizeof *sim);
    const char *seed = getenv("SHARDWHEEL_SIM_SEED");
    struct errctx ec;

    if (!sim)
        abort();
    opts.nodes = opts.nodes ? opts.nodes : 1;
    opts.shards = opts.shards ? opts.shards : 4;
    assert(opts.shards <= SIM_SHARDS_MAX);
    sim->opts = opts;
    sim->seed = opts.seed ? opts.seed : seed ? strtoull(seed, NULL, 10) : 1;
    fibers_begin(sim->seed);
    sim->db = memory_db_create(opts.shards, parse_wall_ms(opts.wall ? opts.wall : "2025-06-01T00:00:00Z"));
    sim->db->broken = opts.broken;
    sim->db->follows = opts.follows;
    sim->db->calm = opts.calm;
    sim_set_members(sim, SIM_MEMBERS_ALL);
    sim->db->claimed = sim_check_claim;
    sim->db->moves = sim_move_store;
    sim->db->lost = sim_check_lost;
    sim->db->moved = sim_check_move;
    sim->db->arg = sim;
    sim_must(zone_load(opts.zone ? opts.zone : "UTC", &sim->zone, &ec), &ec);
    sim_locks_begin(sim);
    for (int i = 0; i < opts.nodes; i++)
        start_run(sim, i);
    return sim;
}

void sim_destroy(struct sim *sim)
{
    sim->ending = true;
    sim_locks_end(sim);
    sim_edits_end(sim);
    for (int i = 0; i < sim->opts.nodes; i++)
        for (struct sim_run *run = sim->run[i]; run; run = run->former)
            destroy_run(run);
    memory_db_destroy(sim->db);
    for (int i = 0; i < sim->opts.nodes; i++) {
        while (sim->run[i]) {
            struct sim_run *run = sim->run[i];

            sim->run[i] = run->former;
            free(run);
        }
    }
    drop_list(sim, &sim->waiting, /*resend=*/false);
    sim_calls_free(sim);
    free(sim->flows);
    zone_destroy(sim->zone);
    free(sim);
    fibers_end();
}

uint64_t sim_get_seed(const struct sim *sim)
{
    return sim->seed;
}

/* ---- the cluster ------------------------------------------------------------------------------------------------- */

void sim_give_to(struct sim *sim, int shard, int node)
{
    sim->wanted[shard] = node;
}

void sim_reshard(struct sim *sim, int shards)
{
    struct store st = {.db = sim->db};
    struct store_session *session = NULL;
    struct reshard_wish wish;
    struct errctx ec;

    sim_must(store_take_session(&st, SESSION_NORMAL, &session, &ec), &ec);
    if (store_ask_reshard(session, shards, NULL, &wish, &ec))
        log_error("sim", "event=reshard_refused why=%s", log_quote(ec.text).s);
    store_give_session(&st, session);
}

int sim_count_shards(const struct sim *sim)
{
    return sim->db->shards;
}

int sim_count_owned(struct sim *sim, int node)
{
    struct shard_status status[STORE_SHARDS_MAX];
    int n = 0;

    schedule_load_status(sim->run[node]->schedule, status);
    for (int k = 0; k < sim->run[node]->coord.shards; k++)
        n += status[k].state == SHARD_OWNED;
    return n;
}

int64_t sim_count(struct sim *sim, enum counter_id id)
{
    int64_t n = 0;

    for (int i = 0; i < sim->opts.nodes; i++)
        for (struct sim_run *run = sim->run[i]; run; run = run->former)
            n += counters_get(&run->counters, id);
    return n;
}

struct memory_db *sim_get_db(struct sim *sim)
{
    return sim->db;
}

void sim_set_away(struct sim *sim, bool away)
{
    sim->db->away = away;
}

void sim_remember(struct sim *sim)
{
    memory_db_remember(sim->db);
}

void sim_fail_over(struct sim *sim)
{
    memory_db_fail_over(sim->db);
    sim->generation++;
    for (int i = 0; i < sim->opts.nodes; i++) {
        struct sim_run *run = sim->run[i];
        int former;

        if (!run || run->state != RUN_ALIVE)
            continue;
        former = fibers_enter_group(run->group);
        schedule_on_primary(run->schedule, sim->generation, /*lossless=*/false);
        fibers_enter_group(former);
    }
}

void sim_cut_database(struct sim *sim, int node, bool cut)
{
    sim->run[node]->store.cut = cut;
}

void sim_cut_locks(struct sim *sim, int node, bool cut)
{
    sim->run[node]->coord.cut = cut;
}

void sim_cut_executors(struct sim *sim, int node, bool cut)
{
    sim->run[node]->cut = cut;
    if (!cut)
        give_waiting(sim);
}

void sim_set_executors(struct sim *sim, enum sim_executor how)
{
    for (int i = 0; i < SIM_EXECUTORS; i++)
        sim->executors[i] = how;
}

void sim_set_failing(struct sim *sim, unsigned permille)
{
    sim->failing_permille = permille;
}

void sim_set_lasting(struct sim *sim, int64_t ms)
{
    sim->lasting_ms = ms;
}

void sim_set_executor(struct sim *sim, int index, enum sim_executor how)
{
    sim->executors[index] = how;
}
