/* SPDX-License-Identifier: MIT */
/*
 * strange_zoo: libzookeeper and its server for fuzz targets, in one thread. The functions of the library that
 * coord/zk.c calls stand here, in front of those of the library. Behind them is a tree of znodes. Strangers make,
 * change and delete znodes of any name and content; answers get lost, are refused, or say what is not so. Which, the
 * input says.
 *
 * Threads     One. Callbacks run when the target says so, or within zoo_a... when zoo.answers_at_once.
 */
#ifndef SHARDWHEEL_TESTS_STRANGE_ZOO_H
#define SHARDWHEEL_TESTS_STRANGE_ZOO_H

#include "input.h"
#include "shardwheel/base.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADED
#include <zookeeper/zookeeper.h>

#define ZOO_BASE "/xxl-job"
#define ZOO_NODES 160
#define ZOO_LOCKS 8
#define ZOO_TIMEOUT_MS 4000

/* ---- the input --------------------------------------------------------------------------------------------------- */

static const char *zoo_draw_number(void)
{
    static const char *const numbers[] = {"0",
                                          "1",
                                          "2",
                                          "3",
                                          "7",
                                          "-1",
                                          "",
                                          "x",
                                          "2147483647",
                                          "2147483648",
                                          "-2147483648",
                                          "9223372036854775806",
                                          "9223372036854775807",
                                          "-9223372036854775808",
                                          "99999999999999999999999",
                                          "4000"};

    return numbers[draw(ARRAY_LEN(numbers))];
}

/* Bytes of the input, 250 at most. */
static void zoo_draw_bytes(struct buf *out)
{
    size_t len = draw(251);

    if (len > input.left)
        len = input.left;
    buf_append(out, (const char *)input.at, len);
    input.at += len;
    input.left -= len;
}

/* ---- the server's tree ------------------------------------------------------------------------------------------- */

struct zoo_node {
    char *path; /* NULL: the place is free */
    char *data; /* NULL: none at all */
    int len;
    int64_t owner;
    int version;
    int next_ticket;
    bool is_strangers; /* its data: a stranger made it, or wrote over it */
};

struct zoo_request {
    struct zoo_request *next;
    enum { ASK_CREATE, ASK_DELETE, ASK_LIST, ASK_GET, ASK_SET, ASK_SYNC } kind;
    char *path;
    char *data;
    int len;
    int mode;
    int version;
    bool watched;
    union {
        string_completion_t string;
        void_completion_t plain;
        strings_completion_t strings;
        data_completion_t data;
        stat_completion_t stat;
    } done;
    const void *arg;
};

struct zoo_watch {
    struct zoo_watch *next;
    char *path;
    bool children;
    bool missed; /* while the connection was away */
};

struct _zhandle {
    watcher_fn watcher;
    void *context;
    clientid_t id;
    int timeout_ms;
    int state;
    struct zoo_request *first, *last;
    size_t waiting;
    struct zoo_watch *watches;
    struct _zhandle *older;
};

static struct {
    int64_t now_ms;
    struct zoo_node nodes[ZOO_NODES];
    struct _zhandle *handle; /* the newest that is open */
    int64_t next_session;
    int64_t ended[16]; /* sessions that were not closed, and when the server ends them */
    int64_t ends_ms[16];
    unsigned end_count;
    bool refuses_opening;
    bool answers_at_once;
    bool has_lied; /* in this session */
    uint64_t asked;
    bool forbids;                     /* nobody may create */
    char own_prefix[ZOO_LOCKS][80];   /* of our tickets, without the digits, by folder */
    char shown_first[ZOO_LOCKS][256]; /* the first ticket of the list that was shown last in this session */
    char shown_primary[1200];
} zoo;

static struct zoo_node *zoo_find(const char *path)
{
    for (size_t i = 0; i < ZOO_NODES; i++) {
        if (zoo.nodes[i].path && strcmp(zoo.nodes[i].path, path) == 0)
            return &zoo.nodes[i];
    }
    return NULL;
}

/* It belongs to the session that there is now: a persistent one has no owner, a session that has not begun no id. */
static bool zoo_is_of_session(const struct zoo_node *n)
{
    return zoo.handle && n->owner && n->owner == zoo.handle->id.client_id;
}

