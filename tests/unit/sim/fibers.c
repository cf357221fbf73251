/* SPDX-License-Identifier: MIT */
/*
 * Fibers change over by _setjmp and _longjmp, which ask the kernel for nothing; swapcontext sets the signal mask each
 * time. Sanitizers know swapcontext only. The check of longjmp that comes with _FORTIFY_SOURCE takes another stack for
 * one that has ended.
 */
#undef _FORTIFY_SOURCE

#include "sim/fibers.h"
#include "sanitized.h"
#include "shardwheel/watch.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#if WITH_ASAN
#include <sanitizer/asan_interface.h>

/* The shadow of a new stack is cleared; from this size on by calls of the kernel, which take far longer. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "clear_shadow_mmap_threshold=1000000";
}
#endif

#define FIBERS_MAX 2048
#define STACK_BYTES ((size_t)512 * 1024)
#define BY_CONTEXT (WITH_ASAN || WITH_TSAN)

struct fiber {
    ucontext_t context;
    jmp_buf jump; /* where it goes on, once it has begun */
    bool begun;
    char name[16];
    void (*run)(void *arg);
    void *arg;
    void *stack; /* NULL: the caller of fibers_begin */
    int group;
    bool ended;
    const void *channel; /* waits for it to be notified; NULL: for the time alone */
    bool notified;
    int64_t wake_us;         /* by the group's monotonic time, or FIBERS_FOREVER; at or before now: it can go on */
    int held;                /* locks */
    struct watch_mark *mark; /* while it does not run */
    void *fake_stack;
};

static struct {
    struct fiber *fiber[FIBERS_MAX];
    struct fiber *ready[FIBERS_MAX]; /* choose's own */
    int count;
    struct fiber *current;
    int64_t now_us;
    uint64_t random;
    bool frozen[FIBER_GROUPS];
    int64_t suspended_us[FIBER_GROUPS];
    unsigned disturb_permille;
    int64_t disturb_us;
} world;

static void stop_program(const char *why)
{
    fprintf(stderr, "fibers: %s (fiber %s, at %lld us)\n", why, world.current ? world.current->name : "none",
            (long long)world.now_us);
    abort();
}

/* ---- chance ------------------------------------------------------------------------------------------------------ */

