/* SPDX-License-Identifier: MIT */
#include "keep/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "shardwheel/text.h"

void keep_text_init(struct keep_text *t, size_t max)
{
    *t = (struct keep_text){.max = max};
}

void keep_text_fini(struct keep_text *t)
{
    buf_fini(&t->head);
    buf_fini(&t->tail);
}

static size_t get_half(const struct keep_text *t)
{
    return t->max / 2;
}

static int64_t count_lines(const char *text, size_t len)
{
    int64_t n = 0;

    for (size_t i = 0; i < len; i++)
        n += text[i] == '\n';
    return n;
}

/* Where the last `max` bytes begin: at the beginning of a line, if one begins in their first half, else of a
 * character. */
static size_t find_start(const char *text, size_t len, size_t max)
{
    size_t at = len > max ? len - max : 0;
    const char *line;

    if (at == 0 || text[at - 1] == '\n')
        return at;
    line = memchr(text + at, '\n', max / 2);
    if (line)
        return (size_t)(line - text) + 1;
    while (at < len && ((unsigned char)text[at] & 0xc0) == 0x80)
        at++;
    return at;
}

/* Where the first `max` bytes end: behind a line, if one ends in their second half, else before a character. */
static size_t find_end(const char *text, size_t len, size_t max)
{
    size_t end = utf8_cut(text, len, max);
    const char *line = memrchr(text + end / 2, '\n', end - end / 2);

    return line ? (size_t)(line - text) + 1 : end;
}

static void drop_front(struct keep_text *t, size_t count)
{
    t->cut += count_lines(t->tail.data, count);
    t->is_cut |= count > 0;
    memmove(t->tail.data, t->tail.data + count, t->tail.len - count);
    t->tail.len -= count;
    t->tail.data[t->tail.len] = '\0';
}

static void add_to_tail(struct keep_text *t, const char *text, size_t len)
{
    size_t half = t->max - get_half(t);

    /* Of a long piece only its end can stay. */
    if (len > half) {
        size_t start = find_start(text, len, half);
        if (t->tail.len > 0)
            drop_front(t, t->tail.len);
        t->cut += count_lines(text, start);
        t->is_cut |= start > 0;
        text += start;
        len -= start;
    }
    buf_append(&t->tail, text, len);
    if (!buf_failed(&t->tail) && t->tail.len > 2 * half)
        drop_front(t, find_start(t->tail.data, t->tail.len, half));
}

void keep_text_add(struct keep_text *t, const char *text, size_t len)
{
    /* All of it joins the tail, until that has more than fits: then the head is cut from it. */
    if (t->head.len > 0 || t->is_cut) {
        add_to_tail(t, text, len);
        return;
    }
    if (t->tail.len + len <= t->max) {
        buf_append(&t->tail, text, len);
        return;
    }
    struct buf all = t->tail;

    t->tail = (struct buf){0};
    buf_append(&all, text, len);
    if (!buf_failed(&all)) {
        size_t end = find_end(all.data, all.len, get_half(t));
        buf_append(&t->head, all.data, end);
        add_to_tail(t, all.data + end, all.len - end);
    }
    buf_fini(&all);
}

void keep_text_skip(struct keep_text *t, int64_t lines)
{
    if (!t->is_cut && t->head.len == 0) { /* all that is there is the head, as far as it fits */
        struct buf all = t->tail;

        t->tail = (struct buf){0};
        if (all.len > 0) {
            size_t end = all.len > get_half(t) ? find_end(all.data, all.len, get_half(t)) : all.len;
            buf_append(&t->head, all.data, end);
            t->cut += count_lines(all.data + end, all.len - end);
        }
        buf_fini(&all);
    } else if (t->tail.len > 0) {
        drop_front(t, t->tail.len);
    }
    t->cut += lines;
    t->is_cut = true;
}

static void put_mark(struct buf *out, const char *text)
{
    if (out->len > 0 && out->data[out->len - 1] != '\n')
        buf_putc(out, '\n');
    buf_printf(out, "--- shardwheel: %s ---\n", text);
}

void keep_text_end(struct keep_text *t, bool goes_on, struct buf *out)
{
    size_t half = t->max - get_half(t);
    char text[KEEP_MARK_MAX] = "a part of this line is not kept";

    if (t->head.len > 0 && t->tail.len > half) /* as much as fits, and no more */
        drop_front(t, find_start(t->tail.data, t->tail.len, half));
    buf_append(out, t->head.data, t->head.len);
    if (t->is_cut) {
        if (t->cut > 0)
            snprintf(text, sizeof text, "%" PRId64 " lines are not kept", t->cut);
        put_mark(out, text);
    }
    buf_append(out, t->tail.data, t->tail.len);
    if (goes_on)
        put_mark(out, "the log continues; its end is not kept");
    t->is_cut |= goes_on;
}
