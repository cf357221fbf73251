/* SPDX-License-Identifier: MIT */
/* group_impl: what reads groups as people see them. Private to store. */
#ifndef STORE_GROUP_GROUP_IMPL_H
#define STORE_GROUP_GROUP_IMPL_H

#include "shardwheel/store/group.h"
#include "store/conn/rows.h"

/* The columns of a SELECT for group_infos_read, behind "id, app_name, ". read.c */
void group_put_columns(struct sqlbuf *q, const struct store_features *features);
/* Sends s->sql, which selects those columns. read.c */
MUST_CHECK enum err group_infos_read(struct store_session *s, struct group_infos *out, struct errctx *ec);

#endif
