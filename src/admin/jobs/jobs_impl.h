/* SPDX-License-Identifier: MIT */
/* jobs_impl: what the files of jobs share. */
#ifndef ADMIN_JOBS_JOBS_IMPL_H
#define ADMIN_JOBS_JOBS_IMPL_H

#include "admin/admin_impl.h"
#include "shardwheel/admin/audit.h"
#include "shardwheel/admin/jobs.h"

#define HANDLER_MAX (255 * 4 + 1)
#define CHILDREN_TEXT_MAX (255 * 4 + 1)
#define JOB_CRON_YEARS 100 /* a search for occurrences goes so far, as with the original */

/* What is to be written of a form: the texts that are put in order stand here. */
struct job_tidy {
    struct job_row row;
    char handler[HANDLER_MAX];
    char children[CHILDREN_TEXT_MAX];
    struct buf source;
};
void job_tidy_fini(struct job_tidy *t);

enum job_check {
    CHECK_NEW,    /* also what is never changed: GLUE */
    CHECK_CHANGE, /* a whole form of the original */
    CHECK_EDIT,   /* one of ours: a job of type BEAN has a handler */
};
/* The form in its order, and what is to be stored of it. own_id: 0 of a new job. */
MUST_CHECK enum err job_check_form(struct admin *a, const struct actor *actor, struct store_session *s,
                                   const struct job_form *form, enum job_check what, int64_t own_id,
                                   struct job_tidy *out, struct refusal *r);

/* Whether an edit could be made, and what it would change: nothing is written or locked. `settings` NULL: the job has
 * none. A source that differs counts as a change, though an edit does not save it. *same: nothing would change. `diff`
 * (begun by this, ended by the caller) gets what would; NULL: nobody wants to know. */
MUST_CHECK enum err job_try_edit(struct admin *a, const struct actor *actor, struct store_session *s,
                                 const struct job_row *row, const struct job_settings *settings,
                                 const struct job_edit *edit, bool *same, struct audit_diff *diff, struct refusal *r);
/* What an edit does not touch, but calls of its own: id, GLUE, whether it runs and when. */
void job_keep_own(struct job_row *row, const struct job_row *from);
void job_make_due(const struct job_row *row, const struct job_settings *settings, struct job_due *out);
/* The audit of a change from one to the other; NULL where it was not there, or is gone. */
struct audit_row *job_put_audit(struct audit_diff *d, const struct actor *actor, const char *action,
                                const struct job_row *before, const struct job_settings *settings_before,
                                const struct job_row *after, const struct job_settings *settings_after);
/* The job's row, for who has the right in its group. REFUSED_UNKNOWN "id". */
MUST_CHECK enum err job_find(struct store_session *s, const struct actor *actor, int64_t id, enum admin_right right,
                             struct job_list *out, struct refusal *r);
/* An error of the store about a job; a refusal that is filled in already stays. */
enum err job_refuse_error(struct refusal *r, enum err e);

#endif