/* splitmix64 */
static uint64_t draw(void)
{
    uint64_t z = world.random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t fibers_draw(uint64_t below)
{
    return below ? draw() % below : 0;
}

bool fibers_chance(unsigned permille)
{
    return permille && draw() % 1000 < permille;
}

void fibers_disturb(unsigned permille, int64_t max_us)
{
    world.disturb_permille = permille;
    world.disturb_us = max_us;
}

/* ---- who runs ---------------------------------------------------------------------------------------------------- */

int64_t fibers_now_us(void)
{
    return world.now_us;
}

static int64_t group_now_us(int group)
{
    return world.now_us - world.suspended_us[group];
}

int64_t fibers_mono_ms(int group)
{
    return FIBERS_MONO_START_MS + group_now_us(group) / 1000;
}

static bool can_run(const struct fiber *f)
{
    return f->notified || (f->wake_us != FIBERS_FOREVER && f->wake_us <= group_now_us(f->group));
}

static int64_t wake_world_us(const struct fiber *f)
{
    return f->wake_us == FIBERS_FOREVER ? FIBERS_FOREVER : f->wake_us + world.suspended_us[f->group];
}

static struct fiber *draw_one(struct fiber **list, uint64_t count)
{
    struct fiber *chosen = list[0];

    for (uint64_t n = 2; n <= count; n++)
        if (draw() % n == 0)
            chosen = list[n - 1];
    return chosen;
}

/* Any of those that can go on; else time jumps to where one can. */
static struct fiber *choose(void)
{
    struct fiber **list = world.ready;
    uint64_t count = 0;
    int64_t at_us = FIBERS_FOREVER; /* when those of the list can go on */

    for (int i = 0; i < world.count; i++) {
        struct fiber *f = world.fiber[i];
        int64_t us;

        if (f->ended || world.frozen[f->group])
            continue;
        us = can_run(f) ? world.now_us : wake_world_us(f);
        if (us == FIBERS_FOREVER || us > at_us)
            continue;
        if (us < at_us)
            count = 0;
        at_us = us;
        list[count++] = f;
    }
    if (count == 0)
        stop_program("everybody waits for ever");
    world.now_us = at_us;
    return draw_one(list, count);
}

/* Comes back when somebody changes over to self. */
static void change_over(struct fiber *self, struct fiber *next)
{
    if (BY_CONTEXT) {
        if (swapcontext(&self->context, &next->context) != 0)
            abort();
        return;
    }
    if (_setjmp(self->jump) != 0)
        return;
    self->begun = true;
    if (next->begun)
        _longjmp(next->jump, 1);
    setcontext(&next->context);
    abort();
}

/* AddressSanitizer takes a stack that is changed to for a new one, and clears what it knows of it, each time. Here it
 * is new once, and may lie where another was. */
static void forget_stack(struct fiber *f)
{
#if WITH_ASAN
    __asan_unpoison_memory_region(f->stack, STACK_BYTES);
    f->context.uc_stack.ss_size = 0;
#else
    (void)f;
#endif
}

static void switch_to(struct fiber *next)
{
    struct fiber *self = world.current;

    if (next == self)
        return;
    world.current = next;
    self->mark = watch_swap_mark(next->mark);
    next->mark = NULL;
#if WITH_ASAN
    __sanitizer_start_switch_fiber(self->ended ? NULL : &self->fake_stack, next->context.uc_stack.ss_sp,
                                   next->context.uc_stack.ss_size);
#endif
    change_over(self, next);
#if WITH_ASAN
    __sanitizer_finish_switch_fiber(self->fake_stack, NULL, NULL);
#endif
}

/* Until notified, or the time by the group's clock. True: notified. */
static bool wait_until(const void *channel, int64_t wake_us)
{
    struct fiber *self = world.current;
    bool notified;

    self->channel = channel;
    self->notified = false;
    self->wake_us = wake_us;
    switch_to(choose());
    notified = self->notified;
    self->notified = false;
    self->channel = NULL;
    return notified;
}

static int64_t deadline_us(int64_t us)
{
    return us == FIBERS_FOREVER ? us : group_now_us(world.current->group) + (us > 0 ? us : 0);
}

void fibers_sleep_us(int64_t us)
{
    (void)wait_until(NULL, deadline_us(us));
}

bool fibers_wait(const void *channel, int64_t us)
{
    return wait_until(channel, deadline_us(us));
}

void fibers_notify(const void *channel)
{
    for (int i = 0; i < world.count; i++)
        if (world.fiber[i]->channel == channel)
            world.fiber[i]->notified = true;
}

int fibers_enter_group(int group)
{
    int former = world.current->group;

    world.current->group = group;
    return former;
}

int fibers_get_group(void)
{
    return world.current->group;
}

void fibers_freeze(int group, bool frozen)
{
    world.frozen[group] = frozen;
}

void fibers_add_suspension_us(int group, int64_t us)
{
    world.suspended_us[group] += us;
}

/* ---- begin and end ----------------------------------------------------------------------------------------------- */

static struct fiber *add_fiber(const char *name)
{
    struct fiber *f = calloc(1, sizeof *f);

    if (!f || world.count == FIBERS_MAX)
        stop_program("too many fibers");
    snprintf(f->name, sizeof f->name, "%s", name);
    f->wake_us = FIBERS_FOREVER;
    world.fiber[world.count++] = f;
    return f;
}

static void remove_fiber(struct fiber *f)
{
    for (int i = 0; i < world.count; i++)
        if (world.fiber[i] == f)
            world.fiber[i] = world.fiber[--world.count];
    if (f->stack) {
        forget_stack(f); /* what is mapped there next is no stack */
        munmap(f->stack, STACK_BYTES);
    }
    free(f);
}

void fibers_begin(uint64_t seed)
{
    memset(&world, 0, sizeof world);
    world.random = seed;
    world.current = add_fiber("main");
}

void fibers_end(void)
{
    for (int i = world.count - 1; i >= 0; i--)
        if (!world.fiber[i]->ended && world.fiber[i] != world.current)
            stop_program("a thread was left running");
    while (world.count > 0)
        remove_fiber(world.fiber[0]);
}

static void fiber_main(void)
{
    struct fiber *self = world.current;

#if WITH_ASAN
    /* The first fiber's stack is learnt from the one that switches away from it. */
    const void *bottom;
    size_t size;
    __sanitizer_finish_switch_fiber(NULL, &bottom, &size);
    for (int i = 0; i < world.count; i++) {
        struct fiber *f = world.fiber[i];
        if (!f->stack && !f->context.uc_stack.ss_sp) {
            f->context.uc_stack.ss_sp = (void *)(uintptr_t)bottom;
            f->context.uc_stack.ss_size = size;
        }
    }
#endif
    self->run(self->arg);
    self->ended = true;
    fibers_notify(self); /* who joins it */
    switch_to(choose());
    abort(); /* nobody goes on with one that has ended */
}

/* ---- base/thread.c ----------------------------------------------------------------------------------------------- */

enum err thread_start(struct thread *thread, const char *name, void (*run)(void *arg), void *arg, struct errctx *ec)
{
    struct fiber *f = add_fiber(name);

    (void)ec;
    f->run = run;
    f->arg = arg;
    f->group = world.current->group;
    f->wake_us = group_now_us(f->group);
    f->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (f->stack == MAP_FAILED || mprotect(f->stack, 4096, PROT_NONE) != 0 || getcontext(&f->context) != 0)
        stop_program("no stack");
    f->context.uc_stack.ss_sp = f->stack;
    f->context.uc_stack.ss_size = STACK_BYTES;
    f->context.uc_link = NULL;
    makecontext(&f->context, fiber_main, 0);
    forget_stack(f);
    memcpy(&thread->t, &f, sizeof f);
    thread->running = true;
    return ERR_OK;
}

void thread_join(struct thread *thread)
{
    struct fiber *f;

    if (!thread->running)
        return;
    memcpy(&f, &thread->t, sizeof f);
    while (!f->ended)
        fibers_wait(f, FIBERS_FOREVER);
    remove_fiber(f);
    thread->running = false;
}

void mutex_init(struct mutex *m, enum lock_rank rank)
{
    pthread_mutex_init(&m->m, NULL);
    m->rank = rank;
}

void mutex_fini(struct mutex *m)
{
    pthread_mutex_destroy(&m->m);
}

void mutex_lock(struct mutex *m)
{
    if (world.current->held == 0 && fibers_chance(world.disturb_permille))
        fibers_sleep_us((int64_t)fibers_draw((uint64_t)world.disturb_us));
    /* All run in one thread: who finds it locked would wait for somebody who waits for something else. */
    if (pthread_mutex_trylock(&m->m) != 0)
        stop_program("a lock is held across a wait");
    world.current->held++;
}

void mutex_unlock(struct mutex *m)
{
    world.current->held--;
    pthread_mutex_unlock(&m->m);
}

void cond_init(struct cond *c)
{
    pthread_cond_init(&c->c, NULL);
}

void cond_fini(struct cond *c)
{
    pthread_cond_destroy(&c->c);
}

/* All waiters look at their predicates again, which a condition allows at any time. */
void cond_signal(struct cond *c)
{
    fibers_notify(c);
}

void cond_broadcast(struct cond *c)
{
    fibers_notify(c);
}

static bool wait_unlocked(struct cond *c, struct mutex *m, int64_t wake_us)
{
    bool notified;

    mutex_unlock(m);
    notified = wait_until(c, wake_us);
    if (pthread_mutex_trylock(&m->m) != 0)
        stop_program("a lock is held across a wait");
    world.current->held++;
    return notified;
}

void cond_wait(struct cond *c, struct mutex *m)
{
    (void)wait_unlocked(c, m, FIBERS_FOREVER);
}

bool cond_wait_until(struct cond *c, struct mutex *m, int64_t deadline_mono_ms)
{
    return wait_unlocked(c, m, (deadline_mono_ms - FIBERS_MONO_START_MS) * 1000);
}
