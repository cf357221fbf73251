/* SPDX-License-Identifier: MIT */
/*
 * Who tells what how often: several nodes' alarms with their receivers' threads, on fibers, over a table and a receiver
 * in memory. Histories are drawn: nodes are killed, paused, stopped and started, the database fails or is away, commits
 * are of unknown outcome, the receiver is away, or takes a message whose answer is lost.
 *
 * Rules       told: each failure that opens a quiet time is told, and its row says so. once: it is told again only
 *             behind something that may have hidden that it was told. lease: nobody begins to tell without the lease.
 *             recovered: that a job works again is told likewise, and the job counts as failing no more.
 * SHARDWHEEL_SIM_SEED is the first seed (1), SHARDWHEEL_SIM_RUNS how many are tried.
 */
#include "sanitized.h"
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alarm/client.h"
#include "shardwheel/store/alarm.h"
#include "shardwheel/store/channel.h"
#include "shardwheel/store/conn.h"
#include "shardwheel/store/lost.h"
#include "shardwheel/store/registry.h"
#include "shardwheel/store/upkeep.h"
#include "shardwheel/store/watch.h"
#include "sim/fibers.h"

#if WITH_ASAN
#define RUNS 10
#else
#define RUNS 100
#endif
#define NODES 3
#define RUNS_MAX 60 /* of nodes, in one history */
#define JOBS 5
#define LOGS_MAX 4000
#define ACTIONS 60
#define QUIET_MS 60000
#define WALL_MS INT64_C(1750000000000)

struct store {
    int run;
};

struct store_session {
    int run;
};

struct client {
    bool aborted;
};

struct job {
    bool exists; /* its row in shardwheel_alarm */
    int64_t log_id, last_log, failures, quiet_until_ms;
    bool failing;
};

struct log {
    int64_t job_id;
    bool good;
    int status;
    bool opens;            /* its failure opened a quiet time */
    int told, recovered;   /* messages that the receiver took */
    int told_in, again_in; /* world.disturbed at that time */
};

struct run {
    struct store store;
    struct clock clock;
    char incarnation[20];
    struct alarms *alarms;
    struct counters counters;
    bool alive, paused, cut;
};

static struct {
    struct run run[RUNS_MAX];
    int run_count;
    int node[NODES]; /* its run, or -1 */
    struct job job[JOBS + 1];
    struct log log[LOGS_MAX + 1];
    int64_t log_count;
    char holder[20];
    int64_t held_until_ms;
    unsigned fault_permille, lost_permille, refused_permille;
    bool receiver_away, away, calm;
    int disturbed; /* counts what may hide that something was told */
    const char *channels;
    bool tells_offline, executors_gone;
    bool watches, late, watch_open; /* shard 0 stands still; its state is there */
    int watch_phase, episodes, open_told, over_told;
    int group_looks;
    char why[300];
} w;

static struct zone *utc;

static void violate(const char *rule, int64_t job, int64_t log)
{
    if (!w.why[0])
        snprintf(w.why, sizeof w.why, "%s: job %" PRId64 ", log %" PRId64 ", at %" PRId64 " ms", rule, job, log,
                 fibers_now_us() / 1000);
}

static void show(const char *what, int64_t a, int64_t b)
{
    if (getenv("SHARDWHEEL_SIM_LOG"))
        print_message("%10" PRId64 " ms, run %d: %s %" PRId64 " %" PRId64 "\n", fibers_now_us() / 1000,
                      fibers_get_group() - 1, what, a, b);
}

static int64_t now_ms(void)
{
    return WALL_MS + fibers_now_us() / 1000;
}

static int64_t get_wall_us(const struct clock *clock)
{
    (void)clock;
    return now_ms() * 1000;
}

/* Each clock stands in its run, so it is known whose it is; all go alike. */
static int64_t get_mono_ms(const struct clock *clock)
{
    (void)clock;
    return fibers_mono_ms(0);
}

/* ---- the database ------------------------------------------------------------------------------------------------ */

