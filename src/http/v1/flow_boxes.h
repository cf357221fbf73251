/* SPDX-License-Identifier: MIT */
/* v1/flow_boxes: documents and steps of flows, as somebody may see them. */
#ifndef HTTP_V1_FLOW_BOXES_H
#define HTTP_V1_FLOW_BOXES_H

#include "http/v1/write.h"
#include "shardwheel/admin/flows.h"

/* The document; of a step that is closed its name and type alone. Where one is, edges say nothing of values. */
void flow_put_document(struct buf *out, const char *name, const char *document, const struct flow_box *boxes,
                       size_t box_count);
/* A member of a document as it is; null or `absent` where it has none. */
void flow_put_member(struct buf *out, const char *document, const char *name, const char *absent);
/* Any value that was read, as JSON without white space. */
void flow_put_value(struct buf *out, const char *name, const struct json_value *value);
/* FlowRun */
void flow_put_run(struct buf *out, const struct flow_run_card *card);
/* The member "document" of the body, as compact JSON; noted when it is missing. */
const char *flow_take_document(struct v1_call *c);
/* Any member of the body that is an object, likewise; NULL when it is absent. */
const char *flow_take_object(struct v1_call *c, const char *name, size_t max);
/* An object that was read, likewise; NULL when it is none. */
const char *flow_keep_object(struct v1_call *c, const struct json_value *object, size_t max);

/* flow_events.c */
void flow_answer_events(struct v1_call *c);

#endif
