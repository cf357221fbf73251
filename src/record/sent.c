/* SPDX-License-Identifier: MIT */
#include "record/sent.h"

#include <stdlib.h>

#define ROOM_MIN 1024
#define PART 500 /* rows of one transaction */

/* A fire that was sent, or an end that was reported. */
struct entry {
    int64_t log_id;
    union {
        int64_t epoch;      /* 0: a direct fire */
        int32_t flow_at[2]; /* of a step of a flow: step, item; such a fire is a direct one */
    };
    int64_t due_s;
    union {
        int64_t source;   /* as in struct fire; 0 also when it waits for an executor */
        int64_t flow_run; /* of a step of a flow */
    };
    int64_t at_mono_ms;
    int32_t job_id;
    int32_t group;
    int32_t code;        /* of the sending, 0: none is committed; of an end, handle_code */
    uint16_t flow_items; /* of a step of a flow */
    uint8_t kind;        /* enum trigger_kind */
    bool is_end : 1;
    bool is_step : 1; /* of a flow */
};
_Static_assert(sizeof(struct entry) == 56, "see Memory in sent.h");

struct sent {
    const struct clock *clock; /* [const] */
    struct mutex lock;         /* rank LOCK_DISPATCH; never held across a store call */
    struct entry *entries;     /* [lock] number n stands at n % room */
    size_t room;               /* [lock] a power of two; 0: nothing was noted yet */
    uint64_t first, next;      /* [lock] numbers of the oldest, and of the next one */
    int64_t lost_mono_ms; /* [lock] when the newest entry was noted that was overwritten within its minute; 0: never */
    int64_t good_mono_ms; /* [lock] when the database was known to work last: the minute ends there */
    int64_t held_mono_ms; /* [lock] what is younger stays for a comparison; INT64_MAX: none is asked for */
    size_t lost;          /* [lock] how many, since the last comparison */
    bool ended;           /* [lock] no more ends come */
    struct log_limit full_log; /* [atomic] */
};

enum err sent_create(const struct clock *clock, struct sent **out, struct errctx *ec)
{
    struct sent *m = calloc(1, sizeof *m);

    if (!m)
        return err_set(ec, ERR_NOMEM, "out of memory for what was sent");
    m->clock = clock;
    m->first = m->next = 1;
    m->held_mono_ms = INT64_MAX;
    mutex_init(&m->lock, LOCK_DISPATCH);
    *out = m;
    return ERR_OK;
}

void sent_destroy(struct sent *m)
{
    if (!m)
        return;
    mutex_fini(&m->lock);
    free(m->entries);
    free(m);
}

static struct entry *get(const struct sent *m, uint64_t number)
{
    return &m->entries[number & (m->room - 1)];
}

/* [lock] Twice the room; false: there is no memory, or no more of it is to be taken. */
static bool grow(struct sent *m)
{
    size_t room = m->room ? m->room * 2 : ROOM_MIN;
    struct entry *entries = room <= SENT_MAX ? malloc(room * sizeof *entries) : NULL;

    if (!entries)
        return false;
    for (uint64_t n = m->first; n < m->next; n++)
        entries[n & (room - 1)] = *get(m, n);
    free(m->entries);
    m->entries = entries;
    m->room = room;
    return true;
}

/* [lock] Older ones are of no interest. */
static int64_t get_since_ms(const struct sent *m)
{
    int64_t since_ms = m->good_mono_ms - SENT_KEEP_MS;

    return since_ms < m->held_mono_ms ? since_ms : m->held_mono_ms;
}

/* [lock] NULL: no memory. */
static struct entry *add(struct sent *m, int64_t now_mono_ms)
{
    while (m->first < m->next && get(m, m->first)->at_mono_ms < get_since_ms(m))
        m->first++;
    if (m->next - m->first == m->room && !grow(m)) {
        if (m->room == 0)
            return NULL;
        m->first++;
        m->lost++;
        m->lost_mono_ms = now_mono_ms;
    }
    return get(m, m->next++);
}

