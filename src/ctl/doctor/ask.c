/* SPDX-License-Identifier: MIT */
/* Asks executors what they are, many at a time, by questions that start nothing and stop nothing. */
#include "ctl/doctor/ask.h"
#include "ctl/doctor/places.h"
#include "ctl/doctor/survey.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shardwheel/executor/answer.h"
#include "shardwheel/executor/http_client.h"
#include "shardwheel/executor/networks.h"
#include "shardwheel/executor/request.h"
#include "shardwheel/resolver.h"

#define AT_ONCE 64
#define ASK_MAX 5000 /* addresses; more are not asked */
#define ASK_MS 3000
#define KEPT 400 /* bytes of an answer */
#define NO_SUCH_PATH "/shardwheel-doctor"
#define NO_SUCH_TOKEN "shardwheel-doctor"

enum question {
    ASK_BEAT,  /* with the token that nodes send */
    ASK_WRONG, /* the same with another one */
    ASK_LOG,   /* of a run that there is none of */
    ASK_PATH,  /* that there is none of */
    QUESTIONS
};

struct asked {
    const struct executor_place *place;
    struct http_peer *peer;
    struct reply {
        bool came;
        int status;
        char text[KEPT];
    } replies[QUESTIONS];
    bool is_alive;
};

struct asking {
    struct doctor *d;
    struct http_client *client;
    struct http_tls tls;
    struct asked *list;
    size_t count;
    size_t left_out; /* addresses that were not asked */
};

/* ---- kinds ------------------------------------------------------------------------------------------------------- */

enum executor_kind executor_tell_kind(int log_status, const char *log_body, int path_status, const char *path_body)
{
    if (path_status == 404 && !strncmp(path_body, "404 page not found", 18))
        return EXECUTOR_GO;
    if (path_status == 404 && !strncmp(path_body, "404: Not Found", 14))
        return EXECUTOR_PYTHON;
    if (path_status != 200 || !strstr(path_body, "uri-mapping") || log_status != 200)
        return EXECUTOR_UNKNOWN;
    if (strstr(log_body, "\"data\":{"))
        return EXECUTOR_JAVA;
    return strstr(log_body, "\"content\":{") ? EXECUTOR_JAVA_OLD : EXECUTOR_UNKNOWN;
}

/* ---- one round --------------------------------------------------------------------------------------------------- */

static void take_reply(void *arg, const struct http_answer *answer)
{
    struct reply *reply = arg;
    size_t len = answer->len < KEPT - 1 ? answer->len : KEPT - 1;

    reply->came = answer->outcome == HTTP_ANSWERED;
    reply->status = answer->status;
    if (reply->came)
        memcpy(reply->text, answer->body, len);
    else
        snprintf(reply->text, KEPT, "%s", answer->reason);
}

static const char *put_question(const struct asking *a, const struct asked *to, enum question what, struct buf *headers,
                                struct buf *body)
{
    const struct group_row *group = to->place->group;
    bool is_wrong = what == ASK_WRONG;

    request_put_headers(headers, group->app_name, is_wrong ? NO_SUCH_TOKEN : group->access_token,
                        is_wrong ? NO_SUCH_TOKEN : a->d->config->access_token);
    buf_puts(body, "");
    if (what == ASK_LOG)
        request_put_log_body(body, 0, a->d->now_ms, 1);
    return what == ASK_LOG ? REQUEST_PATH_LOG : what == ASK_PATH ? NO_SUCH_PATH : REQUEST_PATH_BEAT;
}

/* Body and headers live until the turn after the answer, in `texts`. */
static enum err start_question(struct asking *a, struct asked *to, enum question what, struct buf texts[2])
{
    int64_t left_ms = doctor_left_ms(a->d), timeout_ms = left_ms < ASK_MS ? left_ms : ASK_MS;
    struct http_request request = {
        .tls = &a->tls, .timeout_ms = timeout_ms, .takes_start = true, .done = take_reply, .arg = &to->replies[what]};
    enum err e = to->peer ? ERR_OK : http_client_add_peer(a->client, to->place->address, &to->peer);

