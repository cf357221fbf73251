/* SPDX-License-Identifier: MIT */
#include "registry/state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Addresses in snapshots are trimmed: so are those that are compared with them. */
char *copy_trimmed(const char *address)
{
    while (*address && (unsigned char)*address <= ' ')
        address++;
    char *copy = str_copy(address);
    size_t len = copy ? strlen(copy) : 0;
    while (len && (unsigned char)copy[len - 1] <= ' ')
        copy[--len] = '\0';
    return copy;
}

/* ---- snapshots (thread) ------------------------------------------------------------------------------------------ */

static void publish_snapshot(struct registry *r, const struct registry_snapshot *snap)
{
    mutex_lock(&r->snap_lock);
    const struct registry_snapshot *old = r->snap;
    r->snap = snap;
    mutex_unlock(&r->snap_lock);
    registry_put_snapshot(old);
}

static void count_groups(struct registry *r, const struct registry_snapshot *snap)
{
    int64_t online = 0, offline = 0;

    for (size_t i = 0; i < snap->count; i++) {
        if (snap->groups[i].manual)
            continue;
        if (snap->groups[i].count > 0)
            online++;
        else
            offline++;
    }
    counters_set(r->counters, COUNTER_EXECUTOR_GROUPS, online);
    counters_set(r->counters, COUNTER_EXECUTOR_GROUPS_OFFLINE, offline);
}

/* An automatic group that was not there before may have executors that registered before it was made. */
static bool has_new_group(const struct group_list *now, const struct group_list *before)
{
    size_t k = 0;

    for (size_t i = 0; i < now->count; i++) {
        const struct group_row *row = &now->rows[i];

        while (k < before->count && before->rows[k].id < row->id)
            k++;
        if (row->manual)
            continue;
        if (k == before->count || before->rows[k].id != row->id || before->rows[k].manual ||
            strcmp(before->rows[k].app_name, row->app_name) != 0)
            return true;
    }
    return false;
}

enum err work_refresh_snapshot(struct registry *r, struct store_session *s, struct errctx *ec)
{
    struct group_list groups = {0};
    const struct registry_snapshot *snap = NULL;

    enum err e = store_load_groups(s, &groups, ec);
    if (e)
        return e;
    if (r->snap && snapshot_is_same(&groups, &r->loaded)) {
        group_list_fini(&groups);
        return ERR_OK;
    }
    e = snapshot_create(&groups, &snap, ec);
    if (e) {
        group_list_fini(&groups);
        return e;
    }
    count_groups(r, snap);
    if (r->snap && has_new_group(&groups, &r->loaded))
        r->next_recompute_ms = clock_mono_ms(r->clock);
    group_list_fini(&r->loaded);
    r->loaded = groups;
    publish_snapshot(r, snap);
    return ERR_OK;
}

/* ---- beats (thread) ---------------------------------------------------------------------------------------------- */

/* Writes them; a beat that the database refuses (a character that its charset lacks) is found by halving, named, and
 * dropped. */
static enum err write_beats(struct registry *r, struct store_session *s, const struct beat *beats, size_t count,
                            int64_t now_s, struct errctx *ec)
{
    enum err e = ERR_OK;
    for (int i = 0; i < CONFLICT_TRIES; i++) {
        e = store_write_beats(s, beats, count, now_s, ec);
        if (e != ERR_CONFLICT)
            break;
    }
    if (e != ERR_INPUT)
        return e;
    if (count == 1) {
        log_limited(&r->refused_log, r->clock, LOG_WARN, "registry",
                    "event=beat_refused key=%s value=%s error=%s action=dropped", log_quote(beats->key).s,
                    log_quote(beats->value).s, log_quote(ec->text).s);
        return ERR_OK;
    }
    e = write_beats(r, s, beats, count / 2, now_s, ec);
    if (!e)
        e = write_beats(r, s, beats + count / 2, count - count / 2, now_s, ec);
    return e;
}

/* True when the lists of the groups are not what this beat or removal asks for. */
static bool asks_for_recompute(const struct registry_snapshot *snap, const struct beat_entry *entry)
{
    size_t listed, missing;
    if (strcmp(entry->group, "EXECUTOR"))
        return false;
    char *address = copy_trimmed(entry->value);
    if (!address)
        return false;
    snapshot_count_address(snap, entry->key, address, &listed, &missing);
    free(address);
    return entry->remove ? listed > 0 : missing > 0;
}

static struct beat_entry *take_batch(struct registry *r, size_t *count)
{
    mutex_lock(&r->lock);
    struct beat_entry *list = beats_take(&r->queue, BATCH_MAX, count);
    mutex_unlock(&r->lock);
    return list;
}

enum err work_flush_batch(struct registry *r, struct store_session *s, bool *more, struct errctx *ec)
{
    struct beat beats[BATCH_MAX];
    size_t taken = 0, count = 0;
    bool recompute = false;
    int64_t now_ms = clock_mono_ms(r->clock);
    struct beat_entry *list = take_batch(r, &taken);

