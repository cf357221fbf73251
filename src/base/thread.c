/* SPDX-License-Identifier: MIT */
#include "shardwheel/base.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef SHARDWHEEL_CHECK_LOCKS
static void rank_push(const struct mutex *m)
{
    (void)m;
}
static void rank_pop(const struct mutex *m)
{
    (void)m;
}
#else
/* The ranks that this thread holds, in the order taken; so a lock taken out of order is found at the first try and not
 * when two threads happen to meet. */
#define RANKS_MAX 16
static _Thread_local const struct mutex *held[RANKS_MAX];
static _Thread_local int held_count;

static void rank_push(const struct mutex *m)
{
    assert(held_count < RANKS_MAX);
    assert(held_count == 0 || held[held_count - 1]->rank < m->rank);
    held[held_count++] = m;
}

static void rank_pop(const struct mutex *m)
{
    assert(held_count > 0 && held[held_count - 1] == m);
    (void)m;
    held_count--;
}
#endif

/* Results of pthread calls below are our own mistakes when they are not 0 (a bad object), so they stop the program. */
static void must(int rc)
{
    if (rc != 0)
        abort();
}

void mutex_init(struct mutex *m, enum lock_rank rank)
{
    must(pthread_mutex_init(&m->m, NULL));
    m->rank = rank;
}

void mutex_fini(struct mutex *m)
{
    must(pthread_mutex_destroy(&m->m));
}

void mutex_lock(struct mutex *m)
{
    rank_push(m);
    must(pthread_mutex_lock(&m->m));
}

void mutex_unlock(struct mutex *m)
{
    must(pthread_mutex_unlock(&m->m));
    rank_pop(m);
}

void cond_init(struct cond *c)
{
    pthread_condattr_t attr;

    must(pthread_condattr_init(&attr));
    must(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC));
    must(pthread_cond_init(&c->c, &attr));
    must(pthread_condattr_destroy(&attr));
}

void cond_fini(struct cond *c)
{
    must(pthread_cond_destroy(&c->c));
}

void cond_signal(struct cond *c)
{
    must(pthread_cond_signal(&c->c));
}

void cond_broadcast(struct cond *c)
{
    must(pthread_cond_broadcast(&c->c));
}

void cond_wait(struct cond *c, struct mutex *m)
{
    must(pthread_cond_wait(&c->c, &m->m));
}

bool cond_wait_until(struct cond *c, struct mutex *m, int64_t deadline_mono_ms)
{
    struct timespec ts = {0, 0};
    int rc;

    if (deadline_mono_ms > 0) {
        ts.tv_sec = (time_t)(deadline_mono_ms / 1000);
        ts.tv_nsec = (long)(deadline_mono_ms % 1000) * 1000000;
    }
    rc = pthread_cond_timedwait(&c->c, &m->m, &ts);
    if (rc != 0 && rc != ETIMEDOUT)
        abort();
    return rc == 0;
}

struct start {
    void (*run)(void *arg);
    void *arg;
    char name[16];
};

static void *thread_main(void *arg)
{
    struct start start = *(struct start *)arg;

    free(arg);
    pthread_setname_np(pthread_self(), start.name);
    start.run(start.arg);
    return NULL;
}

enum err thread_start(struct thread *thread, const char *name, void (*run)(void *arg), void *arg, struct errctx *ec)
{
    struct start *start = calloc(1, sizeof *start);
    sigset_t all, old;
    int rc;

    if (!start)
        return err_set(ec, ERR_NOMEM, "start thread %s: out of memory", name);
    start->run = run;
    start->arg = arg;
    strncpy(start->name, name, sizeof start->name - 1);
    /* Signals are for the main thread, which waits for them. */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    rc = pthread_create(&thread->t, NULL, thread_main, start);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc != 0) {
        free(start);
        return err_set(ec, ERR_IO, "start thread %s: %s", name, strerror(rc));
    }
    thread->running = true;
    return ERR_OK;
}

void thread_join(struct thread *thread)
{
    if (!thread->running)
        return;
    must(pthread_join(thread->t, NULL));
    thread->running = false;
}

void thread_detach(struct thread *thread)
{
    must(pthread_detach(thread->t));
    thread->running = false;
}
