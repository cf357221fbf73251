/* SPDX-License-Identifier: MIT */
/*
 * store/job: what is ours of a job (shardwheel_job), beside what the original's table says. A job has a row there only
 * where something is set. See store/conn.h for threads, ownership and errors.
 */
#ifndef SHARDWHEEL_STORE_JOB_H
#define SHARDWHEEL_STORE_JOB_H

#include "shardwheel/store/audit.h"

#define SETTING_NONE INT64_MIN     /* of a number: not set */
#define JOB_TAGS_MAX (512 * 4 + 1) /* bytes with the NUL, as below */
#define SCHEDULE_TYPE_MAX (50 * 4 + 1)
#define SCHEDULE_CONF_MAX (128 * 4 + 1)

/* Plain values: no memory of its own. */
struct job_settings {
    int64_t job_id;
    char time_zone[ZONE_NAME_MAX]; /* of its cron expression; "": not set */
    int64_t fixed_delay_s;         /* from the end of a run to the next one */
    int64_t valid_from_s;          /* its schedule has no occurrence before this instant... */
    int64_t valid_until_s;         /* ... and none at it and after it */
    int64_t retry_wait_s;          /* from a failure to its retry */
    int64_t retry_wait_max_s;      /* that wait doubles with each retry up to this */
    int64_t hold_s;                /* a fire waits so long for an executor that is away */
    int64_t resend_lost;           /* 1: a lost run is sent again */
    int64_t retention_days;        /* of its log rows */
    /* People are told of it (alarm.h): */
    int64_t success_within_s; /* when it has had no success for so long */
    int64_t longest_run_s;    /* when a run takes longer; 0: than three times what 95 % of its last 30 runs took */
    char done_by[6];          /* when it has had no success of the day by then: HH:MM in its zone; "": not set */
    char tags[JOB_TAGS_MAX];  /* words between commas; "": not set */
    int64_t kept_logs;        /* an enum kept_which: of which runs the logs are kept */
};

void job_settings_init(struct job_settings *settings, int64_t job_id); /* nothing is set */
bool job_settings_are_empty(const struct job_settings *settings);
bool job_settings_are_equal(const struct job_settings *a, const struct job_settings *b); /* but for the job */

enum setting_kind {
    SETTING_ZONE,
    SETTING_TAGS,
    SETTING_NUMBER,
    SETTING_INSTANT,
    SETTING_FLAG,
    SETTING_WORD,
    SETTING_CLOCK
};

/* A field of struct job_settings under its names. Whoever handles settings does it by these rows, so that a new one
 * needs a field and a row. The rows: src/store/job/settings_text.c. */
struct job_setting {
    const char *name;   /* of shardwheelctl and the audit log: "retry-wait" */
    const char *member; /* of api/v1: "retryWaitSeconds" */
    const char *column; /* of shardwheel_job: "retry_wait_s" */
    const char *form;   /* what its values look like, for a help text */
    enum setting_kind kind;
    size_t offset, size;      /* of the field */
    int64_t min, max;         /* of a number */
    const char *const *words; /* of a SETTING_WORD, for its numbers from 0 on; ended by NULL */
    int since; /* version of our tables that brought its column; 0: those of the version before have it */
};
size_t job_setting_count(void);
const struct job_setting *job_setting_get(size_t i);
const char *job_setting_name(size_t i);
const char *job_setting_find_text(const struct job_settings *settings, size_t i); /* NULL: it is a number */
int64_t job_setting_number(const struct job_settings *settings, size_t i);        /* SETTING_NONE: a text, or not set */
bool job_setting_is_set(const struct job_settings *settings, size_t i);
const char *job_setting_word(size_t i, int64_t number); /* of a SETTING_WORD; "" for a number that it does not know */
void job_setting_copy(struct job_settings *to, const struct job_settings *from, size_t i);
/* Appends its value as job_setting_parse takes it; "none" when it is not set. Instants are written in `zone`. */
void job_setting_put(const struct job_settings *settings, size_t i, const struct zone *zone, struct buf *out);
/* "" and "none" unset it. Instants without a zone of their own are read in `zone`. ERR_INPUT names the setting, the
 * value, and what was expected. */
MUST_CHECK enum err job_setting_parse(struct job_settings *settings, size_t i, const char *value,
                                      const struct zone *zone, struct errctx *ec);
/* An instant as settings have it: YYYY-MM-DD[ HH:MM[:SS]], with T in the place of the blank if need be, in UTC with a Z
 * behind it, else in `zone`. False: it is none. */
bool job_instant_parse(const char *value, const struct zone *zone, int64_t *out);
/* HH:MM. Pure. */
bool job_clock_parse(const char *value, int *hour, int *minute);
/* Adds and removes tags, written as job_setting_parse takes them; others keep their order. ERR_INPUT says why not. */
MUST_CHECK enum err job_tags_change(struct job_settings *settings, const char *add, const char *remove,
                                    struct errctx *ec);
/* What must hold between settings. ERR_INPUT names them. */
MUST_CHECK enum err job_settings_check(const struct job_settings *settings, struct errctx *ec);

/* Of the jobs `ids` (ascending and distinct) those that have settings, ascending. `out`: free with free. */
MUST_CHECK enum err store_load_job_settings(struct store_session *s, const int64_t *ids, size_t count,
                                            struct job_settings **out, size_t *out_count, struct errctx *ec);

struct job_retention {
    int64_t job_id;
    int64_t days;
};
/* All jobs that have a retention of their own, ascending. `out`: free with free. */
MUST_CHECK enum err store_load_retentions(struct store_session *s, struct job_retention **out, size_t *count,
                                          struct errctx *ec);

/* The zone of cron expressions on record for the cluster; "": none. */
MUST_CHECK enum err store_load_cron_zone(struct store_session *s, char out[ZONE_NAME_MAX], struct errctx *ec);

#endif
