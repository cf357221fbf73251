/* SPDX-License-Identifier: MIT */
#include "http/executor/callbacks.h"

#include <stdlib.h>
#include <string.h>

#define NO_LIST "an array of callbacks or an object with callbackList was expected"

/* ---- one element ------------------------------------------------------------------------------------------------- */

/* The members that count. Of two with one name the last is meant. */
struct element {
    struct json_value id, code, message, nested_code, nested_message;
};

static void read_nested(const struct json_value *object, struct element *out)
{
    struct json_place place = {0};
    struct json_value name, value;

    out->nested_code = out->nested_message = (struct json_value){0};
    while (json_next_member(object, &place, &name, &value)) {
        if (json_is_text(&name, "code"))
            out->nested_code = value;
        else if (json_is_text(&name, "msg"))
            out->nested_message = value;
    }
}

static void read_element(const struct json_value *object, struct element *out)
{
    struct json_place place = {0};
    struct json_value name, value;

    memset(out, 0, sizeof *out);
    while (json_next_member(object, &place, &name, &value)) {
        if (json_is_text(&name, "logId"))
            out->id = value;
        else if (json_is_text(&name, "handleCode"))
            out->code = value;
        else if (json_is_text(&name, "handleMsg"))
            out->message = value;
        else if (json_is_text(&name, "executeResult"))
            read_nested(&value, out);
    }
}

/* ---- its meaning ------------------------------------------------------------------------------------------------- */

static void complain(struct callback_reader *reader, const char *what, const struct json_value *value)
{
    struct buf shown = {0};

    if (reader->malformed++)
        return;
    if (value->kind != JSON_ABSENT)
        json_put_value(&shown, value, 100);
    err_set(&reader->complaint, ERR_INPUT, "callback %zu: %s%s%.100s", reader->index, what,
            value->kind != JSON_ABSENT ? ", but it is " : "", shown.data && !buf_failed(&shown) ? shown.data : "");
    buf_fini(&shown);
}

/* A text as it is, null as NULL, any other value as JSON text. */
static enum err read_message(const struct json_value *value, char **out, size_t *bytes, struct errctx *ec)
{
    struct buf text = {0};

    *out = NULL;
    if (value->kind == JSON_ABSENT || value->kind == JSON_NULL)
        return ERR_OK;
    buf_puts(&text, "");
    if (value->kind == JSON_TEXT)
        json_put_text(&text, value, CALLBACK_TEXT_MAX);
    else
        json_put_value(&text, value, CALLBACK_TEXT_MAX);
    *bytes = text.cap;
    *out = buf_take(&text);
    return *out ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory for a callback");
}

/* Newer executors say handleCode and handleMsg, 2.2.0 says executeResult.code and .msg, Go and Python say both. */
static enum err read_entry(struct callback_reader *reader, const struct json_value *item, struct callback_piece *piece,
                           struct errctx *ec)
{
    struct callback_entry entry = {0};
    struct element e;
    char *message;
    size_t bytes = 0;
    int64_t code;

    if (item->kind == JSON_NULL)
        return ERR_OK; /* Java executors may send null in a list; there is nothing in it */
    if (item->kind != JSON_OBJECT) {
        complain(reader, "an object was expected", item);
        return ERR_OK;
    }
    read_element(item, &e);
    if (e.id.kind == JSON_NULL)
        e.id.kind = JSON_ABSENT;
    if (!json_get_int(&e.id, INT64_MIN, INT64_MAX, &entry.log_id)) {
        complain(reader, e.id.kind != JSON_ABSENT ? "logId must be an integer" : "logId is missing", &e.id);
        return ERR_OK;
    }
    if (e.code.kind == JSON_ABSENT || e.code.kind == JSON_NULL)
        e.code = e.nested_code;
    if (e.code.kind == JSON_NULL)
        e.code.kind = JSON_ABSENT;
    if (!json_get_int(&e.code, INT32_MIN, INT32_MAX, &code)) {
        complain(reader,
                 e.code.kind != JSON_ABSENT ? "handleCode must be an integer of 32 bits" : "handleCode is missing",
                 &e.code);
        return ERR_OK;
    }
    entry.code = (int)code;
    enum err err = read_message(e.message.kind != JSON_ABSENT ? &e.message : &e.nested_message, &message, &bytes, ec);
    if (err)
        return err;
    entry.message = message;
    piece->entries[piece->count++] = entry;
    piece->bytes += bytes;
    return ERR_OK;
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

/* The array itself, or the one in callbackList; null for "none". */
static enum err find_list(const struct json_value *root, struct json_value *out, struct errctx *ec)
{
    struct json_place place = {0};
    struct json_value name, value;

    *out = root->kind == JSON_OBJECT ? (struct json_value){0} : *root;
    while (json_next_member(root, &place, &name, &value)) {
        if (json_is_text(&name, "callbackList"))
            *out = value;
    }
    return out->kind == JSON_ARRAY || out->kind == JSON_NULL ? ERR_OK : err_set(ec, ERR_INPUT, NO_LIST);
}

enum err callbacks_open(struct callback_reader *reader, const char *body, size_t len, struct errctx *ec)
{
    struct json_value root;
    enum err e = json_check(body, len, &root, ec);

    memset(reader, 0, sizeof *reader);
    errctx_clear(&reader->complaint);
    reader->piece_bytes = len / 16 < CALLBACKS_BYTES_MIN   ? CALLBACKS_BYTES_MIN
                          : len / 16 > CALLBACKS_BYTES_MAX ? CALLBACKS_BYTES_MAX
                                                           : len / 16;
    return e ? e : find_list(&root, &reader->list, ec);
}

enum err callbacks_next(struct callback_reader *reader, struct callback_piece *piece, struct errctx *ec)
{
    struct json_value item;
    enum err e = ERR_OK;

    callbacks_end_piece(piece);
    while (!e && piece->count < CALLBACKS_MAX && piece->bytes < reader->piece_bytes &&
           json_next_item(&reader->list, &reader->place, &item)) {
        e = read_entry(reader, &item, piece, ec);
        reader->index++;
    }
    return e;
}

void callbacks_get_mark(const struct callback_reader *reader, struct callback_mark *out)
{
    out->offset = reader->place.at ? (size_t)(reader->place.at - reader->list.at) : 0;
    out->index = reader->index;
    out->malformed = reader->malformed;
    out->complaint = reader->complaint;
}

void callbacks_go_to_mark(struct callback_reader *reader, const struct callback_mark *mark)
{
    reader->place.at = mark->offset ? reader->list.at + mark->offset : NULL;
    reader->index = mark->index;
    reader->malformed = mark->malformed;
    reader->complaint = mark->complaint;
}

size_t callbacks_count_left(const struct callback_reader *reader)
{
    struct json_place place = reader->place;
    struct json_value item;
    size_t n = 0;

    while (json_next_item(&reader->list, &place, &item))
        n++;
    return n;
}

void callbacks_end_piece(struct callback_piece *piece)
{
    for (size_t i = 0; i < piece->count; i++)
        free((char *)piece->entries[i].message); /* made by read_message */
    piece->count = piece->bytes = 0;
}
