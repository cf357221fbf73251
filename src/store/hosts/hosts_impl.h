/* SPDX-License-Identifier: MIT */
/* hosts_impl: what the files of store/hosts share. */
#ifndef STORE_HOSTS_HOSTS_IMPL_H
#define STORE_HOSTS_HOSTS_IMPL_H

#include "store/conn/session.h"

#define HOSTS_PROBE_MS 1000 /* a candidate has so long to connect, and for each answer */

struct host {
    char *name;          /* [const] */
    int port;            /* [const] */
    struct store *store; /* [const] for probes: one session, which nobody else counts */
};

struct hosts {
    struct host *list;             /* [const] */
    size_t count;                  /* [const] */
    const struct clock *clock;     /* [const] */
    struct mutex lock;             /* rank LOCK_STORE */
    struct host_use use;           /* [lock] */
    _Atomic int64_t lease_boot_ms; /* [atomic] */
    _Atomic uint64_t serial;       /* [atomic] of use */
    char why[HOSTS_WHY_MAX];       /* [lock] none is in use */
    struct host_link *links;       /* [lock] connections */
    bool is_managed;               /* [lock] */
    void (*trouble)(void *arg);    /* [lock] */
    void *arg;                     /* [lock] */
};

#endif
