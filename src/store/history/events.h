/* SPDX-License-Identifier: MIT */
/* events: the columns of an event, for all who write one. Private to store. */
#ifndef STORE_HISTORY_EVENTS_H
#define STORE_HISTORY_EVENTS_H

#include "shardwheel/store/history.h"
#include "store/conn/session.h"

#define EVENT_TEXT_MAX 2000 /* characters of a sentence */

extern const char store_event_columns[];                             /* "INSERT INTO ... (...) " */
void store_put_event(struct sqlbuf *q, const struct event_row *row); /* the values in their order, with commas */

#endif
