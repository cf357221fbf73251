/* SPDX-License-Identifier: MIT */
#include "config/origin.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char *origin_get_source(const struct config *config, size_t index)
{
    return config->origin->sources[index] ? config->origin->sources[index] : "default";
}

enum err origin_add_note(struct config_origin *origin, enum config_note_kind kind, struct errctx *ec, const char *fmt,
                         ...)
{
    struct config_note *notes = realloc(origin->notes, (origin->note_count + 1) * sizeof *notes);
    char text[1000]; /* what is quoted in it has been cut; more would not help the reader */
    va_list ap;

    if (!notes)
        return err_set(ec, ERR_NOMEM, "out of memory");
    origin->notes = notes;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    notes[origin->note_count].kind = kind;
    notes[origin->note_count].text = str_copy(text);
    if (!notes[origin->note_count].text)
        return err_set(ec, ERR_NOMEM, "out of memory");
    origin->note_count++;
    return ERR_OK;
}
