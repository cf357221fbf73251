/* SPDX-License-Identifier: MIT */
/*
 * fake_store: the store functions that registry, complete and http call, in memory, for tests without a server. Include
 * it in one source of the test; the linker then takes none of the real ones.
 *
 * Threads     Everything is under one lock; members may be changed by a test with fake_lock/fake_unlock.
 */
#ifndef FAKE_STORE_H
#define FAKE_STORE_H

#include "shardwheel/store/registry.h"
#include "shardwheel/store/run.h"

#include <stdlib.h>
#include <string.h>

#define FAKE_GROUPS 64
#define FAKE_ROWS 40000
#define FAKE_LOGS 1000000

struct fake_group {
    int64_t id;
    bool manual;
    char app[64];
    char *list;
    char token[64];
};

struct fake_row {
    char group[52];
    char key[64];
    char value[260];
    uint32_t hash; /* of the value, to find a row fast */
    int64_t updated_s;
};

struct fake_log {
    int code;      /* 0: open */
    bool delivers; /* its callback came with the word that it writes the result too */
    char *message;
};

struct store {
    struct mutex lock;
    struct cond changed;
    enum err error;         /* ERR_OK: works; else what every call returns */
    bool gate_closed;       /* writes wait until it is opened */
    int gate_closes_after;  /* it closes by itself when so many batches of callbacks are written; 0: it does not */
    int waiting;            /* calls that wait at the gate */
    int conflicts;          /* so many writes in a row fail with ERR_CONFLICT */
    const char *refuse;     /* a text with this in it is refused (ERR_INPUT) */
    int session_writes_max; /* tries to write in one session */
    int commit_unknown;     /* so many writes in a row are made, and answered ERR_UNKNOWN */
    bool unknown_is_lost;   /* ... and not made */
    int64_t parents_from;   /* runs from this log id on have a child each; 0: none */
    int finds;              /* looks for a child of unknown commit */
    int find_errors;        /* so many of them fail */
    int result_errors;      /* so many writes of results fail */
    int result_writes, results_late;

    struct fake_group groups[FAKE_GROUPS];
    size_t groups_count;
    int group_loads, list_updates;
    struct fake_row *rows;
    size_t rows_count;
    int beat_batches, beat_max;
    int64_t dead_before_s; /* of the last load */
    int registry_loads;
    int64_t missed_age_s; /* what store_load_missed says */
    int missed_notes;

    struct fake_log *logs; /* by id; ids beyond FAKE_LOGS are unknown */
    int callback_batches;
    size_t callback_max, callbacks_stored, callbacks_repeated;
};

struct store_session {
    struct store *st;
    int writes;
};

static inline struct store *fake_create(void)
{
    struct store *st = calloc(1, sizeof(*st));
    mutex_init(&st->lock, LOCK_STORE);
    cond_init(&st->changed);
    st->missed_age_s = -1;
    st->rows = calloc(FAKE_ROWS, sizeof(*st->rows));
    st->logs = calloc(FAKE_LOGS, sizeof(*st->logs));
    return st;
}

static inline void fake_destroy(struct store *st)
{
    for (size_t i = 0; i < FAKE_LOGS; i++)
        free(st->logs[i].message);
    for (size_t i = 0; i < st->groups_count; i++)
        free(st->groups[i].list);
    free(st->logs);
    free(st->rows);
    cond_fini(&st->changed);
    mutex_fini(&st->lock);
    free(st);
}

static inline void fake_lock(struct store *st)
{
    mutex_lock(&st->lock);
}

static inline void fake_unlock(struct store *st)
{
    cond_broadcast(&st->changed);
    mutex_unlock(&st->lock);
}

static inline void fake_add_group(struct store *st, int64_t id, const char *app, bool manual, const char *list,
                                  const char *token)
{
    struct fake_group *g = &st->groups[st->groups_count++];
    g->id = id;
    g->manual = manual;
    strcpy(g->app, app);
    g->list = strdup(list);
    strcpy(g->token, token);
}

