/* SPDX-License-Identifier: MIT */
/*
 * fake_parts: the store and the registry as far as dispatch uses them, in memory. Include it in one file of a program;
 * it defines every function of those areas that dispatch calls, so that nothing of theirs is linked.
 */
#ifndef TEST_FAKE_PARTS_H
#define TEST_FAKE_PARTS_H

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fake_job_spec.h"
#include "shardwheel/registry.h"
#include "shardwheel/job.h"
#include "shardwheel/store/run.h"

/* ---- fires ------------------------------------------------------------------------------------------------------- */

static _Atomic long fake_fires_live; /* made and not destroyed */

struct fire *fire_create(void)
{
    fake_fires_live++;
    return calloc(1, sizeof(struct fire));
}

void fire_destroy(struct fire *fire)
{
    if (!fire)
        return;
    fake_fires_live--;
    group_spec_unref(fire->target);
    free(fire->address);
    free(fire->own);
    job_spec_unref(fire->job);
    free(fire);
}

/* Its texts are those of the values. */
struct fire_own *fire_own_create(const struct fire_own *values)
{
    struct fire_own *own = calloc(1, sizeof *own);

    if (own)
        *own = *values;
    return own;
}

uint32_t fire_row_hash(int64_t group, const char *handler, const char *param, int retry_count)
{
    uint32_t h = (uint32_t)group * 1009 + (uint32_t)retry_count * 31 + (param ? 1 : 0);

    for (const char *p = handler ? handler : ""; *p; p++)
        h = h * 33 + (unsigned char)*p;
    for (const char *p = param ? param : ""; *p; p++)
        h = h * 33 + (unsigned char)*p;
    return h;
}

uint32_t fire_route_hash(const char *route)
{
    return fire_row_hash(0, route, NULL, 0);
}

/* ---- store ------------------------------------------------------------------------------------------------------- */

struct fake_row {
    int64_t log_id;
    int64_t group;
    int code;
    char *address;
    char *message;
    bool write_job;
    bool as_planned;
    bool away;
    char sharding[24];
};

struct store {
    pthread_mutex_t lock;
    /* [lock] */
    int fail_sessions; /* so many store_take_session calls fail */
    int fail_writes;   /* so many store_write_results calls fail */
    enum err fail_with;
    bool fail_after_write; /* the rows are there although the call fails: an unknown outcome */
    int64_t refused_log;   /* a row with this id and a long message is refused */
    bool refuse_plain_too;
    bool blocked; /* every write fails */
    int writes, commits, sessions_open;
    size_t biggest_batch;
    struct fake_row *rows;
    size_t row_count, row_cap;
};

struct store_session {
    struct store *store;
};

static inline void fake_store_init(struct store *st)
{
    memset(st, 0, sizeof *st);
    pthread_mutex_init(&st->lock, NULL);
}

static inline void fake_store_fini(struct store *st)
{
    assert(st->sessions_open == 0);
    for (size_t i = 0; i < st->row_count; i++) {
        free(st->rows[i].address);
        free(st->rows[i].message);
    }
    free(st->rows);
    pthread_mutex_destroy(&st->lock);
}

enum err store_take_session(struct store *st, enum session_kind kind, struct store_session **out, struct errctx *ec)
{
    enum err e = ERR_OK;

    assert(kind == SESSION_NORMAL);
    pthread_mutex_lock(&st->lock);
    if (st->fail_sessions > 0) {
        st->fail_sessions--;
        e = err_set(ec, ERR_LOST, "no session");
    } else {
        st->sessions_open++;
        *out = malloc(sizeof **out);
        (*out)->store = st;
    }
    pthread_mutex_unlock(&st->lock);
    return e;
}

void store_give_session(struct store *st, struct store_session *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&st->lock);
    st->sessions_open--;
    pthread_mutex_unlock(&st->lock);
    free(s);
}

static inline void fake_store_put_row(struct store *st, const struct fire_result *r)
{
    struct fake_row *row;

    for (size_t i = 0; i < st->row_count && st->row_count < 100; i++) /* not where thousands are written: too slow */
        if (st->rows[i].log_id == r->log_id)
            return; /* trigger_code is not 0 any more */
    if (st->row_count == st->row_cap) {
        st->row_cap = st->row_cap ? st->row_cap * 2 : 256;
        st->rows = realloc(st->rows, st->row_cap * sizeof *st->rows);
    }
    row = &st->rows[st->row_count++];
    *row = (struct fake_row){.log_id = r->log_id,
                             .group = r->group,
                             .code = r->code,
                             .write_job = r->write_job,
                             .as_planned = r->as_planned,
                             .away = r->away != NULL};
    row->address = r->address ? strdup(r->address) : NULL;
    row->message = strdup(r->message);
    strcpy(row->sharding, r->sharding ? r->sharding : "");
}

