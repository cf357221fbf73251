/* SPDX-License-Identifier: MIT */
#include "node/weak_watch.h"

#include "shardwheel/admin/weak.h"

#include <inttypes.h>
#include <stdlib.h>

#define LOOK_MS (60 * 1000)
#define AGAIN_MS (INT64_C(24) * 3600 * 1000)

struct weak_watch {
    struct admin *admin;       /* [const] */
    const struct clock *clock; /* [const] */
    struct counters *counters; /* [const] */
    struct worker worker;      /* [const] locks by itself */
    unsigned told;             /* [thread] bits of what the log has */
    int64_t told_all;          /* [thread] users and groups */
    int64_t again_mono_ms;     /* [thread] */
};

static void put_names(const struct named_few *few, struct buf *out)
{
    for (size_t i = 0; i < few->count; i++)
        buf_printf(out, "%s%s", i ? ", " : "", few->names[i]);
    if ((int64_t)few->count < few->all)
        buf_printf(out, " and %" PRId64 " more", few->all - (int64_t)few->count);
}

static void tell(const struct weak_secrets *weak)
{
    for (int kind = 0; kind < WEAK_KINDS; kind++) {
        const struct weak_info *info = weak_get_info((enum weak_kind)kind);
        struct buf who = {0};

        if (!(weak->found & (1u << kind)))
            continue;
        if (kind == WEAK_USERS || kind == WEAK_GROUPS)
            put_names(kind == WEAK_USERS ? &weak->users : &weak->groups, &who);
        buf_puts(&who, "");
        log_warn("security", "event=weak_secret what=%s where=%s%s%s reason=%s advice=%s", info->name, info->where,
                 who.len ? " who=" : "", who.len && !buf_failed(&who) ? log_quote(who.data).s : "",
                 log_quote(info->what).s, log_quote(info->advice).s);
        buf_fini(&who);
    }
}

static void count(struct counters *c, const struct weak_secrets *weak)
{
    const unsigned token = 1u << WEAK_TOKEN_EMPTY | 1u << WEAK_TOKEN_DEFAULT;
    const unsigned database = 1u << WEAK_DATABASE_EMPTY | 1u << WEAK_DATABASE_DEFAULT | 1u << WEAK_DATABASE_USER;

    counters_set(c, COUNTER_WEAK_TOKEN, (weak->found & token) != 0);
    counters_set(c, COUNTER_WEAK_DATABASE, (weak->found & database) != 0);
    counters_set(c, COUNTER_WEAK_USERS, weak->users.all);
    counters_set(c, COUNTER_WEAK_GROUPS, weak->groups.all);
}

/* A database that is away says nothing: the next look does. */
static int64_t turn(void *arg)
{
    struct weak_watch *w = arg;
    struct weak_secrets weak;
    struct errctx ec = {0};
    int64_t now_ms = clock_mono_ms(w->clock);

    if (admin_load_weak(w->admin, &weak, &ec))
        return LOOK_MS;
    count(w->counters, &weak);
    if (weak.found &&
        ((weak.found & ~w->told) || weak.users.all + weak.groups.all > w->told_all || now_ms >= w->again_mono_ms)) {
        tell(&weak);
        w->again_mono_ms = now_ms + AGAIN_MS;
    }
    w->told = weak.found;
    w->told_all = weak.users.all + weak.groups.all;
    return LOOK_MS;
}

enum err weak_watch_start(struct admin *admin, const struct clock *clock, struct counters *counters,
                          struct weak_watch **out, struct errctx *ec)
{
    struct weak_watch *w = calloc(1, sizeof *w);

    if (!w)
        return err_set(ec, ERR_NOMEM, "out of memory");
    w->admin = admin;
    w->clock = clock;
    w->counters = counters;
    worker_init(&w->worker, clock);
    *out = w;
    return worker_start(&w->worker, "secrets", turn, NULL, w, ec);
}

void weak_watch_poke(struct weak_watch *w)
{
    if (w)
        worker_poke(&w->worker);
}

void weak_watch_stop(struct weak_watch *w)
{
    if (!w)
        return;
    worker_stop(&w->worker);
    worker_join(&w->worker);
    worker_fini(&w->worker);
    free(w);
}
