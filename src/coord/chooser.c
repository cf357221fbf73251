/* SPDX-License-Identifier: MIT */
#include "coord/chooser.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- what candidates are ----------------------------------------------------------------------------------------- */

static bool is_recent(const struct candidate *k, int64_t now_mono_ms)
{
    return k->has_facts && k->facts.reached && now_mono_ms <= k->seen_mono_ms + CHOOSER_RECENT_MS;
}

/* Its row was written there, and did not come by replication. */
static bool names_itself(const struct host_facts *f)
{
    return f->generation > 0 && strcmp(f->row_server, f->server) == 0;
}

static bool is_ready(const struct host_facts *f, const struct decision *d)
{
    return (names_itself(f) && f->generation == d->generation) || (!f->has_tables && d->base == 0);
}

static bool all_looked_at(const struct chooser *c)
{
    for (size_t i = 0; i < c->count; i++) {
        if (!c->list[i].has_facts)
            return false;
    }
    return true;
}

static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The newest generation that is known of, or stands in a row. */
static int64_t find_newest(const struct chooser *c)
{
    int64_t newest = c->known;

    for (size_t i = 0; i < c->count; i++)
        newest = greater(newest, c->list[i].facts.generation);
    return newest;
}

/* The first that takes writes among those with the newest row: one that was left behind has an older one, and comes
 * back with what nobody else has. The agreed server itself may have any row: its database may have been restored. */
static int find_best(const struct chooser *c, int64_t floor, const char *agreed, int64_t now_mono_ms)
{
    int best = -1;

    for (int i = 0; i < (int)c->count; i++) {
        const struct host_facts *f = &c->list[i].facts;
        const struct host_facts *b = best < 0 ? NULL : &c->list[best].facts;

        if (!is_recent(&c->list[i], now_mono_ms) || !f->takes_writes ||
            (f->generation < floor && strcmp(f->server, agreed) != 0))
            continue;
        if (!b || f->generation > b->generation ||
            (f->generation == b->generation && names_itself(f) && !names_itself(b)))
            best = i;
    }
    return best;
}

static void tell_why_none(struct chooser *c, int64_t floor, int64_t now_mono_ms)
{
    size_t len = 0;

    for (size_t i = 0; i < c->count && len < sizeof c->why; i++) {
        const struct host_facts *f = &c->list[i].facts;

        if (f->takes_writes && is_recent(&c->list[i], now_mono_ms))
            len += (size_t)snprintf(c->why + len, sizeof c->why - len,
                                    "%scandidate %zu (%s) accepts writes and has generation %" PRId64
                                    " only, where %" PRId64 " was in use",
                                    len ? "; " : "", i + 1, f->server, f->generation, floor);
        else if (c->count == 1)
            len += (size_t)snprintf(c->why, sizeof c->why, "%s", f->why[0] ? f->why : "not checked yet");
        else
            len += (size_t)snprintf(c->why + len, sizeof c->why - len, "%scandidate %zu: %s", len ? "; " : "", i + 1,
                                    f->why[0] ? f->why : "not checked yet");
    }
}

static bool is_bad_for_long(const struct chooser *c, int64_t now_mono_ms)
{
    return c->bad_mono_ms != INT64_MAX && now_mono_ms >= c->bad_mono_ms + CHOOSER_GONE_MS;
}

/* ---- plans ------------------------------------------------------------------------------------------------------- */

static void use(struct chooser *c, int index, int64_t generation, struct plan *out)
{
    const struct host_facts *f = &c->list[index].facts;

    out->move = PLAN_USE;
    out->index = index;
    out->generation = generation;
    out->is_lossless = !c->server[0] || strcmp(c->server, f->server) == 0 || (c->is_galera && f->galera);
    c->used = index;
    c->generation = generation;
    c->is_galera = f->galera;
    memcpy(c->server, f->server, sizeof c->server);
    c->bad_mono_ms = INT64_MAX;
    c->raising_mono_ms = INT64_MAX;
    c->has_trouble = false;
    c->why[0] = '\0';
    c->known = greater(c->known, generation);
}

static void stop(struct chooser *c, const char *why, struct plan *out)
{
    out->move = PLAN_STOP;
    out->why = why;
    c->used = -1;
    c->bad_mono_ms = INT64_MAX;
    c->raising_mono_ms = INT64_MAX;
    snprintf(c->why, sizeof c->why, "%s", why);
}

static void raise_on(struct chooser *c, int index, int64_t generation, int64_t now_mono_ms, struct plan *out)
{
    struct candidate *k = &c->list[index];

    /* What it said is void now: it is asked anew behind the raise. */
    out->raise = index;
    c->is_raising = true;
    out->raise_generation = generation;
    k->again_mono_ms = now_mono_ms;
    k->seen_mono_ms = now_mono_ms - CHOOSER_RECENT_MS - 1;
}

static void note_generation(struct chooser *c, int64_t generation, struct plan *out)
{
    c->generation = generation;
    out->notes = true;
    out->generation = generation;
    c->known = greater(c->known, generation);
}

