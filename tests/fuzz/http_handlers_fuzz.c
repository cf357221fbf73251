/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target for all that answers HTTP: requests go through head, router and handlers of the executor API, the four
 * dialects of the console, api/v1, the console's page and files, down to the store's statements, which a stranger's
 * database answers. The first eight bytes say who asks, which server, and what the database does (http_world.h); the
 * rest are requests, one behind the other.
 *
 * Oracle      A request that is refused or answered has a status of HTTP and a body by its type: what says that it is
 *             JSON is JSON. 500 is for a database that failed, or holds what it cannot hold.
 *             And nobody sees or changes what is not his: http_rights.h.
 * Run: tools/fuzz http_handlers
 */
#include "http_world.h"
#include "http_rights.h"

#include "http/head.h"
#include "http/json.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    world_begin();
    return 0;
}

static const char *get_header(const void *connection, const char *name)
{
    return head_get_field(connection, name);
}

static void give_up(const struct http_request *q, const struct http_response *r, const char *why)
{
    fprintf(stderr, "%s %s?%s as %d: %s: %d %.2000s\n", q->method, q->path, q->query, (int)world_who, why, r->status,
            r->body.data ? r->body.data : "");
    abort();
}

static void check_answer(const struct http_request *q, struct http_response *r)
{
    bool stranger_at_fault = stranger.failed || stranger.rows > STRANGER_ONE;
    struct json_value root;
    struct buf out = {0};
    struct errctx ec;

    if (r->status < 200 || r->status > 599)
        give_up(q, r, "this is no status");
    if (r->status == 500 && !stranger_at_fault)
        give_up(q, r, "our fault");
    if (!r->content_type)
        give_up(q, r, "an answer without a type");
    if (!strncmp(r->content_type, "application/json", 16) && r->body.len && !buf_failed(&r->body) &&
        json_check(r->body.data, r->body.len, &root, &ec))
        give_up(q, r, ec.text);
    rights_check(q, r);
    response_write(r, /*keep=*/true, !strcmp(q->method, "HEAD"), &out);
    if (out.len < 12 || strncmp(out.data, "HTTP/1.1 ", 9) != 0)
        give_up(q, r, "no answer was written");
    buf_fini(&out);
    response_fini(r);
}

/* The head was read; the body is what follows, as far as it goes. */
static void answer(struct http *h, const struct http_head *head, const char *body, size_t len)
{
    struct http_room room = {.max = 4u << 20};
    struct http_body owned = {0};
    struct http_response r = {.status = 500, .content_type = "application/json"};
    struct http_request q = {.method = head->method,
                             .path = head->path,
                             .query = head->query,
                             .body = "",
                             .max_body = h->opts.max_body,
                             .room = &room,
                             .trusted = h->trusted,
                             .get_header = get_header,
                             .get_next_header = head_get_next_field,
                             .connection = head};

    (void)!ip_parse("10.1.2.3", &q.peer);
    enum http_lane lane = http_admit(h, &q, &q.max_body, &r);
    if (lane == HTTP_LANE_REFUSED) {
        check_answer(&q, &r);
        return;
    }
    response_fini(&r);
    r = (struct http_response){.status = 500, .content_type = "application/json"};
    if (len > q.max_body) {
        q.body_state = BODY_TOO_LARGE;
    } else if (head->has_length && head->length > len) {
        q.body_state = stranger.seed % 2 ? BODY_BROKEN : BODY_NO_ROOM;
    } else if (len) {
        buf_append(&owned.bytes, body, len);
        q.body = owned.bytes.data;
        q.body_len = len;
    }
    http_handle(h, &q, &r);
    http_body_fini(&owned);
    check_answer(&q, &r);
    http_write_busy(h, &q, &r);
    check_answer(&q, &r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < WORLD_BYTES || rights_has_word(data, size))
        return 0;
    struct http *h = world_choose(data);
    rights_begin();
    const char *at = (const char *)data + WORLD_BYTES;
    size_t left = size - WORLD_BYTES;

    for (int i = 0; i < 8 && left; i++) {
        size_t scanned = 0, end = 0;
        struct http_head head;
        const char *why = NULL;
        if (head_find_end(at, left, &scanned, &end) != HEAD_WHOLE)
            break;
        char *text = malloc(end + 1);
        memcpy(text, at, end);
        text[end] = '\0';
        at += end;
        left -= end;
        if (!head_read(text, end, &head, &why)) {
            size_t len = head.has_length && head.length < left ? (size_t)head.length : head.has_length ? left : 0;
            if (head.chunked)
                len = left;
            answer(h, &head, at, len);
            at += len;
            left -= len;
        }
        free(text);
    }
    return 0;
}
