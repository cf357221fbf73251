/* SPDX-License-Identifier: MIT */
/*
 * alarm: tells people of failed fires by mail, one after another, on a thread of its own.
 *
 * Threads     alarms_can_take and alarms_post belong to one caller (the failure monitor); the thread `alarms` sends.
 * Invariants  Every posted row (alarm_status -1) ends as 2 or 3, or 1 when its job is gone, unless the process is
 *             killed: such a row keeps its -1, as with the original.
 * Limits      ALARMS_QUEUE_MAX rows wait; beyond it, and without settings for mails, alarms_can_take says no.
 */
#ifndef SHARDWHEEL_ALARM_H
#define SHARDWHEEL_ALARM_H

#include "shardwheel/base.h"

struct resolver;
struct store;

#define ALARMS_QUEUE_MAX 10000

enum mail_tls {
    MAIL_TLS_NONE,
    MAIL_TLS_TRY,      /* STARTTLS where the server offers it */
    MAIL_TLS_STARTTLS, /* STARTTLS or no mail */
    MAIL_TLS_WRAPPED,  /* TLS from the first byte on */
};

struct mail_opts {
    const char *host; /* "": no mail is sent */
    int port;
    const char *username; /* "": no login */
    const char *password;
    const char *from; /* "": no mail is sent */
    enum mail_tls tls;
    bool verify; /* the server's certificate */
};

struct alarms_opts {
    const char *node_name; /* shown in mails */
    struct mail_opts mail;
    struct resolver *resolver; /* of the mail server's name; outlives the alarms */
    struct store *store;
};

struct alarms;

/* Settings with which no mail can be sent are told by a log line; then alarms_can_take always says no. */
MUST_CHECK enum err alarms_create(const struct alarms_opts *opts, const struct clock *clock, struct counters *counters,
                                  struct alarms **out, struct errctx *ec);
MUST_CHECK enum err alarms_start(struct alarms *a, struct errctx *ec);
bool alarms_can_take(struct alarms *a, size_t count); /* so many more */
void alarms_post(struct alarms *a, int64_t log_id);   /* after alarms_can_take said yes */
void alarms_stop(struct alarms *a); /* what waits is ended as failed; the mail under way within about a second */
void alarms_join(struct alarms *a);
void alarms_destroy(struct alarms *a); /* NULL is fine */

#endif
