/* SPDX-License-Identifier: MIT */
#include "config/origin.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char *origin_get_source(const struct config *config, size_t index)
{
    return config->origin->sources[index] ? config->origin->sources[index] : "default";
}

enum err origin_set_source(struct config *config, size_t index, const char *source, struct errctx *ec)
{
    char *copy = str_copy(source);

    if (source && !copy)
        return no_memory(ec);
    free(config->origin->sources[index]);
    config->origin->sources[index] = copy;
    return ERR_OK;
}

enum err origin_add_note(struct config_origin *origin, enum config_note_kind kind, struct errctx *ec, const char *fmt,
                         ...)
{
    struct config_note *note;
    char text[1000]; /* what is quoted in it has been cut; more would not help the reader */
    va_list ap;

    if (!list_grow(&origin->notes, origin->note_count, sizeof *note))
        return no_memory(ec);
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    note = &origin->notes[origin->note_count];
    *note = (struct config_note){.kind = kind, .text = str_copy(text)};
    if (!note->text)
        return no_memory(ec);
    origin->note_count++;
    return ERR_OK;
}
