/* SPDX-License-Identifier: MIT */
/* Why a job fired or not: facts in, one item for each due time out. All of it happens at 12:00 of a day in UTC. */
#include "admin/explain/explain_impl.h"
#include "shardwheel/history.h"
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOON_S INT64_C(1700049600) /* 2023-11-15 12:00:00 UTC */
#define AT(s) ((NOON_S + (s)) * 1000)
#define ROWS_MAX 40

static struct world {
    struct explain_facts facts;
    struct explain_row rows[ROWS_MAX];
    struct explain_change changes[8];
    struct explain_outage outages[2];
    struct later_row later[2];
    struct explain_asked asked[2];
    struct explanation out;
    struct zone *zone;
} w;

/* A job that runs each minute; it is 12:10, and the range is 12:00 to 12:05. */
static int setup(void **state)
{
    struct errctx ec;
    struct zone *zone = NULL;

    (void)state;
    memset(&w, 0, sizeof w);
    assert_int_equal(zone_load("UTC", &zone, &ec), ERR_OK);
    w.zone = zone;
    w.facts = (struct explain_facts){.job_id = 7,
                                     .from_ms = AT(0),
                                     .to_ms = AT(300),
                                     .now_ms = AT(600),
                                     .found = true,
                                     .next_ms = AT(660),
                                     .now = {"CRON", "0 * * * * ?", "true", "none", "none", "none", "none"},
                                     .zone = zone,
                                     .max_year = 2100,
                                     .changes = w.changes,
                                     .rows = w.rows,
                                     .outages = w.outages,
                                     .later = w.later,
                                     .asked = w.asked};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    explanation_fini(&w.out);
    zone_destroy(w.zone);
    return 0;
}

/* ---- facts ------------------------------------------------------------------------------------------------------- */

static struct explain_row *add_row(int64_t second, int trigger_code, int handle_code)
{
    struct explain_row *row = &w.rows[w.facts.row_count];

    *row = (struct explain_row){.id = 100 + (int64_t)w.facts.row_count++,
                                .triggered_s = NOON_S + second,
                                .handled_s = handle_code ? NOON_S + second + 3 : 0,
                                .trigger_code = trigger_code,
                                .handle_code = handle_code,
                                .mark = MARK_PLANNED,
                                .fire = {.due_s = NOON_S + second, .original_due_s = NOON_S + second},
                                .in_range = true,
                                .address = "http://a/",
                                .trigger_text = "",
                                .handle_text = "",
                                .killer = ""};
    return row;
}

static void add_successes(int64_t from, int64_t to)
{
    for (int64_t s = from; s < to; s += 60)
        add_row(s, 200, 200);
}

static struct explain_change *add_change(int64_t second)
{
    struct explain_change *c = &w.changes[w.facts.change_count++];

    *c = (struct explain_change){.at_ms = AT(second), .who = "ann", .via = "console A"};
    return c;
}

static void add_outage(int64_t from, int64_t to)
{
    w.outages[w.facts.outage_count++] =
        (struct explain_outage){.from_ms = AT(from), .to_ms = AT(to), .kind = EVENT_DATABASE_AWAY, .node = "n1"};
}

/* ---- what comes of them ------------------------------------------------------------------------------------------ */

static void decide(void)
{
    struct errctx ec = {{0}};

    explanation_fini(&w.out);
    if (explain_decide(&w.facts, &w.out, &ec))
        fail_msg("%s", ec.text);
}

/* "SECOND STATE" of each item, with the kind where it is none of the schedule. */
static const char *list_states(void)
{
    static char out[2000];
    size_t n = 0;

    decide();
    out[0] = '\0';
    for (size_t i = 0; i < w.out.count; i++) {
        const struct explain_item *item = &w.out.items[i];
        n += (size_t)snprintf(out + n, sizeof out - n, "%s%" PRId64 " %s", i ? ", " : "", item->due_ms / 1000 - NOON_S,
                              explain_state_name(item->state));
        if (item->kind != TRIGGER_CRON)
            n += (size_t)snprintf(out + n, sizeof out - n, " %s", trigger_kind_name(item->kind));
    }
    return out;
}

/* The sentence of the item at that second; it is one, and ends. */
static const char *tell(int64_t second)
{
    decide();
    for (size_t i = 0; i < w.out.count; i++)
        if (w.out.items[i].due_ms == AT(second)) {
            static struct buf out;
            const char *text;

            buf_clear(&out);
            explain_put_text(&out, &w.out.items[i]);
            text = out.data;
            assert_int_equal(text[strlen(text) - 1], '.');
            assert_null(strstr(text, ". "));
            return text;
        }
    fail_msg("there is no item at %" PRId64, second);
    return "";
}

/* ---- one due time by its row ------------------------------------------------------------------------------------- */