enum fate { HAPPENS, NOT, UNKNOWN_DONE, UNKNOWN_NOT };

static bool is_reached(int run)
{
    return w.run[run].alive && !w.run[run].cut && !w.away;
}

static enum err reach(const struct store_session *s, struct errctx *ec)
{
    fibers_sleep_us(1 + (int64_t)fibers_draw(fibers_chance(20) ? 400000 : 4000));
    return is_reached(s->run) ? ERR_OK : err_set(ec, ERR_LOST, "the database is unavailable");
}

static enum fate draw_fate(void)
{
    return fibers_chance(w.fault_permille) ? (enum fate)(1 + fibers_draw(3)) : HAPPENS;
}

static bool happens(enum fate fate)
{
    return fate == HAPPENS || fate == UNKNOWN_DONE;
}

static enum err answer(enum fate fate, struct errctx *ec)
{
    switch (fate) {
    case HAPPENS: return ERR_OK;
    case NOT: return err_set(ec, ERR_CONFLICT, "a deadlock");
    case UNKNOWN_DONE:
    case UNKNOWN_NOT: break;
    }
    return err_set(ec, ERR_UNKNOWN, "the answer is lost");
}

enum err store_take_session(struct store *st, enum session_kind kind, struct store_session **out, struct errctx *ec)
{
    (void)kind;
    if (!is_reached(st->run))
        return err_set(ec, ERR_LOST, "the database is unavailable");
    *out = calloc(1, sizeof **out);
    (*out)->run = st->run;
    return ERR_OK;
}

void store_give_session(struct store *st, struct store_session *s)
{
    (void)st;
    free(s);
}

enum err store_hold_alarms(struct store_session *s, const char *incarnation, int64_t lease_ms, bool *held,
                           struct errctx *ec)
{
    enum err e = reach(s, ec);
    enum fate fate = draw_fate();

    if (e)
        return e;
    *held = strcmp(w.holder, incarnation) == 0 || w.held_until_ms < now_ms();
    if (*held && happens(fate)) {
        if (strcmp(w.holder, incarnation) != 0)
            show("takes the lease", s->run, fate);
        snprintf(w.holder, sizeof w.holder, "%s", incarnation);
        w.held_until_ms = now_ms() + lease_ms;
    }
    return answer(fate, ec);
}

enum err store_release_alarms(struct store_session *s, const char *incarnation, struct errctx *ec)
{
    enum err e = reach(s, ec);

    if (!e && strcmp(w.holder, incarnation) == 0)
        w.holder[0] = '\0', w.held_until_ms = 0;
    return e;
}

enum err store_load_due_alarms(struct store_session *s, size_t max, struct due_alarm **out, size_t *count,
                               struct errctx *ec)
{
    struct due_alarm *list = calloc(JOBS + 1, sizeof *list);
    size_t n = 0;
    enum err e = reach(s, ec);

    assert_true(max >= JOBS);
    for (int64_t j = 1; j <= JOBS && !e; j++) {
        const struct job *job = &w.job[j];
        if (job->exists && (job->log_id || (job->failures > 0 && job->quiet_until_ms <= now_ms())))
            list[n++] = (struct due_alarm){j, job->log_id, job->last_log, job->failures};
    }
    if (e) {
        free(list);
        return e;
    }
    *out = list;
    *count = n;
    return ERR_OK;
}

enum err store_end_alarm(struct store_session *s, const struct due_alarm *alarm, enum alarm_status status,
                         int64_t quiet_ms, struct errctx *ec)
{
    struct job *job = &w.job[alarm->job_id];
    enum err e = reach(s, ec);
    enum fate fate = draw_fate();

    if (e)
        return e;
    assert_int_not_equal(status, ALARM_NOT_NEEDED);
    if (happens(fate)) {
        show("end of an alarm: log, failures", alarm->log_id, alarm->failures);
        if (alarm->log_id && w.log[alarm->log_id].status == ALARM_LOCKED)
            w.log[alarm->log_id].status = status;
        if (job->exists && job->log_id == alarm->log_id && job->failures >= alarm->failures) {
            job->log_id = 0;
            job->failing = true;
            job->failures -= alarm->failures;
            job->quiet_until_ms = now_ms() + quiet_ms;
        }
    }
    if (fate != HAPPENS)
        show("fate", fate, alarm->log_id);
    return answer(fate, ec);
}

