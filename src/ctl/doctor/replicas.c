/* SPDX-License-Identifier: MIT */
/* What a failover to a replica of this server loses. */
#include "ctl/doctor/check.h"

#include "shardwheel/store/replication.h"

#include <ctype.h>
#include <inttypes.h>

/* How it stands at present, whatever is set. */
static void tell_present(struct doctor *d, const struct replication *r)
{
    if (!r->is_confirming)
        doctor_tell(d, DOCTOR_WARNING, "commits_replicas", NULL, "Repair the replicas.",
                    "Semi-synchronous replication is on, but no replica confirms, and commits do not wait: a failover "
                    "now loses the newest commits, and fires may be sent again.");
    else if (!r->replicas)
        doctor_tell(d, DOCTOR_CRITICAL, "commits_replicas", NULL,
                    "Repair a replica. If there is none, turn semi-synchronous replication off.",
                    "Semi-synchronous replication is on, but no replica is connected: commits wait for one, so nothing "
                    "is planned or sent.");
}

/* The risks are clauses: they go on in a line of a node's log. */
static void tell_risk(struct doctor *d, const struct replication_risk *risk)
{
    doctor_tell(d, DOCTOR_WARNING, risk->code, NULL, risk->change, "%c%s. It comes from %s.",
                toupper((unsigned char)risk->what[0]), risk->what + 1, risk->settings);
}

static enum err check_replicas(struct doctor *d, struct errctx *ec)
{
    struct replication_risk risks[REPLICATION_RISKS_MAX];
    struct replication r;
    enum err e = store_load_replication(d->session, &r, ec);
    size_t count;

    if (e)
        return e;
    if (r.semi_sync)
        tell_present(d, &r);
    count = replication_find_risks(&r, risks);
    for (size_t i = 0; i < count; i++)
        tell_risk(d, &risks[i]);
    return ERR_OK;
}

const struct doctor_check doctor_replica_checks[] = {
    {"replicas", "As far as the server knows, a failover to its replica loses nothing.",
     (const char *const[]){"commits_replicas", "commits_replicas_time", "commits_replicas_seen", "group_primaries",
                           "group_consistency", NULL},
     DOCTOR_DATABASE, check_replicas},
    {0},
};