enum err store_write_sent(struct store_session *s, const struct sent_row *rows, size_t count, const char *incarnation,
                          int64_t now_s, struct sent_counts *counts, struct errctx *ec)
{
    (void)s, (void)rows, (void)count, (void)incarnation, (void)now_s, (void)counts, (void)ec;
    return ERR_OK;
}

enum err store_write_results(struct store_session *s, const struct fire_result *results, size_t count,
                             struct errctx *ec)
{
    struct store *st = s->store;
    enum err e = ERR_OK;

    pthread_mutex_lock(&st->lock);
    st->writes++;
    if (count > st->biggest_batch)
        st->biggest_batch = count;
    if (st->blocked || st->fail_writes > 0) {
        st->fail_writes -= st->fail_writes > 0;
        e = err_set(ec, st->fail_with ? st->fail_with : ERR_LOST, "the database is unavailable");
    }
    for (size_t i = 0; i < count && !e; i++)
        if (results[i].log_id == st->refused_log && (st->refuse_plain_too || results[i].address))
            e = err_set(ec, ERR_INPUT, "Incorrect string value");
    if (!e || st->fail_after_write) {
        for (size_t i = 0; i < count; i++)
            fake_store_put_row(st, &results[i]);
        st->commits += !e;
    }
    pthread_mutex_unlock(&st->lock);
    return e;
}

static inline void fake_store_block(struct store *st, bool blocked)
{
    pthread_mutex_lock(&st->lock);
    st->blocked = blocked;
    pthread_mutex_unlock(&st->lock);
}

/* The row of that log, or NULL. For when nothing writes any more. */
static inline const struct fake_row *fake_store_find(const struct store *st, int64_t log_id)
{
    for (size_t i = 0; i < st->row_count; i++)
        if (st->rows[i].log_id == log_id)
            return &st->rows[i];
    return NULL;
}

/* ---- registry ---------------------------------------------------------------------------------------------------- */

#define FAKE_GROUPS_MAX 8
struct registry {
    pthread_mutex_t lock;
    struct registry_group groups[FAKE_GROUPS_MAX];
    struct registry_snapshot snapshot;
    char trigger_address[256]; /* [lock] the one address known for /trigger */
    int notes;                 /* [lock] */
};

static inline void fake_registry_init(struct registry *r)
{
    memset(r, 0, sizeof *r);
    pthread_mutex_init(&r->lock, NULL);
    r->snapshot.groups = r->groups;
    atomic_init(&r->snapshot.refs, 1);
}

/* Ids ascending. */
static inline void fake_registry_add(struct registry *r, int64_t id, const char *token, const char *const *addresses,
                                     size_t count)
{
    assert(r->snapshot.count < FAKE_GROUPS_MAX);
    r->groups[r->snapshot.count++] = (struct registry_group){
        .id = id, .app_name = "app", .access_token = token, .addresses = addresses, .count = count};
}

static inline void fake_registry_fini(struct registry *r)
{
    assert(atomic_load(&r->snapshot.refs) == 1);
    pthread_mutex_destroy(&r->lock);
}

const struct registry_snapshot *registry_get_snapshot(struct registry *r)
{
    atomic_fetch_add(&r->snapshot.refs, 1);
    return &r->snapshot;
}

void registry_put_snapshot(const struct registry_snapshot *snap)
{
    atomic_fetch_sub(&((struct registry_snapshot *)(uintptr_t)snap)->refs, 1);
}

const struct registry_group *registry_find_group(const struct registry_snapshot *snap, int64_t id)
{
    for (size_t i = 0; i < snap->count; i++)
        if (snap->groups[i].id == id)
            return &snap->groups[i];
    return NULL;
}

void registry_note_generation(struct registry *r, const char *address, bool trigger_path)
{
    pthread_mutex_lock(&r->lock);
    r->notes++;
    strncpy(r->trigger_address, trigger_path ? address : "", sizeof r->trigger_address - 1);
    pthread_mutex_unlock(&r->lock);
}

bool registry_is_trigger_path(struct registry *r, const char *address)
{
    bool is;

    pthread_mutex_lock(&r->lock);
    is = strcmp(r->trigger_address, address) == 0;
    pthread_mutex_unlock(&r->lock);
    return is;
}

#endif