static void each_state_of_a_row_has_its_sentence(void **state)
{
    static const struct {
        int trigger_code, handle_code;
        const char *trigger_text, *handle_text;
        bool unknown, lost, blocked;
        enum explain_state state;
        const char *text;
    } table[] = {
        {200, 200, "", "", false, false, false, EXPLAIN_SUCCESS, "It was sent on time and succeeded after 3 s."},
        {200, 0, "", "", false, false, false, EXPLAIN_RUNNING,
         "It was sent on time and was accepted by the executor and is running at http://a/."},
        {0, 0, "", "", false, false, false, EXPLAIN_UNKNOWN,
         "It has no result yet: it is not known whether it was sent."},
        {500, 0, "connection refused", "", false, false, false, EXPLAIN_FAILED,
         "It was sent on time, but it could not be delivered: connection refused."},
        {500, 0, "the node went away", "", true, false, false, EXPLAIN_UNKNOWN,
         "It was sent on time, but it is not known whether the executor received it (delivery unknown: the node went "
         "away)."},
        {500, 0, "Discard Later", "", false, false, true, EXPLAIN_FAILED,
         "It was sent on time, but the executor refused it, because the previous run was still running (its block "
         "strategy: Discard Later)."},
        {200, 500, "", "Cover Early", false, false, true, EXPLAIN_FAILED,
         "It was sent on time, but the executor ended it because a later run started (its block strategy: Cover "
         "Early)."},
        {200, 500, "", "boom", false, false, false, EXPLAIN_FAILED,
         "It was sent on time, but it failed in the executor: boom."},
        {200, 502, "", "", false, false, false, EXPLAIN_FAILED,
         "It was sent on time, but the executor ended it after the timeout."},
        {200, 500, "", "not registered", false, true, false, EXPLAIN_FAILED,
         "It was sent on time, but its executor lost the run: not registered."},
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        w.facts.row_count = 0;
        struct explain_row *row = add_row(60, table[i].trigger_code, table[i].handle_code);
        row->trigger_text = table[i].trigger_text;
        row->handle_text = table[i].handle_text;
        row->delivery_unknown = table[i].unknown;
        row->lost = table[i].lost;
        row->blocked = table[i].blocked;
        assert_string_equal(tell(60), table[i].text);
        assert_int_equal(w.out.items[1].state, table[i].state);
        assert_int_equal(w.out.items[1].run_count, 1);
        assert_int_equal(w.out.items[1].runs[0], 100);
    }
}

static void what_is_to_come_is_planned(void **state)
{
    (void)state;
    add_row(0, 200, 200);
    add_row(60, 0, 0);
    w.facts.now_ms = AT(59);
    assert_string_equal(list_states(), "0 success, 60 planned, 120 planned, 180 planned, 240 planned");
    assert_string_equal(tell(60), "It is planned and will fire at its due time.");
    assert_string_equal(tell(120),
                        "It is not due yet: the job is started, and its fires are planned a few seconds ahead.");
    w.facts.now_ms = AT(122);
    assert_string_equal(tell(120), "It was due just now; its row may not be written yet.");
}

static void a_fire_that_waits_says_until_when(void **state)
{
    struct explain_row *row = add_row(60, 0, 0);
    (void)state;

    row->mark = MARK_HELD;
    w.facts.to_ms = AT(61);
    w.facts.from_ms = AT(60);
    w.later[0] = (struct later_row){.log_id = row->id, .due_s = NOON_S + 610, .hold_until_s = NOON_S + 900};
    w.facts.later_count = 1;
    assert_string_equal(tell(60),
                        "It is waiting, because no executor could be reached; it fails at 2023-11-15 12:15:00Z.");
    assert_int_equal(w.out.items[0].state, EXPLAIN_PLANNED);
}

static void a_late_fire_names_the_outage(void **state)
{
    struct explain_row *row;
    (void)state;

    add_successes(0, 300);
    row = &w.rows[2];
    row->fire.due_s = row->triggered_s = NOON_S + 132;
    row->handled_s = row->triggered_s + 1;
    assert_string_equal(list_states(), "0 success, 60 success, 120 late, 180 success, 240 success");
    assert_string_equal(tell(120), "It was sent 12 s late, and succeeded after 1 s.");
    row->fire.kind = TRIGGER_MISFIRE;
    assert_string_equal(tell(120), "It was sent 12 s late, by the misfire strategy, because no node had planned it in "
                                   "time, and succeeded after 1 s.");
    add_outage(100, 130);
    assert_string_equal(tell(120), "It was sent 12 s late because the database was unavailable from 2023-11-15 "
                                   "12:01:40Z to 2023-11-15 12:02:10Z, and succeeded after 1 s.");
    row->handle_code = 500;
    assert_string_equal(list_states(), "0 success, 60 success, 120 failed, 180 success, 240 success");
}

