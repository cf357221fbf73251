/* SPDX-License-Identifier: MIT */
#include "store/conn/sqlbuf.h"

#include <assert.h>
#include <string.h>

#include "store/conn/datetime.h"
#include "shardwheel/text.h"

void sqlbuf_start(struct sqlbuf *b, struct db *db)
{
    /* A buffer that once failed is given back, or it would refuse for ever. */
    if (buf_failed(&b->text))
        buf_fini(&b->text);
    if (buf_failed(&b->scratch))
        buf_fini(&b->scratch);
    buf_clear(&b->text);
    b->db = db;
}

void sqlbuf_fini(struct sqlbuf *b)
{
    buf_fini(&b->text);
    buf_fini(&b->scratch);
}

bool sqlbuf_failed(const struct sqlbuf *b)
{
    return buf_failed(&b->text) || buf_failed(&b->scratch);
}

/* ---- UTF-8 ------------------------------------------------------------------------------------------------- */

static size_t ascii_prefix(const char *text, size_t len)
{
    size_t i = 0;

    while (i < len && (unsigned char)text[i] < 0x80)
        i++;
    return i;
}

void sql_repair_text(struct buf *out, const char *text, size_t len, size_t max_chars, enum text_fit fit)
{
    static const size_t longest[TEXT_FITS] = {[TEXT_AS_IS] = 4, [TEXT_BMP] = 3, [TEXT_ASCII] = 1};
    size_t at = 0;

    for (size_t chars = 0, n; at < len && chars < max_chars; at += n) {
        size_t left = len - at < max_chars - chars ? len - at : max_chars - chars;
        n = ascii_prefix(text + at, left);
        if (n > 0) {
            buf_append(out, text + at, n);
            chars += n;
            continue;
        }
        n = utf8_measure(text + at, len - at);
        if (n > 0 && n <= longest[fit])
            buf_append(out, text + at, n);
        else
            buf_putc(out, '?');
        n = n > 0 ? n : 1;
        chars++;
    }
}

size_t sql_cut_text(const char *text, size_t max_units, size_t max_bytes)
{
    size_t len = strlen(text), at = 0, units = 0;

    if (len <= max_units && len <= max_bytes)
        return len;
    while (at < len) {
        size_t n = utf8_measure(text + at, len - at);
        size_t width = n == 4 ? 2 : 1;
        if (n == 0)
            n = 1;
        if (units + width > max_units || at + n > max_bytes)
            break;
        units += width;
        at += n;
    }
    return at;
}

/* ---- values ------------------------------------------------------------------------------------------------ */

void sql_puts(struct sqlbuf *b, const char *constant)
{
    buf_puts(&b->text, constant);
}

void sql_int(struct sqlbuf *b, int64_t value)
{
    buf_put_int(&b->text, value);
}

/* In pieces that end between characters: the library escapes the first byte of half a one. */
static void put_escaped(struct sqlbuf *b, const char *text, size_t len)
{
    char piece[2 * 4096 + 1];

    if (!b->db) {
        b->text.failed = true; /* no connection to escape for */
        return;
    }
    buf_putc(&b->text, '\'');
    for (size_t at = 0; at < len;) {
        size_t n = utf8_cut(text + at, len - at, 4096);
        buf_append(&b->text, piece, db_escape(b->db, piece, text + at, n));
        at += n;
    }
    buf_putc(&b->text, '\'');
}

void sql_text_fitted(struct sqlbuf *b, const char *text, size_t max_chars, enum text_fit fit)
{
    if (!text) {
        buf_puts(&b->text, "NULL");
        return;
    }
    size_t len = strlen(text);
    if (len <= max_chars && ascii_prefix(text, len) == len) {
        put_escaped(b, text, len);
        return;
    }
    buf_clear(&b->scratch);
    sql_repair_text(&b->scratch, text, len, max_chars, fit);
    if (!buf_failed(&b->scratch))
        put_escaped(b, b->scratch.data ? b->scratch.data : "", b->scratch.len);
}

void sql_take_text(struct sqlbuf *b, struct buf *text, size_t max_chars, enum text_fit fit)
{
    if (buf_failed(text))
        b->text.failed = true;
    else
        sql_text_fitted(b, text->data ? text->data : "", max_chars, fit);
    buf_fini(text);
}

void sql_text_or_null(struct sqlbuf *b, const char *text)
{
    sql_text_fitted(b, text, SIZE_MAX, TEXT_AS_IS);
}

