/* SPDX-License-Identifier: MIT */
/* states: the states of runs as conditions. Private to store. */
#ifndef STORE_RUN_STATES_H
#define STORE_RUN_STATES_H

#include "shardwheel/store/runs.h"
#include "store/conn/sqlbuf.h"

/* One of these states, in brackets. */
void run_states_put(struct sqlbuf *q, unsigned mask);
/* A CASE that gives the number of a row's state. */
void run_states_put_number(struct sqlbuf *q);
/* None of them is a success, which nearly all rows are. */
bool run_states_are_rare(unsigned mask);
extern const char run_states_not_success[]; /* what holds for all rows of such states, for an index over handle_code */

#endif
