/* SPDX-License-Identifier: MIT */
#include "flowrun/work.h"

#include <stdlib.h>
#include <string.h>

/* ---- memory ------------------------------------------------------------------------------------------------------ */

bool work_own(struct work *w, void *memory)
{
    struct flow_changes *out = w->out;

    if (!memory || !list_grow(&out->memory, out->memory_count, sizeof *out->memory)) {
        free(memory);
        return false;
    }
    out->memory[out->memory_count++] = memory;
    return true;
}

const char *work_keep(struct work *w, const char *text, enum err *e, struct errctx *ec)
{
    char *copy = str_copy(text);

    if (!text)
        return NULL;
    if (work_own(w, copy))
        return copy;
    *e = err_set(ec, ERR_NOMEM, "out of memory");
    return NULL;
}

const char *work_keep_buf(struct work *w, struct buf *buf, enum err *e, struct errctx *ec)
{
    const char *kept = buf_failed(buf) ? NULL : work_keep(w, buf->data ? buf->data : "", e, ec);

    if (buf_failed(buf))
        *e = err_set(ec, ERR_NOMEM, "out of memory");
    buf_fini(buf);
    *buf = (struct buf){0};
    return kept;
}

enum err work_add_id(int64_t **list, size_t *count, int64_t id, struct errctx *ec)
{
    if (!list_grow(list, *count, sizeof **list))
        return err_set(ec, ERR_NOMEM, "out of memory");
    (*list)[(*count)++] = id;
    return ERR_OK;
}

enum err work_add_place(struct flow_place **list, size_t *count, int64_t run_id, int step, struct errctx *ec)
{
    if (!list_grow(list, *count, sizeof **list))
        return err_set(ec, ERR_NOMEM, "out of memory");
    (*list)[(*count)++] = (struct flow_place){run_id, step};
    return ERR_OK;
}

enum err work_add_item(struct work *w, const struct flow_item_row *item, struct errctx *ec)
{
    if (!list_grow(&w->out->items, w->out->item_count, sizeof(struct flow_item_row *)))
        return err_set(ec, ERR_NOMEM, "out of memory");
    w->out->items[w->out->item_count++] = item;
    return ERR_OK;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

struct flow_step_row *work_change(struct work *w, size_t step, struct errctx *ec)
{
    if (!w->rows[step]) {
        struct flow_step_row *row = calloc(1, sizeof *row);
        if (!work_own(w, row))
            goto no_memory;
        row->run_id = w->run->id;
        row->step = (int)step;
        w->rows[step] = row;
    }
    if (w->changed[step])
        return w->rows[step];
    if (!list_grow(&w->out->steps, w->out->step_count, sizeof(struct flow_step_row *)))
        goto no_memory;
    w->out->steps[w->out->step_count++] = w->rows[step];
    w->changed[step] = true;
    return w->rows[step];
no_memory:
    (void)err_set(ec, ERR_NOMEM, "out of memory");
    return NULL;
}

void work_look_at(struct work *w, int64_t at_ms)
{
    if (at_ms < w->look_ms)
        w->look_ms = at_ms;
}

enum err work_note_end(struct work *w, size_t step, enum flow_state state, struct errctx *ec)
{
    const struct flow_try *now = &w->rows[step]->now;
    const struct flow_end end = {.result = now->result,
                                 .result_len = now->result ? strlen(now->result) : 0,
                                 .code = now->code,
                                 .address = now->address,
                                 .started_ms = now->started_ms,
                                 .ended_ms = now->ended_ms};

    return flow_end_step(w->values, step, state, &end, ec);
}

enum err work_end_step(struct work *w, size_t step, enum flow_state state, struct errctx *ec)
{
    struct flow_step_row *row = work_change(w, step, ec);
    struct errctx why = {""};
    enum err e;

    if (!row)
        return ERR_NOMEM;
    row->now.ended_ms = w->now_ms;
    row->now.wake_ms = 0;
    e = work_note_end(w, step, state, &why);
    row->now.state = flow_get_state(w->values, step);
    if (e == ERR_INPUT) {
        row->now.result = NULL;
        e = ERR_OK;
        row->now.message = work_keep(w, why.text, &e, ec);
    }
    w->tally->steps_succeeded += row->now.state == FLOW_SUCCEEDED;
    w->tally->steps_failed += row->now.state == FLOW_FAILED;
    return e;
}

enum err work_fail_step(struct work *w, size_t step, const char *why, struct errctx *ec)
{
    struct flow_step_row *row = work_change(w, step, ec);
    enum err e = ERR_OK;

    if (!row)
        return ERR_NOMEM;
    row->now.message = work_keep(w, why, &e, ec);
    row->now.started_ms = row->now.started_ms ? row->now.started_ms : w->now_ms;
    return e ? e : work_end_step(w, step, FLOW_FAILED, ec);
}

enum err work_reset_step(struct work *w, size_t step, struct errctx *ec)
{
    struct flow_step_row *row = work_change(w, step, ec);

    if (!row)
        return ERR_NOMEM;
    *row = (struct flow_step_row){.run_id = row->run_id,
                                  .step = row->step,
                                  .items = row->items,
                                  .items_begun = row->items_begun,
                                  .items_ended = row->items_ended,
                                  .items_failed = row->items_failed};
    return ERR_OK;
}
