/* SPDX-License-Identifier: MIT */
/* Whether people hear of failures, and which jobs do nothing but fail. */
#include "ctl/doctor/survey.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shardwheel/alarm.h"
#include "shardwheel/store/channel.h"
#include "shardwheel/store/overview.h"

/* ---- channels ---------------------------------------------------------------------------------------------------- */

#define TOLD_LOOK "5000" /* newest messages that are looked at */

struct channels_seen {
    struct doctor *d;
    size_t used;
};

static void see_channel(void *arg, const struct alarm_channel *channel)
{
    struct channels_seen *seen = arg;

    seen->used += !channel->left_out;
    if (channel->left_out)
        doctor_tell(seen->d, DOCTOR_WARNING, "alarm_channel_unused", place_of("channel", channel->name).text,
                    "Correct it, or remove it.", "It is configured, but not used: %s.", channel->left_out);
}

static enum err look_at_channels(struct doctor *d, size_t *used, struct errctx *ec)
{
    struct channels_seen seen = {.d = d};
    struct alarms_opts opts = {.node_name = "doctor", .incarnation = ""};
    struct channel_rows rows = {0};
    enum err e = alarms_read_config(d->config, &opts, ec);

    if (!e && opts.console_channels)
        e = store_load_channels(d->session, &rows, ec);
    opts.rows = rows.rows;
    opts.row_count = rows.count;
    if (!e)
        e = alarms_list_channels(&opts, see_channel, &seen, ec);
    channel_rows_fini(&rows);
    *used = seen.used;
    if (e != ERR_INPUT)
        return e;
    doctor_tell(d, DOCTOR_CRITICAL, "alarm_setting_wrong", NULL, "Correct it: no node starts with this configuration.",
                "The configuration of alarms is not valid: %s.", ec->text);
    return ERR_OK;
}

/* Channels whose newest message, and every one behind the last that was taken, came to nothing. */
static enum err look_at_told(struct doctor *d, struct errctx *ec)
{
    struct db_rows *look = NULL;
    enum err e = doctor_look(
        d, &look, ec,
        "SELECT t.channel, COUNT(*), MAX(t.error), MIN(t.at_ms) FROM (SELECT * FROM shardwheel_told ORDER BY id DESC "
        "LIMIT " TOLD_LOOK ") t LEFT JOIN (SELECT channel, MAX(id) AS good FROM (SELECT * FROM shardwheel_told "
        "ORDER BY id DESC LIMIT " TOLD_LOOK
        ") n WHERE error IS NULL GROUP BY channel) g ON g.channel = t.channel WHERE "
        "t.error IS NOT NULL AND t.id > COALESCE(g.good, 0) GROUP BY t.channel ORDER BY t.channel");

    while (!e && db_rows_next(look)) {
        if (db_int(look, 1) < 3)
            continue;
        doctor_tell(d, DOCTOR_WARNING, "alarm_channel_failing", place_of("channel", db_text_or_empty(look, 0)).text,
                    "Check the receiver: `shardwheelctl alarm-test` sends a test message.",
                    "Its last %" PRId64 " messages were not delivered, the first of them %s ago: %.200s.",
                    db_int(look, 1), span_of_s((d->now_ms - db_int(look, 3)) / 1000).text, db_text_or_empty(look, 2));
    }
    db_rows_destroy(look);
    return e;
}

static enum err check_alarms(struct doctor *d, struct errctx *ec)
{
    bool mails = d->config->mail_host[0] && (d->config->mail_from[0] || d->config->mail_username[0]);
    struct job_survey *survey = d->survey;
    size_t used = 0;
    enum err e = look_at_channels(d, &used, ec);

