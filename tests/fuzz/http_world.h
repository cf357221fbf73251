/* SPDX-License-Identifier: MIT */
/*
 * http_world: all that stands behind the HTTP server, in one thread: store and admin are the real ones on stranger_db;
 * who asks is chosen; executors, the writers of callbacks and of fires, and the registry's thread are stood in for.
 * Include it in one source of a fuzz target that has the options of http_world.wrap.
 */
#ifndef SHARDWHEEL_TESTS_FUZZ_HTTP_WORLD_H
#define SHARDWHEEL_TESTS_FUZZ_HTTP_WORLD_H

#include "admin/runs/clearing.h"
#include "http/console/dialect.h"
#include "http/server.h"
#include "http/visitor.h"
#include "registry/internal.h"
#include "shardwheel/admin/login.h"
#include "shardwheel/admin/settings.h"
#include "shardwheel/alarm.h"
#include "shardwheel/config.h"
#include "shardwheel/executor/access.h"
#include "shardwheel/executor/call.h"
#include "shardwheel/follow/triggers.h"
#include "shardwheel/record.h"
#include "shardwheel/resolver.h"
#include "stranger_db.h"

#include <sys/stat.h>

/* ---- the clock: an hour passes between two runs, so that nothing of one is remembered in the next ---------------- */

#define WORLD_WALL_US (INT64_C(1795482000) * 1000000)
static int64_t world_mono_ms = 1000000;

static int64_t world_get_wall_us(const struct clock *clock)
{
    (void)clock;
    return WORLD_WALL_US + world_mono_ms % 3600000 * 1000;
}

static int64_t world_get_mono_ms(const struct clock *clock)
{
    (void)clock;
    return ++world_mono_ms;
}

static const struct clock world_clock = {world_get_wall_us, world_get_mono_ms, world_get_mono_ms};

/* ---- who asks ---------------------------------------------------------------------------------------------------- */

enum world_who {
    WHO_NOBODY,
    WHO_READER,  /* of group 1 */
    WHO_RUNNER,  /* of group 1 */
    WHO_USER,    /* of group 1 */
    WHO_STRANGE, /* a user without a group */
    WHO_ADMIN,
    WHO_TOKEN,  /* an admin's token of api/v1 that may see alone */
    WHO_ALL,    /* a reader of all groups */
    WHO_UNSURE, /* the database is unavailable */
    WHO_REAL,   /* whom the stranger's rows say */
    WHO_COUNT,
};
static enum world_who world_who;

enum err __real_admin_identify(struct admin *a, const struct proof *proof, const struct origin *from,
                               struct identity *out, struct refusal *r);
enum err __wrap_admin_identify(struct admin *a, const struct proof *proof, const struct origin *from,
                               struct identity *out, struct refusal *r);
enum err __wrap_admin_identify(struct admin *a, const struct proof *proof, const struct origin *from,
                               struct identity *out, struct refusal *r)
{
    static const enum admin_role roles[WHO_COUNT] = {
        [WHO_READER] = ROLE_READER, [WHO_RUNNER] = ROLE_RUNNER, [WHO_USER] = ROLE_USER, [WHO_STRANGE] = ROLE_USER,
        [WHO_ADMIN] = ROLE_ADMIN,   [WHO_TOKEN] = ROLE_ADMIN,   [WHO_ALL] = ROLE_READER};

