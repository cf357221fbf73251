/* SPDX-License-Identifier: MIT */
/* ctl_forms: the commands of shardwheelctl: what may stand on the line of each, and what is said of it. */
#ifndef CONFIG_CTL_FORMS_H
#define CONFIG_CTL_FORMS_H

#include "shardwheel/config.h"

/* A word behind a command. */
struct ctl_operand {
    const char *missing; /* what is said when there is none */
    size_t offset;       /* in struct config_ctl: of an int64_t; without `expected` of a text */
    int64_t min, max;
    const char *expected;
};

struct ctl_form {
    const char *name;
    enum ctl_verb verb;
    const char *line; /* what may follow the name */
    const struct ctl_operand *operand;
    unsigned flags;  /* bits of ctl_flags */
    int64_t wait_ms; /* 0: it waits for nothing */
    const char *help;
};
extern const struct ctl_form ctl_forms[];
extern const size_t ctl_form_count;

enum ctl_flag_id { CTL_FLAG_JSON, CTL_FLAG_FORCE, CTL_FLAG_DRY_RUN, CTL_FLAG_FOLLOW, CTL_FLAG_VERBOSE, CTL_FLAG_ASK };
#define CTL_FLAGS 6
extern const struct ctl_flag {
    const char *name;
    size_t offset;         /* of a bool of struct config_ctl */
    const char *misplaced; /* what is said of it behind other commands */
} ctl_flags[CTL_FLAGS];

/* All names: "shards, nodes, ... or doctor". */
void ctl_forms_put_names(struct buf *out);

#endif