/* The server in use is good: its row is to name it. It does not yet where the tables have just been made, or where the
 * host was given another name. */
static void keep_row(struct chooser *c, const struct decision *d, int64_t now_mono_ms, struct plan *out)
{
    const struct host_facts *f = &c->list[c->used].facts;
    bool may_write =
        is_recent(&c->list[c->used], now_mono_ms) && chooser_is_good(c, f) && f->takes_writes && f->has_tables;
    int64_t next = greater(f->generation, c->known) + 1;

    if (!may_write)
        return;
    if (!d && !names_itself(f)) {
        raise_on(c, c->used, next, now_mono_ms, out);
    } else if (!d && f->generation > c->generation) {
        note_generation(c, f->generation, out);
    } else if (d && f->generation == 0) {
        raise_on(c, c->used, d->generation, now_mono_ms, out);
    } else if (d && d->base == 0 && is_ready(f, d)) {
        out->proposes = true;
        out->next = *d;
        out->next.base = d->generation;
    }
}

/* A single host: it is used whatever it does, and is another server when its identity is another one. */
static void plan_single(struct chooser *c, int64_t now_mono_ms, struct plan *out)
{
    const struct host_facts *f = &c->list[0].facts;
    bool is_other = c->used == 0 && strcmp(f->server, c->server) != 0;

    if (!is_recent(&c->list[0], now_mono_ms)) {
        if (c->used < 0)
            tell_why_none(c, 0, now_mono_ms);
        return;
    }
    if (c->used == 0 && !is_other) {
        keep_row(c, NULL, now_mono_ms, out);
    } else if (names_itself(f) || (!is_other && (!f->has_tables || !f->takes_writes))) {
        use(c, 0, f->generation, out);
    } else if (f->takes_writes && f->has_tables) {
        raise_on(c, 0, greater(f->generation, c->known) + 1, now_mono_ms, out);
    }
}

static void plan_alone(struct chooser *c, int64_t now_mono_ms, struct plan *out)
{
    int64_t floor = find_newest(c);
    const struct host_facts *f;
    int best;

    if (chooser_is_fine(c)) {
        keep_row(c, NULL, now_mono_ms, out);
        return;
    }
    if (!all_looked_at(c) || (c->used >= 0 && !is_bad_for_long(c, now_mono_ms)))
        return;
    best = find_best(c, floor, c->server, now_mono_ms);
    if (best < 0) {
        tell_why_none(c, floor, now_mono_ms);
        return;
    }
    f = &c->list[best].facts;
    if (names_itself(f) || !f->has_tables) {
        use(c, best, f->generation, out);
        return;
    }
    if (c->used >= 0)
        stop(c, "the server does not answer or does not accept writes, and another one does", out);
    raise_on(c, best, floor + 1, now_mono_ms, out);
}

/* ---- in a cluster ------------------------------------------------------------------------------------------------ */

/* The candidate that is the agreed server, by what it says now. */
static int find_agreed(const struct chooser *c, const struct decision *d, int64_t now_mono_ms)
{
    for (int i = 0; i < (int)c->count; i++) {
        const struct host_facts *f = &c->list[i].facts;

        if (is_recent(&c->list[i], now_mono_ms) && f->takes_writes && strcmp(f->server, d->server) == 0)
            return i;
    }
    return -1;
}

/* Beyond ZooKeeper's: it has forgotten, or somebody wants that server. */
static int64_t find_beyond(const struct chooser *c, const struct decision *d, int64_t now_mono_ms)
{
    int64_t beyond = c->known > d->generation ? c->known : 0;

    for (size_t i = 0; i < c->count; i++) {
        const struct host_facts *f = &c->list[i].facts;

        if (is_recent(&c->list[i], now_mono_ms) && f->takes_writes && f->generation > d->generation)
            beyond = greater(beyond, f->generation);
    }
    return beyond;
}

static void propose(struct chooser *c, const struct sight *sight, int64_t floor, int64_t now_mono_ms, struct plan *out)
{
    const struct decision *d = &sight->agreed->decision;
    int64_t newest = greater(find_newest(c), d->generation);
    int best = find_best(c, floor, d->server, now_mono_ms);

    if (chooser_is_fine(c) && !is_recent(&c->list[c->used], now_mono_ms)) {
        c->has_trouble = true; /* it is left alone while all is well: what does it say now? */
        return;
    }
    if (!agreed_knows_writers(sight->agreed) || !all_looked_at(c))
        return;
    if (best < 0) {
        tell_why_none(c, floor, now_mono_ms);
        return;
    }
    if (newest >= GENERATION_MAX - 1) {
        snprintf(c->why, sizeof c->why, "no generation follows %" PRId64 ", which is in shardwheel_primary", newest);
        return;
    }
    out->proposes = true;
    out->next = (struct decision){.generation = newest + 1, .base = floor};
    memcpy(out->next.by, c->name, sizeof out->next.by);
    memcpy(out->next.server, c->list[best].facts.server, sizeof out->next.server);
}

