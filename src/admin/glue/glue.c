/* SPDX-License-Identifier: MIT */
#include "shardwheel/admin/glue.h"

#include "admin/admin_impl.h"
#include "shardwheel/admin/audit.h"
#include "shardwheel/text.h"

#include <inttypes.h>
#include <string.h>

enum err glue_may_save(const struct admin *a, const char *glue_type, struct refusal *r)
{
    if (a->opts.glue == CONFIG_GLUE_ON || !glue_type || strcmp(glue_type, "BEAN") == 0)
        return ERR_OK;
    return refuse(r, REFUSED_OFF, "glueType", "GLUE is disabled on this node: shardwheel.glue=%s",
                  config_glue_name(a->opts.glue));
}

/* For who has the right in the job's group. */
static enum err load(struct store_session *s, const struct actor *actor, enum admin_right right, int64_t job_id,
                     struct glue_now *out, struct refusal *r)
{
    enum err e = store_load_glue(s, job_id, out, &r->text);

    if (e == ERR_NOTFOUND)
        return refuse(r, REFUSED_UNKNOWN, "jobId", "there is no job %" PRId64, job_id);
    if (!e && (e = refuse_unless(actor, right, out->group, r)))
        glue_now_fini(out);
    return e;
}

enum err admin_load_glue(struct admin *a, const struct actor *actor, int64_t job_id, struct glue_now *out,
                         struct refusal *r)
{
    struct store_session *s = NULL;
    enum err e = admin_take_session(a, &s, r);

    if (!e)
        e = load(s, actor, RIGHT_SEE, job_id, out, r);
    return admin_end(a, s, e, r);
}

/* ---- saving ------------------------------------------------------------------------------------------------------ */

static enum err check_save(const struct glue_save *save, struct refusal *r)
{
    size_t units = save->remark ? utf8_count(save->remark, strlen(save->remark), /*utf16=*/true) : 0;

    if (save->source_needed && str_is_blank(save->source))
        return refuse(r, REFUSED_REQUIRED, "glueSource", "glueSource is needed");
    if (!save->remark)
        return refuse(r, REFUSED_REQUIRED, "glueRemark", "glueRemark is needed");
    if (units < GLUE_REMARK_MIN || units > GLUE_REMARK_MAX)
        return refuse_length(r, "glueRemark", GLUE_REMARK_MIN, GLUE_REMARK_MAX,
                             "glueRemark has %zu characters; it must have %d to %d", units, GLUE_REMARK_MIN,
                             GLUE_REMARK_MAX);
    return ERR_OK;
}

static enum err write_save(struct admin *a, struct store_session *s, const struct actor *actor,
                           const struct glue_save *save, const struct glue_now *now, int64_t *updated_s,
                           struct refusal *r)
{
    const struct glue_change change = {.job_id = save->job_id,
                                       .source = save->source,
                                       .remark = save->remark,
                                       .now_s = time_floor_div(clock_wall_ms(a->clock), 1000),
                                       .from = save->from};
    struct audit_diff diff;

    audit_begin(&diff, AUDIT_CHANGED);
    audit_source(&diff, "glueSource", now->source, save->source);
    audit_text(&diff, "glueRemark", now->remark, save->remark);
    const struct audit_row *row = audit_end(&diff, actor, "glue.save", save->job_id, now->name, now->group);
    enum err e = store_save_glue(s, &change, row, updated_s, &r->text);
    audit_fini(&diff);
    return e == ERR_NOTFOUND ? refuse(r, REFUSED_UNKNOWN, "jobId", "there is no job %" PRId64, save->job_id) : e;
}

enum err admin_save_glue(struct admin *a, const struct actor *actor, const struct glue_save *save, int64_t *updated_s,
                         struct refusal *r)
{
    struct store_session *s = NULL;
    struct glue_now now = {0};
    enum err e = check_save(save, r);

    if (!e)
        e = admin_take_session(a, &s, r);
    if (!e)
        e = load(s, actor, RIGHT_CHANGE, save->job_id, &now, r);
    if (!e)
        e = glue_may_save(a, "GLUE", r); /* also the source of a BEAN job, which nobody runs */
    if (!e && save->source && strlen(save->source) > GLUE_SOURCE_MAX)
        e = refuse_length(r, "glueSource", 0, GLUE_SOURCE_MAX, "glueSource is longer than %d bytes", GLUE_SOURCE_MAX);
    if (!e)
        e = write_save(a, s, actor, save, &now, updated_s, r);
    glue_now_fini(&now);
    return admin_end(a, s, e, r);
}

/* ---- versions ---------------------------------------------------------------------------------------------------- */

static enum err may_see(struct store_session *s, const struct actor *actor, int64_t job_id, struct refusal *r)
{
    struct glue_now now = {0};
    enum err e = load(s, actor, RIGHT_SEE, job_id, &now, r);

    glue_now_fini(&now);
    return e;
}

enum err admin_list_glue(struct admin *a, const struct actor *actor, int64_t job_id, struct glue_versions *out,
                         struct refusal *r)
{
    struct store_session *s = NULL;
    enum err e = admin_take_session(a, &s, r);

    if (!e)
        e = may_see(s, actor, job_id, r);
    if (!e)
        e = store_load_glue_versions(s, job_id, out, &r->text);
    return admin_end(a, s, e, r);
}

enum err admin_load_glue_version(struct admin *a, const struct actor *actor, int64_t job_id, int64_t version,
                                 struct glue_versions *out, struct refusal *r)
{
    struct store_session *s = NULL;
    enum err e = admin_take_session(a, &s, r);

    if (!e)
        e = may_see(s, actor, job_id, r);
    if (!e && (e = store_load_glue_version(s, job_id, version, out, &r->text)) == ERR_NOTFOUND)
        e = refuse(r, REFUSED_UNKNOWN, "version", "job %" PRId64 " has no version %" PRId64, job_id, version);
    return admin_end(a, s, e, r);
}
