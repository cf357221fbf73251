/* SPDX-License-Identifier: MIT */
#include "config/ctl_forms.h"

#include "config/key.h"
#include "shardwheel/text.h"

#include <string.h>

#define WIDTH 120
#define HELP_COLUMN "                               "

#define JSON (1u << CTL_FLAG_JSON)
#define FORCE (1u << CTL_FLAG_FORCE)
#define DRY_RUN (1u << CTL_FLAG_DRY_RUN)
#define FOLLOW (1u << CTL_FLAG_FOLLOW)
#define VERBOSE (1u << CTL_FLAG_VERBOSE)
#define ASK (1u << CTL_FLAG_ASK)

#define APPLY (1u << CTL_FLAG_APPLY)
#define SETTINGS CTL_TAKES_SETTINGS

#define FIELD(name) offsetof(struct config_ctl, name)

const struct ctl_flag ctl_flags[CTL_FLAGS] = {
    [CTL_FLAG_JSON] = {"--json", FIELD(json), "it is only for commands that show something"},
    [CTL_FLAG_FORCE] = {"--force", FIELD(force), "it is only for drain, set-zone and after-restore"},
    [CTL_FLAG_DRY_RUN] = {"--dry-run", FIELD(dry_run), "it is only for after-restore, apply and flow apply"},
    [CTL_FLAG_FOLLOW] = {"--follow", FIELD(follow), "it is only for log and runs"},
    [CTL_FLAG_VERBOSE] = {"--verbose", FIELD(verbose), "it is only for doctor"},
    [CTL_FLAG_ASK] = {"--ask-executors", FIELD(ask_executors), "it is only for doctor"},
    [CTL_FLAG_APPLY] = {"--apply", FIELD(apply), "it is only for flow from-children"},
};

#define TEXT(field, of, said) static const struct ctl_operand of = {.missing = said, .offset = FIELD(field)}
#define NUMBER(field, of, least, most, said, wanted)                                                                   \
    static const struct ctl_operand of = {                                                                             \
        .missing = said, .offset = FIELD(field), .min = least, .max = most, .expected = wanted}
#define WORDS(of, least, most, said)                                                                                   \
    static const struct ctl_operand of = {.missing = said, .words_min = least, .words_max = most}

TEXT(node, node, "the name of the node is missing");
NUMBER(number, shard, 0, 1023, "the number of the shard is missing", "expected a shard, 0 to 1023");
NUMBER(number, shards, 1, 1024, "the number of shards is missing", "expected a number of shards, 1 to 1024, or cancel");
WORDS(user, 1, 1, "the name of the user is missing");
TEXT(zone, zone, "database or cron is missing, and the zone");
NUMBER(job, job, 1, INT32_MAX, "the id of the job is missing", "expected the id of a job, 1 to 2147483647");
NUMBER(log_id, run, 1, INT64_MAX, "the id of the log row is missing", "expected the id of a log row");
NUMBER(log_id, later, 1, INT64_MAX, "the id of the waiting run is missing", "expected the id of a waiting run");
NUMBER(log_id, flow_run, 1, INT64_MAX, "the id of the flow run is missing", "expected the id of a flow run");
WORDS(flow, 1, 1, "the name of the flow is missing");
WORDS(any_flow, 0, 1, "");
WORDS(any_job, 0, 1, "");
WORDS(one_job, 1, 1, "the job is missing: its id, its name, or AppName/name");
WORDS(kind, 1, 1, "the kind of the rule is missing: no_success, long_run, not_done, few_executors or late_shard");
NUMBER(log_id, rule, 1, INT64_MAX, "the id of the rule is missing", "expected the id of a rule");
WORDS(step, 3, 3, "expected the id of the flow run, the name of the step and the action");
WORDS(versions, 3, 3, "expected the name of the flow and two versions");

