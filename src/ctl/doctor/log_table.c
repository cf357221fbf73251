/* SPDX-License-Identifier: MIT */
/* xxl_job_log against its retention. */
#include "ctl/doctor/check.h"

#include <inttypes.h>
#include <stdio.h>

#define KEPT_MIN_DAYS 3 /* below it nothing is cleaned */
#define LATE_DAYS 2     /* cleaning runs once a day */
#define LARGE_ROWS INT64_C(1000000)
#define HUGE_BYTES INT64_C(50000000000)
#define DAY_S 86400

struct log_size {
    int64_t rows, bytes; /* as the server estimates */
    int64_t per_day;     /* rows */
    int64_t oldest_days;
    int64_t kept_days; /* of the longest retention: 0: for ever */
};

/* Local time of DATETIME columns so many seconds ago, as SQL. */
#define AGO "(UTC_TIMESTAMP() + INTERVAL %" PRId64 " SECOND - INTERVAL %d SECOND)"

/* No row is counted: the first row of the last day is found by its index, and then ids are subtracted. */
static enum err measure(struct doctor *d, struct log_size *out, struct errctx *ec)
{
    int64_t offset_s = zone_offset_s(store_get_zone(d->store), d->now_ms / 1000);
    struct db_rows *look = NULL;
    enum err e = doctor_look(
        d, &look, ec,
        "SELECT table_rows, data_length + index_length, (SELECT TIMESTAMPDIFF(DAY, MIN(trigger_time), " AGO ") FROM "
        "(SELECT trigger_time FROM xxl_job_log WHERE trigger_time IS NOT NULL ORDER BY id LIMIT 100) t), (SELECT "
        "MAX(retention_days) FROM shardwheel_job), (SELECT MAX(id) FROM xxl_job_log), (SELECT MIN(id) FROM (SELECT id "
        "FROM xxl_job_log WHERE trigger_time >= " AGO " ORDER BY trigger_time LIMIT 1) t) FROM "
        "information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'xxl_job_log'",
        offset_s, 0, offset_s, DAY_S);

    if (!e && db_rows_next(look)) {
        int64_t days = d->config->log_retention_days, longest = db_int(look, 3);
        int64_t newest = db_int(look, 4), first = db_int(look, 5);

        out->rows = db_int(look, 0);
        out->bytes = db_int(look, 1);
        out->oldest_days = db_int(look, 2);
        out->kept_days = days < KEPT_MIN_DAYS ? 0 : longest > days ? longest : days;
        out->per_day = first && newest >= first ? newest - first + 1 : 0;
    }
    db_rows_destroy(look);
    return e;
}

static void tell_size(struct doctor *d, const struct log_size *size, int64_t expected)
{
    if (!size->kept_days)
        doctor_tell(d, size->rows > LARGE_ROWS ? DOCTOR_WARNING : DOCTOR_NOTE, "log_kept_for_ever", "table xxl_job_log",
                    "Set xxl.job.logretentiondays to 3 or more.",
                    "No log rows are deleted (xxl.job.logretentiondays is %" PRId64 "): about %" PRId64
                    " rows, %s, and %" PRId64 " more each day.",
                    d->config->log_retention_days, size->rows, size_of_bytes(size->bytes).text, size->per_day);
    else if (expected > HUGE_BYTES && expected > 2 * size->bytes)
        doctor_tell(d, DOCTOR_WARNING, "log_grows", "table xxl_job_log",
                    "Check the space on the disk, or keep rows for fewer days.",
                    "%" PRId64 " rows per day, kept for %" PRId64 " days, need about %s; now they need %s.",
                    size->per_day, size->kept_days, size_of_bytes(expected).text, size_of_bytes(size->bytes).text);
}

static enum err check_log(struct doctor *d, struct errctx *ec)
{
    struct log_size size = {0};
    size_t before = d->report.count;
    int64_t expected;
    enum err e = measure(d, &size, ec);

    if (e)
        return e;
    expected = size.rows > 0
                   ? (int64_t)((double)size.bytes / (double)size.rows * (double)size.per_day * (double)size.kept_days)
                   : 0;
    tell_size(d, &size, expected);
    if (size.kept_days && size.oldest_days > size.kept_days + LATE_DAYS)
        doctor_tell(d, DOCTOR_WARNING, "log_not_cleaned", "table xxl_job_log",
                    "Check whether all nodes have the same xxl.job.logretentiondays, and the log of the owner of shard "
                    "0 (event=upkeep_failing).",
                    "Its oldest rows are %" PRId64 " days old, but are kept for %" PRId64 " days only.",
                    size.oldest_days, size.kept_days);
    if (d->report.count == before)
        doctor_tell(d, DOCTOR_OK, d->check->code, NULL, NULL,
                    "The log has about %" PRId64 " rows (%s), %" PRId64 " more a day; kept for %" PRId64
                    " days, this needs about %s.",
                    size.rows, size_of_bytes(size.bytes).text, size.per_day, size.kept_days,
                    size_of_bytes(expected).text);
    return ERR_OK;
}

const struct doctor_check doctor_log_checks[] = {
    {"log_size", "Old log rows are deleted.",
     (const char *const[]){"log_kept_for_ever", "log_grows", "log_not_cleaned", NULL}, DOCTOR_TABLES, check_log},
    {0},
};