    request.path = put_question(a, to, what, &texts[0], &texts[1]);
    if (e || buf_failed(&texts[0]) || buf_failed(&texts[1]))
        return ERR_NOMEM;
    request.peer = to->peer;
    request.headers = texts[0].data ? texts[0].data : "";
    request.headers_len = texts[0].len;
    request.body = texts[1].data;
    request.body_len = texts[1].len;
    return http_client_start(a->client, &request);
}

/* AT_ONCE questions are begun, and waited for, so their texts are in one place. */
static enum err ask_some(struct asking *a, size_t from, size_t to, enum question what, struct errctx *ec)
{
    struct buf texts[AT_ONCE][2] = {{{0}}};
    enum err e = ERR_OK;

    for (size_t i = from; i < to && !e; i++) {
        if (what == ASK_BEAT || a->list[i].is_alive)
            e = start_question(a, &a->list[i], what, texts[i - from]);
    }
    while (http_client_count(a->client))
        http_client_turn(a->client, ASK_MS * INT64_C(1000));
    for (size_t i = 0; i < AT_ONCE; i++) {
        buf_fini(&texts[i][0]);
        buf_fini(&texts[i][1]);
    }
    return e ? err_set(ec, e, "out of memory for questions to executors") : ERR_OK;
}

/* What has an answer in time to the first question gets all of them. */
static enum err ask_all(struct asking *a, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t at = 0; at < a->count && !e; at += AT_ONCE) {
        size_t to = a->count - at < AT_ONCE ? a->count : at + AT_ONCE;

        if (a->d->deadline_mono_ms - clock_mono_ms(a->d->clock) < 2 * ASK_MS) {
            a->left_out += a->count - at;
            a->count = at;
            break;
        }
        for (enum question what = ASK_BEAT; what < QUESTIONS && !e; what++) {
            e = ask_some(a, at, to, what, ec);
            for (size_t i = at; i < to && what == ASK_BEAT; i++)
                a->list[i].is_alive = a->list[i].replies[ASK_BEAT].came;
        }
    }
    return e;
}

/* ---- what jobs need ---------------------------------------------------------------------------------------------- */

enum need { NEED_GLUE, NEED_NULL_PARAM, NEED_SAME_HANDLER, NEEDS };

/* Numbers of jobs that run, by group in the order of the list: the columns behind the group's id are needs from the
 * first on. */
static enum err load_need(struct doctor *d, const struct group_list *groups, const char *statement, enum need first,
                          unsigned columns, int64_t (*out)[NEEDS], struct errctx *ec)
{
    struct db_rows *look = NULL;
    enum err e = doctor_look(d, &look, ec, "%s", statement);

    while (!e && db_rows_next(look)) {
        const struct group_row *row = survey_find_group(groups, db_int(look, 0));

        for (unsigned i = 0; row && i < columns; i++)
            out[row - groups->rows][first + i] = db_int(look, i + 1);
    }
    db_rows_destroy(look);
    return e;
}

static enum err load_needs(struct doctor *d, const struct group_list *groups, int64_t (*out)[NEEDS], struct errctx *ec)
{
    enum err e = load_need(d, groups,
                           "SELECT job_group, SUM(glue_type <> 'BEAN'), SUM(glue_type NOT IN ('BEAN', 'GLUE_GROOVY') "
                           "AND executor_param IS NULL) FROM xxl_job_info WHERE trigger_status = 1 GROUP BY job_group",
                           NEED_GLUE, 2, out, ec);

    return e ? e
             : load_need(d, groups,
                         "SELECT job_group, SUM(n) FROM (SELECT job_group, COUNT(*) AS n FROM xxl_job_info WHERE "
                         "trigger_status = 1 AND glue_type = 'BEAN' GROUP BY job_group, executor_handler HAVING "
                         "COUNT(*) > 1) t GROUP BY job_group",
                         NEED_SAME_HANDLER, 1, out, ec);
}

/* ---- judging ----------------------------------------------------------------------------------------------------- */

