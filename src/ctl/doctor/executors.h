/* SPDX-License-Identifier: MIT */
/* executors: addresses of all groups, and what those who live there say of themselves. */
#ifndef CTL_DOCTOR_EXECUTORS_H
#define CTL_DOCTOR_EXECUTORS_H

#include "ctl/doctor/jobs.h"

struct executor_place {
    char *address; /* as in the list, without the slash at its end */
    const struct group_row *group;
};
struct executor_places {
    struct executor_place *items; /* by address */
    size_t count;
};
/* Borrows the groups. */
MUST_CHECK enum err executor_places_make(const struct group_list *groups, struct executor_places *out,
                                         struct errctx *ec);
void executor_places_fini(struct executor_places *places);
bool executor_is_loopback(const char *address);

/* ---- asking: ask.c ----------------------------------------------------------------------------------------------- */

/* What an executor is, by its answers to questions that start nothing. */
enum executor_kind {
    EXECUTOR_UNKNOWN,
    EXECUTOR_JAVA_OLD, /* up to 3.2 */
    EXECUTOR_JAVA,     /* 3.3 and later */
    EXECUTOR_GO,
    EXECUTOR_PYTHON,
};
/* By the answer to /log of a run that there is none of, and to a path that there is none of. Pure. */
enum executor_kind executor_tell_kind(int log_status, const char *log_body, int path_status, const char *path_body);

enum err executors_ask(struct doctor *d, struct errctx *ec); /* nothing unless --ask-executors */

#endif