static void tell_full(struct sent *m, bool full)
{
    if (full)
        log_limited(&m->full_log, m->clock, LOG_INFO, "record", "event=sent_memory_full entries=%d effect=%s", SENT_MAX,
                    log_quote("after a failover that loses commits less than a minute can be compared").s);
}

static void note_origin(struct entry *e, const struct fire *f)
{
    e->is_step = f->kind == TRIGGER_FLOW && f->flow_run > 0 && f->shard < 0;
    if (!e->is_step) {
        e->epoch = f->shard >= 0 ? f->epoch : 0;
        e->source = f->source;
        return;
    }
    e->flow_run = f->flow_run;
    e->flow_at[0] = f->flow_step;
    e->flow_at[1] = f->flow_item;
    e->flow_items = f->flow_items < UINT16_MAX ? (uint16_t)f->flow_items : UINT16_MAX;
}

uint64_t sent_note_fires(struct sent *m, const struct fire *list)
{
    int64_t now_mono_ms = clock_mono_ms(m->clock);
    uint64_t number;
    bool full;

    mutex_lock(&m->lock);
    number = m->next;
    m->good_mono_ms = now_mono_ms; /* their cursor was moved */
    full = m->lost > 0;
    for (const struct fire *f = list; f; f = f->next) {
        struct entry *e = add(m, now_mono_ms);

        if (!e)
            break;
        *e = (struct entry){.log_id = f->log_id,
                            .due_s = f->due_s,
                            .at_mono_ms = now_mono_ms,
                            .job_id = (int32_t)f->job_id,
                            .group = (int32_t)f->group,
                            .kind = (uint8_t)f->kind};
        note_origin(e, f);
    }
    full = !full && m->lost > 0;
    mutex_unlock(&m->lock);
    tell_full(m, full);
    return number;
}

void sent_note_codes(struct sent *m, const struct result *const *results, size_t count)
{
    int64_t now_mono_ms = clock_mono_ms(m->clock);

    mutex_lock(&m->lock);
    m->good_mono_ms = now_mono_ms;
    for (size_t i = 0; i < count; i++) {
        uint64_t number = results[i]->sent;

        if (number < m->first || number >= m->next || get(m, number)->log_id != results[i]->log_id)
            continue;
        /* One that found nobody may be waiting for an executor now: its row is open, and its later row is to go out. */
        if (!results[i]->row.away)
            get(m, number)->code = results[i]->row.code;
        else if (!get(m, number)->is_step && get(m, number)->epoch > 0)
            get(m, number)->source = 0;
    }
    mutex_unlock(&m->lock);
}

void sent_note_ends(struct sent *m, const struct callback_entry *entries, size_t count)
{
    int64_t now_mono_ms = clock_mono_ms(m->clock);

    mutex_lock(&m->lock);
    for (size_t i = 0; i < count; i++) {
        struct entry *e = add(m, now_mono_ms);

        if (!e)
            break;
        *e = (struct entry){
            .log_id = entries[i].log_id, .at_mono_ms = now_mono_ms, .code = entries[i].code, .is_end = true};
    }
    mutex_unlock(&m->lock);
}

/* ---- the comparison ---------------------------------------------------------------------------------------------- */

static int compare_rows(const void *a, const void *b)
{
    const struct sent_row *x = a, *y = b;

    return x->log_id != y->log_id ? compare_int64(&x->log_id, &y->log_id) : y->was_sent - x->was_sent;
}

/* One that waited for an executor was sent more than once, under one id. */
static void join_row(struct sent_row *to, const struct sent_row *from)
{
    if (to->handle_code == 0)
        to->handle_code = from->handle_code;
    if (!from->was_sent)
        return;
    if (to->code == 0)
        to->code = from->code;
    if (from->flow_run) {
        to->flow_run = from->flow_run;
        to->flow_step = from->flow_step;
        to->flow_item = from->flow_item;
        to->flow_items = from->flow_items;
    }
    if (from->source && from->due_s >= to->due_s) {
        to->source = from->source;
        to->due_s = from->due_s;
    }
}

