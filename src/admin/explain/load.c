/* SPDX-License-Identifier: MIT */
/* The facts of an explanation: what of the tables concerns one job in a time range, bounded. */
#include "admin/admin_impl.h"
#include "admin/explain/outages.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shardwheel/admin/reasons.h"
#include "shardwheel/config.h"
#include "shardwheel/store/history.h"
#include "shardwheel/store/jobs.h"
#include "shardwheel/store/later.h"
#include "shardwheel/store/runs.h"

#define LIMIT_MS 3000
#define CHANGES_MAX 500
#define LATER_LOADED 200
#define ROWS_MAX 6000
#define LOOK_MAX 1000000 /* rows that a search without a fitting index looks at */
#define RETRY_ROUNDS 10  /* of links to rows that are not in the range */
#define LATE_S 3600      /* a fire of the range may have gone out so long behind it */
#define DAY_MS (24 * INT64_C(3600000))
#define CRON_YEARS 100

/* Everything that facts point to. */
struct loaded {
    struct explain_facts facts;
    struct job_list job;
    struct job_settings *settings;
    size_t settings_count;
    char values[FIELDS][ZONE_NAME_MAX + 64];
    struct zone *utc;
    struct job_changes changes;
    struct explain_change *change_list;
    struct explain_asked *asked;
    struct explain_outages outages;
    struct later_page later;
    struct run_ids ids;
    struct told_rows rows[RETRY_ROUNDS + 1];
    size_t rounds;
    struct explain_row *row_list;
    struct buf texts; /* plain reasons; rows have offsets until all are there */
    int64_t group;
    bool whole; /* all of the range, or nothing */
    bool is_cut;
};

static void loaded_destroy(struct loaded *l)
{
    if (!l)
        return;
    job_list_fini(&l->job);
    free(l->settings);
    zone_destroy(l->utc);
    job_changes_fini(&l->changes);
    free(l->change_list);
    free(l->asked);
    explain_outages_fini(&l->outages);
    later_page_fini(&l->later);
    run_ids_fini(&l->ids);
    for (size_t i = 0; i < l->rounds; i++)
        told_rows_fini(&l->rows[i]);
    free(l->row_list);
    buf_fini(&l->texts);
    free(l);
}

void explanation_fini(struct explanation *ex)
{
    free(ex->items);
    loaded_destroy(ex->facts);
    *ex = (struct explanation){0};
}

static enum err no_memory(struct errctx *ec)
{
    return err_set(ec, ERR_NOMEM, "out of memory for the explanation");
}

/* ---- the job ----------------------------------------------------------------------------------------------------- */

static const char *find_value(const struct loaded *l, enum explain_field f)
{
    const struct job_row *row = &l->job.rows[0];

    switch (f) {
    case FIELD_TYPE: return row->schedule_type ? row->schedule_type : "";
    case FIELD_CONF: return row->schedule_conf ? row->schedule_conf : "";
    case FIELD_RUNNING: return row->status == 1 ? "true" : "false";
    case FIELD_TIME_ZONE:
    case FIELD_FIXED_DELAY:
    case FIELD_VALID_FROM:
    case FIELD_VALID_UNTIL:
    case FIELDS: break;
    }
    return l->values[f];
}

static void put_settings(struct loaded *l)
{
    struct job_settings none;
    const struct job_settings *settings = l->settings_count > 0 ? l->settings : &none;

    job_settings_init(&none, l->facts.job_id);
    for (size_t f = 0; f < FIELDS; f++)
        for (size_t i = 0; i < job_setting_count(); i++) {
            struct buf text = {0};
            if (strcmp(job_setting_name(i), explain_field_names[f]) != 0)
                continue;
            job_setting_put(settings, i, l->utc, &text);
            snprintf(l->values[f], sizeof l->values[f], "%s", text.data ? text.data : "none");
            buf_fini(&text);
        }
}

static enum err load_job(struct admin *a, struct store_session *s, struct loaded *l, struct errctx *ec)
{
    int64_t id = l->facts.job_id, days = 0;
    enum err e = zone_load("UTC", &l->utc, ec);

