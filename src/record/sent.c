/* SPDX-License-Identifier: MIT */
#include "record/sent.h"

#include <stdlib.h>
#include <sys/mman.h>

#define PART 500 /* rows of one transaction */
#define BLOCK_BYTES (128 * 1024)
#define BLOCKS (SENT_MAX / (BLOCK_BYTES / sizeof(struct sent_fire)) + 2)
#define TICK_MS 100 /* times as ticks have room for 13 years in 32 bits */

/* A fire that was sent. */
struct sent_fire {
    int64_t log_id;
    union {
        int64_t epoch;      /* 0: a direct fire */
        int32_t flow_at[2]; /* of a step of a flow: step, item; such a fire is a direct one */
    };
    union {
        int64_t source;   /* as in struct fire; 0 also when it waits for an executor */
        int64_t flow_run; /* of a step of a flow */
    };
    uint32_t due_s;
    uint32_t at_tick;
    int32_t job_id;
    int32_t group;
    int32_t code;        /* 0: none is committed */
    uint16_t flow_items; /* of a step of a flow */
    uint8_t kind;        /* enum trigger_kind */
    bool is_step;        /* of a flow */
};
_Static_assert(sizeof(struct sent_fire) == 48, "see Memory in sent.h");

/* An end that was reported. */
struct sent_end {
    int64_t log_id;
    uint32_t at_tick;
    int32_t code; /* handle_code */
};
_Static_assert(sizeof(struct sent_end) == 16, "see Memory in sent.h");

/* Entries of one kind, the oldest first. Number n stands in block n / per_block. Blocks are pages of their own: they
 * stay for a minute, among pieces of the allocator that are free long before. */
struct sent_queue {
    size_t entry_bytes;   /* [const] */
    size_t per_block;     /* [const] */
    uint64_t first, next; /* [lock] of `sent`: numbers of the oldest, and of the next one */
    char *blocks[BLOCKS]; /* [lock] NULL: none of its entries is there */
};

struct sent {
    const struct clock *clock; /* [const] */
    struct mutex lock;         /* rank LOCK_DISPATCH; never held across a store call */
    struct sent_queue fires;   /* [lock] */
    struct sent_queue ends;    /* [lock] */
    int64_t lost_mono_ms;      /* [lock] when the newest entry was noted that was dropped within its minute; 0: never */
    int64_t good_mono_ms;      /* [lock] when the database was known to work last: the minute ends there */
    int64_t held_mono_ms;      /* [lock] what is younger stays for a comparison; INT64_MAX: none is asked for */
    size_t lost;               /* [lock] how many, since the last comparison */
    bool ended;                /* [lock] no more ends come */
    struct log_limit full_log; /* [atomic] */
};

/* ---- queues (all [lock]) ----------------------------------------------------------------------------------------- */

static void queue_init(struct sent_queue *q, size_t entry_bytes)
{
    *q = (struct sent_queue){.entry_bytes = entry_bytes, .per_block = BLOCK_BYTES / entry_bytes, .first = 1, .next = 1};
}

