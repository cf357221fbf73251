/* SPDX-License-Identifier: MIT */
#include "keep/fetch.h"

#include <stdlib.h>

#include "shardwheel/executor/http_client.h"
#include "shardwheel/executor/log_answer.h"
#include "shardwheel/executor/request.h"

#define SLACK_LINES 20 /* more than are thought to be enough for the tail */

struct fetch {
    struct fetches *of;
    struct keep_item *item;
    struct keep_text text;
    struct buf body; /* of the request under way */
    int64_t line;    /* from which on it asks */
    int pages;       /* that came */
};

static void destroy(struct fetch *fetch)
{
    keep_text_fini(&fetch->text);
    buf_fini(&fetch->body);
    free(fetch);
}

static void end(struct fetch *fetch, enum fetch_end how, bool goes_on)
{
    struct fetches *f = fetch->of;
    struct keep_item *item = fetch->item;
    struct buf whole = {0};
    bool is_cut = false;

    if (how == FETCH_KEPT) {
        keep_text_end(&fetch->text, goes_on, &whole);
        is_cut = fetch->text.is_cut;
        if (buf_failed(&whole) || buf_failed(&fetch->text.head) || buf_failed(&fetch->text.tail) || whole.len == 0)
            how = FETCH_NO_LOG;
    }
    f->count--;
    f->ended(f->arg, item, how, &whole, is_cut);
    buf_fini(&whole);
    destroy(fetch);
}

/* Of a page alone, or behind others that are kept without it. */
static void end_early(struct fetch *fetch, enum fetch_end how)
{
    if (fetch->pages > 0 && how != FETCH_ABORTED)
        end(fetch, FETCH_KEPT, /*goes_on=*/true);
    else
        end(fetch, how, false);
}

static void on_done(void *arg, const struct http_answer *http);

static bool send(struct fetch *fetch)
{
    struct fetches *f = fetch->of;
    struct keep_item *item = fetch->item;
    struct buf headers = {0};
    struct http_request request = {
        .peer = item->lane->peer,
        .path = REQUEST_PATH_LOG,
        .tls = &f->access->tls,
        .timeout_ms = f->access->timeout_ms,
        .takes_start = true,
        .done = on_done,
        .arg = fetch,
    };
    bool sent = false;

    buf_clear(&fetch->body);
    request_put_log_body(&fetch->body, item->log_id, item->trigger_ms, fetch->line);
    request_put_headers(&headers, item->app_name, item->access_token, f->access->token);
    if (!buf_failed(&headers) && !buf_failed(&fetch->body)) {
        request.headers = headers.data;
        request.headers_len = headers.len;
        request.body = fetch->body.data;
        request.body_len = fetch->body.len;
        sent = http_client_start(f->http, &request) == ERR_OK;
    }
    buf_fini(&headers);
    return sent;
}

/* The next page of a log whose page was cut, or its end where that is far away. False: this was the last one. */
static bool find_next(struct fetch *fetch, const struct log_answer *page)
{
    int64_t lines = page->to_line - page->from_line + 1, next = page->to_line + 1, wanted;

    if (fetch->pages >= PAGES_MAX || lines < 1)
        return false;
    wanted = (int64_t)(fetch->text.max / 2 / (page->len / (size_t)lines + 1)) + SLACK_LINES;
    if (page->last_line > next && page->last_line - wanted + 1 > next) {
        keep_text_skip(&fetch->text, page->last_line - wanted + 1 - next);
        next = page->last_line - wanted + 1;
    }
    fetch->line = next;
    return true;
}

static void take_page(struct fetch *fetch, const struct log_answer *page, bool cut)
{
    if (page->answer.code != CODE_OK || page->is_missing) {
        end_early(fetch, FETCH_NO_LOG);
        return;
    }
    keep_text_add(&fetch->text, page->content, page->len);
    fetch->pages++;
    if (!cut)
        end(fetch, FETCH_KEPT, /*goes_on=*/false);
    else if (!find_next(fetch, page) || !send(fetch))
        end(fetch, FETCH_KEPT, /*goes_on=*/true);
}

static void on_done(void *arg, const struct http_answer *http)
{
    struct fetch *fetch = arg;
    struct log_answer page;

    if (http->outcome != HTTP_ANSWERED) {
        end_early(fetch, http->outcome == HTTP_ABORTED                                      ? FETCH_ABORTED
                         : http->outcome == HTTP_UNREACHED || http->outcome == HTTP_TIMEOUT ? FETCH_AWAY
                                                                                            : FETCH_NO_LOG);
        return;
    }
    log_answer_parse(http->status, http->body, http->len, http->cut, fetch->line, &page);
    take_page(fetch, &page, http->cut);
    log_answer_fini(&page);
}

bool fetch_start(struct fetches *f, struct keep_item *item)
{
    struct keep_lane *lane = item->lane;
    struct fetch *fetch = calloc(1, sizeof *fetch);

    if (!fetch)
        return false;
    fetch->of = f;
    fetch->item = item;
    fetch->line = 1;
    keep_text_init(&fetch->text, f->text_max);
    f->count++;
    if ((!lane->peer && http_client_add_peer(f->http, lane->address, &lane->peer)) || !send(fetch)) {
        f->count--;
        destroy(fetch);
        return false;
    }
    return true;
}
