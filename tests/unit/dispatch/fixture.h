/* SPDX-License-Identifier: MIT */
/*
 * fixture: one executor with two addresses before a whole dispatch, for tests that send fires. Include it after cmocka.
 */
#ifndef TEST_DISPATCH_FIXTURE_H
#define TEST_DISPATCH_FIXTURE_H

#include "executor/fake_server.h"
#include "dispatch/fake_world.h"

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
#define COUNT(w, id) counters_get(&(w)->counters, COUNTER_##id)

/* One server with two ports, so two addresses. */
struct fixture {
    struct fake_server *server;
    char urls[2][64];
    const char *addresses[2];
};

static inline int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->server = fake_server_start(2);
    for (int i = 0; i < 2; i++) {
        fake_server_url(f->server, i, "/", f->urls[i]);
        f->addresses[i] = f->urls[i];
    }
    *state = f;
    return 0;
}

static inline int tear_down(void **state)
{
    struct fixture *f = *state;

    fake_server_stop(f->server);
    free(f);
    return 0;
}

static inline const struct fake_row *get_row(struct world *w, int64_t log_id)
{
    const struct fake_row *row = fake_store_find(&w->store, log_id);

    assert_non_null(row);
    return row;
}

static inline void assert_ends(struct world *w, int64_t log_id, int code, const char *part)
{
    const struct fake_row *row = get_row(w, log_id);

    if (row->code != code || !strstr(row->message, part))
        print_error("%d %s\n", row->code, row->message);
    assert_int_equal(row->code, code);
    assert_non_null(strstr(row->message, part));
}

static inline struct fire *one_fire(struct world *w, const char *route)
{
    return world_fire(w, world_job(8, route), world_now_s(w));
}

#endif