enum err store_load_failing_jobs(struct store_session *s, size_t max, struct failing_job **out, size_t *count,
                                 struct errctx *ec)
{
    struct failing_job *list = calloc(JOBS + 1, sizeof *list);
    size_t n = 0;
    enum err e = reach(s, ec);

    (void)max;
    for (int64_t j = 1; j <= JOBS && !e; j++)
        if (w.job[j].exists && w.job[j].failing)
            list[n++] = (struct failing_job){j, w.job[j].last_log};
    if (e) {
        free(list);
        return e;
    }
    *out = list;
    *count = n;
    return ERR_OK;
}

enum err store_end_failing(struct store_session *s, const struct failing_job *failing, struct errctx *ec)
{
    struct job *job = &w.job[failing->job_id];
    enum err e = reach(s, ec);
    enum fate fate = draw_fate();

    if (e)
        return e;
    if (happens(fate) && job->exists && !job->log_id && job->last_log == failing->last_log)
        job->failing = false, job->failures = 0;
    return answer(fate, ec);
}

enum err store_forget_alarms(struct store_session *s, int64_t silent_ms, struct errctx *ec)
{
    enum err e = reach(s, ec);

    for (int64_t j = 1; j <= JOBS && !e; j++) {
        struct job *job = &w.job[j];
        if (!job->log_id && !job->failures && job->quiet_until_ms <= now_ms() - (job->failing ? silent_ms : 0))
            job->exists = false;
    }
    return e;
}

enum err store_load_log_bounds(struct store_session *s, int64_t now_s, int64_t *first_id, int64_t *last_id,
                               struct errctx *ec)
{
    (void)now_s;
    *first_id = 1;
    *last_id = w.log_count;
    return reach(s, ec);
}

enum err store_load_runs(struct store_session *s, int64_t after_id, int64_t until_id, const int64_t *job_ids,
                         size_t job_count, struct job_run **out, size_t *count, struct errctx *ec)
{
    struct job_run *list = calloc((size_t)(until_id - after_id) + 1, sizeof *list);
    size_t n = 0;
    enum err e = reach(s, ec);

    for (int64_t id = after_id + 1; id <= until_id && !e; id++)
        for (size_t i = 0; i < job_count; i++)
            if (w.log[id].job_id == job_ids[i] && w.log[id].good)
                list[n++] = (struct job_run){id, job_ids[i], false};
    if (e) {
        free(list);
        return e;
    }
    *out = list;
    *count = n;
    return ERR_OK;
}

enum err store_load_run_list(struct store_session *s, const int64_t *log_ids, size_t id_count, struct job_run **out,
                             size_t *count, struct errctx *ec)
{
    (void)log_ids;
    assert_int_equal(id_count, 0); /* no run is open here */
    *out = calloc(1, sizeof **out);
    *count = 0;
    (void)ec, (void)s;
    return ERR_OK;
}

enum err store_load_alarm(struct store_session *s, int64_t log_id, struct alarm_facts *out, struct errctx *ec)
{
    enum err e = reach(s, ec);

    if (e)
        return e;
    *out = (struct alarm_facts){.log_id = log_id,
                                .job_id = w.log[log_id].job_id,
                                .job_exists = true,
                                .emails = "",
                                .job_name = "job",
                                .app_name = "app",
                                .tags = "",
                                .time = "",
                                .handle_code = 500,
                                .trigger_msg = "",
                                .handle_msg = ""};
    return ERR_OK;
}

void alarm_facts_fini(struct alarm_facts *facts)
{
    (void)facts;
}

enum err store_add_told(struct store_session *s, const struct sent_alarm *rows, size_t count, struct errctx *ec)
{
    (void)rows, (void)count;
    return reach(s, ec);
}