    for (struct beat_entry *e = list; e; e = e->next) {
        if (!e->remove && now_ms - e->taken_mono_ms > BEAT_STALE_MS)
            continue;
        beats[count++] = (struct beat){.group = e->group, .key = e->key, .value = e->value, .remove = e->remove};
    }
    enum err e = count ? write_beats(r, s, beats, count, time_floor_div(clock_wall_us(r->clock), 1000000), ec) : ERR_OK;
    if (e) {
        mutex_lock(&r->lock);
        beats_give_back(&r->queue, list);
        mutex_unlock(&r->lock);
        return e;
    }
    for (struct beat_entry *entry = list; entry && !recompute; entry = entry->next)
        recompute = asks_for_recompute(r->snap, entry); /* this thread alone replaces snap */
    beats_destroy_list(list);
    if (recompute && r->next_recompute_ms == INT64_MAX && r->fruitless < FRUITLESS_MAX)
        r->next_recompute_ms =
            r->last_recompute_ms + RECOMPUTE_MS > now_ms ? r->last_recompute_ms + RECOMPUTE_MS : now_ms;
    *more = taken == BATCH_MAX;
    return ERR_OK;
}

/* ---- address lists (thread) -------------------------------------------------------------------------------------- */

static enum err write_changes(struct registry *r, struct store_session *s, const struct list_changes *changes,
                              struct errctx *ec)
{
    int64_t now_s = time_floor_div(clock_wall_us(r->clock), 1000000);
    for (size_t i = 0; i < changes->count; i++) {
        const struct list_change *c = &changes->changes[i];
        enum err e = store_update_group_addresses(s, c->group, c->old_list, c->new_list, now_s, ec);
        if (e == ERR_CONFLICT || e == ERR_NOTFOUND)
            continue;         /* somebody else wrote it, or the group is gone: the next pass reads anew */
        if (e == ERR_INPUT) { /* this list cannot be stored; the other groups must not suffer */
            log_limited(&r->list_log, r->clock, LOG_WARN, "registry", "event=list_refused group=%" PRId64 " error=%s",
                        c->group, log_quote(ec->text).s);
            continue;
        }
        if (e)
            return e;
    }
    return ERR_OK;
}

static void log_cut_lists(struct registry *r, size_t cut)
{
    if (cut != r->cut_logged)
        log_warn("registry", "event=lists_cut groups=%zu max_bytes=%d action=%s", cut, ADDRESS_LIST_MAX,
                 log_quote(cut ? "the addresses that fit are used" : "all lists fit again").s);
    r->cut_logged = cut;
}

/* True while executors may not have had the time to show that they live. */
static bool is_patient(const struct registry *r, int64_t now_mono_ms)
{
    return now_mono_ms < r->patient_until_ms || now_mono_ms - r->last_success_ms > OUTAGE_MS;
}

static bool take_missed(struct registry *r)
{
    mutex_lock(&r->lock);
    bool missed = r->missed;
    r->missed = false;
    mutex_unlock(&r->lock);
    return missed;
}

enum err work_note_missed(struct registry *r, struct store_session *s, struct errctx *ec)
{
    int64_t now_ms = clock_mono_ms(r->clock);

    if (now_ms < r->next_missed_ms || !take_missed(r))
        return ERR_OK;
    enum err e = store_note_missed(s, MISSED_HOLD_S, ec);
    if (e)
        registry_note_missed(r); /* told later, then */
    else
        r->next_missed_ms = now_ms + MISSED_EVERY_MS;
    return e;
}

void registry_note_missed(struct registry *r)
{
    mutex_lock(&r->lock);
    r->missed = true;
    mutex_unlock(&r->lock);
}

/* How old a beat must be for its executor to be dead. While any node misses beats that does not change for those who
 * were alive when it began: who could not be heard must not be taken for dead. */
static enum err find_dead_age(struct registry *r, struct store_session *s, int64_t *age_s, struct errctx *ec)
{
    int64_t missed_s = -1;
    enum err e = store_load_missed(s, MISSED_HOLD_S, &missed_s, ec);

    if (e)
        return e;
    *age_s = is_patient(r, clock_mono_ms(r->clock)) ? DEAD_PATIENT_S : DEAD_S;
    if (missed_s >= 0 && missed_s + DEAD_S > *age_s)
        *age_s = missed_s + DEAD_S;
    if ((missed_s >= 0) != r->holding)
        log_info("registry", "event=%s",
                 missed_s >= 0 ? "expiry_held why=\"a node has missed heartbeats\"" : "expiry_goes_on");
    r->holding = missed_s >= 0;
    counters_set(r->counters, COUNTER_EXPIRY_HELD, r->holding);
    return ERR_OK;
}

/* Without such a group rows do not die: the original's rule. Runs of executors that are given by hand are lost when
 * their address is not registered, whatever has become of it. */
static bool has_automatic_group(const struct group_list *groups)
{
    for (size_t i = 0; i < groups->count; i++)
        if (!groups->rows[i].manual)
            return true;
    return false;
}

enum err work_recompute_lists(struct registry *r, struct store_session *s, bool *changed, struct errctx *ec)
{
    struct group_list groups = {0};
    struct registry_list rows = {0};
    struct list_changes changes = {0};
    int64_t now_s = time_floor_div(clock_wall_us(r->clock), 1000000);
    int64_t dead_age_s = DEAD_S;

    enum err e = store_load_groups(s, &groups, ec);
    *changed = false;
    if (e || !has_automatic_group(&groups))
        goto out;
    e = find_dead_age(r, s, &dead_age_s, ec);
    if (e)
        goto out;
    e = store_load_registry(s, now_s - dead_age_s, &rows, ec);
    if (e)
        goto out;
    e = lists_compute(&groups, &rows, &changes, ec);
    if (e)
        goto out;
    log_cut_lists(r, changes.cut);
    *changed = changes.count > 0;
    e = write_changes(r, s, &changes, ec);
out:
    lists_fini(&changes);
    registry_list_fini(&rows);
    group_list_fini(&groups);
    return e;
}