    if (!e)
        e = store_load_jobs(s, &id, 1, &l->job, ec);
    if (!e)
        e = store_load_job_settings(s, &id, 1, &l->settings, &l->settings_count, ec);
    if (e)
        return e;
    l->facts.found = l->job.count > 0;
    put_settings(l);
    days = a->opts.config && a->opts.config->log_retention_days >= 3 ? a->opts.config->log_retention_days : 0;
    if (l->settings_count > 0 && l->settings->retention_days > 0)
        days = l->settings->retention_days;
    l->facts.kept_from_ms = days ? l->facts.now_ms - days * DAY_MS : 0;
    if (!l->facts.found)
        return ERR_OK;
    l->group = l->job.rows[0].group;
    l->facts.next_ms = l->job.rows[0].next_ms;
    l->facts.added_ms = l->job.rows[0].added_s == TIME_NONE ? 0 : l->job.rows[0].added_s * 1000;
    for (size_t f = 0; f < FIELDS; f++)
        l->facts.now[f] = find_value(l, (enum explain_field)f);
    return ERR_OK;
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

static bool says_anything(const struct job_change_row *row)
{
    for (size_t f = 0; f < FIELDS; f++)
        if (row->before[f] || row->after[f])
            return true;
    return false;
}

static void take_change(struct loaded *l, const struct job_change_row *row)
{
    struct explain_change *c = &l->change_list[l->facts.change_count];

    if (row->run > 0)
        l->asked[l->facts.asked_count++] = (struct explain_asked){row->run, row->at_ms, row->who, row->via};
    if (!says_anything(row) || row->run > 0)
        return;
    *c = (struct explain_change){.at_ms = row->at_ms,
                                 .by_others = row->by_others,
                                 .who = row->who,
                                 .via = row->via,
                                 .added = !row->before[FIELD_TYPE] && row->after[FIELD_TYPE] &&
                                          strcmp(row->action, "job.add") == 0,
                                 .removed = !row->after[FIELD_TYPE] && strcmp(row->action, "job.remove") == 0};
    memcpy(c->before, row->before, sizeof c->before);
    memcpy(c->after, row->after, sizeof c->after);
    l->facts.change_count++;
}

static enum err load_changes(struct store_session *s, struct loaded *l, struct errctx *ec)
{
    /* Who stopped it may have done so long before the range; and before an edit by others an older change tells. */
    enum err e = store_load_job_changes(s, l->facts.job_id, explain_field_names, FIELDS, /*from_ms=*/0, CHANGES_MAX,
                                        LIMIT_MS, &l->changes, ec);

    if (e)
        return e;
    l->change_list = calloc(l->changes.count + 1, sizeof *l->change_list);
    l->asked = calloc(l->changes.count + 1, sizeof *l->asked);
    if (!l->change_list || !l->asked)
        return no_memory(ec);
    for (size_t i = 0; i < l->changes.count; i++) {
        take_change(l, &l->changes.items[i]);
        l->group = !l->facts.found && l->changes.items[i].job_group ? l->changes.items[i].job_group : l->group;
    }
    if (l->changes.cut) /* what was before the oldest of them is not known */
        l->change_list[0].by_others = true;
    l->facts.changes = l->change_list;
    l->facts.asked = l->asked;
    return ERR_OK;
}

/* ---- later rows -------------------------------------------------------------------------------------------------- */

static enum err load_later(struct store_session *s, struct loaded *l, struct errctx *ec)
{
    enum err e = store_list_later(s, l->facts.job_id, LATER_LOADED, &l->later, ec);

