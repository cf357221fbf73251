/* SPDX-License-Identifier: MIT */
#include "config/ctl_forms.h"

#include "config/keys.h"
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

#define FIELD(name) offsetof(struct config_ctl, name)

const struct ctl_flag ctl_flags[CTL_FLAGS] = {
    [CTL_FLAG_JSON] = {"--json", FIELD(json), "it goes with commands that show or tell something"},
    [CTL_FLAG_FORCE] = {"--force", FIELD(force), "it goes with drain, set-zone and after-restore"},
    [CTL_FLAG_DRY_RUN] = {"--dry-run", FIELD(dry_run), "it goes with after-restore"},
    [CTL_FLAG_FOLLOW] = {"--follow", FIELD(follow), "it goes with log"},
    [CTL_FLAG_VERBOSE] = {"--verbose", FIELD(verbose), "it goes with doctor"},
    [CTL_FLAG_ASK] = {"--ask-executors", FIELD(ask_executors), "it goes with doctor"},
};

static const struct ctl_operand node = {"the node's name must follow", FIELD(node), 0, 0, NULL},
                                shard = {"the shard's number must follow", FIELD(number), 0, 1023,
                                         "expected a shard, 0 to 1023"},
                                shards = {"the number of shards must follow", FIELD(number), 1, 1024,
                                          "expected a number of shards, 1 to 1024, or cancel"},
                                zone = {"database or cron must follow, and the zone", FIELD(zone), 0, 0, NULL},
                                job = {"the job's id must follow", FIELD(job), 1, INT32_MAX,
                                       "expected the id of a job, 1 to 2147483647"},
                                run = {"the id of the run's log row must follow", FIELD(log_id), 1, INT64_MAX,
                                       "expected the id of a log row"},
                                later = {"the id of the later row must follow", FIELD(log_id), 1, INT64_MAX,
                                         "expected the id of a later row"};

const struct ctl_form ctl_forms[] = {
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
    {"set-job", CTL_SET_JOB, "ID --SETTING VALUE... [--json]", &job, JSON, 0,
     "change them; \"none\" clears a setting. SETTING: time-zone, fixed-delay, valid-from, valid-until, retry-wait, "
     "retry-wait-max, hold, resend-lost, retention-days, tags"},
    {"kill", CTL_KILL, "ID", &run, 0, 0,
     "end the run with this id in xxl_job_log, and all other runs of its job on the same executor"},
    {"log", CTL_LOG, "ID [--follow]", &run, FOLLOW, 0,
     "show the log of a run, read from its executor; --follow: until the run ends"},
    {"alarm-test", CTL_ALARM_TEST, "[--group APP] [--json]", NULL, JSON, 0,
     "send a test message to every alarm channel and show the result. --group: only channels of this executor group"},
    {"trigger", CTL_TRIGGER, "JOB [--param P] [--addresses A] [--at TIME] [--json]", &job, JSON, 0,
     "run a job, now or at a time"},
    {"later", CTL_LATER, "[--json]", NULL, JSON, 0, "list waiting runs: manual runs for a time, retries, fires"},
    {"cancel-later", CTL_CANCEL_LATER, "ID", &later, 0, 0, "cancel one of them"},
    {"going-back", CTL_GOING_BACK, "[--json]", NULL, JSON, 0, "list what a Java admin will not do"},
    {"why", CTL_WHY, "JOB [--from TIME] [--to TIME] [--json]", &job, JSON, 0,
     "show each due time and what happened, in one sentence. Default: the last hour. TIME: YYYY-MM-DD HH:MM[:SS], "
     "followed by Z for UTC"},
    {"after-restore", CTL_AFTER_RESTORE, "[--from TIME] [--ids N] [--dry-run] [--force] [--json]", NULL,
     JSON | FORCE | DRY_RUN, 0,
     "for a database that was restored from a backup, when no node runs: what was due since may have run, and is not "
     "sent again; it is listed. TIME of the backup, if it is not the time of the newest cursor; skip N ids of the "
     "log"},
    {"doctor", CTL_DOCTOR, "[--json] [--verbose] [--ask-executors] [--wait S]", NULL, JSON | VERBOSE | ASK,
     30 * SECOND_MS,
     "check the whole installation and say what to change. Status: 0 fine, 1 warnings, 2 critical, 3 not checked. "
     "--verbose: also list what is fine. --ask-executors: also call each executor"},
};
const size_t ctl_form_count = ARRAY_LEN(ctl_forms);

void ctl_forms_put_names(struct buf *out)
{
    for (size_t i = 0; i < ctl_form_count; i++)
        buf_printf(out, "%s%s", i == 0 ? "" : i + 1 < ctl_form_count ? ", " : " or ", ctl_forms[i].name);
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
             "Shows and controls a cluster. It uses the database of the nodes, with their configuration. kill and log\n"
             "also connect to the executor of the run; doctor also connects to ZooKeeper and the nodes.\n"
             "\n");
    for (size_t i = 0; i < ctl_form_count; i++)
        put_entry(out, ctl_forms[i].name, ctl_forms[i].line, ctl_forms[i].help);
    buf_putc(out, '\n');
    put_entry(out, "--wait", "S", "seconds to wait for the result. Default: drain, release and doctor 30, reshard 60");
    put_entry(out, "--data", "DIR", "the database of a node that runs as: shardwheel standalone --data DIR");
    buf_puts(out, "\nNODE is the name or incarnation of a node, or the beginning of one. Status: 0 done, 1 not done, 2 "
                  "wrong usage.\n");
}
