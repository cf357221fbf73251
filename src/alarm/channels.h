/* SPDX-License-Identifier: MIT */
/*
 * channels: where alarms go, as shardwheel.alarm.channels says. Pure.
 *
 * Words between blanks: KIND=TARGET begins a channel, and secret=..., groups=APP,..., tags=TAG,..., quiet=HOURS and
 * name=... behind it belong to it. Errors name the word by its number and never show a target or a secret.
 */
#ifndef ALARM_CHANNELS_H
#define ALARM_CHANNELS_H

#include "alarm/quiet.h"

#define CHANNELS_MAX 32

/* kind, its name, the most bytes of a text that its receivers take, ms from one message to the next, and whether it
 * signs with a secret. Mails stand first, behind them webhooks alone. A kind has its counters in counters.h. */
#define CHANNEL_KINDS(X)                                                                                               \
    X(MAIL, "mail", 16000, 0, false)                                                                                   \
    X(JSON, "json", 16000, 0, true)                                                                                    \
    X(DINGTALK, "dingtalk", 3000, 3000, true)                                                                          \
    X(WECOM, "wecom", 2000, 3000, false)                                                                               \
    X(FEISHU, "feishu", 3000, 600, true)                                                                               \
    X(SLACK, "slack", 3500, 1000, false)

enum channel_kind {
#define CHANNEL_KIND_ID(id, ...) CHANNEL_##id,
    CHANNEL_KINDS(CHANNEL_KIND_ID)
#undef CHANNEL_KIND_ID
        CHANNEL_KIND_COUNT
};

struct channel_limits {
    const char *name;
    size_t text_max;
    int64_t gap_ms;
    bool signs;
};
extern const struct channel_limits channel_limits[CHANNEL_KIND_COUNT];

struct channel {
    enum channel_kind kind;
    char *name;    /* for logs; "dingtalk", or "dingtalk-2" for the second one of a kind */
    char *target;  /* URL, or mail addresses between commas. A secret */
    char *secret;  /* "" for none */
    char **groups; /* app names; none: it is for all */
    size_t group_count;
    char **tags; /* of jobs; none: it is for all, and for what is about no job */
    size_t tag_count;
    char *quiet_text; /* as it was written; "": none */
    struct quiet quiet;
    bool guarded; /* set in the console: it is called under the rules for addresses that users type */
};

struct channel_list {
    struct channel *items;
    size_t count;
};

MUST_CHECK enum err channels_parse(const char *text, struct channel_list *out, struct errctx *ec);
/* One more, which was set in the console: a webhook. ERR_INPUT: *field says which member is at fault, and the text is a
 * sentence that shows neither target nor secret; ERR_STATE: another one has that name. */
struct channel_row;
MUST_CHECK enum err channels_add(struct channel_list *list, const struct channel_row *row, const char **field,
                                 struct errctx *ec);
void channels_fini(struct channel_list *list);
/* `app`: of the group; NULL or "" where there is none, which is for channels of all groups alone. */
bool channel_serves(const struct channel *channel, const char *app);
/* `tags`: of the job, between commas; NULL: it is about no job. */
bool channel_serves_tags(const struct channel *channel, const char *tags);

#endif
