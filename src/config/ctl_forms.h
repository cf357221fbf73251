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
    size_t words_min, words_max; /* words_max not 0: so many texts, which go into words of struct config_ctl */
};

struct ctl_form {
    const char *name; /* a word, or two with a blank between them */
    enum ctl_verb verb;
    const char *line; /* what may follow the name */
    const struct ctl_operand *operand;
    unsigned flags;  /* bits of ctl_flags */
    int64_t wait_ms; /* 0: it waits for nothing */
    const char *help;
};
extern const struct ctl_form ctl_forms[];
extern const size_t ctl_form_count;

enum ctl_flag_id {
    CTL_FLAG_JSON,
    CTL_FLAG_FORCE,
    CTL_FLAG_DRY_RUN,
    CTL_FLAG_FOLLOW,
    CTL_FLAG_VERBOSE,
    CTL_FLAG_ASK,
    CTL_FLAG_APPLY
};
#define CTL_FLAGS 7
#define CTL_TAKES_SETTINGS (1u << CTL_FLAGS) /* beside the bits of ctl_flags: --NAME VALUE may follow */
extern const struct ctl_flag {
    const char *name;
    size_t offset;         /* of a bool of struct config_ctl */
    const char *misplaced; /* what is said of it behind other commands */
} ctl_flags[CTL_FLAGS];

/* All first words: "shards, nodes, ... or flow"; behind the first word `first` all second ones. */
void ctl_forms_put_names(const char *first, struct buf *out);

#endif
