/* SPDX-License-Identifier: MIT */
/* flow/template: texts with ${...} in them. What is filled in is not looked at again. */
#include "flow/impl.h"

#include <stdlib.h>
#include <string.h>

#define OFFSET_MAX 1000000

/* One ${...}. */
struct piece {
    const char *text; /* behind ${ */
    size_t len;       /* up to } */
};

/* What stands before the next ${ goes to `out`, which may be NULL; `$${` is the text "${". False: that was all. */
static enum err next_piece(const char **at, struct buf *out, struct piece *piece, bool *found, struct errctx *ec)
{
    const char *end;

    for (; **at; ++*at) {
        if (strncmp(*at, "$${", 3) == 0)
            ++*at;
        else if (strncmp(*at, "${", 2) == 0)
            break;
        if (out)
            buf_putc(out, **at);
    }
    *found = **at != '\0';
    if (!*found)
        return ERR_OK;
    end = strchr(*at, '}');
    if (!end)
        return err_set(ec, ERR_INPUT, "\"%.40s\" has no end: } is missing", *at);
    *piece = (struct piece){*at + 2, (size_t)(end - *at) - 2};
    *at = end + 1;
    return ERR_OK;
}

/* ---- due --------------------------------------------------------------------------------------------------------- */

static bool is_due(const struct piece *piece)
{
    return piece->len >= 3 && memcmp(piece->text, "due", 3) == 0 && (piece->len == 3 || strchr("+-:", piece->text[3]));
}

/* Years, months, weeks and days by the calendar of the zone; hours, minutes and seconds by the clock. */
static int64_t add_offset(const struct zone *zone, int64_t at_s, int count, char unit)
{
    struct civil civil, last;

    if (unit == 'h' || unit == 'm' || unit == 's')
        return at_s + (int64_t)count * (unit == 'h' ? 3600 : unit == 'm' ? 60 : 1);
    civil = zone_to_civil(zone, at_s);
    if (unit == 'y' || unit == 'M') {
        civil.month += unit == 'y' ? count * 12 : count;
        /* The day before the first one of the month after it. */
        last = (struct civil){.year = civil.year, .month = civil.month + 1, .day = 0, .hour = 12};
        last = zone_to_civil(zone, zone_from_civil(zone, &last));
        if (civil.day > last.day)
            civil.day = last.day;
    } else {
        civil.day += count * (unit == 'w' ? 7 : 1);
    }
    return zone_from_civil(zone, &civil);
}

/* "+1d-2h" of "due+1d-2h:FORMAT". Moves *at behind it. */
static enum err read_offsets(const char **at, const char *end, const struct zone *zone, int64_t *due_s,
                             struct errctx *ec)
{
    while (*at < end && **at != ':') {
        const char *begin = *at;
        int count = 0, sign = **at == '-' ? -1 : 1;

        if (**at != '-' && **at != '+')
            return err_set(ec, ERR_INPUT, "after \"due\": \"%.*s\" is not an offset such as -1d", (int)(end - begin),
                           begin);
        for (++*at; *at < end && **at >= '0' && **at <= '9' && count <= OFFSET_MAX; ++*at)
            count = count * 10 + (**at - '0');
        if (*at == begin + 1 || *at == end || !**at || !strchr("yMwdhms", **at))
            return err_set(ec, ERR_INPUT,
                           "after \"due\": \"%.*s\" is not an offset: a number and y, M, w, d, h, m or s",
                           (int)(end - begin), begin);
        if (count > (**at == 'y' ? 1000 : OFFSET_MAX))
            return err_set(ec, ERR_INPUT, "after \"due\": the offset \"%.*s\" is too large", (int)(end - begin), begin);
        if (zone)
            *due_s = add_offset(zone, *due_s, sign * count, **at);
        if (*due_s < -TIME_END_S || *due_s > TIME_END_S || (zone && zone_to_civil(zone, *due_s).year < 1))
            return err_set(ec, ERR_INPUT, "after \"due\": \"%.*s\" leads to a year that is not within 1 to 9999",
                           (int)(end - begin), begin);
        ++*at;
    }
    return ERR_OK;
}

/* 'a text': what is between the quotes, '' for one of them. */
static enum err put_quoted(struct buf *out, const char **at, const char *end, struct errctx *ec)
{
    const char *begin = (*at)++;

