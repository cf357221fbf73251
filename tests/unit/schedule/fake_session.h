/* SPDX-License-Identifier: MIT */
/*
 * fake_session: a store whose one session can always be had. Include it in one source of a test; the linker then takes
 * nothing of the store, so that the test defines what else is called.
 */
#ifndef TEST_FAKE_SESSION_H
#define TEST_FAKE_SESSION_H

#include "shardwheel/store/conn.h"

struct store_session {
    int unused;
};
static struct store_session the_session;
static int fake_sessions; /* that are taken, and not given back */

enum err store_take_session(struct store *st, enum session_kind kind, struct store_session **out, struct errctx *ec)
{
    (void)st;
    (void)kind;
    (void)ec;
    fake_sessions++;
    *out = &the_session;
    return ERR_OK;
}

void store_give_session(struct store *st, struct store_session *s)
{
    (void)st;
    fake_sessions -= s != NULL;
}

#endif
