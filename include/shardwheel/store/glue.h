/* SPDX-License-Identifier: MIT */
/*
 * store/glue: the sources of GLUE jobs (in xxl_job_info) and their versions (xxl_job_logglue). See store/conn.h for
 * threads, ownership and errors.
 */
#ifndef SHARDWHEEL_STORE_GLUE_H
#define SHARDWHEEL_STORE_GLUE_H

#include "shardwheel/store/audit.h"

#define GLUE_VERSIONS_KEPT 30

/* A job's source as it is now. */
struct glue_now {
    int64_t job_id;
    int64_t group;
    const char *name;
    const char *type;   /* "BEAN", "GLUE_SHELL", ... */
    const char *source; /* NULL stays NULL, as remark */
    const char *remark;
    int64_t updated_s; /* INT64_MIN: NULL */
    void *memory;      /* private: the texts */
};
/* ERR_NOTFOUND. */
MUST_CHECK enum err store_load_glue(struct store_session *s, int64_t job_id, struct glue_now *out, struct errctx *ec);
void glue_now_fini(struct glue_now *now);

struct glue_change {
    int64_t job_id;
    const char *source; /* NULL: NULL */
    const char *remark;
    int64_t now_s;
    /* As it was read: another one now makes ERR_CONFLICT. NULL: whatever it is. */
    const struct glue_now *from;
};
/* One transaction: source, remark and times of the job, and nothing else of its row; the new source as a version; all
 * but the newest versions of the job go. *updated_s is the new time of the source, which executors know it by: always
 * another one than before. ERR_NOTFOUND. */
MUST_CHECK enum err store_save_glue(struct store_session *s, const struct glue_change *change,
                                    const struct audit_row *audit, int64_t *updated_s, struct errctx *ec);

struct glue_version {
    int64_t id;
    const char *type;
    const char *source; /* of one that was asked for by id; else NULL */
    const char *remark;
    int64_t length;  /* of the source, in bytes */
    int64_t added_s; /* INT64_MIN: NULL */
};
STORE_LIST(glue_versions, struct glue_version, items);
/* The newest first, without sources, no more than are kept. */
MUST_CHECK enum err store_load_glue_versions(struct store_session *s, int64_t job_id, struct glue_versions *out,
                                             struct errctx *ec);
/* One with its source; ERR_NOTFOUND where the job has no such version. */
MUST_CHECK enum err store_load_glue_version(struct store_session *s, int64_t job_id, int64_t id,
                                            struct glue_versions *out, struct errctx *ec);

#endif