    if (*at < end && **at == '\'') {
        buf_putc(out, *(*at)++);
        return ERR_OK;
    }
    for (; *at < end; ++*at) {
        if (**at == '\'' && (*at + 1 == end || (*at)[1] != '\''))
            break;
        *at += **at == '\'';
        buf_putc(out, **at);
    }
    if (*at == end)
        return err_set(ec, ERR_INPUT, "a quote of the format has no end: %.*s", (int)(end - begin), begin);
    ++*at;
    return ERR_OK;
}

static enum err put_due(struct buf *out, const char *format, const char *end, const struct civil *t, struct errctx *ec)
{
    for (const char *at = format; at < end;) {
        char c = *at;
        int width = 0;

        if (c == '\'') {
            enum err e = put_quoted(out, &at, end, ec);
            if (e)
                return e;
            continue;
        }
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) {
            buf_putc(out, c);
            at++;
            continue;
        }
        for (; at < end && *at == c; at++)
            width++;
        if (c == 'y' && (width == 2 || width == 4))
            buf_printf(out, "%0*lld", width, (long long)(width == 2 ? t->year % 100 : t->year));
        else if (strchr("MdHms", c) && width <= 2)
            buf_printf(out, "%0*d", width,
                       c == 'M'   ? t->month
                       : c == 'd' ? t->day
                       : c == 'H' ? t->hour
                       : c == 'm' ? t->minute
                                  : t->second);
        else
            return err_set(ec, ERR_INPUT, "the format \"%.*s\" has \"%.*s\"; use yyyy, MM, dd, HH, mm and ss",
                           (int)(end - format), format, width, at - width);
    }
    return ERR_OK;
}

/* Without a zone it is only looked at. */
static enum err put_due_piece(struct buf *out, const struct piece *piece, const struct zone *zone, int64_t due_s,
                              struct errctx *ec)
{
    static const char usual[] = ":yyyy-MM-dd HH:mm:ss";
    const char *at = piece->text + 3, *end = piece->text + piece->len;
    enum err e = read_offsets(&at, end, zone, &due_s, ec);
    struct civil civil = {.year = 2000, .month = 1, .day = 1};

    if (e)
        return e;
    if (at == end) {
        at = usual;
        end = usual + sizeof usual - 1;
    }
    if (zone)
        civil = zone_to_civil(zone, due_s);
    return put_due(out, at + 1, end, &civil, ec);
}

/* ---- looking at one ---------------------------------------------------------------------------------------------- */

enum err flow_check_template(const struct flow *flow, const char *template, bool item, flow_path_check *each, void *arg,
                             struct errctx *ec)
{
    struct buf out = {0};
    struct piece piece;
    struct flow_path path;
    bool found;
    enum err e = next_piece(&template, NULL, &piece, &found, ec);

    while (!e && found) {
        if (is_due(&piece))
            e = put_due_piece(&out, &piece, NULL, 0, ec);
        else
            e = flow_parse_path(flow, piece.text, piece.len, item, &path, ec);
        if (!e && !is_due(&piece))
            e = each(&path, piece.text, piece.len, arg, ec);
        if (!e)
            e = next_piece(&template, NULL, &piece, &found, ec);
    }
    buf_fini(&out);
    return e;
}

/* ---- filling it in ----------------------------------------------------------------------------------------------- */

/* A text as it is, anything else as JSON. */
static void put_value(struct buf *out, struct json_object *value)
{
    size_t len;
    const char *text;

    if (json_object_is_type(value, json_type_string)) {
        buf_append(out, json_object_get_string(value), (size_t)json_object_get_string_len(value));
        return;
    }
    text = json_object_to_json_string_length(value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &len);
    if (text)
        buf_append(out, text, len);
    else
        out->failed = true;
}

static enum err find_piece(const struct flow_values *values, const struct piece *piece, const struct flow_item *item,
                           struct json_object **out, struct errctx *ec)
{
    struct flow_path path;
    enum err e = flow_parse_path(values->flow, piece->text, piece->len, item != NULL, &path, ec);

    return e ? e : flow_find_value(values, &path, piece->text, piece->len, item, out, ec);
}

static enum err put_piece(struct buf *out, const struct flow_values *values, const struct piece *piece,
                          const struct flow_item *item, struct errctx *ec)
{
    struct json_object *value = NULL;
    enum err e;

    if (is_due(piece))
        return put_due_piece(out, piece, values->zone, values->due_s, ec);
    e = find_piece(values, piece, item, &value, ec);
    if (!e)
        put_value(out, value);
    json_object_put(value);
    return e == ERR_NOTFOUND ? ERR_INPUT : e;
}

