/* SPDX-License-Identifier: MIT */
/* jobinfo: what the job calls of D's open API share with the consoles: the words of refusals. */
#ifndef HTTP_CONSOLE_JOBINFO_H
#define HTTP_CONSOLE_JOBINFO_H

#include "http/console/console.h"
#include "shardwheel/admin/jobs.h"

/* False: there are no words for it, and nothing was written. */
bool jobinfo_fail_form(struct console_call *call, const struct refusal *refusal, const struct job_form *form,
                       bool is_new);
bool jobinfo_fail_action(struct console_call *call, const struct refusal *refusal);

#endif
