/* SPDX-License-Identifier: MIT */
#include "coord/member.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define BIT(n) (1u << (n))

static const uint32_t member_next[MEMBER_NSTATES] = {
    [MEMBER_NONE] = BIT(MEMBER_CREATING) | BIT(MEMBER_NONE),
    [MEMBER_CREATING] = BIT(MEMBER_CHECKING) | BIT(MEMBER_PRESENT) | BIT(MEMBER_NONE),
    [MEMBER_CHECKING] = BIT(MEMBER_PRESENT) | BIT(MEMBER_TAKEN) | BIT(MEMBER_NONE),
    [MEMBER_PRESENT] = BIT(MEMBER_DELETING) | BIT(MEMBER_NONE),
    [MEMBER_TAKEN] = BIT(MEMBER_CHECKING) | BIT(MEMBER_NONE),
    [MEMBER_DELETING] = BIT(MEMBER_NONE),
};

static void move_member(struct member *m, enum member_state to)
{
    assert(member_next[m->state] & BIT(to));
    m->state = to;
}

enum err member_init(struct member *m, const char *folder, const char *name, int tag)
{
    *m = (struct member){.folder = str_copy(folder), .path = zk_format("%s/%s", folder, name), .tag = tag, .live = 1};
    if (!m->folder || !m->path)
        return ERR_NOMEM;
    m->name = m->path + strlen(folder) + 1;
    return ERR_OK;
}

void member_fini(struct member *m)
{
    free(m->folder);
    free(m->path);
    m->folder = NULL;
    m->path = NULL;
    m->name = NULL;
}

void member_reset(struct member *m)
{
    move_member(m, MEMBER_NONE);
    m->pending = 0;
    m->list_pending = 0;
    m->lists_begun = 0;
    m->lists_done = 0;
    m->list_stale = true;
    m->listed = false;
    m->no_folder = false;
    m->deleted = false;
    m->retry_mono_ms = INT64_MIN;
    m->list_retry_mono_ms = INT64_MIN;
}

static void step_list(struct member *m, int64_t now_mono_ms, uint64_t *next_id, zk_ask_fn ask, void *arg)
{
    bool due = m->list_stale || now_mono_ms >= m->check_mono_ms;

    if (m->list_pending || !due || now_mono_ms < m->list_retry_mono_ms)
        return;
    if (!ask(arg, &(struct zk_ask){.verb = ZK_LIST_WATCHED, .path = m->folder, .tag = m->tag - 1, .id = *next_id}))
        return;
    m->list_pending = (*next_id)++;
    m->list_stale = false;
    m->lists_begun++;
    m->check_mono_ms = now_mono_ms + LOCK_CHECK_MS;
}

static bool ask_own(struct member *m, enum zk_verb verb, const char *data, uint64_t *next_id, zk_ask_fn ask, void *arg)
{
    bool asked = ask(arg, &(struct zk_ask){.verb = verb, .path = m->path, .data = data, .tag = m->tag, .id = *next_id});

    if (asked)
        m->pending = (*next_id)++;
    return asked;
}

void member_step(struct member *m, int64_t now_mono_ms, uint64_t *next_id, const char *data, zk_ask_fn ask, void *arg)
{
    /* The znode first, so that the list that is asked behind it has it. */
    if (!m->pending && now_mono_ms >= m->retry_mono_ms) {
        if (m->state == MEMBER_PRESENT && !m->want)
            move_member(m, MEMBER_DELETING);
        if (m->state == MEMBER_TAKEN)
            move_member(m, m->want ? MEMBER_CHECKING : MEMBER_NONE);
        switch (m->state) {
        case MEMBER_NONE:
            if (m->want && ask_own(m, ZK_CREATE_EPHEMERAL, data, next_id, ask, arg))
                move_member(m, MEMBER_CREATING);
            break;
        case MEMBER_CHECKING: ask_own(m, ZK_WATCH, NULL, next_id, ask, arg); break;
        case MEMBER_DELETING: ask_own(m, ZK_DELETE, NULL, next_id, ask, arg); break;
        case MEMBER_CREATING:
        case MEMBER_PRESENT:
        case MEMBER_TAKEN:
        case MEMBER_NSTATES: break;
        }
    }
    step_list(m, now_mono_ms, next_id, ask, arg);
}

