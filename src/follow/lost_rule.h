/* SPDX-License-Identifier: MIT */
/* lost_rule: whether a run is lost. Pure; follow/lost.h has the rules. */
#ifndef FOLLOW_LOST_RULE_H
#define FOLLOW_LOST_RULE_H

#include "shardwheel/base.h"

enum lost_reason { LOST_NOT, LOST_UNREGISTERED, LOST_LEFT, LOST_IDLE, LOST_REASONS };

struct lost_facts {
    int64_t age_s; /* since the trigger; -1: not known */
    bool registered;
    bool was_registered; /* the address, when the run began or later */
    int64_t away_ms;     /* since it was seen registered last */
    int64_t idle_ms;     /* from the first to the last answer that the job is idle, with no other between; -1: none */
    int64_t quiet_ms;    /* since callbacks may not have been accepted */
};

enum lost_reason lost_decide(const struct lost_facts *facts);
const char *lost_reason_text(enum lost_reason reason); /* for handle_msg */

#endif