enum told {
    TOLD_SILENT,
    TOLD_STRANGE,
    TOLD_TOKEN,
    TOLD_OPEN,
    TOLD_NO_GLUE,
    TOLD_MIXES,
    TOLD_NULL_PARAM,
    TOLD_OLD,
    TOLD_KINDS
};
static const struct {
    const char *code;
    enum doctor_level level;
    const char *what, *change;
} tellings[TOLD_KINDS] = {
    [TOLD_SILENT] =
        {"executor_silent", DOCTOR_WARNING, "Executors do not answer to this machine",
         "Start them, or remove them from the list. If only nodes can reach them, run this on the machine of a node."},
    [TOLD_STRANGE] = {"executor_strange", DOCTOR_WARNING, "The answers are not those of an executor",
                      "Correct the address: another program listens there."},
    [TOLD_TOKEN] = {"executor_token", DOCTOR_WARNING, "Executors refuse the configured token, so every fire fails",
                    "Use the same xxl.job.accessToken on nodes and executors, or the token of the group."},
    [TOLD_OPEN] = {"executor_open", DOCTOR_WARNING, "Executors accept runs with a wrong token, from anybody",
                   "Set xxl.job.accessToken there. Go and Python executors do not check it: use a firewall."},
    [TOLD_NO_GLUE] = {"executor_no_glue", DOCTOR_WARNING,
                      "Go and Python executors ignore GLUE, but their groups have started GLUE jobs",
                      "Move these jobs to a group of Java executors."},
    [TOLD_MIXES] = {"executor_mixes", DOCTOR_WARNING,
                    "Go executors mix up the results of runs of one handler, but jobs of their groups share one",
                    "Give each job its own handler."},
    [TOLD_NULL_PARAM] =
        {"executor_null_param", DOCTOR_WARNING,
         "Java executors up to 3.2 cannot run a script without a parameter, but their groups have such jobs",
         "Set executor_param of these jobs to an empty text, or upgrade the executors."},
    [TOLD_OLD] = {"executor_old", DOCTOR_NOTE,
                  "Java executors have version 3.2 or older: a Java admin from 3.3 on shows no logs of them", NULL},
};

static bool is_token_refused(const char *text)
{
    return strstr(text, "access token is wrong") || strstr(text, "accessToken");
}

static int get_code(const struct reply *reply)
{
    struct answer answer = {0};
    int code;

    answer_parse(reply->status, reply->text, strlen(reply->text), REQUEST_PATH_BEAT, &answer);
    code = answer.code;
    answer_fini(&answer);
    return code;
}

/* What is told of a kind of executor, where its group has such jobs. */
static const struct {
    enum executor_kind kind;
    enum need need;
    enum told told;
} judgements[] = {
    {EXECUTOR_GO, NEED_SAME_HANDLER, TOLD_MIXES},
    {EXECUTOR_GO, NEED_GLUE, TOLD_NO_GLUE},
    {EXECUTOR_PYTHON, NEED_GLUE, TOLD_NO_GLUE},
    {EXECUTOR_JAVA_OLD, NEED_NULL_PARAM, TOLD_NULL_PARAM},
};

static uint32_t judge_kind(enum executor_kind kind, const int64_t needs[NEEDS])
{
    uint32_t told = kind == EXECUTOR_JAVA_OLD ? 1u << TOLD_OLD : 0;

    for (size_t i = 0; i < ARRAY_LEN(judgements); i++) {
        if (judgements[i].kind == kind && needs[judgements[i].need])
            told |= 1u << judgements[i].told;
    }
    return told;
}

static uint32_t judge_executor(const struct asked *to, const int64_t needs[NEEDS])
{
    const struct reply *beat = &to->replies[ASK_BEAT], *wrong = &to->replies[ASK_WRONG];
    const struct reply *log = &to->replies[ASK_LOG], *path = &to->replies[ASK_PATH];
    uint32_t told;

    if (!beat->came)
        return 1u << TOLD_SILENT;
    if (get_code(beat) != CODE_OK)
        return 1u << (is_token_refused(beat->text) ? TOLD_TOKEN : TOLD_STRANGE);
    told = wrong->came && get_code(wrong) == CODE_OK ? 1u << TOLD_OPEN : 0;
    if (!log->came || !path->came)
        return told;
    return told | judge_kind(executor_tell_kind(log->status, log->text, path->status, path->text), needs);
}

