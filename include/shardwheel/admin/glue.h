/* SPDX-License-Identifier: MIT */
/*
 * admin/glue: sources of GLUE jobs: read, saved with their versions, compared. See admin.h for threads, rights and
 * refusals.
 *
 * Switch      shardwheel.glue. on: all is possible. off: no source is saved, no GLUE job made; those that are there run
 *             on. bean-only: nor are they sent to executors any more, their fires fail with a reason.
 */
#ifndef SHARDWHEEL_ADMIN_GLUE_H
#define SHARDWHEEL_ADMIN_GLUE_H

#include "shardwheel/admin.h"
#include "shardwheel/store/glue.h"

#define GLUE_SOURCE_MAX (4 * 1024 * 1024) /* bytes */
#define GLUE_REMARK_MIN 4                 /* UTF-16 units, as the original counts */
#define GLUE_REMARK_MAX 100
#define GLUE_DIFF_LINES_MAX 200000

/* Whether a job of that glueType may be made. REFUSED_OFF, field "glueType". NULL and "BEAN" always may. */
MUST_CHECK enum err glue_may_save(const struct admin *a, const char *glue_type, struct refusal *r);

/* RIGHT_SEE on the job's group. REFUSED_UNKNOWN "jobId". */
MUST_CHECK enum err admin_load_glue(struct admin *a, const struct actor *actor, int64_t job_id, struct glue_now *out,
                                    struct refusal *r);

struct glue_save {
    int64_t job_id;
    const char *source; /* NULL and "" are saved as they are, unless source_needed */
    const char *remark; /* NULL: absent */
    bool source_needed;
    const struct glue_now *from; /* as it was read: another one now is REFUSED_CHANGED; NULL: whatever it is */
};
/* In this order: REFUSED_REQUIRED "glueSource"; REFUSED_REQUIRED, then _LENGTH "glueRemark"; REFUSED_UNKNOWN "jobId";
 * RIGHT_CHANGE on its group; REFUSED_OFF; REFUSED_LENGTH "glueSource". A remark of blanks alone is taken. */
MUST_CHECK enum err admin_save_glue(struct admin *a, const struct actor *actor, const struct glue_save *save,
                                    int64_t *updated_s, struct refusal *r);

/* RIGHT_SEE on the job's group. */
MUST_CHECK enum err admin_list_glue(struct admin *a, const struct actor *actor, int64_t job_id,
                                    struct glue_versions *out, struct refusal *r);
/* REFUSED_UNKNOWN "version". */
MUST_CHECK enum err admin_load_glue_version(struct admin *a, const struct actor *actor, int64_t job_id, int64_t version,
                                            struct glue_versions *out, struct refusal *r);

/* ---- differences: admin/glue/diff.c. Pure ------------------------------------------------------------------------ */

struct glue_diff {
    struct buf text; /* lines that begin with ' ', '-' or '+', in hunks as "@@ -1,3 +1,4 @@"; empty when equal */
    size_t added, removed;
    bool rough; /* too much differs: what does stands as removed and added whole */
};
/* Lines end with LF; a CR before it belongs to the line. NULL is "". Bounded in time and memory; ERR_INPUT: one of them
 * has more than GLUE_DIFF_LINES_MAX lines. */
MUST_CHECK enum err glue_diff_make(const char *old, const char *new, struct glue_diff *out, struct errctx *ec);
void glue_diff_fini(struct glue_diff *diff);

#endif
