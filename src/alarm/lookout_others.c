/* SPDX-License-Identifier: MIT */
/* Groups with few executors, and shards that are late. */
#include "alarm/lookout.h"
#include "shardwheel/store/registry.h"
#include "shardwheel/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The highest of the rules that are for it; 0: there is none. */
static int64_t find_bound(const struct lookout *w, enum watch_kind kind, const char *app)
{
    const char *name = watch_kind_name(kind);
    int64_t bound = 0;

    for (size_t i = 0; i < w->rules.count; i++) {
        const struct watch_rule *rule = &w->rules.rows[i];
        bool fits = strcmp(rule->kind, name) == 0 && (!rule->app_name[0] || strcmp(rule->app_name, app) == 0);
        if (fits && (bound == 0 || (kind == WATCH_FEW_EXECUTORS ? rule->bound > bound : rule->bound < bound)))
            bound = rule->bound;
    }
    return bound;
}

static void drop_unless(struct lookout *w, enum watch_kind kind,
                        bool (*holds)(const struct lookout *w, int64_t target, const void *arg), const void *arg)
{
    for (size_t i = 0; i < w->states.count; i++) {
        const struct watch_state *state = &w->states.rows[i];
        if (strcmp(state->kind, watch_kind_name(kind)) == 0 && state->phase != WATCH_OVER &&
            !holds(w, state->target, arg))
            lookout_drop(w, kind, state->target);
    }
}

/* There is a rule, or something is open. */
static bool is_of_interest(const struct lookout *w, enum watch_kind kind)
{
    const char *name = watch_kind_name(kind);
    bool found = false;

    for (size_t i = 0; i < w->rules.count; i++)
        found = found || strcmp(w->rules.rows[i].kind, name) == 0;
    for (size_t i = 0; i < w->states.count; i++)
        found = found || strcmp(w->states.rows[i].kind, name) == 0;
    return found;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static int64_t count_addresses(const char *list)
{
    struct text_part address;
    int64_t n = 0;

    while (text_next_item(&list, &address))
        n += address.len > 0;
    return n;
}

static bool group_holds(const struct lookout *w, int64_t target, const void *arg)
{
    const struct group_list *groups = arg;

    for (size_t i = 0; i < groups->count; i++)
        if (groups->rows[i].id == target)
            return find_bound(w, WATCH_FEW_EXECUTORS, groups->rows[i].app_name) > 0;
    return false;
}

/* Since when it has had too few; now, where that is new. */
static int64_t find_since(const struct lookout *w, int64_t group, int64_t now_ms)
{
    for (size_t i = 0; i < w->few_count; i++)
        if (w->few[i].group == group)
            return w->few[i].since_ms;
    return now_ms;
}

static void judge_groups(struct lookout *w, const struct group_list *groups, struct watch_few *few, size_t *few_count,
                         int64_t now_ms)
{
    for (size_t i = 0; i < groups->count; i++) {
        const struct group_row *group = &groups->rows[i];
        int64_t bound = find_bound(w, WATCH_FEW_EXECUTORS, group->app_name), there, since_ms;

        if (bound == 0)
            continue;
        there = count_addresses(group->address_list);
        since_ms = find_since(w, group->id, now_ms);
        if (there < bound)
            few[(*few_count)++] = (struct watch_few){group->id, since_ms};
        lookout_note(w,
                     there >= bound                      ? VERDICT_GOOD
                     : now_ms - since_ms >= FEW_GRACE_MS ? VERDICT_BAD
                                                         : VERDICT_IDLE,
                     WATCH_FEW_EXECUTORS, group->id, 0, "%" PRId64 " executor%s, and %" PRId64 " are expected", there,
                     there == 1 ? "" : "s", bound);
    }
}

enum err lookout_look_at_groups(struct lookout *w, struct store_session *s, int64_t now_ms, struct errctx *ec)
{
    struct group_list groups = {0};
    struct watch_few *few = NULL;
    size_t few_count = 0;
    enum err e;

    if (!is_of_interest(w, WATCH_FEW_EXECUTORS))
        return ERR_OK;
    e = store_load_groups(s, &groups, ec);

    if (!e) {
        few = calloc(groups.count + 1, sizeof *few);
        e = few ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory for %zu groups", groups.count);
    }
    if (!e) {
        judge_groups(w, &groups, few, &few_count, now_ms);
        drop_unless(w, WATCH_FEW_EXECUTORS, group_holds, &groups);
        free(w->few);
        w->few = few;
        w->few_count = few_count;
    }
    group_list_fini(&groups);
    return e;
}

/* ---- shards ------------------------------------------------------------------------------------------------------ */

struct shards {
    const struct shard_lateness *rows;
    size_t count;
};

static bool shard_holds(const struct lookout *w, int64_t target, const void *arg)
{
    const struct shards *shards = arg;

    for (size_t i = 0; i < shards->count; i++)
        if (shards->rows[i].shard == target)
            return find_bound(w, WATCH_LATE_SHARD, "") > 0;
    return false;
}

enum err lookout_look_at_shards(struct lookout *w, struct store_session *s, int64_t now_ms, struct errctx *ec)
{
    int64_t bound = find_bound(w, WATCH_LATE_SHARD, ""), now_s = time_floor_div(now_ms, 1000);
    struct shard_lateness *rows = NULL;
    size_t count = 0;
    enum err e = bound > 0 ? store_load_shard_cursors(s, &rows, &count, ec) : ERR_OK;

    for (size_t i = 0; i < count && !e; i++) {
        int64_t late_s = now_s - rows[i].cursor_s;
        lookout_note(w, late_s > bound ? VERDICT_BAD : VERDICT_GOOD, WATCH_LATE_SHARD, rows[i].shard, 0,
                     "%" PRId64 " s late", late_s);
    }
    if (!e)
        drop_unless(w, WATCH_LATE_SHARD, shard_holds, &(struct shards){rows, count});
    free(rows);
    return e;
}
