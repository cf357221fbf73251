/* SPDX-License-Identifier: MIT */
/* Due times that end without a fire: one row for all of a job in a claim. */
#include <string.h>

#include "shardwheel/job/codes.h"
#include "shardwheel/job/words.h"
#include "store/conn/datetime.h"
#include "store/plan/claim_impl.h"

const char store_skipped_columns[] = "INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, "
                                     "trigger_msg, handle_code, alarm_status) VALUES ";

void store_put_skipped(struct store_session *s, int64_t group, int64_t job_id, const struct skipped *skipped,
                       const char *why, const char *rule, enum text_fit fit)
{
    char mark[40], first[DATETIME_TEXT_MAX], last[DATETIME_TEXT_MAX];
    struct buf text = {0};

    fire_format_skipped_mark(skipped->count, mark);
    buf_puts(&text, mark);
    word_put(&text, s->st->opts.lang, skipped->more ? WORD_SKIPPED_MORE : WORD_SKIPPED, (long long)skipped->count, 0);
    datetime_format(s->st->zone, skipped->first_s, first);
    datetime_format(s->st->zone, skipped->last_s, last);
    buf_puts(&text, first);
    if (strcmp(first, last) != 0) {
        buf_puts(&text, " - ");
        buf_puts(&text, last);
    }
    buf_puts(&text, skipped->more ? " ...<br>" : "<br>");
    buf_puts(&text, why);
    buf_puts(&text, rule);
    sql_put(&s->sql, "(?,?,?,?,", group, job_id, sql_time(s->st->zone, skipped->first_s), CODE_FAILED);
    sql_take_text(&s->sql, &text, SIZE_MAX, fit);
    sql_puts(&s->sql, ",0,1)");
}

static void put_row(struct store_session *s, const struct claim_job *job, enum text_fit fit)
{
    store_put_skipped(s, job->job->group, job->job->id, &job->skipped,
                      word_get(s->st->opts.lang, job->skipped.by_hand ? WORD_SKIPPED_BY_HAND : WORD_SKIPPED_LATE),
                      strcmp(job->job->misfire, "FIRE_ONCE_NOW") == 0 ? "FIRE_ONCE_NOW" : "DO_NOTHING", fit);
}

static enum err insert(struct store_session *s, const struct claim_job *jobs, const enum claim_state *state,
                       size_t count, enum text_fit fit, struct errctx *ec)
{
    size_t n = 0;

    store_start_sql(s, store_skipped_columns);
    for (size_t i = 0; i < count; i++) {
        if (state[i] == CLAIM_OTHER || jobs[i].skipped.count == 0)
            continue;
        sql_puts(&s->sql, n++ ? "," : "");
        put_row(s, &jobs[i], fit);
    }
    return n ? store_exec_sql(s, NULL, ec) : ERR_OK;
}

enum err store_insert_skipped(struct store_session *s, const struct claim_job *jobs, const enum claim_state *state,
                              size_t count, struct errctx *ec)
{
    enum err e = insert(s, jobs, state, count, TEXT_AS_IS, ec);

    /* A column that cannot hold the language: what is not ASCII becomes question marks. */
    if (e && store_has_data_error(s))
        e = insert(s, jobs, state, count, TEXT_ASCII, ec);
    return e;
}
