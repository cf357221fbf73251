/* SPDX-License-Identifier: MIT */
/* The contract of the store on the database in memory. */
#include "test.h"

#include "sim/memory_store.h"
#include "store/contract.h"

static struct memory_db *db;
static struct store st;

static void contract_begin(int shards, struct store_session **s, struct store_session **other)
{
    fibers_begin(1);
    db = memory_db_create(shards, CONTRACT_S * 1000);
    st = (struct store){.db = db};
    CONTRACT_OK(store_take_session(&st, SESSION_CLAIM, s, ec));
    CONTRACT_OK(store_take_session(&st, SESSION_CLAIM, other, ec));
}

static void contract_end(struct store_session *s, struct store_session *other)
{
    store_give_session(&st, s);
    store_give_session(&st, other);
    memory_db_destroy(db);
    fibers_end();
}

static void contract_add_job(int64_t id, int64_t next_ms)
{
    assert_int_equal(memory_db_add_job(db, "CRON", "0 * * * * ?", next_ms)->id, id);
}

static void contract_change_job(int64_t id, enum contract_change change)
{
    struct memory_job *job = memory_db_find_job(db, id);

    job->next_ms += change == CONTRACT_NEXT;
    job->running &= change != CONTRACT_STOP;
    job->exists = change != CONTRACT_REMOVE;
    if (change == CONTRACT_CONF)
        job->conf = "1 * * * * ?";
}

static struct contract_job contract_read_job(int64_t id)
{
    const struct memory_job *job = &db->jobs[id - 1];

    return (struct contract_job){job->exists, job->running, job->last_ms, job->next_ms};
}

static struct contract_log contract_read_log(int64_t id)
{
    const struct memory_log *row = memory_db_find_log(db, id);

    return (struct contract_log){row && row->exists, row->trigger_code, row->handle_code, row->is_unknown,
                                 row->address};
}

static void contract_set_settings(int64_t id)
{
    struct memory_job *job = memory_db_find_job(db, id);

    job->time_zone = "Asia/Shanghai";
    job->fixed_delay_s = 60;
    job->valid_from_s = CONTRACT_S;
    job->valid_until_s = CONTRACT_S + 1000;
}

static void contract_set_rate(int64_t id, const char *conf)
{
    memory_db_find_job(db, id)->type = "FIX_RATE";
    memory_db_find_job(db, id)->conf = conf;
}

static void contract_set_cursor(int shard, int64_t cursor_s)
{
    db->shard[shard].cursor_s = cursor_s;
}

static void contract_age_notes(int64_t ms)
{
    for (size_t i = 0; i < db->note_count; i++)
        db->notes[i].taken_ms -= ms;
}

static int64_t contract_add_later(const struct later_row *row)
{
    return memory_db_add_later(db, row);
}

static struct contract_later contract_read_later(int64_t id)
{
    const struct memory_later *later = memory_db_find_later(db, id);

    return later ? (struct contract_later){true, later->row.planned, later->row.due_s, later->row.log_id,
                                           later->row.hold_until_s}
                 : (struct contract_later){0};
}

static void contract_set_hold(int64_t job, int64_t hold_s)
{
    memory_db_find_job(db, job)->hold_s = hold_s;
}

static int64_t contract_add_flow(const char *name, const char *document)
{
    return memory_db_add_flow(db, name, document);
}

static void contract_follow_flow(int64_t id, int64_t next_s)
{
    db->flows[id - 1].started = true;
    db->flows[id - 1].next_s = next_s;
}

static int64_t contract_read_next(int64_t id)
{
    return db->flows[id - 1].next_s;
}

static struct contract_run contract_read_run(int64_t id)
{
    const struct memory_flow_run *run = memory_db_find_flow_run(db, id);

    return run ? (struct contract_run){run->exists,      run->is_looked_at, (int)run->row.state,
                                       run->row.look_ms, run->row.ended_ms, run->row.message ? run->row.message : ""}
               : (struct contract_run){0};
}

static struct contract_step contract_read_step(int64_t run, int step)
{
    const struct memory_flow_run *row = memory_db_find_flow_run(db, run);
    const struct flow_step_row *s = &row->steps[step];

    return (struct contract_step){.exists = row->has_step[step],
                                  .state = (int)s->now.state,
                                  .code = s->now.code,
                                  .items_ended = s->items_ended,
                                  .items_failed = s->items_failed,
                                  .log_id = s->now.log_id,
                                  .child_run = s->child_run,
                                  .result = s->now.result ? s->now.result : ""};
}

static int contract_count_fires(int64_t run)
{
    const struct memory_flow_run *row = memory_db_find_flow_run(db, run);
    int n = 0;

    for (size_t i = 0; i < ARRAY_LEN(row->fires); i++)
        n += row->fires[i].log_id != 0;
    return n;
}

static void contract_end_log(int64_t id, int trigger_code, int handle_code, const char *said)
{
    struct memory_log *row = memory_db_find_log(db, id);

    row->trigger_code = trigger_code;
    row->handle_code = handle_code;
    row->said = said;
}

int main(void)
{
    const struct CMUnitTest tests[] = {CONTRACT_TESTS};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
