/* SPDX-License-Identifier: MIT */
#include "coord/agreed_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ABSENT_MS 300
#define CHECK_MS 10000 /* everything is read anew so often, though no change was heard of */

enum step { STEP_FOLDER, STEP_CREATE, STEP_OWNER, STEP_OWN, STEP_PROPOSE, STEP_PRIMARY, STEP_LIST, STEP_WRITER };

enum err agreed_init(struct agreed *a, const char *base, const char *name)
{
    *a = (struct agreed){.version = -1, .since_mono_ms = INT64_MAX};
    a->base = str_copy(base);
    a->primary = zk_format("%s/primary", base);
    a->folder = zk_format("%s/writers", base);
    a->own = zk_format("%s/writers/%s", base, name);
    if (!a->base || !a->primary || !a->folder || !a->own) {
        agreed_fini(a);
        return ERR_NOMEM;
    }
    a->name = strrchr(a->own, '/') + 1;
    agreed_reset(a);
    return ERR_OK;
}

void agreed_fini(struct agreed *a)
{
    free(a->base);
    free(a->primary);
    free(a->folder);
    free(a->own);
    *a = (struct agreed){0};
}

void agreed_reset(struct agreed *a)
{
    a->session_id = 0;
    a->pending = 0;
    a->folders = 0;
    a->retry_mono_ms = INT64_MIN;
    a->has_decision = false;
    a->primary_stale = true;
    a->is_present = false;
    a->is_unsure = false;
    a->is_fresh = false;
    a->written[0] = '\0';
    a->wants_decision = false;
    a->list_stale = true;
    a->is_listed = false;
    a->since_mono_ms = INT64_MAX;
    a->check_mono_ms = INT64_MIN;
}

void agreed_set_connected(struct agreed *a, bool connected, int64_t session_id)
{
    a->session_id = connected ? session_id : 0;
    if (connected) { /* watches are restored, and what they missed comes by itself; it is asked for all the same */
        a->primary_stale = true;
        a->list_stale = true;
    }
}

void agreed_set_own(struct agreed *a, int64_t generation, bool is_fine, int64_t timeout_ms)
{
    snprintf(a->wanted, sizeof a->wanted, "generation=%" PRId64 " fine=%d timeout=%" PRId64, generation, is_fine,
             timeout_ms);
}