/* The row says when it was planned for; nobody could send it then. */
static void what_was_due_in_an_outage_went_out_behind_it(void **state)
{
    (void)state;
    w.facts.to_ms = AT(180);
    add_successes(0, 180);
    w.rows[1].handled_s = 0;
    w.rows[1].handle_code = 0;
    add_outage(55, 67);
    assert_string_equal(list_states(), "0 success, 60 running, 120 success");
    w.outages[0].holds = true;
    assert_string_equal(list_states(), "0 success, 60 late, 120 success");
    assert_string_equal(tell(60),
                        "It was sent 7 s late because the database was unavailable from 2023-11-15 12:00:55Z to "
                        "2023-11-15 12:01:07Z, and was accepted by the executor and is running at http://a/.");
    w.outages[0].to_ms = AT(60); /* over in that very second */
    assert_string_equal(list_states(), "0 success, 60 running, 120 success");
}

/* ---- retries ----------------------------------------------------------------------------------------------------- */

static void a_retry_is_told_with_what_it_follows(void **state)
{
    struct explain_row *first, *retry;
    (void)state;

    w.facts.to_ms = AT(60);
    first = add_row(0, 200, 500);
    first->handle_text = "boom";
    retry = add_row(10, 200, 200);
    retry->mark = MARK_DIRECT;
    retry->fire.kind = TRIGGER_RETRY;
    first->retry_id = retry->id;
    assert_string_equal(
        tell(0), "It was sent on time, but it failed in the executor: boom; retry 1 (run 101) succeeded after 3 s.");
    assert_string_equal(list_states(), "0 retried");
    assert_int_equal(w.out.items[0].run_count, 2);
    retry->handle_code = 0;
    assert_string_equal(list_states(), "0 retried");
    retry->handle_code = 502;
    assert_string_equal(tell(0), "It was sent on time, but it failed in the executor: boom; its retry (run 101) failed "
                                 "too: the executor ended it after the timeout.");
    assert_string_equal(list_states(), "0 failed");
    /* One behind the range is told of all the same, and is none of its own. */
    retry->in_range = false;
    assert_string_equal(list_states(), "0 failed");
}

static void a_chain_of_retries_ends_with_its_last(void **state)
{
    (void)state;
    w.facts.to_ms = AT(60);
    for (int i = 0; i < 12; i++) {
        struct explain_row *row = add_row(i, 500, 0);
        row->retry_id = i < 11 ? row->id + 1 : 0;
        row->fire.kind = i ? TRIGGER_RETRY : TRIGGER_CRON;
        row->mark = i ? MARK_DIRECT : MARK_PLANNED;
        row->trigger_text = i < 11 ? "no" : "never";
    }
    assert_string_equal(tell(0), "It was sent on time, but it could not be delivered: no; all 11 retries failed, the "
                                 "last one as run 111: it could not be delivered: never.");
    assert_int_equal(w.out.items[0].run_count, EXPLAIN_RUNS_MAX);
    assert_int_equal(w.out.items[0].runs_left_out, 12 - EXPLAIN_RUNS_MAX);
    w.rows[11].retry_id = 100; /* a link that goes back leads nowhere */
    assert_string_equal(list_states(), "0 failed");
}

static void a_retry_that_waits_is_told(void **state)
{
    (void)state;
    w.facts.to_ms = AT(60);
    add_row(0, 200, 500);
    w.later[0] = (struct later_row){.due_s = NOON_S + 700, .kind = TRIGGER_RETRY};
    w.facts.later_count = 1;
    assert_string_equal(
        tell(0), "It was sent on time, but it failed in the executor; the next retry is at 2023-11-15 12:11:40Z.");
    assert_string_equal(list_states(), "0 retried");
}

/* ---- broadcasts -------------------------------------------------------------------------------------------------- */

static void a_broadcast_is_one_item(void **state)
{
    (void)state;
    w.facts.to_ms = AT(60);
    add_row(0, 200, 200);
    add_row(0, 200, 0);
    assert_string_equal(list_states(), "0 running");
    add_row(0, 500, 0)->trigger_text = "refused";
    assert_string_equal(tell(0), "It was sent to 3 executors: 1 succeeded, 1 running, 1 failed, 0 without a result; of "
                                 "run 102 it could not be delivered: refused.");
    assert_string_equal(list_states(), "0 failed");
}

/* ---- no row ------------------------------------------------------------------------------------------------------ */

