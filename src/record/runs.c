/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "shardwheel/executor/call.h"
#include "shardwheel/record.h"
#include "shardwheel/text.h"

static struct executor_target make_target(const struct run_facts *facts, const struct run_calls *with)
{
    return (struct executor_target){
        .address = facts->address,
        .app_name = facts->app_name,
        .group_token = facts->access_token,
        .access_token = with->access_token,
        .timeout_ms = with->timeout_ms,
        .tls = with->tls,
    };
}

static enum err load(const struct run_calls *with, int64_t log_id, struct run_facts *out, struct errctx *ec)
{
    struct store_session *session = NULL;
    enum err e = store_take_session(with->store, SESSION_NORMAL, &session, ec);

    if (!e)
        e = store_load_run(session, log_id, out, ec);
    store_give_session(with->store, session);
    return e;
}

/* First stored result wins: the executor's own callback may have come meanwhile. */
static enum err write_killed(const struct run_calls *with, int64_t log_id, const struct kill_words *words,
                             const char *said, struct errctx *ec)
{
    struct buf message = {0};
    struct callback_entry entry = {.log_id = log_id, .code = CODE_FAILED};
    struct store_session *session = NULL;
    enum err e;

    buf_puts(&message, words->head);
    if (said && said[0])
        buf_printf(&message, "%s%s", words->between, said);
    if (buf_failed(&message))
        return err_set(ec, ERR_NOMEM, "out of memory for the end of log %" PRId64, log_id);
    entry.message = message.data;
    e = store_take_session(with->store, SESSION_NORMAL, &session, ec);
    if (!e)
        e = store_write_callbacks(session, &entry, 1, time_floor_div(clock_wall_ms(with->clock), 1000), NULL, ec);
    store_give_session(with->store, session);
    buf_fini(&message);
    return e;
}

enum err run_kill(const struct run_calls *with, int64_t log_id, const struct kill_words *words, struct buf *said,
                  struct errctx *ec)
{
    struct run_facts facts = {0};
    struct executor_target target;
    struct answer answer = {0};
    enum err e = load(with, log_id, &facts, ec);

    if (e)
        return e;
    target = make_target(&facts, with);
    if (facts.handle_code != 0)
        e = err_set(ec, ERR_STATE, "run %" PRId64 " has ended already, with code %d", log_id, facts.handle_code);
    else if (facts.trigger_code == CODE_OPEN)
        e = err_set(ec, ERR_BUSY, "run %" PRId64 " was not sent to an executor yet, according to its row", log_id);
    else if (facts.trigger_code != CODE_OK)
        e = err_set(ec, ERR_STATE, "run %" PRId64 " was not sent to an executor: its trigger failed", log_id);
    else
        e = executor_kill(with->calls, &target, facts.job_id, &answer, ec);
    if (!e && answer.code != CODE_OK)
        e = err_set(ec, ERR_LOST, "run %" PRId64 " was not stopped: %s", log_id,
                    answer.text ? answer.text : "the executor gave no reason");
    if (!e)
        e = write_killed(with, log_id, words, answer.text, ec);
    if (!e)
        keep_offer(with->keep, log_id, /*maybe_failed=*/true);
    if (!e)
        log_fire(RECORD, "event=run_killed log_id=%" PRId64 " job=%" PRId64, log_id, facts.job_id);
    if (said && answer.text)
        buf_puts(said, answer.text);
    answer_fini(&answer);
    run_facts_fini(&facts);
    return e;
}

enum err run_read_log(const struct run_calls *with, int64_t log_id, int64_t from_line, bool *is_over,
                      struct log_answer *out, struct errctx *ec)
{
    struct run_facts facts = {0};
    struct executor_target target;
    enum err e = load(with, log_id, &facts, ec);

    if (e)
        return e;
    target = make_target(&facts, with);
    *is_over = facts.handle_code != 0;
    if (facts.trigger_code != CODE_OK && facts.trigger_code != 0)
        e = err_set(ec, ERR_STATE, "run %" PRId64 " was not sent to an executor: its trigger failed", log_id);
    else if (!facts.address[0])
        e = err_set(ec, ERR_STATE, "run %" PRId64 " has no executor", log_id);
    else
        e = executor_read_log(with->calls, &target, log_id, facts.trigger_ms, from_line, out, ec);
    if (!e && out->answer.code != CODE_OK) {
        e = err_set(ec, ERR_LOST, "the log of run %" PRId64 " cannot be read: %s", log_id,
                    out->answer.text ? out->answer.text : "the executor gave no reason");
        log_answer_fini(out);
    }
    run_facts_fini(&facts);
    return e;
}