    if (!e)
        e = look_at_told(d, ec);
    if (e)
        return e;
    if (survey->running && !survey->mailed.count && !used)
        doctor_tell(
            d, DOCTOR_NOTE, "alarm_nobody", NULL, NULL,
            "Nobody gets alarms: no started job has an email address, and there is no channel. See docs/alarms.md.");
    if (!mails)
        doctor_tell_list(d, DOCTOR_WARNING, "alarm_mail_off", "spring.mail.host",
                         "Set spring.mail.host and spring.mail.from, or remove the addresses from the jobs.",
                         "Started jobs have alarm addresses, but no email can be sent", &survey->mailed);
    doctor_tell_list(d, DOCTOR_WARNING, "alarm_address_bad", "xxl_job_info", "Correct alarm_email of these jobs.",
                     "Started jobs have an email address that is not valid: alarms to it count as failed",
                     &survey->bad_mail);
    return ERR_OK;
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

#define RUNS_EACH 5000 /* newest rows of each code but success */
#define RUNS_LAST 10   /* of a job that must all have failed */
#define CANDIDATES 200 /* jobs whose last runs are looked at */
#define PILE 10        /* due times of one job whose runs are open */

struct run_sum {
    int64_t job, failed, open;
};

COMPARE_BY_TWO(compare_runs, struct notable_run, job_id, trigger_s)

static int compare_failed(const void *a, const void *b)
{
    const struct run_sum *x = a, *y = b;
    int by_failed = compare_numbers(y->failed, x->failed);

    return by_failed ? by_failed : compare_numbers(x->job, y->job);
}

/* By job; runs of one due time count as one open run: those of a broadcast. */
static size_t sum_runs(struct notable_runs *runs, struct run_sum *sums)
{
    int64_t open_s = INT64_MIN;
    size_t n = 0;

    if (runs->count)
        qsort(runs->items, runs->count, sizeof *runs->items, compare_runs);
    for (size_t i = 0; i < runs->count; i++) {
        const struct notable_run *run = &runs->items[i];

        if (!n || sums[n - 1].job != run->job_id) {
            sums[n++] = (struct run_sum){.job = run->job_id};
            open_s = INT64_MIN;
        }
        sums[n - 1].failed += run->state == RUN_FAILED || run->state == RUN_LOST || run->state == RUN_UNKNOWN;
        if (run->state != RUN_RUNNING || run->trigger_s == open_s)
            continue;
        open_s = run->trigger_s;
        sums[n - 1].open++;
    }
    return n;
}

/* By an index that leads to the job's newest rows: the log is not read through for it. */
static enum err has_only_failed(struct doctor *d, int64_t job, bool *out, struct errctx *ec)
{
    const struct store_features *f = &d->features;
    struct db_rows *look = NULL;
    enum err e = doctor_look(
        d, &look, ec,
        "SELECT COUNT(*), COALESCE(SUM(handle_code = 200 OR (trigger_code = 200 AND handle_code = 0)), 0) "
        "FROM (SELECT trigger_code, handle_code FROM xxl_job_log FORCE INDEX (%s) WHERE job_id = %" PRId64
        " AND trigger_code <> 0 AND COALESCE(trigger_msg, '') NOT LIKE '<!--sw:s:%%' ORDER BY %s DESC LIMIT %d) "
        "r, xxl_job_info j WHERE j.id = %" PRId64 " AND j.trigger_status = 1",
        f->log_job_id_name[0] ? f->log_job_id_name : f->log_job_time_name, job,
        f->log_job_id_name[0] ? "id" : "trigger_time", RUNS_LAST, job);

    *out = !e && db_rows_next(look) && db_int(look, 0) == RUNS_LAST && !db_int(look, 1);
    db_rows_destroy(look);
    return e;
}

static enum err find_failing(struct doctor *d, struct run_sum *sums, size_t count, int64_t *jobs, size_t *found,
                             struct errctx *ec)
{
    enum err e = ERR_OK;

    *found = 0;
    if (!d->features.log_job_id_name[0] && !d->features.log_job_time_name[0])
        return ERR_OK; /* a finding of the indexes says so */
    if (count)
        qsort(sums, count, sizeof *sums, compare_failed);
    for (size_t i = 0; i < count && i < CANDIDATES && sums[i].failed && !e; i++) {
        bool failing = false;

        e = has_only_failed(d, sums[i].job, &failing, ec);
        if (!e && failing)
            jobs[(*found)++] = sums[i].job;
    }
    return e;
}

static enum err tell_jobs(struct doctor *d, enum doctor_level level, const char *code, const char *change,
                          const char *what, const int64_t *jobs, size_t count, struct errctx *ec)
{
    struct words words = {0};
    enum err e = survey_name_jobs(d, jobs, count, &words, ec);

    if (!e)
        doctor_tell_list(d, level, code, "xxl_job_log", change, what, &words);
    return e;
}

static enum err judge_runs(struct doctor *d, struct notable_runs *runs, struct errctx *ec)
{
    struct run_sum *sums = calloc(runs->count + 1, sizeof *sums);
    int64_t *jobs = calloc(runs->count + 1, sizeof *jobs);
    size_t count = 0, found = 0;
    enum err e = sums && jobs ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");

    if (!e)
        count = sum_runs(runs, sums);
    for (size_t i = 0; i < count && !e; i++) {
        if (sums[i].open >= PILE)
            jobs[found++] = sums[i].job;
    }
    if (!e)
        e = tell_jobs(d, DOCTOR_WARNING, "runs_pile_up",
                      "Use a longer interval, or the block strategy DISCARD_LATER; check whether the executor hangs.",
                      "Jobs have unfinished runs of ten or more due times: they start faster than they end", jobs,
                      found, ec);
    if (!e)
        e = find_failing(d, sums, count, jobs, &found, ec);
    if (!e)
        e = tell_jobs(d, DOCTOR_NOTE, "runs_fail", NULL, "The last ten runs of started jobs have all failed", jobs,
                      found, ec);
    free(sums);
    free(jobs);
    return e;
}

static enum err check_runs(struct doctor *d, struct errctx *ec)
{
    struct notable_runs runs = {0};
    enum err e = store_load_notable_runs(d->session, &(struct group_choice){.groups = NULL}, RUNS_EACH,
                                         doctor_left_ms(d), &runs, ec);

    if (!e)
        e = judge_runs(d, &runs, ec);
    notable_runs_fini(&runs);
    return e;
}

const struct doctor_check doctor_alarm_checks[] = {
    {"alarms", "Alarms can be sent.",
     (const char *const[]){"alarm_mail_off", "alarm_address_bad", "alarm_channel_unused", "alarm_channel_failing",
                           "alarm_setting_wrong", "alarm_nobody", NULL},
     DOCTOR_JOBS, check_alarms},
    {"runs", "No job only fails, and runs do not accumulate.", (const char *const[]){"runs_pile_up", "runs_fail", NULL},
     DOCTOR_TABLES, check_runs},
    {0},
};
