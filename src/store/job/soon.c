/* SPDX-License-Identifier: MIT */
/* How many jobs there are, and what fires next: for a dashboard. */
#include <stdlib.h>

#include "shardwheel/store/overview.h"
#include "store/conn/datetime.h"
#include "store/conn/rows.h"

#define PLANNED_MAX 10000 /* fires are planned some seconds ahead; more are not counted */

static void put_choice(struct sqlbuf *q, const char *joint, const struct group_choice *choice)
{
    if (choice->groups)
        sql_put(q, "?job_group IN (?)", sql_word(joint), sql_list(choice->groups, choice->count));
}

enum err store_count_group_jobs(struct store_session *s, const struct group_choice *choice, int64_t until_ms,
                                int limit_ms, struct group_count **out, size_t *count, struct errctx *ec)
{
    static const struct row_type counts =
        ROWS(struct group_count, FIELDS(struct group_count, group, jobs, running, soon));
    struct sqlbuf *q = store_limited(s, limit_ms,
                                     "job_group, COUNT(*), SUM(trigger_status = 1), SUM(trigger_status = 1 AND "
                                     "trigger_next_time <= ?) FROM xxl_job_info",
                                     until_ms);

    put_choice(q, " WHERE ", choice);
    sql_puts(q, " GROUP BY job_group ORDER BY job_group");
    enum err e = store_read_array(s, &counts, out, count, ec);
    return e ? err_wrap(ec, e, "count the jobs of groups") : ERR_OK;
}

/* ---- what fires next --------------------------------------------------------------------------------------------- */

static enum err find_planned(struct store_session *s, const char *index, const struct group_choice *choice,
                             int64_t now_s, int64_t until_s, int limit_ms, struct soon_fire *out, size_t *count,
                             int64_t *planned, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    struct sqlbuf *q = store_limited(s, limit_ms,
                                     "id, job_id, job_group, trigger_time FROM xxl_job_log FORCE INDEX (?) WHERE "
                                     "trigger_time > ? AND trigger_time <= ? AND trigger_code = 0 AND handle_code = 0",
                                     sql_word(index), sql_time(s->st->zone, now_s), sql_time(s->st->zone, until_s));

    put_choice(q, " AND ", choice);
    sql_put(q, " ORDER BY trigger_time, id LIMIT ?", PLANNED_MAX);
    enum err e = store_query_sql(s, &rows, ec);
    if (!e)
        *planned = (int64_t)db_rows_count(rows);
    while (!e && *count < SOON_MAX && db_rows_next(rows)) {
        int64_t due_s;

        if (datetime_parse(s->st->zone, db_text(rows, 3), &due_s))
            out[(*count)++] = (struct soon_fire){
                .log_id = db_int(rows, 0), .job_id = db_int(rows, 1), .group = db_int(rows, 2), .due_ms = due_s * 1000};
    }
    db_rows_destroy(rows);
    return e;
}

static enum err find_jobs(struct store_session *s, const struct group_choice *choice, int64_t now_ms, int64_t until_ms,
                          int limit_ms, struct soon_fire *out, size_t *count, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    struct sqlbuf *q = store_limited(s, limit_ms,
                                     "id, job_group, trigger_next_time FROM xxl_job_info WHERE trigger_status = 1 AND "
                                     "trigger_next_time > ? AND trigger_next_time <= ?",
                                     now_ms, until_ms);

    put_choice(q, " AND ", choice);
    sql_put(q, " ORDER BY trigger_next_time, id LIMIT ?", SOON_MAX);
    enum err e = store_query_sql(s, &rows, ec);
    while (!e && *count < 2 * SOON_MAX && db_rows_next(rows))
        out[(*count)++] =
            (struct soon_fire){.job_id = db_int(rows, 0), .group = db_int(rows, 1), .due_ms = db_int(rows, 2)};
    db_rows_destroy(rows);
    return e;
}

COMPARE_BY_TWO(compare_soon, struct soon_fire, due_ms, job_id)

enum err store_load_soon(struct store_session *s, const struct group_choice *choice, int64_t now_ms, int64_t until_ms,
                         int limit_ms, struct soon_fire out[SOON_MAX], size_t *count, int64_t *planned,
                         struct errctx *ec)
{
    struct soon_fire all[2 * SOON_MAX];
    struct store_features f;
    size_t n = 0;
    enum err e = store_get_features(s, &f, ec);

    *planned = 0;
    if (!e && f.log_trigger_time_name[0])
        e = find_planned(s, f.log_trigger_time_name, choice, now_ms / 1000, until_ms / 1000, limit_ms, all, &n, planned,
                         ec);
    if (!e)
        e = find_jobs(s, choice, now_ms, until_ms, limit_ms, all, &n, ec);
    if (e)
        return err_wrap(ec, e, "look for what fires next");
    qsort(all, n, sizeof *all, compare_soon);
    *count = n < SOON_MAX ? n : SOON_MAX;
    for (size_t i = 0; i < *count; i++)
        out[i] = all[i];
    return ERR_OK;
}
