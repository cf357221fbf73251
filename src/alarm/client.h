/* SPDX-License-Identifier: MIT */
/*
 * client: hands a mail to a server, or posts to a webhook.
 *
 * Threads     One owner, which a call holds up for 20 s at most, half of them while the name of the server is
 *             looked up. client_abort may be called by any thread.
 * Ownership   The texts of options outlive the client, but for a URL.
 */
#ifndef ALARM_CLIENT_H
#define ALARM_CLIENT_H

#include "shardwheel/alarm.h"

struct client;

enum client_outcome {
    CLIENT_SENT,
    CLIENT_REFUSED, /* no repeat helps: this one, our login, or the server's certificate is not taken */
    CLIENT_AWAY,    /* no connection, no answer in time: later may work */
};

/* ERR_INPUT when the host cannot be one. */
MUST_CHECK enum err client_create_mail(const struct mail_opts *opts, struct resolver *resolver,
                                       const struct clock *clock, struct client **out, struct errctx *ec);
/* http and https alone; certificates are checked against `ca`, a PEM file, or the system's where that is "". ERR_INPUT
 * does not show the URL: it is a secret. `guarded`: whoever gave the URL is not who runs the server, so the built-in
 * rules of executor/networks.h hold; ERR_INPUT for an IP that they refuse, names are looked at before each call. */
MUST_CHECK enum err client_create_webhook(const char *url, const char *ca, bool guarded, struct resolver *resolver,
                                          const struct clock *clock, struct client **out, struct errctx *ec);
/* from and to are plain addresses (mail_is_address). `ec` says why, unless sent. Connections are kept for the next
 * mail. */
enum client_outcome client_send_mail(struct client *c, const char *from, const char *to, const char *data, size_t len,
                                     struct errctx *ec);
/* POSTs JSON. `query` goes behind the URL's own ("" for none), `header` is one more line ("" for none).
 * CLIENT_SENT: there is an answer, its status and the first CLIENT_ANSWER_MAX bytes of it; CLIENT_REFUSED: its
 * certificate is not trusted. */
#define CLIENT_ANSWER_MAX 4096
enum client_outcome client_post(struct client *c, const char *query, const char *header, const char *body, size_t len,
                                int *status, struct buf *answer, struct errctx *ec);
/* Ends a call within about a second, the look-up of its server's name included, and all calls that follow, as
 * CLIENT_AWAY. */
void client_abort(struct client *c);
bool client_is_aborted(const struct client *c);
void client_destroy(struct client *c); /* NULL is fine */

#endif
