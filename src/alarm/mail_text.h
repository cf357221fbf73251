/* SPDX-License-Identifier: MIT */
/*
 * mail_text: addresses and text of an alarm mail. Pure.
 *
 * Nothing foreign reaches a header as it is: addresses are plain ASCII without blanks, angle brackets or control
 * characters, or refused; the subject is an encoded word; the body is base64, and foreign text in it is HTML-escaped.
 */
#ifndef ALARM_MAIL_TEXT_H
#define ALARM_MAIL_TEXT_H

#include "shardwheel/store/alarm.h"

/* The comma list of a job, each address once, in order; blanks around one, and a name before one in angle brackets, do
 * no harm. */
struct mail_list {
    char **addresses;
    size_t count;
    size_t refused; /* entries that are no address */
};
MUST_CHECK enum err mail_list_parse(const char *text, struct mail_list *out, struct errctx *ec);
void mail_list_fini(struct mail_list *list);

/* The body in HTML: `text`, and below it a table of the facts (NULL: none) with the messages of the row if it
 * `failed`. */
void mail_put_body(struct buf *out, const struct alarm_facts *facts, const char *text, bool failed,
                   const char *node_name);

struct mail_facts {
    const char *subject; /* UTF-8 */
    const char *html;
    int64_t log_id;   /* for the Message-ID, as `unique` */
    const char *from; /* both are addresses */
    const char *to;
    const char *unique; /* hex text */
    int64_t now_s;
};
/* The whole message with its headers, lines ended by CRLF. */
void mail_put(struct buf *out, const struct mail_facts *facts);

#endif
