/* SPDX-License-Identifier: MIT */
#include "coord/zk.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zookeeper/zookeeper.h>

#define QUEUED_MAX 11 /* characters that the server appends: digits, and a sign once its counter has gone round */
#define CLOSE_WAIT_MS 500

/* A change that the library has read but not yet passed on when its session is closed is never freed by it: a few
 * hundred bytes for each session, reported by the leak check at the end of a program. What our own callbacks allocate
 * is still checked: they do not run below that function. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_LEAK_CHECK 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define WITH_LEAK_CHECK 1
#endif
#ifdef WITH_LEAK_CHECK
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:zookeeper_process\n";
}
#endif

struct request {
    struct zk_event event; /* [const] must be first: an event is freed as what it is */
    struct zk *zk;         /* [const] */
    struct request *prev;  /* [lock] of zk */
    struct request *next;  /* [lock] of zk */
};

struct zk {
    struct zk_opts opts;                /* [const] servers is not kept */
    zhandle_t *handle;                  /* [const] after zk_open; callbacks use the one they are given */
    struct mutex lock;                  /* rank LOCK_LEAF */
    struct cond idle;                   /* with lock: open_requests has become empty */
    struct request *open_requests;      /* [lock] asked and not answered: freed at the end if the library drops them */
    _Atomic int state;                  /* [atomic] enum zk_state; release in watch_session, acquire in zk_get_state */
    _Atomic int64_t session_id;         /* [atomic] written before state, which orders it */
    _Atomic int64_t session_timeout_ms; /* [atomic] the same */
};

void zk_event_destroy(struct zk_event *event)
{
    if (!event)
        return;
    free(event->memory[0]);
    free(event->memory[1]);
    free(event);
}

void zk_events_destroy(struct zk_events *events)
{
    struct zk_event *event;

    while ((event = STAILQ_FIRST(events))) {
        STAILQ_REMOVE_HEAD(events, in_queue);
        zk_event_destroy(event);
    }
}

char *zk_format(const char *fmt, ...)
{
    char text[PATH_MAX];
    va_list args;
    int len;

    va_start(args, fmt);
    len = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return len >= 0 && (size_t)len < sizeof text ? str_copy(text) : NULL;
}

enum err zk_split_servers(const char *text, const char *base_path, char **servers, char **base, struct errctx *ec)
{
    size_t len = strcspn(text, "/");

    *servers = strndup(text, len);
    *base = zk_format("%s%s", text + len, base_path);
    return *servers && *base ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");
}

/* ---- requests in flight ------------------------------------------------------------------------------------ */

static struct request *create_request(struct zk *zk, const struct zk_ask *ask)
{
    struct request *r = calloc(1, sizeof *r);

    if (!r)
        return NULL;
    r->zk = zk;
    r->event.generation = zk->opts.generation;
    r->event.answer = (struct zk_answer){.verb = ask->verb, .tag = ask->tag, .id = ask->id};
    if (ask->verb == ZK_CREATE_QUEUED) {
        /* Room for the answer is made here, so that the name of a znode that exists is never lost for want of
         * memory. */
        r->event.memory[0] = malloc(strlen(ask->path) + QUEUED_MAX + 1);
        if (!r->event.memory[0]) {
            free(r);
            return NULL;
        }
        strcpy(r->event.memory[0], ask->path);
    }
    mutex_lock(&zk->lock);
    r->next = zk->open_requests;
    if (r->next)
        r->next->prev = r;
    zk->open_requests = r;
    mutex_unlock(&zk->lock);
    return r;
}

static void unlink_request(struct request *r)
{
    struct zk *zk = r->zk;

    mutex_lock(&zk->lock);
    if (r->prev)
        r->prev->next = r->next;
    else
        zk->open_requests = r->next;
    if (r->next)
        r->next->prev = r->prev;
    if (!zk->open_requests)
        cond_signal(&zk->idle);
    mutex_unlock(&zk->lock);
}

static enum zk_result get_result(int rc)
{
    switch (rc) {
    case ZOK: return ZK_OK;
    case ZNONODE: return ZK_NO_NODE;
    case ZNODEEXISTS: return ZK_EXISTS;
    case ZBADVERSION: return ZK_CHANGED;
    /* Whatever leaves it open whether the server has done it. */
    case ZSYSTEMERROR:
    case ZRUNTIMEINCONSISTENCY:
    case ZDATAINCONSISTENCY:
    case ZCONNECTIONLOSS:
    case ZMARSHALLINGERROR:
    case ZOPERATIONTIMEOUT:
    case ZINVALIDSTATE:
    case ZSESSIONEXPIRED:
    case ZSESSIONMOVED:
    case ZCLOSING: return ZK_LOST;
    default: return ZK_REFUSED;
    }
}

static void answer_request(struct request *r, int rc)
{
    struct zk *zk = r->zk;

    r->event.answer.result = get_result(rc);
    r->event.answer.error_text = rc == ZOK ? NULL : zerror(rc);
    unlink_request(r);
    zk->opts.post(zk->opts.arg, &r->event);
}