const struct ctl_form ctl_forms[] = {
    {"jobs", CTL_JOBS, "[--group APP] [--text T] [--tag TAG] [--running yes|no] [--result failed] [--limit N] [--json]",
     NULL, JSON | SETTINGS, 0, "list jobs"},
    {"runs", CTL_RUNS, "[JOB] [--group APP] [--result STATES] [--text T] [--limit N] [--follow] [--json]", &any_job,
     JSON | FOLLOW | SETTINGS, 0,
     "list the newest runs. STATES: running, success, failed, ... --follow: then print each run that "
     "starts or changes its state"},
    {"start", CTL_START, "JOB [--json]", &one_job, JSON, 0,
     "start the schedule of a job. JOB: id, name, or AppName/name"},
    {"stop", CTL_STOP, "JOB [--json]", &one_job, JSON, 0, "stop it; runs that are open continue"},
    {"export", CTL_EXPORT, "[--group APP]", NULL, 0, 0, "write groups, jobs, flows and alarm rules as a document"},
    {"apply", CTL_APPLY, "-f FILE [--dry-run] [--json]", NULL, DRY_RUN | JSON | SETTINGS, 0,
     "change groups, jobs and flows to match such a document. FILE -: read stdin. --dry-run: show the differences; "
     "status 2 if there are any"},
    {"alarm-rules", CTL_ALARM_RULES, "[--json]", NULL, JSON, 0, "list the alarm rules"},
    {"set-alarm-rule", CTL_SET_ALARM_RULE, "KIND --limit N|--done-by HH:MM [--tag TAG] [--group APP] [--json]", &kind,
     JSON | SETTINGS, 0,
     "add the rule of this kind, tag and group, or change its limit. KIND: no_success, long_run, not_done, "
     "few_executors, late_shard"},
    {"delete-alarm-rule", CTL_DELETE_ALARM_RULE, "ID", &rule, 0, 0, "delete a rule"},
    {"shards", CTL_SHARDS, "[--json]", NULL, JSON, 0, "show the owner and the progress of each shard"},
    {"nodes", CTL_NODES, "[--json]", NULL, JSON, 0, "show the nodes and their state"},
    {"drain", CTL_DRAIN, "NODE [--force] [--wait S]", &node, FORCE, 30 * SECOND_MS,
     "move all shards away from NODE, until it is undrained or ends. Refused when no other node is live, unless "
     "forced"},
    {"undrain", CTL_UNDRAIN, "NODE", &node, 0, 0, "let NODE own shards again"},
    {"release", CTL_RELEASE, "SHARD [--wait S]", &shard, 0, 30 * SECOND_MS, "move the shard to another node"},
    {"reshard", CTL_RESHARD, "N|cancel [--wait S]", &shards, 0, 60 * SECOND_MS,
     "change the number of shards, 1 to 1024, while nodes run; or cancel a change that is not done yet"},
    {"set-zone", CTL_SET_ZONE, "database|cron ZONE [--force]", &zone, FORCE, 0,
     "set the cluster's zone of DATETIME columns, or of cron expressions, when no node runs. Refused while there are "
     "planned fires that nodes with the new zone would not find, unless forced"},
    {"job", CTL_JOB, "ID [--json]", &job, JSON, 0,
     "show the schedule of a job and its settings that xxl-job does not have"},
    {"set-job", CTL_SET_JOB, "ID --SETTING VALUE... [--json]", &job, JSON | SETTINGS, 0,
     "change them; \"none\" clears a setting. SETTING: time-zone, fixed-delay, valid-from, valid-until, retry-wait, "
     "retry-wait-max, hold, resend-lost, retention-days, success-within, longest-run, done-by, tags, "
     "kept-logs"},
    {"kill", CTL_KILL, "ID", &run, 0, 0,
     "end the run with this id in xxl_job_log, and all other runs of its job on the same executor"},
    {"log", CTL_LOG, "ID [--follow] [--find TEXT]", &run, FOLLOW | SETTINGS, 0,
     "show the log of a run, read from its executor, or as a node has kept it if the executor is gone; --follow: until "
     "the run ends; --find: only lines with TEXT, in upper or lower case, with their numbers"},
    {"alarm-test", CTL_ALARM_TEST, "[--group APP] [--json]", NULL, JSON, 0,
     "send a test message to every alarm channel and show the result. --group: only channels of this executor group"},
    {"trigger", CTL_TRIGGER, "JOB [--param P] [--addresses A] [--at TIME] [--json]", &job, JSON | SETTINGS, 0,
     "run a job, now or at a time"},
    {"later", CTL_LATER, "[--json]", NULL, JSON, 0, "list waiting runs: manual runs for a time, retries, fires"},
    {"cancel-later", CTL_CANCEL_LATER, "ID", &later, 0, 0, "cancel one of them"},
    {"going-back", CTL_GOING_BACK, "[--json]", NULL, JSON, 0, "list what a Java admin will not do"},
    {"why", CTL_WHY, "JOB [--from TIME] [--to TIME] [--json]", &job, JSON | SETTINGS, 0,
     "show each due time and what happened, in one sentence. Default: the last hour. TIME: YYYY-MM-DD HH:MM[:SS], "
     "followed by Z for UTC"},
    {"after-restore", CTL_AFTER_RESTORE, "[--from TIME] [--ids N] [--dry-run] [--force] [--json]", NULL,
     JSON | FORCE | DRY_RUN | SETTINGS, 0,
     "after a restore from a backup, when no node runs: list what was due since the backup. It may have run, and is "
     "not sent again. TIME of the backup; default: of the newest cursor. N: ids of the log to skip"},
    {"set-password", CTL_SET_PASSWORD, "NAME", &user, 0, 0,
     "set the password of a user, and end all sessions of the user. The password is read from the terminal, or as one "
     "line of stdin"},
    {"reset-second-factor", CTL_RESET_FACTOR, "NAME", &user, 0, 0,
     "remove the second factor of a user who has lost it. If the role needs one, the next login sets up another"},
    {"doctor", CTL_DOCTOR, "[--json] [--verbose] [--ask-executors] [--wait S]", NULL, JSON | VERBOSE | ASK,
     30 * SECOND_MS,
     "check the whole installation and say what to change. Status: 0 fine, 1 warnings, 2 critical, 3 not checked. "
     "--verbose: also list what is fine. --ask-executors: also call each executor"},
    {"flow list", CTL_FLOW_LIST, "[--json]", NULL, JSON, 0, "list the flows"},
    {"flow show", CTL_FLOW_SHOW, "NAME [--json]", &flow, JSON, 0,
     "show a flow and its versions; --json: also its document"},
    {"flow apply", CTL_FLOW_APPLY, "-f FILE [--dry-run] [--json]", NULL, DRY_RUN | JSON | SETTINGS, 0,
     "create the flow of this document, or make a new version of it. FILE -: read stdin. --dry-run: only check the "
     "document, and show what would change"},
    {"flow diff", CTL_FLOW_DIFF, "NAME VERSION VERSION", &versions, 0, 0, "show how two versions differ"},
    {"flow from-children", CTL_FLOW_FROM_CHILDREN, "JOB [--apply]", &job, APPLY, 0,
     "write a job and its child jobs as the document of a flow; --apply: also create that flow"},
    {"flow start", CTL_FLOW_START, "NAME", &flow, 0, 0, "start the schedule of a flow"},
    {"flow stop", CTL_FLOW_STOP, "NAME", &flow, 0, 0, "stop it; runs that are open continue"},
    {"flow run", CTL_FLOW_RUN, "NAME [--param K=V]... [--key KEY] [--json]", &flow, JSON | SETTINGS, 0,
     "run a flow now. V: as JSON if the parameter is a number, a boolean or JSON. The same KEY gives the same run"},
    {"flow runs", CTL_FLOW_RUNS, "[NAME] [--json]", &any_flow, JSON, 0, "list the newest runs of a flow, or of all"},
    {"flow run-show", CTL_FLOW_RUN_SHOW, "RUN [--json]", &flow_run, JSON, 0, "show a run and its steps"},
    {"flow cancel", CTL_FLOW_CANCEL, "RUN", &flow_run, 0, 0, "end a run; its running steps are stopped"},
    {"flow rerun", CTL_FLOW_RERUN, "RUN", &flow_run, 0, 0,
     "run the failed steps of a run again, and what follows them"},
    {"flow step", CTL_FLOW_STEP, "RUN STEP retry|skip|done|approve|reject [--remark TEXT]", &step, SETTINGS, 0,
     "run a failed step again, skip it, mark it as done, or answer an approval"},
};
const size_t ctl_form_count = ARRAY_LEN(ctl_forms);

