/* SPDX-License-Identifier: MIT */
/* What executors are asked about runs: lines of their logs, and to stop them. No session is held meanwhile. */
#include "shardwheel/admin/runs.h"

#include "admin/access.h"
#include "admin/admin_impl.h"
#include "shardwheel/admin/audit.h"
#include "shardwheel/executor/call.h"
#include "shardwheel/keep.h"
#include "shardwheel/registry.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const char *run_log_end_name(enum run_log_end end)
{
    static const char *const names[] = {
        [RUN_LOG_GOES_ON] = "",
        [RUN_LOG_END] = "end",
        [RUN_LOG_NO_FILE] = "no-file",
        [RUN_LOG_NO_EXECUTOR] = "no-executor",
        [RUN_LOG_NEVER_SENT] = "never-sent",
    };

    return names[end];
}

/* ---- logs -------------------------------------------------------------------------------------------------------- */

static bool is_listed(struct admin *a, int64_t group, const char *address)
{
    const struct registry_snapshot *snap = a->opts.registry ? registry_get_snapshot(a->opts.registry) : NULL;
    const struct registry_group *found = snap ? registry_find_group(snap, group) : NULL;
    bool listed = found && list_has_text(found->addresses, found->count, address);

    if (snap)
        registry_put_snapshot(snap);
    return listed;
}

static void take_answer(struct log_answer *answer, struct run_log *out)
{
    out->to_line = answer->to_line;
    out->is_end = answer->is_end;
    if (answer->is_missing) {
        snprintf(out->trouble.text, sizeof out->trouble.text, "%s", answer->content);
        if (out->is_over)
            out->end = RUN_LOG_NO_FILE;
        answer->len = 0;
    } else if (out->to_line < out->from_line && out->is_over) {
        out->end = RUN_LOG_END;
    }
    if (out->to_line >= out->from_line) {
        out->text = answer->content;
        out->len = answer->len;
        answer->content = NULL;
    }
    log_answer_fini(answer);
}

/* Nothing came: whether to ask again. */
static void note_trouble(struct admin *a, const struct run_row *row, enum err e, struct run_log *out)
{
    if (e == ERR_STATE && row->trigger_code != CODE_OPEN)
        out->end = RUN_LOG_NEVER_SENT;
    else if (e == ERR_STATE) /* it may get an executor still */
        out->end = RUN_LOG_GOES_ON;
    else if (e == ERR_LOST && (out->is_over || !row->address || !is_listed(a, row->group, row->address)))
        out->end = RUN_LOG_NO_EXECUTOR;
}

static enum err ask_log(struct admin *a, const struct run_row *row, int64_t from_line, bool strict, struct run_log *out,
                        struct refusal *r)
{
    struct access_copy access;
    struct log_answer answer = {0};
    struct run_log log = {.from_line = from_line, .to_line = from_line - 1, .is_over = row->handle_code != CODE_OPEN};
    enum err e = access_copy(a, &access, &r->text);

    if (e)
        return refuse_error(r, e);
    counters_add(a->counters, COUNTER_CALLS_LOG, 1);
    e = run_read_log(&access.calls, row->id, from_line, &log.is_over, &answer, &log.trouble);
    access_copy_fini(&access);
    if (!e) {
        take_answer(&answer, &log);
    } else if (strict && e == ERR_LOST) {
        return refuse(r, REFUSED_EXECUTOR, NULL, "%s", log.trouble.text);
    } else if (strict || (e != ERR_LOST && e != ERR_STATE)) {
        r->text = log.trouble;
        return refuse_error(r, e);
    } else {
        note_trouble(a, row, e, &log);
    }
    *out = log;
    return ERR_OK;
}

/* ---- kept logs --------------------------------------------------------------------------------------------------- */

