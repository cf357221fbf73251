/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target for the way of an end to its row: calls of executors in any form, through the reader of the callbacks,
 * and results of dispatch, through record, to the rows of the database in memory (tests/unit/sim), on fibers. The input
 * says what comes when, what the database does to it (faults, commits of unknown outcome, away), and when all stops.
 *
 * Oracle      A callback that was answered with success stands in its row, and the first that is stored wins. A result
 *             that was posted is written, and given back once. The children of a good end are made once, as many as its
 *             job has, and each is sent once, or its row says that it was too late. A call is answered in its time, and
 *             a stop ends. Nothing leaks.
 * Run: tools/fuzz record (-max_len=2000)
 */
#include <string.h>

#include "input.h"
#include "sim/memory_db.h"
#include "http/executor/callbacks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW_MS INT64_C(1750000000000)
#define JOBS 4
#define ROWS 16
#define CALLS 40
#define SENT_IDS 4096

struct call {
    struct thread thread;
    char body[2048];
    size_t len;
    bool over;
};

static struct {
    struct memory_db *db;
    struct store store;
    struct counters counters;
    struct results *results;
    struct complete *complete;
    bool sending, stopped;
    struct result result[ROWS];
    char text[ROWS][80];
    bool posted[ROWS];
    int given_back[ROWS];
    int code[ROWS];      /* of the callback that was stored first, and answered so */
    bool answered[ROWS]; /* some call that had it was answered with success */
    unsigned char sent[SENT_IDS];
    struct call call[CALLS];
    size_t calls;
} w;

static int64_t get_wall_us(const struct clock *clock)
{
    (void)clock;
    return NOW_MS * 1000 + fibers_now_us();
}

static int64_t get_mono_ms(const struct clock *clock)
{
    (void)clock;
    return fibers_mono_ms(0);
}

static const struct clock fuzz_clock = {get_wall_us, get_mono_ms, get_mono_ms};

/* ---- who is told ------------------------------------------------------------------------------------------------- */

static void give_back(void *arg, struct result *r)
{
    (void)arg;
    w.given_back[r - w.result]++;
}

static void count_committed(void *arg, size_t count)
{
    (void)arg, (void)count;
}

static bool is_sending(void *arg)
{
    (void)arg;
    return w.sending;
}

static void send_children(void *arg, struct fire *list)
{
    (void)arg;
    for (struct fire *f = list; f; f = f->next) {
        const struct memory_log *row = memory_db_find_log(w.db, f->log_id);

        must(row && row->exists, "a child that is sent has its row");
        must(row->parent != 0, "what is sent here is a child");
        if (f->log_id < SENT_IDS)
            must(++w.sent[f->log_id] == 1, "a child is sent once");
    }
    fire_destroy_list(list);
}

/* ---- callbacks --------------------------------------------------------------------------------------------------- */

static void note_stored(const struct callback_entry *e)
{
    size_t i = (size_t)(e->log_id - 1);

    if (e->log_id < 1 || e->log_id > ROWS)
        return;
    must(e->outcome != CALLBACK_UNKNOWN_LOG, "a row that is there is known");
    w.answered[i] = true;
    if (e->outcome != CALLBACK_STORED || e->code == 0)
        return;
    must(w.code[i] == 0 || w.code[i] == e->code, "the first stored end wins");
    w.code[i] = e->code;
}

/* As http/executor does: a piece after the other, all within one deadline. */
static void call_back(void *arg)
{
    struct call *call = arg;
    struct callback_piece *piece = calloc(1, sizeof *piece);
    struct callback_reader reader;
    struct errctx ec;
    int64_t deadline_ms = complete_get_deadline(w.complete);

    must(piece, "memory");
    enum err e = callbacks_open(&reader, call->body, call->len, &ec);
    while (!e && !(e = callbacks_next(&reader, piece, &ec)) && piece->count) {
        e = complete_submit(w.complete, piece->entries, piece->count, deadline_ms, &ec);
        for (size_t i = 0; i < piece->count && !e; i++)
            note_stored(&piece->entries[i]);
    }
    callbacks_end_piece(piece);
    free(piece);
    must(fibers_mono_ms(0) <= deadline_ms + 1000, "a call is answered in its time");
    call->over = true;
}

