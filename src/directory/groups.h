/* SPDX-License-Identifier: MIT */
/* groups: which groups somebody is in, those too that his groups are in. Private to directory. */
#ifndef DIRECTORY_GROUPS_H
#define DIRECTORY_GROUPS_H

#include "directory/link.h"

struct groups_opts {
    const char *base;
    const char *filter;
    const char *attribute;
    const char *user; /* of {user} */
};

/* Adds to person->groups; person->dn is there. */
MUST_CHECK enum directory_answer groups_load(struct link *l, const struct groups_opts *opts,
                                             struct directory_person *person, struct errctx *ec);

#endif
