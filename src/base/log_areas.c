/* SPDX-License-Identifier: MIT */
/* Areas and levels by name. */
#include "shardwheel/text.h"

#include <string.h>

static const char *const area_names[] = {
#define AREA_NAME(id, name) [LOG_AREA_##id] = name,
    LOG_AREAS(AREA_NAME)
#undef AREA_NAME
};
static const char *const level_names[] = {"error", "warn", "info", "debug"};

const char *log_area_name(enum log_area area)
{
    return area_names[area];
}

const char *log_level_name(enum log_level level)
{
    return level_names[level];
}

/* The place of a name in a list, or `count`. */
static size_t find(const char *const *names, size_t count, const char *text, size_t len)
{
    size_t i = 0;

    while (i < count && (strlen(names[i]) != len || strncmp(names[i], text, len) != 0))
        i++;
    return i;
}

static void list_areas(char *out, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(area_names); i++) {
        const char *parts[] = {i ? ", " : "", area_names[i]};

        for (size_t k = 0; k < 2; k++) {
            size_t len = strlen(parts[k]);

            if (n + len < size)
                memcpy(out + n, parts[k], len);
            n += len;
        }
    }
    out[n < size ? n : size - 1] = '\0';
}

static enum err parse_one(const char *item, size_t len, enum log_level out[LOG_AREA_COUNT], struct errctx *ec)
{
    const char *equals = memchr(item, '=', len);
    size_t area, level;
    char areas[300];

    if (!equals)
        return err_set(ec, ERR_INPUT, "\"%.*s\" is not AREA=LEVEL", (int)len, item);
    area = find(area_names, ARRAY_LEN(area_names), item, (size_t)(equals - item));
    if (area == ARRAY_LEN(area_names)) {
        list_areas(areas, sizeof areas);
        return err_set(ec, ERR_INPUT, "there is no area \"%.*s\"; there are %s", (int)(equals - item), item, areas);
    }
    level = find(level_names, ARRAY_LEN(level_names), equals + 1, len - (size_t)(equals + 1 - item));
    if (level == ARRAY_LEN(level_names))
        return err_set(ec, ERR_INPUT, "\"%.*s\" is not a level; use error, warn, info or debug",
                       (int)(len - (size_t)(equals + 1 - item)), equals + 1);
    out[area] = (enum log_level)level;
    return ERR_OK;
}

enum err log_parse_levels(const char *text, enum log_level general, enum log_level out[LOG_AREA_COUNT],
                          struct errctx *ec)
{
    enum log_level levels[LOG_AREA_COUNT];
    struct text_part item;

    for (size_t i = 0; i < LOG_AREA_COUNT; i++)
        levels[i] = general;
    while (text_next_item(&text, &item)) {
        item = text_trim_part(item);
        enum err e = item.len ? parse_one(item.at, item.len, levels, ec) : ERR_OK;

        if (e)
            return e;
    }
    memcpy(out, levels, sizeof levels);
    return ERR_OK;
}
