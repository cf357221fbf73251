/* SPDX-License-Identifier: MIT */
#include "http/console/dialect.h"

#include <string.h>

/* Parameters that tell. Those of the generations' own spelling are told within the topic that has them. */
static const struct {
    const char *param;
    const char *below; /* in paths that begin so; "" in all */
    unsigned dialects;
} signs[] = {
    {"ids[]", "", DIALECTS_CD},           {"start", "", DIALECTS_AB},
    {"length", "", DIALECTS_AB},          {"offset", "", DIALECTS_CD},
    {"pagesize", "", DIALECTS_CD},        {"id", "/jobinfo/start", DIALECTS_AB}, /* where C and D have ids[] */
    {"id", "/jobinfo/stop", DIALECTS_AB}, {"jobDesc", "/jobinfo/", DIALECTS_ABC},
    {"name", "/jobinfo/", DIALECT_D},     {"title", "/jobgroup/", DIALECTS_ABC},
    {"name", "/jobgroup/", DIALECT_D},    {"accessToken", "/jobgroup/", DIALECT_D},
};

const char *dialect_name(enum dialect dialect)
{
    switch (dialect) {
    case DIALECT_A: return "A";
    case DIALECT_B: return "B";
    case DIALECT_C: return "C";
    case DIALECT_D: return "D";
    }
    return "?";
}

enum dialect dialect_of_family(const char *family)
{
    /* The first family of each, the newest first: a family that nobody put here speaks as the one before it. */
    static const struct {
        const char *since;
        enum dialect dialect;
    } dialects[] = {{"3.5", DIALECT_D}, {"3.4", DIALECT_C}, {"3.2", DIALECT_B}};

    for (size_t i = 0; family && i < ARRAY_LEN(dialects); i++)
        if (strverscmp(family, dialects[i].since) >= 0)
            return dialects[i].dialect;
    return DIALECT_A;
}

static bool is_one(unsigned dialects)
{
    return !(dialects & (dialects - 1));
}

static unsigned narrow(unsigned left, unsigned to)
{
    return left & to ? left & to : left;
}

static enum dialect find_nearest(unsigned left, enum dialect generation)
{
    for (unsigned up = generation, down = generation; up || down; up = up << 1 & DIALECTS_ALL, down >>= 1) {
        if (left & up)
            return (enum dialect)up;
        if (left & down)
            return (enum dialect)down;
    }
    return generation;
}

enum dialect dialect_choose(unsigned possible, const char *path, const struct console_params *params, bool cookie_a,
                            bool cookie_bcd, unsigned configured, enum dialect generation)
{
    unsigned left = possible;

    for (size_t i = 0; params && i < ARRAY_LEN(signs) && !is_one(left); i++) {
        if (!strncmp(path, signs[i].below, strlen(signs[i].below)) && params_has(params, signs[i].param))
            left = narrow(left, signs[i].dialects);
    }
    if (cookie_a != cookie_bcd)
        left = narrow(left, cookie_a ? DIALECT_A : DIALECTS_BCD);
    left = narrow(left, configured);
    return find_nearest(left, generation);
}
