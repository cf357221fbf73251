/* SPDX-License-Identifier: MIT */
#include "store/run/filter.h"

#include "store/run/states.h"

/* ---- which indexes ----------------------------------------------------------------------------------------------- */

static const char *name_or_null(const char *name)
{
    return name[0] ? name : NULL;
}

static bool has_rest(const struct run_filter *filter)
{
    return (filter->job_id && filter->group) || filter->group_count > 0 || filter->states ||
           (filter->log_status >= 1 && filter->log_status <= 3) || filter->late || filter->address || filter->text;
}

static bool has_rare_codes(const struct run_filter *filter)
{
    return run_states_are_rare(filter->states) || filter->log_status == 2 || filter->log_status == 3;
}

static void plan_by_time(const struct store_features *f, const struct run_filter *filter, struct run_plan *out)
{
    const char *own = filter->job_id ? f->log_job_time_name : filter->group ? f->log_group_time_name : "";

    if (own[0]) {
        out->walk = own;
        out->exact = out->keyed = true;
        return;
    }
    out->walk = name_or_null(f->log_trigger_time_name);
    out->exact = !filter->job_id && !filter->group;
    out->sorted = name_or_null(filter->job_id ? f->log_job_id_name : filter->group ? f->log_group_name : "");
    out->by_groups =
        !filter->job_id && !filter->group && filter->group_count <= RUN_GROUPS_MAX && f->log_group_time_name[0] != '\0';
}

static void plan_by_id(const struct store_features *f, const struct run_filter *filter, struct run_plan *out)
{
    const char *own = filter->job_id ? f->log_job_id_name : filter->group ? f->log_group_name : "";
    const char *timed = filter->job_id ? f->log_job_time_name : filter->group ? f->log_group_time_name : "";
    bool in_range = filter->from_s || filter->until_s;

    out->walk = own[0] ? own : "PRIMARY";
    out->keyed = own[0] != '\0';
    out->exact = (own[0] || (!filter->job_id && !filter->group)) && !in_range;
    out->sorted = name_or_null(timed[0] ? timed : in_range ? f->log_trigger_time_name : "");
}

void run_plan_make(const struct store_features *f, const struct run_filter *filter, enum run_order order,
                   struct run_plan *out)
{
    bool rest = has_rest(filter);

    *out = (struct run_plan){0};
    if (order == RUN_BY_TIME)
        plan_by_time(f, filter, out);
    else
        plan_by_id(f, filter, out);
    out->by_groups = out->by_groups && filter->group_count > 0 && !filter->states && !filter->log_status &&
                     !filter->late && !filter->address && !filter->text;
    out->exact = out->exact && !rest;
    if (!out->exact && !out->sorted && !filter->job_id && !filter->group && has_rare_codes(filter)) {
        out->sorted = name_or_null(f->log_handle_code_name);
        out->by_codes = out->sorted != NULL;
    }
}

/* ---- conditions -------------------------------------------------------------------------------------------------- */

static void put_range(struct sqlbuf *q, const struct zone *zone, const struct run_filter *filter)
{
    if (filter->from_s)
        sql_put(q, " AND trigger_time >= ?", sql_time(zone, filter->from_s));
    if (filter->until_s)
        sql_put(q, " AND trigger_time <= ?", sql_time(zone, filter->until_s));
}

void run_put_prefix(struct sqlbuf *q, const struct zone *zone, const struct run_filter *filter, int64_t group)
{
    if (filter->job_id) {
        sql_put(q, "job_id = ?", filter->job_id);
    } else if (group) {
        sql_put(q, "job_group = ?", group);
    } else {
        sql_puts(q, "TRUE");
    }
    put_range(q, zone, filter);
}

/* A text as part of a LIKE pattern: its own wildcards are none. The escape is not the backslash, which a server may
 * take for one in a literal, or not. */
