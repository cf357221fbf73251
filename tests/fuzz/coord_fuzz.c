/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target for what ZooKeeper says: answers, lists, data, watches and states of the session, of any content and in
 * any order (strange_zoo.h), go through coord/zk.c to those who read it. The first byte chooses: a node's coord with
 * its engine, the agreement on a database server with its chooser, or the look from outside that doctor takes. The
 * thread of coord and those of primary are the fuzzer's own: coord_wait and worker_start are replaced, and so are the
 * clock and the database servers.
 *
 * Oracle      A shard is granted only when the list of its folder that was shown last, in this session, has our ticket
 *             first; serials grow, and what was taken back stays so. A turn asks for a bounded number of things. When
 *             the input is over, ZooKeeper says the truth, whatever strangers have left in it: then requests come to an
 *             end without time passing, and are few while it passes; each shard gets its owner unless a stranger's
 *             ticket or name is in the way; a shutdown ends. A database server is used only as BASE/primary was read
 *             last; what our znode says of generations never goes back. Nothing leaks.
 * Run: tools/fuzz coord (-max_len=1000)
 */
#include <stdarg.h>

#include "strange_zoo.h"

#include "coord/coord_impl.h"
#include "coord/primary_impl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TICK_MS 250
#define ROUNDS_MAX 400 /* answers and turns without time passing */
#define QUIET_TICKS 60 /* all is looked at anew within 10 s */
#define DRAIN_TICKS 240

/* ---- the clock, chance, waiting ---------------------------------------------------------------------------------- */

static int64_t get_wall_us(const struct clock *clock)
{
    (void)clock;
    return INT64_C(1700000000000000) + zoo.now_ms * 1000;
}

static int64_t get_mono_ms(const struct clock *clock)
{
    (void)clock;
    return zoo.now_ms;
}

static const struct clock fuzz_clock = {get_wall_us, get_mono_ms, get_mono_ms};

bool __wrap_cond_wait_until(struct cond *c, struct mutex *m, int64_t deadline_mono_ms);
bool __wrap_cond_wait_until(struct cond *c, struct mutex *m, int64_t deadline_mono_ms)
{
    (void)c, (void)m, (void)deadline_mono_ms;
    return false; /* there is no other thread */
}

void __wrap_clock_sleep_ms(int64_t ms);
void __wrap_clock_sleep_ms(int64_t ms)
{
    zoo_pass_time(ms);
    zoo_play();
}

enum err __wrap_random_hex(char *out, size_t bytes, struct errctx *ec);
enum err __wrap_random_hex(char *out, size_t bytes, struct errctx *ec)
{
    (void)ec;
    memset(out, 'a', 2 * bytes);
    out[2 * bytes] = '\0';
    return ERR_OK;
}

/* The texts are made, and not written. */
void __wrap_log_line(enum log_level level, const char *area, const char *fmt, ...);
void __wrap_log_line(enum log_level level, const char *area, const char *fmt, ...)
{
    char line[3000];
    va_list ap;

    (void)level, (void)area;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    if (getenv("FUZZ_LOG"))
        fprintf(stderr, "%" PRId64 " %s\n", zoo.now_ms, line);
}

/* Answers all, or lets time pass where nothing is left to answer. The connection comes back by itself. */
static void settle_step(int *rounds, int *ticks, uint64_t asked_max)
{
    static uint64_t asked_before;

    zoo.forbids = false;
    zoo.refuses_opening = false;
    if (zoo.handle && zoo.handle->state != ZOO_CONNECTED_STATE && zoo.handle->state != ZOO_EXPIRED_SESSION_STATE &&
        zoo.handle->state != ZOO_AUTH_FAILED_STATE)
        zoo_connect(zoo.handle);
    if (zoo.handle && zoo.handle->waiting) {
        must(++*rounds < ROUNDS_MAX, "requests come to an end without time passing");
        while (zoo.handle->waiting)
            zoo_answer_next(zoo.handle, ANSWER_TRUE);
        return;
    }
    *rounds = 0;
    if (*ticks % 40 == 0)
        asked_before = zoo.asked;
    must(zoo.asked - asked_before <= asked_max, "few requests within 10 s");
    zoo_pass_time(TICK_MS);
    ++*ticks;
}

/* ---- coord ------------------------------------------------------------------------------------------------------- */

static struct {
    struct coord *coord;
    enum { PLAYING, QUIET, DRAINING, ENDED } phase;
    int shards;
    int rounds;
    int ticks;
    bool draining;
    uint64_t asked;
    struct coord_grant seen[ZOO_LOCKS];
    bool owned[ZOO_LOCKS]; /* since the quiet began */
    struct counters counters;
} node;

