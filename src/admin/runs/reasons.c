/* SPDX-License-Identifier: MIT */
#include "shardwheel/admin/reasons.h"

#include "admin/explain/explain_impl.h"
#include "shardwheel/job/codes.h"

#include <string.h>

#define VALUE_BYTES 100
#define WIDE_COLON "\xef\xbc\x9a" /* U+FF1A */

static const char *const names[REASONS] = {
    [REASON_CONNECTION_REFUSED] = "connection-refused",
    [REASON_CONNECT_TIMEOUT] = "connect-timeout",
    [REASON_HOST_UNKNOWN] = "host-unknown",
    [REASON_HTTP_STATUS] = "http-status",
    [REASON_BAD_ANSWER] = "bad-answer",
    [REASON_DELIVERY_UNKNOWN] = "delivery-unknown",
    [REASON_BLOCK_DISCARD_LATER] = "block-discard-later",
    [REASON_BLOCK_COVER_EARLY] = "block-cover-early",
    [REASON_TIME_LIMIT] = "time-limit",
    [REASON_KILLED] = "killed",
    [REASON_FLOW_CANCELLED] = "flow-cancelled",
    [REASON_EXECUTOR_STOPPED] = "executor-stopped",
    [REASON_NO_HANDLER] = "no-handler",
    [REASON_REPEATED] = "repeated",
    [REASON_NO_RESULT] = "no-result",
    [REASON_SCRIPT_EXIT] = "script-exit",
    [REASON_TYPE_NOT_SUPPORTED] = "type-not-supported",
    [REASON_WRONG_TOKEN] = "wrong-token",
    [REASON_UNKNOWN_PATH] = "unknown-path",
    [REASON_LOST] = "lost",
    [REASON_LOST_UNREGISTERED] = "lost-unregistered",
    [REASON_LOST_LEFT] = "lost-left",
    [REASON_LOST_IDLE] = "lost-idle",
};

const char *run_reason_name(enum run_reason reason)
{
    return reason < (enum run_reason)CAUSES ? explain_cause_name((enum explain_cause)reason) : names[reason];
}

/* What a text says. Behind `head` comes the value, where there is a `tail`, and up to that. */
struct phrase {
    enum run_reason reason;
    const char *head, *tail; /* tail NULL: there is no value */
};

/* With these an executor begins what it answers or reports; some are our own words for its answer. */
static const struct phrase of_executors[] = {
    {REASON_BLOCK_DISCARD_LATER, EXPLAIN_BLOCKED WIDE_COLON "Discard Later", NULL},
    {REASON_BLOCK_COVER_EARLY, EXPLAIN_BLOCKED WIDE_COLON "Cover Early", NULL},
    {REASON_TIME_LIMIT, "job execute timeout", NULL},
    {REASON_KILLED, "scheduling center kill job.", NULL},
    {REASON_FLOW_CANCELLED, "the flow run was cancelled", NULL},
    {REASON_EXECUTOR_STOPPED, "web container destroy and kill the job.", NULL},
    {REASON_NO_HANDLER, "job handler [", "] not found."},
    {REASON_REPEATED, "repeate trigger job, logId:", NULL},
    {REASON_REPEATED, "repeat trigger job, logId:", NULL},
    {REASON_NO_RESULT, "job handle result lost.", NULL},
    {REASON_SCRIPT_EXIT, "script exit value(", ") is failed"},
    {REASON_TYPE_NOT_SUPPORTED, "fail, current glue type [", "] not supported."},
    {REASON_TYPE_NOT_SUPPORTED, "glueType[", "] is not valid."},
    {REASON_WRONG_TOKEN, "The access token is wrong.", NULL},
    {REASON_WRONG_TOKEN, "invalid request, accessToken or appname ", NULL},
    {REASON_UNKNOWN_PATH, "invalid request, uri-mapping(", ") not found."},
    {REASON_HTTP_STATUS, "the executor answered with HTTP status ", ""},
    {REASON_BAD_ANSWER, "the executor's answer ", NULL},
};

/* These stand anywhere in the text of a run that was not sent: the words of nodes, and those of Java admins. */
static const struct phrase of_senders[] = {
    {REASON_CONNECTION_REFUSED, "not sent: Connection refused", NULL},
    {REASON_CONNECT_TIMEOUT, "not sent: cannot connect: no answer in time", NULL},
    {REASON_HOST_UNKNOWN, "not sent: its host name ", NULL},
    {REASON_CONNECTION_REFUSED, "xxl-job remoting error(Connection refused", NULL},
    {REASON_CONNECTION_REFUSED, "Http Request Error (Connection refused", NULL},
    {REASON_HTTP_STATUS, "xxl-job remoting fail, StatusCode(", ")"},
    {REASON_HTTP_STATUS, "Http Request fail, statusCode(", ")"},
};