static void a_missing_fire_names_what_is_known(void **state)
{
    (void)state;
    add_successes(0, 120);
    add_successes(240, 300);
    assert_string_equal(list_states(), "0 success, 60 success, 120 missing, 180 missing, 240 success");
    assert_string_equal(tell(120), "There is no row, and the reason is not recorded: rows may have been deleted, or "
                                   "another program changed the job.");
    add_outage(115, 235);
    assert_string_equal(tell(120), "There is no row: it was not planned because the database was unavailable from "
                                   "2023-11-15 12:01:55Z to 2023-11-15 12:03:55Z.");
    w.facts.kept_from_ms = AT(150);
    assert_string_equal(list_states(), "0 success, 60 success, 120 unknown, 180 missing, 240 success");
    assert_string_equal(tell(120), "No row was found: old rows may have been deleted.");
}

static void skipped_due_times_are_counted_from_their_first(void **state)
{
    struct explain_row *row;
    (void)state;

    add_successes(0, 60);
    row = add_row(60, 500, 0);
    row->mark = MARK_SKIPPED;
    row->skipped = 3;
    add_row(240, 200, 200);
    assert_string_equal(list_states(), "0 success, 60 skipped, 120 skipped, 180 skipped, 240 success");
    assert_string_equal(tell(180), "It was skipped by the misfire strategy, as one of 3 due times: no node had planned "
                                   "it in time, or its next time had been set to a time in the past.");
    assert_int_equal(w.out.items[3].runs[0], row->id);
    add_outage(50, 200);
    assert_string_equal(tell(120), "It was skipped by the misfire strategy, as one of 3 due times, because the "
                                   "database was unavailable from 2023-11-15 12:00:50Z to 2023-11-15 12:03:20Z.");
    w.facts.outage_count = 0;
    row->skip = SKIP_BY_HAND;
    row->misfire = "DO_NOTHING";
    assert_string_equal(tell(120), "It was skipped by the misfire strategy, as one of 3 due times (DO_NOTHING): its "
                                   "next time had been set to a time in the past.");
}

/* ---- stopped, started, edited ------------------------------------------------------------------------------------ */

static void a_stopped_job_says_who_stopped_it(void **state)
{
    struct explain_change *c;
    (void)state;

    add_successes(0, 120);
    add_successes(240, 300);
    c = add_change(90);
    c->before[FIELD_RUNNING] = "true";
    c->after[FIELD_RUNNING] = "false";
    c = add_change(200);
    c->before[FIELD_RUNNING] = "false";
    c->after[FIELD_RUNNING] = "true";
    assert_string_equal(list_states(), "0 success, 60 success, 120 skipped, 180 skipped, 240 success");
    assert_string_equal(tell(120), "The job was stopped at that time: it was stopped by ann (console A) at "
                                   "2023-11-15 12:01:30Z.");
}

static void a_job_that_is_stopped_since_ever_says_so(void **state)
{
    (void)state;
    w.facts.now[FIELD_RUNNING] = "false";
    w.facts.to_ms = AT(60);
    assert_string_equal(list_states(), "0 skipped");
    assert_string_equal(tell(0), "The job was stopped at that time.");
    w.facts.now_ms = AT(-10);
    assert_string_equal(tell(0), "The job is stopped.");
}

static void who_stopped_it_long_ago_is_told(void **state)
{
    struct explain_change *c = add_change(-86400);
    (void)state;

    c->before[FIELD_RUNNING] = "true";
    c->after[FIELD_RUNNING] = "false";
    w.facts.now[FIELD_RUNNING] = "false";
    w.facts.to_ms = AT(120);
    assert_string_equal(list_states(), "0 skipped, 60 skipped");
    assert_string_equal(tell(60), "The job was stopped at that time: it was stopped by ann (console A) at "
                                  "2023-11-14 12:00:00Z.");
}

static void an_edit_changes_the_due_times_from_then_on(void **state)
{
    struct explain_change *c = add_change(150);
    (void)state;

    c->before[FIELD_CONF] = "30 * * * * ?";
    c->after[FIELD_CONF] = "0 * * * * ?";
    add_row(30, 200, 200);
    add_row(90, 200, 200);
    add_row(180, 200, 200);
    assert_string_equal(list_states(), "30 success, 90 success, 180 success, 240 missing");
    /* Settings of ours likewise. */
    w.facts.now[FIELD_VALID_UNTIL] = "2023-11-15 12:04:00Z";
    assert_string_equal(list_states(), "30 success, 90 success, 180 success");
    c->before[FIELD_VALID_UNTIL] = "2023-11-15 12:01:00Z";
    c->after[FIELD_VALID_UNTIL] = "2023-11-15 12:04:00Z";
    w.facts.row_count = 0;
    assert_string_equal(list_states(), "30 missing, 180 missing");
}

static void a_zone_of_its_own_counts(void **state)
{
    (void)state;
    w.facts.now[FIELD_CONF] = "0 0 20 * * ?";
    assert_string_equal(list_states(), "");
    w.facts.now[FIELD_TIME_ZONE] = "Asia/Shanghai";
    assert_string_equal(list_states(), "0 missing");
}