static void on_changed(void *arg, int shard)
{
    (void)arg;
    must(shard >= 0 && shard < node.shards, "it is told of a shard that there is");
}

static void check_grants(void)
{
    for (int k = 0; k < node.shards; k++) {
        struct coord_grant g = coord_get_grant(node.coord, k), *seen = &node.seen[k];

        must(g.serial >= seen->serial, "serials grow");
        if (g.serial != seen->serial && g.wish != COORD_NOT_OURS)
            must(zoo_is_ours(k, zoo.shown_first[k]) || !coord_is_connected(node.coord),
                 "what is granted anew was shown to be ours");
        if (g.serial == seen->serial && seen->wish == COORD_NOT_OURS)
            must(g.wish == COORD_NOT_OURS, "what was taken back stays so");
        node.owned[k] |= g.wish == COORD_OWN;
        *seen = g;
    }
}

/* The place of schedule. */
static void release(bool all)
{
    for (int k = 0; k < node.shards; k++) {
        struct coord_grant g = coord_get_grant(node.coord, k);

        if ((g.wish == COORD_GIVE_BACK || g.wish == COORD_FINISH) && (all || draw(2)))
            coord_release(node.coord, k, g.serial + (all ? 0 : draw(4) == 3));
        node.seen[k] = coord_get_grant(node.coord, k);
    }
}

static void play_node(void)
{
    static const int64_t times_ms[] = {1, 50, 250, 1000, 1500, 4000, 10000, 60000};

    switch (draw(8)) {
    case 0: zoo_pass_time(times_ms[draw(ARRAY_LEN(times_ms))]); break;
    case 1: release(false); break;
    case 2: coord_rotate(node.coord, (int)draw((unsigned)node.shards)); break;
    case 3: coord_set_able(node.coord, draw(3)); break;
    case 4:
        if (draw(4) == 3) {
            node.draining = true;
            coord_drain(node.coord);
        } else {
            coord_set_drained(node.coord, draw(2));
        }
        break;
    default: zoo_play(); break;
    }
}

static void begin_quiet(void)
{
    node.phase = QUIET;
    node.ticks = node.rounds = 0;
    coord_set_able(node.coord, true);
    coord_set_drained(node.coord, false);
    memset(node.owned, 0, sizeof node.owned);
    if (zoo.handle && zoo.has_lied) /* nobody can go on from that */
        zoo_tell_state(zoo.handle, ZOO_EXPIRED_SESSION_STATE);
}

/* Another session has our name, or a ticket before ours. */
static bool is_in_the_way(int k)
{
    const struct zoo_node *name = zoo_find(ZOO_BASE "/nodes/n1");
    char folder[60];
    char *names[ZOO_NODES];
    bool found = name && !zoo_is_of_session(name);

    snprintf(folder, sizeof folder, ZOO_BASE "/schedule_lock_%d", k);
    for (int n = zoo_list(folder, names); n > 0; n--) {
        int64_t number;

        found |= zoo_read_number(names[n - 1], &number) && !zoo_is_ours(k, names[n - 1]);
        free(names[n - 1]);
    }
    found |= !zoo_find(folder); /* the tree is full */
    return found;
}

static void end_quiet(void)
{
    for (int k = 0; k < node.shards && !node.draining; k++)
        must(node.owned[k] || is_in_the_way(k), "a shard that nobody else has got its owner");
    node.phase = DRAINING;
    node.ticks = 0;
    coord_drain(node.coord);
}

void __real_coord_wait(struct coord *c, int64_t deadline_mono_ms, struct coord_news *out);
void __wrap_coord_wait(struct coord *c, int64_t deadline_mono_ms, struct coord_news *out);
void __wrap_coord_wait(struct coord *c, int64_t deadline_mono_ms, struct coord_news *out)
{
    uint64_t asked = zoo.asked - node.asked;

    must(asked <= (uint64_t)node.shards * 3 + 8, "a turn asks for a bounded number of things");
    check_grants();
    if (node.phase == PLAYING && !input.left)
        begin_quiet();
    if (node.phase == PLAYING) {
        play_node();
    } else {
        release(true);
        settle_step(&node.rounds, &node.ticks, (uint64_t)node.shards * 60 + 100);
    }
    if (node.phase == QUIET && node.ticks >= QUIET_TICKS)
        end_quiet();
    if (node.phase == DRAINING && node.ticks > 1 && coord_count_held(c) == 0) {
        node.phase = ENDED;
        coord_stop(c);
    }
    must(node.phase != DRAINING || node.ticks < DRAIN_TICKS, "a shutdown ends");
    node.asked = zoo.asked;
    __real_coord_wait(c, deadline_mono_ms, out);
}