static const char *const forms[] = {
    "{\"logId\":%s,\"logDateTim\":0,\"executeResult\":{\"code\":%s,\"msg\":%s}}",
    "{\"logId\":%s,\"logDateTim\":1,\"handleCode\":%s,\"handleMsg\":%s}",
    "{\"logId\":%s,\"handleCode\":%s,\"handleMsg\":%s,\"executeResult\":{\"code\":500}}",
    "{\"logDateTim\":\"x\",\"logId\":\"%s\",\"handleCode\":\"%s\",\"handleMsg\":%s}",
};
static const char *const codes[] = {"200", "500", "502", "0", "-1", "201", "null", "2000000000", "1e2", "true"};
static const char *const messages[] = {
    "null", "\"\"", "\"ok\"", "\"<br>\\u4f60\\u0000x\"", "7", "\"\\ud83d\\ude00\"", "\"<!--sw:p:1-->\""};
static const char *const ids[] = {"0", "-1", "17", "99999999999", "9223372036854775807", "null", "1.5"};

static void put_entry(struct call *call)
{
    char id[24];
    unsigned which = draw(ROWS + ARRAY_LEN(ids));
    const char *form = forms[draw(ARRAY_LEN(forms))], *code = codes[draw(ARRAY_LEN(codes))];
    const char *message = messages[draw(ARRAY_LEN(messages))];

    if (which < ROWS)
        snprintf(id, sizeof id, "%u", which + 1);
    else
        snprintf(id, sizeof id, "%s", ids[which - ROWS]);
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wformat-nonliteral"
    int n = snprintf(call->body + call->len, sizeof call->body - call->len, form, id, code, message);
#pragma clang diagnostic pop
    if (n > 0 && (size_t)n < sizeof call->body - call->len)
        call->len += (size_t)n;
}