/* Behind so many line ends. */
static size_t find_line(const char *text, size_t len, int64_t from_line, int64_t *lines)
{
    size_t start = from_line > 1 ? len : 0;

    *lines = 0;
    for (size_t i = 0; i < len; i++)
        if (text[i] == '\n' && ++*lines == from_line - 1)
            start = i + 1;
    *lines += len > 0 && text[len - 1] != '\n';
    return start;
}

/* From from_line on; for a console that shows text alone its first line says what it is. */
static void take_kept(struct keep_copy *copy, int64_t from_line, bool titled, struct run_log *out)
{
    int64_t lines;
    size_t start = find_line(copy->text.data, copy->text.len, from_line, &lines);
    char at[TIME_TEXT_MAX] = "";
    struct buf text = {0};

    if (titled && time_put_text(copy->at_ms, at))
        buf_printf(&text, "--- shardwheel: the executor's log is not available; this copy was made at %s ---\n", at);
    buf_append(&text, copy->text.data + start, copy->text.len - start);
    *out = (struct run_log){.from_line = from_line,
                            .to_line = lines < from_line ? from_line - 1 : lines,
                            .len = text.len,
                            .is_end = true,
                            .is_over = true,
                            .is_kept = true,
                            .is_cut = copy->is_cut,
                            .kept_ms = copy->at_ms,
                            .end = RUN_LOG_END};
    out->text = buf_take(&text); /* NULL when out of memory: nothing is shown */
    if (!out->text)
        out->len = 0;
}

/* False: there is none, or it cannot be read, which the log of the node says. */
static bool read_kept(struct admin *a, const struct run_row *row, int64_t from_line, bool titled, struct run_log *out)
{
    struct store_session *s = NULL;
    struct keep_copy copy = {0};
    struct refusal r;
    enum err e = admin_take_session(a, &s, &r);

    if (!e)
        e = keep_read(s, row->id, row->job_id, &copy, &r.text);
    store_give_session(a->opts.store, s);
    if (e && e != ERR_NOTFOUND)
        log_warn("admin", "event=kept_log_unreadable log_id=%" PRId64 " error=%s", row->id, log_quote(r.text.text).s);
    if (e)
        return false;
    take_kept(&copy, from_line, titled, out);
    keep_copy_fini(&copy);
    return true;
}

static bool has_none(const struct run_log *log)
{
    return log->end == RUN_LOG_NO_FILE || log->end == RUN_LOG_NO_EXECUTOR;
}

static enum err read_log(struct admin *a, const struct run_row *row, int64_t from_line, enum run_log_source source,
                         bool strict, struct run_log *out, struct refusal *r)
{
    bool may_be_kept =
        row->handle_code != CODE_OPEN && (source == RUN_LOG_KEPT || from_line == 1) && source != RUN_LOG_EXECUTOR;
    enum err e;

    /* An address that is not listed any more is not waited for. */
    if (may_be_kept && (source == RUN_LOG_KEPT || !row->address || !is_listed(a, row->group, row->address)) &&
        read_kept(a, row, from_line, strict, out))
        return ERR_OK;
    if (source == RUN_LOG_KEPT)
        return refuse(r, REFUSED_UNKNOWN, NULL, "no log of run %" PRId64 " is kept", row->id);
    e = ask_log(a, row, from_line, strict, out, r);
    if (may_be_kept && (e ? r->kind == REFUSED_EXECUTOR : has_none(out))) {
        struct run_log kept;

        if (read_kept(a, row, from_line, strict, &kept)) {
            if (!e)
                run_log_fini(out);
            *out = kept;
            return ERR_OK;
        }
    }
    return e;
}

enum err admin_read_run_log(struct admin *a, const struct actor *actor, int64_t id, int64_t from_line,
                            enum run_log_source source, bool strict, struct run_log *out, struct refusal *r)
{
    struct run_rows rows;
    enum err e = admin_load_run(a, actor, id, &rows, r);

    if (e)
        return e;
    e = read_log(a, &rows.rows[0], from_line, source, strict, out, r);
    run_rows_fini(&rows);
    return e;
}

