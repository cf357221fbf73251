/* SPDX-License-Identifier: MIT */
/*
 * words: the titles and lines of trigger_msg and handle_msg, in the languages of the original: one table. Pure.
 *
 * Reasons ("not sent: too late", "delivery unknown: ...") are no words: they are English in every language, so that
 * they can be looked for.
 */
#ifndef SHARDWHEEL_JOB_WORDS_H
#define SHARDWHEEL_JOB_WORDS_H

#include "shardwheel/job.h"

enum lang { LANG_ZH_CN, LANG_ZH_TC, LANG_EN, LANGS };
/* The value of xxl.job.i18n; anything unknown counts as zh_CN, as in the original. */
enum lang lang_parse(const char *name);

/* How trigger_msg is written: full is the layout of xxl-job 3.3 and later, else what no column has. */
struct message_style {
    enum lang lang;
    bool full;
};

enum word {
    WORD_TRIGGER_TYPE,
    WORD_DUE,
    WORD_NODE,
    WORD_ADMIN_ADDRESS,
    WORD_ADDRESS_TYPE,
    WORD_AUTOMATIC,
    WORD_MANUAL,
    WORD_ADDRESSES,
    WORD_NO_GROUP,
    WORD_MORE, /* "and %1 more" */
    WORD_ROUTE,
    WORD_BLOCK,
    WORD_TIMEOUT,
    WORD_RETRIES,
    WORD_RUN, /* title of the second block of the long form */
    WORD_ADDRESS,
    WORD_HANDLER,
    WORD_PARAM,
    WORD_RESULT,
    WORD_REFUSED,
    WORD_FAILED,
    WORD_REASON,
    WORD_RETRIED,          /* "sent again as log %1" */
    WORD_RETRY_AT,         /* the time follows */
    WORD_SKIPPED,          /* "%1 due times skipped: "; the first and the last follow */
    WORD_SKIPPED_MORE,     /* the same, "at least %1" */
    WORD_SKIPPED_LATE,     /* why: the misfire strategy follows */
    WORD_WRITTEN_AGAIN,    /* of a row or an end that the database lost */
    WORD_SKIPPED_BY_HAND,  /* ... likewise, and the time was set by hand */
    WORD_SKIPPED_RESTORED, /* ... likewise: the database was restored from a backup, and they may have run */
    WORD_CHILDREN,         /* title */
    WORD_CHILD_TRIGGERED,  /* "job %1 triggered as log %2" */
    WORD_CHILD_UNKNOWN,    /* "job %1 does not exist" */
    WORD_CHILD_ILLEGAL,    /* what is no id; the text follows */
    WORD_CHILD_TOO_DEEP,   /* "job %1 not triggered: %2 generations are the most" */
    WORDS
};
const char *word_get(enum lang lang, enum word word);
/* Appends a word with places for numbers: %1 and %2. */
void word_put(struct buf *out, enum lang lang, enum word word, long long first, long long second);
const char *word_get_kind(enum lang lang, enum trigger_kind kind);

/* The colour and the arrows with which the original sets off a title: a break on either side of the span. */
void words_put_heading(struct buf *out, const char *title);

#endif