    if (world_who == WHO_REAL)
        return __real_admin_identify(a, proof, from, out, r);
    if (world_who == WHO_NOBODY)
        return refuse(r, REFUSED_UNKNOWN, NULL, "not logged in");
    if (world_who == WHO_UNSURE)
        return refuse(r, REFUSED_TRY_AGAIN, NULL, "the database is unavailable");
    *out = (struct identity){.kind = proof->kind, .token_id = proof->kind == PROOF_TOKEN};
    out->actor.user_id = 1 + world_who;
    out->actor.role = roles[world_who];
    out->actor.rights = world_who == WHO_TOKEN ? RIGHT_SEE : RIGHTS_ALL;
    out->actor.all_groups = world_who == WHO_ALL;
    if (world_who == WHO_READER || world_who == WHO_RUNNER || world_who == WHO_USER) {
        out->groups = malloc(sizeof *out->groups);
        *out->groups = 1;
        out->actor.groups = out->groups;
        out->actor.group_count = 1;
    }
    snprintf(out->actor.name, sizeof out->actor.name, "who%d", (int)world_who);
    snprintf(out->actor.address, sizeof out->actor.address, "%.60s", from->address);
    snprintf(out->actor.via, sizeof out->actor.via, "%.60s", from->via);
    snprintf(out->session, sizeof out->session, "0123456789abcdef0123456789abcdef");
    return ERR_OK;
}

/* ---- executors, and what writes for them ------------------------------------------------------------------------- */

/* Of what fails now and then: ERR_OK, or one of these. */
static enum err world_draw_error(struct errctx *ec)
{
    static const enum err errors[] = {ERR_BUSY, ERR_TIMEOUT, ERR_LOST, ERR_CONFLICT, ERR_UNKNOWN};
    uint64_t drawn = stranger_draw(++stranger.statements, 7, 7);

    if (stranger.rows < STRANGER_SOME || drawn % 4)
        return ERR_OK;
    stranger.failed = true;
    return err_set(ec, errors[drawn / 4 % ARRAY_LEN(errors)], "the stranger says no");
}

/* What a fuzz target cannot begin without. */
static void world_must(enum err e, const struct errctx *ec)
{
    if (!e)
        return;
    fprintf(stderr, "%s\n", ec->text);
    abort();
}

/* Reads all of a text, as AddressSanitizer sees it. */
static void world_read(const char *text)
{
    if (text)
        free(strdup(text));
}

enum err __wrap_complete_submit(struct complete *c, struct callback_entry *entries, size_t count,
                                int64_t deadline_mono_ms, struct errctx *ec);
enum err __wrap_complete_submit(struct complete *c, struct callback_entry *entries, size_t count,
                                int64_t deadline_mono_ms, struct errctx *ec)
{
    (void)c, (void)deadline_mono_ms;
    for (size_t i = 0; i < count; i++) {
        world_read(entries[i].message);
        entries[i].outcome = (enum callback_outcome)(stranger_draw(i, 8, 8) % 3);
    }
    return world_draw_error(ec);
}

int64_t __wrap_complete_get_deadline(const struct complete *c);
int64_t __wrap_complete_get_deadline(const struct complete *c)
{
    (void)c;
    return world_mono_ms + 1000;
}

static const struct registry_snapshot *world_groups;

const struct registry_snapshot *__wrap_registry_get_snapshot(struct registry *r);
const struct registry_snapshot *__wrap_registry_get_snapshot(struct registry *r)
{
    (void)r;
    atomic_fetch_add_explicit(&((struct registry_snapshot *)world_groups)->refs, 1, memory_order_relaxed);
    return world_groups;
}

static void world_make_groups(struct errctx *ec)
{
    static struct group_row rows[] = {
        {.id = 1, .app_name = "app", .address_list = "http://10.0.0.5:9999/,http://10.0.0.6:9999/", .access_token = ""},
        {.id = 2, .app_name = "own", .address_list = "", .access_token = "own-token", .manual = true},
    };

    world_must(snapshot_create(&(struct group_list){.rows = rows, .count = ARRAY_LEN(rows)}, &world_groups, ec), ec);
}

enum err __wrap_registry_submit_beat(struct registry *r, const char *group, const char *key, const char *value,
                                     bool remove, struct errctx *ec);
enum err __wrap_registry_submit_beat(struct registry *r, const char *group, const char *key, const char *value,
                                     bool remove, struct errctx *ec)
{
    (void)r, (void)remove;
    world_read(group);
    world_read(key);
    world_read(value);
    if (str_is_blank(group) || str_is_blank(key) || str_is_blank(value))
        return err_set(ec, ERR_INPUT, "blank");
    return world_draw_error(ec);
}