enum err store_forget_told(struct store_session *s, struct errctx *ec)
{
    return reach(s, ec);
}

/* Not asked here: no flows, no channels of the console, no executors. */

enum err store_find_flow_alarms(struct store_session *s, int64_t *ids, size_t max, size_t *count, struct errctx *ec)
{
    (void)ids, (void)max;
    *count = 0;
    return reach(s, ec);
}

enum err store_load_flow_alarm(struct store_session *s, int64_t id, struct flow_alarm *out, struct errctx *ec)
{
    (void)s, (void)id, (void)out;
    return err_set(ec, ERR_STATE, "not here");
}

void flow_alarm_fini(struct flow_alarm *alarm)
{
    (void)alarm;
}

enum err store_load_app_names(struct store_session *s, const int64_t *job_ids, size_t count, struct app_names *out,
                              struct errctx *ec)
{
    (void)s, (void)job_ids, (void)count, (void)out;
    return err_set(ec, ERR_STATE, "not here");
}

enum err store_end_flow_alarm(struct store_session *s, int64_t id, struct errctx *ec)
{
    (void)s, (void)id;
    return err_set(ec, ERR_STATE, "not here");
}

enum err store_load_channels(struct store_session *s, struct channel_rows *out, struct errctx *ec)
{
    (void)s, (void)out;
    return err_set(ec, ERR_STATE, "not here");
}

enum err store_load_executor_beats(struct store_session *s, int64_t now_s, struct executor_beats *out,
                                   struct errctx *ec)
{
    static const struct executor_beat rows[] = {{"a", "1", 90}, {"b", "1", 90}, {"c", "1", 90}};

    (void)s, (void)now_s, (void)ec;
    *out =
        (struct executor_beats){.rows = (struct executor_beat *)rows, .count = w.executors_gone ? 0 : ARRAY_LEN(rows)};
    return ERR_OK;
}

enum err store_load_groups(struct store_session *s, struct group_list *out, struct errctx *ec)
{
    static const struct group_row rows[] = {{.id = 1, .app_name = "a"}, {.id = 2, .app_name = "b"}};

    (void)s, (void)ec;
    w.group_looks++;
    *out = (struct group_list){.rows = (struct group_row *)rows, .count = ARRAY_LEN(rows)};
    return ERR_OK;
}

/* ---- what did not happen ----------------------------------------------------------------------------------------- */

/* One rule, by which shard 0 is late when a history says so: its cursor stands still. */

enum err store_load_watch_rules(struct store_session *s, struct watch_rules *out, struct errctx *ec)
{
    static const struct watch_rule rule = {.id = 1, .kind = "late_shard", .tag = "", .app_name = "", .bound = 60};

    *out = (struct watch_rules){.rows = (struct watch_rule *)&rule, .count = 1};
    return reach(s, ec);
}

enum err store_load_shard_cursors(struct store_session *s, struct shard_lateness **out, size_t *count,
                                  struct errctx *ec)
{
    enum err e = reach(s, ec);

    if (e)
        return e;
    *out = calloc(1, sizeof **out);
    **out = (struct shard_lateness){0, w.late ? 0 : now_ms() / 1000};
    *count = 1;
    return ERR_OK;
}

enum err store_load_watch_states(struct store_session *s, struct watch_states *out, struct errctx *ec)
{
    enum err e = reach(s, ec);

    if (e)
        return e;
    *out = (struct watch_states){.rows = calloc(1, sizeof *out->rows), .count = w.watch_open};
    out->memory = out->rows;
    out->rows[0] = (struct watch_state){.kind = "late_shard", .phase = w.watch_phase, .detail = ""};
    return ERR_OK;
}