void sql_text(struct sqlbuf *b, const char *text)
{
    sql_text_fitted(b, text ? text : "", SIZE_MAX, TEXT_AS_IS);
}

void sql_ids(struct sqlbuf *b, const int64_t *ids, size_t count)
{
    if (count == 0)
        buf_putc(&b->text, '0');
    for (size_t i = 0; i < count; i++) {
        if (i)
            buf_putc(&b->text, ',');
        buf_put_int(&b->text, ids[i]);
    }
}

void sql_and_shards(struct sqlbuf *b, const char *column, const int *shards, size_t count, int n)
{
    if (count >= (size_t)n)
        return;
    sql_puts(b, " AND ");
    sql_puts(b, column);
    sql_puts(b, " % ");
    sql_int(b, n);
    sql_puts(b, " IN (");
    for (size_t i = 0; i < count; i++) {
        sql_puts(b, i ? "," : "");
        sql_int(b, shards[i]);
    }
    sql_puts(b, ")");
}

/* The optimizer looks at the ends of each range before it begins, at single ids of a long list it does not. */
#define RUN_MIN 8

static size_t count_run(const int64_t *ids, size_t count)
{
    size_t n = 1;

    while (n < count && ids[n] == ids[0] + (int64_t)n)
        n++;
    return n;
}

void sql_id_among(struct sqlbuf *b, const int64_t *ids, size_t count)
{
    bool first = true;

    sql_puts(b, "(");
    for (size_t at = 0, n; at < count; at += n) {
        n = count_run(ids + at, count - at);
        if (n < RUN_MIN)
            continue;
        sql_puts(b, first ? "id BETWEEN " : " OR id BETWEEN ");
        sql_int(b, ids[at]);
        sql_puts(b, " AND ");
        sql_int(b, ids[at + n - 1]);
        first = false;
    }
    /* What is left is a list, which ends with an id that no row has. */
    sql_puts(b, first ? "id IN (" : " OR id IN (");
    for (size_t at = 0, n; at < count; at += n) {
        n = count_run(ids + at, count - at);
        for (size_t i = 0; n < RUN_MIN && i < n; i++) {
            sql_int(b, ids[at + i]);
            sql_puts(b, ",");
        }
    }
    sql_puts(b, "0))");
}

void sql_datetime(struct sqlbuf *b, const struct zone *zone, int64_t epoch_s)
{
    char text[DATETIME_TEXT_MAX];

    datetime_format(zone, epoch_s, text);
    buf_putc(&b->text, '\'');
    buf_puts(&b->text, text);
    buf_putc(&b->text, '\'');
}

/* ---- statements with their values -------------------------------------------------------------------------------- */

void sql_put_int(struct sqlbuf *b, const struct sql_value *value)
{
    buf_put_int(&b->text, value->number);
}

void sql_put_text(struct sqlbuf *b, const struct sql_value *value)
{
    sql_text_fitted(b, value->from, (size_t)value->number, value->fit);
}

void sql_put_list(struct sqlbuf *b, const struct sql_value *value)
{
    sql_ids(b, value->from, (size_t)value->number);
}

void sql_put_each(struct sqlbuf *b, const struct sql_value *value)
{
    const struct sql_members *m = value->from;

    for (int64_t i = 0; i < value->number; i++) {
        const char *item = (const char *)m->list + (size_t)i * m->stride;

        if (m->pointer != SIZE_MAX)
            memcpy(&item, item + m->pointer, sizeof item);
        if (i)
            buf_putc(&b->text, ',');
        buf_put_int(&b->text, m->size == sizeof(int) ? *(const int *)(const void *)(item + m->at)
                                                     : *(const int64_t *)(const void *)(item + m->at));
    }
}

void sql_put_time(struct sqlbuf *b, const struct sql_value *value)
{
    sql_datetime(b, value->from, value->number);
}

void sql_put_word(struct sqlbuf *b, const struct sql_value *value)
{
    sql_puts(b, value->from);
}

void sql_put_values(struct sqlbuf *b, const char *text, const struct sql_value *values)
{
    for (; *text; values++) {
        const char *mark = strchrnul(text, '?');
        buf_append(&b->text, text, (size_t)(mark - text));
        if (!*mark)
            break;
        assert(values->put);
        values->put(b, values);
        text = mark + 1;
    }
    assert(!values->put);
}
