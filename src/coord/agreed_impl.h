/* SPDX-License-Identifier: MIT */
/* Private to agreed: agreed.c asks ZooKeeper, writers.c keeps what it says of other nodes. */
#ifndef COORD_AGREED_IMPL_H
#define COORD_AGREED_IMPL_H

#include "coord/agreed.h"

int64_t agreed_find_number(const char *text, const char *key, int64_t max);  /* 0: none, or one that no node writes */
struct writer *agreed_find_writer(const struct agreed *a, const char *name); /* NULL: there is none */
void agreed_on_listed(struct agreed *a, const struct zk_answer *answer, int64_t now_mono_ms);
void agreed_on_writer(struct agreed *a, struct writer *w, const struct zk_answer *answer);

#endif
