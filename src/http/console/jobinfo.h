/* SPDX-License-Identifier: MIT */
/* jobinfo: what the job calls of D's open API share with the consoles: what jobs become, and the words of
 * refusals. */
#ifndef HTTP_CONSOLE_JOBINFO_H
#define HTTP_CONSOLE_JOBINFO_H

#include "http/console/console.h"
#include "shardwheel/admin/jobs.h"

/* Each writes the answer. `form->order` is the dialect's. */
void jobinfo_add(struct console_call *call, const struct job_form *form);
void jobinfo_update(struct console_call *call, int64_t id, const struct job_form *form);
void jobinfo_remove(struct console_call *call, int64_t id); /* a job that is gone already is no failure */
void jobinfo_set_running(struct console_call *call, int64_t id, bool running);
void jobinfo_trigger(struct console_call *call, const struct trigger_order *order);

#endif