static inline uint32_t fake_hash(const char *text)
{
    uint32_t h = 5381;
    for (; *text; text++)
        h = h * 33 + (unsigned char)*text;
    return h;
}

static inline void fake_add_row(struct store *st, const char *key, const char *value, int64_t updated_s)
{
    struct fake_row *r = &st->rows[st->rows_count++];
    strcpy(r->group, "EXECUTOR");
    strcpy(r->key, key);
    strcpy(r->value, value);
    r->hash = fake_hash(value);
    r->updated_s = updated_s;
}

static inline void fake_set_error(struct store *st, enum err error)
{
    fake_lock(st);
    st->error = error;
    fake_unlock(st);
}

/* Copies the list of a group for a look. */
static inline void fake_get_list(struct store *st, int64_t id, char *out, size_t size)
{
    fake_lock(st);
    *out = '\0';
    for (size_t i = 0; i < st->groups_count; i++) {
        if (st->groups[i].id == id)
            strncat(out, st->groups[i].list, size - 1);
    }
    fake_unlock(st);
}

/* Waits until check(arg) holds, at most 10 s; the value of the check at the end. */
static inline bool fake_poll(bool (*check)(void *arg), void *arg)
{
    const struct clock *clock = clock_system();
    int64_t until = clock_mono_ms(clock) + 60000; /* a machine may be busy */
    struct mutex lock;
    struct cond never;
    bool ok;

    mutex_init(&lock, LOCK_LEAF);
    cond_init(&never);
    while (!(ok = check(arg)) && clock_mono_ms(clock) < until) {
        mutex_lock(&lock);
        cond_wait_until(&never, &lock, clock_mono_ms(clock) + 2);
        mutex_unlock(&lock);
    }
    cond_fini(&never);
    mutex_fini(&lock);
    return ok;
}

/* ---- the functions ---------------------------------------------------------------------------------------------- */

enum err store_take_session(struct store *st, enum session_kind kind, struct store_session **out, struct errctx *ec)
{
    (void)kind;
    fake_lock(st);
    enum err e = st->error;
    fake_unlock(st);
    if (e)
        return err_set(ec, e, "the fake database is away");
    *out = calloc(1, sizeof(**out));
    (*out)->st = st;
    return ERR_OK;
}

void store_give_session(struct store *st, struct store_session *s)
{
    (void)st;
    free(s);
}

/* With the lock held: waits at the gate, then says how the write ends. */
static inline enum err fake_begin_write(struct store_session *s, struct errctx *ec)
{
    struct store *st = s->st;
    if (++s->writes > st->session_writes_max)
        st->session_writes_max = s->writes;
    st->waiting++;
    cond_broadcast(&st->changed);
    while (st->gate_closed)
        cond_wait(&st->changed, &st->lock);
    st->waiting--;
    if (st->error)
        return err_set(ec, st->error, "the fake database is away");
    if (st->conflicts) {
        st->conflicts--;
        return err_set(ec, ERR_CONFLICT, "a fake deadlock");
    }
    return ERR_OK;
}

enum err store_load_groups(struct store_session *s, struct group_list *out, struct errctx *ec)
{
    struct store *st = s->st;
    size_t text = 0, at = 0;

    fake_lock(st);
    st->group_loads++;
    if (st->error) {
        enum err e = err_set(ec, st->error, "the fake database is away");
        fake_unlock(st);
        return e;
    }
    for (size_t i = 0; i < st->groups_count; i++)
        text += strlen(st->groups[i].app) + strlen(st->groups[i].list) + strlen(st->groups[i].token) + 3;
    char *memory = malloc(text + 1);
    out->memory = memory;
    out->rows = calloc(st->groups_count + 1, sizeof(*out->rows));
    out->count = st->groups_count;
    for (size_t i = 0; i < st->groups_count; i++) {
        const struct fake_group *g = &st->groups[i];
        struct group_row *row = &out->rows[i];
        row->id = g->id;
        row->manual = g->manual;
        row->app_name = strcpy(memory + at, g->app);
        at += strlen(g->app) + 1;
        row->address_list = strcpy(memory + at, g->list);
        at += strlen(g->list) + 1;
        row->access_token = strcpy(memory + at, g->token);
        at += strlen(g->token) + 1;
    }
    fake_unlock(st);
    return ERR_OK;
}

