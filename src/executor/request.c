/* SPDX-License-Identifier: MIT */
#include "shardwheel/executor/request.h"

#include <string.h>
#include <strings.h>

const char *request_path(bool trigger_path)
{
    return trigger_path ? REQUEST_PATH_TRIGGER : REQUEST_PATH_RUN;
}

bool request_is_address(const char *address)
{
    size_t scheme = strncasecmp(address, "http://", 7) == 0 ? 7 : strncasecmp(address, "https://", 8) == 0 ? 8 : 0;

    if (!scheme || !address[scheme] || address[scheme] == '/')
        return false;
    for (const char *p = address; *p; p++)
        if ((unsigned char)*p <= ' ' || *p == 0x7f)
            return false;
    return true;
}

static void put_header(struct buf *out, const char *name, const char *value)
{
    buf_puts(out, name);
    buf_puts(out, ": ");
    while (*value) {
        size_t run = 0;

        while ((unsigned char)value[run] >= ' ' && value[run] != 0x7f)
            run++;
        buf_append(out, value, run);
        value += run + (value[run] != '\0'); /* a line end would begin a header of somebody else's choice */
    }
    buf_puts(out, "\r\n");
}

void request_put_headers(struct buf *out, const char *app_name, const char *group_token, const char *global_token)
{
    const char *token = group_token && group_token[0] ? group_token : global_token;

    put_header(out, "Content-Type", "application/json;charset=UTF-8");
    put_header(out, "XXL-JOB-APPNAME", app_name ? app_name : "");
    if (token && token[0])
        put_header(out, "XXL-JOB-ACCESS-TOKEN", token);
}

static void put_text(struct buf *out, const char *name, const char *value)
{
    buf_puts(out, name);
    buf_put_json(out, value ? value : "");
}

static void put_number(struct buf *out, const char *name, int64_t value)
{
    buf_puts(out, name);
    buf_put_int(out, value);
}

void request_put_body(struct buf *out, const struct fire *fire)
{
    const struct job_spec *job = fire->job;

    put_number(out, "{\"jobId\":", fire->job_id);
    put_text(out, ",\"executorHandler\":", job->handler);
    if (job->param) /* absent is null to the handler, "" is not */
        put_text(out, ",\"executorParams\":", job->param);
    put_text(out, ",\"executorBlockStrategy\":", job->block);
    put_number(out, ",\"executorTimeout\":", job->timeout_s);
    put_number(out, ",\"logId\":", fire->log_id);
    put_number(out, ",\"logDateTime\":", fire->due_s * 1000);
    put_text(out, ",\"glueType\":", job->glue_type);
    put_text(out, ",\"glueSource\":", job->glue_source);
    put_number(out, ",\"glueUpdatetime\":", job->glue_updated_ms);
    put_number(out, ",\"broadcastIndex\":", fire->shard_index);
    put_number(out, ",\"broadcastTotal\":", fire->shard_total);
    buf_putc(out, '}');
}

void request_put_job_body(struct buf *out, int64_t job_id)
{
    put_number(out, "{\"jobId\":", job_id);
    buf_putc(out, '}');
}

/* The time under both of its names: up to 3.4 it has the short one. */
void request_put_log_body(struct buf *out, int64_t log_id, int64_t date_ms, int64_t from_line)
{
    put_number(out, "{\"logDateTim\":", date_ms);
    put_number(out, ",\"logDateTime\":", date_ms);
    put_number(out, ",\"logId\":", log_id);
    put_number(out, ",\"fromLineNum\":", from_line);
    buf_putc(out, '}');
}
