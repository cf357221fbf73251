/* SPDX-License-Identifier: MIT */
/*
 * store/replication: how the commits of a server get to its replicas, as its settings say, and what a failover to one
 * of them may lose. See store/conn.h for threads and errors. Asked for at a start and by doctor, never per fire.
 */
#ifndef SHARDWHEEL_STORE_REPLICATION_H
#define SHARDWHEEL_STORE_REPLICATION_H

#include "shardwheel/store/conn.h"

/* All zero where the server replicates to nobody, or asynchronously: that it has replicas cannot be seen without rights
 * that nodes do not need. */
struct replication {
    bool semi_sync;      /* a commit waits for a replica to have it ... */
    int64_t timeout_ms;  /* ... for so long, then commits go on without */
    bool is_hasty;       /* ... and not at all while no replica is connected */
    bool is_seen_before; /* other sessions see a commit before a replica has it */
    bool is_confirming;  /* commits wait at present */
    int64_t replicas;    /* that are connected and confirm */
    bool group;          /* MySQL's group replication */
    bool several_primaries;
    char consistency[32]; /* of a group: when a new primary answers; "" where it cannot be set */
    bool source_names;    /* settings are called rpl_semi_sync_source_..., not ..._master_... */
};

/* Two statements. */
MUST_CHECK enum err store_load_replication(struct store_session *s, struct replication *out, struct errctx *ec);
/* Takes one variable or status value of the server in; others change nothing. */
void replication_note(struct replication *r, const char *name, const char *value);
/* Commits wait for ever (a day at least) while no replica confirms. */
bool replication_waits(const struct replication *r);

#define REPLICATION_RISKS_MAX 3
struct replication_risk {
    const char *code;   /* constant: commits_replicas_time, commits_replicas_seen, group_primaries, group_consistency */
    char settings[160]; /* "name=value ...", those that it comes from */
    const char *what;   /* constant: what may happen, a sentence without its full stop */
    const char *change; /* constant: what to set, a sentence */
};
/* What a failover may cost with these settings; their number. Nothing: as far as the server tells, it loses nothing. */
size_t replication_find_risks(const struct replication *r, struct replication_risk out[REPLICATION_RISKS_MAX]);

#endif