static void zoo_send_event(struct _zhandle *h, int type, const char *path)
{
    h->watcher(h, type, h->state, path, h->context);
}

static void zoo_fire(const char *path, bool children)
{
    struct zoo_watch **at = zoo.handle ? &zoo.handle->watches : NULL;

    while (at && *at) {
        struct zoo_watch *w = *at;

        if (w->children != children || strcmp(w->path, path) != 0) {
            at = &w->next;
        } else if (zoo.handle->state != ZOO_CONNECTED_STATE) {
            w->missed = true;
            at = &w->next;
        } else {
            *at = w->next;
            zoo_send_event(zoo.handle, children ? ZOO_CHILD_EVENT : ZOO_CHANGED_EVENT, path);
            free(w->path);
            free(w);
        }
    }
}

static void zoo_fire_parent(const char *path)
{
    char *parent = strdup(path);

    *strrchr(parent, '/') = '\0';
    zoo_fire(parent, true);
    free(parent);
}

static struct zoo_node *zoo_find_parent(const char *path)
{
    char *parent = strdup(path);
    struct zoo_node *found;

    *strrchr(parent, '/') = '\0';
    found = zoo_find(parent);
    free(parent);
    return found;
}

static void zoo_set_data(struct zoo_node *n, const char *data, int len)
{
    char *copy = data && len >= 0 ? malloc((size_t)len + 1) : NULL;

    if (copy && len) /* not ended: the library does not either */
        memcpy(copy, data, (size_t)len);
    free(n->data);
    n->data = copy;
    n->len = copy ? len : -1;
}

static int zoo_make(const char *path, const char *data, int len, int mode, int64_t owner, char **created)
{
    bool queued = mode == ZOO_EPHEMERAL_SEQUENTIAL;
    struct zoo_node *parent = zoo_find_parent(path), *n = NULL;
    struct buf full = {0};

    if (!parent && strrchr(path, '/') != path)
        return ZNONODE;
    buf_puts(&full, path);
    if (queued)
        buf_printf(&full, "%010d", parent ? parent->next_ticket : 0);
    if (zoo_find(full.data)) {
        buf_fini(&full);
        return ZNODEEXISTS;
    }
    for (size_t i = 0; !n && i < ZOO_NODES; i++)
        n = zoo.nodes[i].path ? NULL : &zoo.nodes[i];
    if (!n) {
        buf_fini(&full);
        return ZSYSTEMERROR;
    }
    if (parent && parent->next_ticket < INT32_MAX)
        parent->next_ticket++;
    *n = (struct zoo_node){.path = buf_take(&full), .owner = mode == ZOO_PERSISTENT ? 0 : owner};
    zoo_set_data(n, data, len);
    if (created)
        *created = strdup(n->path);
    zoo_fire_parent(n->path);
    return ZOK;
}

static void zoo_remove(struct zoo_node *n)
{
    char *path = n->path;
    size_t len = strlen(path);

    n->path = NULL;
    free(n->data);
    n->data = NULL;
    for (size_t i = 0; i < ZOO_NODES; i++) { /* and all below */
        if (zoo.nodes[i].path && strncmp(zoo.nodes[i].path, path, len) == 0 && zoo.nodes[i].path[len] == '/')
            zoo_remove(&zoo.nodes[i]);
    }
    zoo_fire(path, false);
    zoo_fire(path, true);
    zoo_fire_parent(path);
    free(path);
}

static void zoo_end_session(int64_t id)
{
    for (size_t i = 0; i < ZOO_NODES; i++) {
        if (zoo.nodes[i].path && zoo.nodes[i].owner == id && id)
            zoo_remove(&zoo.nodes[i]);
    }
}

static void zoo_pass_time(int64_t ms)
{
    zoo.now_ms += ms;
    for (unsigned i = 0; i < zoo.end_count; i++) {
        if (zoo.ends_ms[i] > zoo.now_ms)
            continue;
        zoo_end_session(zoo.ended[i]);
        zoo.end_count--;
        zoo.ended[i] = zoo.ended[zoo.end_count];
        zoo.ends_ms[i] = zoo.ends_ms[zoo.end_count];
        i--;
    }
}