void __wrap_registry_note_generation(struct registry *r, const char *address, bool trigger_path);
void __wrap_registry_note_generation(struct registry *r, const char *address, bool trigger_path)
{
    (void)r, (void)trigger_path;
    world_read(address);
}

bool __wrap_registry_is_trigger_path(struct registry *r, const char *address);
bool __wrap_registry_is_trigger_path(struct registry *r, const char *address)
{
    (void)r;
    return *address % 2;
}

enum err __wrap_triggers_fire(struct triggers *t, const struct trigger_order *order, struct trigger_made *out,
                              struct errctx *ec);
enum err __wrap_triggers_fire(struct triggers *t, const struct trigger_order *order, struct trigger_made *out,
                              struct errctx *ec)
{
    enum err e = world_draw_error(ec);

    (void)t;
    world_read(order->param);
    world_read(order->addresses);
    if (!e && out) {
        *out = (struct trigger_made){.log_ids = malloc(sizeof *out->log_ids), .count = 1};
        *out->log_ids = 7;
    }
    return e;
}

static const char *const world_answers[] = {"{\"code\":200,\"data\":{\"toLineNum\":2,\"logContent\":\"a\\nb\\n\"}}",
                                            "{\"code\":500,\"msg\":\"no\"}", "[]", "", "{\"code\":200}"};

static const char *world_draw_answer(void)
{
    return world_answers[stranger_draw(++stranger.statements, 9, 9) % ARRAY_LEN(world_answers)];
}

enum err __wrap_executor_kill(struct executor_calls *calls, const struct executor_target *target, int64_t job_id,
                              struct answer *out, struct errctx *ec);
enum err __wrap_executor_kill(struct executor_calls *calls, const struct executor_target *target, int64_t job_id,
                              struct answer *out, struct errctx *ec)
{
    const char *body = world_draw_answer();

    (void)calls, (void)job_id, (void)ec;
    world_read(target->address);
    answer_parse(200, body, strlen(body), "/kill", out);
    return ERR_OK;
}

enum err __wrap_executor_ask_beat(struct executor_calls *calls, const struct executor_target *target,
                                  struct answer *out, bool *reached, struct errctx *ec);
enum err __wrap_executor_ask_beat(struct executor_calls *calls, const struct executor_target *target,
                                  struct answer *out, bool *reached, struct errctx *ec)
{
    const char *body = world_draw_answer();

    (void)calls, (void)ec;
    world_read(target->address);
    answer_parse(200, body, strlen(body), "/beat", out);
    *reached = *body;
    return ERR_OK;
}

enum err __wrap_executor_read_log(struct executor_calls *calls, const struct executor_target *target, int64_t log_id,
                                  int64_t date_ms, int64_t from_line, struct log_answer *out, struct errctx *ec);
enum err __wrap_executor_read_log(struct executor_calls *calls, const struct executor_target *target, int64_t log_id,
                                  int64_t date_ms, int64_t from_line, struct log_answer *out, struct errctx *ec)
{
    const char *body = world_draw_answer();

    (void)calls, (void)log_id, (void)date_ms, (void)ec;
    world_read(target->address);
    log_answer_parse(200, body, strlen(body), /*cut=*/false, from_line, out);
    return ERR_OK;
}

void __wrap_resolver_ask(struct resolver *r, const char *host, struct resolver_answer *out);
void __wrap_resolver_ask(struct resolver *r, const char *host, struct resolver_answer *out)
{
    (void)r;
    world_read(host);
    *out = (struct resolver_answer){.state = (enum resolver_state)(stranger_draw(++stranger.statements, 6, 6) % 3)};
    snprintf(out->text, sizeof out->text, "%s", out->state == RESOLVER_FOUND ? "10.0.0.7,[fd00::1]" : "no such name");
}