static void start_call(bool raw)
{
    struct call *call = &w.call[w.calls];
    struct errctx ec;

    if (w.calls == CALLS)
        return;
    w.calls++;
    if (raw) {
        call->len = draw(200);
        call->len = call->len < input.left ? call->len : input.left;
        memcpy(call->body, input.at, call->len);
        input.at += call->len;
        input.left -= call->len;
    } else {
        call->body[call->len++] = '[';
        for (unsigned n = 1 + draw(5); n; n--) {
            put_entry(call);
            call->body[call->len++] = n > 1 ? ',' : ']';
        }
        if (draw(16) == 15)
            call->len -= draw((unsigned)call->len < 255 ? (unsigned)call->len : 255); /* cut off */
    }
    call->body[call->len] = '\0';
    must(!thread_start(&call->thread, "call", call_back, call, &ec), "a thread");
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

static void post_result(void)
{
    struct result_list list = {0};
    size_t i = draw(ROWS);
    struct result *r = &w.result[i];
    const struct memory_log *row = memory_db_find_log(w.db, (int64_t)i + 1);
    unsigned kind = draw(4);

    if (w.posted[i])
        return;
    w.posted[i] = true;
    snprintf(w.text[i], sizeof w.text[i], "said %u", draw(256));
    *r = (struct result){.log_id = (int64_t)i + 1, .job_id = row->fire.job_id, .deadline_boot_ms = fibers_mono_ms(0)};
    r->deadline_boot_ms += draw(2) ? 60000 : -1;
    r->row = (struct fire_result){.log_id = r->log_id, .code = 200, .address = "http://10.0.0.1:9/", .message = NULL};
    if (kind == 0)
        r->row.code = 500;
    r->row.as_planned = kind >= 2 && row->fire.written_ahead;
    if (!r->row.as_planned)
        r->row.message = w.text[i];
    r->childless = r->row.as_planned && !w.db->jobs[row->fire.job_id - 1].children && draw(2);
    if (r->row.as_planned)
        results_expect(w.results, r);
    if (r->row.as_planned && draw(4) == 3) {
        results_forget(w.results, r);
        r->row.as_planned = false;
        r->row.message = w.text[i];
    }
    fibers_sleep_us((int64_t)draw(8) * 5000);
    result_list_add(&list, r);
    results_post(w.results, &list);
}

/* ---- a life ------------------------------------------------------------------------------------------------------ */

static void make_rows(void)
{
    static const char *const children[JOBS] = {NULL, "1,3", "3,2,99,x", "4"};

    for (int i = 0; i < JOBS; i++)
        memory_db_add_job(w.db, "CRON", "0 * * * * ?", NOW_MS + 60000)->children = children[i];
    for (int64_t i = 0; i < ROWS; i++) {
        bool ahead = i % 4 < 2;
        char address[] = "http://10.0.0.1:9/";
        struct fire fire = {.job_id = 1 + i / 4,
                            .group = 1,
                            .due_s = NOW_MS / 1000,
                            .original_due_s = NOW_MS / 1000,
                            .shard_total = 1,
                            .written_ahead = ahead,
                            .address = ahead ? address : NULL,
                            .kind = TRIGGER_CRON};
        int64_t id = memory_insert_log(w.db, &fire, 0);

        must(id == i + 1, "ids of rows");
        memory_db_find_log(w.db, id)->exists = true;
    }
}

static void act(void)
{
    static const int64_t times_us[] = {1000, 20000, 60000, 300000, 700000, 2000000, 11000000};

    switch (draw(10)) {
    case 0:
    case 1:
    case 2: post_result(); break;
    case 3:
    case 4: start_call(false); break;
    case 5: start_call(true); break;
    case 6: fibers_sleep_us(times_us[draw(ARRAY_LEN(times_us))]); break;
    case 7: w.store.cut = draw(4) == 3; break;
    case 8: w.sending = draw(2); break;
    default:
        if (draw(8) == 7)
            results_hurry(w.results);
        else
            results_note_behind(w.results);
    }
}

static void check(void)
{
    for (int i = 0; i < ROWS; i++) {
        const struct memory_log *row = memory_db_find_log(w.db, i + 1);

        must(row->exists, "no row goes");
        must(w.given_back[i] == w.posted[i], "a result is given back once");
        must(!w.posted[i] || row->trigger_code != 0, "a result that was posted is written");
        must(!w.posted[i] || row->trigger_code == 200 || row->trigger_code == w.result[i].row.code,
             "the code is the result's, or a callback's");
        must(!w.code[i] || row->handle_code == w.code[i], "an end that was answered stands there");
        must(row->good_ends <= 1, "an end is good once");
        int made = 0;
        for (size_t k = ROWS; k < w.db->log_count; k++) {
            const struct memory_log *child = &w.db->logs[k];
            if (!child->exists || child->parent != i + 1)
                continue;
            made++;
            must(k + 1 >= SENT_IDS || w.sent[k + 1] || child->trigger_code == 500, "a child is sent, or ended");
        }
        must(made == (row->good_ends ? row->children_due : 0), "as many children as the job has");
    }
}

static void stop(void)
{
    /* In half of all lives everything has been told before: the stop must not be what ends it. */
    bool at_once = w.calls % 2;

    w.db->fault_permille = 0;
    w.store.cut = false;
    w.sending = false;
    if (!at_once)
        fibers_sleep_us(15000000);
    for (int i = 0; i < ROWS && !at_once; i++)
        must(!w.posted[i] || w.given_back[i], "results are written while nobody stops");
    complete_stop(w.complete);
    for (size_t i = 0; i < w.calls; i++)
        thread_join(&w.call[i].thread);
    complete_join(w.complete);
    results_stop(w.results);
    results_join(w.results);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct errctx ec;
    uint64_t seed = 0;

    memset(&w, 0, sizeof w);
    input_begin(data, size);
    for (int i = 0; i < 3; i++)
        seed = seed << 8 | draw(256);
    fibers_begin(seed);
    w.db = memory_db_create(1, NOW_MS);
    w.db->address_list = "http://10.0.0.1:9/";
    w.db->latency_us = 1 + (int64_t)draw(8) * 3000;
    w.db->follows = true;
    w.store = (struct store){.db = w.db, .clock = &fuzz_clock};
    make_rows();
    must(!results_create(&(struct results_opts){.store = &w.store, .waiting_max = 1 + draw(20), .incarnation = "n1"},
                         &fuzz_clock, &w.counters, &w.results, &ec),
         "results");
    results_serve(w.results, give_back, count_committed, NULL);
    must(!complete_create(&(struct complete_opts){.store = &w.store,
                                                  .results = w.results,
                                                  .is_sending = is_sending,
                                                  .submit = send_children,
                                                  .incarnation = "n1"},
                          &fuzz_clock, &w.counters, &w.complete, &ec),
         "callbacks");
    must(!results_start(w.results, &ec) && !complete_start(w.complete, &ec), "threads");
    w.db->fault_permille = draw(8) * 60;
    while (input.left)
        act();
    stop();
    check();
    complete_destroy(w.complete);
    results_destroy(w.results);
    memory_db_destroy(w.db);
    fibers_end();
    return 0;
}
