/* SPDX-License-Identifier: MIT */
/*
 * params: what a call of the consoles was sent: its query first, then its form. Pure.
 *
 * Leniency    As the original's: a name with "[]" behind it is the name without where that is absent; a text that came
 *             several times is joined by commas, of numbers the first counts; numbers may have blanks around them, a
 *             sign, 0x or #, full-width digits; what has a broken % is dropped.
 * Bad ones    Text that is no UTF-8 or has a NUL in it makes the whole call bad.
 * Ownership   A struct console_params owns a copy of what it was read from; texts live as long as it does.
 */
#ifndef HTTP_CONSOLE_PARAMS_H
#define HTTP_CONSOLE_PARAMS_H

#include "http/multipart.h"

#define PARAMS_MAX 1000
#define PARAM_NAME_MAX 100 /* bytes of a name that are shown */

struct console_param {
    const char *name;
    const char *first; /* the value that came first */
    char *joined;      /* all of them, with commas between; NULL when it came once */
    size_t more;       /* bytes of the values behind the first, each with its comma */
    size_t joined_len; /* so far */
};

struct console_params {
    struct console_param *list; /* in the order in which their names came first */
    size_t count;
    struct buf memory;        /* what was read, decoded */
    char bad[PARAM_NAME_MAX]; /* name of the first that is no UTF-8 or has a NUL; "" */
    bool too_many;            /* more than PARAMS_MAX: the rest was not read */
};

/* `query` and `form` are as they were sent, form also NULL; `pairs` come behind them. ERR_NOMEM alone. */
MUST_CHECK enum err params_load(const char *query, const char *form, size_t form_len,
                                const struct multipart_field *pairs, size_t pair_count, struct console_params *out,
                                struct errctx *ec);
void params_fini(struct console_params *params);

bool params_has(const struct console_params *params, const char *name); /* under exactly this name */
/* NULL when absent. "x" also finds "x[]". */
const char *params_get(const struct console_params *params, const char *name);
const char *params_get_first(const struct console_params *params, const char *name);

enum param_number { PARAM_ABSENT, PARAM_EMPTY, PARAM_NUMBER, PARAM_BROKEN };
/* PARAM_NUMBER only sets *out. PARAM_EMPTY: there, but blank. PARAM_BROKEN: no number, or out of bounds. */
enum param_number params_get_number(const struct console_params *params, const char *name, int64_t min, int64_t max,
                                    int64_t *out);
/* A whole number as the original reads it; false for anything else. */
bool number_parse(const char *text, int64_t min, int64_t max, int64_t *out);

#endif