/* ---- what was shown of the locks: an own reading of Curator's rule ----------------------------------------------- */

static int zoo_get_lock(const char *path)
{
    static const char start[] = ZOO_BASE "/schedule_lock_";

    return strncmp(path, start, sizeof start - 1) == 0 ? path[sizeof start - 1] - '0' : -1;
}

static bool zoo_read_number(const char *name, int64_t *out)
{
    const char *at = NULL, *digits;
    int64_t value = 0;

    for (const char *p = name; (p = strstr(p, "lock-")) != NULL; p++)
        at = p + 5;
    if (!at)
        return false;
    digits = at + (*at == '-' || *at == '+');
    if (!*digits || strspn(digits, "0123456789") != strlen(digits))
        return false;
    for (const char *p = digits; *p; p++)
        value = value > INT32_MAX ? value : value * 10 + (*p - '0');
    *out = *at == '-' ? -value : value;
    return *out >= INT32_MIN && *out <= INT32_MAX;
}

static bool zoo_is_before(const char *a, const char *b)
{
    int64_t x = 0, y = 0;

    if (!zoo_read_number(a, &x))
        return false;
    if (!b || !zoo_read_number(b, &y))
        return true;
    return x != y ? x < y : strcmp(a, b) < 0;
}

static void zoo_note_list(const char *path, char *const *names, int count)
{
    int lock = zoo_get_lock(path);
    const char *first = NULL;

    if (lock < 0 || lock >= ZOO_LOCKS)
        return;
    for (int i = 0; i < count; i++) {
        if (zoo_is_before(names[i], first))
            first = names[i];
    }
    snprintf(zoo.shown_first[lock], sizeof zoo.shown_first[lock], "%s", first ? first : "");
}

static bool zoo_is_ours(int lock, const char *name)
{
    size_t len = strlen(zoo.own_prefix[lock]);

    return len && strncmp(name, zoo.own_prefix[lock], len) == 0;
}

/* ---- strange texts ----------------------------------------------------------------------------------------------- */

static void zoo_draw_name(struct buf *out, int lock)
{
    static const char *const names[] = {"n1",
                                        "n2",
                                        "w1",
                                        "w2",
                                        "lock-0000000000",
                                        "lock-",
                                        "_c_x-lock-0000000001",
                                        "0123456789012345678901234567890123456789",
                                        "lease",
                                        "primary",
                                        "..",
                                        "?"};
    size_t before = out->len;

    switch (draw(6)) {
    case 0: buf_puts(out, names[draw(ARRAY_LEN(names))]); break;
    case 1: buf_printf(out, "lock-%s", zoo_draw_number()); break;
    case 2: /* of ours */
        buf_printf(out, "%s%s", lock >= 0 && lock < ZOO_LOCKS ? zoo.own_prefix[lock] : "n", zoo_draw_number());
        break;
    case 3: buf_printf(out, "_c_01234567-89ab-cdef-0123-456789abcdef-lock-%s", zoo_draw_number()); break;
    case 4: /* a long one */
        for (unsigned n = 1 + draw(40); n; n--)
            buf_puts(out, "longlonglonglong");
        break;
    case 5: zoo_draw_bytes(out); break;
    }
    for (size_t i = before; i < out->len; i++) { /* what no znode can have in its name */
        if (out->data[i] == '\0' || out->data[i] == '/')
            out->data[i] = '_';
    }
}