    l->facts.later = l->later.rows;
    l->facts.later_count = l->later.count;
    return e;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void read_mark(const struct loaded *l, const struct told_row *told, struct explain_row *row)
{
    char incarnation[INCARNATION_MAX];

    if (fire_parse_mark(told->head, &row->fire))
        row->mark = MARK_PLANNED;
    else if (fire_parse_direct_mark(told->head, &row->fire, incarnation))
        row->mark = MARK_DIRECT;
    else if (fire_parse_skipped_mark(told->head, &row->skipped))
        row->mark = MARK_SKIPPED;
    for (size_t i = 0; i < l->later.count; i++)
        if (l->later.rows[i].log_id == told->id && !l->later.rows[i].planned) {
            row->mark = MARK_HELD;
            row->fire.original_due_s = l->later.rows[i].original_due_s;
            row->fire.kind = l->later.rows[i].kind;
        }
}

static void read_row(struct loaded *l, const struct told_row *told, bool in_range, struct explain_row *row)
{
    enum run_state state = run_state_find(told->trigger_code, told->handle_code, told->head, told->handle_head);

    *row = (struct explain_row){.id = told->id,
                                .triggered_s = told->triggered_s,
                                .handled_s = told->handled_s,
                                .trigger_code = told->trigger_code,
                                .handle_code = told->handle_code,
                                .in_range = in_range,
                                .address = told->address,
                                .retry_id = fire_find_retry_link(told->tail),
                                .retries_left = told->retries_left,
                                .cause = explain_find_cause(told->tail),
                                .delivery_unknown = state == RUN_UNKNOWN,
                                .lost = state == RUN_LOST,
                                .blocked =
                                    strstr(told->tail, EXPLAIN_BLOCKED) || strstr(told->handle_head, EXPLAIN_BLOCKED),
                                .killed = explain_is_killed(told->handle_head)};
    read_mark(l, told, row);
    if (row->mark == MARK_SKIPPED)
        explain_find_skip(told->tail, &row->skip, &row->misfire);
    row->killer = explain_keep(&l->texts, explain_put_killer, told->handle_head);
    row->trigger_text = explain_keep(&l->texts, explain_put_reason, told->tail);
    row->handle_text = explain_keep(&l->texts, explain_put_reason, told->handle_head);
    row->value = (const char *)(uintptr_t)l->texts.len;
    row->said = run_said_name(&(struct run_said){state, told->handle_code, told->tail, told->handle_head}, &l->texts);
    buf_putc(&l->texts, '\0');
}

static enum err add_rows(struct loaded *l, const struct told_rows *told, bool in_range, struct errctx *ec)
{
    size_t n = l->facts.row_count;
    struct explain_row *grown = realloc(l->row_list, (n + told->count + 1) * sizeof *grown);

    if (!grown)
        return no_memory(ec);
    l->row_list = grown;
    for (size_t i = 0; i < told->count; i++)
        read_row(l, &told->items[i], in_range, &grown[n++]);
    qsort(grown, n, sizeof *grown, compare_int64);
    l->facts.rows = grown;
    l->facts.row_count = n;
    return ERR_OK;
}

static void settle_texts(struct loaded *l)
{
    for (size_t i = 0; i < l->facts.row_count; i++) {
        l->row_list[i].trigger_text = l->texts.data + (uintptr_t)l->row_list[i].trigger_text;
        l->row_list[i].handle_text = l->texts.data + (uintptr_t)l->row_list[i].handle_text;
        l->row_list[i].value = l->texts.data + (uintptr_t)l->row_list[i].value;
        l->row_list[i].killer = l->texts.data + (uintptr_t)l->row_list[i].killer;
    }
}

/* Retries that are not among the rows: those of one round may have others. */
static enum err load_retries(struct store_session *s, struct loaded *l, struct errctx *ec)
{
    int64_t *ids = NULL;
    size_t n = 1;
    enum err e = ERR_OK;

    while (!e && n > 0 && l->rounds < ARRAY_LEN(l->rows)) {
        n = 0;
        free(ids);
        ids = calloc(l->facts.row_count + 1, sizeof *ids);
        if (!ids)
            return no_memory(ec);
        for (size_t i = 0; i < l->facts.row_count; i++) {
            int64_t id = l->row_list[i].retry_id;
            if (id > l->row_list[i].id && !explain_find_row(&l->facts, id))
                ids[n++] = id;
        }
        if (n == 0)
            break;
        e = store_load_told_rows(s, l->facts.job_id, ids, n, &l->rows[l->rounds], ec);
        if (e)
            break;
        n = l->rows[l->rounds].count;
        e = add_rows(l, &l->rows[l->rounds++], /*in_range=*/false, ec);
    }
    free(ids);
    return e;
}

static enum err load_rows(struct store_session *s, struct loaded *l, struct errctx *ec)
{
    struct run_query query = {.filter = {.job_id = l->facts.job_id,
                                         .from_s = time_floor_div(l->facts.from_ms, 1000),
                                         .until_s = time_floor_div(l->facts.to_ms, 1000) + LATE_S},
                              .order = RUN_BY_TIME,
                              .want = ROWS_MAX,
                              .limit_ms = LIMIT_MS,
                              .look_max = LOOK_MAX};
    enum err e = store_search_runs(s, &query, &l->ids, ec);

