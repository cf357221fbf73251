/* SPDX-License-Identifier: MIT */
#include "config/keys.h"

#include <stdlib.h>
#include <string.h>

/* Never an object: its members carry the type of each kind to the check below. */
struct kind_types {
#define KIND_TYPE(kind, type) type kind;
    CONFIG_KINDS(KIND_TYPE)
#undef KIND_TYPE
};

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

const char *key_section_title(enum key_section section)
{
    static const char *const titles[] = {
#define SECTION_TITLE(id, title) [SECTION_##id] = title,
        CONFIG_SECTIONS(SECTION_TITLE)
#undef SECTION_TITLE
    };

    return titles[section];
}

static void *field_of(const struct key_row *row, const struct config *config)
{
    return (char *)(uintptr_t)config + row->offset;
}

static int64_t number_of(const struct key_row *row, const struct config *config)
{
    switch (row->kind) {
    case KIND_INT:
    case KIND_DURATION:
    case KIND_SIZE: return *(int64_t *)field_of(row, config);
    case KIND_SWITCH:
    case KIND_AUTO_OFF:
    case KIND_SHORT_LONG: return *(bool *)field_of(row, config);
    case KIND_LEVEL: return *(enum log_level *)field_of(row, config);
    case KIND_FORMAT: return *(enum log_format *)field_of(row, config);
    case KIND_COORDINATION: return *(enum config_coordination *)field_of(row, config);
    case KIND_DIALECT: return *(enum config_dialect *)field_of(row, config);
    case KIND_GLUE: return *(enum config_glue *)field_of(row, config);
    case KIND_TEXT:
    case KIND_PATH:
    case KIND_NAME:
    case KIND_ADDRESS:
    case KIND_NETWORKS:
    case KIND_LEVELS:
    case KIND_SERVERS:
    case KIND_JDBC:
    case KIND_DRIVER: break;
    }
    return 0;
}

/* NULL when the kind is a number. */
static const char *text_of(const struct key_row *row, const struct config *config)
{
    switch (row->kind) {
    case KIND_TEXT:
    case KIND_PATH:
    case KIND_NAME:
    case KIND_ADDRESS:
    case KIND_NETWORKS:
    case KIND_LEVELS:
    case KIND_SERVERS:
    case KIND_JDBC:
    case KIND_DRIVER: return *(char **)field_of(row, config);
    case KIND_INT:
    case KIND_DURATION:
    case KIND_SIZE:
    case KIND_SWITCH:
    case KIND_AUTO_OFF:
    case KIND_SHORT_LONG:
    case KIND_LEVEL:
    case KIND_FORMAT:
    case KIND_COORDINATION:
    case KIND_DIALECT:
    case KIND_GLUE: break;
    }
    return NULL;
}

void key_store(const struct key_row *row, struct config *config, struct key_value *value)
{
    void *field = field_of(row, config);

    switch (row->kind) {
    case KIND_INT:
    case KIND_DURATION:
    case KIND_SIZE: *(int64_t *)field = value->number; break;
    case KIND_SWITCH:
    case KIND_AUTO_OFF:
    case KIND_SHORT_LONG: *(bool *)field = value->number != 0; break;
    case KIND_LEVEL: *(enum log_level *)field = (enum log_level)value->number; break;
    case KIND_FORMAT: *(enum log_format *)field = (enum log_format)value->number; break;
    case KIND_COORDINATION: *(enum config_coordination *)field = (enum config_coordination)value->number; break;
    case KIND_DIALECT: *(enum config_dialect *)field = (enum config_dialect)value->number; break;
    case KIND_GLUE: *(enum config_glue *)field = (enum config_glue)value->number; break;
    case KIND_TEXT:
    case KIND_PATH:
    case KIND_NAME:
    case KIND_ADDRESS:
    case KIND_NETWORKS:
    case KIND_LEVELS:
    case KIND_SERVERS:
    case KIND_JDBC:
    case KIND_DRIVER:
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
            return err_set(ec, ERR_NOMEM, "out of memory");
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
