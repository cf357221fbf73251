/* SPDX-License-Identifier: MIT */
/*
 * coord/primary: keeps the sessions of this node on the database server that takes the writes: looks at the candidates
 * of the JDBC URL, agrees with other nodes through ZooKeeper where there are several, and raises the generation when
 * the server is another one. docs/protocol.md, "Which server", has the rules.
 *
 * Threads     Two of its own, `database` and `candidates`. primary_get_health, primary_look: any. `changed` is called
 *             on `database`.
 * Invariants  While it runs, all sessions go where it says, or nowhere. One host needs no ZooKeeper, and stays in use
 *             while it is away, as before.
 * Ownership   primary_create copies its options but for `hosts`, which must outlive it.
 * Time        Monotonic.
 */
#ifndef SHARDWHEEL_COORD_PRIMARY_H
#define SHARDWHEEL_COORD_PRIMARY_H

#include "shardwheel/counters.h"
#include "shardwheel/coord.h"
#include "shardwheel/store/hosts.h"

struct primary;

struct primary_opts {
    struct hosts *hosts;
    const char *node_name;
    const char *incarnation;
    const char *servers;   /* of ZooKeeper, as in coord_opts; NULL: standalone */
    const char *base_path; /* likewise */
    int64_t session_timeout_ms;
    struct watch *watch;
};

#define PRIMARY_WHY_MAX 800

MUST_CHECK enum err primary_create(const struct primary_opts *opts, const struct clock *clock,
                                   struct counters *counters, struct primary **out, struct errctx *ec);
/* Begins, and waits until a server is in use: ERR_LOST, with what each candidate says, when none is in time. */
MUST_CHECK enum err primary_start(struct primary *p, struct errctx *ec);
/* From now on `changed` is told of each new generation that is in use: no session of before goes on. `lossless`: the
 * server has all that was committed on the one before. It must not call back. */
void primary_set_changed(struct primary *p, void (*changed)(void *arg, int64_t generation, bool lossless), void *arg);
void primary_look(struct primary *p); /* at the server in use: its tables have just been made */
/* False, and why: no server is in use. */
bool primary_is_healthy(struct primary *p, char why[PRIMARY_WHY_MAX]);
void primary_stop(struct primary *p); /* no session may be in use */
void primary_join(struct primary *p);
void primary_destroy(struct primary *p); /* NULL is fine */

#endif