/* NULL: there is no memory. */
static char *create_block(void)
{
    void *block = mmap(NULL, BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return block == MAP_FAILED ? NULL : block;
}

static void free_block(char **block)
{
    if (*block)
        munmap(*block, BLOCK_BYTES);
    *block = NULL;
}

static char **block_of(struct sent_queue *q, uint64_t number)
{
    return &q->blocks[number / q->per_block % BLOCKS];
}

static void *get(struct sent_queue *q, uint64_t number)
{
    return *block_of(q, number) + number % q->per_block * q->entry_bytes;
}

static struct sent_fire *get_fire(struct sent *m, uint64_t number)
{
    return get(&m->fires, number);
}

static struct sent_end *get_end(struct sent *m, uint64_t number)
{
    return get(&m->ends, number);
}

static bool is_empty(const struct sent_queue *q)
{
    return q->first == q->next;
}

static void drop_first(struct sent_queue *q)
{
    uint64_t number = q->first++;

    if (q->first % q->per_block == 0)
        free_block(block_of(q, number));
}

/* Its place, to be filled in; NULL: there is no memory. */
static void *append(struct sent_queue *q)
{
    char **block = block_of(q, q->next);

    if (!*block)
        *block = create_block();
    return *block ? get(q, q->next++) : NULL;
}

enum err sent_create(const struct clock *clock, struct sent **out, struct errctx *ec)
{
    struct sent *m = calloc(1, sizeof *m);

    if (!m)
        return err_set(ec, ERR_NOMEM, "out of memory for what was sent");
    m->clock = clock;
    queue_init(&m->fires, sizeof(struct sent_fire));
    queue_init(&m->ends, sizeof(struct sent_end));
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
    for (size_t i = 0; i < BLOCKS; i++) {
        free_block(&m->fires.blocks[i]);
        free_block(&m->ends.blocks[i]);
    }
    free(m);
}

/* ---- notes ------------------------------------------------------------------------------------------------------- */

/* Rounded up: nothing counts as older than it is. */
static uint32_t to_tick(int64_t mono_ms)
{
    return (uint32_t)((mono_ms + TICK_MS - 1) / TICK_MS);
}

static int64_t from_tick(uint32_t tick)
{
    return (int64_t)tick * TICK_MS;
}

/* Older ones are of no interest. */
static int64_t get_since_ms(const struct sent *m)
{
    int64_t since_ms = m->good_mono_ms - SENT_KEEP_MS;

    return since_ms < m->held_mono_ms ? since_ms : m->held_mono_ms;
}

static void drop_oldest(struct sent *m)
{
    if (is_empty(&m->ends) ||
        (!is_empty(&m->fires) && get_fire(m, m->fires.first)->at_tick <= get_end(m, m->ends.first)->at_tick))
        drop_first(&m->fires);
    else
        drop_first(&m->ends);
}

/* As append, when what is old was dropped. */
static void *add(struct sent *m, struct sent_queue *q, int64_t now_mono_ms)
{
    int64_t since_ms = get_since_ms(m);
    void *entry;

    while (!is_empty(&m->fires) && from_tick(get_fire(m, m->fires.first)->at_tick) < since_ms)
        drop_first(&m->fires);
    while (!is_empty(&m->ends) && from_tick(get_end(m, m->ends.first)->at_tick) < since_ms)
        drop_first(&m->ends);
    if (m->fires.next - m->fires.first + m->ends.next - m->ends.first == SENT_MAX) {
        drop_oldest(m);
        m->lost++;
        m->lost_mono_ms = now_mono_ms;
    }
    entry = append(q);
    if (!entry) {
        m->lost++;
        m->lost_mono_ms = now_mono_ms;
    }
    return entry;
}

static void tell_full(struct sent *m, bool full)
{
    if (full)
        log_limited(&m->full_log, m->clock, LOG_INFO, "record", "event=sent_memory_full entries=%d effect=%s", SENT_MAX,
                    log_quote("after a failover that loses commits, less than the last minute can be compared").s);
}

static void note_origin(struct sent_fire *e, const struct fire *f)
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
    number = m->fires.next;
    m->good_mono_ms = now_mono_ms; /* their cursor was moved */
    full = m->lost > 0;
    for (const struct fire *f = list; f; f = f->next) {
        struct sent_fire *e = add(m, &m->fires, now_mono_ms);

        if (!e)
            break;
        *e = (struct sent_fire){.log_id = f->log_id,
                                .due_s = (uint32_t)f->due_s,
                                .at_tick = to_tick(now_mono_ms),
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
        struct sent_fire *e;

        if (number < m->fires.first || number >= m->fires.next)
            continue;
        e = get_fire(m, number);
        if (e->log_id != results[i]->log_id)
            continue;
        /* One that found nobody may be waiting for an executor now: its row is open, and its later row is to go out. */
        if (!results[i]->row.away)
            e->code = results[i]->row.code;
        else if (!e->is_step && e->epoch > 0)
            e->source = 0;
    }
    mutex_unlock(&m->lock);
}

void sent_note_ends(struct sent *m, const struct callback_entry *entries, size_t count)
{
    int64_t now_mono_ms = clock_mono_ms(m->clock);

    mutex_lock(&m->lock);
    for (size_t i = 0; i < count; i++) {
        struct sent_end *e = add(m, &m->ends, now_mono_ms);

        if (!e)
            break;
        *e = (struct sent_end){.log_id = entries[i].log_id, .at_tick = to_tick(now_mono_ms), .code = entries[i].code};
    }
    mutex_unlock(&m->lock);
}

/* ---- the comparison ---------------------------------------------------------------------------------------------- */

static int compare_rows(const void *a, const void *b)
{
    const struct sent_row *x = a, *y = b;

    return x->log_id != y->log_id ? compare_numbers(x->log_id, y->log_id) : y->was_sent - x->was_sent;
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

static struct sent_row show_fire(const struct sent_fire *e)
{
    return (struct sent_row){.log_id = e->log_id,
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
                             .was_sent = true,
                             .code = e->code};
}

/* All of that minute, as it is now. */
static enum err copy_rows(struct sent *m, struct sent_row **out, size_t *count, struct errctx *ec)
{
    int64_t now_mono_ms = clock_mono_ms(m->clock), since_ms;
    struct sent_row *rows;
    size_t n = 0;

    mutex_lock(&m->lock);
    since_ms = get_since_ms(m);
    rows = malloc((m->fires.next - m->fires.first + m->ends.next - m->ends.first + 1) * sizeof *rows);
    for (uint64_t at = m->fires.first; rows && at < m->fires.next; at++)
        if (from_tick(get_fire(m, at)->at_tick) >= since_ms)
            rows[n++] = show_fire(get_fire(m, at));
    for (uint64_t at = m->ends.first; rows && at < m->ends.next; at++) {
        const struct sent_end *e = get_end(m, at);
        int64_t at_ms = from_tick(e->at_tick);

        if (at_ms >= since_ms && (m->ended || at_ms <= now_mono_ms - SENT_AGAIN_MS))
            rows[n++] = (struct sent_row){.log_id = e->log_id, .flow_item = -1, .handle_code = e->code};
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
