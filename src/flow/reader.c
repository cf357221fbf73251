/* SPDX-License-Identifier: MIT */
#include "flow/reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void put_fault(struct flow_faults *faults, const char *where, const char *fmt, va_list args)
{
    struct flow_fault *f;

    if (faults->count++ >= FLOW_FAULTS_MAX)
        return;
    f = &faults->list[faults->count - 1];
    snprintf(f->where, sizeof f->where, "%s", where);
    vsnprintf(f->text, sizeof f->text, fmt, args);
}

void flow_add_fault(struct flow_faults *faults, const char *where, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    put_fault(faults, where, fmt, args);
    va_end(args);
}

void reader_fault(struct reader *r, const char *where, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    put_fault(r->faults, where, fmt, args);
    va_end(args);
}

/* ---- members ----------------------------------------------------------------------------------------------------- */

static void PRINTF_LIKE(3, 4) put_where(char *out, size_t size, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(out, size, fmt, args); /* a place that is very deep is cut */
    va_end(args);
}

struct where reader_where(const struct place *place, const char *member)
{
    struct where where;

    put_where(where.text, sizeof where.text, "%s/%s", place->where.text, member);
    return where;
}

void reader_fault_at(const struct place *place, const char *member, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    put_fault(place->r->faults, member ? reader_where(place, member).text : place->where.text, fmt, args);
    va_end(args);
}

bool reader_open(struct place *place, const char *const *members)
{
    if (!json_object_is_type(place->object, json_type_object)) {
        reader_fault_at(place, NULL, "an object is expected");
        return false;
    }
    json_object_object_foreach(place->object, name, value)
    {
        size_t i = 0;
        (void)value;
        while (members[i] && strcmp(members[i], name) != 0)
            i++;
        if (!members[i]) {
            struct buf known = {0};
            for (i = 0; members[i]; i++)
                buf_printf(&known, "%s%s", i ? ", " : "", members[i]);
            reader_fault_at(place, NULL, "the member \"%.60s\" is unknown; known are %s", name,
                            buf_failed(&known) ? "others" : known.data);
            buf_fini(&known);
        }
    }
    return true;
}

struct json_object *reader_find(const struct place *place, const char *name)
{
    struct json_object *value = NULL;

    json_object_object_get_ex(place->object, name, &value);
    return value;
}

static struct json_object *find_member(struct place *place, const char *name, bool needed)
{
    struct json_object *value = reader_find(place, name);

    if (!value && needed)
        reader_fault_at(place, NULL, "\"%s\" is missing", name);
    return value;
}

const char *reader_text(struct place *place, const char *name, bool needed)
{
    struct json_object *value = find_member(place, name, needed);
    size_t len = value ? (size_t)json_object_get_string_len(value) : 0;

    if (!value)
        return NULL;
    if (!json_object_is_type(value, json_type_string))
        reader_fault_at(place, name, "a text is expected");
    else if (len > FLOW_TEXT_MAX)
        reader_fault_at(place, name, "the text has %zu bytes; %d are allowed", len, FLOW_TEXT_MAX);
    else if (strlen(json_object_get_string(value)) != len)
        reader_fault_at(place, name, "the text has a NUL");
    else
        return json_object_get_string(value);
    return NULL;
}

const char *reader_name(struct place *place, const char *member)
{
    const char *name = reader_text(place, member, true);

    if (name && !flow_is_name(name, strlen(name))) {
        reader_fault_at(place, member, "a name must have 1 to %d letters, digits, - and _", FLOW_NAME_MAX);
        return NULL;
    }
    return name;
}

int64_t reader_number(struct place *place, const char *name, int64_t min, int64_t max, bool needed, int64_t usual)
{
    struct json_object *value = find_member(place, name, needed);

    if (!value)
        return usual;
    if (json_object_is_type(value, json_type_int) && json_object_get_int64(value) >= min &&
        json_object_get_int64(value) <= max)
        return json_object_get_int64(value);
    reader_fault_at(place, name, "a whole number from %lld to %lld is expected", (long long)min, (long long)max);
    return usual;
}

size_t reader_word(struct place *place, const char *name, const char *const *words, size_t count, bool needed)
{
    struct json_object *value = find_member(place, name, needed);
    struct buf known = {0};

    if (!value)
        return 0;
    for (size_t i = 0; i < count; i++)
        if (json_object_is_type(value, json_type_string) && strcmp(json_object_get_string(value), words[i]) == 0)
            return i;
    for (size_t i = 0; i < count; i++)
        buf_printf(&known, "%s%s", i ? ", " : "", words[i]);
    reader_fault_at(place, name, "one of these is expected: %s", buf_failed(&known) ? "others" : known.data);
    buf_fini(&known);
    return 0;
}

struct json_object *reader_array(struct place *place, const char *name, size_t max, bool needed, size_t *count)
{
    struct json_object *array = find_member(place, name, needed);

    *count = 0;
    if (!array)
        return NULL;
    if (!json_object_is_type(array, json_type_array))
        reader_fault_at(place, name, "an array is expected");
    else if (json_object_array_length(array) > max)
        reader_fault_at(place, name, "there are %zu; at most %zu are allowed", json_object_array_length(array), max);
    else if (needed && json_object_array_length(array) == 0)
        reader_fault_at(place, name, "at least one is needed");
    else
        *count = json_object_array_length(array);
    return array;
}

struct place reader_enter(const struct place *outer, struct json_object *array, const char *name, size_t i)
{
    struct place place = {.r = outer->r, .object = json_object_array_get_idx(array, i)};

    put_where(place.where.text, sizeof place.where.text, "%s/%s/%zu", outer->where.text, name, i);
    return place;
}
