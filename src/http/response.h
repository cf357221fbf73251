/* SPDX-License-Identifier: MIT */
/* response: how the head of an answer is written; for response.c and stream.c alone. Pure. */
#ifndef HTTP_RESPONSE_H
#define HTTP_RESPONSE_H

#include "http/message.h"

struct response_framing {
    bool has_length; /* else it ends with its chunks, or with the connection */
    size_t length;
    bool chunked;
    bool gzip;
    bool varies; /* would be compressed for other clients, or is */
};

/* Its body is worth to be compressed, by its type. */
bool response_is_compressible(const struct http_response *r);
void response_write_head(const struct http_response *r, bool keep, const struct response_framing *framing,
                         struct buf *out);

#endif
