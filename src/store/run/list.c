/* SPDX-License-Identifier: MIT */
/* Runs found by a filter: where an index has them in the order that is wanted, by one statement; else in windows. */
#include <stdlib.h>

#include "store/run/filter.h"
#include "store/run/states.h"

#define WINDOW_FIRST 2000 /* rows in the first window: newest rows are often enough */
#define WINDOW_MAX 60000
#define WINDOW_GROWTH 3
#define SORT_AFTER 30000 /* rows looked at before an index with another order is tried */
#define FAR_BACK_S 600
#define STATEMENT_MIN_MS 20 /* with less time left nothing is begun */

struct search {
    struct store_session *s;
    const struct run_query *query;
    struct run_plan plan;
    struct run_place *hits; /* room for want + 1 */
    size_t hit_count;
    int64_t skip;        /* hits that are to be left out still */
    struct run_place at; /* so far the rows were looked at */
    int64_t looked;
    int64_t deadline_mono_ms;
    bool at_end;
    bool sort_tried;
    enum run_stop stop;
};

static size_t room(const struct search *x)
{
    return x->query->want + 1 - x->hit_count;
}

static int left_ms(const struct search *x)
{
    int64_t left = x->deadline_mono_ms - clock_mono_ms(x->s->st->clock);

    return left > STATEMENT_MIN_MS ? (int)left : 0;
}

static const struct row_type places = ROWS(struct run_place, FIELDS(struct run_place, id, time));

/* Sends the statement, whose rows are id and trigger_time. `anew`: they are all that there are. */
static enum err take_hits(struct search *x, bool anew, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e = store_query_sql(x->s, &rows, ec);

    if (!e && anew) {
        x->hit_count = 0;
        x->skip = 0;
    }
    while (!e && room(x) > 0 && db_rows_next(rows)) {
        if (x->skip > 0)
            x->skip--;
        else
            row_read(x->s, rows, &places, &x->hits[x->hit_count++]);
    }
    db_rows_destroy(rows);
    return e;
}

/* ---- one statement ----------------------------------------------------------------------------------------------- */

static void put_select(struct search *x, struct sqlbuf *q, const char *index, int64_t group)
{
    const struct run_query *query = x->query;

    run_put_table(q, index);
    run_put_prefix(q, x->s->st->zone, &query->filter, group);
    run_put_after(q, query->order, &query->after);
}

static void put_groups(struct search *x, struct sqlbuf *q, int64_t limit)
{
    struct store_features f;
    struct errctx ec;

    if (store_get_features(x->s, &f, &ec)) /* they were read before */
        f.log_group_time_name[0] = '\0';
    sql_puts(q, "id, trigger_time FROM (");
    for (size_t i = 0; i < x->query->filter.group_count; i++) {
        sql_puts(q, i > 0 ? " UNION ALL (SELECT id, trigger_time" : "(SELECT id, trigger_time");
        put_select(x, q, f.log_group_time_name, x->query->filter.groups[i]);
        run_put_order(q, x->query->order, limit, 0);
        sql_puts(q, ")");
    }
    sql_puts(q, ") AS u");
}

/* All rows of the query, by an index that has them. */
static enum err find_at_once(struct search *x, const char *index, int limit_ms, struct errctx *ec)
{
    const struct run_query *query = x->query;
    int64_t limit = (int64_t)query->want + 1;
    struct sqlbuf *q = store_start_limited(x->s, limit_ms, "");

    if (x->plan.by_groups) {
        put_groups(x, q, limit + query->skip);
    } else {
        sql_puts(q, "id, trigger_time");
        put_select(x, q, index, query->filter.group);
        if (x->plan.by_codes && index == x->plan.sorted)
            sql_put(q, " AND ?", sql_word(run_states_not_success));
        run_put_rest(q, &query->filter);
    }
    run_put_order(q, query->order, limit, query->skip);
    enum err e = take_hits(x, /*anew=*/true, ec);
    if (!e)
        x->at_end = x->hit_count <= query->want;
    return e;
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

/* The last row of the next `count` ones; id 0: there are fewer. By the index alone, but for the primary key. */
static enum err find_window(struct search *x, int64_t count, struct run_place *out, struct errctx *ec)
{
    const struct run_query *query = x->query;
    bool by_time = query->order == RUN_BY_TIME;
    struct run_filter walked = {0};
    struct sqlbuf *q = store_start_limited(x->s, left_ms(x), by_time ? "id, trigger_time" : "id, ''");

    if (x->plan.keyed)
        walked = (struct run_filter){.job_id = query->filter.job_id, .group = query->filter.group};
    if (by_time) {
        walked.from_s = query->filter.from_s;
        walked.until_s = query->filter.until_s;
    }
    run_put_table(q, x->plan.walk);
    run_put_prefix(q, x->s->st->zone, &walked, walked.group);
    run_put_after(q, query->order, &x->at);
    run_put_order(q, query->order, 1, count - 1);
    *out = (struct run_place){0};
    enum err e = store_read_row(x->s, &places, out, NULL, ec);
    return e == ERR_NOTFOUND ? ERR_OK : e;
}

static enum err look_through(struct search *x, int64_t count, struct errctx *ec)
{
    const struct run_query *query = x->query;
    struct run_place until;
    enum err e = find_window(x, count, &until, ec);

