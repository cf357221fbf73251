/* SPDX-License-Identifier: MIT */
/*
 * Two texts line by line, as a unified diff. What both begin and end with is left aside; of the rest the longest common
 * subsequence is found in a table, where that has no more than CELLS_MAX cells, else all of it differs.
 */
#include "shardwheel/admin/glue.h"

#include <stdlib.h>
#include <string.h>

#define CELLS_MAX 4000000 /* 2 bytes each */
#define CONTEXT 3

struct line {
    const char *at;
    size_t len; /* without its LF */
    uint64_t hash;
};

struct text {
    struct line *lines;
    size_t count;
};

enum mark { MARK_SAME = ' ', MARK_GONE = '-', MARK_NEW = '+' };

struct step {
    enum mark mark;
    size_t old, new; /* line numbers before the step, from 0 */
};

struct script {
    struct step *steps;
    size_t count;
};

static enum err split(const char *text, struct text *out, struct errctx *ec)
{
    size_t max = 1;

    for (const char *c = text; *c; c++)
        max += *c == '\n';
    if (max > GLUE_DIFF_LINES_MAX)
        return err_set(ec, ERR_INPUT, "sources of more than %d lines are not compared", GLUE_DIFF_LINES_MAX);
    out->lines = calloc(max, sizeof *out->lines);
    if (!out->lines)
        return err_set(ec, ERR_NOMEM, "out of memory for %zu lines", max);
    for (const char *c = text; *c;) {
        size_t len = strcspn(c, "\n");

        out->lines[out->count++] = (struct line){c, len, hash_bytes(HASH_START, c, len)};
        c += len + (c[len] == '\n');
    }
    return ERR_OK;
}

static bool are_equal(const struct line *a, const struct line *b)
{
    return a->hash == b->hash && a->len == b->len && memcmp(a->at, b->at, a->len) == 0;
}

static void add_step(struct script *s, enum mark mark, size_t old, size_t new)
{
    s->steps[s->count++] = (struct step){mark, old, new};
}

/* ---- the middle, where both differ ------------------------------------------------------------------------------- */

struct middle {
    const struct text *old, *new;
    size_t old_from, old_count, new_from, new_count;
};

static void replace_all(const struct middle *m, struct script *s)
{
    for (size_t i = 0; i < m->old_count; i++)
        add_step(s, MARK_GONE, m->old_from + i, m->new_from);
    for (size_t i = 0; i < m->new_count; i++)
        add_step(s, MARK_NEW, m->old_from + m->old_count, m->new_from + i);
}

/* table[i][j]: length of the longest common subsequence of what is behind i and j. */
static void fill_table(const struct middle *m, uint16_t *table)
{
    size_t width = m->new_count + 1;

    for (size_t i = m->old_count; i-- > 0;) {
        for (size_t j = m->new_count; j-- > 0;) {
            uint16_t below = table[(i + 1) * width + j], right = table[i * width + j + 1];

            if (are_equal(&m->old->lines[m->old_from + i], &m->new->lines[m->new_from + j]))
                table[i * width + j] = (uint16_t)(table[(i + 1) * width + j + 1] + 1);
            else
                table[i * width + j] = below >= right ? below : right;
        }
    }
}

static void follow_table(const struct middle *m, const uint16_t *table, struct script *s)
{
    size_t width = m->new_count + 1, i = 0, j = 0;

    while (i < m->old_count || j < m->new_count) {
        size_t old = m->old_from + i, new = m->new_from + j;

        if (i < m->old_count && j < m->new_count && are_equal(&m->old->lines[old], &m->new->lines[new])) {
            add_step(s, MARK_SAME, old, new);
            i++;
            j++;
        } else if (i < m->old_count && (j == m->new_count || table[(i + 1) * width + j] >= table[i * width + j + 1])) {
            add_step(s, MARK_GONE, old, new);
            i++;
        } else {
            add_step(s, MARK_NEW, old, new);
            j++;
        }
    }
}

static enum err compare_middle(const struct middle *m, struct script *s, bool *rough, struct errctx *ec)
{
    size_t height = m->old_count + 1, width = m->new_count + 1;
    uint16_t *table;

