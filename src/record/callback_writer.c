/* SPDX-License-Identifier: MIT */
#include "record/callback_writer.h"

#define CONFLICT_TRIES 6     /* at once, after a deadlock or the like */
#define FAILURE_LOG_MS 10000 /* between two lines while it goes on failing */

void callback_writer_init(struct callback_writer *w, const struct complete_opts *opts, const struct clock *clock,
                          struct counters *counters)
{
    *w = (struct callback_writer){
        .opts = opts,
        .clock = clock,
        .counters = counters,
        .sender =
            {.store = opts->store, .clock = clock, .counters = counters, .submit = opts->submit, .arg = opts->arg},
        .last_failure_log_ms = INT64_MIN / 2,
    };
}

void callback_writer_fini(struct callback_writer *w)
{
    fire_destroy_list(w->doubt.list);
    direct_sender_fini(&w->sender);
}

bool callback_writer_has_children_left(const struct callback_writer *w)
{
    return w->doubt.list || w->sender.late;
}

enum err callback_writer_settle(struct callback_writer *w, struct errctx *ec)
{
    struct store_session *s = NULL;
    enum err e;

    direct_end_late(&w->sender);
    if (!w->doubt.list)
        return ERR_OK;
    e = store_take_session(w->opts->store, SESSION_NORMAL, &s, ec);
    if (!e)
        e = direct_settle(&w->sender, s, w->opts->incarnation, &w->doubt, NULL, ec);
    store_give_session(w->opts->store, s);
    return e;
}

enum err callback_writer_end(struct callback_writer *w, struct errctx *ec)
{
    direct_end_late(&w->sender);
    return direct_settle_at_end(&w->sender, w->opts->incarnation, &w->doubt, ec);
}

static enum err write_entries(struct callback_writer *w, struct store_session *s, struct batch *batch,
                              struct errctx *ec)
{
    struct children made = {.incarnation = w->opts->incarnation};
    struct children *children = w->opts->submit ? &made : NULL;
    int64_t now_s = time_floor_div(clock_wall_us(w->clock), 1000000);
    int64_t begun_boot_ms = clock_boot_ms(w->clock);
    enum err e = ERR_OK;

    for (int i = 0; i < CONFLICT_TRIES; i++) {
        e = store_write_callbacks(s, batch->entries, batch->count, now_s, children, ec);
        if (e != ERR_CONFLICT)
            break;
    }
    if (e == ERR_INPUT)
        e = batch_write_apart(batch, s, now_s, children, ec);
    direct_send(&w->sender, made.made, begun_boot_ms);
    w->doubt = (struct direct_doubt){made.doubtful, begun_boot_ms};
    return e;
}

static enum err write_once(struct callback_writer *w, struct batch *batch, struct errctx *ec)
{
    struct store_session *s = NULL;
    enum err e = callback_writer_settle(w, ec);

    if (!e)
        e = store_take_session(w->opts->store, SESSION_NORMAL, &s, ec);
    if (e)
        return e;
    results_note_ends(w->opts->results, batch->entries, batch->count);
    batch_claim_results(batch, w->opts->results);
    e = write_entries(w, s, batch, ec);
    batch_settle_results(batch, w->opts->results, /*committed=*/!e);
    store_give_session(w->opts->store, s);
    return e;
}

static void count_batch(struct callback_writer *w, struct batch *batch)
{
    struct batch_tally tally = batch_end(batch);
    counters_add(w->counters, COUNTER_CALLBACKS, tally.stored);
    counters_add(w->counters, COUNTER_RUNS_SUCCEEDED, tally.succeeded);
    counters_add(w->counters, COUNTER_RUNS_FAILED, tally.stored - tally.succeeded);
    counters_add(w->counters, COUNTER_CALLBACKS_REPEATED, tally.repeated);
    counters_add(w->counters, COUNTER_CALLBACKS_FOREIGN, tally.foreign);
    counters_add(w->counters, COUNTER_CALLBACK_BATCHES, 1);
}

static void log_outcome(struct callback_writer *w, enum err e, const struct errctx *ec)
{
    int64_t now = clock_mono_ms(w->clock);
    if (!e) {
        if (w->failing)
            log_info("record", "event=callbacks_working");
        w->failing = false;
    } else if (!w->failing || now - w->last_failure_log_ms >= FAILURE_LOG_MS) {
        log_warn("record", "event=callbacks_failing error=%s action=%s", log_quote(ec->text).s,
                 log_quote("refused after 1 s; executors send them again").s);
        w->failing = true;
        w->last_failure_log_ms = now;
    }
}

enum err callback_writer_write(struct callback_writer *w, struct batch *batch, struct errctx *ec)
{
    enum err e = write_once(w, batch, ec);

    log_outcome(w, e, ec);
    if (!e) {
        count_batch(w, batch);
        batch_offer_logs(batch, w->opts->keep);
    }
    return e;
}