static void zoo_draw_data(struct buf *out)
{
    static const char *const by[] = {"w1", "w2", "gone", "0123456789012345678901234567890123456789"};
    static const char *const servers[] = {"db1:3306 1 a", "db2:3306 2 b", "other", ""};

    switch (draw(4)) {
    case 0:
        buf_printf(out, "generation=%s", zoo_draw_number());
        buf_printf(out, " fine=%s", zoo_draw_number());
        buf_printf(out, " timeout=%s", zoo_draw_number());
        break;
    case 1:
        buf_printf(out, "generation=%s", zoo_draw_number());
        buf_printf(out, " base=%s", zoo_draw_number());
        buf_printf(out, " used=%s", zoo_draw_number());
        buf_printf(out, " by=%s", by[draw(ARRAY_LEN(by))]);
        buf_printf(out, " server=%s", servers[draw(ARRAY_LEN(servers))]);
        break;
    case 2: zoo_draw_bytes(out); break;
    case 3:
        for (unsigned n = draw(40); n; n--)
            buf_puts(out, "generation= by=");
        zoo_draw_bytes(out);
        break;
    }
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static void zoo_free_request(struct zoo_request *r)
{
    free(r->path);
    free(r->data);
    free(r);
}

static void zoo_fail(struct zoo_request *r, int rc)
{
    struct String_vector none = {0, NULL};

    switch (r->kind) {
    case ASK_CREATE:
    case ASK_SYNC: r->done.string(rc, NULL, r->arg); break;
    case ASK_DELETE: r->done.plain(rc, r->arg); break;
    case ASK_LIST: r->done.strings(rc, rc == ZOK ? &none : NULL, r->arg); break;
    case ASK_GET: r->done.data(rc, NULL, -1, NULL, r->arg); break;
    case ASK_SET: r->done.stat(rc, NULL, r->arg); break;
    }
}

static void zoo_keep_watch(struct _zhandle *h, const char *path, bool children)
{
    struct zoo_watch *w;

    for (w = h->watches; w; w = w->next) {
        if (w->children == children && strcmp(w->path, path) == 0)
            return;
    }
    w = calloc(1, sizeof *w);
    *w = (struct zoo_watch){.next = h->watches, .path = strdup(path), .children = children};
    h->watches = w;
}

static int zoo_list(const char *folder, char **names)
{
    size_t len = strlen(folder);
    int count = 0;

    for (size_t i = 0; i < ZOO_NODES; i++) {
        const char *path = zoo.nodes[i].path;

        if (path && strncmp(path, folder, len) == 0 && path[len] == '/' && !strchr(path + len + 1, '/'))
            names[count++] = strdup(path + len + 1);
    }
    return count;
}

static void zoo_answer_list(struct _zhandle *h, struct zoo_request *r, bool lies)
{
    char *names[ZOO_NODES + 16];
    struct String_vector list = {0, names};

    if (!zoo_find(r->path) && !lies) {
        r->done.strings(ZNONODE, NULL, r->arg);
        return;
    }
    if (!lies || draw(2))
        list.count = zoo_list(r->path, names);
    for (unsigned n = lies ? draw(8) : 0; n; n--) {
        struct buf name = {0};

        if (list.count && draw(2))
            buf_puts(&name, names[draw((unsigned)list.count)]); /* twice */
        else
            zoo_draw_name(&name, zoo_get_lock(r->path));
        names[list.count++] = name.data ? buf_take(&name) : strdup("");
        buf_fini(&name);
    }
    if (r->watched && zoo_find(r->path))
        zoo_keep_watch(h, r->path, true);
    zoo_note_list(r->path, names, list.count);
    r->done.strings(ZOK, &list, r->arg);
    while (list.count)
        free(names[--list.count]);
}

static void zoo_answer_get(struct _zhandle *h, struct zoo_request *r, bool lies)
{
    const struct zoo_node *n = zoo_find(r->path);
    struct Stat stat = {.ephemeralOwner = n ? n->owner : 0, .version = n ? n->version : 0};
    struct buf data = {0};
    char *exact = NULL;
    int len = n ? n->len : -1;

    if (!n && !lies) {
        r->done.data(ZNONODE, NULL, -1, NULL, r->arg);
        return;
    }
    if (lies) {
        static const int64_t owners[] = {0, 1, -1, INT64_MAX};

        zoo_draw_data(&data);
        len = data.len ? (int)data.len : (int)draw(2) - 1;
        stat.ephemeralOwner = draw(2) ? h->id.client_id : owners[draw(ARRAY_LEN(owners))];
        stat.version = (int)draw(4) - 1;
    } else if (n->data) {
        buf_append(&data, n->data, (size_t)n->len);
    }
    if (len >= 0) { /* no zero behind it */
        exact = malloc(len ? (size_t)len : 1);
        memcpy(exact, data.len ? data.data : "", (size_t)len);
    }
    if (strcmp(r->path, ZOO_BASE "/primary") == 0)
        snprintf(zoo.shown_primary, sizeof zoo.shown_primary, "%.*s", len > 0 ? len : 0, exact ? exact : "");
    if (r->watched && n)
        zoo_keep_watch(h, r->path, false);
    r->done.data(ZOK, exact, len, &stat, r->arg);
    free(exact);
    buf_fini(&data);
}

static void zoo_answer_create(struct _zhandle *h, struct zoo_request *r, bool lies)
{
    char *created = NULL;
    int rc = zoo.forbids ? ZNOAUTH : ZOK;

    if (lies && draw(2)) { /* a name with other digits, or no path at all */
        struct buf name = {0};

        buf_printf(&name, "%s%s", draw(4) ? r->path : "", zoo_draw_number());
        r->done.string(ZOK, name.data, r->arg);
        buf_fini(&name);
        return;
    }
    if (!rc)
        rc = zoo_make(r->path, r->data, r->len, r->mode, h->id.client_id, &created);
    r->done.string(rc, created, r->arg);
    free(created);
}

static int zoo_write(const struct zoo_request *r, struct Stat *stat)
{
    struct zoo_node *n = zoo_find(r->path);

    if (!n)
        return ZNONODE;
    if (r->version != -1 && n->version != r->version)
        return ZBADVERSION;
    zoo_set_data(n, r->data, r->len);
    n->is_strangers = false;
    stat->version = ++n->version;
    zoo_fire(n->path, false);
    return ZOK;
}

static void zoo_answer_set(struct zoo_request *r, bool lies)
{
    struct Stat stat = {0};
    int rc = zoo_write(r, &stat);

    r->done.stat(lies && rc == ZNONODE ? ZOK : rc, &stat, r->arg);
}

static void zoo_carry_out(struct _zhandle *h, struct zoo_request *r, bool lies)
{
    switch (r->kind) {
    case ASK_CREATE: zoo_answer_create(h, r, lies); break;
    case ASK_DELETE: {
        struct zoo_node *n = zoo_find(r->path);

        if (n && !lies)
            zoo_remove(n);
        r->done.plain(n || lies ? ZOK : ZNONODE, r->arg);
        break;
    }
    case ASK_LIST: zoo_answer_list(h, r, lies); break;
    case ASK_GET: zoo_answer_get(h, r, lies); break;
    case ASK_SET: zoo_answer_set(r, lies); break;
    case ASK_SYNC: r->done.string(ZOK, r->path, r->arg); break;
    }
}

static struct zoo_request *zoo_take_request(struct _zhandle *h)
{
    struct zoo_request *r = h->first;

    if (!r)
        return NULL;
    h->first = r->next;
    if (!h->first)
        h->last = NULL;
    h->waiting--;
    return r;
}

enum zoo_answer { ANSWER_TRUE, ANSWER_ERROR, ANSWER_DONE_AND_LOST, ANSWER_LIE };

static void zoo_answer_next(struct _zhandle *h, enum zoo_answer how)
{
    static const int errors[] = {ZCONNECTIONLOSS, ZOPERATIONTIMEOUT, ZNOAUTH,       ZSYSTEMERROR, ZMARSHALLINGERROR,
                                 ZSESSIONEXPIRED, ZSESSIONMOVED,     ZINVALIDSTATE, ZNOTREADONLY, ZNOTEMPTY,
                                 ZINVALIDACL,     ZBADARGUMENTS,     ZTHROTTLEDOP,  -999,         7,
                                 ZNONODE,         ZNODEEXISTS,       ZBADVERSION};
    struct zoo_request *r = zoo_take_request(h);
    unsigned error;

    if (!r)
        return;
    switch (how) {
    case ANSWER_TRUE: zoo_carry_out(h, r, false); break;
    case ANSWER_LIE:
        zoo.has_lied = true;
        zoo_carry_out(h, r, true);
        break;
    case ANSWER_DONE_AND_LOST:
        if (r->kind == ASK_CREATE)
            (void)!zoo_make(r->path, r->data, r->len, r->mode, h->id.client_id, NULL);
        else if (r->kind == ASK_DELETE && zoo_find(r->path))
            zoo_remove(zoo_find(r->path));
        else if (r->kind == ASK_SET)
            (void)!zoo_write(r, &(struct Stat){0});
        zoo_fail(r, ZOPERATIONTIMEOUT);
        break;
    case ANSWER_ERROR:
        error = draw(ARRAY_LEN(errors));
        zoo.has_lied |= error >= ARRAY_LEN(errors) - 3;
        zoo_fail(r, errors[error]);
        break;
    }
    zoo_free_request(r);
}

/* ---- the connection ---------------------------------------------------------------------------------------------- */

static void zoo_fail_all(struct _zhandle *h, int rc)
{
    struct zoo_request *r;

    while ((r = zoo_take_request(h)) != NULL) {
        if (rc)
            zoo_fail(r, rc); /* else it is dropped */
        zoo_free_request(r);
    }
}

static void zoo_begin_session(struct _zhandle *h, int64_t id, int timeout_ms)
{
    h->id.client_id = id;
    h->timeout_ms = timeout_ms;
    zoo.has_lied = false;
    memset(zoo.shown_first, 0, sizeof zoo.shown_first);
}

static void zoo_tell_state(struct _zhandle *h, int state)
{
    if (h->state == ZOO_CONNECTED_STATE && state != ZOO_CONNECTED_STATE)
        zoo_fail_all(h, state == ZOO_EXPIRED_SESSION_STATE ? ZSESSIONEXPIRED : ZCONNECTIONLOSS);
    if (state == ZOO_EXPIRED_SESSION_STATE)
        zoo_end_session(h->id.client_id);
    h->state = state;
    zoo_send_event(h, ZOO_SESSION_EVENT, "");
    for (struct zoo_watch **at = &h->watches; state == ZOO_CONNECTED_STATE && *at;) {
        struct zoo_watch *w = *at;

        if (!w->missed) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        zoo_send_event(h, w->children ? ZOO_CHILD_EVENT : ZOO_CHANGED_EVENT, w->path);
        free(w->path);
        free(w);
    }
}

static void zoo_connect(struct _zhandle *h)
{
    if (!h->id.client_id)
        zoo_begin_session(h, ++zoo.next_session, ZOO_TIMEOUT_MS);
    zoo_tell_state(h, ZOO_CONNECTED_STATE);
}

static void zoo_play_connection(struct _zhandle *h)
{
    static const int timeouts[] = {ZOO_TIMEOUT_MS, 0, 1, -1, INT32_MAX};
    static const int64_t ids[] = {1, -1, INT64_MAX, 0x100};

    switch (draw(7)) {
    case 0: zoo_connect(h); break;
    case 1:
        if (!h->id.client_id)
            zoo_begin_session(h, ids[draw(ARRAY_LEN(ids))], timeouts[draw(ARRAY_LEN(timeouts))]);
        zoo_connect(h);
        break;
    case 2: zoo_tell_state(h, ZOO_CONNECTING_STATE); break;
    case 3: zoo_tell_state(h, ZOO_EXPIRED_SESSION_STATE); break;
    case 4: zoo_tell_state(h, ZOO_AUTH_FAILED_STATE); break;
    case 5: zoo_tell_state(h, ZOO_ASSOCIATING_STATE); break;
    case 6: zoo_tell_state(h, (int)draw(256) - 128); break;
    }
}

/* ---- strangers --------------------------------------------------------------------------------------------------- */

static void zoo_draw_path(struct buf *out)
{
    static const char *const folders[] = {"/nodes", "/writers", "/schedule_lock_0", "/schedule_lock_1", "", "/primary"};
    unsigned folder = draw(ARRAY_LEN(folders));

    buf_printf(out, ZOO_BASE "%s", folders[folder]);
    if (folder == 5)
        return;
    buf_putc(out, '/');
    zoo_draw_name(out, folder == 2 ? 0 : folder == 3 ? 1 : -1);
}

static void zoo_play_stranger(void)
{
    struct buf path = {0}, data = {0};
    struct zoo_node *n;

    switch (draw(5)) {
    case 0:
    case 1:
        zoo_draw_path(&path);
        zoo_draw_data(&data);
        if (!zoo_find(ZOO_BASE))
            (void)!zoo_make(ZOO_BASE, NULL, -1, ZOO_PERSISTENT, 0, NULL);
        if (path.len > strlen(ZOO_BASE) + 1 && path.data[path.len - 1] != '/' &&
            zoo_make(path.data, data.data, data.len ? (int)data.len : (int)draw(2) - 1,
                     draw(4) ? ZOO_PERSISTENT : ZOO_EPHEMERAL, 999, NULL) == ZOK)
            zoo_find(path.data)->is_strangers = true;
        break;
    case 2:
        n = &zoo.nodes[draw(ZOO_NODES)];
        if (n->path)
            zoo_remove(n);
        break;
    case 3:
        n = draw(2) ? zoo_find(ZOO_BASE "/primary") : &zoo.nodes[draw(ZOO_NODES)];
        zoo_draw_data(&data);
        if (n && n->path) {
            zoo_set_data(n, data.data, (int)data.len);
            n->is_strangers = true;
            n->version++;
            zoo_fire(n->path, false);
        }
        break;
    case 4:
        n = &zoo.nodes[draw(16)];
        if (n->path)
            n->next_ticket = (int)(draw(2) ? INT32_MAX - 2 : INT32_MIN);
        break;
    }
    buf_fini(&path);
    buf_fini(&data);
}

static void zoo_play_event(struct _zhandle *h)
{
    static const int types[] = {1, 2, 3, 4, -2, 0, 77};
    struct buf path = {0};
    unsigned times = 1 + draw(3);
    int type = types[draw(ARRAY_LEN(types))];
    const struct zoo_node *n = &zoo.nodes[draw(ZOO_NODES)];

    if (n->path && draw(2))
        buf_puts(&path, n->path);
    else
        zoo_draw_path(&path);
    while (times--)
        zoo_send_event(h, type, path.data);
    buf_fini(&path);
}

/* Anything that can come from ZooKeeper without an oracle that tells it from another. */
static void zoo_play(void)
{
    struct _zhandle *h = zoo.handle;
    unsigned what = draw(12);

    if (what == 0)
        zoo_play_stranger();
    else if (what == 1)
        zoo.forbids = draw(2);
    else if (what == 2)
        zoo.refuses_opening = draw(2);
    else if (!h)
        return;
    else if (what == 3)
        zoo_play_connection(h);
    else if (what == 4)
        zoo_play_event(h);
    else if (what == 5)
        zoo_answer_next(h, ANSWER_ERROR);
    else if (what == 6)
        zoo_answer_next(h, ANSWER_DONE_AND_LOST);
    else if (what == 7)
        zoo_answer_next(h, ANSWER_LIE);
    else if (what == 8)
        zoo_answer_next(h, ANSWER_TRUE);
    else
        for (unsigned n = 1 + draw(32); n; n--)
            zoo_answer_next(h, ANSWER_TRUE);
}

static void zoo_begin(const uint8_t *data, size_t size)
{
    memset(&zoo, 0, sizeof zoo);
    input_begin(data, size);
    zoo.now_ms = 1000000;
    zoo.next_session = 0x1000;
}

static void zoo_end(void)
{
    must(!zoo.handle, "every session is closed");
    for (size_t i = 0; i < ZOO_NODES; i++) {
        free(zoo.nodes[i].path);
        free(zoo.nodes[i].data);
    }
}

/* ---- the library ------------------------------------------------------------------------------------------------- */

zhandle_t *zookeeper_init2(const char *host, watcher_fn fn, int recv_timeout, const clientid_t *clientid, void *context,
                           int flags, log_callback_fn log_callback)
{
    struct _zhandle *h;

    (void)recv_timeout, (void)clientid, (void)flags;
    must(host && *host, "the library is given a server");
    if (zoo.refuses_opening) {
        errno = draw(2) ? ENOENT : ENOMEM;
        return NULL;
    }
    h = calloc(1, sizeof *h);
    *h = (struct _zhandle){.watcher = fn, .context = context, .state = ZOO_CONNECTING_STATE, .older = zoo.handle};
    zoo.handle = h;
    log_callback("connecting\n");
    memset(zoo.shown_first, 0, sizeof zoo.shown_first);
    return h;
}

int zookeeper_close(zhandle_t *h)
{
    struct _zhandle **at = &zoo.handle;

    while (*at != h)
        at = &(*at)->older;
    *at = h->older;
    zoo_fail_all(h, draw(2) ? 0 : ZCLOSING);
    if (h->state == ZOO_CONNECTED_STATE || zoo.end_count == ARRAY_LEN(zoo.ended)) {
        zoo_end_session(h->id.client_id);
    } else {
        zoo.ended[zoo.end_count] = h->id.client_id;
        zoo.ends_ms[zoo.end_count++] = zoo.now_ms + ZOO_TIMEOUT_MS;
    }
    while (h->watches) {
        struct zoo_watch *w = h->watches;

        h->watches = w->next;
        free(w->path);
        free(w);
    }
    free(h);
    return ZOK;
}

static int zoo_queue(zhandle_t *h, const struct zoo_request *request, const char *path)
{
    struct zoo_request *r = malloc(sizeof *r);

    *r = *request;
    r->path = strdup(path);
    if (r->len > 0) {
        r->data = malloc((size_t)r->len);
        memcpy(r->data, request->data, (size_t)r->len);
    } else {
        r->data = NULL;
    }
    r->next = NULL;
    if (h->last)
        h->last->next = r;
    else
        h->first = r;
    h->last = r;
    h->waiting++;
    zoo.asked++;
    if (zoo.answers_at_once)
        zoo_play();
    return ZOK;
}

int zoo_acreate(zhandle_t *h, const char *path, const char *value, int len, const struct ACL_vector *acl, int mode,
                string_completion_t done, const void *arg)
{
    int lock = zoo_get_lock(path);

    (void)acl;
    if (mode == ZOO_EPHEMERAL_SEQUENTIAL && lock >= 0 && lock < ZOO_LOCKS)
        snprintf(zoo.own_prefix[lock], sizeof zoo.own_prefix[lock], "%s", strrchr(path, '/') + 1);
    return zoo_queue(
        h,
        &(struct zoo_request){
            .kind = ASK_CREATE, .data = (char *)value, .len = len, .mode = mode, .done.string = done, .arg = arg},
        path);
}

int zoo_adelete(zhandle_t *h, const char *path, int version, void_completion_t done, const void *arg)
{
    (void)version;
    return zoo_queue(h, &(struct zoo_request){.kind = ASK_DELETE, .done.plain = done, .arg = arg}, path);
}

int zoo_aget(zhandle_t *h, const char *path, int watch, data_completion_t done, const void *arg)
{
    return zoo_queue(h, &(struct zoo_request){.kind = ASK_GET, .watched = watch, .done.data = done, .arg = arg}, path);
}

int zoo_aset(zhandle_t *h, const char *path, const char *buffer, int len, int version, stat_completion_t done,
             const void *arg)
{
    return zoo_queue(
        h,
        &(struct zoo_request){
            .kind = ASK_SET, .data = (char *)buffer, .len = len, .version = version, .done.stat = done, .arg = arg},
        path);
}

int zoo_aget_children(zhandle_t *h, const char *path, int watch, strings_completion_t done, const void *arg)
{
    return zoo_queue(h, &(struct zoo_request){.kind = ASK_LIST, .watched = watch, .done.strings = done, .arg = arg},
                     path);
}

int zoo_async(zhandle_t *h, const char *path, string_completion_t done, const void *arg)
{
    return zoo_queue(h, &(struct zoo_request){.kind = ASK_SYNC, .done.string = done, .arg = arg}, path);
}

const clientid_t *zoo_client_id(zhandle_t *h)
{
    return &h->id;
}

int zoo_recv_timeout(zhandle_t *h)
{
    return h->timeout_ms;
}

struct sockaddr *zookeeper_get_connected_host(zhandle_t *h, struct sockaddr *addr, socklen_t *len)
{
    (void)h, (void)addr, (void)len;
    return NULL;
}

void zoo_set_debug_level(ZooLogLevel level)
{
    (void)level;
}

void zoo_deterministic_conn_order(int yes)
{
    (void)yes;
}

#endif