void store_free_list(void *items, void *memory)
{
    free(items);
    free(memory);
}

enum err store_update_group_addresses(struct store_session *s, int64_t group, const char *old_list,
                                      const char *new_list, int64_t now_s, struct errctx *ec)
{
    struct store *st = s->st;
    enum err e = ERR_CONFLICT;

    (void)now_s;
    fake_lock(st);
    for (size_t i = 0; i < st->groups_count; i++) {
        struct fake_group *g = &st->groups[i];
        if (g->id == group && !g->manual && !strcmp(g->list, old_list)) {
            free(g->list);
            g->list = strdup(new_list);
            st->list_updates++;
            e = ERR_OK;
        }
    }
    fake_unlock(st);
    return e ? err_set(ec, e, "the list is not what was read") : ERR_OK;
}

static inline void fake_apply_beat(struct store *st, const struct beat *b, int64_t now_s)
{
    size_t i = 0;
    uint32_t hash = fake_hash(b->value);
    while (i < st->rows_count && (st->rows[i].hash != hash || strcmp(st->rows[i].group, b->group) ||
                                  strcmp(st->rows[i].key, b->key) || strcmp(st->rows[i].value, b->value)))
        i++;
    if (b->remove) {
        if (i < st->rows_count)
            st->rows[i] = st->rows[--st->rows_count];
        return;
    }
    if (i == st->rows_count) {
        st->rows_count++;
        strcpy(st->rows[i].group, b->group);
        strcpy(st->rows[i].key, b->key);
        strcpy(st->rows[i].value, b->value);
        st->rows[i].hash = hash;
    }
    st->rows[i].updated_s = now_s;
}

enum err store_write_beats(struct store_session *s, const struct beat *beats, size_t count, int64_t now_s,
                           struct errctx *ec)
{
    struct store *st = s->st;

    fake_lock(st);
    enum err e = fake_begin_write(s, ec);
    for (size_t i = 0; i < count && !e && st->refuse; i++) {
        if (strstr(beats[i].value, st->refuse))
            e = err_set(ec, ERR_INPUT, "a character that the column lacks");
    }
    if (!e) {
        st->beat_batches++;
        if ((int)count > st->beat_max)
            st->beat_max = (int)count;
        for (size_t i = 0; i < count; i++)
            fake_apply_beat(st, &beats[i], now_s);
    }
    fake_unlock(st);
    return e;
}

enum err store_load_registry(struct store_session *s, int64_t dead_before_s, struct registry_list *out,
                             struct errctx *ec)
{
    struct store *st = s->st;

    fake_lock(st);
    if (st->error) {
        enum err e = err_set(ec, st->error, "the fake database is away");
        fake_unlock(st);
        return e;
    }
    st->registry_loads++;
    st->dead_before_s = dead_before_s;
    for (size_t i = 0; i < st->rows_count;) {
        if (st->rows[i].updated_s < dead_before_s)
            st->rows[i] = st->rows[--st->rows_count];
        else
            i++;
    }
    struct fake_row *copy = malloc((st->rows_count + 1) * sizeof(*copy));
    memcpy(copy, st->rows, st->rows_count * sizeof(*copy));
    out->memory = copy;
    out->count = st->rows_count;
    out->rows = calloc(st->rows_count + 1, sizeof(*out->rows));
    for (size_t i = 0; i < out->count; i++)
        out->rows[i] = (struct registry_row){copy[i].group, copy[i].key, copy[i].value};
    fake_unlock(st);
    return ERR_OK;
}

enum err store_note_missed(struct store_session *s, int64_t hold_s, struct errctx *ec)
{
    struct store *st = s->st;