    if (m->old_count == 0 || m->new_count == 0 || height > CELLS_MAX / width || height > UINT16_MAX ||
        width > UINT16_MAX) {
        *rough = m->old_count > 0 && m->new_count > 0;
        replace_all(m, s);
        return ERR_OK;
    }
    table = calloc(height * width, sizeof *table);
    if (!table)
        return err_set(ec, ERR_NOMEM, "out of memory for a comparison");
    fill_table(m, table);
    follow_table(m, table, s);
    free(table);
    return ERR_OK;
}

static enum err compare(const struct text *old, const struct text *new, struct script *s, bool *rough,
                        struct errctx *ec)
{
    size_t least = old->count < new->count ? old->count : new->count, head = 0, tail = 0;
    enum err e;

    while (head < least && are_equal(&old->lines[head], &new->lines[head]))
        head++;
    while (tail < least - head && are_equal(&old->lines[old->count - 1 - tail], &new->lines[new->count - 1 - tail]))
        tail++;
    for (size_t i = 0; i < head; i++)
        add_step(s, MARK_SAME, i, i);
    const struct middle middle = {old, new, head, old->count - head - tail, head, new->count - head - tail};
    e = compare_middle(&middle, s, rough, ec);
    for (size_t i = tail; !e && i > 0; i--)
        add_step(s, MARK_SAME, old->count - i, new->count - i);
    return e;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* The end of the hunk that begins at `from`: behind the last difference that is near enough, and its context. */
static size_t find_hunk_end(const struct script *s, size_t from)
{
    size_t end = from, same = 0;

    for (size_t i = from; i < s->count && same <= 2 * CONTEXT; i++) {
        same = s->steps[i].mark == MARK_SAME ? same + 1 : 0;
        if (same == 0)
            end = i + 1;
    }
    return end + CONTEXT < s->count ? end + CONTEXT : s->count;
}

static void put_hunk(const struct script *s, size_t from, size_t end, const struct text *old, const struct text *new,
                     struct glue_diff *out)
{
    size_t old_count = 0, new_count = 0;
    const struct step *first = &s->steps[from];

    for (size_t i = from; i < end; i++) {
        old_count += s->steps[i].mark != MARK_NEW;
        new_count += s->steps[i].mark != MARK_GONE;
    }
    buf_printf(&out->text, "@@ -%zu,%zu +%zu,%zu @@\n", first->old + (old_count > 0), old_count,
               first->new + (new_count > 0), new_count);
    for (size_t i = from; i < end; i++) {
        const struct step *step = &s->steps[i];
        const struct line *line = step->mark == MARK_NEW ? &new->lines[step->new] : &old->lines[step->old];

        buf_putc(&out->text, (char)step->mark);
        buf_append(&out->text, line->at, line->len);
        buf_putc(&out->text, '\n');
        out->added += step->mark == MARK_NEW;
        out->removed += step->mark == MARK_GONE;
    }
}

static void put_hunks(const struct script *s, const struct text *old, const struct text *new, struct glue_diff *out)
{
    for (size_t i = 0, done = 0; i < s->count; i++) {
        if (s->steps[i].mark == MARK_SAME)
            continue;
        size_t from = i - done > CONTEXT ? i - CONTEXT : done;
        size_t end = find_hunk_end(s, i);

        put_hunk(s, from, end, old, new, out);
        done = end;
        i = end - 1;
    }
}

enum err glue_diff_make(const char *old, const char *new, struct glue_diff *out, struct errctx *ec)
{
    struct text old_text = {0}, new_text = {0};
    struct script s = {0};
    enum err e = split(old ? old : "", &old_text, ec);

    *out = (struct glue_diff){0};
    if (!e)
        e = split(new ? new : "", &new_text, ec);
    if (!e && !(s.steps = calloc(old_text.count + new_text.count + 1, sizeof *s.steps)))
        e = err_set(ec, ERR_NOMEM, "out of memory for a comparison");
    if (!e)
        e = compare(&old_text, &new_text, &s, &out->rough, ec);
    if (!e)
        put_hunks(&s, &old_text, &new_text, out);
    if (!e && buf_failed(&out->text))
        e = err_set(ec, ERR_NOMEM, "out of memory for a comparison");
    free(s.steps);
    free(old_text.lines);
    free(new_text.lines);
    if (e)
        glue_diff_fini(out);
    return e;
}

void glue_diff_fini(struct glue_diff *diff)
{
    buf_fini(&diff->text);
}
