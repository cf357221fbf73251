/* SPDX-License-Identifier: MIT */
/* v1/facts: what became of a due time or a run as members: `reason`, `origin` and `facts`. Private to v1. */
#ifndef HTTP_V1_FACTS_H
#define HTTP_V1_FACTS_H

#include "http/v1/write.h"
#include "shardwheel/admin/explain.h"

/* The three members. Of `facts` what does not apply is left out. */
void v1_put_reason(struct buf *out, const struct explain_item *item);

#endif