static void an_edit_by_others_hides_what_was_before(void **state)
{
    struct explain_change *c = add_change(150);
    (void)state;

    c->by_others = true;
    c->after[FIELD_TYPE] = "CRON";
    c->after[FIELD_CONF] = "0 * * * * ?";
    c->after[FIELD_RUNNING] = "true";
    add_row(30, 200, 200);
    add_row(180, 200, 200);
    add_row(240, 200, 200);
    assert_string_equal(list_states(), "0 unknown, 30 success, 180 success, 240 success");
    assert_string_equal(
        tell(0), "Due times before 2023-11-15 12:02:30Z are not known: the earlier schedule is not recorded; the job "
                 "was changed outside shardwheel at 2023-11-15 12:02:30Z; fires that were found are listed.");
    /* Each row fits the schedule of now: then it was that. */
    w.rows[0].fire.original_due_s = w.rows[0].fire.due_s = w.rows[0].triggered_s = NOON_S + 60;
    assert_string_equal(list_states(), "0 missing, 60 success, 120 missing, 180 success, 240 success");
}

/* What an edit of ours left alone before one of others is known from the edit before. */
static void changes_of_ours_tell_what_was_before_others(void **state)
{
    struct explain_change *c = add_change(30);
    (void)state;

    c->before[FIELD_CONF] = "0 * * * * ?";
    c->after[FIELD_CONF] = "30 * * * * ?";
    c = add_change(40);
    c->before[FIELD_RUNNING] = "false";
    c->after[FIELD_RUNNING] = "true";
    c->before[FIELD_TYPE] = "NONE";
    c->after[FIELD_TYPE] = "CRON";
    c = add_change(150);
    c->by_others = true;
    c->after[FIELD_TYPE] = "CRON";
    c->after[FIELD_CONF] = "0 * * * * ?";
    c->after[FIELD_RUNNING] = "true";
    assert_string_equal(list_states(), "90 missing, 180 missing, 240 missing");
}

static void a_time_right_behind_a_start_was_too_soon(void **state)
{
    struct explain_change *c = add_change(58);
    (void)state;

    c->before[FIELD_RUNNING] = "false";
    c->after[FIELD_RUNNING] = "true";
    add_successes(120, 300);
    assert_string_equal(list_states(), "0 skipped, 60 skipped, 120 success, 180 success, 240 success");
    assert_string_equal(
        tell(60),
        "The job was started or changed just before the due time: by ann (console A) at 2023-11-15 12:00:58Z.");
}

static void a_job_has_no_due_times_before_it_was_added(void **state)
{
    struct explain_change *c;
    (void)state;

    add_successes(120, 300);
    w.facts.added_ms = AT(110);
    assert_string_equal(list_states(), "120 success, 180 success, 240 success");
    w.facts.added_ms = 0;
    c = add_change(110);
    c->added = true;
    assert_string_equal(list_states(), "120 success, 180 success, 240 success");
}

static void a_job_that_is_gone_is_explained_until_then(void **state)
{
    struct explain_change *c = add_change(130);
    (void)state;

    c->removed = true;
    c->before[FIELD_TYPE] = "CRON";
    c->before[FIELD_CONF] = "0 * * * * ?";
    c->before[FIELD_RUNNING] = "true";
    memset(w.facts.now, 0, sizeof w.facts.now);
    w.facts.found = false;
    add_successes(0, 180);
    assert_string_equal(list_states(), "0 success, 60 success, 120 success, 130 skipped");
    assert_string_equal(
        tell(130), "The job was deleted by ann (console A) at 2023-11-15 12:02:10Z: it has no due times after that.");
}

static void a_job_that_vanished_has_no_due_times_to_come(void **state)
{
    struct explain_change *c = add_change(-60);
    (void)state;

    c->added = true; /* that it was removed is not on record */
    memcpy(c->after, w.facts.now, sizeof c->after);
    memset(w.facts.now, 0, sizeof w.facts.now);
    w.facts.found = false;
    w.facts.now_ms = AT(150);
    add_successes(0, 120);
    assert_string_equal(list_states(), "0 success, 60 success, 120 missing");
}

static void a_broken_schedule_is_said_to_be_broken(void **state)
{
    (void)state;
    w.facts.now[FIELD_CONF] = "every now and then";
    assert_string_equal(list_states(), "0 unknown");
    assert_string_equal(tell(0), "Due times before 2023-11-15 12:05:00Z are not known: the schedule was not valid; "
                                 "fires that were found are listed.");
    w.facts.now[FIELD_TYPE] = "NONE";
    assert_string_equal(list_states(), "");
}

/* ---- rates ------------------------------------------------------------------------------------------------------- */

