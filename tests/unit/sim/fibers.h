/* SPDX-License-Identifier: MIT */
/*
 * fibers: base's threads, locks and conditions for simulations: every thread is a fiber, one runs at a time, and time
 * is a number that jumps to the next thing that somebody waits for. Linked in place of base/thread.c.
 *
 * Threads     One. The caller of fibers_begin is a fiber too; cmocka's assertions belong to it alone.
 * Invariants  Equal seeds give equal runs. Time passes only while every fiber waits. A fiber that waits while it holds
 *             a lock that another one wants stops the program: no lock is held across a call that may take time.
 * Groups      A fiber belongs to a group: a node. A group can stand still (its process is stopped or killed) while time
 *             passes, and its monotonic clock can stay behind (its machine was suspended).
 * Time        fibers_now_us counts from 0 at the begin.
 */
#ifndef TEST_FIBERS_H
#define TEST_FIBERS_H

#include "shardwheel/base.h"

#define FIBER_GROUPS 128
#define FIBERS_MONO_START_MS INT64_C(5000000) /* what the monotonic clocks say at the begin */
#define FIBERS_FOREVER INT64_MAX

void fibers_begin(uint64_t seed);
void fibers_end(void); /* all others must have ended */

int64_t fibers_now_us(void);
int64_t fibers_mono_ms(int group); /* of a clock that stands while the group is suspended */
void fibers_sleep_us(int64_t us);
/* Waits for fibers_notify of that channel; false when the time has passed first. */
bool fibers_wait(const void *channel, int64_t us);
void fibers_notify(const void *channel);

/* Of the calling fiber, and of those that it starts from now on; returns the former group. */
int fibers_enter_group(int group);
int fibers_get_group(void);
void fibers_freeze(int group, bool frozen);
void fibers_add_suspension_us(int group, int64_t us);

uint64_t fibers_draw(uint64_t below); /* a random number */
bool fibers_chance(unsigned permille);
/* From now on a fiber that takes its first lock stands still for up to max_us in so many of 1,000 cases. */
void fibers_disturb(unsigned permille, int64_t max_us);

#endif
