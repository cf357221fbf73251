/* SPDX-License-Identifier: MIT */
/*
 * dialect: which of the original's four consoles a request speaks to. Pure.
 *
 * Rule        What exists in one dialect only is of that one. Else, in this order, whatever leaves fewer of them: the
 *             names of the parameters, the cookie that was presented, shardwheel.console.dialect, the generation of the
 *             database; and if none of those is possible, the one nearest to that generation.
 */
#ifndef HTTP_CONSOLE_DIALECT_H
#define HTTP_CONSOLE_DIALECT_H

#include "http/console/params.h"

enum dialect {
    DIALECT_A = 1, /* 2.3 to 3.1 */
    DIALECT_B = 2, /* 3.2 */
    DIALECT_C = 4, /* 3.3, 3.4 */
    DIALECT_D = 8, /* 3.5 */
};
#define DIALECTS_AB (DIALECT_A | DIALECT_B)
#define DIALECTS_BCD (DIALECT_B | DIALECT_C | DIALECT_D)
#define DIALECTS_ABC (DIALECT_A | DIALECT_B | DIALECT_C)
#define DIALECTS_CD (DIALECT_C | DIALECT_D)
#define DIALECTS_ALL (DIALECT_A | DIALECT_B | DIALECT_C | DIALECT_D)

const char *dialect_name(enum dialect dialect); /* "A" */
/* "2.3", "2.5": A, "3.2": B, "3.4": C, "3.5" and later: D; see struct store_features. NULL: A. */
enum dialect dialect_of_family(const char *family);
/* `possible`: where the path exists, not 0. `path` is below no context; params may be NULL. `configured` is 0: auto. */
enum dialect dialect_choose(unsigned possible, const char *path, const struct console_params *params, bool cookie_a,
                            bool cookie_bcd, unsigned configured, enum dialect generation);

#endif