/* The word of the form that is told: its length, 0 where there is none, or it is that of the form before. */
static size_t find_word(size_t i, const char *first, const char **out)
{
    const char *name = ctl_forms[i].name;
    size_t len = strcspn(name, " ");

    *out = first ? name + len + 1 : name;
    if (first)
        return name[len] && len == strlen(first) && !strncmp(name, first, len) ? strlen(*out) : 0;
    return i > 0 && !strncmp(ctl_forms[i - 1].name, name, len + (name[len] == ' ')) ? 0 : len;
}

void ctl_forms_put_names(const char *first, struct buf *out)
{
    size_t count = 0, told = 0;
    const char *word;

    for (size_t i = 0; i < ctl_form_count; i++)
        count += find_word(i, first, &word) > 0;
    for (size_t i = 0; i < ctl_form_count; i++) {
        size_t len = find_word(i, first, &word);

        if (len > 0)
            buf_printf(out, "%s%.*s", told == 0 ? "" : told + 1 < count ? ", " : " or ", (int)len, word);
        told += len > 0;
    }
}

/* On the left what stands on the line, on the right what it does: two spaces behind it at least, or below it where the
 * left is too wide. packaging/make-files reads this. */
static void put_entry(struct buf *out, const char *name, const char *line, const char *help)
{
    size_t at = out->len, len = strlen(name) + 1 + strlen(line);

    if (4 + len > strlen(HELP_COLUMN)) {
        buf_printf(out, "  %s %s\n", name, line);
        text_put_wrapped(out, HELP_COLUMN, help, WIDTH);
        return;
    }
    text_put_wrapped(out, HELP_COLUMN, help, WIDTH);
    if (buf_failed(out))
        return;
    memcpy(out->data + at + 2, name, strlen(name));
    memcpy(out->data + at + 3 + strlen(name), line, strlen(line));
}

