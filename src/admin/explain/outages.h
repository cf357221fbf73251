/* SPDX-License-Identifier: MIT */
/* explain_outages: loads what held fires of a job up. Private to admin. */
#ifndef ADMIN_EXPLAIN_OUTAGES_H
#define ADMIN_EXPLAIN_OUTAGES_H

#include "admin/explain/explain_impl.h"
#include "shardwheel/store/history.h"

#define OUTAGE_KINDS 3

/* The longest first. Zero-initialised: empty; to be ended also after an error. */
struct explain_outages {
    struct explain_outage *items;
    size_t count;
    struct event_page pages[OUTAGE_KINDS]; /* private: the texts */
};
/* By job_id, from_ms and to_ms of the facts. ERR_TIMEOUT: too many events. */
MUST_CHECK enum err explain_load_outages(struct store_session *s, const struct explain_facts *facts,
                                         struct explain_outages *out, struct errctx *ec);
void explain_outages_fini(struct explain_outages *outages);

#endif
