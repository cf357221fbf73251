/* SPDX-License-Identifier: MIT */
/*
 * alarm: tells people of jobs that fail, of jobs that work again, and of executors that are gone: by mail and by
 * webhooks.
 *
 * Threads     The failure monitor calls alarms_choose and alarms_poke. The thread `alarms` decides and reads and writes
 *             the database; each receiver has a thread `alarm-%d`, so that none of them holds anybody else up.
 * Invariants  What is to be told stands in shardwheel_alarm (store/alarm.h), so it survives a node. One node of the
 *             cluster tells, by a lease of ALARMS_LEASE_MS; it begins no try when its lease is older than half of that,
 *             so two nodes that live do not tell the same. One that is killed may have told just before, and the next
 *             one tells it again.
 * Limits      ALARMS_TELLING_MAX jobs are being told of at a time; others wait in the table.
 */
#ifndef SHARDWHEEL_ALARM_H
#define SHARDWHEEL_ALARM_H

#include "shardwheel/base.h"
#include "shardwheel/counters.h"

struct channel_row;
struct config;
struct resolver;
struct store;
struct zone;

#define ALARMS_LEASE_MS 30000
#define ALARMS_TELLING_MAX 2000

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

/* The strings are borrowed until alarms_destroy, and may be secrets. */
struct alarms_opts {
    const char *node_name;
    const char *incarnation;
    struct mail_opts mail;
    const char *channels;           /* see src/alarm/channels.h */
    bool console_channels;          /* those of the table count as well, as they are there */
    const struct channel_row *rows; /* of the table; alarms_create looks there itself */
    size_t row_count;
    const char *title; /* templates, see src/alarm/template.h; "": the built-in ones */
    const char *text;
    const char *link; /* URL of the console, or "" */
    const char *ca;   /* PEM file for webhooks; "": the system's */
    int64_t quiet_ms; /* after a message about a job, or a group of executors */
    bool tell_recovery;
    bool tell_offline;
    const struct zone *zone;   /* of cron expressions; outlives the alarms. NULL: nothing is watched (store/watch.h) */
    int64_t max_year;          /* for them */
    struct resolver *resolver; /* of the receivers' names; outlives the alarms */
    struct store *store;
};
/* Fills in what the settings say; node_name, incarnation, resolver and store are the caller's. ERR_INPUT begins with
 * the key. */
MUST_CHECK enum err alarms_read_config(const struct config *config, struct alarms_opts *out, struct errctx *ec);

/* Whether mails can go to every entry of a job's list of addresses (alarm_email); a blank list has none. Pure. */
bool alarm_are_addresses(const char *list);
bool alarm_is_name(const char *text); /* of a channel or a webhook: 1 to 40 letters, digits, '.', '_' and '-' */

/* Names of the kinds of webhooks, NULL behind the last: the kinds of channels are these and "mail". */
const char *const *alarm_webhook_kinds(void);

/* A channel without what is secret of it. */
struct alarm_channel {
    const char *kind; /* "dingtalk" */
    const char *name; /* for logs: "dingtalk-2" */
    char *const *groups;
    size_t group_count; /* 0: it is for all */
    char *const *tags;
    size_t tag_count;  /* 0: likewise */
    const char *quiet; /* hours, as they were written; "": none */
    bool has_secret;
    int64_t id;           /* of the table; 0: of the settings */
    const char *host;     /* of the URL; of mails the addresses */
    const char *left_out; /* why it is not used; NULL: it is */
    int64_t changed_ms;   /* of the table; else 0 */
};
/* In their order, those of the settings first. ERR_INPUT: the setting is wrong. */
MUST_CHECK enum err alarms_list_channels(const struct alarms_opts *opts,
                                         void (*each)(void *arg, const struct alarm_channel *channel), void *arg,
                                         struct errctx *ec);

struct alarms;

/* ERR_INPUT: a channel or a template is wrong; the text begins with its key. Settings with which nobody can be told are
 * logged; then no thread is started. */
MUST_CHECK enum err alarms_create(const struct alarms_opts *opts, const struct clock *clock, struct counters *counters,
                                  struct alarms **out, struct errctx *ec);
MUST_CHECK enum err alarms_start(struct alarms *a, struct errctx *ec);
/* Whether a failure of a job of that group (NULL: not known) can be told. *wanted: in, the job names mail addresses;
 * out, somebody wants to be told. */
bool alarms_choose(struct alarms *a, const char *app, bool *wanted);
void alarms_poke(struct alarms *a); /* there is something new in the table */
void alarms_stop(struct alarms *a); /* calls under way end within about a second; the rest is left to other nodes */
void alarms_join(struct alarms *a);
void alarms_destroy(struct alarms *a); /* NULL is fine */

/* Whether a channel of the table could be used as it is, beside those of the settings and the other rows. ERR_INPUT,
 * ERR_STATE with *field as in channels_add. */
MUST_CHECK enum err alarms_check_channel(const struct alarms_opts *opts, const struct channel_row *row,
                                         const struct clock *clock, const char **field, struct errctx *ec);

/* Sends a message of test to each channel that serves the group ("" for all channels), and by mail to the sender's own
 * address, once each; to `channel` alone where that is not NULL (one of mails stands for all mails). Store and
 * incarnation are not used. `each` is called for each receiver, in their order; `error` is NULL for one that took it.
 * Waits for all of them, 25 s at most. */
MUST_CHECK enum err alarms_test(const struct alarms_opts *opts, const char *app, const char *channel,
                                const struct clock *clock,
                                void (*each)(void *arg, const char *channel, const char *to, const char *error),
                                void *arg, struct errctx *ec);

#endif
