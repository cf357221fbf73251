/* SPDX-License-Identifier: MIT */
/* The store object, its pool of sessions, and their connections. */
#include <stdlib.h>

#include "store/conn/session.h"
#include "shardwheel/watch.h"

#define LOOK_UP_MS 60000 /* of the server's name, by the system's resolver */
#define CALL_PIECES 3

/* ---- the store --------------------------------------------------------------------------------------------- */

static const size_t texts[] = {offsetof(struct store_opts, host),     offsetof(struct store_opts, socket),
                               offsetof(struct store_opts, database), offsetof(struct store_opts, user),
                               offsetof(struct store_opts, password), offsetof(struct store_opts, zone),
                               offsetof(struct store_opts, tls_ca)};

static const char **text_of(struct store_opts *opts, size_t i)
{
    return (const char **)(void *)((char *)opts + texts[i]);
}

static enum err copy_opts(struct store_opts *to, const struct store_opts *from, struct errctx *ec)
{
    bool good = true;

    *to = *from;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        const char *text = *text_of(to, i);

        *text_of(to, i) = str_copy(text);
        good = good && (*text_of(to, i) || !text);
    }
    return good ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");
}

static enum err check_opts(const struct store_opts *opts, struct errctx *ec)
{
    if (str_is_blank(opts->database))
        return err_set(ec, ERR_INPUT, "the database has no name");
    if (!opts->hosts && !opts->host && !opts->socket)
        return err_set(ec, ERR_INPUT, "neither a host nor a socket of the database is given");
    if (!opts->hosts && !opts->socket && (opts->port < 1 || opts->port > 65535))
        return err_set(ec, ERR_INPUT, "port %d of the database is not from 1 to 65535", opts->port);
    if (opts->max_sessions < 1)
        return err_set(ec, ERR_INPUT, "%d database sessions are too few", opts->max_sessions);
    return ERR_OK;
}

/* The longest that a call may take: a connection is a name look-up, a connect and some reads, and an answer may come in
 * pieces. Without limits it is as long as it likes. */
static int64_t find_call_ms(const struct store_opts *opts)
{
    int64_t longest_ms =
        opts->read_timeout_ms > opts->connect_timeout_ms ? opts->read_timeout_ms : opts->connect_timeout_ms;

    return opts->read_timeout_ms > 0 && opts->connect_timeout_ms > 0 ? LOOK_UP_MS + CALL_PIECES * longest_ms
                                                                     : WATCH_FOREVER;
}

enum err store_create(const struct store_opts *opts, const struct clock *clock, struct counters *counters,
                      struct store **out, struct errctx *ec)
{
    struct store *st = NULL;
    enum err e = check_opts(opts, ec);

    if (e)
        return e;
    e = db_library_init(ec);
    if (e)
        return e;
    st = calloc(1, sizeof *st);
    if (!st)
        return err_set(ec, ERR_NOMEM, "out of memory");
    st->clock = clock;
    st->counters = counters;
    mutex_init(&st->lock, LOCK_STORE);
    cond_init(&st->freed);
    atomic_init(&st->own_kinds, 0);
    st->hook_kinds = &st->own_kinds;
    st->call_ms = find_call_ms(opts);
    e = copy_opts(&st->opts, opts, ec);
    st->opts.owns_hosts = false; /* until all is well: who failed to make a store has them still */
    if (!e)
        e = opts->zone ? zone_load(opts->zone, &st->zone, ec) : zone_load_local(&st->zone, ec);
    if (e) {
        store_destroy(st);
        return err_wrap(ec, e, "database");
    }
    st->opts.owns_hosts = opts->owns_hosts;
    *out = st;
    return ERR_OK;
}

void store_drop_connection(struct store_session *s)
{
    if (!s->db)
        return;
    if (s->st->opts.hosts)
        hosts_leave(s->st->opts.hosts, &s->link);
    db_close(s->db);
    s->db = NULL;
    counters_add(s->st->counters, COUNTER_DB_CONNECTIONS, -1);
}

static void destroy_session(struct store_session *s)
{
    store_drop_connection(s);
    sqlbuf_fini(&s->sql);
    free(s);
}

void store_destroy(struct store *st)
{
    if (!st)
        return;
    for (int kind = 0; kind < SESSION_KINDS; kind++)
        while (st->idle[kind]) {
            struct store_session *s = st->idle[kind];
            st->idle[kind] = s->next;
            destroy_session(s);
        }
    if (st->opts.owns_hosts)
        hosts_destroy(st->opts.hosts);
    zone_destroy(st->zone);
    cond_fini(&st->freed);
    mutex_fini(&st->lock);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        free((char *)*text_of(&st->opts, i));
    free(st);
}

const struct zone *store_get_zone(const struct store *st)
{
    return st->zone;
}

struct hosts *store_get_hosts(const struct store *st)
{
    return st->opts.hosts;
}

/* ---- taking and giving ------------------------------------------------------------------------------------- */

static struct store_session *pop_idle(struct store *st, enum session_kind kind)
{
    struct store_session *s = st->idle[kind];

    if (s)
        st->idle[kind] = s->next;
    return s;
}

/* An idle session of that kind in *out, or a place for a new one: then *out is NULL, and *evicted may hold an idle
 * session of another kind to close. */
static enum err reserve_session(struct store *st, enum session_kind kind, struct store_session **out,
                                struct store_session **evicted, struct errctx *ec)
{
    int64_t deadline_mono_ms = clock_mono_ms(st->clock) + st->opts.connect_timeout_ms;
    bool in_time = true;
    enum err e = ERR_OK;

