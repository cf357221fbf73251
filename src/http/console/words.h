/* SPDX-License-Identifier: MIT */
/*
 * words: the texts that clients of the consoles see: pieces that messages are put together of, in the languages of the
 * original. Facts of the interface: scripts compare them. Pure.
 *
 * To add      a text: a row of the table in words.c. What only D says otherwise is its D column.
 */
#ifndef HTTP_CONSOLE_WORDS_H
#define HTTP_CONSOLE_WORDS_H

#include "http/console/dialect.h"
#include "shardwheel/job/words.h"

enum say {
    SAY_END, /* ends a list of them */
    SAY_PLEASE_INPUT,
    SAY_PLEASE_CHOOSE,
    SAY_INVALID,
    SAY_NOT_FOUND,
    SAY_LENGTH_LIMIT,
    SAY_PERMISSION_LIMIT,
    SAY_ONE,
    SAY_DATA,
    SAY_REPEAT, /* D */
    SAY_LOGIN_EMPTY,
    SAY_LOGIN_INVALID,
    SAY_OLD_PASSWORD,
    SAY_JOB,
    SAY_JOB_ID,
    SAY_JOB_GROUP,
    SAY_JOB_DESC,
    SAY_AUTHOR,
    SAY_GLUE_TYPE,
    SAY_ROUTE_STRATEGY,
    SAY_BLOCK_STRATEGY,
    SAY_CHILD_JOB_ID,
    SAY_MISFIRE_STRATEGY,
    SAY_SCHEDULE_TYPE,
    SAY_TYPE_CANNOT_START,
    SAY_JOB_ID_INVALID,
    SAY_NO_GLUE_TYPE,
    SAY_GLUE_SOURCE,
    SAY_GLUE_REMARK,
    SAY_GLUE_REMARK_LIMIT,
    SAY_LOG_ID_INVALID,
    SAY_CLEAN_TYPE_INVALID,
    SAY_CANNOT_KILL,
    SAY_KILLED_BY_HAND,
    SAY_GROUP_TITLE,
    SAY_ADDRESSES,
    SAY_APP_NAME_LENGTH,
    SAY_ADDRESSES_EMPTY,
    SAY_ADDRESSES_INVALID,
    SAY_GROUP_IN_USE,
    SAY_GROUP_LAST,
    SAY_NO_GROUP,
    SAY_USER_NAME,
    SAY_PASSWORD,
    SAY_USER_NAME_REPEAT,
    SAY_USER_SELF,
    /* The same in every language. */
    SAY_APP_NAME,    /* "AppName" */
    SAY_JOB_HANDLER, /* "JobHandler" */
    SAY_CRON,        /* "Cron" */
    SAY_BLANK,       /* " " */
    SAY_BOUNDS,      /* "[4-20]", or what else the refusal says */
    SAY_TWO,         /* "[2]" */
    SAYS
};

const char *say_get(enum lang lang, enum dialect dialect, enum say what);

#endif
