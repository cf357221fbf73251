/* SPDX-License-Identifier: MIT */
/*
 * fake_results: the results that wait for their callbacks, as far as the writer of callbacks sees them. Include it in
 * one source of a test; the linker then takes nothing of record/results.c.
 */
#ifndef TEST_FAKE_RESULTS_H
#define TEST_FAKE_RESULTS_H

#include <assert.h>

#include "shardwheel/record.h"

#define FAKE_RESULTS 10000

/* By log id. */
static struct fake_result {
    _Atomic bool waits, claimed, written, childless;
    _Atomic int claims, given_back;
} fake_results[FAKE_RESULTS];

static _Atomic bool fake_sending;
static _Atomic int fake_sending_asked;
static _Atomic int fake_ends;   /* callbacks that were noted before they were stored */
static _Atomic int fake_behind; /* how often it was said */

static bool fake_is_sending(void *arg)
{
    (void)arg;
    fake_sending_asked++;
    return fake_sending;
}

bool results_claim(struct results *d, int64_t log_id, bool *childless)
{
    (void)d;
    if (log_id < 0 || log_id >= FAKE_RESULTS)
        return false;
    struct fake_result *r = &fake_results[log_id];
    if (!r->waits || r->claimed || r->written)
        return false;
    r->claimed = true;
    *childless = r->childless;
    r->claims++;
    return true;
}

void results_settle(struct results *d, int64_t log_id, bool written)
{
    (void)d;
    struct fake_result *r = &fake_results[log_id];
    assert(r->claimed);
    r->claimed = false;
    r->written = written;
    r->given_back += !written;
}

void results_note_ends(struct results *d, const struct callback_entry *entries, size_t count)
{
    (void)d, (void)entries;
    fake_ends += (int)count;
}

void results_note_behind(struct results *d)
{
    (void)d;
    fake_behind++;
}

#endif
