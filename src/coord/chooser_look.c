/* SPDX-License-Identifier: MIT */
/* What candidates said, and which is looked at next. */
#include "coord/chooser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum err chooser_init(struct chooser *c, size_t count, bool in_cluster, const char *name)
{
    *c = (struct chooser){.count = count,
                          .in_cluster = in_cluster,
                          .used = -1,
                          .second = -1,
                          .bad_mono_ms = INT64_MAX,
                          .raising_mono_ms = INT64_MAX};
    snprintf(c->name, sizeof c->name, "%s", name);
    snprintf(c->why, sizeof c->why, "none was checked yet");
    c->list = calloc(count, sizeof *c->list);
    return c->list ? ERR_OK : ERR_NOMEM;
}

FINI_BY(free, chooser, list)

bool chooser_is_fine(const struct chooser *c)
{
    return c->used >= 0 && c->bad_mono_ms == INT64_MAX;
}

void chooser_note_trouble(struct chooser *c)
{
    c->has_trouble = true;
}

/* What was said before it is void: every candidate is looked at anew, the one that was raised at once. */
void chooser_note_raised(struct chooser *c, int64_t now_mono_ms)
{
    c->is_raising = false;
    c->has_trouble = c->used >= 0;
    if (c->used < 0)
        c->bad_mono_ms = now_mono_ms;
}

/* ---- looking ----------------------------------------------------------------------------------------------------- */

/* One that stands alone counts for what it does, also when it takes no writes: that is the ring's to tell. */
bool chooser_is_good(const struct chooser *c, const struct host_facts *f)
{
    return f->reached && (f->takes_writes || c->count == 1) && strcmp(f->server, c->server) == 0;
}

void chooser_set_facts(struct chooser *c, int index, const struct host_facts *facts, int64_t asked_mono_ms,
                       int64_t now_mono_ms)
{
    struct candidate *k = &c->list[index];
    bool slow = !facts->reached && now_mono_ms - asked_mono_ms > CHOOSER_GONE_MS / 2;

    k->facts = *facts;
    if (k->facts.generation > GENERATION_MAX)
        k->facts.generation = GENERATION_MAX; /* nothing follows it: see propose */
    k->has_facts = true;
    k->seen_mono_ms = asked_mono_ms;
    k->again_mono_ms = now_mono_ms + (slow ? CHOOSER_SLOW_MS : CHOOSER_LOOK_MS);
    if (c->count == 1 && c->used == 0)
        k->again_mono_ms = now_mono_ms + CHOOSER_GONE_MS; /* there is no other one to go to */
    if (index != c->used)
        return;
    c->has_trouble = false;
    if (chooser_is_good(c, facts)) {
        c->bad_mono_ms = INT64_MAX;
        c->why[0] = '\0';
    } else if (c->bad_mono_ms == INT64_MAX) {
        c->bad_mono_ms = asked_mono_ms;
    }
}

/* While all is well the one in use is left alone, and a single one too. */
static int64_t find_due(const struct chooser *c, int i)
{
    const struct candidate *k = &c->list[i];

    if (!k->has_facts || !chooser_is_fine(c) || (i == c->used && c->has_trouble))
        return k->has_facts ? k->again_mono_ms : INT64_MIN;
    return i == c->used ? INT64_MAX : k->seen_mono_ms + CHOOSER_QUIET_MS;
}

int chooser_find_look(const struct chooser *c, int64_t now_mono_ms, int64_t *until_mono_ms)
{
    int index = -1;

    *until_mono_ms = INT64_MAX;
    for (int i = 0; i < (int)c->count; i++) {
        int64_t due_mono_ms = find_due(c, i);

        if (due_mono_ms < *until_mono_ms) {
            *until_mono_ms = due_mono_ms;
            index = i;
        }
    }
    return *until_mono_ms <= now_mono_ms ? index : -1;
}
