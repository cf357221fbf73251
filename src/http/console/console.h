/* SPDX-License-Identifier: MIT */
/*
 * console: the consoles of the original, four dialects of them (dialect.h), as thin layers over the use cases of admin.
 *
 * To add      an endpoint: a row in the table of its topic (jobinfo.c, joblog.c, jobcode.c, jobgroup.c, user.c,
 *             login.c, dashboard.c), and its function beside it. A path whose dialects are answered by different
 *             functions has several rows.
 * Order       The dialect is found; then method, login and role are checked; then whether the parameters can be read;
 *             then the row's function is called. It reads parameters, calls a use case and writes one answer.
 * Answers     Every function that reads a parameter and returns false has written the answer: return at once. A later
 *             answer replaces an earlier one.
 * Dates       Jobs and groups: A, B 2018-11-03T14:21:31.000+00:00. C: on a database of generation 3.4 or later
 *             2018-11-03 14:21:31, in UTC; else 2018-11-03T14:21:31.000Z. D: 2018-11-03 14:21:31, in UTC. Runs: where
 *             those are in UTC without saying so, these are in the zone of the server; else the same.
 * Beyond it   Errors that the original answers with texts of its framework have texts of ours, with the same status and
 *             envelope. Numbers and rows have bounds.
 * Threads     A call belongs to one worker of the console's lane, which may wait for the database.
 */
#ifndef HTTP_CONSOLE_CONSOLE_H
#define HTTP_CONSOLE_CONSOLE_H

#include "http/console/dialect.h"
#include "http/console/params.h"
#include "http/console/words.h"
#include "http/router.h"
#include "shardwheel/admin.h"
#include "shardwheel/admin/login.h"

#define CONSOLE_ROWS_MAX 10000 /* of one answer; the original has no limit */

struct console_call;

/* ---- endpoints --------------------------------------------------------------------------------------------------- */

enum console_kind {
    CONSOLE_CALL, /* answers JSON */
    CONSOLE_PAGE, /* sends browsers on to a page of our console */
};

enum console_need {
    NEED_NOBODY, /* a function may still look who it is: call->has_actor */
    NEED_USER,   /* somebody who is logged in; rights on groups are the use case's matter */
    NEED_ADMIN,
};

struct console_endpoint {
    const char *path;  /* "/jobinfo/pageList"; "" for the root */
    unsigned dialects; /* of enum dialect */
    unsigned methods;  /* of enum route_method; ROUTE_ANY but for login and logout, which are POST. OPTIONS is answered
                           for all */
    enum console_kind kind;
    enum console_need need;
    void (*answer)(struct console_call *call);
};

struct console_topic {
    const struct console_endpoint *rows;
    size_t count;
};

extern const struct console_topic console_jobinfo, console_joblog, console_jobcode, console_jobgroup, console_user,
    console_login, console_dashboard, console_pages;

/* ---- calls ------------------------------------------------------------------------------------------------------- */

struct console_call {
    const struct route_call *route;
    struct http_response *r;
    const struct console_endpoint *endpoint; /* NULL: there is none of that path */
    enum dialect dialect;
    enum lang lang;
    struct admin *admin;
    struct console_params params;
    struct errctx broken; /* why the body could not be read; "" */
    bool has_actor;       /* somebody is logged in, and `actor` says who */
    struct actor
        actor; /* `via` is "console A" and so on, `address` the client's: filled in before the login is looked at */
    struct identity who; /* whose `actor` is, if the login was looked at; ended with the call */
    bool by_browser;     /* the actor was found by what a browser sends by itself */
    const char *refused; /* stands before refusals that a topic has no words for; NULL: see console_fail_refusal */
};

bool console_may_change(const struct console_endpoint *endpoint); /* what is not known to only read may */
/* Finds out who calls, by cookie, token or a proxy's header: sets has_actor, actor and who, and adds a
 * Set-Cookie that clears a cookie which is no good. Any dialect's login is taken in all of them. Not ERR_OK: it could
 * not be found out (the database is away). Lives in login.c. */
MUST_CHECK enum err console_find_actor(struct console_call *call, struct refusal *r);

/* ---- parameters -------------------------------------------------------------------------------------------------- */