static void run_node(void)
{
    struct errctx ec = {{0}};
    struct coord_opts opts = {.node_name = "n1",
                              .servers = "127.0.0.1:2181",
                              .base_path = ZOO_BASE,
                              .session_timeout_ms = ZOO_TIMEOUT_MS,
                              .changed = on_changed};

    memset(&node, 0, sizeof node);
    node.shards = opts.shards = 1 + (int)draw(6);
    opts.max_hold_ms = draw(2) ? 5000 : 0;
    if (coord_create(&opts, &fuzz_clock, &node.counters, &node.coord, &ec))
        abort();
    zookeeper_run(node.coord);
    coord_destroy(node.coord);
}

/* ---- primary ----------------------------------------------------------------------------------------------------- */

#define HOSTS_MAX 3

static struct {
    size_t count;
    struct host_facts facts[HOSTS_MAX];
    void (*trouble)(void *arg);
    void *trouble_arg;
    struct {
        int64_t (*turn)(void *arg);
        void (*end)(void *arg);
        void *arg;
    } deciding, looking;
    int64_t said; /* the newest generation that our znode had */
    struct counters counters;
} db;

enum err __wrap_worker_start(struct worker *w, const char *name, int64_t (*turn)(void *arg), void (*end)(void *arg),
                             void *arg, struct errctx *ec);
enum err __wrap_worker_start(struct worker *w, const char *name, int64_t (*turn)(void *arg), void (*end)(void *arg),
                             void *arg, struct errctx *ec)
{
    (void)w, (void)ec;
    if (strcmp(name, "database") == 0)
        db.deciding.turn = turn, db.deciding.end = end, db.deciding.arg = arg;
    else
        db.looking.turn = turn, db.looking.end = end, db.looking.arg = arg;
    return ERR_OK;
}

size_t __wrap_hosts_count(const struct hosts *h);
size_t __wrap_hosts_count(const struct hosts *h)
{
    (void)h;
    return db.count;
}

struct host_address __wrap_hosts_get_address(const struct hosts *h, int index);
struct host_address __wrap_hosts_get_address(const struct hosts *h, int index)
{
    (void)h;
    must(index >= 0 && index < (int)db.count, "a candidate that there is");
    return (struct host_address){"db", 3306 + index};
}

void __wrap_hosts_manage(struct hosts *h, void (*trouble)(void *arg), void *arg);
void __wrap_hosts_manage(struct hosts *h, void (*trouble)(void *arg), void *arg)
{
    (void)h;
    db.trouble = trouble;
    db.trouble_arg = arg;
}

void __wrap_hosts_use(struct hosts *h, int index, const char *server, int64_t generation);
void __wrap_hosts_use(struct hosts *h, int index, const char *server, int64_t generation)
{
    char said[60];
    const char *at = strstr(zoo.shown_primary, " server=");

    (void)h;
    must(index >= 0 && index < (int)db.count, "a candidate that there is");
    snprintf(said, sizeof said, "generation=%" PRId64, generation);
    must(strstr(zoo.shown_primary, said) && at && strcmp(at + 8, server) == 0,
         "a server is used as it was agreed on last");
}

void __wrap_hosts_note_generation(struct hosts *h, int64_t generation);
void __wrap_hosts_note_generation(struct hosts *h, int64_t generation)
{
    (void)h, (void)generation;
    must(false, "in a cluster none takes its own generation");
}

void __wrap_hosts_set_lease(struct hosts *h, int64_t until_boot_ms);
void __wrap_hosts_set_lease(struct hosts *h, int64_t until_boot_ms)
{
    (void)h, (void)until_boot_ms;
}

void __wrap_hosts_stop(struct hosts *h, const char *why);
void __wrap_hosts_stop(struct hosts *h, const char *why)
{
    (void)h;
    must(why && *why, "there is a reason");
}

void __wrap_hosts_probe(struct hosts *h, int index, struct host_facts *out);
void __wrap_hosts_probe(struct hosts *h, int index, struct host_facts *out)
{
    (void)h;
    *out = db.facts[index];
}

enum err __wrap_hosts_raise(struct hosts *h, int index, int64_t generation, const char *node_name, struct errctx *ec);
enum err __wrap_hosts_raise(struct hosts *h, int index, int64_t generation, const char *node_name, struct errctx *ec)
{
    struct host_facts *f = &db.facts[index];