    if (e)
        return e;
    if (left_ms(x) == 0)
        return ERR_TIMEOUT;
    int64_t most = (int64_t)room(x) + x->skip;
    struct sqlbuf *q = store_start_limited(x->s, left_ms(x), "id, trigger_time");
    run_put_table(q, x->plan.walk);
    run_put_prefix(q, x->s->st->zone, &query->filter, query->filter.group);
    run_put_after(q, query->order, &x->at);
    run_put_until(q, query->order, &until);
    run_put_rest(q, &query->filter);
    run_put_order(q, query->order, until.id && most > count ? count : most, 0);
    e = take_hits(x, /*anew=*/false, ec);
    if (e)
        return e;
    x->looked += count;
    x->at_end = until.id == 0 && room(x) > 0;
    if (until.id)
        x->at = until;
    return ERR_OK;
}

static enum err try_sorted(struct search *x, struct errctx *ec)
{
    enum err e;

    x->sort_tried = true;
    if (!x->plan.sorted || left_ms(x) == 0)
        return ERR_OK;
    e = find_at_once(x, x->plan.sorted, x->query->look_max ? left_ms(x) / 2 : left_ms(x), ec);
    return e == ERR_TIMEOUT ? ERR_OK : e;
}

static bool is_done(const struct search *x)
{
    return x->at_end || room(x) == 0;
}

/* The newest rows are not in the range: nothing is gained by looking at them first. */
static bool is_far_back(const struct search *x)
{
    int64_t until_s = x->query->filter.until_s;

    return x->query->order == RUN_BY_ID && until_s &&
           until_s < time_floor_div(clock_wall_ms(x->s->st->clock), 1000) - FAR_BACK_S;
}

static enum err walk(struct search *x, struct errctx *ec)
{
    int64_t window = WINDOW_FIRST, sort_after = is_far_back(x) ? 0 : SORT_AFTER;
    enum err e = ERR_OK;

    while (!e && !is_done(x)) {
        if (x->looked >= sort_after && !x->sort_tried) {
            e = try_sorted(x, ec);
            continue;
        }
        if (x->looked >= x->query->look_max)
            x->stop = RUN_STOP_ROWS;
        else if (left_ms(x) == 0)
            x->stop = RUN_STOP_TIME;
        if (x->stop)
            break;
        if (window > x->query->look_max - x->looked)
            window = x->query->look_max - x->looked;
        e = look_through(x, window, ec);
        window = window * WINDOW_GROWTH > WINDOW_MAX ? WINDOW_MAX : window * WINDOW_GROWTH;
    }
    return e;
}

static enum err find(struct search *x, struct errctx *ec)
{
    enum err e;

    if (x->plan.exact || x->plan.by_groups || !x->plan.walk)
        e = find_at_once(x, x->plan.walk, x->query->limit_ms, ec);
    else
        e = walk(x, ec);
    if (e == ERR_TIMEOUT) {
        x->stop = RUN_STOP_TIME;
        e = ERR_OK;
    }
    return e;
}

/* ---- the call ---------------------------------------------------------------------------------------------------- */

static enum err put_result(const struct search *x, struct run_ids *out, struct errctx *ec)
{
    size_t count = x->hit_count > x->query->want ? x->query->want : x->hit_count;
    int64_t *ids = calloc(count + 1, sizeof *ids);

    if (!ids)
        return err_set(ec, ERR_NOMEM, "out of memory for %zu runs", count);
    for (size_t i = 0; i < count; i++)
        ids[i] = x->hits[i].id;
    *out = (struct run_ids){.ids = ids, .count = count, .stop = x->stop, .is_end = x->at_end};
    /* Hits of the last window may be behind the place where the search stopped. */
    if (x->stop || count == 0)
        out->last = x->at;
    else
        out->last = x->hits[count - 1];
    return ERR_OK;
}

enum err store_search_runs(struct store_session *s, const struct run_query *query, struct run_ids *out,
                           struct errctx *ec)
{
    struct search x = {.s = s, .query = query, .skip = query->skip, .at = query->after};
    struct store_features features;
    enum err e = store_get_features(s, &features, ec);

    if (e)
        return err_wrap(ec, e, "look for runs");
    x.deadline_mono_ms = clock_mono_ms(s->st->clock) + query->limit_ms;
    run_plan_make(&features, &query->filter, query->order, &x.plan);
    x.hits = calloc(query->want + 1, sizeof *x.hits);
    e = x.hits ? find(&x, ec) : err_set(ec, ERR_NOMEM, "out of memory for %zu runs", query->want);
    if (!e)
        e = put_result(&x, out, ec);
    free(x.hits);
    return e ? err_wrap(ec, e, "look for runs") : ERR_OK;
}

FINI_BY(free, run_ids, ids)

/* ---- counting ---------------------------------------------------------------------------------------------------- */

enum err store_count_runs(struct store_session *s, const struct run_filter *filter, int limit_ms, int64_t *out,
                          struct errctx *ec)
{
    struct run_plan plan;

    run_plan_make(store_features(s), filter, RUN_BY_TIME, &plan);
    struct sqlbuf *q = store_start_limited(s, limit_ms, "COUNT(*)");
    run_put_table(q, plan.sorted ? plan.sorted : plan.walk);
    run_put_prefix(q, s->st->zone, filter, filter->group);
    if (plan.by_codes)
        sql_put(q, " AND ?", sql_word(run_states_not_success));
    run_put_rest(q, filter);
    enum err e = store_query_number(s, 0, out, ec);
    return e ? err_wrap(ec, e, "count runs") : ERR_OK;
}

enum err store_guess_runs(struct store_session *s, int64_t *out, struct errctx *ec)
{
    enum err e = store_number(s, 0, out, ec,
                              "SELECT table_rows FROM information_schema.tables WHERE table_schema = DATABASE() "
                              "AND table_name = 'xxl_job_log'");

    return e ? err_wrap(ec, e, "guess the number of runs") : ERR_OK;
}