/* NULL when absent. */
const char *console_get_text(const struct console_call *call, const char *name);
/* "" when absent: filters, and texts that are stored as "" then. */
const char *console_get_filter(const struct console_call *call, const char *name);
/* Numbers of 32 bits; _long: of 64. Absent is refused: in A code 500, else HTTP 400; what is no number: HTTP 400. */
bool console_take_int(struct console_call *call, const char *name, int64_t *out);
bool console_take_long(struct console_call *call, const char *name, int64_t *out);
/* Absent or empty: `otherwise` (paging). */
bool console_take_int_or(struct console_call *call, const char *name, int64_t otherwise, int64_t *out);
/* A field of a job, group or user: absent is 0, empty is refused. */
bool console_take_field(struct console_call *call, const char *name, int64_t *out);
/* `id` in A and B, exactly one of ids[] in C and D. */
bool console_take_id(struct console_call *call, int64_t *out);
/* start and length, or offset and pagesize. Not negative; *limit is at most CONSOLE_ROWS_MAX. */
bool console_take_page(struct console_call *call, int64_t *offset, int64_t *limit);

/* ---- answers ----------------------------------------------------------------------------------------------------- */

/* Success without a payload. */
void console_succeed(struct console_call *call);
/* Success with one: write it as JSON to call->r->body in between. */
void console_begin_success(struct console_call *call);
void console_end_success(struct console_call *call);
/* A page of a list: rows as JSON objects, with commas between, in between. `is_estimate` adds "X-Count: estimate": the
 * rows could not be counted in time, and `total` is what is known. */
void console_begin_list(struct console_call *call, int64_t total, bool is_estimate);
void console_end_list(struct console_call *call, int64_t total);

/* To a path of ours below the client's context: "/jobs?jobGroup=1". */
void console_redirect(struct console_call *call, int status, const char *route);
bool console_is_for_browser(const struct http_request *q); /* Accept names text/html */

/* Code 500 with a message; NULL: no message in A, "Fail" else. */
void console_fail(struct console_call *call, const char *msg);
/* Code 500, and no message in any dialect. */
void console_fail_null(struct console_call *call);
/* ... put together of words; the list ends with SAY_END. */
void console_fail_words(struct console_call *call, enum say first, ...);
/* Where the original lets an exception out: code 500 (B 203) in the short envelope, for pages an HTML page. */
#define console_fail_hard(call, ...) console_fail_status(call, 200, __VA_ARGS__)
/* ... with an HTTP status of its own; 400, 404, 405, 406 and 413 as {status, error, message}, without a `code`. */
void console_fail_status(struct console_call *call, int status, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* No right on a group: "Permission limit[username=NAME]", hard. */
void console_fail_right(struct console_call *call);
/* Code 500 with call->refused and why. */
void console_fail_because(struct console_call *call, const char *why);
/* The answer for a refusal that the topic has no words for: console_fail_because where call->refused is set; else
 * REFUSED_RIGHT as console_fail_right, others hard, with the refusal's sentence. */
void console_fail_refusal(struct console_call *call, const struct refusal *refusal);

/* Appends to any buffer. */
void console_put_say(const struct console_call *call, struct buf *out, enum say what);
void console_put_text(const struct console_call *call, struct buf *out, const char *text); /* JSON; NULL: null */
/* Members of an object, as those of shardwheel/base.h: a text; the date of seconds from the epoch, negative: null. */
void console_put_member(const struct console_call *call, struct buf *out, const char *name, const char *text);
void console_put_date(const struct console_call *call, struct buf *out, const char *name, int64_t wall_s);
void console_put_run_date(const struct console_call *call, struct buf *out, const char *name, int64_t wall_s);

/* The objects that put(call, &items[i]) writes. */
#define CONSOLE_PUT_EACH(call, items, count, put)                                                                      \
    do {                                                                                                               \
        for (size_t i_ = 0; i_ < (count); i_++)                                                                        \
            put(call, &(items)[i_]);                                                                                   \
    } while (0)
/* A page of a list, as a whole answer. */
#define CONSOLE_PUT_LIST(call, total, is_estimate, items, count, put)                                                  \
    do {                                                                                                               \
        console_begin_list(call, total, is_estimate);                                                                  \
        CONSOLE_PUT_EACH(call, items, count, put);                                                                     \
        console_end_list(call, total);                                                                                 \
    } while (0)

#endif