static void a_rate_goes_by_its_rows_and_by_its_next_time(void **state)
{
    (void)state;
    w.facts.now[FIELD_TYPE] = "FIX_RATE";
    w.facts.now[FIELD_CONF] = "60";
    w.facts.next_ms = AT(677);
    assert_string_equal(list_states(), "17 missing, 77 missing, 137 missing, 197 missing, 257 missing");
    add_row(20, 200, 200);
    add_row(80, 200, 200);
    add_row(155, 200, 200); /* another phase from here on: it was set anew by something */
    assert_string_equal(list_states(), "20 success, 80 success, 155 success, 215 missing, 275 missing");
}

static void a_fixed_delay_has_what_fired(void **state)
{
    (void)state;
    w.facts.now[FIELD_TYPE] = "FIX_RATE";
    w.facts.now[FIELD_CONF] = "60";
    w.facts.now[FIELD_FIXED_DELAY] = "60";
    add_row(20, 200, 200);
    add_row(101, 200, 500);
    assert_string_equal(list_states(), "20 success, 101 failed");
    assert_string_equal(tell(20), "It was sent on time and succeeded after 3 s.");
}

/* ---- other fires ------------------------------------------------------------------------------------------------- */

static void fires_that_were_asked_for_say_by_whom(void **state)
{
    struct explain_row *row = add_row(7, 200, 200);
    (void)state;

    w.facts.to_ms = AT(60);
    w.facts.from_ms = AT(1);
    row->mark = MARK_DIRECT;
    row->fire.kind = TRIGGER_MANUAL;
    assert_string_equal(list_states(), "7 success manual");
    assert_string_equal(tell(7), "Somebody triggered this run manually: it was sent on time and succeeded after 3 s.");
    w.asked[0] = (struct explain_asked){row->id, AT(7), "ann", "console A"};
    w.facts.asked_count = 1;
    assert_string_equal(tell(7),
                        "ann (console A) triggered this run manually: it was sent on time and succeeded after 3 s.");
    row->fire.kind = TRIGGER_PARENT;
    assert_string_equal(tell(7),
                        "This run was triggered by the parent job: it was sent on time and succeeded after 3 s.");
    row->fire.kind = TRIGGER_CRON;
    row->mark = MARK_PLANNED;
    assert_string_equal(tell(7),
                        "This fire was not due by the known schedule: it was sent on time and succeeded after 3 s.");
}

static void fires_around_an_edit_say_so(void **state)
{
    struct explain_change *c = add_change(58);
    (void)state;

    c->before[FIELD_CONF] = "0 * * * * ?";
    c->after[FIELD_CONF] = "30 * * * * ?";
    w.facts.now[FIELD_CONF] = "30 * * * * ?";
    w.facts.to_ms = AT(90);
    add_row(0, 200, 200);
    add_row(60, 200, 200); /* planned five seconds ahead */
    add_row(75, 200, 200);
    assert_string_equal(list_states(), "0 success, 60 success, 75 success");
    assert_string_equal(tell(60), "This fire was planned before the job was changed by ann (console A) at 2023-11-15 "
                                  "12:00:58Z: it was sent on time and succeeded after 3 s.");
    assert_string_equal(tell(75),
                        "This fire was not due by the known schedule: it was sent on time and succeeded after 3 s.");
    c->by_others = true;
    c->before[FIELD_CONF] = NULL;
    w.rows[0].fire.original_due_s = w.rows[0].fire.due_s = w.rows[0].triggered_s = NOON_S + 7;
    assert_string_equal(tell(7), "It was sent on time and succeeded.");
}

static void rows_of_java_admins_stand_for_the_due_time_before(void **state)
{
    (void)state;
    w.facts.to_ms = AT(120);
    add_row(1, 200, 200)->mark = MARK_NONE;
    add_row(63, 200, 200)->mark = MARK_NONE;
    add_row(64, 200, 200)->mark = MARK_NONE;
    assert_string_equal(list_states(), "0 success, 60 late, 64 success");
    assert_string_equal(tell(64),
                        "This was probably fired by a Java admin: it was sent on time and succeeded after 3 s.");
}

/* ---- reasons and sentences --------------------------------------------------------------------------------------- */

static struct explain_item make_item(enum explain_reason why, bool full)
{
    static const struct explain_outage outage = {
        .from_ms = AT(0), .to_ms = AT(60), .told_to_ms = AT(60), .kind = EVENT_NODE_DIED, .node = "n2"};
    const struct explain_end end = {.why = explain_has_failed(why) || why <= WHY_OPEN ? why : WHY_FAILED,
                                    .run = 100,
                                    .code = 500,
                                    .took_s = full ? 3 : -1,
                                    .ended_ms = full ? AT(3) : 0,
                                    .address = full ? "http://a/" : "",
                                    .message = full ? "boom" : "",
                                    .killer = full ? "ann" : ""};
    const struct explain_who who = {.at_ms = AT(0), .who = full ? "ann" : NULL, .via = full ? "api/v1" : NULL};
    struct explain_item item = {.due_ms = AT(0),
                                .why = why,
                                .change = who,
                                .until_ms = AT(60),
                                .has_end = true,
                                .end = end,
                                .spread = {.executors = 2, .failed = 2},
                                .skipped = 3};

