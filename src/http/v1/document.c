/* SPDX-License-Identifier: MIT */
/* The OpenAPI document: the pieces of openapi/, one a topic, put together. A piece is
 * {"tag":{...},"paths":{...},"schemas":{...}}; the head has what all of them share. */
#include "http/v1/write.h"

#include <string.h>

/* The assembler finds the files from the include directories; src/ is one of them. */
#define EMBED(symbol, path)                                                                                            \
    __asm__(".pushsection .rodata\n"                                                                                   \
            ".global " symbol "\n"                                                                                     \
            ".type " symbol ", @object\n" symbol ":\n"                                                                 \
            ".incbin \"" path "\"\n"                                                                                   \
            ".byte 0\n"                                                                                                \
            ".size " symbol ", . - " symbol "\n"                                                                       \
            ".popsection\n")

#define EMBED_TOPIC(name) EMBED("v1_document_" #name, "http/v1/openapi/" #name ".json");
V1_TOPICS(EMBED_TOPIC)
#undef EMBED_TOPIC
extern const char v1_document_head[];
EMBED("v1_document_head", "http/v1/openapi/head.json");

#define PIECE_OF(name) v1_document_##name,
static const char *const pieces[] = {V1_TOPICS(PIECE_OF)};
#undef PIECE_OF

static bool open_piece(const char *text, struct json_value *root)
{
    struct errctx ec;

    *root = (struct json_value){0};
    return !json_check(text, strlen(text), root, &ec);
}

/* What stands between the brackets of a value, with a comma before it where something stands there already. */
static void put_inside(struct buf *out, const struct json_value *value)
{
    if (value->kind != JSON_OBJECT || value->len < 3)
        return;
    if (!strchr("{[", out->data[out->len - 1]))
        buf_putc(out, ',');
    buf_append(out, value->at + 1, value->len - 2);
    while (out->len && strchr(" \n", out->data[out->len - 1]))
        out->data[--out->len] = '\0';
}

static void put_all(struct buf *out, const char *name, const struct json_value *first)
{
    struct json_value root, inside;

    member_object(out, name);
    put_inside(out, first);
    for (size_t i = 0; i < ARRAY_LEN(pieces) && !buf_failed(out); i++) {
        open_piece(pieces[i], &root);
        inside = v1_find_member(&root, name);
        put_inside(out, &inside);
    }
    member_object_end(out);
}

static void put_tags(struct buf *out)
{
    struct json_value root, tag;

    member_list(out, "tags");
    for (size_t i = 0; i < ARRAY_LEN(pieces) && !buf_failed(out); i++) {
        open_piece(pieces[i], &root);
        tag = v1_find_member(&root, "tag");
        if (i)
            buf_putc(out, ',');
        buf_append(out, tag.at, tag.len);
    }
    member_list_end(out);
}

void v1_put_document(struct buf *out, const struct route_call *call)
{
    struct json_value head, info, components, schemas, none = {0};
    struct buf context = {0};

    open_piece(v1_document_head, &head);
    info = v1_find_member(&head, "info");
    components = v1_find_member(&head, "components");
    schemas = v1_find_member(&head, "schemas");
    member_object(out, NULL);
    member_text(out, "openapi", "3.1.0");
    member_object(out, "info");
    member_text(out, "version", SHARDWHEEL_VERSION);
    put_inside(out, &info);
    member_object_end(out);
    member_list(out, "servers");
    member_object(out, NULL);
    v1_put_context(&context, call);
    v1_put_buf(out, "url", context.len ? context.data : "/", &context);
    member_object_end(out);
    member_list_end(out);
    put_tags(out);
    member_json(out, "security", "[{\"token\":[]},{\"session\":[]}]");
    put_all(out, "paths", &none);
    member_object(out, "components");
    put_inside(out, &components);
    put_all(out, "schemas", &schemas);
    member_object_end(out);
    member_object_end(out);
}
