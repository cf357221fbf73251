/* SPDX-License-Identifier: MIT */
/* The candidates, the one in use, and the connections to it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <fcntl.h>

#include "store/hosts/hosts_impl.h"

static enum err make_candidate(struct host *host, const struct store_opts *opts, const struct host_address *address,
                               const struct clock *clock, struct errctx *ec)
{
    struct store_opts own = *opts;

    host->name = str_copy(address->host);
    if (!host->name)
        return err_set(ec, ERR_NOMEM, "out of memory");
    host->port = address->port;
    own.hosts = NULL;
    own.owns_hosts = false;
    own.socket = NULL;
    own.host = host->name;
    own.port = host->port;
    own.max_sessions = 1;
    own.connect_timeout_ms = own.read_timeout_ms = HOSTS_PROBE_MS;
    return store_create(&own, clock, NULL, &host->store, ec);
}

enum err hosts_create(const struct store_opts *opts, const struct host_address *list, size_t count,
                      const struct clock *clock, struct hosts **out, struct errctx *ec)
{
    struct hosts *h = calloc(1, sizeof *h);
    enum err e = ERR_OK;

    if (!h)
        return err_set(ec, ERR_NOMEM, "out of memory");
    mutex_init(&h->lock, LOCK_STORE);
    h->clock = clock;
    h->use.index = -1;
    h->use.serial = 1;
    atomic_store_explicit(&h->serial, 1, memory_order_relaxed);
    hosts_set_lease(h, INT64_MAX);
    snprintf(h->why, sizeof h->why, "none was checked yet");
    h->list = calloc(count, sizeof *h->list);
    if (!h->list)
        e = err_set(ec, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < count && !e; i++) {
        h->count++;
        e = make_candidate(&h->list[i], opts, &list[i], clock, ec);
    }
    if (e) {
        hosts_destroy(h);
        return e;
    }
    *out = h;
    return ERR_OK;
}

void hosts_destroy(struct hosts *h)
{
    if (!h)
        return;
    for (size_t i = 0; i < h->count; i++) {
        store_destroy(h->list[i].store);
        free(h->list[i].name);
    }
    free(h->list);
    mutex_fini(&h->lock);
    free(h);
}

size_t hosts_count(const struct hosts *h)
{
    return h->count;
}

struct host_address hosts_get_address(const struct hosts *h, int index)
{
    return (struct host_address){.host = h->list[index].name, .port = h->list[index].port};
}

/* ---- the one in use ---------------------------------------------------------------------------------------------- */

/* Whoever waits for an answer there is told at once that there is none. */
static void move_locked(struct hosts *h, int index, const char *server, int64_t generation)
{
    h->use = (struct host_use){.index = index, .generation = generation, .serial = h->use.serial + 1};
    snprintf(h->use.server, sizeof h->use.server, "%s", server);
    atomic_store_explicit(&h->serial, h->use.serial, memory_order_release); /* pairs with hosts_is_current */
    for (struct host_link *link = h->links; link; link = link->next)
        shutdown(link->fd, SHUT_RDWR);
}

void hosts_manage(struct hosts *h, void (*trouble)(void *arg), void *arg)
{
    mutex_lock(&h->lock);
    h->is_managed = true;
    h->trouble = trouble;
    h->arg = arg;
    move_locked(h, -1, "", 0);
    mutex_unlock(&h->lock);
}

void hosts_use(struct hosts *h, int index, const char *server, int64_t generation)
{
    mutex_lock(&h->lock);
    if (h->use.index != index || h->use.generation != generation || strcmp(h->use.server, server) != 0)
        move_locked(h, index, server, generation);
    mutex_unlock(&h->lock);
}

void hosts_note_generation(struct hosts *h, int64_t generation)
{
    mutex_lock(&h->lock);
    h->use.generation = generation;
    mutex_unlock(&h->lock);
}

void hosts_stop(struct hosts *h, const char *why)
{
    mutex_lock(&h->lock);
    if (h->use.index >= 0)
        move_locked(h, -1, "", 0);
    snprintf(h->why, sizeof h->why, "%s", why);
    mutex_unlock(&h->lock);
}

struct host_use hosts_get_use(struct hosts *h)
{
    struct host_use use;

    mutex_lock(&h->lock);
    use = h->use;
    mutex_unlock(&h->lock);
    return use;
}

void hosts_set_lease(struct hosts *h, int64_t until_boot_ms)
{
    atomic_store_explicit(&h->lease_boot_ms, until_boot_ms, memory_order_relaxed);
}