/* ---- callbacks: on the library's completion thread ----------------------------------------------------------- */

/* What is no name of what was asked for is an answer that got lost: the znode is looked for. */
static void on_created(int rc, const char *value, const void *data)
{
    struct request *r = (struct request *)data;
    char *path = r->event.memory[0];
    size_t len = path ? strlen(path) : 0;

    if (rc == ZOK && path && (!value || strncmp(value, path, len) != 0 || strlen(value + len) > QUEUED_MAX)) {
        rc = ZDATAINCONSISTENCY;
    } else if (rc == ZOK && path) {
        strcpy(path, value);
        r->event.answer.created = path;
    }
    answer_request(r, rc);
}

static void on_done(int rc, const void *data)
{
    answer_request((struct request *)data, rc);
}

static void on_synced(int rc, const char *value, const void *data)
{
    /* The list asked right behind it tells whether the connection held. */
    (void)rc;
    (void)value;
    (void)data;
}

static void on_owner(int rc, const char *value, int value_len, const struct Stat *stat, const void *data)
{
    struct request *r = (struct request *)data;

    (void)value;
    (void)value_len;
    if (rc == ZOK)
        r->event.answer.owner = stat->ephemeralOwner;
    answer_request(r, rc);
}

static void on_read(int rc, const char *value, int value_len, const struct Stat *stat, const void *data)
{
    struct request *r = (struct request *)data;
    size_t len = rc == ZOK && value && value_len > 0 ? (size_t)value_len : 0;
    char *text = malloc(len + 1);

    r->event.memory[0] = text;
    if (!text) {
        answer_request(r, ZSYSTEMERROR);
        return;
    }
    if (len)
        memcpy(text, value, len);
    text[len] = '\0';
    r->event.answer.data = text;
    if (rc == ZOK) {
        r->event.answer.owner = stat->ephemeralOwner;
        r->event.answer.version = stat->version;
    }
    answer_request(r, rc);
}

static void on_written(int rc, const struct Stat *stat, const void *data)
{
    struct request *r = (struct request *)data;

    if (rc == ZOK)
        r->event.answer.version = stat->version;
    answer_request(r, rc);
}

static void on_names(int rc, const struct String_vector *strings, const void *data)
{
    struct request *r = (struct request *)data;
    size_t count = rc == ZOK ? (size_t)strings->count : 0;
    size_t bytes = 1;
    const char **names;
    char *text;

    for (size_t i = 0; i < count; i++)
        bytes += strlen(strings->data[i]) + 1;
    names = calloc(count + 1, sizeof *names);
    text = malloc(bytes);
    r->event.memory[0] = names;
    r->event.memory[1] = text;
    if (!names || !text) {
        answer_request(r, ZSYSTEMERROR); /* asked again, like an answer that got lost */
        return;
    }
    for (size_t i = 0; i < count; i++) {
        names[i] = text;
        text = stpcpy(text, strings->data[i]) + 1;
    }
    r->event.answer.names = names;
    r->event.answer.count = count;
    answer_request(r, rc);
}

static void watch_session(struct zk *zk, zhandle_t *handle, int state)
{
    enum zk_state now = ZK_CONNECTING;

    if (state == ZOO_CONNECTED_STATE) {
        now = ZK_CONNECTED;
        atomic_store_explicit(&zk->session_id, zoo_client_id(handle)->client_id, memory_order_relaxed);
        atomic_store_explicit(&zk->session_timeout_ms, zoo_recv_timeout(handle), memory_order_relaxed);
    } else if (state == ZOO_EXPIRED_SESSION_STATE) {
        now = ZK_EXPIRED;
    } else if (state == ZOO_AUTH_FAILED_STATE) {
        now = ZK_BROKEN;
    }
    /* Pairs with the acquire in zk_get_state: who sees "connected" sees the id too. */
    atomic_store_explicit(&zk->state, (int)now, memory_order_release);
    zk->opts.poke(zk->opts.arg);
}

static void on_watch(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    struct zk *zk = context;
    struct zk_event *event;

    if (type == ZOO_SESSION_EVENT) {
        watch_session(zk, handle, state);
        return;
    }
    event = calloc(1, sizeof *event);
    if (!event)
        return; /* found out by the next check of the lists */
    event->memory[0] = str_copy(path);
    if (!event->memory[0]) {
        free(event);
        return;
    }
    event->generation = zk->opts.generation;
    event->changed_path = event->memory[0];
    zk->opts.post(zk->opts.arg, event);
}

/* The library repeats the same complaint at each attempt to connect; coord's own lines tell of each change once. */
static void on_log(const char *message)
{
    log_debug("coord", "event=zookeeper_client text=%s", log_quote(message).s);
}

/* ---- the session ---------------------------------------------------------------------------------------------- */

