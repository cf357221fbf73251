/* SPDX-License-Identifier: MIT */
/* children: circles of jobs that are each other's children. Pure. */
#ifndef CTL_DOCTOR_CHILDREN_H
#define CTL_DOCTOR_CHILDREN_H

#include "shardwheel/base.h"

/* Who is whose child, by places in a list of jobs. */
struct family_edge {
    size_t parent, child;
};
/* A bit for each job: is_in_circle[i] is set for those that are their own descendants. Sorts the edges. */
MUST_CHECK enum err children_find_circles(struct family_edge *edges, size_t count, size_t jobs, bool *is_in_circle,
                                          struct errctx *ec);

#endif