    if (full) {
        item.outage = &outage;
        item.late_s = 4;
        item.retries = 2;
        item.retries_max = 3;
        item.retry = end;
        item.retry_at_ms = AT(90);
        item.misfire = "DO_NOTHING";
    }
    return item;
}

/* A reason without words of its own would say what another one says. */
static void every_reason_has_a_name_and_a_sentence(void **state)
{
    char said[2][WHY_REASONS][400];
    (void)state;

    for (int full = 0; full < 2; full++)
        for (enum explain_reason why = 0; why < WHY_REASONS; why++) {
            struct explain_item item = make_item(why, full);
            struct buf text = {0};

            explain_put_text(&text, &item);
            assert_true(text.len > 20 && text.len < sizeof said[0][0]);
            assert_int_equal(text.data[text.len - 1], '.');
            assert_null(strstr(text.data, ". "));
            memcpy(said[full][why], text.data, text.len + 1);
            buf_fini(&text);
            for (enum explain_reason k = 0; k < why; k++) {
                assert_string_not_equal(said[full][k], said[full][why]);
                assert_string_not_equal(explain_reason_name(k), explain_reason_name(why));
            }
        }
}

static void a_step_of_a_flow_names_its_run(void **state)
{
    struct explain_item item = make_item(WHY_SUCCEEDED, true);
    struct buf text = {0};

    (void)state;
    item.origin = ORIGIN_FLOW;
    item.flow_run = 77;
    explain_put_text(&text, &item);
    assert_non_null(strstr(text.data, "This run is a step of flow run 77: it was sent 4 s late"));
    buf_fini(&text);
}

static void every_origin_and_cause_has_a_name(void **state)
{
    (void)state;
    for (enum explain_origin o = 0; o < ORIGINS; o++) {
        struct explain_item item = make_item(WHY_SUCCEEDED, true);
        struct buf text = {0};

        assert_non_null(explain_origin_name(o));
        item.origin = o;
        explain_put_text(&text, &item);
        assert_non_null(strstr(text.data, o == ORIGIN_DUE ? "It was sent 4 s late" : ": it was sent 4 s late"));
        buf_fini(&text);
    }
    for (enum explain_cause c = 0; c < CAUSES; c++)
        assert_non_null(explain_cause_name(c));
}