enum err store_write_watch_changes(struct store_session *s, const char *incarnation, const struct watch_change *changes,
                                   size_t count, struct errctx *ec)
{
    enum err e = reach(s, ec);
    enum fate fate = draw_fate();

    if (e)
        return e;
    if (strcmp(w.holder, incarnation) != 0)
        return err_set(ec, ERR_STATE, "another node has the lease");
    for (size_t i = 0; i < count && happens(fate); i++) {
        show("watch: change, phase", changes[i].what, w.watch_open ? w.watch_phase : -1);
        if (changes[i].what == WATCH_OPENS && !w.watch_open)
            w.watch_open = true, w.watch_phase = WATCH_NEW, w.episodes++;
        else if (changes[i].what == WATCH_ENDS && w.watch_open && w.watch_phase == WATCH_TOLD)
            w.watch_phase = WATCH_OVER;
        else if (changes[i].what == WATCH_DROPS)
            w.watch_open = false;
    }
    return answer(fate, ec);
}

enum err store_end_watch_telling(struct store_session *s, const char *kind, int64_t target, int phase,
                                 struct errctx *ec)
{
    enum err e = reach(s, ec);
    enum fate fate = draw_fate();

    (void)kind, (void)target;
    if (e)
        return e;
    if (happens(fate) && w.watch_open && w.watch_phase == phase) {
        w.watch_open = phase == WATCH_NEW;
        w.watch_phase = WATCH_TOLD;
    }
    return answer(fate, ec);
}

enum err store_load_watch_facts(struct store_session *s, enum watch_kind kind, int64_t target, struct watch_facts *out,
                                struct errctx *ec)
{
    (void)kind, (void)target;
    *out = (struct watch_facts){.name = "", .emails = "", .group_name = "", .app_name = "", .tags = ""};
    return reach(s, ec);
}

void watch_facts_fini(struct watch_facts *facts)
{
    (void)facts;
}

enum err store_load_held_channels(struct store_session *s, struct held_channels *out, struct errctx *ec)
{
    *out = (struct held_channels){0};
    return reach(s, ec);
}

enum err store_load_watched_jobs(struct store_session *s, bool all, struct watched_jobs *out, struct errctx *ec)
{
    (void)all;
    *out = (struct watched_jobs){0};
    return reach(s, ec);
}

/* Not asked here: no jobs are watched, no channel has quiet hours. */

