/* SPDX-License-Identifier: MIT */
/* origin: what a config keeps besides its values: where each came from, and notes. Private to config. */
#ifndef CONFIG_ORIGIN_H
#define CONFIG_ORIGIN_H

#include "config/key.h"

struct config_origin {
    char *sources[KEY_COUNT]; /* NULL: the default */
    struct config_note *notes;
    size_t note_count;
};

/* As config_get_source, by the row's index. */
const char *origin_get_source(const struct config *config, size_t index);
/* Of a copy; NULL: the default. */
MUST_CHECK enum err origin_set_source(struct config *config, size_t index, const char *source, struct errctx *ec);
MUST_CHECK enum err origin_add_note(struct config_origin *origin, enum config_note_kind kind, struct errctx *ec,
                                    const char *fmt, ...) PRINTF_LIKE(4, 5);

#endif
