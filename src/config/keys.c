/* SPDX-License-Identifier: MIT */
#include "config/key.h"

#include "config/settings.h"

#include <stdlib.h>
#include <string.h>

/* Never an object: its members carry the type of each kind to the check below. */
struct kind_types {
#define KIND_TYPE(kind, type, held) type kind;
    CONFIG_KINDS(KIND_TYPE)
#undef KIND_TYPE
};

#define HELD_TYPE_CHECK(kind, type, held)                                                                              \
    _Static_assert(_Generic((type){0}, int64_t : HELD_NUMBER, bool : HELD_BOOL, char * : HELD_TEXT, unsigned           \
                            : HELD_ENUM) == HELD_##held,                                                               \
                   #kind ": its type is held in another way");
CONFIG_KINDS(HELD_TYPE_CHECK)
#undef HELD_TYPE_CHECK

#define KEY_TYPE_CHECK(section, name, field, kind, unit, def, min, max, flags, help)                                   \
    _Static_assert(_Generic(((struct config *)0)->field, __typeof__(((struct kind_types *)0)->kind) : 1, default : 0), \
                   name ": its kind does not fit the type of its field");                                              \
    _Static_assert((min) <= (max), name ": bounds are the wrong way round");
CONFIG_KEYS(KEY_TYPE_CHECK)
#undef KEY_TYPE_CHECK

const struct key_row key_rows[KEY_COUNT] = {
#define KEY_ROW(section, name, field, kind, unit, def, min, max, flags, help)                                          \
    {SECTION_##section, name, offsetof(struct config, field), KIND_##kind, unit, def, min, max, flags, help},
    CONFIG_KEYS(KEY_ROW)
#undef KEY_ROW
};

const struct key_row *key_find(const char *name)
{
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (name_is_equal(key_rows[i].name, name))
            return &key_rows[i];
    return NULL;
}

const char *key_section_title(enum key_section section)
{
    static const char *const titles[] = {
#define SECTION_TITLE(id, title) [SECTION_##id] = title,
        CONFIG_SECTIONS(SECTION_TITLE)
#undef SECTION_TITLE
    };

    return titles[section];
}

enum key_held key_held(enum key_kind kind)
{
    static const enum key_held held[] = {
#define KIND_HELD(kind, type, held) [KIND_##kind] = HELD_##held,
        CONFIG_KINDS(KIND_HELD)
#undef KIND_HELD
    };

    return held[kind];
}

static void *field_of(const struct key_row *row, const struct config *config)
{
    return (char *)(uintptr_t)config + row->offset;
}

static int64_t number_of(const struct key_row *row, const struct config *config)
{
    switch (key_held(row->kind)) {
    case HELD_NUMBER: return *(int64_t *)field_of(row, config);
    case HELD_BOOL: return *(bool *)field_of(row, config);
    case HELD_ENUM: return *(unsigned *)field_of(row, config); /* which all our enums are: see the check above */
    case HELD_TEXT: break;
    }
    return 0;
}

/* NULL when the kind is a number. */
static const char *text_of(const struct key_row *row, const struct config *config)
{
    return key_held(row->kind) == HELD_TEXT ? *(char **)field_of(row, config) : NULL;
}

void key_store(const struct key_row *row, struct config *config, struct key_value *value)
{
    void *field = field_of(row, config);

    switch (key_held(row->kind)) {
    case HELD_NUMBER: *(int64_t *)field = value->number; break;
    case HELD_BOOL: *(bool *)field = value->number != 0; break;
    case HELD_ENUM: *(unsigned *)field = (unsigned)value->number; break;
    case HELD_TEXT:
        free(*(char **)field);
        *(char **)field = value->text;
        value->text = NULL;
        break;
    }
}

bool key_is_equal(const struct key_row *row, const struct config *a, const struct config *b)
{
    const char *text = text_of(row, a);

    return text ? !strcmp(text, text_of(row, b)) : number_of(row, a) == number_of(row, b);
}

enum err key_copy(const struct key_row *row, const struct config *from, struct config *to, struct errctx *ec)
{
    struct key_value value = {.number = number_of(row, from)};
    const char *text = text_of(row, from);

    if (text) {
        value.text = str_copy(text);
        if (!value.text)
            return no_memory(ec);
    }
    key_store(row, to, &value);
    return ERR_OK;
}

void key_write_value(const struct key_row *row, const struct config *config, struct buf *out)
{
    const char *text = text_of(row, config);

    if (!text)
        key_write_number(row, number_of(row, config), out);
    else if (row->flags & KEY_SECRET)
        buf_puts(out, *text ? "(hidden)" : "");
    else if (row->kind == KIND_JDBC)
        jdbc_url_write_redacted(text, out);
    else
        buf_puts(out, text);
}