enum err flow_put_text(struct buf *out, const struct flow_values *values, const char *template, size_t max,
                       const struct flow_item *item, struct errctx *ec)
{
    size_t before = out->len;
    struct piece piece;
    bool found;
    enum err e = next_piece(&template, out, &piece, &found, ec);

    while (!e && found) {
        e = put_piece(out, values, &piece, item, ec);
        if (!e && out->len - before > max)
            break;
        if (!e)
            e = next_piece(&template, out, &piece, &found, ec);
    }
    if (e)
        return e;
    if (buf_failed(out))
        return err_set(ec, ERR_NOMEM, "out of memory");
    if (out->len - before > max)
        return err_set(ec, ERR_INPUT, "the text is longer than %zu bytes", max);
    if (out->len > before && memchr(out->data + before, '\0', out->len - before))
        return err_set(ec, ERR_INPUT, "the text has a NUL");
    return ERR_OK;
}

/* ---- items and parameters ---------------------------------------------------------------------------------------- */

void flow_free_items(char **items, size_t count)
{
    for (size_t i = 0; items && i < count; i++)
        free(items[i]);
    free(items);
}

static enum err copy_items(struct json_object *array, char ***items, size_t *count, struct errctx *ec)
{
    size_t n = json_object_array_length(array);
    char **list = calloc(n + 1, sizeof *list);

    if (!list)
        return err_set(ec, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < n; i++) {
        const char *text = json_object_to_json_string_ext(json_object_array_get_idx(array, i),
                                                          JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
        list[i] = text ? strdup(text) : NULL;
        if (!list[i]) {
            flow_free_items(list, n);
            return err_set(ec, ERR_NOMEM, "out of memory");
        }
    }
    *items = list;
    *count = n;
    return ERR_OK;
}

enum err flow_load_items(const struct flow_values *values, size_t step, char ***items, size_t *count, struct errctx *ec)
{
    const char *text = values->flow->steps[step].items;
    struct piece piece = {text, strlen(text)};
    struct json_object *value = NULL;
    enum err e = find_piece(values, &piece, NULL, &value, ec);

    if (!e && !json_object_is_type(value, json_type_array))
        e = err_set(ec, ERR_INPUT, "%s is not an array", text);
    else if (!e && json_object_array_length(value) > FLOW_ITEMS_MAX)
        e = err_set(ec, ERR_INPUT, "%s has %zu items; %d are allowed", text, json_object_array_length(value),
                    FLOW_ITEMS_MAX);
    else if (!e)
        e = copy_items(value, items, count, ec);
    json_object_put(value);
    return e == ERR_NOTFOUND ? ERR_INPUT : e;
}

/* `text` is one path and nothing else: then its value keeps its type. */
static bool is_one_path(const char *text, struct piece *piece)
{
    size_t len = strlen(text);

    if (strncmp(text, "${", 2) != 0 || strchr(text, '}') != text + len - 1)
        return false;
    *piece = (struct piece){text + 2, len - 3};
    return !is_due(piece);
}

static enum err fill_in(const struct flow_values *values, const char *text, struct json_object **out, struct errctx *ec)
{
    struct buf filled = {0};
    struct piece piece;
    enum err e;

    if (is_one_path(text, &piece)) {
        e = find_piece(values, &piece, NULL, out, ec);
        return e == ERR_NOTFOUND ? ERR_INPUT : e;
    }
    e = flow_put_text(&filled, values, text, FLOW_RESULT_MAX, NULL, ec);
    if (!e)
        *out = json_object_new_string_len(filled.len ? filled.data : "", (int)filled.len);
    if (!e && !*out)
        e = err_set(ec, ERR_NOMEM, "out of memory");
    buf_fini(&filled);
    return e;
}

enum err flow_put_parameters(struct buf *out, const struct flow_values *values, size_t step, struct errctx *ec)
{
    struct json_object *members = values->flow->steps[step].members;
    struct json_object *filled = json_object_new_object();
    enum err e = filled ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");

    if (!e && members) {
        json_object_object_foreach(members, name, member)
        {
            struct json_object *value = NULL;
            if (json_object_is_type(member, json_type_string))
                e = fill_in(values, json_object_get_string(member), &value, ec);
            else
                value = json_object_get(member);
            if (e) {
                err_wrap(ec, e, "parameter \"%s\"", name);
                break;
            }
            if (json_object_object_add(filled, name, value)) {
                json_object_put(value);
                e = err_set(ec, ERR_NOMEM, "out of memory");
                break;
            }
        }
    }
    if (!e)
        put_value(out, filled);
    if (!e && buf_failed(out))
        e = err_set(ec, ERR_NOMEM, "out of memory");
    json_object_put(filled);
    return e;
}
