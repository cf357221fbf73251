/* SPDX-License-Identifier: MIT */
/* Jobs that cannot fire, or not as they should; their children; what a Java admin would make of them. */
#include "ctl/doctor/survey.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "shardwheel/store/going_back.h"

/* ---- faults ------------------------------------------------------------------------------------------------------ */

/* `what` is followed by the number and the names of the jobs. */
static const struct fault {
    enum job_fault fault;
    const char *check; /* that tells it */
    enum doctor_level level;
    const char *code, *what, *change;
} faults[] = {
    {FAULT_CRON_BROKEN, "job_schedules", DOCTOR_WARNING, "job_cron_broken",
     "The expression of started jobs is not valid: they fire once more and are then stopped",
     "Correct the expression; the console shows its next times."},
    {FAULT_CRON_OVER, "job_schedules", DOCTOR_WARNING, "job_cron_over",
     "The expression of started jobs has no further time: they are stopped at their next time",
     "Correct the expression, or stop the job."},
    {FAULT_ZONE, "job_schedules", DOCTOR_WARNING, "job_zone_unknown",
     "The time zone of started jobs is unknown on this machine: such nodes stop them",
     "Set time-zone of the job to an IANA name, or install a newer tzdata on all nodes."},
    {FAULT_TYPE, "job_schedules", DOCTOR_WARNING, "job_schedule_none",
     "The schedule_type of started jobs is neither CRON nor FIX_RATE: they are stopped at their next time",
     "Set the schedule of the job, or stop it."},
    {FAULT_RATE, "job_schedules", DOCTOR_WARNING, "job_rate_broken",
     "FIX_RATE of started jobs is not a positive number of seconds: they fire once more and are then stopped",
     "Set schedule_conf to a number of seconds."},
    {FAULT_VALIDITY, "job_schedules", DOCTOR_WARNING, "job_validity_over",
     "Started jobs have no due time before valid-until: they are stopped at their next time",
     "Change valid-until, or stop the job."},
    {FAULT_LEFT_BEHIND, "job_schedules", DOCTOR_WARNING, "job_left_behind",
     "Jobs have been due for more than two minutes, but are not planned",
     "Find out who has locked their rows (SHOW ENGINE INNODB STATUS), and check the logs of the nodes (event=failed "
     "step=claim)."},
    {FAULT_FAR, "job_schedules", DOCTOR_WARNING, "job_next_far",
     "The next time of jobs is after due times of their schedule, which will not fire: somebody wrote it, or a clock "
     "was ahead",
     "Stop the job and start it again."},
    {FAULT_CANNOT_START, "job_schedules", DOCTOR_NOTE, "job_cannot_start",
     "Stopped jobs cannot be started, because their schedule is not valid", NULL},

    {FAULT_HANDLER, "job_runs", DOCTOR_WARNING, "job_no_handler",
     "Started BEAN jobs have no executor_handler: executors refuse every fire", "Set the handler, or stop the job."},
    {FAULT_SOURCE, "job_runs", DOCTOR_WARNING, "job_no_source",
     "Started GLUE jobs have no source: every fire fails, or does nothing", "Save a source, or stop the job."},
    {FAULT_GLUE_TYPE, "job_runs", DOCTOR_WARNING, "job_glue_unknown",
     "The glue_type of started jobs is unknown: every fire is refused", "Set a valid glue_type."},
    {FAULT_GLUE_OFF, "job_runs", DOCTOR_WARNING, "job_glue_off",
     "GLUE jobs are started, but shardwheel.glue forbids them: every fire fails",
     "Stop them, or change shardwheel.glue."},
    {FAULT_ROUTE, "job_runs", DOCTOR_WARNING, "job_no_route",
     "Started jobs have no valid routing strategy: every fire fails, and a Java admin leaves its row open forever",
     "Set executor_route_strategy, for example to FIRST."},
    {FAULT_PARAM, "job_runs", DOCTOR_WARNING, "job_param_long",
     "The parameter of jobs is longer than xxl_job_log.executor_param: their rows are cut",
     "Shorten it, or make this column as wide as that of xxl_job_info."},
    {FAULT_WORD, "job_runs", DOCTOR_NOTE, "job_word_unknown",
     "The misfire_strategy or executor_block_strategy of started jobs is unknown: DO_NOTHING and SERIAL_EXECUTION are "
     "used",
     NULL},

    {FAULT_NO_GROUP, "job_groups", DOCTOR_WARNING, "job_no_group",
     "The executor group of started jobs does not exist: every fire fails",
     "Move them to another group, or stop them."},

    {FAULT_CHILD_MISSING, "children", DOCTOR_WARNING, "child_missing", "Child jobs of jobs do not exist",
     "Remove the ids from child_jobid, or create the jobs."},
    {FAULT_CHILD_ILLEGAL, "children", DOCTOR_WARNING, "child_illegal", "Child jobs of jobs are not valid ids",
     "Write ids, separated by commas, into child_jobid."},
    {FAULT_CHILD_CIRCLE, "children", DOCTOR_WARNING, "child_circle",
     "Jobs start each other in a loop: it ends after 100 rounds, and never in a Java admin",
     "Break the loop: remove one of the jobs from child_jobid of another."},

    {FAULT_BACK_OLD, "going_back", DOCTOR_NOTE, "back_schedule_old",
     "A Java admin up to 3.0 understands the schedule of jobs differently, or refuses it (lists with L or W, rates "
     "above 2147483 s)",
     NULL},
    {FAULT_BACK_MIDDLE, "going_back", DOCTOR_NOTE, "back_schedule_middle",
     "A Java admin 3.1 to 3.3 understands the schedule of jobs differently: L skips months with less than 31 days, W "
     "skips days that move",
     NULL},
    {FAULT_BACK_ROW, "going_back", DOCTOR_NOTE, "back_row_open",
     "A Java admin fires jobs without a glue_updatetime, and leaves their rows open forever", NULL},
};

