/* SPDX-License-Identifier: MIT */
/* What the body of a call has: members of objects. */
#include "http/v1/values.h"
#include "shardwheel/text.h"

#include <stdio.h>
#include <string.h>

/* ---- members ----------------------------------------------------------------------------------------------------- */

struct json_value v1_find_member(const struct json_value *object, const char *name)
{
    struct json_place place = {0};
    struct json_value member, value;

    while (json_next_member(object, &place, &member, &value)) {
        if (json_is_text(&member, name))
            return value;
    }
    return (struct json_value){0};
}

static struct json_value take_member(struct v1_object *o, const char *name)
{
    v1_note_asked(&o->asked, name);
    return v1_find_member(&o->value, name);
}

bool v1_has(struct v1_object *o, const char *name)
{
    return v1_find_member(&o->value, name).kind != JSON_ABSENT;
}

bool v1_take_null(struct v1_object *o, const char *name)
{
    return take_member(o, name).kind == JSON_NULL;
}

void v1_require(struct v1_object *o, const char *name)
{
    if (take_member(o, name).kind == JSON_ABSENT)
        v1_note(o->c, REFUSED_REQUIRED, name, "%s is missing", name);
}

/* A text without half characters, NULL when it is no such; noted. */
static const char *read_text(struct v1_call *c, const char *name, const struct json_value *value, size_t max_chars)
{
    struct buf text = {0};

    if (value->kind != JSON_TEXT) {
        v1_note_invalid(c, name, "a text");
        return NULL;
    }
    buf_append(&text, "", 0);
    if (json_put_text(&text, value, value->len))
        v1_note_invalid(c, name, "a text without NUL");
    else if (buf_failed(&text) || v1_check_length(c, name, text.data, max_chars))
        return v1_keep_buf(c, &text);
    buf_fini(&text);
    return NULL;
}

const char *v1_text(struct v1_object *o, const char *name, size_t max_chars)
{
    struct json_value value = take_member(o, name);

    return value.kind == JSON_ABSENT ? NULL : read_text(o->c, name, &value, max_chars);
}

static bool read_int(struct v1_call *c, const char *name, const struct json_value *value, int64_t min, int64_t max,
                     int64_t *out)
{
    bool number = value->kind == JSON_INT || value->kind == JSON_REAL;

    return v1_check_int(c, name, number && json_get_int(value, min, max, out), min, max);
}

int64_t v1_int(struct v1_object *o, const char *name, int64_t min, int64_t max, int64_t absent)
{
    struct json_value value = take_member(o, name);
    int64_t n;

    return value.kind != JSON_ABSENT && read_int(o->c, name, &value, min, max, &n) ? n : absent;
}

int v1_bool(struct v1_object *o, const char *name, int absent)
{
    struct json_value value = take_member(o, name);

    if (value.kind == JSON_ABSENT)
        return absent;
    if (value.kind != JSON_BOOL)
        v1_note_invalid(o->c, name, "true or false");
    return *value.at == 't';
}

int64_t v1_instant(struct v1_object *o, const char *name, int64_t absent)
{
    struct json_value value = take_member(o, name);
    int64_t ms = absent;

    if (value.kind == JSON_ABSENT)
        return absent;
    const char *text = read_text(o->c, name, &value, 64);
    if (text && !instant_parse(text, &ms))
        v1_note_invalid(o->c, name, "an instant like 2026-11-22T16:00:00.000Z");
    return ms;
}

int v1_choice(struct v1_object *o, const char *name, const char *const *choices, int absent)
{
    struct json_value value = take_member(o, name);

    if (value.kind == JSON_ABSENT)
        return absent;
    const char *text = read_text(o->c, name, &value, 100);
    return v1_find_choice(o->c, name, choices, text, absent);
}

/* How many items a list has; false when the member is no list, or too long a one. */
static bool measure_list(struct v1_call *c, const char *name, const struct json_value *list, size_t max, size_t *out)
{
    struct json_place place = {0};
    struct json_value item;

    *out = 0;
    if (list->kind != JSON_ARRAY && list->kind != JSON_ABSENT)
        v1_note_invalid(c, name, "a list");
    while (json_next_item(list, &place, &item)) {
        if (++*out > max) {
            v1_note(c, REFUSED_LENGTH, name, "%s has more than %zu items", name, max);
            return false;
        }
    }
    return *out > 0;
}

struct v1_ints v1_int_list(struct v1_object *o, const char *name, int64_t min, int64_t max, size_t max_count)
{
    struct json_value list = take_member(o, name), item;
    struct json_place place = {0};
    size_t count;