enum err __wrap_alarms_test(const struct alarms_opts *opts, const char *app, const char *channel,
                            const struct clock *clock,
                            void (*each)(void *arg, const char *channel, const char *to, const char *error), void *arg,
                            struct errctx *ec);
enum err __wrap_alarms_test(const struct alarms_opts *opts, const char *app, const char *channel,
                            const struct clock *clock,
                            void (*each)(void *arg, const char *channel, const char *to, const char *error), void *arg,
                            struct errctx *ec)
{
    (void)opts, (void)clock;
    world_read(app);
    world_read(channel);
    each(arg, "mail", "a@b.c", NULL);
    each(arg, "slack", "https://hook", "refused");
    return world_draw_error(ec);
}

enum err __wrap_run_clearing_submit(struct run_clearing *c, const struct clear_order *order, int64_t wait_ms,
                                    struct run_cleared *out, struct errctx *ec);
enum err __wrap_run_clearing_submit(struct run_clearing *c, const struct clear_order *order, int64_t wait_ms,
                                    struct run_cleared *out, struct errctx *ec)
{
    (void)c, (void)order, (void)wait_ms;
    *out = (struct run_cleared){.deleted = 3, .done = stranger.seed % 2};
    return world_draw_error(ec);
}

/* ---- the server -------------------------------------------------------------------------------------------------- */

static void world_write_metrics(void *arg, struct buf *out)
{
    (void)arg;
    buf_puts(out, "some_metric 1\n");
}

static bool world_write_health(void *arg, struct buf *out)
{
    (void)arg;
    buf_puts(out, "{\"status\":\"UP\"}");
    return true;
}

static const char *world_make_web(void)
{
    static char dir[] = "/tmp/shardwheel-fuzz-XXXXXX";
    static const char *const files[] = {"index.html", "assets/a-12345678.js"};
    char path[200];

    if (!mkdtemp(dir))
        abort();
    snprintf(path, sizeof path, "%s/assets", dir);
    (void)!mkdir(path, 0700);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        FILE *file = fopen(path, "w");
        if (!file)
            abort();
        fputs("<base href=\"%BASE%\"><script nonce=\"%NONCE%\"></script>", file);
        fclose(file);
    }
    return dir;
}

static void world_remove_web(const char *dir)
{
    static const char *const names[] = {"assets/a-12345678.js", "assets", "index.html", ""};
    char path[200];

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        (void)!remove(path);
    }
}

/* Of databases of the oldest and the newest generation, and for a console of each dialect. */
#define WORLDS 4
static struct http *world_servers[WORLDS];
static struct counters world_counters;

static const struct store_features world_features[] = {
    {.family = "2.3",
     .job_name_is_desc = true,
     .group_title = true,
     .group_title_len = 12,
     .user_password_len = 50,
     .param_len = 512,
     .own_tables = true,
     .own_version = 1,
     .own_complete = true},
    {.family = "3.5",
     .group_title_len = 64,
     .group_access_token = true,
     .user_token = true,
     .user_password_len = 100,
     .registry_unique = true,
     .log_handle_code_name = "I_handle_code",
     .log_job_id_name = "I_job_id",
     .log_trigger_time_name = "I_trigger_time",
     .param_len = 2048,
     .info_next_index = true,
     .skip_locked = true,
     .own_tables = true,
     .own_version = 1,
     .own_complete = true},
};

