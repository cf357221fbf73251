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

static enum err look(struct doctor *d, struct db_rows **out, struct errctx *ec, const char *statement, va_list args)
{
    char sql[2000];
    int len = vsnprintf(sql, sizeof sql, statement, args);

    assert(len >= 0 && (size_t)len < sizeof sql);
    return store_look(d->session, doctor_left_ms(d), sql, out, ec);
}

enum err doctor_look(struct doctor *d, struct db_rows **out, struct errctx *ec, const char *statement, ...)
{
    va_list args;
    enum err e;

    va_start(args, statement);
    e = look(d, out, ec, statement, args);
    va_end(args);
    return e;
}

enum err doctor_look_number(struct doctor *d, int64_t *out, struct errctx *ec, const char *statement, ...)
{
    struct db_rows *found = NULL;
    va_list args;
    enum err e;

    va_start(args, statement);
    e = look(d, &found, ec, statement, args);
    va_end(args);
    if (!e)
        *out = db_rows_next(found) ? db_int(found, 0) : 0;
    db_rows_destroy(found);
    return e;
}

enum err doctor_add_rows(struct doctor *d, struct words *out, struct errctx *ec, const char *statement, ...)
{
    struct db_rows *found = NULL;
    va_list args;
    enum err e;

    va_start(args, statement);
    e = look(d, &found, ec, statement, args);
    va_end(args);
    while (!e && db_rows_next(found)) {
        if (db_text(found, 0))
            words_add_named(out, db_int(found, 0), db_text_or_empty(found, 1));
        else
            words_add(out, db_text_or_empty(found, 1));
    }
    db_rows_destroy(found);
    return e;
}
