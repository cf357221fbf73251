/* SPDX-License-Identifier: MIT */
/* jobs_fixture: a database with groups, an admin over it, and people of each role. */
#ifndef TESTS_ADMIN_JOBS_FIXTURE_H
#define TESTS_ADMIN_JOBS_FIXTURE_H

#include "store/test_db.h"

#include "shardwheel/admin/jobs.h"
#include "shardwheel/store/guard.h"
#include "shardwheel/store/registry.h"

static const int64_t group_one[] = {1};
static const struct actor root = {.user_id = 1, .name = "root", .role = ROLE_ADMIN, .rights = RIGHTS_ALL};
static const struct actor user = {
    .user_id = 2, .name = "user", .role = ROLE_USER, .rights = RIGHTS_ALL, .groups = group_one, .group_count = 1};
static const struct actor runner = {
    .user_id = 3, .name = "runner", .role = ROLE_RUNNER, .rights = RIGHTS_ALL, .groups = group_one, .group_count = 1};
static const struct actor reader = {
    .user_id = 4, .name = "reader", .role = ROLE_READER, .rights = RIGHTS_ALL, .groups = group_one, .group_count = 1};

struct world {
    struct store *store;
    struct store_session *s;
    struct zone *zone;
    struct triggers *triggers;
    struct admin *admin;
    struct store_session *guard;
};
static struct world w;
static enum config_glue world_glue = CONFIG_GLUE_ON;
static const struct clock *world_clock; /* NULL: that of the system */
static struct refusal why;

static void drop_fires(void *arg, struct fire *list)
{
    (void)arg;
    fire_destroy_list(list);
}

/* The database of the program's server, made anew; groups 1, 2 and 9, of which 9 has no executor. */
static void world_open(bool guarded)
{
    w.store = test_db_fresh(1, 1);
    w.s = test_take(w.store, SESSION_NORMAL);
    test_sql("DELETE FROM xxl_job_info");
    test_sql("DELETE FROM xxl_job_group");
    for (int g = 1; g <= 3; g++)
        test_sql("INSERT INTO xxl_job_group (id, app_name, title, address_type, address_list) VALUES (%d, 'app-%d', "
                 "'g', 1, 'http://127.0.0.1:1')",
                 g == 3 ? 9 : g, g);
    assert_ok(zone_load("UTC", &w.zone, ec));
    assert_ok(triggers_create(&(struct triggers_opts){"0123456789abcdef", w.store, drop_fires, NULL}, clock_system(),
                              NULL, &w.triggers, ec));
    assert_ok(triggers_start(w.triggers, ec));
    assert_ok(admin_create(
        &(struct admin_opts){
            .store = w.store, .triggers = w.triggers, .zone = w.zone, .guarded = guarded, .glue = world_glue},
        world_clock ? world_clock : clock_system(), NULL, &w.admin, ec));
}

/* Holds Java admins off as a node does. */
static inline void world_guard(void)
{
    int64_t connection = 0, proven_ms = 0;
    bool held = false;

    w.guard = test_take(w.store, SESSION_GUARD);
    assert_ok(store_ask_guard(w.guard, "0123456789abcdef", &connection, ec));
    assert_ok(store_wait_guard(w.guard, "0123456789abcdef", 5000, &held, &proven_ms, ec));
    assert_true(held);
    assert_ok(store_write_guard(w.s, "0123456789abcdef", connection, proven_ms, ec));
}

static void world_close(void)
{
    store_give_session(w.store, w.guard);
    store_give_session(w.store, w.s);
    admin_destroy(w.admin);
    triggers_stop(w.triggers);
    triggers_join(w.triggers);
    triggers_destroy(w.triggers);
    zone_destroy(w.zone);
    store_destroy(w.store);
    w = (struct world){0};
}

static int setup(void **state)
{
    (void)state;
    world_open(false);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    world_close();
    return 0;
}

static struct job_form good_form(void)
{
    return (struct job_form){.row = {.group = 1,
                                     .name = "nightly",
                                     .author = "me",
                                     .schedule_type = "CRON",
                                     .schedule_conf = "0 0 3 * * ?",
                                     .misfire = "DO_NOTHING",
                                     .route = "FIRST",
                                     .handler = "demo",
                                     .block = "SERIAL_EXECUTION",
                                     .glue_type = "BEAN"}};
}

static inline int64_t add_good(void)
{
    struct job_form form = good_form();
    int64_t id = 0;

    why = (struct refusal){0};
    if (admin_add_job(w.admin, &root, &form, &id, &why))
        fail_msg("%s", why.text.text);
    return id;
}

#define assert_fine(call)                                                                                              \
    do {                                                                                                               \
        why = (struct refusal){0};                                                                                     \
        if (call)                                                                                                      \
            fail_msg("%s: %s %s: %s", #call, refusal_name(why.kind), why.field ? why.field : "-", why.text.text);      \
    } while (0)

#define assert_refused(call, wanted_kind, wanted_field)                                                                \
    do {                                                                                                               \
        why = (struct refusal){0};                                                                                     \
        assert_true((call) != ERR_OK);                                                                                 \
        if (why.kind != (wanted_kind) || strcmp(why.field ? why.field : "-", wanted_field))                            \
            fail_msg("%s: %s %s: %s", #call, refusal_name(why.kind), why.field ? why.field : "-", why.text.text);      \
    } while (0)

#endif
