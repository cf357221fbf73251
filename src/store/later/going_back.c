/* SPDX-License-Identifier: MIT */
/* What a Java admin will not do. */
#include "shardwheel/store/going_back.h"

#include "shardwheel/store/schema.h"
#include "store/conn/rows.h"

#define LAST_S 60    /* before the newest cursor ... */
#define PLANNED_S 10 /* ... and behind it: fires are planned ahead */
#define SENDING_S 5  /* a fire may take so long */

static enum err count_left_open(struct store_session *s, int64_t *out, struct errctx *ec)
{
    int64_t cursor_s = 0, to_s = time_floor_div(clock_wall_ms(s->st->clock), 1000) - SENDING_S;
    enum err e;

    *out = 0;
    e = store_number(s, 0, &cursor_s, ec, "SELECT MAX(cursor_s) FROM shardwheel_cursor");
    if (e || cursor_s == 0)
        return e;
    return store_number(
        s, 0, out, ec,
        "SELECT COUNT(*) FROM xxl_job_log WHERE trigger_time >= ? AND trigger_time <= ? AND trigger_code = 0 AND "
        "handle_code = 0 AND (trigger_msg LIKE '<!--sw:p:%' OR trigger_msg LIKE '<!--sw:d:%')",
        sql_time(s->st->zone, cursor_s - LAST_S),
        sql_time(s->st->zone, cursor_s + PLANNED_S < to_s ? cursor_s + PLANNED_S : to_s));
}

/* Tables of the version before have no flows. */
static enum err load_flows(struct store_session *s, struct going_back *g, struct errctx *ec)
{
    static const struct row_type flows = ROWS(struct going_back, FIELDS(struct going_back, flows, flows_first_s));
    struct store_features features;
    struct going_back found;
    enum err e = store_get_features(s, &features, ec);

    if (e || features.own_version < 3)
        return e;
    store_start_sql(s, "SELECT COUNT(*), COALESCE(MIN(next_s), 0) FROM shardwheel_flow WHERE started = 1");
    e = store_read_row(s, &flows, &found, NULL, ec);
    if (e)
        return e;
    g->flows = found.flows;
    g->flows_first_s = found.flows_first_s;
    return store_number(s, 0, &g->flow_runs, ec, "SELECT COUNT(*) FROM shardwheel_flow_run WHERE look_ms IS NOT NULL");
}

static enum err count_factors(struct store_session *s, int64_t *out, struct errctx *ec)
{
    struct store_features features;
    enum err e = store_get_features(s, &features, ec);

    if (e || !features.own_complete)
        return e;
    return store_number(s, 0, out, ec,
                        "SELECT COUNT(*) FROM shardwheel_factor f JOIN xxl_job_user u ON u.id = f.user_id WHERE "
                        "f.since_ms IS NOT NULL");
}

enum err store_load_going_back(struct store_session *s, struct going_back *out, struct errctx *ec)
{
    static const struct row_type counts =
        ROWS(struct going_back, FIELDS(struct going_back, time_zones, fixed_delays, validities, retry_waits, holds,
                                       resends, retentions, watches));
    struct going_back g = {0};
    struct later_sum later;
    enum err e = store_sum_later(s, &later, ec);

    if (e)
        return e;
    store_start_sql(s, "SELECT COUNT(o.time_zone), COUNT(o.fixed_delay_s), COUNT(COALESCE(o.valid_from_s, "
                       "o.valid_until_s)), COUNT(o.retry_wait_s), COUNT(o.hold_s), COUNT(o.resend_lost), "
                       "COUNT(o.retention_days), COUNT(COALESCE(o.success_within_s, o.longest_run_s, o.done_by)) FROM "
                       "shardwheel_job o JOIN xxl_job_info j ON j.id = o.job_id");
    e = store_read_row(s, &counts, &g, NULL, ec);
    if (e)
        return err_wrap(ec, e, "count jobs with settings of ours");
    g.later = later;
    e = load_flows(s, &g, ec);
    if (e)
        return err_wrap(ec, e, "count flows");
    e = store_find_strong_users(s, &g.strong, ec);
    if (!e)
        e = count_factors(s, &g.factors, ec);
    if (e)
        return err_wrap(ec, e, "find users with strong passwords");
    e = count_left_open(s, &g.left_open, ec);
    if (e)
        return err_wrap(ec, e, "count fires that are open");
    *out = g;
    return ERR_OK;
}

bool going_back_is_empty(const struct going_back *g)
{
    int64_t rows = g->later.held.count + g->later.planned;

    for (int kind = 0; kind < TRIGGER_KINDS; kind++)
        rows += g->later.kind[kind].count;
    return rows + g->time_zones + g->fixed_delays + g->validities + g->retry_waits + g->holds + g->resends +
               g->retentions + g->watches + g->flow_runs + g->flows + g->strong.all + g->factors ==
           0;
}