    (void)hold_s;
    fake_lock(st);
    enum err e = st->error ? err_set(ec, st->error, "the fake database is away") : ERR_OK;
    st->missed_notes += !e;
    fake_unlock(st);
    return e;
}

enum err store_load_missed(struct store_session *s, int64_t hold_s, int64_t *age_s, struct errctx *ec)
{
    struct store *st = s->st;

    (void)hold_s;
    fake_lock(st);
    enum err e = st->error ? err_set(ec, st->error, "the fake database is away") : ERR_OK;
    *age_s = st->missed_age_s;
    fake_unlock(st);
    return e;
}

static inline void fake_store_callback(struct store *st, struct callback_entry *entry)
{
    entry->outcome = CALLBACK_UNKNOWN_LOG;
    if (entry->log_id < 1 || entry->log_id >= FAKE_LOGS)
        return;
    struct fake_log *log = &st->logs[entry->log_id];
    entry->outcome = log->code > 0 ? CALLBACK_REPEATED : CALLBACK_STORED;
    if (log->code > 0) {
        st->callbacks_repeated++;
        return;
    }
    st->callbacks_stored++;
    log->code = entry->code;
    log->delivers = entry->delivers;
    free(log->message);
    log->message = strdup(entry->message ? entry->message : "");
}

static void fake_add_child(struct fire **list, int64_t parent)
{
    struct fire *fire = fire_create();
    fire->log_id = parent + 500000;
    fire->kind = TRIGGER_PARENT;
    fire->next = *list;
    *list = fire;
}

enum err store_write_callbacks(struct store_session *s, struct callback_entry *entries, size_t count, int64_t now_s,
                               struct children *children, struct errctx *ec)
{
    struct store *st = s->st;

    (void)now_s;
    fake_lock(st);
    enum err e = fake_begin_write(s, ec);
    for (size_t i = 0; i < count && !e && st->refuse; i++) {
        if (entries[i].message && strstr(entries[i].message, st->refuse))
            e = err_set(ec, ERR_INPUT, "a character that the column lacks");
    }
    if (!e) {
        st->callback_batches++;
        st->gate_closed |= st->callback_batches == st->gate_closes_after;
        if (count > st->callback_max)
            st->callback_max = count;
        bool lost = st->commit_unknown && st->unknown_is_lost;
        struct fire **list = children && st->commit_unknown ? &children->doubtful : children ? &children->made : NULL;
        for (size_t i = 0; i < count; i++) {
            if (list && st->parents_from && entries[i].log_id >= st->parents_from && entries[i].code == 200 &&
                st->logs[entries[i].log_id].code <= 0)
                fake_add_child(list, entries[i].log_id);
            if (!lost)
                fake_store_callback(st, &entries[i]);
        }
        if (st->commit_unknown) {
            st->commit_unknown--;
            e = err_set(ec, ERR_UNKNOWN, "the connection broke while committing");
        }
    }
    fake_unlock(st);
    return e;
}

enum err store_find_direct(struct store_session *s, const struct fire *fire, const char *incarnation, bool *found,
                           struct errctx *ec)
{
    struct store *st = s->st;
    enum err e = ERR_OK;

    (void)fire, (void)incarnation;
    fake_lock(st);
    st->finds++;
    if (st->find_errors) {
        st->find_errors--;
        e = err_set(ec, ERR_LOST, "away");
    }
    *found = !st->unknown_is_lost;
    fake_unlock(st);
    return e;
}

enum err store_write_results(struct store_session *s, const struct fire_result *results, size_t count,
                             struct errctx *ec)
{
    struct store *st = s->st;
    enum err e = ERR_OK;

    fake_lock(st);
    st->result_writes++;
    if (st->result_errors) {
        st->result_errors--;
        e = err_set(ec, ERR_LOST, "away");
    }
    for (size_t i = 0; i < count && !e; i++)
        st->results_late += strcmp(results[i].message, "not sent: too late") == 0 && results[i].code == 500;
    fake_unlock(st);
    return e;
}

#endif
