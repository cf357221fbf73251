/* SPDX-License-Identifier: MIT */
/* flow/diff: how two versions of a flow differ, in lines for people. */
#include "flow/impl.h"
#include "shardwheel/text.h"

#include <stdlib.h>
#include <string.h>

#define SHOWN_MAX 80  /* bytes of a value */
#define SHOWN_SAME 20 /* of them, before the first byte that differs */

/* An array of the document, whose items are told by their labels. */
struct list {
    struct json_object *array;
    size_t count;
    char **labels;
    size_t *partners; /* place in the other list; its count: none */
};

static struct json_object *find(struct json_object *object, const char *name)
{
    struct json_object *value = NULL;

    if (json_object_is_type(object, json_type_object))
        json_object_object_get_ex(object, name, &value);
    return value;
}

static const char *find_text(struct json_object *object, const char *name, const char *usual)
{
    struct json_object *value = find(object, name);

    return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : usual;
}

/* ---- partners ---------------------------------------------------------------------------------------------------- */

/* "step extract", "edge extract -> load on failure". */
static char *make_label(struct json_object *item, const char *word)
{
    const char *on = find_text(item, "on", "success");
    struct buf out = {0};

    if (strcmp(word, "edge") != 0)
        buf_printf(&out, "%s %s", word, find_text(item, "name", "?"));
    else
        buf_printf(&out, "edge %s -> %s%s%s", find_text(item, "from", "?"), find_text(item, "to", "?"),
                   strcmp(on, "success") == 0 ? "" : " on ", strcmp(on, "success") == 0 ? "" : on);
    return buf_take(&out);
}

static void fini_list(struct list *list)
{
    for (size_t i = 0; list->labels && i < list->count; i++)
        free(list->labels[i]);
    free(list->labels);
    free(list->partners);
}

static bool init_list(struct list *list, struct json_object *document, const char *member, const char *word)
{
    struct json_object *array = find(document, member);
    bool good;

    *list = (struct list){.array = array};
    if (json_object_is_type(array, json_type_array))
        list->count = json_object_array_length(array);
    list->labels = calloc(list->count + 1, sizeof *list->labels);
    list->partners = calloc(list->count + 1, sizeof *list->partners);
    good = list->labels && list->partners;
    for (size_t i = 0; good && i < list->count; i++) {
        list->labels[i] = make_label(json_object_array_get_idx(array, i), word);
        good = list->labels[i] != NULL;
    }
    return good;
}

static bool is_equal(struct json_object *a, struct json_object *b)
{
    return a == b || (a && b && json_object_equal(a, b));
}

/* Of items with the same label those that are equal, and then any: several edges may have one label. */
static void pair_lists(struct list *old, struct list *new)
{
    for (size_t i = 0; i < old->count; i++)
        old->partners[i] = new->count;
    for (size_t j = 0; j < new->count; j++)
        new->partners[j] = old->count;
    for (int equal = 1; equal >= 0; equal--) {
        for (size_t i = 0; i < old->count; i++) {
            for (size_t j = 0; old->partners[i] == new->count &&j < new->count; j++) {
                if (new->partners[j] < old->count || strcmp(old->labels[i], new->labels[j]) != 0 ||
                    (equal &&
                     !is_equal(json_object_array_get_idx(old->array, i), json_object_array_get_idx(new->array, j))))
                    continue;
                old->partners[i] = j;
                new->partners[j] = i;
            }
        }
    }
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* So that what differs is seen in long values, too. */
static void put_value(struct buf *out, const char *text, size_t same)
{
    size_t start = same > SHOWN_SAME && strlen(text) > SHOWN_MAX ? same - SHOWN_SAME : 0;

    while (start > 0 && ((unsigned char)text[start] & 0xc0) == 0x80)
        start--;
    buf_puts(out, start ? "..." : "");
    text_put_utf8(out, text + start, strlen(text + start), SHOWN_MAX);
}

static const char *show(struct json_object *value, bool is_there)
{
    if (!is_there)
        return "none";
    return value ? json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)
                 : "null";
}