void agreed_propose(struct agreed *a, const struct decision *next)
{
    a->next = *next;
    a->next_reads = a->reads;
    a->wants_decision = true;
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

/* The server comes last, for its identity may have blanks. */
static void write_decision(const struct decision *d, char *out, size_t size)
{
    snprintf(out, size, "generation=%" PRId64 " base=%" PRId64 " used=%d by=%s server=%s", d->generation, d->base,
             d->is_used, d->by, d->server);
}

static void read_decision(const char *text, struct decision *d)
{
    const char *by = strstr(text, " by=");
    const char *server = strstr(text, " server=");

    *d = (struct decision){0};
    if (!by || !server) /* not ours: as if there were none, and the next one is beyond all rows */
        return;
    d->generation = agreed_find_number(text, "generation=", GENERATION_MAX - 1);
    d->base = agreed_find_number(text, " base=", GENERATION_MAX - 1);
    d->is_used = agreed_find_number(text, " used=", 1) != 0;
    snprintf(d->by, sizeof d->by, "%.*s", (int)strcspn(by + 4, " "), by + 4);
    snprintf(d->server, sizeof d->server, "%s", server + 8);
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

struct asking {
    struct agreed *a;
    uint64_t *next_id;
    zk_ask_fn ask;
    void *arg;
};

static bool ask_for(const struct asking *by, enum step step, enum zk_verb verb, const char *path, const char *data,
                    int version)
{
    struct zk_ask ask = {.verb = verb, .path = path, .data = data, .version = version, .id = *by->next_id};

    if (!by->ask(by->arg, &ask))
        return false;
    by->a->pending = (*by->next_id)++;
    by->a->step = (int)step;
    return true;
}

/* The folders above and with that of the writers, one after the other. True when a request was made. */
static bool make_folder(struct agreed *a, const struct asking *by)
{
    size_t part = 0;

    for (char *slash = strchr(a->folder + 1, '/');; slash = strchr(slash + 1, '/'), part++) {
        bool asked;

        if (part < a->folders && slash)
            continue;
        if (part < a->folders)
            return false; /* all of them are there */
        if (slash)
            *slash = '\0';
        asked = ask_for(by, STEP_FOLDER, ZK_MAKE, a->folder, NULL, 0);
        if (slash)
            *slash = '/';
        return asked;
    }
}

static bool ask_writer(struct agreed *a, const struct asking *by)
{
    for (size_t i = 0; i < a->count; i++) {
        struct writer *w = &a->writers[i];
        char path[600];

        if (!w->is_stale || !w->is_listed)
            continue;
        if (snprintf(path, sizeof path, "%s/%s", a->folder, w->name) >= (int)sizeof path)
            return false;
        if (!ask_for(by, STEP_WRITER, ZK_READ, path, NULL, 0))
            return false;
        w->is_stale = false;
        a->asked = i;
        return true;
    }
    return false;
}

static bool propose(struct agreed *a, const struct asking *by)
{
    char text[STORE_SERVER_MAX + 200];

    if (!a->wants_decision)
        return false;
    /* Also where it was made while the answer was on its way. */
    if (a->primary_stale || !a->has_decision || a->next_reads != a->reads) {
        a->wants_decision = false;
        return false;
    }
    write_decision(&a->next, text, sizeof text);
    return a->version < 0 ? ask_for(by, STEP_PROPOSE, ZK_MAKE, a->primary, text, 0)
                          : ask_for(by, STEP_PROPOSE, ZK_WRITE, a->primary, text, a->version);
}

void agreed_step(struct agreed *a, int64_t now_mono_ms, uint64_t *next_id, zk_ask_fn ask, void *arg)
{
    struct asking by = {.a = a, .next_id = next_id, .ask = ask, .arg = arg};

    if (!a->session_id || a->pending || now_mono_ms < a->retry_mono_ms || !a->wanted[0])
        return;
    if (now_mono_ms >= a->check_mono_ms) {
        a->check_mono_ms = now_mono_ms + CHECK_MS;
        a->primary_stale = true;
        a->list_stale = true;
    }
    if (a->has_decision && a->version < 0 && now_mono_ms >= a->read_mono_ms + ABSENT_MS)
        a->primary_stale = true; /* a znode that is not there has no watch */
    if (make_folder(a, &by) || a->pending)
        return;
    if (!a->is_present && a->is_unsure) {
        ask_for(&by, STEP_OWNER, ZK_READ, a->own, NULL, 0);
        return;
    }
    if (!a->is_present) {
        snprintf(a->writing, sizeof a->writing, "%s", a->wanted);
        ask_for(&by, STEP_CREATE, ZK_CREATE_EPHEMERAL, a->own, a->wanted, 0);
        return;
    }
    /* What others wait for comes first. */
    if (strcmp(a->wanted, a->written) != 0) {
        snprintf(a->writing, sizeof a->writing, "%s", a->wanted);
        ask_for(&by, STEP_OWN, ZK_WRITE, a->own, a->wanted, -1);
        return;
    }
    if (propose(a, &by))
        return;
    if (a->primary_stale) {
        if (ask_for(&by, STEP_PRIMARY, ZK_READ, a->primary, NULL, 0))
            a->primary_stale = false;
        return;
    }
    if (a->list_stale) {
        if (ask_for(&by, STEP_LIST, ZK_LIST_WATCHED, a->folder, NULL, 0))
            a->list_stale = false;
        return;
    }
    ask_writer(a, &by);
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static void on_created(struct agreed *a, const struct zk_answer *answer)
{
    switch (answer->result) {
    case ZK_OK:
        a->is_present = true;
        a->primary_stale = true;
        a->list_stale = true;
        snprintf(a->written, sizeof a->written, "%s", a->writing);
        break;
    case ZK_NO_NODE: a->folders = 0; break;
    case ZK_EXISTS:
    case ZK_LOST:
    case ZK_CHANGED:
    case ZK_REFUSED: a->is_unsure = true; break; /* whose is it? */
    }
}

static void on_owner(struct agreed *a, const struct zk_answer *answer, int64_t now_mono_ms)
{
    if (answer->result == ZK_OK && answer->owner == a->session_id) {
        a->is_unsure = false;
        a->is_present = true;
        a->primary_stale = true;
        a->list_stale = true;
        a->written[0] = '\0';
    } else if (answer->result == ZK_NO_NODE) {
        a->is_unsure = false;
    } else if (answer->result == ZK_OK) { /* of our session of before: it goes when that has ended */
        a->retry_mono_ms = now_mono_ms + LOCK_RETRY_MS / 5;
    }
}

static void on_primary(struct agreed *a, const struct zk_answer *answer, int64_t now_mono_ms)
{
    if (answer->result == ZK_OK) {
        read_decision(answer->data, &a->decision);
        a->version = answer->version;
    } else if (answer->result == ZK_NO_NODE) {
        a->decision = (struct decision){0};
        a->version = -1;
    } else {
        a->primary_stale = true;
        return;
    }
    a->read_mono_ms = now_mono_ms;
    a->reads++;
    a->has_decision = true;
    a->is_fresh = a->is_present;
}

static void on_proposed(struct agreed *a)
{
    a->wants_decision = false;
    a->primary_stale = true; /* what stands there is read, whoever has written it */
}

static void on_own(struct agreed *a, const struct zk_answer *answer)
{
    if (answer->result == ZK_OK) {
        snprintf(a->written, sizeof a->written, "%s", a->writing);
    } else if (answer->result == ZK_NO_NODE) { /* somebody has deleted it */
        a->is_present = false;
        a->is_fresh = false;
    }
}

void agreed_on_answer(struct agreed *a, const struct zk_answer *answer, int64_t now_mono_ms)
{
    if (!a->pending || answer->id != a->pending)
        return;
    a->pending = 0;
    if (answer->result == ZK_REFUSED)
        a->retry_mono_ms = now_mono_ms + LOCK_RETRY_MS;
    switch ((enum step)a->step) {
    case STEP_FOLDER:
        if (answer->result == ZK_OK || answer->result == ZK_EXISTS)
            a->folders++;
        if (answer->result == ZK_NO_NODE) { /* somebody has deleted those above */
            a->folders = 0;
            a->retry_mono_ms = now_mono_ms + LOCK_RETRY_MS;
        }
        break;
    case STEP_CREATE: on_created(a, answer); break;
    case STEP_OWNER: on_owner(a, answer, now_mono_ms); break;
    case STEP_OWN: on_own(a, answer); break;
    case STEP_PROPOSE: on_proposed(a); break;
    case STEP_PRIMARY: on_primary(a, answer, now_mono_ms); break;
    case STEP_LIST:
        if (answer->result == ZK_OK)
            agreed_on_listed(a, answer, now_mono_ms);
        else
            a->list_stale = true;
        if (answer->result == ZK_NO_NODE)
            a->folders = 0;
        break;
    case STEP_WRITER: agreed_on_writer(a, &a->writers[a->asked], answer); break;
    }
}

void agreed_on_change(struct agreed *a, const char *path)
{
    size_t len = strlen(a->folder);

    if (strcmp(path, a->primary) == 0)
        a->primary_stale = true;
    else if (strcmp(path, a->folder) == 0)
        a->list_stale = true;
    else if (strncmp(path, a->folder, len) == 0 && path[len] == '/') {
        struct writer *w = agreed_find_writer(a, path + len + 1);

        if (w)
            w->is_stale = true;
    }
}