static struct admin *world_make_admin(const struct store_features *features, const struct config *config,
                                      const struct zone *zone, struct resolver *resolver)
{
    struct store *st = NULL;
    struct admin *admin = NULL;
    struct errctx ec;

    world_must(store_create(&(struct store_opts){.host = "10.0.0.1",
                                                 .port = 3306,
                                                 .database = "xxl_job",
                                                 .zone = "Europe/Berlin",
                                                 .max_sessions = 4,
                                                 .connect_timeout_ms = 1000,
                                                 .read_timeout_ms = 10000},
                            &world_clock, &world_counters, &st, &ec),
               &ec);
    st->features = *features;
    st->has_features = true;
    world_must(admin_create(&(struct admin_opts){.store = st,
                                                 .zone = zone,
                                                 .config = config,
                                                 .resolver = resolver,
                                                 .node_name = "node-a",
                                                 .incarnation = "0123456789abcdef"},
                            &world_clock, &world_counters, &admin, &ec),
               &ec);
    world_must(admin_set_config(admin, config, &ec), &ec);
    return admin;
}

static void world_begin(void)
{
    static char *args[] = {"shardwheel", "--shardwheel.coordination=standalone", "--spring.datasource.username=root",
                           "--spring.datasource.url=jdbc:mysql://10.0.0.1/xxl_job", NULL};
    static char *env[] = {NULL};
    struct config *config = NULL;
    static struct access_box access;
    struct zone *zone = NULL;
    struct resolver *resolver = NULL;
    struct admin *admins[ARRAY_LEN(world_features)];
    struct errctx ec;

    log_set_level(LOG_ERROR);
    world_make_groups(&ec);
    memset(stranger_long, 'x', sizeof stranger_long - 1);
    world_must(config_load((int)ARRAY_LEN(args) - 1, args, env, &config, &ec), &ec);
    world_must(zone_load("Europe/Berlin", &zone, &ec), &ec);
    world_must(resolver_create(&world_clock, &resolver, &ec), &ec);
    for (size_t i = 0; i < ARRAY_LEN(admins); i++)
        admins[i] = world_make_admin(&world_features[i], config, zone, resolver);
    const char *dir = world_make_web();
    access_box_init(&access);
    if (!access_box_set(&access, "default_token", NULL, 3000))
        abort();
    for (unsigned i = 0; i < WORLDS; i++) {
        const struct http_opts opts = {.context_path = i % 2 ? "/jobs" : NULL,
                                       .threads = 4,
                                       .max_body = 1u << 20,
                                       .trusted_networks = i % 2 ? "10.0.0.0/8" : NULL,
                                       .login_header = i == 2 ? "X-User" : NULL,
                                       .login_networks = i == 2 ? "10.0.0.0/8" : NULL,
                                       .admin = admins[i / 2],
                                       .access = i == 3 ? &access : NULL,
                                       .lang = i % 2 ? LANG_ZH_CN : LANG_EN,
                                       .console_dialect = i % 2 ? 1u << i : 0,
                                       .web_dir = dir,
                                       .generation = world_features[i / 2].family,
                                       .console_zone = zone,
                                       .write_metrics = world_write_metrics,
                                       .write_health = world_write_health};
        world_must(http_create(&opts, &world_clock, &world_counters, &world_servers[i], &ec), &ec);
    }
    world_remove_web(dir);
}

/* What a run is about: the first WORLD_BYTES bytes of the input. Returns the server. */
#define WORLD_BYTES 8
static struct http *world_choose(const uint8_t *data)
{
    static const enum err errors[] = {ERR_CONFLICT, ERR_LOST, ERR_INPUT, ERR_TIMEOUT, ERR_BUSY, ERR_DENIED, ERR_NOMEM};
    uint32_t seed;

    memcpy(&seed, data + 4, sizeof seed);
    stranger = (struct stranger){.seed = seed,
                                 .rows = (enum stranger_rows)(data[1] % STRANGER_ROWS),
                                 .fail_at = data[2] % 64,
                                 .fail_with = errors[data[3] % ARRAY_LEN(errors)]};
    world_who = (enum world_who)(data[0] / 8 % WHO_COUNT);
    if (data[1] & 0x80)
        stranger.rows = STRANGER_GROUPS;
    log_set_level(LOG_ERROR); /* a call of api/v1 may have changed it */
    world_mono_ms += 3600000 - world_mono_ms % 3600000;
    return world_servers[data[0] % WORLDS];
}

#endif