    *out = *evicted = NULL;
    mutex_lock(&st->lock);
    for (;;) {
        *out = pop_idle(st, kind);
        if (*out)
            break;
        if (st->open < st->opts.max_sessions) {
            st->open++;
            break;
        }
        for (int other = 0; other < SESSION_KINDS && !*evicted; other++)
            *evicted = pop_idle(st, (enum session_kind)other);
        if (*evicted)
            break;
        if (!in_time) {
            e = err_set(ec, ERR_TIMEOUT, "all %d database sessions are in use", st->opts.max_sessions);
            counters_add(st->counters, COUNTER_DB_BUSY, 1);
            break;
        }
        watch_pause(st->opts.connect_timeout_ms);
        in_time = cond_wait_until(&st->freed, &st->lock, deadline_mono_ms);
    }
    mutex_unlock(&st->lock);
    watch_step();
    return e;
}

/* Sessions of the guard have none: they must be there however busy the others are. */
static void free_place(struct store *st, enum session_kind kind)
{
    if (kind == SESSION_GUARD)
        return;
    mutex_lock(&st->lock);
    st->open--;
    cond_signal(&st->freed);
    mutex_unlock(&st->lock);
}

enum err store_take_session(struct store *st, enum session_kind kind, struct store_session **out, struct errctx *ec)
{
    struct store_session *s = NULL, *evicted = NULL;
    enum err e = kind == SESSION_GUARD ? ERR_OK : reserve_session(st, kind, &s, &evicted, ec);

    if (e)
        return e;
    if (evicted)
        destroy_session(evicted);
    if (!s) {
        s = calloc(1, sizeof *s);
        if (!s) {
            free_place(st, kind);
            return err_set(ec, ERR_NOMEM, "out of memory");
        }
        s->st = st;
        s->kind = kind;
    }
    e = store_ready_session(s, ec);
    if (e) {
        destroy_session(s);
        free_place(st, kind);
        return e;
    }
    *out = s;
    return ERR_OK;
}

void store_give_session(struct store *st, struct store_session *s)
{
    if (!s)
        return;
    enum session_kind kind = s->kind;

    if (kind == SESSION_GUARD) /* whatever it waits for or holds */
        store_drop_connection(s);
    store_end_txn(s);
    if (s->is_bound)
        store_drop_connection(s);
    if (!s->db) {
        destroy_session(s);
        free_place(st, kind);
        return;
    }
    /* One large batch must not keep its memory in every session for ever. */
    if (s->sql.text.cap > 4 * STORE_STATEMENT_SOFT_MAX)
        sqlbuf_fini(&s->sql);
    s->no_features = ERR_OK;
    mutex_lock(&st->lock);
    s->next = st->idle[s->kind];
    st->idle[s->kind] = s;
    cond_signal(&st->freed);
    mutex_unlock(&st->lock);
}

void store_close_session(struct store *st, struct store_session *s)
{
    if (s)
        store_drop_connection(s);
    store_give_session(st, s);
}

/* ---- connections ------------------------------------------------------------------------------------------- */

/* Counts a statement, closes what broke. */
enum err store_note_outcome(struct store_session *s, enum err e)
{
    watch_step();
    counters_add(s->st->counters, COUNTER_DB_STATEMENTS, 1);
    if (!e) {
        counters_set(s->st->counters, COUNTER_DB_UP, 1);
        return ERR_OK;
    }
    counters_add(s->st->counters, COUNTER_DB_ERRORS, 1);
    if (s->db && db_is_broken(s->db)) {
        if (s->st->opts.hosts)
            hosts_note_trouble(s->st->opts.hosts, s->link.serial, false);
        store_drop_connection(s);
        counters_set(s->st->counters, COUNTER_DB_UP, 0);
    }
    return e;
}

bool store_is_moved(const struct store_session *s)
{
    const struct hosts *hosts = s->st->opts.hosts;

    return hosts && !hosts_is_current(hosts, s->link.serial);
}

static enum err connect_in_use(struct store_session *s, struct errctx *ec)
{
    struct hosts *hosts = s->st->opts.hosts;
    struct store_opts opts = s->st->opts;
    struct host_use use;
    enum err e = hosts_find(hosts, &use, ec);

    if (e)
        return e;
    opts.host = hosts_get_address(hosts, use.index).host;
    opts.port = hosts_get_address(hosts, use.index).port;
    e = db_connect(&opts, s->kind, &s->db, ec);
    if (e) {
        hosts_note_trouble(hosts, use.serial, true);
        return e;
    }
    e = hosts_enter(hosts, &s->link, &use, db_get_socket(s->db), db_get_server(s->db), ec);
    if (e) {
        db_close(s->db);
        s->db = NULL;
    }
    return e;
}

enum err store_ready_session(struct store_session *s, struct errctx *ec)
{
    enum err e;

    if (s->db && !s->in_txn && (store_is_moved(s) || db_is_hung_up(s->db)))
        store_drop_connection(s);
    if (s->db)
        return ERR_OK;
    s->in_txn = s->is_bound = false;
    watch_pause(s->st->call_ms);
    e = s->st->opts.hosts ? connect_in_use(s, ec) : db_connect(&s->st->opts, s->kind, &s->db, ec);
    watch_step();
    if (e) {
        counters_add(s->st->counters, COUNTER_DB_ERRORS, 1);
        counters_set(s->st->counters, COUNTER_DB_UP, 0);
        return e;
    }
    counters_add(s->st->counters, COUNTER_DB_CONNECTIONS, 1);
    counters_set(s->st->counters, COUNTER_DB_UP, 1);
    return ERR_OK;
}
