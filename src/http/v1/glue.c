/* SPDX-License-Identifier: MIT */
/* Sources of GLUE jobs and their versions. */
#include "http/v1/write.h"
#include "shardwheel/admin/glue.h"

#define SAVE_BODY_MAX (2 * GLUE_SOURCE_MAX + 65536) /* a source, mostly without escapes, and the rest */
#define REMARK_CHARS 400                            /* what is longer is refused by the use case */

static void put_now(struct buf *out, const struct glue_now *now)
{
    member_int(out, "jobId", now->job_id);
    member_int(out, "jobGroup", now->group);
    member_text(out, "glueType", now->type);
    member_text(out, "glueSource", now->source);
    member_text(out, "glueRemark", now->remark);
    v1_put_second(out, "glueUpdatetime", now->updated_s);
}

static void answer_now(struct v1_call *c)
{
    int64_t job = v1_path_id(c, 0);
    struct glue_now now;

    if (V1_FAILS(c, admin_load_glue, job, &now))
        return;
    put_now(&c->r->body, &now);
    glue_now_fini(&now);
    v1_tag_answer(c);
}

/* What the representation of If-Match was compared with must still be there when it is written. */
static bool still_matches(struct v1_call *c, const struct glue_now *now)
{
    struct buf shown = {0};

    V1_PUT_EACH(&shown, now, 1, put_now);
    return v1_still_matches(c, &shown);
}

static void answer_save(struct v1_call *c)
{
    struct glue_save save = {.job_id = v1_path_id(c, 0), .source_needed = true};
    struct glue_now now;
    int64_t updated_s;

    save.source = v1_text(&c->body, "glueSource", GLUE_SOURCE_MAX);
    save.remark = v1_text(&c->body, "glueRemark", REMARK_CHARS);
    if (V1_FAILS(c, admin_load_glue, save.job_id, &now))
        return;
    save.from = request_get_header(c->call->q, "If-Match") ? &now : NULL;
    if (still_matches(c, &now) && !v1_has_failed(c, admin_save_glue(c->admin, c->actor, &save, &updated_s, &c->why))) {
        now.source = save.source;
        now.remark = save.remark;
        now.updated_s = updated_s;
        put_now(&c->r->body, &now);
    }
    glue_now_fini(&now);
}

/* ---- versions ---------------------------------------------------------------------------------------------------- */

static void put_version(struct buf *out, const struct glue_version *version)
{
    member_int(out, "id", version->id);
    member_text(out, "glueType", version->type);
    member_text(out, "glueRemark", version->remark);
    v1_put_second(out, "addTime", version->added_s);
    member_int(out, "sourceBytes", version->length);
}

static void answer_versions(struct v1_call *c)
{
    int64_t job = v1_path_id(c, 0);
    struct glue_versions versions;

    if (V1_FAILS(c, admin_list_glue, job, &versions))
        return;
    V1_PUT_LIST(&c->r->body, "items", versions.items, versions.count, put_version);
    glue_versions_fini(&versions);
}

static void answer_version(struct v1_call *c)
{
    int64_t job = v1_path_id(c, 0), id = v1_path_id(c, 1);
    struct glue_versions versions;

    if (V1_FAILS(c, admin_load_glue_version, job, id, &versions))
        return;
    put_version(&c->r->body, &versions.items[0]);
    member_text(&c->r->body, "glueSource", versions.items[0].source);
    glue_versions_fini(&versions);
}

/* ---- differences ------------------------------------------------------------------------------------------------- */

static void put_diff(struct v1_call *c, const char *old, const char *new)
{
    struct glue_diff diff;
    struct buf *out = &c->r->body;

    if (v1_has_failed(c, refuse_error(&c->why, glue_diff_make(old, new, &diff, &c->why.text))))
        return;
    member_int(out, "added", (int64_t)diff.added);
    member_int(out, "removed", (int64_t)diff.removed);
    member_bool(out, "rough", diff.rough);
    member_text(out, "diff", diff.text.len ? diff.text.data : "");
    glue_diff_fini(&diff);
}

/* The version before the newest one; 0: there is none. */
static enum err find_previous(struct v1_call *c, int64_t job, int64_t *out)
{
    struct glue_versions versions;
    enum err e = admin_list_glue(c->admin, c->actor, job, &versions, &c->why);

    if (e)
        return e;
    *out = versions.count > 1 ? versions.items[1].id : 0;
    glue_versions_fini(&versions);
    return ERR_OK;
}

/* From a version to another one, or to the source as it is now. */
static void answer_diff(struct v1_call *c)
{
    int64_t job = v1_path_id(c, 0), from = v1_query_int(c, "from", 1, INT64_MAX, 0),
            to = v1_query_int(c, "to", 1, INT64_MAX, 0);
    struct glue_versions old = {0}, new = {0};
    struct glue_now now = {0};

    if (v1_is_refused(c) || (!from && v1_has_failed(c, find_previous(c, job, &from))))
        return;
    if (from && v1_has_failed(c, admin_load_glue_version(c->admin, c->actor, job, from, &old, &c->why)))
        return;
    const char *source = from ? old.items[0].source : NULL;
    if (to && !v1_has_failed(c, admin_load_glue_version(c->admin, c->actor, job, to, &new, &c->why)))
        put_diff(c, source, new.items[0].source);
    else if (!to && !v1_has_failed(c, admin_load_glue(c->admin, c->actor, job, &now, &c->why)))
        put_diff(c, source, now.source);
    glue_now_fini(&now);
    glue_versions_fini(&new);
    glue_versions_fini(&old);
}

static const struct v1_route routes[] = {
    {V1_ROUTE(ROUTE_GET, "/jobs/{jobId}/glue", ROUTE_LOGIN), V1_NO_BODY, 0, answer_now},
    {V1_ROUTE(ROUTE_POST, "/jobs/{jobId}/glue", ROUTE_LOGIN), V1_JSON_BODY, SAVE_BODY_MAX, answer_save},
    {V1_ROUTE(ROUTE_GET, "/jobs/{jobId}/glue/versions", ROUTE_LOGIN), V1_NO_BODY, 0, answer_versions},
    {V1_ROUTE(ROUTE_GET, "/jobs/{jobId}/glue/versions/{version}", ROUTE_LOGIN), V1_NO_BODY, 0, answer_version},
    {V1_ROUTE(ROUTE_GET, "/jobs/{jobId}/glue/diff", ROUTE_LOGIN), V1_NO_BODY, 0, answer_diff},
};

const struct v1_topic v1_glue = {routes, ARRAY_LEN(routes)};