    if (!measure_list(o->c, name, &list, max_count, &count))
        return (struct v1_ints){0};
    int64_t *v = v1_keep(o->c, count * sizeof *v);
    for (size_t i = 0; v && json_next_item(&list, &place, &item); i++) {
        if (!read_int(o->c, name, &item, min, max, &v[i]))
            return (struct v1_ints){0};
    }
    return (struct v1_ints){.v = v, .count = v ? count : 0};
}

struct v1_texts v1_text_list(struct v1_object *o, const char *name, size_t max_count, size_t max_chars)
{
    struct json_value list = take_member(o, name), item;
    struct json_place place = {0};
    size_t count;

    if (!measure_list(o->c, name, &list, max_count, &count))
        return (struct v1_texts){0};
    const char **v = v1_keep(o->c, count * sizeof *v);
    for (size_t i = 0; v && json_next_item(&list, &place, &item); i++) {
        v[i] = read_text(o->c, name, &item, max_chars);
        if (!v[i])
            return (struct v1_texts){0};
    }
    return (struct v1_texts){.v = v, .count = v ? count : 0};
}

const char *v1_joined_list(struct v1_object *o, const char *name, size_t max_count, size_t max_chars, bool blanks)
{
    struct v1_texts list = v1_text_list(o, name, max_count, max_chars);
    size_t size = 1;

    for (size_t i = 0; i < list.count; i++) {
        size += strlen(list.v[i]) + 1;
        if ((!blanks && str_is_blank(list.v[i])) || strchr(list.v[i], ','))
            v1_note(o->c, REFUSED_INVALID, name, "%s: item %zu is empty, or has a comma", name, i + 1);
    }
    char *text = v1_keep(o->c, size), *at = text;
    for (size_t i = 0; at && i < list.count; i++)
        at += sprintf(at, "%s%s", i ? "," : "", list.v[i]);
    return text ? text : "";
}

static const char *take_words(struct v1_object *o, const char *name, size_t word_max, size_t max, size_t around)
{
    const char *words = v1_joined_list(o, name, 100, word_max, false);

    if (strlen(words) + around > max)
        v1_note(o->c, REFUSED_LENGTH, name, "%s must have at most %zu characters", name, max);
    return v1_has(o, name) ? words : NULL;
}

const char *v1_take_groups(struct v1_object *o, size_t around)
{
    return take_words(o, "groups", V1_APP_NAME_MAX, 4000, around);
}

const char *v1_take_tags(struct v1_object *o, size_t around)
{
    return take_words(o, "tags", V1_TAG_MAX, 2000, around);
}

struct v1_object v1_object(struct v1_object *o, const char *name)
{
    struct v1_object inner = {.c = o->c, .value = take_member(o, name)};

    if (inner.value.kind != JSON_ABSENT && inner.value.kind != JSON_OBJECT) {
        v1_note_invalid(o->c, name, "an object");
        inner.value = (struct json_value){0};
    }
    return inner;
}

struct v1_list v1_object_list(struct v1_object *o, const char *name, size_t max_count)
{
    struct v1_list list = {.c = o->c, .name = name, .value = take_member(o, name)};

    if (!measure_list(o->c, name, &list.value, max_count, &list.count))
        list = (struct v1_list){.c = o->c, .name = name};
    return list;
}

bool v1_next_object(struct v1_list *list, struct v1_object *item)
{
    *item = (struct v1_object){.c = list->c};
    if (!json_next_item(&list->value, &list->place, &item->value))
        return false;
    if (item->value.kind == JSON_OBJECT)
        return true;
    v1_note_invalid(list->c, list->name, "a list of objects");
    return false;
}

/* ---- what nobody asked for --------------------------------------------------------------------------------------- */

static int find_asked(const struct v1_asked *asked, const struct json_value *name)
{
    for (size_t i = 0; i < asked->count; i++) {
        if (json_is_text(name, asked->names[i]))
            return (int)i;
    }
    return -1;
}

void v1_end(struct v1_object *o)
{
    struct json_place place = {0};
    struct json_value name, value;
    uint64_t seen = 0;

    while (o->c->why.kind == REFUSED_NOT && json_next_member(&o->value, &place, &name, &value)) {
        int i = find_asked(&o->asked, &name);
        if (i < 0) {
            const char *text = read_text(o->c, "a member's name", &name, 200);
            if (text)
                v1_note(o->c, REFUSED_INVALID, text, "%s is not a known member", text);
        } else if (seen & UINT64_C(1) << i) {
            v1_note(o->c, REFUSED_INVALID, o->asked.names[i], "%s occurs twice", o->asked.names[i]);
        } else {
            seen |= UINT64_C(1) << i;
        }
    }
}