/* What is known of a run in one place; the first end counts. Returns how many runs. */
static size_t join_rows(struct sent_row *rows, size_t count)
{
    size_t n = 0;

    qsort(rows, count, sizeof *rows, compare_rows);
    for (size_t i = 0; i < count; i++) {
        if (n == 0 || rows[n - 1].log_id != rows[i].log_id)
            rows[n++] = rows[i];
        else
            join_row(&rows[n - 1], &rows[i]);
    }
    return n;
}

/* All of that minute, as it is now. */
static enum err copy_rows(struct sent *m, struct sent_row **out, size_t *count, struct errctx *ec)
{
    int64_t now_mono_ms = clock_mono_ms(m->clock);
    struct sent_row *rows;
    size_t n = 0;

    mutex_lock(&m->lock);
    rows = malloc((m->next - m->first + 1) * sizeof *rows);
    for (uint64_t at = m->first; rows && at < m->next; at++) {
        const struct entry *e = get(m, at);

        if (e->at_mono_ms < get_since_ms(m) || (e->is_end && !m->ended && e->at_mono_ms > now_mono_ms - SENT_AGAIN_MS))
            continue;
        rows[n++] = (struct sent_row){.log_id = e->log_id,
                                      .job_id = e->job_id,
                                      .group = e->group,
                                      .due_s = e->due_s,
                                      .epoch = e->is_step ? 0 : e->epoch,
                                      .source = e->is_step ? 0 : e->source,
                                      .flow_run = e->is_step ? e->flow_run : 0,
                                      .flow_step = e->is_step ? e->flow_at[0] : 0,
                                      .flow_item = e->is_step ? e->flow_at[1] : -1,
                                      .flow_items = e->flow_items,
                                      .kind = (enum trigger_kind)e->kind,
                                      .was_sent = !e->is_end,
                                      .code = e->is_end ? 0 : e->code,
                                      .handle_code = e->is_end ? e->code : 0};
    }
    mutex_unlock(&m->lock);
    if (!rows)
        return err_set(ec, ERR_NOMEM, "out of memory for what was sent");
    *count = join_rows(rows, n);
    *out = rows;
    return ERR_OK;
}

enum err sent_compare(struct sent *m, struct store_session *s, const char *incarnation, struct sent_summary *sum,
                      struct errctx *ec)
{
    struct sent_row *rows = NULL;
    size_t count = 0;
    enum err e = copy_rows(m, &rows, &count, ec);

    for (size_t at = 0; at < count && !e; at += PART) {
        size_t n = count - at < PART ? count - at : PART;

        e = store_write_sent(s, rows + at, n, incarnation, clock_wall_ms(m->clock) / 1000, &sum->counts, ec);
    }
    free(rows);
    if (sum->checked < count)
        sum->checked = count;
    mutex_lock(&m->lock);
    if (m->lost > 0 && clock_mono_ms(m->clock) - m->lost_mono_ms < SENT_KEEP_MS)
        sum->forgotten = m->lost;
    if (!e)
        m->lost = 0;
    mutex_unlock(&m->lock);
    return e ? err_wrap(ec, e, "compare what was sent") : ERR_OK;
}

void sent_end(struct sent *m)
{
    mutex_lock(&m->lock);
    m->ended = true;
    mutex_unlock(&m->lock);
}

void sent_hold(struct sent *m, bool hold)
{
    mutex_lock(&m->lock);
    if (!hold)
        m->held_mono_ms = INT64_MAX;
    else if (m->good_mono_ms - SENT_KEEP_MS < m->held_mono_ms)
        m->held_mono_ms = m->good_mono_ms - SENT_KEEP_MS;
    mutex_unlock(&m->lock);
}
