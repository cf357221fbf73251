/* SPDX-License-Identifier: MIT */
/* test_settings: a value for each setting of a job, whatever settings there are. */
#ifndef SHARDWHEEL_TESTS_STORE_TEST_SETTINGS_H
#define SHARDWHEEL_TESTS_STORE_TEST_SETTINGS_H

#include "shardwheel/store/job.h"

#include <stdio.h>

static inline const char *test_setting_value(size_t i, char out[24])
{
    const struct job_setting *row = job_setting_get(i);

    switch (row->kind) {
    case SETTING_ZONE: return "UTC";
    case SETTING_TAGS: return "a,b";
    case SETTING_CLOCK: return "06:30";
    case SETTING_FLAG: return "on";
    case SETTING_INSTANT: return "2030-01-01Z";
    case SETTING_WORD: return row->words[1];
    case SETTING_NUMBER: break;
    }
    snprintf(out, 24, "%lld", (long long)row->max);
    return out;
}

/* Without what must hold between settings. */
static inline void test_set_setting(struct job_settings *settings, size_t i)
{
    struct errctx why = {{0}};
    char text[24];

    if (job_setting_parse(settings, i, test_setting_value(i, text), NULL, &why))
        fail_msg("%s: %s", job_setting_name(i), why.text);
}

#endif