static void causes_are_found_in_the_words_of_a_row(void **state)
{
    static const struct {
        const char *says;
        enum explain_cause cause;
    } table[] = {
        {"no address: no executor of group orders is registered", CAUSE_NO_EXECUTOR},
        {"error, Address Router Fail", CAUSE_NO_EXECUTOR},
        {"no address: executor group 7 does not exist", CAUSE_NO_GROUP},
        {"not sent: Connection refused", CAUSE_UNREACHABLE},
        {"no answer within 3000 ms; the executor may have taken it", CAUSE_NO_ANSWER},
        {"not sent: no executor has answered that it lives", CAUSE_NONE_ALIVE},
        {"not sent: no executor has answered that the job is idle there", CAUSE_ALL_BUSY},
        {"error, not sent: too late", CAUSE_TOO_LATE},
        {"not sent: this node is stopping", CAUSE_STOPPING},
        {"not sent: too many fires waiting", CAUSE_QUEUE_FULL},
        {"not sent: the job was stopped", CAUSE_JOB_STOPPED},
        {"job handler [x] not found", CAUSE_NONE},
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        assert_int_equal(explain_find_cause(table[i].says), table[i].cause);
}

static void facts_of_a_failure_are_whole(void **state)
{
    struct explain_row *first = add_row(0, 200, 500), *retry;
    const struct explain_item *item = NULL;
    (void)state;

    w.facts.to_ms = AT(60);
    first->handle_text = "boom";
    first->retries_left = 2;
    retry = add_row(10, 200, 500);
    retry->mark = MARK_DIRECT;
    retry->killed = true;
    retry->killer = "ann";
    retry->fire.kind = TRIGGER_RETRY;
    first->retry_id = retry->id;
    assert_string_equal(tell(0), "It was sent on time, but it failed in the executor: boom; its retry (run 101) failed "
                                 "too: it was killed by ann at 2023-11-15 12:00:13Z.");
    item = &w.out.items[0];
    assert_int_equal(item->why, WHY_FAILED);
    assert_int_equal(item->end.code, 500);
    assert_string_equal(item->end.message, "boom");
    assert_int_equal(item->end.took_s, 3);
    assert_int_equal(item->retries, 1);
    assert_int_equal(item->retries_max, 2);
    assert_int_equal(item->retry.why, WHY_KILLED);
    assert_string_equal(item->retry.killer, "ann");
    assert_int_equal(item->retry.run, retry->id);
}

static void words_of_rows_are_read(void **state)
{
    enum explain_skip skip;
    const char *misfire;
    struct buf killer = {0};
    (void)state;

    explain_find_skip("<!--sw:s:3-->跳过 3 次调度: x<br>下次触发时间被设为过去, 调度过期策略 FIRE_ONCE_NOW", &skip,
                      &misfire);
    assert_int_equal(skip, SKIP_BY_HAND);
    assert_string_equal(misfire, "FIRE_ONCE_NOW");
    explain_find_skip("x<br>not planned in time, misfire strategy DO_NOTHING", &skip, &misfire);
    assert_int_equal(skip, SKIP_LATE);
    assert_string_equal(misfire, "DO_NOTHING");
    explain_find_skip("x<br>数据库已从备份恢复, 这些调度可能已执行, 不再补发", &skip, &misfire);
    assert_int_equal(skip, SKIP_RESTORED);
    assert_null(misfire);
    explain_find_skip("x", &skip, &misfire);
    assert_int_equal(skip, SKIP_UNKNOWN);
    assert_null(misfire);
    assert_true(explain_is_killed("killed by hand (ann): x"));
    assert_true(explain_is_killed("人为操作，主动终止:"));
    assert_false(explain_is_killed("boom"));
    explain_put_killer(&killer, "killed by hand (ann): x");
    assert_string_equal(killer.data, "ann");
    buf_clear(&killer);
    explain_put_killer(&killer, "killed by hand");
    assert_int_equal(killer.len, 0);
    buf_fini(&killer);
}

/* ---- bounds ------------------------------------------------------------------------------------------------------ */

static void what_is_too_much_is_left_to_another_call(void **state)
{
    (void)state;
    w.facts.now[FIELD_CONF] = "* * * * * ?";
    w.facts.to_ms = AT(EXPLAIN_ITEMS_MAX + 500);
    w.facts.now_ms = AT(100000);
    decide();
    assert_int_equal(w.out.count, EXPLAIN_ITEMS_MAX);
    assert_int_equal(w.out.until_ms, AT(EXPLAIN_ITEMS_MAX));
    explanation_fini(&w.out);
    w.facts.to_ms = AT(EXPLAIN_ITEMS_MAX);
    decide();
    assert_int_equal(w.out.count, EXPLAIN_ITEMS_MAX);
    assert_int_equal(w.out.until_ms, w.facts.to_ms);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(each_state_of_a_row_has_its_sentence),
        CASE(what_is_to_come_is_planned),
        CASE(a_fire_that_waits_says_until_when),
        CASE(a_late_fire_names_the_outage),
        CASE(what_was_due_in_an_outage_went_out_behind_it),
        CASE(a_retry_is_told_with_what_it_follows),
        CASE(a_chain_of_retries_ends_with_its_last),
        CASE(a_retry_that_waits_is_told),
        CASE(a_broadcast_is_one_item),
        CASE(a_missing_fire_names_what_is_known),
        CASE(skipped_due_times_are_counted_from_their_first),
        CASE(a_stopped_job_says_who_stopped_it),
        CASE(a_job_that_is_stopped_since_ever_says_so),
        CASE(who_stopped_it_long_ago_is_told),
        CASE(an_edit_changes_the_due_times_from_then_on),
        CASE(a_zone_of_its_own_counts),
        CASE(an_edit_by_others_hides_what_was_before),
        CASE(changes_of_ours_tell_what_was_before_others),
        CASE(a_time_right_behind_a_start_was_too_soon),
        CASE(a_job_has_no_due_times_before_it_was_added),
        CASE(a_job_that_is_gone_is_explained_until_then),
        CASE(a_job_that_vanished_has_no_due_times_to_come),
        CASE(a_broken_schedule_is_said_to_be_broken),
        CASE(a_rate_goes_by_its_rows_and_by_its_next_time),
        CASE(a_fixed_delay_has_what_fired),
        CASE(fires_that_were_asked_for_say_by_whom),
        CASE(fires_around_an_edit_say_so),
        CASE(rows_of_java_admins_stand_for_the_due_time_before),
        CASE(every_reason_has_a_name_and_a_sentence),
        CASE(every_origin_and_cause_has_a_name),
        CASE(a_step_of_a_flow_names_its_run),
        CASE(causes_are_found_in_the_words_of_a_row),
        CASE(facts_of_a_failure_are_whole),
        CASE(words_of_rows_are_read),
        CASE(what_is_too_much_is_left_to_another_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
