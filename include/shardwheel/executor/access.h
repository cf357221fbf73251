/* SPDX-License-Identifier: MIT */
/*
 * access: with what executors are called, as the operator has it now: one box for all that call them.
 *
 * Threads     Any.
 * Ownership   An access never changes. Who gets one has a reference, and keeps it for as long as a call takes.
 */
#ifndef SHARDWHEEL_EXECUTOR_ACCESS_H
#define SHARDWHEEL_EXECUTOR_ACCESS_H

#include "shardwheel/base.h"

/* How https peers and we know each other. Files are PEM, read when a connection is made; "": none. */
struct http_tls {
    bool verify;      /* the peer's certificate must be valid, and for the host of its address */
    const char *ca;   /* of the authorities that are trusted; "": those of the system */
    const char *cert; /* ours, followed by those that vouch for it */
    const char *key;  /* of ours; "": it is in cert. One behind a password cannot be used. */
};

struct executor_access {
    _Atomic int refs;    /* [atomic] */
    char *token;         /* [const] the global one, as all below */
    struct http_tls tls; /* [const] */
    int64_t timeout_ms;  /* [const] from sending to the whole answer */
};

struct executor_access *executor_access_ref(struct executor_access *access);
void executor_access_unref(struct executor_access *access); /* NULL is fine */

struct access_box {
    struct mutex lock;           /* rank LOCK_LEAF */
    struct executor_access *now; /* [lock] one reference; NULL: none was set */
};

void access_box_init(struct access_box *box);
void access_box_fini(struct access_box *box);
/* Texts are copied. tls NULL: as before; at first certificates are checked. False when out of memory: nothing
 * changes. By one thread at a time. */
MUST_CHECK bool access_box_set(struct access_box *box, const char *token, const struct http_tls *tls,
                               int64_t timeout_ms);
/* A reference. NULL: there is none, or no box. */
struct executor_access *access_box_get(struct access_box *box);

#endif
