/* SPDX-License-Identifier: MIT */
/* groups: which groups somebody is in, those too that his groups are in. Private to directory. */
#ifndef DIRECTORY_GROUPS_H
#define DIRECTORY_GROUPS_H

#include "directory/link.h"

const char *groups_base(const struct directory_opts *opts); /* below it they are */
/* Adds to person->groups; name and dn are there. */
MUST_CHECK enum directory_answer groups_load(struct link *l, const struct directory_opts *opts,
                                             struct directory_person *person, struct errctx *ec);

#endif
