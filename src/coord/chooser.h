/* SPDX-License-Identifier: MIT */
/*
 * chooser: which database server this node uses, and whether it is to raise another one. docs/protocol.md, "Which
 * server", has the rules.
 *
 * Threads     One at a time.
 * Invariants  Pure: what candidates say and what stands in ZooKeeper comes in, a plan comes out. In a cluster a server
 *             is used only under the generation that BASE/primary has, and only when its row has that generation and
 *             names it.
 * Ownership   chooser_init copies.
 * Time        Monotonic, passed in.
 */
#ifndef COORD_CHOOSER_H
#define COORD_CHOOSER_H

#include "coord/agreed.h"
#include "shardwheel/store/hosts.h"

#define CHOOSER_GONE_MS 1000   /* a server that does not answer for so long is gone */
#define CHOOSER_LOOK_MS 200    /* between two looks at a candidate while one is searched for */
#define CHOOSER_QUIET_MS 10000 /* ... at those that are not in use while all is well */
#define CHOOSER_SLOW_MS 3000   /* ... at one that was silent for long */
#define CHOOSER_RECENT_MS 5000 /* what a candidate said counts for so long */
#define CHOOSER_RAISE_MS 30000 /* who decided and lives is left alone for so long */

struct candidate {
    struct host_facts facts;
    bool has_facts;
    int64_t seen_mono_ms;  /* when it was asked for the facts */
    int64_t again_mono_ms; /* not asked again before */
};

struct chooser {
    struct candidate *list;
    size_t count;
    bool in_cluster;
    char name[AGREED_NAME_MAX]; /* our incarnation */

    int used;                      /* -1: none */
    int64_t generation;            /* in use */
    char server[STORE_SERVER_MAX]; /* in use, or used last */
    bool is_galera;                /* the same */
    int64_t known;                 /* the newest generation that is known of; in a cluster: that was agreed on */
    int64_t bad_mono_ms;     /* the one in use, or the agreed one, does not answer since then; INT64_MAX: it does */
    int64_t raising_mono_ms; /* the decision stands and is not carried out since then; INT64_MAX: it is */
    int64_t decided;         /* generation of the decision that was looked at last */
    bool is_raising;         /* a raise is under way; nothing else is planned but to stop */
    bool has_trouble;        /* the one in use is to be looked at */
    int second;              /* takes writes although another one is in use; -1: none does */
    char why[HOSTS_WHY_MAX + 100]; /* why none is in use, or nobody raises */
};

enum plan_move { PLAN_STAY, PLAN_USE, PLAN_STOP };

struct plan {
    enum plan_move move; /* carried out first: PLAN_STOP comes before what our znode says and before `propose` */
    int index;           /* PLAN_USE */
    int64_t generation;  /* PLAN_USE; 0: its tables are to be made yet */
    bool is_lossless;    /* PLAN_USE: it has all that was committed where we were before */
    const char *why;     /* PLAN_STOP */
    bool notes;          /* the server in use has got a row of `generation` */
    int raise;           /* candidate, or -1 */
    int64_t raise_generation;
    bool proposes;
    struct decision next;
};

/* How ZooKeeper is seen. */
struct sight {
    const struct agreed *agreed; /* NULL: standalone */
    int64_t lease_mono_ms;       /* other nodes wait for us until then */
    int64_t timeout_ms;
};

MUST_CHECK enum err chooser_init(struct chooser *c, size_t count, bool in_cluster, const char *name);
void chooser_fini(struct chooser *c);
/* The answer of a candidate that was asked at asked_mono_ms. */
void chooser_set_facts(struct chooser *c, int index, const struct host_facts *facts, int64_t asked_mono_ms,
                       int64_t now_mono_ms);
void chooser_note_trouble(struct chooser *c);
void chooser_note_raised(struct chooser *c, int64_t now_mono_ms); /* a raise has ended, with whatever outcome */
/* The candidate to look at now, or -1; *until_mono_ms: when there will be one. */
int chooser_find_look(const struct chooser *c, int64_t now_mono_ms, int64_t *until_mono_ms);
/* What is to be done. The plan is taken as carried out: its move has changed `used`. */
void chooser_plan(struct chooser *c, const struct sight *sight, int64_t now_mono_ms, struct plan *out);
/* The server in use answers. */
bool chooser_is_fine(const struct chooser *c);
/* What it said is that of the server in use, and good enough. */
bool chooser_is_good(const struct chooser *c, const struct host_facts *f);

#endif