/* Stands, and its server is not ready. True: somebody is at it, and so perhaps are we. */
static bool carry_out(struct chooser *c, const struct sight *sight, int index, int64_t now_mono_ms, struct plan *out)
{
    const struct agreed *a = sight->agreed;
    const struct decision *d = &a->decision;
    const char *who = "";

    if (d->is_used)
        return false;
    if (c->raising_mono_ms == INT64_MAX)
        c->raising_mono_ms = now_mono_ms;
    if (strcmp(d->by, c->name) != 0)
        return agreed_is_there(a, d->by) && now_mono_ms < c->raising_mono_ms + CHOOSER_RAISE_MS;
    if (index < 0)
        return false;
    /* On Galera who knows nothing of it is refused by the commit itself. Before the first one there were no writers. */
    if (c->list[index].facts.galera || d->generation == 1 ||
        agreed_is_acknowledged(a, d->generation, now_mono_ms, sight->timeout_ms, &who)) {
        raise_on(c, index, d->generation, now_mono_ms, out);
    } else {
        snprintf(c->why, sizeof c->why, "waiting until %s no longer uses the previous server", who);
    }
    return true;
}

static void plan_agreed(struct chooser *c, const struct sight *sight, int64_t now_mono_ms, struct plan *out)
{
    const struct decision *d = &sight->agreed->decision;
    int index = find_agreed(c, d, now_mono_ms);
    int64_t beyond = find_beyond(c, d, now_mono_ms);

    if (beyond) {
        propose(c, sight, beyond, now_mono_ms, out);
        return;
    }
    if (index >= 0 && is_ready(&c->list[index].facts, d)) {
        if (!d->is_used) { /* before anybody begins: from now on no older one may follow it */
            out->proposes = true;
            out->next = *d;
            out->next.is_used = true;
            out->next.base = d->generation;
            if (!c->list[index].facts.has_tables)
                out->next.base = 0;
        } else if (c->used < 0 || is_bad_for_long(c, now_mono_ms)) {
            use(c, index, d->generation, out);
        }
        return;
    }
    if (carry_out(c, sight, index, now_mono_ms, out))
        return;
    if (c->bad_mono_ms == INT64_MAX)
        c->bad_mono_ms = now_mono_ms;
    if (!is_bad_for_long(c, now_mono_ms))
        return;
    if (agreed_is_fine_elsewhere(sight->agreed, d->generation)) {
        snprintf(c->why, sizeof c->why, "another node uses %s, which this node can reach by none of its candidates",
                 d->server);
        return;
    }
    propose(c, sight, d->base, now_mono_ms, out);
}

static void plan_in_cluster(struct chooser *c, const struct sight *sight, int64_t now_mono_ms, struct plan *out)
{
    const struct agreed *a = sight->agreed;
    const struct decision *d = &a->decision;

    if (c->used >= 0 && !c->is_galera && now_mono_ms >= sight->lease_mono_ms) {
        stop(c, "ZooKeeper is unavailable: the nodes may have agreed on another server", out);
        return;
    }
    if (!a->is_fresh || !a->session_id) {
        if (c->used < 0)
            snprintf(c->why, sizeof c->why, "there is no ZooKeeper session to agree on one");
        return;
    }
    if (c->used >= 0 &&
        (d->generation > c->generation || (d->generation == c->generation && strcmp(d->server, c->server) != 0)))
        stop(c, "the nodes change to another server", out);
    c->known = greater(c->known, d->generation);
    if (d->generation != c->decided) { /* it has its own time */
        c->decided = d->generation;
        c->raising_mono_ms = INT64_MAX;
        if (c->used < 0)
            c->bad_mono_ms = INT64_MAX;
    }
    if (c->is_raising)
        return;
    if (chooser_is_fine(c) && d->generation == c->generation) {
        keep_row(c, d, now_mono_ms, out);
        return;
    }
    if (d->generation > 0)
        plan_agreed(c, sight, now_mono_ms, out);
    else
        propose(c, sight, find_newest(c), now_mono_ms, out);
}

/* ---------------------------------------------------------------------------------------------------------------- */

static void find_second(struct chooser *c, int64_t now_mono_ms)
{
    c->second = -1;
    for (int i = 0; chooser_is_fine(c) && i < (int)c->count; i++) {
        const struct candidate *k = &c->list[i];

        if (k->has_facts && now_mono_ms <= k->seen_mono_ms + 2 * CHOOSER_QUIET_MS && k->facts.takes_writes &&
            !k->facts.galera && strcmp(k->facts.server, c->server) != 0)
            c->second = i;
    }
}

void chooser_plan(struct chooser *c, const struct sight *sight, int64_t now_mono_ms, struct plan *out)
{
    *out = (struct plan){.move = PLAN_STAY, .raise = -1};
    if (c->in_cluster)
        plan_in_cluster(c, sight, now_mono_ms, out);
    else if (c->is_raising)
        out->move = PLAN_STAY;
    else if (c->count == 1)
        plan_single(c, now_mono_ms, out);
    else
        plan_alone(c, now_mono_ms, out);
    find_second(c, now_mono_ms);
}