static void put_member(struct buf *out, const char *label, const char *name, struct json_object *old,
                       struct json_object *new)
{
    struct json_object *a = NULL, *b = NULL;
    bool has_a = json_object_object_get_ex(old, name, &a), has_b = json_object_object_get_ex(new, name, &b);
    const char *text_a = show(a, has_a), *text_b = show(b, has_b);
    size_t same = 0;

    if (has_a == has_b && is_equal(a, b))
        return;
    while (text_a[same] && text_a[same] == text_b[same])
        same++;
    buf_printf(out, "~ %s%s%s: ", label, label[0] ? ": " : "", name);
    put_value(out, text_a, same);
    buf_puts(out, " -> ");
    put_value(out, text_b, same);
    buf_puts(out, "\n");
}

/* Members of both in the order of the old one, then those that are new. `skip` ends with NULL. */
static void put_members(struct buf *out, const char *label, struct json_object *old, struct json_object *new,
                        const char *const *skip)
{
    struct json_object *const sides[] = {old, new};

    for (size_t side = 0; side < 2; side++) {
        if (!json_object_is_type(sides[side], json_type_object))
            continue;
        json_object_object_foreach(sides[side], name, value)
        {
            size_t i = 0;

            (void)value;
            while (skip[i] && strcmp(skip[i], name) != 0)
                i++;
            if (!skip[i] && (side == 0 || !json_object_object_get_ex(old, name, NULL)))
                put_member(out, label, name, old, new);
        }
    }
}

static enum err put_list(struct buf *out, struct json_object *old, struct json_object *new, const char *member,
                         const char *word, struct errctx *ec)
{
    static const char *const none[] = {NULL};
    struct list a = {0}, b = {0};
    bool good = init_list(&a, old, member, word) && init_list(&b, new, member, word);

    if (good)
        pair_lists(&a, &b);
    for (size_t i = 0; good && i < a.count; i++) {
        if (a.partners[i] == b.count)
            buf_printf(out, "- %s\n", a.labels[i]);
        else
            put_members(out, a.labels[i], json_object_array_get_idx(a.array, i),
                        json_object_array_get_idx(b.array, a.partners[i]), none);
    }
    for (size_t j = 0; good && j < b.count; j++)
        if (b.partners[j] == a.count)
            buf_printf(out, "+ %s\n", b.labels[j]);
    fini_list(&a);
    fini_list(&b);
    return good ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");
}

static enum err parse(const char *text, size_t len, struct json_object **out, struct errctx *ec)
{
    enum err e = flow_parse_json(text, len, out, ec);

    return e || json_object_is_type(*out, json_type_object) ? e : err_set(ec, ERR_INPUT, "an object is expected");
}

enum err flow_put_diff(struct buf *out, const char *old, size_t old_len, const char *new, size_t new_len,
                       struct errctx *ec)
{
    static const char *const lists[] = {"parameters", "steps", "edges", NULL};
    static const char *const words[] = {"parameter", "step", "edge"};
    struct json_object *a = NULL, *b = NULL;
    enum err e = parse(old, old_len, &a, ec);

    if (!e)
        e = parse(new, new_len, &b, ec);
    if (!e)
        put_members(out, "", a, b, lists);
    for (size_t i = 0; !e && lists[i]; i++)
        e = put_list(out, a, b, lists[i], words[i], ec);
    json_object_put(a);
    json_object_put(b);
    return e;
}

bool flow_is_same_document(const char *a, const char *b)
{
    struct json_object *x = NULL, *y = NULL;
    struct errctx ec = {""};
    bool same = strcmp(a, b) == 0;

    if (!same && !parse(a, strlen(a), &x, &ec) && !parse(b, strlen(b), &y, &ec))
        same = is_equal(x, y);
    json_object_put(x);
    json_object_put(y);
    return same;
}
