/* SPDX-License-Identifier: MIT */
/* v1/transfer: what its tests look at. */
#ifndef HTTP_V1_TRANSFER_H
#define HTTP_V1_TRANSFER_H

#include "shardwheel/base.h"

/* Compact JSON with two blanks a level, a member or item a line, and a line end behind it. Pure. */
void json_put_indented(struct buf *out, const char *json, size_t len);

#endif
