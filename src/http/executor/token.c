/* SPDX-License-Identifier: MIT */
#include "http/executor/token.h"
#include "shardwheel/executor/access.h"

/* Executors and their tests compare these texts. */
#define MSG_TOKEN "The access token is wrong."
#define MSG_GROUP_TOKEN_EMPTY "invalid request, accessToken or appname is empty."
#define MSG_GROUP_TOKEN "invalid request, accessToken or appname invalid."

/* Of the configured one; unref *access afterwards. False: there is none. */
static bool take_token(struct http *h, struct executor_access **access)
{
    *access = access_box_get(h->opts.access);
    return *access && !str_is_blank((*access)->token);
}

enum verdict { LET_IN, REFUSED, NOT_OF_GROUP };

/* By the tokens of groups; *refusal is set for REFUSED. */
static enum verdict check_group(const struct registry_snapshot *snap, const char *app, const char *token,
                                const char **refusal)
{
    const struct registry_group *group = str_is_blank(app) ? NULL : registry_find_app(snap, app);

    if (!group || str_is_blank(group->access_token))
        return NOT_OF_GROUP;
    if (str_is_blank(token))
        *refusal = MSG_GROUP_TOKEN_EMPTY;
    else if (!str_equal_const_time(token, group->access_token))
        *refusal = MSG_GROUP_TOKEN;
    return *refusal ? REFUSED : LET_IN;
}

const char *token_check(struct http *h, const struct http_request *head)
{
    const char *token = request_get_header(head, HEADER_TOKEN);
    const char *app = request_get_header(head, HEADER_APP);
    const struct registry_snapshot *snap = registry_get_snapshot(h->opts.registry);
    const char *refusal = NULL;
    enum verdict verdict = check_group(snap, app, token ? token : "", &refusal);

    if (verdict == NOT_OF_GROUP) {
        struct executor_access *access;
        bool configured = take_token(h, &access);
        if (configured && !str_equal_const_time(token ? token : "", access->token))
            refusal = MSG_TOKEN;
        executor_access_unref(access);
        if (!configured && snap->has_tokens)
            refusal = str_is_blank(app) || str_is_blank(token) ? MSG_GROUP_TOKEN_EMPTY : MSG_GROUP_TOKEN;
    }
    registry_put_snapshot(snap);
    return refusal;
}

const char *token_check_app(struct http *h, const struct http_request *head)
{
    const char *token = request_get_header(head, HEADER_TOKEN), *app = request_get_header(head, HEADER_APP);
    const struct registry_snapshot *snap;
    const char *refusal = NULL;

    if (str_is_blank(token) || str_is_blank(app))
        return MSG_GROUP_TOKEN_EMPTY;
    snap = registry_get_snapshot(h->opts.registry);
    if (check_group(snap, app, token, &refusal) == NOT_OF_GROUP)
        refusal = MSG_GROUP_TOKEN;
    registry_put_snapshot(snap);
    return refusal;
}

void token_log_rule(struct http *h)
{
    const struct registry_snapshot *snap = registry_get_snapshot(h->opts.registry);
    struct executor_access *access;
    size_t without = 0;
    bool configured = take_token(h, &access);

    executor_access_unref(access);
    for (size_t i = 0; i < snap->count; i++)
        without += str_is_blank(snap->groups[i].access_token);
    if (!configured && snap->has_tokens)
        log_info(
            "http",
            "event=group_tokens_only groups=%zu without_token=%zu why=\"xxl.job.accessToken is not set, and groups "
            "have tokens of their own\" effect=\"executor calls that match no group's token are refused\"",
            snap->count, without);
    registry_put_snapshot(snap);
}