void config_write_ctl_usage(struct buf *out)
{
    buf_puts(out,
             "usage: shardwheelctl COMMAND [--config FILE]... [--KEY=VALUE]...   (or: shardwheel ctl COMMAND ...)\n"
             "\n"
             "Shows and controls a cluster. jobs, runs, start, stop, export, apply and those of alarm rules use the "
             "API of a\n"
             "node, with the URL and the token of shardwheel.ctl.url and shardwheel.ctl.token (or SHARDWHEEL_CTL_URL,\n"
             "SHARDWHEEL_CTL_TOKEN).\n"
             "All others use the database of the nodes, with their configuration. kill and log also connect to the\n"
             "executor of the run; doctor also connects to ZooKeeper and the nodes.\n"
             "\n");
    for (size_t i = 0; i < ctl_form_count; i++)
        put_entry(out, ctl_forms[i].name, ctl_forms[i].line, ctl_forms[i].help);
    buf_putc(out, '\n');
    put_entry(out, "--wait", "S", "seconds to wait for the result. Default: drain, release and doctor 30, reshard 60");
    put_entry(out, "--data", "DIR", "the database of a node that runs as: shardwheel standalone --data DIR");
    buf_puts(out, "\nNODE is the name or incarnation of a node, or the beginning of one. Status: 0 done, 1 not done, 2 "
                  "wrong usage.\n");
}
