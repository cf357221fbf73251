/* SPDX-License-Identifier: MIT */
/* The report of doctor: pure. */
#include "ctl/doctor/report.h"
#include "ctl/parts.h"
#include "shardwheel/text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 100
#define INDENT "    "

static const struct {
    const char *name, *many; /* of several findings */
    int status;
} levels[] = {
    [DOCTOR_OK] = {"ok", "ok", 0},
    [DOCTOR_NOTE] = {"note", "notes", 0},
    [DOCTOR_UNKNOWN] = {"unknown", "unknown", 3},
    [DOCTOR_WARNING] = {"warning", "warnings", 1},
    [DOCTOR_CRITICAL] = {"critical", "critical", 2},
};

static const char *level_name(enum doctor_level level)
{
    return levels[level].name;
}

int doctor_exit_status(enum doctor_level worst)
{
    return levels[worst].status;
}

/* ---- filling ----------------------------------------------------------------------------------------------------- */

void report_fini(struct doctor_report *r)
{
    for (size_t i = 0; i < r->count; i++) {
        free(r->findings[i].where);
        free(r->findings[i].what);
        free(r->findings[i].change);
    }
    free(r->findings);
    *r = (struct doctor_report){0};
}

void report_add(struct doctor_report *r, const struct finding *finding)
{
    struct finding *f;

    if (!list_grow(&r->findings, r->count, sizeof *f)) {
        r->failed = true;
        return;
    }
    f = &r->findings[r->count++];
    *f = *finding;
    f->where = str_copy(finding->where);
    f->what = str_copy(finding->what);
    f->change = str_copy(finding->change);
    if ((finding->where && !f->where) || !f->what || (finding->change && !f->change))
        r->failed = true;
}

void report_leave_out(struct doctor_report *r, const char *check)
{
    assert(r->left_out_count < REPORT_LEFT_OUT_MAX);
    r->left_out[r->left_out_count++] = check;
}

static size_t count_level(const struct doctor_report *r, enum doctor_level level)
{
    size_t n = 0;

    for (size_t i = 0; i < r->count; i++)
        n += r->findings[i].level == level;
    return n;
}

enum doctor_level report_get_worst(const struct doctor_report *r)
{
    enum doctor_level worst = r->failed || r->left_out_count ? DOCTOR_UNKNOWN : DOCTOR_OK;

    for (size_t i = 0; i < r->count; i++) {
        if (r->findings[i].level > worst)
            worst = r->findings[i].level;
    }
    return worst;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static const enum doctor_level order[] = {DOCTOR_CRITICAL, DOCTOR_WARNING, DOCTOR_UNKNOWN, DOCTOR_NOTE};

/* The line that monitoring shows: "warning: 2 warnings, 1 note". */
static void put_head(const struct doctor_report *r, struct buf *out)
{
    const char *before = ": ";

    buf_puts(out, level_name(report_get_worst(r)));
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        size_t n = count_level(r, order[i]);

        if (!n)
            continue;
        buf_printf(out, "%s%zu %s", before, n, n == 1 ? level_name(order[i]) : levels[order[i]].many);
        before = ", ";
    }
    buf_putc(out, '\n');
}

/* Names are other people's: none of them begins a line, or speaks to the terminal. */
static void put_shown(const char *text, struct buf *out)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)text[0], next = (unsigned char)text[1];
        bool is_c1 = c == 0xc2 && next >= 0x80 && next < 0xa0;

        buf_putc(out, is_c1 || c < 0x20 || c == 0x7f ? '?' : (char)c);
        text += is_c1;
    }
}

static void put_sentence(const char *before, const char *text, struct buf *out)
{
    struct buf shown = {0};

    buf_puts(&shown, before);
    put_shown(text, &shown);
    if (buf_failed(&shown))
        out->failed = true;
    else
        text_put_wrapped(out, INDENT, shown.data, WIDTH);
    buf_fini(&shown);
}

static void put_finding(const struct finding *f, struct buf *out)
{
    buf_printf(out, "\n%s  %s%s", level_name(f->level), f->code, f->where ? "  " : "");
    put_shown(f->where ? f->where : "", out);
    buf_putc(out, '\n');
    put_sentence("", f->what ? f->what : "", out);
    if (f->change)
        put_sentence("To do: ", f->change, out);
}

void report_write_text(const struct doctor_report *r, bool verbose, struct buf *out)
{
    size_t fine = count_level(r, DOCTOR_OK);

    put_head(r, out);
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        for (size_t k = 0; k < r->count; k++) {
            if (r->findings[k].level == order[i])
                put_finding(&r->findings[k], out);
        }
    }
    buf_putc(out, '\n');
    if (r->left_out_count)
        buf_printf(out, "%zu %s skipped, because of the findings above:", r->left_out_count,
                   r->left_out_count == 1 ? "check was" : "checks were");
    for (size_t i = 0; i < r->left_out_count; i++)
        buf_printf(out, " %s%s", r->left_out[i], i + 1 == r->left_out_count ? "\n" : "");
    buf_printf(out, "%zu %s fine%s\n", fine, fine == 1 ? "check was" : "checks were",
               !fine     ? "."
               : verbose ? ":"
                         : "; --verbose lists them.");
    for (size_t i = 0; verbose && i < r->count; i++) {
        if (r->findings[i].level == DOCTOR_OK)
            buf_printf(out, "  %-24s %s\n", r->findings[i].code, r->findings[i].what ? r->findings[i].what : "");
    }
}

void report_write_json(const struct doctor_report *r, struct buf *out)
{
    enum doctor_level worst = report_get_worst(r);

    buf_printf(out, "{\"level\":\"%s\",\"status\":%d,\"version\":\"%s\",\n\"findings\":[", level_name(worst),
               doctor_exit_status(worst), SHARDWHEEL_VERSION);
    for (size_t i = 0; i < r->count; i++) {
        const struct finding *f = &r->findings[i];

        buf_puts(out, i ? ",\n{" : "\n{");
        member_text(out, "level", level_name(f->level));
        member_text(out, "code", f->code);
        member_text(out, "check", f->check);
        member_text(out, "where", f->where);
        member_text(out, "what", f->what);
        member_text(out, "change", f->change);
        buf_putc(out, '}');
    }
    buf_puts(out, "],\n\"leftOut\":[");
    for (size_t i = 0; i < r->left_out_count; i++)
        buf_printf(out, "%s\"%s\"", i ? "," : "", r->left_out[i]);
    buf_puts(out, "]}\n");
}