/* Those of the check. */
static enum err tell_faults(struct doctor *d, struct errctx *ec)
{
    (void)ec;
    for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
        if (!strcmp(faults[i].check, d->check->code))
            doctor_tell_list(d, faults[i].level, faults[i].code, "xxl_job_info", faults[i].change, faults[i].what,
                             &d->survey->faults[faults[i].fault]);
    }
    return ERR_OK;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static void add_group(struct words *list, const struct group_row *row, int64_t running)
{
    char text[100];

    snprintf(text, sizeof text, "%" PRId64 " %.25s with %" PRId64, row->id, row->app_name, running);
    words_add(list, text);
}

static enum err check_groups(struct doctor *d, struct errctx *ec)
{
    const struct job_survey *survey = d->survey;
    struct words silent = {0}, empty = {0};
    enum err e = tell_faults(d, ec);

    for (size_t i = 0; i < survey->groups.count; i++) {
        const struct group_row *row = &survey->groups.rows[i];

        if (survey->facts[i].running && !survey->facts[i].addresses)
            add_group(row->manual ? &empty : &silent, row, survey->facts[i].running);
    }
    doctor_tell_list(d, DOCTOR_WARNING, "group_silent", "xxl_job_group",
                     "Start the executor, or check its log: AppName, addresses of the nodes, token.",
                     "Groups with started jobs, but without a registered executor", &silent);
    doctor_tell_list(d, DOCTOR_WARNING, "group_empty", "xxl_job_group",
                     "Enter the addresses, or make the group automatic.",
                     "Groups with started jobs, whose manual list has no address", &empty);
    return e;
}

/* ---- going back -------------------------------------------------------------------------------------------------- */

static enum err check_going_back(struct doctor *d, struct errctx *ec)
{
    struct going_back g;
    int64_t roles = 0;
    enum err e = store_load_going_back(d->session, &g, ec);

    if (!e)
        e = doctor_look_number(d, &roles, ec, "SELECT COUNT(*) FROM shardwheel_role");
    if (e)
        return e;
    if (!going_back_is_empty(&g))
        doctor_tell(d, DOCTOR_NOTE, "back_settings", NULL, NULL,
                    "A Java admin will ignore some settings and waiting runs: `shardwheelctl going-back` lists them.");
    if (roles)
        doctor_tell(d, DOCTOR_NOTE, "back_roles", "shardwheel_role", NULL,
                    "Users with the roles reader and runner (%" PRId64 ") see nothing in a Java admin.", roles);
    return tell_faults(d, ec);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

const struct doctor_check doctor_job_checks[] = {
    {"job_schedules", "Every started job has a next time.",
     (const char *const[]){"job_cron_broken", "job_cron_over", "job_zone_unknown", "job_schedule_none",
                           "job_rate_broken", "job_validity_over", "job_left_behind", "job_next_far",
                           "job_cannot_start", NULL},
     DOCTOR_JOBS, tell_faults},
    {"job_runs", "Every started job has something to run.",
     (const char *const[]){"job_no_handler", "job_no_source", "job_glue_unknown", "job_glue_off", "job_no_route",
                           "job_param_long", "job_word_unknown", NULL},
     DOCTOR_JOBS, tell_faults},
    {"job_groups", "Every started job has executors.",
     (const char *const[]){"job_no_group", "group_silent", "group_empty", NULL}, DOCTOR_JOBS, check_groups},
    {"children", "All child jobs exist, and no job starts itself.",
     (const char *const[]){"child_missing", "child_illegal", "child_circle", NULL}, DOCTOR_JOBS, tell_faults},
    {"going_back", "A Java admin could take over, and would do the same.",
     (const char *const[]){"back_settings", "back_roles", "back_schedule_old", "back_schedule_middle", "back_row_open",
                           NULL},
     DOCTOR_JOBS, check_going_back},
    {0},
};