static void on_created(struct member *m, enum zk_result result)
{
    switch (result) {
    case ZK_OK:
        move_member(m, MEMBER_PRESENT);
        m->list_stale = true;
        break;
    case ZK_EXISTS:
    case ZK_LOST: move_member(m, MEMBER_CHECKING); break;
    case ZK_NO_NODE:
        m->no_folder = true;
        move_member(m, MEMBER_NONE);
        break;
    case ZK_CHANGED:
    case ZK_REFUSED: move_member(m, MEMBER_NONE); break;
    }
}

static void on_checked(struct member *m, const struct zk_answer *answer, int64_t now_mono_ms)
{
    switch (answer->result) {
    case ZK_OK:
        if (answer->owner == m->session_id) {
            move_member(m, MEMBER_PRESENT);
            m->list_stale = true;
        } else {
            move_member(m, MEMBER_TAKEN);
            m->retry_mono_ms = now_mono_ms + LOCK_RETRY_MS; /* its watch, which was just set, may come earlier */
        }
        break;
    case ZK_NO_NODE: move_member(m, MEMBER_NONE); break;
    case ZK_LOST:
    case ZK_EXISTS:
    case ZK_CHANGED:
    case ZK_REFUSED: break;
    }
}

static void on_listed(struct member *m, const struct zk_answer *answer, int64_t now_mono_ms)
{
    int live = 0;
    bool ours = false;

    if (answer->result != ZK_OK) {
        m->list_stale = true;
        m->no_folder |= answer->result == ZK_NO_NODE;
        m->deleted |= answer->result == ZK_NO_NODE && m->state == MEMBER_PRESENT;
        if (answer->result == ZK_REFUSED || answer->result == ZK_NO_NODE)
            m->list_retry_mono_ms = now_mono_ms + LOCK_RETRY_MS;
        return;
    }
    for (size_t i = 0; i < answer->count; i++) {
        live++;
        ours |= strcmp(answer->names[i], m->name) == 0;
    }
    m->others = live - ours;
    if (live < 1)
        live = 1; /* ourselves, a moment before the znode is made */
    m->changed |= live != m->live || !m->lists_done;
    m->live = live;
    m->lists_done = m->lists_begun;
    m->listed = ours && m->state == MEMBER_PRESENT;
    /* Deleted by hand, perhaps; a look at the znode tells. A list begun before the znode was made comes here too. */
    if (m->state == MEMBER_PRESENT && !ours && !m->pending && !m->list_stale) {
        m->deleted = true;
        move_member(m, MEMBER_NONE);
    }
}

bool member_on_answer(struct member *m, const struct zk_answer *answer, int64_t now_mono_ms)
{
    if (m->list_pending && answer->id == m->list_pending) {
        m->list_pending = 0;
        on_listed(m, answer, now_mono_ms);
        return true;
    }
    if (!m->pending || answer->id != m->pending)
        return false;
    m->pending = 0;
    if (answer->result == ZK_REFUSED || (answer->verb == ZK_CREATE_EPHEMERAL && answer->result == ZK_NO_NODE))
        m->retry_mono_ms = now_mono_ms + LOCK_RETRY_MS;
    switch (answer->verb) {
    case ZK_CREATE_EPHEMERAL: on_created(m, answer->result); break;
    case ZK_WATCH: on_checked(m, answer, now_mono_ms); break;
    case ZK_DELETE:
        if (answer->result == ZK_OK || answer->result == ZK_NO_NODE)
            move_member(m, MEMBER_NONE);
        break;
    case ZK_MAKE:
    case ZK_CREATE_QUEUED:
    case ZK_LIST:
    case ZK_LIST_SYNCED:
    case ZK_LIST_WATCHED:
    case ZK_READ:
    case ZK_WRITE: break;
    }
    return true;
}

void member_on_change(struct member *m, const char *path)
{
    if (strcmp(path, m->folder) == 0)
        m->list_stale = true;
    if (strcmp(path, m->path) == 0 && m->state == MEMBER_TAKEN)
        m->retry_mono_ms = INT64_MIN;
}
