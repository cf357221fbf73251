/* SPDX-License-Identifier: MIT */
#include "ctl/doctor/report.h"
#include "ctl/parts.h"
#include "ctl/remote/remote.h"

#include "shardwheel/store/hook.h"
#include "shardwheel/store/database.h"
#include "shardwheel/store/job.h"
#include "shardwheel/store/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int print_error(const struct errctx *ec, int status)
{
    fprintf(stderr, "shardwheelctl: %s\n", ec->text);
    return status;
}

int ctl_fail_usage(int argc, char **argv, const struct errctx *ec)
{
    const char *verb = argc > 1 && !strcmp(argv[1], "ctl") ? (argc > 2 ? argv[2] : "") : argc > 1 ? argv[1] : "";

    if (!strcmp(verb, "apply")) /* its status 2 says that something differs */
        return print_error(ec, 1);
    return print_error(ec, !strcmp(verb, "doctor") ? doctor_exit_status(DOCTOR_UNKNOWN) : 2);
}

/* ---- set-zone ---------------------------------------------------------------------------------------------------- */

/* Every node must be able to load it by that name. */
static enum err check_zone(const char *name, struct errctx *ec)
{
    struct zone *zone = NULL;
    char portable[ZONE_NAME_MAX];
    enum err e = zone_load(name, &zone, ec);

    if (!e && (!zone_find_name(zone, 0, 0, portable) || strcmp(portable, name) != 0))
        e = err_set(ec, ERR_INPUT, "time zone \"%s\" depends on the machine: expected a name such as Asia/Shanghai",
                    name);
    zone_destroy(zone);
    return e;
}

static enum err set_zone(struct ctl *c, struct errctx *ec)
{
    const struct config_ctl *wanted = c->wanted;
    char before[ZONE_NAME_MAX];
    enum err e = check_zone(wanted->zone, ec);

    if (!e)
        e = store_set_zone(c->session, wanted->is_cron_zone ? CLUSTER_ZONE_CRON : CLUSTER_ZONE_DATABASE, wanted->zone,
                           wanted->force, before, ec);
    if (!e)
        buf_printf(&c->out, "zone of %s: %s -> %s\n", wanted->is_cron_zone ? "cron expressions" : "DATETIME columns",
                   before[0] ? before : "none on record", wanted->zone);
    return e;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static enum err open_session(struct ctl *c, struct errctx *ec)
{
    struct store_features features;
    enum err e = ERR_OK;

    /* Nobody may run then, so nobody runs the private server either. */
    if ((c->wanted->verb == CTL_SET_ZONE || c->wanted->verb == CTL_AFTER_RESTORE) && c->config->data_dir)
        e = private_server_start(c->config->data_dir, c->clock, &c->server, ec);
    if (!e)
        e = database_open(c->config, c->server, c->clock, NULL, &c->store, ec);
    if (!e)
        e = store_load_features(c->store, &features, ec);
    if (e)
        return err_wrap(ec, e, "database");
    if (features.empty || !features.own_tables)
        return err_set(ec, ERR_STATE, "the database has no %s tables: no node has started on it",
                       features.empty ? "xxl_job" : "shardwheel");
    if (c->wanted->verb >= CTL_SET_ZONE && !features.own_complete)
        return err_set(ec, ERR_STATE,
                       "the shardwheel tables are of an older release: first run `shardwheel install-schema` with the "
                       "same configuration");
    e = store_take_session(c->store, SESSION_NORMAL, &c->session, ec);
    return e || !features.own_complete ? e : store_learn_hooks(c->session, ec);
}

enum err ctl_refused(enum err e, const struct refusal *r, struct errctx *ec)
{
    return e ? err_set(ec, e, "%s", r->text.text) : ERR_OK;
}

enum err ctl_choose_zone(const char *on_record, const struct config *config, struct zone **out, struct errctx *ec)
{
    if (on_record[0])
        return zone_load(on_record, out, ec);
    return config->time_zone[0] ? zone_load(config->time_zone, out, ec) : zone_load_local(out, ec);
}

const struct actor ctl_actor = {
    .name = "shardwheelctl", .via = "shardwheelctl", .role = ROLE_ADMIN, .rights = RIGHTS_ALL};

static const struct command {
    enum err (*run)(struct ctl *c, struct errctx *ec);
    bool has_times; /* see take_times */
} commands[] = {
    [CTL_SHARDS] = {ctl_show_shards, false},
    [CTL_NODES] = {ctl_show_nodes, false},
    [CTL_DRAIN] = {ctl_drain, false},
    [CTL_UNDRAIN] = {ctl_undrain, false},
    [CTL_RELEASE] = {ctl_release, false},
    [CTL_RESHARD] = {ctl_reshard, false},
    [CTL_SET_ZONE] = {set_zone, false},
    [CTL_JOB] = {ctl_show_job, true},
    [CTL_SET_JOB] = {ctl_set_job, true},
    [CTL_KILL] = {ctl_kill, false},
    [CTL_LOG] = {ctl_show_log, false},
    [CTL_TRIGGER] = {ctl_trigger, true},
    [CTL_LATER] = {ctl_list_later, true},
    [CTL_CANCEL_LATER] = {ctl_cancel_later, false},
    [CTL_GOING_BACK] = {ctl_going_back, true},
    [CTL_WHY] = {ctl_explain, true},
    [CTL_AFTER_RESTORE] = {ctl_after_restore, true},
    [CTL_FLOW_LIST] = {ctl_list_flows, true},
    [CTL_FLOW_SHOW] = {ctl_show_flow, true},
    [CTL_FLOW_APPLY] = {ctl_apply_flow, true},
    [CTL_FLOW_DIFF] = {ctl_diff_flow, true},
    [CTL_FLOW_FROM_CHILDREN] = {ctl_flow_from_children, true},
    [CTL_FLOW_START] = {ctl_set_flow_started, true},
    [CTL_FLOW_STOP] = {ctl_set_flow_started, true},
    [CTL_FLOW_RUN] = {ctl_run_flow, true},
    [CTL_FLOW_RUNS] = {ctl_list_flow_runs, true},
    [CTL_FLOW_RUN_SHOW] = {ctl_show_flow_run, true},
    [CTL_FLOW_CANCEL] = {ctl_ask_flow_run, true},
    [CTL_FLOW_RERUN] = {ctl_ask_flow_run, true},
    [CTL_FLOW_STEP] = {ctl_ask_flow_step, true},
    [CTL_SET_PASSWORD] = {ctl_set_password, true},
    [CTL_RESET_FACTOR] = {ctl_reset_factor, true},
};

static enum err (*const remote_commands[])(struct ctl *c, struct remote *r, struct errctx *ec) = {
    [CTL_JOBS - CTL_JOBS] = remote_list_jobs,
    [CTL_RUNS - CTL_JOBS] = remote_list_runs,
    [CTL_START - CTL_JOBS] = remote_switch_job,
    [CTL_STOP - CTL_JOBS] = remote_switch_job,
    [CTL_EXPORT - CTL_JOBS] = remote_export,
    [CTL_APPLY - CTL_JOBS] = remote_apply,
    [CTL_ALARM_RULES - CTL_JOBS] = remote_list_rules,
    [CTL_SET_ALARM_RULE - CTL_JOBS] = remote_set_rule,
    [CTL_DELETE_ALARM_RULE - CTL_JOBS] = remote_delete_rule,
};

static int run_remote(struct ctl *c)
{
    struct remote *r = NULL;
    struct errctx ec = {{0}};
    enum err e = remote_create(c->config, &r, &ec);

    if (!e)
        e = remote_commands[c->wanted->verb - CTL_JOBS](c, r, &ec);
    if (!e)
        e = ctl_print(&c->out, &ec);
    buf_fini(&c->out);
    remote_destroy(r);
    return e ? print_error(&ec, 1) : c->exit_status;
}

/* Zone, now_ms and admin. */
static enum err take_times(struct ctl *c, struct errctx *ec)
{
    char on_record[ZONE_NAME_MAX] = "";
    enum err e = store_load_cron_zone(c->session, on_record, ec);
    struct admin_opts opts = {.store = c->store, .config = c->config, .guarded = c->config->java_guard};

