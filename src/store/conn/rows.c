/* SPDX-License-Identifier: MIT */
#include "store/conn/rows.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/conn/datetime.h"

/* Rows that texts of items lie in. */
struct memory {
    struct memory *next;
    struct db_rows *rows;
};

void store_free_memory(void *memory)
{
    for (struct memory *m = memory, *next; m; m = next) {
        next = m->next;
        db_rows_destroy(m->rows);
        free(m);
    }
}

void store_free_list(void *items, void *memory)
{
    store_free_memory(memory);
    free(items);
}

/* ---- a row ------------------------------------------------------------------------------------------------------- */

static void put_number(char *member, size_t size, int64_t value)
{
    assert(size == sizeof(int) || size == sizeof value);
    if (size == sizeof(int))
        memcpy(member, &(int){(int)value}, sizeof(int));
    else
        memcpy(member, &value, sizeof value);
}

static void put_text(char *member, const char *text)
{
    memcpy(member, &text, sizeof text);
}

bool row_read(const struct store_session *s, const struct db_rows *row, const struct row_type *type, void *item)
{
    int64_t at_s;

    for (unsigned col = 0; col < ROW_FIELDS_MAX && type->fields[col].kind != FIELD_END; col++) {
        const struct row_field *f = &type->fields[col];
        char *member = (char *)item + f->at;

        switch (f->kind) {
        case FIELD_NUMBER: put_number(member, f->size, db_int(row, col)); break;
        case FIELD_FLAG: *(bool *)member = db_int(row, col) != 0; break;
        case FIELD_TEXT: put_text(member, db_text_or_empty(row, col)); break;
        case FIELD_NULL: put_text(member, db_text(row, col)); break;
        case FIELD_CHARS: snprintf(member, f->size, "%s", db_text_or_empty(row, col)); break;
        case FIELD_SECONDS: put_number(member, f->size, db_text(row, col) ? db_seconds(row, col) : f->none); break;
        case FIELD_TIME:
            put_number(member, f->size, datetime_parse(s->st->zone, db_text(row, col), &at_s) ? at_s : f->none);
            break;
        case FIELD_SKIP:
        case FIELD_END: break;
        }
    }
    return !type->finish || type->finish(s, row, item);
}

/* ---- many rows --------------------------------------------------------------------------------------------------- */

/* Room for the rows behind the items; the memory is a part of the list from now on. */
static enum err add_room(struct row_list *list, size_t size, struct db_rows *rows, struct errctx *ec)
{
    struct memory *memory = malloc(sizeof *memory);
    char *items = memory ? realloc(list->items, (list->count + db_rows_count(rows) + 1) * size) : NULL;

    if (items)
        list->items = items;
    if (!items) {
        free(memory);
        db_rows_destroy(rows);
        return err_set(ec, ERR_NOMEM, "out of memory");
    }
    *memory = (struct memory){.next = list->memory, .rows = rows};
    list->memory = memory;
    memset(items + list->count * size, 0, (db_rows_count(rows) + 1) * size);
    return ERR_OK;
}

static enum err append(struct store_session *s, const struct row_type *type, struct row_list *list, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e = store_query_sql(s, &rows, ec);

    if (!e)
        e = add_room(list, type->size, rows, ec);
    while (!e && db_rows_next(rows)) {
        char *item = (char *)list->items + type->size * list->count;

        if (row_read(s, rows, type, item))
            list->count++;
        else
            memset(item, 0, type->size);
    }
    return e;
}

enum err store_append_list(struct store_session *s, const struct row_type *type, void *list, struct errctx *ec)
{
    struct row_list known;
    enum err e;

    memcpy(&known, list, sizeof known);
    e = append(s, type, &known, ec);
    memcpy(list, &known, sizeof known);
    return e;
}

enum err store_read_list(struct store_session *s, const struct row_type *type, void *list, struct errctx *ec)
{
    struct row_list read = {0};
    enum err e = append(s, type, &read, ec);

    if (!e)
        memcpy(list, &read, sizeof read);
    return e;
}

enum err store_end_array(struct row_list *list, enum err e, void *out, size_t *count)
{
    store_free_memory(list->memory);
    if (e) {
        free(list->items);
    } else {
        memcpy(out, &list->items, sizeof list->items);
        *count = list->count;
    }
    return e;
}

enum err store_read_array(struct store_session *s, const struct row_type *type, void *out, size_t *count,
                          struct errctx *ec)
{
    struct row_list read = {0};

    return store_end_array(&read, append(s, type, &read, ec), out, count);
}

enum err store_read_row(struct store_session *s, const struct row_type *type, void *item, void **memory,
                        struct errctx *ec)
{
    struct row_list read = {0};
    enum err e = append(s, type, &read, ec);

    if (!e && read.count == 0)
        e = err_set(ec, ERR_NOTFOUND, "there is no such row");
    if (!e)
        memcpy(item, read.items, type->size);
    if (!e && memory) {
        *memory = read.memory;
        read.memory = NULL;
    }
    store_free_list(read.items, read.memory);
    return e;
}
