/* SPDX-License-Identifier: MIT */
/* flowrun/work: one run while it is decided about; what the files of advance share. */
#ifndef FLOWRUN_WORK_H
#define FLOWRUN_WORK_H

#include "flowrun/advance.h"

struct work {
    const struct advance *a;
    struct flow_moving *run;
    int64_t now_ms;
    struct flow_changes *out;
    struct advance_tally *tally;
    const struct flow *flow;
    struct flow_values *values;
    size_t count;                /* steps of the flow */
    struct flow_step_row **rows; /* of each step; NULL: it has none yet */
    bool *changed;
    int *fired;      /* items of each step that were sent in this move */
    int64_t look_ms; /* the next time something is due */
    bool closed;     /* the run was cancelled in this move */
};

/* ---- work.c ---- */

/* Texts that the changes keep. NULL: out of memory, which *e says; NULL for NULL is none. */
bool work_own(struct work *w, void *memory); /* frees it where there is no room to keep it; NULL: false */
const char *work_keep(struct work *w, const char *text, enum err *e, struct errctx *ec);
/* The text of the buffer, which is empty then. */
const char *work_keep_buf(struct work *w, struct buf *buf, enum err *e, struct errctx *ec);
/* The row of a step, made where there is none; it will be written. NULL: out of memory. */
struct flow_step_row *work_change(struct work *w, size_t step, struct errctx *ec);
MUST_CHECK enum err work_add_id(int64_t **list, size_t *count, int64_t id, struct errctx *ec);
MUST_CHECK enum err work_add_place(struct flow_place **list, size_t *count, int64_t run_id, int step,
                                   struct errctx *ec);
MUST_CHECK enum err work_add_item(struct work *w, const struct flow_item_row *item, struct errctx *ec);
/* The run is looked at again then, or earlier. */
void work_look_at(struct work *w, int64_t at_ms);
/* What the row has of a step that has ended becomes its values; errors as flow_end_step. */
MUST_CHECK enum err work_note_end(struct work *w, size_t step, enum flow_state state, struct errctx *ec);
/* A step ends; `state` is SUCCEEDED or FAILED, the row has its values. A result that is too large ends it as failed. */
MUST_CHECK enum err work_end_step(struct work *w, size_t step, enum flow_state state, struct errctx *ec);
/* A step ends as failed, and says why. */
MUST_CHECK enum err work_fail_step(struct work *w, size_t step, const char *why, struct errctx *ec);
/* A step that is to be as if it had not begun. */
MUST_CHECK enum err work_reset_step(struct work *w, size_t step, struct errctx *ec);

/* ---- fires.c ---- */

#define FIRES_NO_ITEM (-1)
/* What stands against firing the job of the step; `why` is empty otherwise. */
void fires_check_job(const struct work *w, size_t step, struct errctx *why);
/* The parameter of the step's run, or that of its job. ERR_INPUT: a path leads to nothing. */
MUST_CHECK enum err fires_find_param(struct work *w, size_t step, const struct flow_item *item, const char **out,
                                     struct errctx *ec);
/* One more try of a step or of an item; `param` is that of its run. */
MUST_CHECK enum err fires_try(struct work *w, size_t step, int item, struct flow_try *t, const char *param,
                              struct errctx *ec);

/* ---- items.c ---- */

MUST_CHECK enum err items_start(struct work *w, size_t step, struct errctx *ec);
MUST_CHECK enum err items_go_on(struct work *w, size_t step, struct errctx *ec);

/* ---- tries.c ---- */

MUST_CHECK enum err tries_start_step(struct work *w, size_t step, struct errctx *ec);
MUST_CHECK enum err tries_take_ends(struct work *w, struct errctx *ec);
/* Tries that are due, waits that are over, items that have room, steps all of whose items have ended. */
MUST_CHECK enum err tries_go_on(struct work *w, struct errctx *ec);

/* ---- asks.c ---- */

MUST_CHECK enum err asks_do(struct work *w, struct errctx *ec);

#endif
