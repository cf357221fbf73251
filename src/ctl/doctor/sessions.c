/* SPDX-License-Identifier: MIT */
/* Whether all sessions are at one server, and see at once what another one has written. */
#include "ctl/doctor/check.h"

#include "shardwheel/store/database.h"
#include "shardwheel/store/trials.h"

#include <stdio.h>
#include <string.h>

#define CHANGE_MAX 700
#define SESSIONS 5 /* a proxy that takes turns has sent some of them elsewhere */

struct probe {
    struct store *store;
    struct store_session *sessions[SESSIONS];
};

static enum err open_sessions(struct doctor *d, struct probe *p, struct errctx *ec)
{
    struct config config = *d->config;
    enum err e;

    config.datasource_max_sessions = SESSIONS;
    e = database_open(&config, NULL, d->clock, NULL, &p->store, ec);
    for (size_t i = 0; !e && i < SESSIONS; i++)
        e = store_take_session(p->store, SESSION_NORMAL, &p->sessions[i], ec);
    return e;
}

static void tell_different(struct doctor *d, const char *one, const char *other)
{
    doctor_tell(d, DOCTOR_CRITICAL, "sessions_elsewhere", NULL,
                "Set one server, or a port of the proxy for the primary only, in spring.datasource.url.",
                "Sessions use different servers: one %s, another one %s. Epochs and locks are valid on one server "
                "only, so fires would be lost or sent twice.",
                one, other);
}

/* Outside of a transaction and within one: proxies part reads from writes by that. */
static enum err compare_servers(struct doctor *d, struct probe *p, bool *told, struct errctx *ec)
{
    struct look_value first = {{0}}, other = {{0}};
    enum err e = store_look_server(p->sessions[0], /*in_txn=*/true, &first, ec);

    for (size_t i = 0; !e && !*told && i < 2 * SESSIONS; i++) {
        e = store_look_server(p->sessions[i % SESSIONS], i >= SESSIONS, &other, ec);
        if (!e && strcmp(first.text, other.text) != 0) {
            tell_different(d, first.text, other.text);
            *told = true;
        }
    }
    return e;
}

static enum err compare_reads(struct doctor *d, struct probe *p, struct errctx *ec)
{
    bool seen = true;
    enum err e = ERR_OK;

    for (size_t i = 0; !e && seen && i < SESSIONS; i++)
        e = store_look_behind(p->sessions[i], p->sessions[(i + 1) % SESSIONS], &seen, ec);
    if (!e && !seen)
        doctor_tell(
            d, DOCTOR_CRITICAL, "reads_behind", NULL,
            "Send all reads of this user to the server that accepts the writes.",
            "A session does not see at once what another one has written: reads go to a replica, or are cached.");
    return e;
}

/* ---- trials ------------------------------------------------------------------------------------------------------ */

static const char *const trial_codes[TRIAL_COUNT] = {
    [TRIAL_ONE_SERVER] = "sessions_elsewhere", [TRIAL_NEWEST_READ] = "reads_elsewhere",
    [TRIAL_MATCHED_ROWS] = "matched_rows",     [TRIAL_ROW_LOCKS] = "row_locks",
    [TRIAL_ISOLATION] = "isolation",           [TRIAL_IDS] = "ids_of_rows",
    [TRIAL_NAMED_LOCKS] = "named_locks",
};

static bool is_needed(const struct config *config, enum trial trial)
{
    return trial != TRIAL_NAMED_LOCKS || config->java_guard || config->coordination != CONFIG_COORDINATION_ZOOKEEPER;
}

/* What a node tries when it starts, and refuses to start on. */
static enum err check_trials(struct doctor *d, struct probe *p, struct errctx *ec)
{
    struct trials trials = {0};
    enum err e = store_make_trials(p->store, &trials, ec);

    for (size_t i = 0; !e && i < trials.count; i++) {
        const struct trial_fault *fault = &trials.faults[i];
        char change[CHANGE_MAX];

        snprintf(change, sizeof change, "No node starts before this is corrected: %s.", fault->change);
        doctor_tell(d, is_needed(d->config, fault->trial) ? DOCTOR_CRITICAL : DOCTOR_WARNING, trial_codes[fault->trial],
                    NULL, is_needed(d->config, fault->trial) ? change : "Keep shardwheel.java-guard=off on all nodes.",
                    "%s", fault->what);
    }
    return e;
}

/* ---- the check --------------------------------------------------------------------------------------------------- */

/* Those of the comparisons give back theirs: the trials take two of the same store. */
static void give_sessions(struct probe *p)
{
    for (size_t i = 0; i < SESSIONS; i++) {
        store_give_session(p->store, p->sessions[i]);
        p->sessions[i] = NULL;
    }
}

static enum err check_sessions(struct doctor *d, struct errctx *ec)
{
    struct probe probe = {0};
    bool told = false;
    enum err e = open_sessions(d, &probe, ec);

    if (!e)
        e = compare_servers(d, &probe, &told, ec);
    if (!e && d->has_tables && d->features.own_complete)
        e = compare_reads(d, &probe, ec);
    give_sessions(&probe);
    if (!e && !told && d->has_tables && d->features.own_complete)
        e = check_trials(d, &probe, ec);
    if (told || e == ERR_DENIED) /* another server may lack the tables; rights are another check's */
        e = ERR_OK;
    store_destroy(probe.store);
    return e;
}

const struct doctor_check doctor_session_checks[] = {
    {"sessions", "All sessions use one server, which passes the tests of a node.",
     (const char *const[]){"sessions_elsewhere", "reads_behind", "reads_elsewhere", "matched_rows", "row_locks",
                           "isolation", "ids_of_rows", "named_locks", NULL},
     DOCTOR_DATABASE, check_sessions},
    {0},
};
