/* SPDX-License-Identifier: MIT */
#include "dispatch/asking.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shardwheel/executor/request.h"
#include "shardwheel/job/codes.h"
#include "shardwheel/text.h"

/* The protocol ends with the first entry beyond this. */
#define PROTOCOL_MAX 4000
#define ADDRESS_MAX 500
#define TEXT_MAX 300

struct asking *asking_create(enum route_ask ask)
{
    struct asking *a = calloc(1, sizeof *a);

    if (a)
        a->ask = ask;
    return a;
}

void asking_destroy(struct asking *a)
{
    if (!a)
        return;
    buf_fini(&a->protocol);
    free(a);
}

static void put_entry(struct asking *a, const char *address, int code, const char *text)
{
    struct buf *out = &a->protocol;

    if (out->len > PROTOCOL_MAX) {
        a->unnamed++;
        return;
    }
    buf_puts(out, a->ask == ROUTE_ASK_ALIVE ? "<br><br>heartbeat" : "<br><br>idle check");
    buf_puts(out, "<br>address: ");
    text_put_html(out, address, strlen(address), ADDRESS_MAX);
    buf_printf(out, "<br>code: %d<br>msg: ", code);
    text = text ? text : "";
    text_put_html(out, text, strlen(text), TEXT_MAX);
}

void asking_note_no(struct asking *a, const char *address, int code, const char *text)
{
    put_entry(a, address, code, text);
    a->at++;
}

const char *asking_get_next(struct asking *a, const struct registry_group *group, int64_t now_mono_ms, int64_t left_ms,
                            int64_t timeout_ms)
{
    if (!a->end_mono_ms)
        a->end_mono_ms = now_mono_ms + (left_ms < ASK_MAX_MS ? left_ms : ASK_MAX_MS);
    for (; a->at < group->count;
         asking_note_no(a, group->addresses[a->at], CODE_FAILED, "the address is no http URL")) {
        if (now_mono_ms >= a->end_mono_ms) {
            put_entry(a, group->addresses[a->at], CODE_FAILED, "not asked: the time for asking is over");
            a->unnamed += group->count - a->at - 1;
            a->at = group->count;
            return NULL;
        }
        if (request_is_address(group->addresses[a->at])) {
            int64_t left = a->end_mono_ms - now_mono_ms;

            a->until_mono_ms = now_mono_ms + (left < timeout_ms ? left : timeout_ms);
            return group->addresses[a->at];
        }
    }
    return NULL;
}

const char *asking_get_protocol(struct asking *a)
{
    if (a->unnamed > 0)
        buf_printf(&a->protocol, "<br><br>and %zu more", a->unnamed);
    a->unnamed = 0;
    return a->protocol.len > 0 && !buf_failed(&a->protocol) ? a->protocol.data : "";
}

const char *asking_get_reason(const struct asking *a)
{
    return a->ask == ROUTE_ASK_ALIVE ? "not sent: no executor has answered that it lives"
                                     : "not sent: no executor has answered that the job is idle there";
}
