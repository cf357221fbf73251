/* SPDX-License-Identifier: MIT */
/* ask: what those who live at addresses of executors say of themselves. */
#ifndef CTL_DOCTOR_ASK_H
#define CTL_DOCTOR_ASK_H

#include "ctl/doctor/check.h"

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