#define NOT_HERE(name, ...)                                                                                            \
    enum err name(struct store_session *s, __VA_ARGS__, struct errctx *ec)                                             \
    {                                                                                                                  \
        (void)s;                                                                                                       \
        return err_set(ec, ERR_STATE, "not here");                                                                     \
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
NOT_HERE(store_load_held, const char *channel, struct held_alarms *out)
NOT_HERE(store_drop_held_channel, const char *channel)
NOT_HERE(store_hold_back, const char *const *channels, size_t count, const char *kind, int64_t target, bool over)
NOT_HERE(store_drop_held, const struct held_alarm *alarm)
NOT_HERE(store_find_failing, int64_t job_id, int64_t *log_id)
NOT_HERE(store_load_successes, const int64_t *ids, size_t count, int64_t each, struct job_success **out,
         size_t *out_count, bool *indexed)
NOT_HERE(store_load_durations, int64_t job_id, int64_t *out, size_t max, size_t *count)
NOT_HERE(store_load_newest_log, int64_t *id)
NOT_HERE(store_load_open_runs, int64_t after_id, int64_t until_id, size_t max, struct open_runs *out)
NOT_HERE(store_keep_open_runs, int64_t *ids, size_t *count)
#pragma GCC diagnostic pop

void store_free_list(void *items, void *memory)
{
    (void)items; /* static, or the memory */
    free(memory);
}

/* One message more: at most one for each time that it opened, but behind what may hide that it was told. */
static void take_watch_message(bool over)
{
    int *told = over ? &w.over_told : &w.open_told;

    ++*told;
    show(over ? "told that it is over" : "told that it is late", *told, w.episodes);
    if (*told > w.episodes + w.disturbed)
        violate(over ? "watch-over-once" : "watch-once", 0, *told);
}

/* ---- the receiver ------------------------------------------------------------------------------------------------ */

enum err client_create_webhook(const char *url, const char *ca, bool guarded, struct resolver *resolver,
                               const struct clock *clock, struct client **out, struct errctx *ec)
{
    (void)url, (void)ca, (void)guarded, (void)resolver, (void)clock, (void)ec;
    *out = calloc(1, sizeof **out);
    return ERR_OK;
}

enum err client_create_mail(const struct mail_opts *opts, struct resolver *resolver, const struct clock *clock,
                            struct client **out, struct errctx *ec)
{
    (void)opts;
    return client_create_webhook("", "", false, resolver, clock, out, ec);
}

enum client_outcome client_send_mail(struct client *c, const char *from, const char *to, const char *data, size_t len,
                                     struct errctx *ec)
{
    (void)c, (void)from, (void)to, (void)data, (void)len, (void)ec;
    return CLIENT_AWAY;
}

static void take_message(int64_t log_id, bool recovered)
{
    struct log *log = &w.log[log_id];
    int *count = recovered ? &log->recovered : &log->told, *in = recovered ? &log->again_in : &log->told_in;

    if (*count > 0 && *in == w.disturbed)
        violate(recovered ? "recovered-once" : "once", log->job_id, log_id);
    ++*count;
    *in = w.disturbed;
    show(recovered ? "told that it recovered: log, times" : "told: log, times", log_id, *count);
}

static bool has_lease(int run)
{
    return strcmp(w.holder, w.run[run].incarnation) == 0 && now_ms() <= w.held_until_ms;
}

enum client_outcome client_post(struct client *c, const char *query, const char *header, const char *body, size_t len,
                                int *status, struct buf *text, struct errctx *ec)
{
    int run = fibers_get_group() - 1;
    const char *id = strstr(body, "\"logId\":");
    bool recovered = strstr(body, "\"job_recovered\"") != NULL;
    int64_t log_id = id ? strtoll(id + 8, NULL, 10) : 0;

    (void)query, (void)header, (void)len, (void)text;
    bool late = strstr(body, "\"late_shard\"") != NULL, over = strstr(body, "\"late_shard_over\"") != NULL;
    if (!late && !over)
        assert_in_range(log_id, 1, w.log_count);
    if (c->aborted || !w.run[run].alive)
        return CLIENT_AWAY;
    if (!has_lease(run))
        violate("lease", w.log[log_id].job_id, log_id);
    fibers_sleep_us((int64_t)fibers_draw(fibers_chance(100) ? 8000000 : 50000));
    if (c->aborted || w.receiver_away || !w.run[run].alive) {
        err_set(ec, ERR_LOST, "away");
        return CLIENT_AWAY;
    }
    *status = fibers_chance(w.refused_permille) ? 400 : 200;
    w.disturbed += !has_lease(run); /* begun in time; then the node was paused, and another one told it, or will */
    if (*status == 200 && (late || over))
        take_watch_message(over);
    else if (*status == 200)
        take_message(log_id, recovered);
    w.disturbed += !has_lease(run) || !is_reached(run); /* nobody else knows of it */
    if (!fibers_chance(w.lost_permille))
        return CLIENT_SENT;
    w.disturbed++;
    return CLIENT_AWAY;
}

void client_abort(struct client *c)
{
    c->aborted = true;
}

bool client_is_aborted(const struct client *c)
{
    return c->aborted;
}

void client_destroy(struct client *c)
{
    free(c);
}

/* ---- runs of jobs, as store_handle_failures writes them ---------------------------------------------------------- */

static void end_run(int64_t job_id, bool good)
{
    struct job *job = &w.job[job_id];
    int64_t id = w.log_count + 1;

    if (id > LOGS_MAX)
        return;
    w.log_count = id;
    w.log[id] = (struct log){.job_id = job_id, .good = good, .status = ALARM_OPEN};
    if (good)
        return;
    if (!job->exists)
        *job = (struct job){.exists = true, .log_id = id};
    else if (!job->log_id && job->quiet_until_ms <= now_ms())
        job->log_id = id;
    job->last_log = id;
    job->failures++;
    w.log[id].opens = job->log_id == id;
    w.log[id].status = w.log[id].opens ? ALARM_LOCKED : ALARM_DONE;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static void start_node(int node)
{
    struct run *run = &w.run[w.run_count];
    struct alarms_opts opts = {.channels = w.channels ? w.channels : "json=http://10.0.0.1/",
                               .quiet_ms = QUIET_MS,
                               .tell_recovery = true,
                               .tell_offline = w.tells_offline,
                               .mail = {.host = "", .from = ""},
                               .title = "",
                               .text = "",
                               .link = "",
                               .ca = "",
                               .node_name = "n",
                               .zone = w.watches ? utc : NULL,
                               .max_year = 2100,
                               .store = &run->store};

    struct errctx ec;

    if (w.node[node] >= 0 || w.run_count == RUNS_MAX)
        return;
    *run = (struct run){.store = {w.run_count}, .clock = {get_wall_us, get_mono_ms, get_mono_ms}, .alive = true};
    snprintf(run->incarnation, sizeof run->incarnation, "%016x", (unsigned)w.run_count + 1);
    opts.incarnation = run->incarnation;
    w.node[node] = w.run_count++;
    int former = fibers_enter_group(w.node[node] + 1);
    assert_int_equal(alarms_create(&opts, &run->clock, &run->counters, &run->alarms, &ec), ERR_OK);
    assert_int_equal(alarms_start(run->alarms, &ec), ERR_OK);
    fibers_enter_group(former);
}

static void end_node(int node)
{
    struct run *run = &w.run[w.node[node]];
    int former = fibers_enter_group(w.node[node] + 1);

    alarms_stop(run->alarms);
    alarms_join(run->alarms);
    alarms_destroy(run->alarms);
    run->alarms = NULL;
    fibers_enter_group(former);
    w.node[node] = -1;
}

/* What it has under way comes to nothing; its threads end as those of a process that is gone. */
static void kill_node(int node)
{
    struct run *run = &w.run[w.node[node]];

    run->alive = false;
    w.disturbed++;
    fibers_freeze(w.node[node] + 1, false);
    end_node(node);
}

static void act(void)
{
    int node = (int)fibers_draw(NODES);
    struct run *run = w.node[node] >= 0 ? &w.run[w.node[node]] : NULL;
    int action = (int)fibers_draw(w.calm ? 5 : 11);

    if (fibers_chance(200))
        w.late = !w.late;

    show("action, run", action, w.node[node]);

    switch (action) {
    case 0:
    case 1: end_run(1 + (int64_t)fibers_draw(JOBS), false); break;
    case 2: end_run(1 + (int64_t)fibers_draw(JOBS), true); break;
    case 3: w.receiver_away = fibers_chance(300); break;
    case 4: start_node(node); break;
    case 5:
        if (run)
            kill_node(node);
        break;
    case 6:
        if (run && !run->paused) {
            w.disturbed++;
            run->paused = true;
            fibers_freeze(w.node[node] + 1, true);
        } else if (run) {
            run->paused = false;
            fibers_freeze(w.node[node] + 1, false);
        }
        break;
    case 7:
        if (run && !run->paused) {
            w.disturbed += run->cut || w.fault_permille || w.away;
            end_node(node);
        }
        break;
    case 8:
        if (run)
            run->cut = !run->cut;
        w.disturbed++;
        break;
    case 9: w.fault_permille = fibers_chance(500) ? (unsigned)fibers_draw(200) : 0; break;
    default:
        w.lost_permille = fibers_chance(300) ? (unsigned)fibers_draw(300) : 0;
        w.refused_permille = fibers_chance(200) ? (unsigned)fibers_draw(100) : 0;
    }
}

static void heal(void)
{
    w.fault_permille = w.lost_permille = w.refused_permille = 0;
    w.receiver_away = w.away = false;
    for (int n = 0; n < NODES; n++) {
        if (w.node[n] < 0)
            start_node(n);
        struct run *run = w.node[n] >= 0 ? &w.run[w.node[n]] : NULL;
        if (!run)
            continue;
        run->cut = run->paused = false;
        fibers_freeze(w.node[n] + 1, false);
    }
}

static void check(void)
{
    if (w.watch_open || (w.watches && w.over_told == 0))
        violate("watch-over", 0, w.watch_phase);
    for (int64_t id = 1; id <= w.log_count; id++) {
        const struct log *log = &w.log[id];
        if (log->opens && log->status == ALARM_LOCKED)
            violate("told", log->job_id, id);
        if (log->opens && log->status == ALARM_DONE && log->told == 0)
            violate("told, says its row", log->job_id, id);
    }
    for (int64_t j = 1; j <= JOBS; j++)
        if (w.job[j].failing)
            violate("recovered", j, w.job[j].last_log);
}

static const char *run_history(uint64_t seed)
{
    fibers_begin(seed);
    memset(&w, 0, sizeof w);
    w.watches = seed % 2 == 0;
    w.calm = seed % 3 == 0;
    memset(w.node, 0xff, sizeof w.node);
    start_node(0);
    for (int i = 0; i < ACTIONS; i++) {
        fibers_sleep_us((int64_t)fibers_draw(fibers_chance(200) ? 90000000 : 6000000));
        act();
    }
    heal();
    w.late = false; /* what was open may be one that a receiver refused */
    fibers_sleep_us(INT64_C(120) * 1000000);
    w.open_told = 0;
    w.late = true;
    fibers_sleep_us(INT64_C(180) * 1000000);
    if (w.watches && (!w.watch_open || w.watch_phase != WATCH_TOLD || w.open_told != 1))
        violate("watch-told", 0, w.watch_phase);
    w.late = false;
    for (int64_t j = 1; j <= JOBS; j++)
        end_run(j, true);
    fibers_sleep_us(INT64_C(180) * 1000000);
    check();
    for (int n = 0; n < NODES; n++)
        if (w.node[n] >= 0)
            end_node(n);
    fibers_end();
    return w.why[0] ? w.why : NULL;
}

static int64_t read_number(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);

    return text ? strtoll(text, NULL, 10) : otherwise;
}

static void each_failure_is_told_once(void **state)
{
    uint64_t first = (uint64_t)read_number("SHARDWHEEL_SIM_SEED", 1);
    int failed = 0;

    (void)state;
    log_set_level(LOG_ERROR);
    for (uint64_t i = 0; i < (uint64_t)read_number("SHARDWHEEL_SIM_RUNS", RUNS); i++) {
        const char *why = run_history(first + i);
        if (why) {
            print_message("%s (SHARDWHEEL_SIM_SEED=%" PRIu64 ")\n", why, first + i);
            failed++;
        }
    }
    assert_int_equal(failed, 0);
}

/* A network that is cut takes many of them at once. */
static void executors_that_go_together_are_one_look_at_groups(void **state)
{
    (void)state;
    log_set_level(LOG_ERROR);
    fibers_begin(1);
    memset(&w, 0, sizeof w);
    memset(w.node, 0xff, sizeof w.node);
    w.tells_offline = true;
    w.channels = "json=http://10.0.0.1/ groups=none-of-them";
    start_node(0);
    fibers_sleep_us(INT64_C(30) * 1000000);
    assert_int_equal(w.run[0].counters.value[COUNTER_EXECUTORS_SEEN], 3);
    assert_int_equal(w.group_looks, 0);
    w.executors_gone = true;
    fibers_sleep_us(INT64_C(30) * 1000000);
    assert_int_equal(w.run[0].counters.value[COUNTER_EXECUTORS_SEEN], 0);
    assert_int_equal(w.group_looks, 1);
    end_node(0);
    fibers_end();
}

int main(void)
{
    struct errctx ec;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_failure_is_told_once),
        cmocka_unit_test(executors_that_go_together_are_one_look_at_groups),
    };

    assert_int_equal(zone_load("UTC", &utc, &ec), ERR_OK);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    zone_destroy(utc);
    return failed;
}
