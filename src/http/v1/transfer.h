/* SPDX-License-Identifier: MIT */
/* v1/transfer: what export.c and transfer.c share, and what tests look at. */
#ifndef HTTP_V1_TRANSFER_H
#define HTTP_V1_TRANSFER_H

#include "shardwheel/base.h"

#define TRANSFER_FORMAT "shardwheel-jobs"
#define TRANSFER_VERSION 1

struct v1_call;

extern const char *const transfer_types[];   /* of groups, as a v1_choice; export.c */
void v1_answer_export(struct v1_call *c);    /* export.c */
void v1_answer_export_of(struct v1_call *c); /* export.c */

struct v1_object;
struct watch_rule;
struct channel_row;
/* A rule of alarms as an object that makes it; watch.c */
struct watch_rule v1_take_rule(struct v1_object *o);
void v1_put_portable_rule(struct buf *b, const struct watch_rule *rule);
/* groups, tags, quiet of a channel, NULL where they are not given; alarms.c */
void v1_take_route(struct v1_object *o, struct channel_row *out);

/* Where in a document the bytes before ended; {0} at its start. */
struct json_lines {
    int depth;
    bool opened; /* nothing stands in the object or list yet */
};
/* Appends compact JSON with two blanks a level, a member or item a line. It may come in parts, which end behind no
 * text's middle. Pure. */
void json_put_lines(struct json_lines *lines, const char *json, size_t len, struct buf *out);

#endif
