/* SPDX-License-Identifier: MIT */
/*
 * store_stub: stands in for the few functions of the store that standalone coordination uses, so that these tests need
 * no database. The named lock is a variable: who has it, and whether the database can be reached.
 */
#ifndef SHARDWHEEL_TESTS_STORE_STUB_H
#define SHARDWHEEL_TESTS_STORE_STUB_H

#include "shardwheel/store/cluster.h"

#include <stdlib.h>

struct store_session {
    struct store_session *unused;
};

struct store_stub {
    struct mutex lock;            /* rank LOCK_LEAF */
    struct store_session *holder; /* [lock] session of ours that has the named lock */
    bool foreign;                 /* [lock] somebody else has it */
    bool away;                    /* [lock] the database cannot be reached */
    int sessions;                 /* [lock] taken and not given back */
    int tries;                    /* [lock] how often the named lock was asked for */
    int takes;                    /* [lock] how often it was got */
};

static struct store_stub stub;

enum err store_take_session(struct store *st, enum session_kind kind, struct store_session **out, struct errctx *ec)
{
    enum err e = ERR_OK;

    (void)st;
    (void)kind;
    mutex_lock(&stub.lock);
    if (stub.away)
        e = err_set(ec, ERR_LOST, "database away");
    else
        stub.sessions++;
    mutex_unlock(&stub.lock);
    if (!e)
        *out = calloc(1, sizeof **out);
    return e;
}

void store_give_session(struct store *st, struct store_session *s)
{
    (void)st;
    if (!s)
        return;
    mutex_lock(&stub.lock);
    if (stub.holder == s)
        stub.holder = NULL;
    stub.sessions--;
    mutex_unlock(&stub.lock);
    free(s);
}

enum err store_lock_standalone(struct store_session *s, struct errctx *ec)
{
    enum err e = ERR_OK;

    mutex_lock(&stub.lock);
    stub.tries++;
    if (stub.away) {
        e = err_set(ec, ERR_LOST, "database away");
    } else if (stub.foreign || stub.holder) {
        e = err_set(ec, ERR_BUSY, "taken");
    } else {
        stub.holder = s;
        stub.takes++;
    }
    mutex_unlock(&stub.lock);
    return e;
}

enum err store_check_standalone(struct store_session *s, bool *held, struct errctx *ec)
{
    enum err e = ERR_OK;

    mutex_lock(&stub.lock);
    if (stub.away)
        e = err_set(ec, ERR_LOST, "database away");
    else
        *held = stub.holder == s;
    mutex_unlock(&stub.lock);
    return e;
}

#endif