    if (!e)
        e = ctl_choose_zone(on_record, c->config, &c->zone, ec);
    if (!e)
        e = store_load_wall_ms(c->session, &c->now_ms, ec);
    opts.zone = c->zone;
    return e ? e : admin_create(&opts, c->clock, NULL, &c->admin, ec);
}

static enum err carry_out(struct ctl *c, struct errctx *ec)
{
    const struct command *command = &commands[c->wanted->verb];
    enum err e = command->has_times ? take_times(c, ec) : ERR_OK;

    if (!e)
        e = command->run(c, ec);
    return e ? e : ctl_print(&c->out, ec);
}

/* What is missing then may be why the database says no. */
static void warn_unreadable(const struct config *config)
{
    size_t count;
    const struct config_note *notes = config_get_notes(config, &count);

    for (size_t i = 0; i < count; i++)
        if (notes[i].kind == CONFIG_NOTE_UNREADABLE)
            fprintf(stderr, "shardwheelctl: warning: %s\n", notes[i].text);
}

int ctl_run(const struct config *config)
{
    struct ctl c = {.config = config, .wanted = &config->ctl, .clock = clock_system()};
    struct errctx ec = {{0}};
    enum err e;

    warn_unreadable(config);
    if (config->ctl.verb == CTL_ALARM_TEST) { /* needs no database */
        bool fine = false;
        e = ctl_test_alarms(config, &fine, &ec);
        return e ? print_error(&ec, e == ERR_INPUT ? 2 : 1) : fine ? EXIT_SUCCESS : 1;
    }
    if (config->ctl.verb >= CTL_JOBS)
        return run_remote(&c);
    if (config->ctl.verb == CTL_DOCTOR) /* goes on without a database */
        return ctl_doctor(config);
    c.deadline_mono_ms = clock_mono_ms(c.clock) + config->ctl.wait_ms;
    e = open_session(&c, &ec);
    if (!e)
        e = carry_out(&c, &ec);
    buf_fini(&c.out);
    admin_destroy(c.admin);
    zone_destroy(c.zone);
    store_give_session(c.store, c.session);
    store_destroy(c.store);
    private_server_stop(c.server);
    cluster_status_fini(&c.status);
    free(c.nodes);
    return e ? print_error(&ec, 1) : EXIT_SUCCESS;
}