static const struct phrase of_lost_runs[] = {
    {REASON_LOST_UNREGISTERED, "lost: no result came within 10 minutes, ", NULL},
    {REASON_LOST_LEFT, "lost: the executor has left, ", NULL},
    {REASON_LOST_IDLE, "lost: the executor says that the job is idle there, ", NULL},
};

/* Where the value ends; NULL: there is none. "" is behind its digits. */
static const char *find_value_end(const char *value, const char *tail)
{
    const char *end = *tail ? strstr(value, tail) : value + strspn(value, ASCII_DIGITS);

    return end && end > value && end - value <= VALUE_BYTES ? end : NULL;
}

/* False: the text says something else. */
static bool take_phrase(const struct phrase *phrase, const char *at, struct buf *value)
{
    const char *from = at + strlen(phrase->head), *end = phrase->tail ? find_value_end(from, phrase->tail) : from;

    if (end && phrase->tail)
        explain_put_plain(value, from, end);
    return end != NULL;
}

/* `anywhere`: else at its beginning. */
static enum run_reason find_phrase(const struct phrase *phrases, size_t count, const char *text, bool anywhere,
                                   struct buf *value)
{
    for (size_t i = 0; i < count; i++) {
        const char *head = phrases[i].head;
        const char *at = anywhere ? strstr(text, head) : strncmp(text, head, strlen(head)) == 0 ? text : NULL;

        if (at && take_phrase(&phrases[i], at, value))
            return phrases[i].reason;
    }
    return REASON_NONE;
}

/* Behind the mark that it begins with. */
static const char *skip_mark(const char *text)
{
    const char *end = strncmp(text, "<!--", 4) == 0 ? strstr(text, "-->") : NULL;

    return end ? end + strlen("-->") : text;
}

/* What the executor answered, or the node has to say: the last line of a message with one of these titles, with
 * whatever follows it; the text itself where there is none. */
static const char *find_answer(const char *text)
{
    static const char *const titles[] = {"<br>msg: ", ("<br>msg" WIDE_COLON), "<br>reason: ", "<br>原因: "};
    const char *found = text;

    for (size_t i = 0; i < ARRAY_LEN(titles); i++)
        for (const char *at = text; (at = strstr(at, titles[i])) != NULL;) {
            at += strlen(titles[i]);
            found = at > found ? at : found;
        }
    return found;
}

static enum run_reason find_sent(const char *text, struct buf *value)
{
    enum run_reason found =
        find_phrase(of_executors, ARRAY_LEN(of_executors), find_answer(text), /*anywhere=*/false, value);

    if (!found)
        found = find_phrase(of_senders, ARRAY_LEN(of_senders), text, /*anywhere=*/true, value);
    return found ? found : (enum run_reason)explain_find_cause(text);
}

static enum run_reason find_ended(const struct run_said *said, const char *text, struct buf *value)
{
    enum run_reason found = find_phrase(of_executors, ARRAY_LEN(of_executors), text, /*anywhere=*/false, value);

    if (!found && explain_is_killed(text)) {
        explain_put_killer(value, text);
        return REASON_KILLED;
    }
    return found || said->handle_code != CODE_TIMEOUT ? found : REASON_TIME_LIMIT;
}

enum run_reason run_find_reason(const struct run_said *said, struct buf *value)
{
    const char *ended = skip_mark(said->handle_msg ? said->handle_msg : "");

    if (said->state == RUN_UNKNOWN)
        return REASON_DELIVERY_UNKNOWN;
    if (said->state == RUN_LOST) {
        enum run_reason found = find_phrase(of_lost_runs, ARRAY_LEN(of_lost_runs), ended, /*anywhere=*/false, value);
        return found ? found : REASON_LOST;
    }
    if (said->state != RUN_FAILED)
        return REASON_NONE;
    if (said->handle_code != CODE_OPEN)
        return find_ended(said, ended, value);
    return find_sent(said->trigger_msg ? said->trigger_msg : "", value);
}

const char *run_said_name(const struct run_said *said, struct buf *value)
{
    enum run_reason reason = run_find_reason(said, value);

    return reason ? run_reason_name(reason) : NULL;
}