FINI_BY(free, run_log, text)

/* ---- stopping ---------------------------------------------------------------------------------------------------- */

static enum err check_kill(const struct run_row *row, struct refusal *r)
{
    if (row->trigger_code != CODE_OK)
        return refuse(r, REFUSED_STATE, "triggerCode", "run %" PRId64 " was not sent to an executor", row->id);
    if (row->handle_code != CODE_OPEN)
        return refuse(r, REFUSED_STATE, "handleCode", "run %" PRId64 " has ended already, with code %d", row->id,
                      row->handle_code);
    return ERR_OK;
}

static enum err load_job(struct admin *a, int64_t job_id, struct run_job *out, struct refusal *r)
{
    struct store_session *s = NULL;
    enum err e = admin_take_session(a, &s, r);

    if (!e && (e = store_load_run_job(s, job_id, out, &r->text)) == ERR_NOTFOUND)
        e = refuse(r, REFUSED_STATE, "jobId", "its job %" PRId64 " is gone", job_id);
    return admin_end(a, s, e, r);
}

static void note_kill(struct admin *a, const struct actor *actor, const struct run_row *row, const char *job_name,
                      const char *said)
{
    struct audit_diff diff;
    struct refusal r;

    audit_begin(&diff, AUDIT_ADDED);
    audit_int(&diff, "jobId", 0, row->job_id);
    audit_text(&diff, "executorAddress", NULL, row->address);
    audit_text(&diff, "said", NULL, said);
    if (admin_write_audit(a, &diff, actor, "run.kill", row->id, job_name, row->group,
                          &r)) /* the run is stopped all the same, and cannot be started again */
        log_error("admin", "event=audit_failed action=run.kill log=%" PRId64 " who=%s error=%s", row->id,
                  log_quote(actor->name).s, log_quote(r.text.text).s);
}

static enum err ask_kill(struct admin *a, const struct actor *actor, const struct run_row *row, const char *head,
                         struct buf *said, struct refusal *r)
{
    struct access_copy access;
    struct buf by = {0};
    enum err e = access_copy(a, &access, &r->text);

    if (e)
        return refuse_error(r, e);
    counters_add(a->counters, COUNTER_CALLS_KILL, 1);
    buf_printf(&by, "killed by hand (%s)", actor->name);
    const struct kill_words words = {head ? head : by.data, head ? "" : ": "};
    if (buf_failed(&by))
        e = err_set(&r->text, ERR_NOMEM, "out of memory");
    else
        e = run_kill(&access.calls, row->id, &words, said, &r->text);
    buf_fini(&by);
    access_copy_fini(&access);
    if (e == ERR_LOST)
        return refuse(r, REFUSED_EXECUTOR, NULL, "%s", said->len > 0 ? said->data : r->text.text);
    if (e == ERR_STATE || e == ERR_BUSY) /* meanwhile */
        return refuse(r, REFUSED_STATE, "handleCode", "%s", r->text.text);
    return refuse_error(r, e);
}

enum err admin_kill_run(struct admin *a, const struct actor *actor, int64_t id, const char *head, struct buf *said,
                        struct refusal *r)
{
    struct run_rows rows;
    struct run_job job;
    struct buf own = {0};
    enum err e = admin_load_run(a, actor, id, &rows, r);

    if (e)
        return e;
    said = said ? said : &own;
    e = refuse_unless(actor, RIGHT_RUN, rows.rows[0].group, r);
    if (!e)
        e = load_job(a, rows.rows[0].job_id, &job, r);
    if (!e)
        e = check_kill(&rows.rows[0], r);
    if (!e)
        e = ask_kill(a, actor, &rows.rows[0], head, said, r);
    if (!e)
        note_kill(a, actor, &rows.rows[0], job.name, said->data);
    buf_fini(&own);
    run_rows_fini(&rows);
    return e;
}