static void tell_all(const struct asking *a, const struct group_list *groups, int64_t (*needs)[NEEDS])
{
    struct words words[TOLD_KINDS] = {{{0}, 0}};

    for (size_t i = 0; i < a->count; i++) {
        const struct executor_place *place = a->list[i].place;
        uint32_t told = judge_executor(&a->list[i], needs[place->group - groups->rows]);

        for (int kind = 0; kind < TOLD_KINDS; kind++) {
            if (told & 1u << kind)
                place_add(&words[kind], place);
        }
    }
    for (int kind = 0; kind < TOLD_KINDS; kind++)
        doctor_tell_list(a->d, tellings[kind].level, tellings[kind].code, NULL, tellings[kind].change,
                         tellings[kind].what, &words[kind]);
    if (a->left_out)
        doctor_tell(a->d, DOCTOR_NOTE, "executor_not_asked", NULL, NULL,
                    "There was not enough time to call %zu addresses: see --wait.", a->left_out);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

/* Each address once, for the group that it stands first in. What cannot be called was told by the check before. */
static enum err list_asked(struct asking *a, const struct executor_places *places, struct errctx *ec)
{
    a->list = calloc(places->count + 1, sizeof *a->list);
    if (!a->list)
        return err_set(ec, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < places->count; i++) {
        const struct executor_place *place = &places->items[i];

        if ((i && !strcmp(place[-1].address, place->address)) || !request_is_address(place->address))
            continue;
        if (a->count < ASK_MAX)
            a->list[a->count++].place = place;
        else
            a->left_out++;
    }
    return ERR_OK;
}

static enum err ask(struct asking *a, const struct group_list *groups, const struct executor_places *places,
                    struct errctx *ec)
{
    int64_t(*needs)[NEEDS] = calloc(groups->count + 1, sizeof *needs);
    enum err e = list_asked(a, places, ec);

    if (!e)
        e = needs ? load_needs(a->d, groups, needs, ec) : err_set(ec, ERR_NOMEM, "out of memory");
    if (!e)
        e = ask_all(a, ec);
    if (!e)
        tell_all(a, groups, needs);
    for (size_t i = 0; a->list && i < a->count; i++) {
        if (a->list[i].peer)
            http_client_drop_peer(a->client, a->list[i].peer);
    }
    free(a->list);
    free(needs);
    return e;
}

enum err executors_ask(struct doctor *d, struct errctx *ec)
{
    const struct config *config = d->config;
    struct asking a = {
        .d = d,
        .tls = {.verify = config->tls_verify, .ca = config->tls_ca, .cert = config->tls_cert, .key = config->tls_key}};
    struct executor_networks *networks = NULL;
    struct executor_places places = {0};
    struct resolver *resolver = NULL;
    enum err e;

    if (!config->ctl.ask_executors) {
        doctor_tell(d, DOCTOR_OK, "executors", NULL, NULL, "Executors were not called: use --ask-executors.");
        return ERR_OK;
    }
    e = survey_jobs(d, ec);
    if (!e)
        e = executor_networks_create(config->executor_networks, &networks, ec);
    if (!e)
        e = resolver_create(d->clock, &resolver, ec);
    if (!e)
        e = executor_places_make(&d->survey->groups, &places, ec);
    if (!e)
        e = http_client_create(d->clock, resolver, &a.client, ec);
    if (!e) {
        http_client_set_networks(a.client, networks);
        e = ask(&a, &d->survey->groups, &places, ec);
    }
    http_client_destroy(a.client);
    executor_places_fini(&places);
    resolver_destroy(resolver);
    executor_networks_destroy(networks);
    return e;
}
