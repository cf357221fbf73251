/* SPDX-License-Identifier: MIT */
/* Commands about one run, which go to its executor. */
#include "ctl/parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "shardwheel/executor/call.h"
#include "shardwheel/executor/http_client.h"
#include "shardwheel/executor/networks.h"
#include "shardwheel/keep.h"
#include "shardwheel/record.h"
#include "shardwheel/resolver.h"
#include "shardwheel/store/runs.h"

#define POLL_MS 1000

struct caller {
    struct resolver *resolver;
    struct executor_networks *networks;
    struct http_tls tls;
    struct run_calls with;
};

static enum err open_caller(const struct ctl *c, struct caller *out, struct errctx *ec)
{
    const struct config *config = c->config;
    enum err e = resolver_create(c->clock, &out->resolver, ec);

    out->tls = (struct http_tls){
        .verify = config->tls_verify, .ca = config->tls_ca, .cert = config->tls_cert, .key = config->tls_key};
    out->with = (struct run_calls){.store = c->store,
                                   .clock = c->clock,
                                   .access_token = config->access_token,
                                   .timeout_ms = config->executor_timeout_ms,
                                   .tls = &out->tls};
    if (!e)
        e = executor_networks_create(config->executor_networks, &out->networks, ec);
    return e ? e : executor_calls_create(c->clock, out->resolver, out->networks, 1, &out->with.calls, ec);
}

static void close_caller(struct caller *caller)
{
    executor_calls_destroy(caller->with.calls);
    executor_networks_destroy(caller->networks);
    resolver_destroy(caller->resolver);
}

enum err ctl_load_run_job(struct store_session *s, int64_t job_id, struct run_job *out, struct errctx *ec)
{
    enum err e = store_load_run_job(s, job_id, out, ec);

    if (e == ERR_NOTFOUND)
        *out = (struct run_job){0};
    return e == ERR_NOTFOUND ? ERR_OK : e;
}

static enum err note_kill(struct store_session *s, int64_t log_id, const struct buf *said, struct errctx *ec)
{
    struct audit_diff diff;
    struct run_facts run = {0};
    struct run_job job = {0};
    enum err e = store_load_run(s, log_id, &run, ec);

    if (!e)
        e = ctl_load_run_job(s, run.job_id, &job, ec);
    audit_begin(&diff, AUDIT_ADDED);
    audit_int(&diff, "jobId", 0, run.job_id);
    audit_text(&diff, "executorAddress", NULL, run.address);
    audit_text(&diff, "said", NULL, said->len ? said->data : NULL);
    if (!e)
        e = store_write_audit(s, audit_end(&diff, &ctl_actor, "run.kill", log_id, job.name, job.group), ec);
    audit_fini(&diff);
    run_facts_fini(&run);
    return e;
}

enum err ctl_kill(struct ctl *c, struct errctx *ec)
{
    int64_t log_id = c->wanted->log_id;
    struct caller caller = {0};
    struct buf said = {0};
    struct errctx why = {{0}};
    enum err e = open_caller(c, &caller, ec);

    if (!e)
        e = run_kill(&caller.with, log_id, &(struct kill_words){"killed by hand (shardwheelctl)", ": "}, &said, ec);
    if (!e)
        buf_printf(&c->out, "run %" PRId64 ": stopped\n", log_id);
    /* Behind the kill: the run is stopped all the same, and cannot be started again. */
    if (!e && note_kill(c->session, log_id, &said, &why))
        fprintf(stderr,
                "shardwheelctl: run %" PRId64 " is stopped, but this could not be recorded in the audit log: %s\n",
                log_id, why.text);
    buf_fini(&said);
    close_caller(&caller);
    return e;
}

/* ---- the log ----------------------------------------------------------------------------------------------------- */

/* What is printed of it. */
struct showing {
    const char *wanted; /* of --find; NULL: all lines */
    int64_t found;
};

/* In any case of the letters of ASCII. */
static bool has_text(const char *line, size_t len, const char *wanted)
{
    size_t most = strlen(wanted);

    for (size_t i = 0; i + most <= len; i++)
        if (strncasecmp(line + i, wanted, most) == 0)
            return true;
    return false;
}

/* Whole lines, of which the first has this number. */
static void show_lines(struct showing *showing, const char *text, size_t len, int64_t number)
{
    const char *end = text + len;

    if (!showing->wanted)
        fwrite(text, 1, len, stdout);
    for (const char *at = text; showing->wanted && at < end; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t line_len = (size_t)((stop ? stop : end) - at);

        if (has_text(at, line_len, showing->wanted)) {
            printf("%" PRId64 ":%.*s\n", number, (int)line_len, at);
            showing->found++;
        }
        at += line_len + 1;
    }
    fflush(stdout);
}

/* Where its executor cannot give it. `why` is told with it, and is the error where nothing is kept. */
static enum err show_kept(struct ctl *c, struct showing *showing, enum err e, struct errctx *ec)
{
    int64_t log_id = c->wanted->log_id;
    struct errctx why = *ec;
    struct run_facts run = {0};
    struct keep_copy copy = {0};
    char at[TIME_TEXT_MAX] = "";
    enum err kept = store_load_run(c->session, log_id, &run, ec);

    if (!kept)
        kept = keep_read(c->session, log_id, run.job_id, &copy, ec);
    run_facts_fini(&run);
    if (kept) {
        *ec = why;
        return e;
    }
    (void)time_put_text(copy.at_ms, at);
    fprintf(stderr, "shardwheelctl: %s\nshardwheelctl: this is the log that was kept at %s\n", why.text, at);
    show_lines(showing, copy.text.data, copy.text.len, 1);
    keep_copy_fini(&copy);
    return ERR_OK;
}

static enum err show_log(struct ctl *c, struct showing *showing, struct errctx *ec)
{
    struct caller caller = {0};
    struct log_answer log;
    int64_t line = 1;
    bool more = true, is_over = false;
    enum err e = open_caller(c, &caller, ec);

    while (!e && more) {
        bool has_lines;

        e = run_read_log(&caller.with, c->wanted->log_id, line, &is_over, &log, ec);
        if (e)
            break;
        has_lines = log.to_line >= line;
        more = has_lines || (c->wanted->follow && !is_over);
        if (has_lines) {
            show_lines(showing, log.content, strlen(log.content), line);
            line = log.to_line + 1;
        } else if (more) {
            clock_sleep_ms(POLL_MS);
        } else if (log.is_missing && line == 1) {
            e = err_set(ec, ERR_NOTFOUND, "the executor has no log of run %" PRId64 "%s: %s", c->wanted->log_id,
                        is_over ? "" : " yet", log.content);
        }
        log_answer_fini(&log);
    }
    close_caller(&caller);
    return (e == ERR_LOST || e == ERR_NOTFOUND) && line == 1 ? show_kept(c, showing, e, ec) : e;
}

enum err ctl_show_log(struct ctl *c, struct errctx *ec)
{
    static const char *const known[] = {"find", NULL};
    struct showing showing = {.wanted = ctl_find_option(c->wanted, "find")};
    enum err e = ctl_check_options(c->wanted, known, "--follow and --find", ec);

    if (!e && showing.wanted && !*showing.wanted)
        e = err_set(ec, ERR_INPUT, "--find: the text is empty");
    if (!e)
        e = show_log(c, &showing, ec);
    if (!e && showing.wanted && !showing.found)
        e = err_set(ec, ERR_NOTFOUND, "no line of the log has %s", log_quote(showing.wanted).s);
    return e;
}
