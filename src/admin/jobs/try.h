/* SPDX-License-Identifier: MIT */
/* jobs_try: whether an edit could be made, and what it would change; nothing is written or locked. Private to admin. */
#ifndef ADMIN_JOBS_TRY_H
#define ADMIN_JOBS_TRY_H

#include "admin/jobs/jobs_impl.h"

/* `settings` NULL: the job has none. A source that differs counts as a change, though an edit does not save it. *same:
 * nothing would change. `diff` (begun by this, ended by the caller) gets what would; NULL: nobody wants to know. */
MUST_CHECK enum err job_try_edit(struct admin *a, const struct actor *actor, struct store_session *s,
                                 const struct job_row *row, const struct job_settings *settings,
                                 const struct job_edit *edit, bool *same, struct audit_diff *diff, struct refusal *r);

#endif
