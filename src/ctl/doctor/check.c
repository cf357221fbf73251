/* SPDX-License-Identifier: MIT */
#include "ctl/doctor/check.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool is_of_check(const struct doctor_check *check, const char *code)
{
    for (const char *const *known = check->findings; *known; known++) {
        if (!strcmp(*known, code))
            return true;
    }
    return !strcmp(code, COULD_NOT_LOOK) || !strcmp(code, DATABASE_LOST) || !strcmp(code, check->code);
}

void doctor_tell(struct doctor *d, enum doctor_level level, const char *code, const char *where, const char *change,
                 const char *what, ...)
{
    struct finding finding = {
        .level = level, .check = d->check->code, .code = code, .where = (char *)where, .change = (char *)change};
    char sentence[1200];
    va_list args;

    assert(is_of_check(d->check, code));
    va_start(args, what);
    vsnprintf(sentence, sizeof sentence, what, args);
    va_end(args);
    finding.what = sentence;
    report_add(&d->report, &finding);
}

void doctor_tell_list(struct doctor *d, enum doctor_level level, const char *code, const char *where,
                      const char *change, const char *what, struct words *list)
{
    if (list->count)
        doctor_tell(d, level, code, where, change, "%s (%zu): %s.", what, list->count, words_end(list));
}

int doctor_left_ms(const struct doctor *d)
{
    int64_t left = d->deadline_mono_ms - clock_mono_ms(d->clock);

    return left < 1 ? 1 : left > DOCTOR_WAIT_MS ? DOCTOR_WAIT_MS : (int)left;
}

enum err doctor_look(struct doctor *d, const char *statement, struct look **out, struct errctx *ec)
{
    return store_look(d->session, doctor_left_ms(d), statement, out, ec);
}

enum err doctor_look_number(struct doctor *d, const char *statement, int64_t *out, struct errctx *ec)
{
    struct look *look = NULL;
    enum err e = doctor_look(d, statement, &look, ec);

    if (!e)
        *out = look_next(look) ? look_int(look, 0) : 0;
    look_destroy(look);
    return e;
}
