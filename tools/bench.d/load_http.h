/* SPDX-License-Identifier: MIT */
/*
 * load_http: as much of HTTP/1.1 as an executor needs: requests with a Content-Length, and the answers of an
 * admin in every form that admins send them. Pure functions on bytes; no sockets.
 */
#ifndef LOAD_HTTP_H
#define LOAD_HTTP_H

#include "load_buf.h"
#include "load_json.h"

/* A slow address answers after --answer-delay-ms; all are, unless --slow-addresses says which. */
enum address_kind { ADDRESS_NORMAL, ADDRESS_SLOW, ADDRESS_SILENT, ADDRESS_CLOSING };

/* A whole request; the slices point into the reader's buffer. */
struct request {
    struct json_slice method, path, body, token;
    bool keep_alive;
    bool expects_continue;
    int address; /* which of ours it came to, from 0 */
    enum address_kind kind;
    int64_t arrival_wall_us;
};

enum http_parse { HTTP_DONE, HTTP_MORE, HTTP_TOO_LARGE, HTTP_BAD };

/*
 * Reads the request at the head of data. *total is set once its head is whole: the bytes of head and body. On
 * HTTP_TOO_LARGE it is the length of the head alone, and *length that of the body.
 */
enum http_parse http_parse_request(const char *data, size_t len, struct request *r, size_t *total, uint64_t *length);

enum http_answer { HTTP_ANSWER_MORE, HTTP_ANSWER_SUCCESS, HTTP_ANSWER_FAILURE };

/*
 * Judges the answer in `in`, behind which a NUL stands. Success is status 200 and a JSON object with code 200.
 * `ended` says that the peer sends no more; *keep whether the connection can be used again.
 */
enum http_answer http_judge_answer(const struct buf *in, bool ended, bool *keep);

#endif