enum err zk_open(const struct zk_opts *opts, struct zk **out, struct errctx *ec)
{
    struct zk *zk = calloc(1, sizeof *zk);

    if (!zk)
        return err_set(ec, ERR_NOMEM, "out of memory");
    zk->opts = *opts;
    zk->opts.servers = NULL;
    mutex_init(&zk->lock, LOCK_LEAF);
    cond_init(&zk->idle);
    zoo_set_debug_level(ZOO_LOG_LEVEL_WARN);
    zoo_deterministic_conn_order(0); /* each node begins with another server of the list */
    errno = 0;
    zk->handle =
        zookeeper_init2(opts->servers, on_watch, (int)opts->session_timeout_ms, NULL, zk, ZOO_NO_LOG_CLIENTENV, on_log);
    if (!zk->handle) {
        int error = errno;

        cond_fini(&zk->idle);
        mutex_fini(&zk->lock);
        free(zk);
        return err_set(ec, ERR_LOST, "no ZooKeeper server of \"%s\" can be used: %s", opts->servers,
                       error == ENOENT || error == EINVAL || !error ? "no address for these names" : strerror(error));
    }
    *out = zk;
    return ERR_OK;
}

void zk_close(struct zk *zk)
{
    int64_t deadline;

    if (!zk)
        return;
    /* What is under way is let come to its end: the library would lose the memory of answers that it holds at its
     * close. */
    deadline = clock_mono_ms(zk->opts.clock) + CLOSE_WAIT_MS;
    mutex_lock(&zk->lock);
    while (zk->open_requests && cond_wait_until(&zk->idle, &zk->lock, deadline))
        ;
    mutex_unlock(&zk->lock);
    zookeeper_close(zk->handle); /* joins its threads: no callback comes after this */
    while (zk->open_requests) {
        struct request *r = zk->open_requests;

        zk->open_requests = r->next;
        zk_event_destroy(&r->event);
    }
    cond_fini(&zk->idle);
    mutex_fini(&zk->lock);
    free(zk);
}

bool zk_ask(struct zk *zk, const struct zk_ask *ask)
{
    struct request *r = create_request(zk, ask);
    int len = ask->data ? (int)strlen(ask->data) : 0;
    int rc = ZBADARGUMENTS;

    if (!r)
        return false;
    switch (ask->verb) {
    case ZK_MAKE:
        rc = zoo_acreate(zk->handle, ask->path, ask->data, len, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, on_created, r);
        break;
    case ZK_CREATE_QUEUED:
        rc = zoo_acreate(zk->handle, ask->path, ask->data, len, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL,
                         on_created, r);
        break;
    case ZK_CREATE_EPHEMERAL:
        rc = zoo_acreate(zk->handle, ask->path, ask->data, len, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL, on_created, r);
        break;
    case ZK_DELETE: rc = zoo_adelete(zk->handle, ask->path, -1, on_done, r); break;
    case ZK_LIST_SYNCED:
        rc = zoo_async(zk->handle, ask->path, on_synced, NULL);
        if (rc == ZOK)
            rc = zoo_aget_children(zk->handle, ask->path, 0, on_names, r);
        break;
    case ZK_LIST: rc = zoo_aget_children(zk->handle, ask->path, 0, on_names, r); break;
    case ZK_LIST_WATCHED: rc = zoo_aget_children(zk->handle, ask->path, 1, on_names, r); break;
    case ZK_WATCH:
        /* Not exists(): that would leave a watch for ever on a znode that has just gone. */
        rc = zoo_aget(zk->handle, ask->path, 1, on_owner, r);
        break;
    case ZK_READ: rc = zoo_aget(zk->handle, ask->path, 1, on_read, r); break;
    case ZK_WRITE: rc = zoo_aset(zk->handle, ask->path, ask->data, len, ask->version, on_written, r); break;
    }
    if (rc == ZOK)
        return true;
    unlink_request(r);
    zk_event_destroy(&r->event);
    return false;
}

enum zk_state zk_get_state(struct zk *zk)
{
    /* Pairs with the release in watch_session. */
    return (enum zk_state)atomic_load_explicit(&zk->state, memory_order_acquire);
}

struct zk_server zk_get_server(struct zk *zk)
{
    struct zk_server out = {.text = "?"};
    struct sockaddr_storage addr;
    socklen_t len = sizeof addr;
    char host[48];
    char port[8];

    if (zookeeper_get_connected_host(zk->handle, (struct sockaddr *)&addr, &len) &&
        getnameinfo((struct sockaddr *)&addr, len, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        snprintf(out.text, sizeof out.text, addr.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
    return out;
}

int64_t zk_get_session_id(struct zk *zk)
{
    return atomic_load_explicit(&zk->session_id, memory_order_relaxed);
}

int64_t zk_get_session_timeout_ms(struct zk *zk)
{
    return atomic_load_explicit(&zk->session_timeout_ms, memory_order_relaxed);
}
