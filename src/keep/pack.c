/* SPDX-License-Identifier: MIT */
#include "keep/pack.h"

#include <stdlib.h>
#include <zlib.h>

#include "shardwheel/keep.h"

bool keep_pack(const char *text, size_t len, struct buf *out)
{
    uLongf packed_len = compressBound(len);
    unsigned char *packed = malloc(packed_len);
    bool good =
        packed && compress2(packed, &packed_len, (const unsigned char *)(text ? text : ""), len, Z_BEST_SPEED) == Z_OK;

    if (good)
        buf_append(out, packed, packed_len);
    free(packed);
    return good && !buf_failed(out);
}

enum err keep_unpack(const unsigned char *data, size_t len, size_t text_len, struct buf *out, struct errctx *ec)
{
    uLongf got = text_len < KEEP_TEXT_MAX ? text_len : KEEP_TEXT_MAX;
    char *text = malloc(got + 1);
    enum err e = ERR_OK;

    if (!text)
        return err_set(ec, ERR_NOMEM, "out of memory for a kept log of %zu bytes", text_len);
    if (uncompress((unsigned char *)text, &got, data, len) != Z_OK)
        e = err_set(ec, ERR_STATE, "the kept log cannot be read: it was changed, or is damaged");
    else
        buf_append(out, text, got);
    free(text);
    return !e && buf_failed(out) ? err_set(ec, ERR_NOMEM, "out of memory for a kept log of %zu bytes", text_len) : e;
}
