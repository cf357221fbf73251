/* SPDX-License-Identifier: MIT */
#include "registry/internal.h"

#include <stdlib.h>
#include <string.h>

/*
 * UTF-8 bytes compare like code points. UTF-16 differs in one place only: characters beyond U+FFFF are written with
 * units from 0xD800, which come before U+E000..U+FFFF. Where two texts differ first, a byte from 0xF0 on begins such a
 * character, and 0xEE or 0xEF begins one of U+E000..U+FFFF; bytes that continue a character are below 0xC0.
 */
static int rank_byte(unsigned char c)
{
    if (c >= 0xf0)
        return c - 0x02; /* 0xF0..0xFF -> 0xEE..0xFD */
    if (c >= 0xee)
        return c + 0x10; /* 0xEE, 0xEF -> 0xFE, 0xFF */
    return c;
}

int lists_compare_utf16(const char *a, const char *b)
{
    const unsigned char *p = (const unsigned char *)a, *q = (const unsigned char *)b;
    while (*p && *p == *q) {
        p++;
        q++;
    }
    return rank_byte(*p) - rank_byte(*q);
}

/* Equal texts stand for equal addresses, so that this is a total order of what matters. */
static int compare_rows(const void *a, const void *b)
{
    const struct registry_row *x = *(const struct registry_row *const *)a;
    const struct registry_row *y = *(const struct registry_row *const *)b;
    int by_key = strcmp(x->key, y->key);
    return by_key ? by_key : lists_compare_utf16(x->value, y->value);
}

static int compare_key(const void *key, const void *row)
{
    return strcmp(key, (*(const struct registry_row *const *)row)->key);
}

/* Joins the values of `key`. False in *fits when some had to be left out. */
static void join_values(const struct registry_row *const *rows, size_t count, const char *key, struct buf *out,
                        bool *fits)
{
    const char *previous = NULL;

    *fits = true;
    buf_clear(out);
    for (size_t i = list_find_first(key, rows, count, sizeof *rows, compare_key);
         i < count && !strcmp(rows[i]->key, key); i++) {
        const char *value = rows[i]->value;
        if (previous && !strcmp(previous, value))
            continue;
        if (out->len + strlen(value) + 1 > ADDRESS_LIST_MAX) {
            *fits = false;
            return;
        }
        if (previous)
            buf_putc(out, ',');
        buf_puts(out, value);
        previous = value;
    }
}

static enum err add_change(struct list_changes *out, const struct group_row *group, const struct buf *list)
{
    char *text = str_copy(list->len ? list->data : "");
    if (!text)
        return ERR_NOMEM;
    out->changes[out->count++] =
        (struct list_change){.group = group->id, .old_list = group->address_list, .new_list = text};
    return ERR_OK;
}

enum err lists_compute(const struct group_list *groups, const struct registry_list *rows, struct list_changes *out,
                       struct errctx *ec)
{
    struct list_changes result = {0};
    const struct registry_row **sorted = NULL;
    struct buf list = {0};
    size_t count = 0;
    enum err e = ERR_NOMEM;

    sorted = malloc((rows->count + 1) * sizeof(const struct registry_row *));
    result.changes = calloc(groups->count + 1, sizeof *result.changes);
    if (!sorted || !result.changes)
        goto out;
    for (size_t i = 0; i < rows->count; i++) {
        if (!strcmp(rows->rows[i].group, "EXECUTOR"))
            sorted[count++] = &rows->rows[i];
    }
    qsort(sorted, count, sizeof(const struct registry_row *), compare_rows);

    for (size_t i = 0; i < groups->count; i++) {
        const struct group_row *group = &groups->rows[i];
        bool fits;
        if (group->manual)
            continue;
        join_values(sorted, count, group->app_name, &list, &fits);
        if (buf_failed(&list))
            goto out;
        if (!fits)
            result.cut++;
        if (strcmp(group->address_list, list.len ? list.data : "") && add_change(&result, group, &list))
            goto out;
    }
    *out = result;
    result = (struct list_changes){0};
    e = ERR_OK;
out:
    buf_fini(&list);
    free(sorted);
    lists_fini(&result);
    return e ? err_set(ec, e, "out of memory for the address lists of %zu groups", groups->count) : ERR_OK;
}

void lists_fini(struct list_changes *changes)
{
    for (size_t i = 0; i < changes->count; i++)
        free(changes->changes[i].new_list);
    free(changes->changes);
    *changes = (struct list_changes){0};
}
