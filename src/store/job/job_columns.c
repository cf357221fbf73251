/* SPDX-License-Identifier: MIT */
/* The columns of xxl_job_info that people change, in one table. */
#include "store/job/job_impl.h"

#include <string.h>

#define TEXT(name, column, member, chars)                                                                              \
    {                                                                                                                  \
        name, column, true, offsetof(struct job_row, member), chars                                                    \
    }
#define NUMBER(name, column, member)                                                                                   \
    {                                                                                                                  \
        name, column, false, offsetof(struct job_row, member), 0                                                       \
    }

static const struct job_column columns[] = {
    NUMBER("jobGroup", "job_group", group),
    TEXT("name", NULL, name, 255),
    TEXT("author", "author", author, 64),
    TEXT("alarmEmail", "alarm_email", email, 255),
    TEXT("scheduleType", "schedule_type", schedule_type, 50),
    TEXT("scheduleConf", "schedule_conf", schedule_conf, 128),
    TEXT("misfireStrategy", "misfire_strategy", misfire, 50),
    TEXT("executorRouteStrategy", "executor_route_strategy", route, 50),
    TEXT("executorHandler", "executor_handler", handler, 255),
    TEXT("executorParam", "executor_param", param, 0),
    TEXT("executorBlockStrategy", "executor_block_strategy", block, 50),
    NUMBER("executorTimeout", "executor_timeout", timeout_s),
    NUMBER("executorFailRetryCount", "executor_fail_retry_count", retry_count),
    TEXT("glueType", "glue_type", glue_type, 50),
    TEXT("glueSource", "glue_source", glue_source, 0),
    TEXT("glueRemark", "glue_remark", glue_remark, 128),
    TEXT("childJobId", "child_jobid", children, 255),
    NUMBER("triggerStatus", "trigger_status", status),
    NUMBER("triggerLastTime", "trigger_last_time", last_ms),
    NUMBER("triggerNextTime", "trigger_next_time", next_ms),
};

size_t job_column_count(void)
{
    return ARRAY_LEN(columns);
}

const struct job_column *job_column_get(size_t i)
{
    return &columns[i];
}

const struct job_column *job_column_find(const char *field)
{
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        if (!strcmp(columns[i].field, field))
            return &columns[i];
    return NULL;
}

const char *job_row_text(const struct job_row *row, const struct job_column *c)
{
    return *(const char *const *)((const char *)row + c->at);
}

int64_t job_row_number(const struct job_row *row, const struct job_column *c)
{
    return *(const int64_t *)((const char *)row + c->at);
}

void job_row_set_text(struct job_row *row, const struct job_column *c, const char *text)
{
    *(const char **)((char *)row + c->at) = text;
}

void job_row_set_number(struct job_row *row, const struct job_column *c, int64_t number)
{
    *(int64_t *)((char *)row + c->at) = number;
}

bool job_column_is_equal(const struct job_row *a, const struct job_row *b, const struct job_column *c)
{
    return c->is_text ? str_equal(job_row_text(a, c), job_row_text(b, c))
                      : job_row_number(a, c) == job_row_number(b, c);
}

const char *job_column_sql(const struct job_column *c, const struct store_features *features)
{
    return c->column ? c->column : job_name_column(features);
}

void job_put_value(struct sqlbuf *q, const struct job_row *row, const struct job_column *c)
{
    if (c->is_text)
        sql_text_or_null(q, job_row_text(row, c));
    else
        sql_int(q, job_row_number(row, c));
}
