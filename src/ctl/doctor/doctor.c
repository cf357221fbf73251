/* SPDX-License-Identifier: MIT */
#include "ctl/doctor/check.h"

#include "ctl/doctor/survey.h"
#include "ctl/parts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- running ----------------------------------------------------------------------------------------------------- */

static bool has_needs(const struct doctor *d, enum doctor_needs needs)
{
    switch (needs) {
    case DOCTOR_NOTHING: return true;
    case DOCTOR_DATABASE: return d->session != NULL;
    case DOCTOR_TABLES:
    case DOCTOR_JOBS: return d->has_tables;
    }
    return false;
}

/* No check waits for a database that went away: those that need it are left out from now on. */
static void look_after_database(struct doctor *d)
{
    struct errctx ec = {{0}};

    if (!d->session || store_ping(d->session, &ec) == ERR_OK)
        return;
    store_give_session(d->store, d->session);
    d->session = NULL;
    d->has_tables = false;
    doctor_tell(d, DOCTOR_CRITICAL, DATABASE_LOST, NULL,
                "Check whether the server was stopped, hangs, or ends sessions; and the network.",
                "The database became unavailable during the checks: %s.", ec.text);
}

/* Told once. */
static bool has_time(struct doctor *d)
{
    if (clock_mono_ms(d->clock) < d->deadline_mono_ms)
        return true;
    if (!d->is_over)
        doctor_tell(d, DOCTOR_UNKNOWN, COULD_NOT_LOOK, NULL, "Use a longer --wait.",
                    "There was not enough time for all checks.");
    d->is_over = true;
    return false;
}

static void run_check(struct doctor *d, const struct doctor_check *check)
{
    size_t before = d->report.count;
    struct errctx ec = {{0}};
    enum err e = ERR_OK;

    d->check = check;
    if (!has_needs(d, check->needs) || !has_time(d)) {
        report_leave_out(&d->report, check->code);
        return;
    }
    if (check->needs == DOCTOR_JOBS)
        e = survey_jobs(d, &ec);
    if (!e)
        e = check->run(d, &ec);
    if (e)
        doctor_tell(d, DOCTOR_UNKNOWN, COULD_NOT_LOOK, check->code, NULL, "This check failed: %s.", ec.text);
    if (e == ERR_LOST)
        look_after_database(d);
    if (d->report.count == before)
        doctor_tell(d, DOCTOR_OK, check->code, NULL, NULL, "%s", check->title);
}

/* A wait for the database must end well before the deadline, whatever the settings of the nodes are. */
static void shorten_waits(const struct config *config, struct config *out, struct jdbc_url *url)
{
    int64_t wait_ms = config->ctl.wait_ms < DOCTOR_WAIT_MS ? config->ctl.wait_ms : DOCTOR_WAIT_MS;

    *out = *config;
    if (out->datasource_connection_timeout_ms > wait_ms)
        out->datasource_connection_timeout_ms = wait_ms;
    if (!config->datasource)
        return;
    *url = *config->datasource;
    if (!url->connect_timeout_ms || url->connect_timeout_ms > wait_ms)
        url->connect_timeout_ms = wait_ms;
    if (!url->socket_timeout_ms || url->socket_timeout_ms > wait_ms + 1000)
        url->socket_timeout_ms = wait_ms + 1000; /* behind the limit of a statement */
    out->datasource = url;
}

static int print_report(const struct doctor_report *report, const struct config *config)
{
    struct buf text = {0};
    struct errctx ec = {{0}};
    enum err e;

    if (config->ctl.json)
        report_write_json(report, &text);
    else
        report_write_text(report, config->ctl.verbose, &text);
    e = ctl_print(&text, &ec);
    buf_fini(&text);
    if (e) {
        fprintf(stderr, "shardwheelctl: %s\n", ec.text);
        return doctor_exit_status(DOCTOR_UNKNOWN);
    }
    return doctor_exit_status(report_get_worst(report));
}

int ctl_doctor(const struct config *config)
{
    const struct clock *clock = clock_system();
    struct jdbc_url url;
    struct config hasty;
    struct doctor d = {
        .config = &hasty, .clock = clock, .deadline_mono_ms = clock_mono_ms(clock) + config->ctl.wait_ms};
    int status;

    shorten_waits(config, &hasty, &url);
    for (const struct doctor_check *const *table = doctor_tables; *table; table++) {
        for (const struct doctor_check *check = *table; check->code; check++)
            run_check(&d, check);
    }
    status = print_report(&d.report, config);
    survey_destroy(d.survey);
    store_give_session(d.store, d.session);
    store_destroy(d.store);
    cluster_status_fini(&d.status);
    free(d.nodes);
    report_fini(&d.report);
    return status;
}