static void put_contains(struct sqlbuf *q, const char *column, const char *text)
{
    struct buf pattern = {0};

    buf_putc(&pattern, '%');
    for (const char *c = text; *c; c++) {
        if (*c == '%' || *c == '_' || *c == '|')
            buf_putc(&pattern, '|');
        buf_putc(&pattern, *c);
    }
    buf_putc(&pattern, '%');
    sql_put(q, "? LIKE ", sql_word(column));
    sql_take_text(q, &pattern, SIZE_MAX, TEXT_AS_IS);
    sql_puts(q, " ESCAPE '|'");
}

static void put_text_found(struct sqlbuf *q, const char *text)
{
    static const char *const columns[] = {"executor_param", "executor_handler", "trigger_msg", "handle_msg"};

    sql_puts(q, " AND (");
    for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
        sql_puts(q, i > 0 ? " OR " : "");
        put_contains(q, columns[i], text);
    }
    sql_puts(q, ")");
}

void run_put_rest(struct sqlbuf *q, const struct run_filter *filter)
{
    static const char *const by_status[] = {
        [1] = " AND handle_code = 200",
        [2] = " AND (trigger_code NOT IN (0, 200) OR handle_code NOT IN (0, 200))",
        [3] = " AND trigger_code = 200 AND handle_code = 0",
    };

    if (filter->job_id && filter->group) { /* the prefix has the job */
        sql_put(q, " AND job_group = ?", filter->group);
    }
    if (filter->group_count > 0)
        sql_put(q, " AND job_group IN (?)", sql_list(filter->groups, filter->group_count));
    if (filter->log_status >= 1 && filter->log_status <= 3)
        sql_puts(q, by_status[filter->log_status]);
    if (filter->states) {
        sql_puts(q, " AND ");
        run_states_put(q, filter->states);
    }
    if (filter->late)
        sql_puts(q, " AND trigger_msg LIKE '<!--sw:p:%:O%'");
    if (filter->address)
        sql_put(q, " AND executor_address = ?", filter->address);
    if (filter->text)
        put_text_found(q, filter->text);
}

/* The first condition says the same as what follows, in a form that a server reads as a range. */
static void put_beyond(struct sqlbuf *q, enum run_order order, const struct run_place *place, const char *time_than,
                       const char *id_than)
{
    if (order == RUN_BY_ID) {
        sql_put(q, " AND id ? ?", sql_word(id_than), place->id);
        return;
    }
    sql_put(q, " AND trigger_time ?= ? AND (trigger_time ? ? OR id ? ?)", sql_word(time_than), place->time,
            sql_word(time_than), place->time, sql_word(id_than), place->id);
}

/* Rows without a time are the last by time. */
static bool has_no_time(enum run_order order, const struct run_place *place)
{
    return order == RUN_BY_TIME && !place->time[0];
}

void run_put_after(struct sqlbuf *q, enum run_order order, const struct run_place *place)
{
    if (!place->id)
        return;
    if (has_no_time(order, place)) {
        sql_put(q, " AND trigger_time IS NULL AND id < ?", place->id);
    } else {
        put_beyond(q, order, place, "<", "<");
    }
}

void run_put_until(struct sqlbuf *q, enum run_order order, const struct run_place *place)
{
    if (!place->id)
        return;
    if (has_no_time(order, place)) {
        sql_put(q, " AND (trigger_time IS NOT NULL OR id >= ?)", place->id);
    } else {
        put_beyond(q, order, place, ">", ">=");
    }
}

void run_put_order(struct sqlbuf *q, enum run_order order, int64_t limit, int64_t offset)
{
    sql_puts(q, order == RUN_BY_ID ? " ORDER BY id DESC LIMIT " : " ORDER BY trigger_time DESC, id DESC LIMIT ");
    sql_int(q, limit);
    if (offset > 0)
        sql_put(q, " OFFSET ?", offset);
}

void run_put_table(struct sqlbuf *q, const char *index)
{
    sql_puts(q, " FROM xxl_job_log");
    if (index)
        sql_put(q, " FORCE INDEX (?)", sql_word(index));
    sql_puts(q, " WHERE ");
}
