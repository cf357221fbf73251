/* SPDX-License-Identifier: MIT */
#include "admin/admin_impl.h"
#include "admin/people/factor.h"
#include "admin/runs/clearing.h"
#include "admin/runs/counts.h"
#include "shardwheel/config.h"
#include "shardwheel/directory.h"

#include <stdlib.h>

enum err admin_create(const struct admin_opts *opts, const struct clock *clock, struct counters *counters,
                      struct admin **out, struct errctx *ec)
{
    struct admin *a = calloc(1, sizeof *a);

    if (!a)
        return err_set(ec, ERR_NOMEM, "out of memory for the use cases");
    a->opts = *opts;
    a->clock = clock;
    a->counters = counters;
    a->factor_roles = opts->config ? factor_parse_roles(opts->config->second_factor) : 0;
    enum err e = identity_cache_init(&a->identities, ec);
    if (!e && (e = hashing_init(&a->hashing, counters, ec)) != ERR_OK)
        identity_cache_fini(&a->identities);
    if (e) {
        free(a);
        return e;
    }
    mutex_init(&a->lock, LOCK_LEAF);
    overview_cache_init(&a->overviews);
    a->run_counts = run_counts_create(clock);
    a->clears = run_clearing_create(opts->store, clock);
    if (!a->run_counts || !a->clears) {
        admin_destroy(a);
        return err_set(ec, ERR_NOMEM, "out of memory for the use cases");
    }
    *out = a;
    return ERR_OK;
}

void admin_stop(struct admin *a)
{
    if (a->opts.directory)
        directory_stop(a->opts.directory);
    run_clearing_stop(a->clears);
}

void admin_destroy(struct admin *a)
{
    if (!a)
        return;
    overview_cache_fini(&a->overviews);
    identity_cache_fini(&a->identities);
    hashing_fini(&a->hashing);
    run_clearing_destroy(a->clears);
    run_counts_destroy(a->run_counts);
    buf_fini(&a->settings);
    login_rules_fini(&a->login_rules);
    mutex_fini(&a->lock);
    free(a);
}