static bool has_lease(const struct hosts *h)
{
    int64_t until_boot_ms = atomic_load_explicit(&h->lease_boot_ms, memory_order_relaxed);

    return until_boot_ms == INT64_MAX || clock_boot_ms(h->clock) < until_boot_ms;
}

bool hosts_is_current(const struct hosts *h, uint64_t serial)
{
    return atomic_load_explicit(&h->serial, memory_order_acquire) == serial && has_lease(h);
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

static void add_reason(char *reasons, size_t size, const struct host *host, const char *why)
{
    size_t len = strlen(reasons);

    snprintf(reasons + len, size - len, "%s%s:%d: %.200s", len ? "; " : "", host->name, host->port, why);
}

/* Nobody manages them, and there are several: what somebody would choose who has no others to agree with. */
static enum err choose(struct hosts *h, struct errctx *ec)
{
    struct host_facts best = {0}, facts;
    char reasons[HOSTS_WHY_MAX] = "";
    int index = -1;

    for (size_t i = 0; i < h->count; i++) {
        hosts_probe(h, (int)i, &facts);
        if (!facts.takes_writes) {
            add_reason(reasons, sizeof reasons, &h->list[i], facts.why);
        } else if (index < 0 || facts.generation > best.generation) {
            index = (int)i;
            best = facts;
        }
    }
    if (index < 0)
        return err_set(ec, ERR_LOST, "none of the %zu database servers accepts writes: %s", h->count, reasons);
    hosts_use(h, index, best.server, best.generation);
    return ERR_OK;
}

enum err hosts_find(struct hosts *h, struct host_use *use, struct errctx *ec)
{
    bool is_managed;
    enum err e = ERR_OK;

    mutex_lock(&h->lock);
    is_managed = h->is_managed;
    *use = h->use;
    if (use->index >= 0 && !has_lease(h))
        e = err_set(ec, ERR_LOST,
                    "the node had no connection to ZooKeeper: the nodes may have agreed on another server");
    if (use->index < 0 && is_managed)
        e = err_set(ec, ERR_LOST, "no database server is in use: %s", h->why);
    mutex_unlock(&h->lock);
    if (use->index >= 0 || is_managed)
        return e;
    if (h->count == 1)
        hosts_use(h, 0, "", 0);
    else
        e = choose(h, ec);
    *use = hosts_get_use(h);
    return e;
}

static void add_link(struct hosts *h, struct host_link *link, int fd, uint64_t serial)
{
    *link = (struct host_link){.next = h->links, .fd = fd, .serial = serial};
    if (h->links)
        h->links->prev = link;
    h->links = link;
}

enum err hosts_enter(struct hosts *h, struct host_link *link, const struct host_use *use, int fd, const char *server,
                     struct errctx *ec)
{
    struct host_address at = hosts_get_address(h, use->index);
    int own;

    if (use->server[0] && strcmp(use->server, server) != 0) {
        hosts_note_trouble(h, use->serial, true);
        return err_set(ec, ERR_LOST, "the server at %s:%d is %s, but the one in use is %s", at.host, at.port, server,
                       use->server);
    }
    own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0)
        return err_set(ec, ERR_LOST, "no file descriptor is left for a database connection");
    mutex_lock(&h->lock);
    if (use->serial == h->use.serial) {
        add_link(h, link, own, use->serial);
        own = -1;
    }
    mutex_unlock(&h->lock);
    if (own < 0)
        return ERR_OK;
    close(own);
    return err_set(ec, ERR_LOST, "the node now uses another database server");
}

void hosts_leave(struct hosts *h, struct host_link *link)
{
    if (!link->serial)
        return;
    mutex_lock(&h->lock);
    if (link->prev)
        link->prev->next = link->next;
    else
        h->links = link->next;
    if (link->next)
        link->next->prev = link->prev;
    mutex_unlock(&h->lock);
    close(link->fd);
    *link = (struct host_link){0};
}

void hosts_note_trouble(struct hosts *h, uint64_t serial, bool could_not_connect)
{
    void (*trouble)(void *arg);
    void *arg;

    mutex_lock(&h->lock);
    trouble = serial == h->use.serial ? h->trouble : NULL; /* of what was left nobody needs to know */
    arg = h->arg;
    if (!h->is_managed && h->count > 1 && could_not_connect && serial == h->use.serial)
        move_locked(h, -1, "", 0); /* the next session looks again */
    mutex_unlock(&h->lock);
    if (trouble)
        trouble(arg);
}