    if (!e && (l->ids.stop != RUN_STOP_NOT || !l->ids.is_end))
        e = err_set(ec, ERR_TIMEOUT, "too many rows");
    if (!e)
        e = store_load_told_rows(s, l->facts.job_id, l->ids.ids, l->ids.count, &l->rows[0], ec);
    if (e)
        return e;
    l->rounds = 1;
    e = add_rows(l, &l->rows[0], /*in_range=*/true, ec);
    if (!e)
        e = load_retries(s, l, ec);
    if (!e && buf_failed(&l->texts))
        e = no_memory(ec);
    if (!e)
        settle_texts(l);
    return e;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

/* The due times alone say how far one call goes: no more rows are read than that. */
static enum err shorten(struct loaded *l, struct errctx *ec)
{
    struct explanation ex;
    enum err e = explain_decide(&l->facts, &ex, ec);

    if (e)
        return e;
    l->is_cut = ex.until_ms < l->facts.to_ms;
    l->facts.to_ms = ex.until_ms;
    explanation_fini(&ex);
    return ERR_OK;
}

static enum err load_all(struct admin *a, const struct actor *actor, struct store_session *s, struct loaded *l,
                         struct refusal *r)
{
    enum err e = store_load_wall_ms(s, &l->facts.now_ms, &r->text);

    if (!e)
        e = load_job(a, s, l, &r->text);
    if (!e)
        e = load_changes(s, l, &r->text);
    if (!e && l->group == 0)
        return refuse(r, REFUSED_UNKNOWN, "id", "there is no job %" PRId64 ", and there are no records of one",
                      l->facts.job_id);
    if (!e && refuse_unless(actor, RIGHT_SEE, l->group, r))
        return ERR_DENIED;
    if (!e)
        e = explain_load_outages(s, &l->facts, &l->outages, &r->text);
    if (!e) {
        l->facts.outages = l->outages.items;
        l->facts.outage_count = l->outages.count;
        e = load_later(s, l, &r->text);
    }
    if (!e)
        e = shorten(l, &r->text);
    if (!e && !(l->whole && l->is_cut)) {
        e = load_rows(s, l, &r->text);
        l->is_cut = l->is_cut || e == ERR_TIMEOUT;
        e = l->whole && e == ERR_TIMEOUT ? ERR_OK : e;
    }
    if (e == ERR_TIMEOUT)
        return refuse(r, REFUSED_LIMIT, NULL, "the log has too many rows in this time range: use a shorter one");
    return e;
}

static enum err check_range(const struct actor *actor, int64_t from_ms, int64_t to_ms, struct refusal *r)
{
    enum err e = refuse_unless_sees(actor, r);

    if (e)
        return e;
    if (from_ms <= 0)
        return refuse(r, REFUSED_INVALID, "from", "from must be after 1970");
    if (to_ms <= from_ms)
        return refuse(r, REFUSED_INVALID, "to", "to must be after from");
    if (to_ms - from_ms > EXPLAIN_DAYS * DAY_MS)
        return refuse(r, REFUSED_INVALID, "to", "one call can have at most %d days", EXPLAIN_DAYS);
    return ERR_OK;
}

enum err explain_job(struct admin *a, const struct actor *actor, int64_t job_id, int64_t from_ms, int64_t to_ms,
                     bool whole, struct explanation *out, struct refusal *r)
{
    struct store_session *s = NULL;
    struct loaded *l = NULL;
    enum err e = check_range(actor, from_ms, to_ms, r);

    if (!e)
        e = admin_take_session(a, &s, r);
    if (e)
        return e;
    l = calloc(1, sizeof *l);
    if (l) {
        l->whole = whole;
        l->facts = (struct explain_facts){.job_id = job_id, .from_ms = from_ms, .to_ms = to_ms, .zone = a->opts.zone};
        l->facts.max_year = zone_to_civil(a->opts.zone, to_ms / 1000).year + CRON_YEARS;
        e = load_all(a, actor, s, l, r);
    } else {
        e = no_memory(&r->text);
    }
    e = admin_end(a, s, e, r);
    if (!e && whole && l->is_cut)
        *out = (struct explanation){.job_id = job_id, .from_ms = from_ms, .until_ms = from_ms};
    else if (!e)
        e = refuse_error(r, explain_decide(&l->facts, out, &r->text));
    if (e)
        loaded_destroy(l);
    else
        out->facts = l;
    return e;
}

enum err admin_explain_job(struct admin *a, const struct actor *actor, int64_t job_id, int64_t from_ms, int64_t to_ms,
                           struct explanation *out, struct refusal *r)
{
    return explain_job(a, actor, job_id, from_ms, to_ms, /*whole=*/false, out, r);
}
