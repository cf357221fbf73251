/* SPDX-License-Identifier: MIT */
/*
 * flowrun/documents: versions of flows in memory, which never change, and what a batch of runs needs besides: the jobs
 * of their steps and the newest versions of flows that are steps, as they are now.
 *
 * Threads     One belongs to one thread.
 */
#ifndef FLOWRUN_DOCUMENTS_H
#define FLOWRUN_DOCUMENTS_H

#include "flowrun/advance.h"

struct documents;

MUST_CHECK enum err documents_create(struct documents **out, struct errctx *ec);
void documents_destroy(struct documents *d);
/* What moving these runs needs. What was found before may be gone after this call. A document that cannot be read is
 * not found later. */
MUST_CHECK enum err documents_load(struct documents *d, struct store_session *s, const int64_t *run_ids, size_t count,
                                   struct errctx *ec);
/* One version, for as long as above. ERR_INPUT, ERR_NOTFOUND: it cannot be read. */
MUST_CHECK enum err documents_get(struct documents *d, struct store_session *s, struct flow_version version,
                                  const struct advance_flow **out, struct errctx *ec);
/* By its number alone, among what was loaded. */
const struct advance_flow *documents_find(const struct documents *d, struct flow_version version);
const struct advance_flow *documents_find_name(const struct documents *d, const char *name);
const struct advance_job *documents_find_job(const struct documents *d, int64_t id);

#endif
