/* SPDX-License-Identifier: MIT */
/*
 * smtp: hands a mail to a server. Beside executor/curl_client.c the one file that knows libcurl.
 *
 * Threads     One owner, which a mail holds up for 20 s at most, half of them while the name of the server is
 *             looked up. smtp_abort may be called by any thread.
 * Ownership   Options are copied.
 */
#ifndef ALARM_SMTP_H
#define ALARM_SMTP_H

#include "shardwheel/alarm.h"

struct smtp;

enum smtp_outcome {
    SMTP_SENT,
    SMTP_REFUSED, /* the server answered and does not take this mail; another one may pass */
    SMTP_AWAY,    /* no connection, no TLS, no login, no answer in time */
};

/* ERR_INPUT when the host cannot be one. */
MUST_CHECK enum err smtp_create(const struct mail_opts *opts, struct resolver *resolver, const struct clock *clock,
                                struct smtp **out, struct errctx *ec);
/* from and to are plain addresses (mail_is_address). `ec` says why, unless sent. Connections are kept for the next
 * mail. */
enum smtp_outcome smtp_send(struct smtp *s, const char *from, const char *to, const char *data, size_t len,
                            struct errctx *ec);
/* Ends a mail under way within about a second, a look-up of its server's name and all mails that follow at once, as
 * SMTP_AWAY. */
void smtp_abort(struct smtp *s);
void smtp_destroy(struct smtp *s); /* NULL is fine */

#endif