    (void)h, (void)node_name;
    must(generation > 0, "generations are above 0");
    if (!f->takes_writes || f->generation >= generation)
        return err_set(ec, ERR_STATE, "no");
    f->generation = generation;
    memcpy(f->row_server, f->server, sizeof f->row_server);
    return ERR_OK;
}

static void draw_facts(struct host_facts *f, bool good)
{
    static const char *const servers[] = {"db1:3306 1 a", "db2:3306 2 b", "other", ""};
    static const int64_t generations[] = {0, 1, 2, 3, 7, 8, INT64_MAX, -1};

    *f = (struct host_facts){.reached = good || draw(8) != 7, .has_tables = draw(8) != 7};
    f->takes_writes = f->reached && (good || draw(4) != 3);
    f->galera = draw(8) == 7;
    f->generation = f->has_tables ? generations[draw(ARRAY_LEN(generations))] : 0;
    strcpy(f->server, servers[draw(ARRAY_LEN(servers))]);
    strcpy(f->row_server, draw(4) ? f->server : servers[draw(ARRAY_LEN(servers))]);
    if (!f->takes_writes)
        strcpy(f->why, "no");
}

static void check_own(void)
{
    const struct zoo_node *own = zoo_find(ZOO_BASE "/writers/w1");
    int64_t generation;

    if (!own || own->is_strangers || own->len < 11 || !zoo_is_of_session(own))
        return;
    generation = strtoll(own->data + 11, NULL, 10);
    must(generation >= db.said, "what our znode says of generations never goes back");
    db.said = generation;
}

static void turn_primary(void)
{
    uint64_t asked = zoo.asked;

    db.deciding.turn(db.deciding.arg);
    must(zoo.asked - asked <= 1, "one request at a time");
}

static void play_primary(void)
{
    static const int64_t times_ms[] = {1, 50, 250, 1000, 1500, 4000, 10000, 60000};

    switch (draw(8)) {
    case 0: zoo_pass_time(times_ms[draw(ARRAY_LEN(times_ms))]); break;
    case 1: draw_facts(&db.facts[draw((unsigned)db.count)], false); break;
    case 2: db.trouble(db.trouble_arg); break;
    case 3:
    case 4: db.looking.turn(db.looking.arg); break;
    default: zoo_play(); break;
    }
}

static void run_primary(void)
{
    struct errctx ec = {{0}};
    struct primary_opts opts = {.node_name = "n1",
                                .incarnation = "w1",
                                .servers = "127.0.0.1:2181",
                                .base_path = ZOO_BASE,
                                .session_timeout_ms = ZOO_TIMEOUT_MS};
    struct primary *p = NULL;
    int rounds = 0, ticks = 0;

    memset(&db, 0, sizeof db);
    db.count = 2 + draw(HOSTS_MAX - 1);
    for (size_t i = 0; i < db.count; i++)
        draw_facts(&db.facts[i], true);
    if (primary_create(&opts, &fuzz_clock, &db.counters, &p, &ec))
        abort();
    (void)!primary_start(p, &ec);
    while (input.left) {
        play_primary();
        turn_primary();
        check_own();
    }
    if (zoo.handle && zoo.has_lied)
        zoo_tell_state(zoo.handle, ZOO_EXPIRED_SESSION_STATE);
    while (ticks < QUIET_TICKS) {
        settle_step(&rounds, &ticks, 1200); /* one for each writer that a stranger left, some times */
        db.looking.turn(db.looking.arg);
        turn_primary();
        check_own();
    }
    db.deciding.end(db.deciding.arg);
    primary_destroy(p);
}

/* ---- the look from outside --------------------------------------------------------------------------------------- */

static void run_look(void)
{
    struct coord_probe probe = {0};
    struct errctx ec = {{0}};
    struct buf servers = {0};
    struct coord_probe_opts opts = {.base_path = ZOO_BASE, .session_timeout_ms = ZOO_TIMEOUT_MS, .wait_ms = 3000};

    for (unsigned n = 1 + draw(18); n; n--)
        buf_printf(&servers, "%s127.0.0.1:%u", servers.len ? "," : "", 2181 + n);
    zoo.answers_at_once = true;
    for (unsigned n = draw(16); n; n--)
        zoo_play_stranger();
    opts.servers = servers.data;
    (void)!coord_look(&opts, &fuzz_clock, &probe, &ec);
    coord_probe_fini(&probe);
    buf_fini(&servers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    zoo_begin(data + 1, size - 1);
    switch (data[0] % 8) {
    case 0:
    case 1:
    case 2:
    case 3: run_node(); break;
    case 7: run_look(); break;
    default: run_primary(); break;
    }
    zoo_end();
    return 0;
}
