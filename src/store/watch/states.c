/* SPDX-License-Identifier: MIT */
/* shardwheel_watch: what did not happen, and whether people know. */
#include <inttypes.h>

#include "shardwheel/store/watch.h"
#include "store/conn/rows.h"

enum err store_load_watch_states(struct store_session *s, struct watch_states *out, struct errctx *ec)
{
    static const struct row_type states =
        ROWS(struct watch_state, FIELDS(struct watch_state, kind, target, phase, since_ms, log_id, detail));

    store_sql(
        s, "SELECT kind, target, phase, since_ms, log_id, detail FROM shardwheel_watch ORDER BY kind, target LIMIT ?",
        WATCH_STATES_MAX);
    enum err e = store_read_list(s, &states, out, ec);
    return e ? err_wrap(ec, e, "read what did not happen") : ERR_OK;
}

static enum err write_change(struct store_session *s, const struct watch_change *c, struct errctx *ec)
{
    const char *kind = watch_kind_name(c->kind);

    switch (c->what) {
    case WATCH_OPENS:
        return store_exec(s, NULL, ec,
                          "INSERT IGNORE INTO shardwheel_watch (kind, target, phase, since_ms, log_id, detail) VALUES "
                          "(?, ?, ?, " STORE_NOW_MS ", ?, ?)",
                          kind, c->target, WATCH_NEW, c->log_id, sql_fitted(c->detail, 200, TEXT_AS_IS));
    case WATCH_ENDS:
        return store_exec(s, NULL, ec,
                          "UPDATE shardwheel_watch SET phase = ? WHERE kind = ? AND target = ? AND phase = ?",
                          WATCH_OVER, kind, c->target, WATCH_TOLD);
    case WATCH_DROPS: break;
    }
    return store_exec(s, NULL, ec, "DELETE FROM shardwheel_watch WHERE kind = ? AND target = ?", kind, c->target);
}

enum err store_write_watch_changes(struct store_session *s, const char *incarnation, const struct watch_change *changes,
                                   size_t count, struct errctx *ec)
{
    struct db_effect effect = {0};
    enum err e = store_begin_txn(s, ec);

    /* A write, not a lock: in a Galera cluster another member knows nothing of locks. */
    if (!e)
        e = store_exec(s, &effect, ec,
                       "UPDATE shardwheel_alarm SET failures = failures + 1 WHERE job_id = 0 AND incarnation = ?",
                       incarnation);
    if (!e && effect.matched == 0)
        e = err_set(ec, ERR_STATE, "another node sends the alarms now");
    for (size_t i = 0; i < count && !e; i++)
        e = write_change(s, &changes[i], ec);
    e = store_finish_txn(s, e, ec);
    return e ? err_wrap(ec, e, "write what did not happen") : ERR_OK;
}

enum err store_end_watch_telling(struct store_session *s, const char *kind, int64_t target, int phase,
                                 struct errctx *ec)
{
    enum err e =
        phase == WATCH_OVER
            ? store_write(s, NULL, ec, "DELETE FROM shardwheel_watch WHERE kind = ? AND target = ? AND phase = ?", kind,
                          target, WATCH_OVER)
            : store_write(s, NULL, ec,
                          "UPDATE shardwheel_watch SET phase = ? WHERE kind = ? AND target = ? AND phase = ?",
                          WATCH_TOLD, kind, target, WATCH_NEW);

    return e ? err_wrap(ec, e, "write that alarms were sent") : ERR_OK;
}

/* ---- held back --------------------------------------------------------------------------------------------------- */

enum err store_hold_back(struct store_session *s, const char *const *channels, size_t count, const char *kind,
                         int64_t target, bool over, struct errctx *ec)
{
    struct sqlbuf *q =
        store_start_sql(s, "INSERT IGNORE INTO shardwheel_held (channel, kind, target, is_over) VALUES ");
    enum err e;

    for (size_t i = 0; i < count; i++)
        sql_put(q, "?(?, ?, ?, ?)", sql_word(i ? ", " : ""), channels[i], kind, target, (int)over);
    e = store_write_sql(s, NULL, ec);
    return e ? err_wrap(ec, e, "hold an alarm back") : ERR_OK;
}

enum err store_load_held_channels(struct store_session *s, struct held_channels *out, struct errctx *ec)
{
    static const struct row_type channels = ROWS(struct held_channel, FIELDS(struct held_channel, name));

    store_start_sql(s, "SELECT DISTINCT channel FROM shardwheel_held");
    enum err e = store_read_list(s, &channels, out, ec);
    return e ? err_wrap(ec, e, "look for what was held back") : ERR_OK;
}

enum err store_load_held(struct store_session *s, const char *channel, struct held_alarms *out, struct errctx *ec)
{
    static const struct row_type held = ROWS(struct held_alarm, FIELDS(struct held_alarm, channel, kind, target, over));

    store_sql(s,
              "SELECT channel, kind, target, is_over FROM shardwheel_held WHERE channel = ? ORDER BY kind, target "
              "LIMIT ?",
              channel, HELD_AT_ONCE);
    enum err e = store_read_list(s, &held, out, ec);
    return e ? err_wrap(ec, e, "read what was held back") : ERR_OK;
}

enum err store_drop_held(struct store_session *s, const struct held_alarm *alarm, struct errctx *ec)
{
    enum err e = store_write(
        s, NULL, ec, "DELETE FROM shardwheel_held WHERE channel = ? AND kind = ? AND target = ? AND is_over = ?",
        alarm->channel, alarm->kind, alarm->target, (int)alarm->over);

    return e ? err_wrap(ec, e, "drop what was held back") : ERR_OK;
}

enum err store_drop_held_channel(struct store_session *s, const char *channel, struct errctx *ec)
{
    enum err e = store_write(s, NULL, ec, "DELETE FROM shardwheel_held WHERE channel = ? LIMIT 1000", channel);

    return e ? err_wrap(ec, e, "drop what was held back") : ERR_OK;
}

enum err store_find_failing(struct store_session *s, int64_t job_id, int64_t *log_id, struct errctx *ec)
{
    enum err e = store_number(s, 0, log_id, ec,
                              "SELECT last_log FROM shardwheel_alarm WHERE job_id = ? AND (failing = 1 OR log_id IS "
                              "NOT NULL)",
                              job_id);

    return e ? err_wrap(ec, e, "look whether job %" PRId64 " fails", job_id) : ERR_OK;
}
