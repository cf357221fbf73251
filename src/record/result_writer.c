/* SPDX-License-Identifier: MIT */
#include "record/result_writer.h"

#include <inttypes.h>

#define RETRY_FIRST_MS 100
#define RETRY_MAX_MS 5000
#define PLAIN_MESSAGE "the database refused the text of this result"

void result_writer_end(struct result_writer *w)
{
    store_give_session(w->store, w->session);
    w->session = NULL;
}

enum err result_writer_take_session(struct result_writer *w, struct errctx *ec)
{
    return w->session ? ERR_OK : store_take_session(w->store, SESSION_NORMAL, &w->session, ec);
}

/* One transaction. */
static enum err write_results(struct result_writer *w, const struct fire_result *results, size_t count,
                              struct errctx *ec)
{
    enum err e;

    errctx_clear(ec);
    e = result_writer_take_session(w, ec);
    if (e)
        return e == ERR_INPUT ? ERR_LOST : e; /* ERR_INPUT is for rows; this is none */
    return store_write_results(w->session, results, count, ec);
}

static void note_success(struct result_writer *w, size_t count)
{
    if (w->faulty)
        log_info("record", "event=results_written_again");
    w->faulty = false;
    counters_add(w->counters, COUNTER_RESULTS_WRITTEN, (int64_t)count);
    counters_add(w->counters, COUNTER_RESULT_BATCHES, 1);
}

void result_writer_note_failure(struct result_writer *w, enum err e, const struct errctx *ec)
{
    counters_add(w->counters, COUNTER_RESULT_FAILURES, 1);
    if (!w->faulty)
        log_warn("record", "event=results_not_written action=retry code=%s error=%s", err_name(e),
                 log_quote(ec->text).s);
    w->faulty = true;
    result_writer_end(w);
}

/* Repeats until committed (ERR_OK) or refused (ERR_INPUT). Any other error: stopped, and the try after that failed
 * too. */
static enum err write_patiently(struct result_writer *w, const struct fire_result *results, size_t count,
                                struct errctx *ec)
{
    int64_t delay_ms = RETRY_FIRST_MS;
    bool last_try = !w->pause(w->arg, 0);
    enum err e;

    while ((e = write_results(w, results, count, ec)) != ERR_OK && e != ERR_INPUT) {
        result_writer_note_failure(w, e, ec);
        if (last_try)
            return e;
        last_try = !w->pause(w->arg, delay_ms);
        delay_ms = delay_ms * 2 < RETRY_MAX_MS ? delay_ms * 2 : RETRY_MAX_MS;
    }
    if (!e)
        note_success(w, count);
    return e;
}

/* A row that the database refuses, say for a character that its column cannot hold, must not stay open for that: it is
 * written with nothing but the code and a plain text. */
static enum err write_one(struct result_writer *w, const struct fire_result *result, struct errctx *ec)
{
    struct fire_result plain = {.log_id = result->log_id, .code = result->code, .message = PLAIN_MESSAGE};
    enum err e = write_patiently(w, result, 1, ec);

    if (e != ERR_INPUT)
        return e;
    log_limited(&w->refused_log, w->clock, LOG_WARN, "record",
                "event=result_refused action=write_plain log=%" PRId64 " error=%s", result->log_id,
                log_quote(ec->text).s);
    e = write_patiently(w, &plain, 1, ec);
    if (e != ERR_INPUT)
        return e;
    log_limited(&w->dropped_log, w->clock, LOG_ERROR, "record", "event=result_dropped log=%" PRId64 " error=%s",
                result->log_id, log_quote(ec->text).s);
    return ERR_OK; /* done with, as far as it can be */
}

enum err result_writer_commit(struct result_writer *w, const struct fire_result *results, size_t count)
{
    struct errctx ec;
    enum err e = write_patiently(w, results, count, &ec);

    if (e == ERR_INPUT) {
        e = ERR_OK;
        for (size_t i = 0; i < count && !e; i++)
            e = write_one(w, &results[i], &ec);
    }
    return e;
}
