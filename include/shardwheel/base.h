/* SPDX-License-Identifier: MIT */
/*
 * base: what every area stands on: errors, clocks, threads, logging, text buffers, hashes. Counters: counters.h.
 *
 * Threads     Unless a function says otherwise, an object belongs to one thread at a time.
 * Ownership   create/destroy own heap memory, init/fini work on the caller's storage.
 * Time        Wall time is counted from the epoch, UTC. Monotonic time decides how long to wait. Boot time is monotonic
 *             and goes on while the machine is suspended; it decides whether a fire is still allowed to be sent.
 */
#ifndef SHARDWHEEL_BASE_H
#define SHARDWHEEL_BASE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* NAME_fini of a struct NAME that owns one thing: end(member) frees it, and all becomes zero. */
#define FINI_BY(end, name, member)                                                                                     \
    void name##_fini(struct name *it)                                                                                  \
    {                                                                                                                  \
        end(it->member);                                                                                               \
        *it = (struct name){0};                                                                                        \
    }

/* ---- errors ------------------------------------------------------------------------------------------------ */

/* Codes say what the caller can do; the text of errctx says what happened. */
enum err {
    ERR_OK = 0,
    ERR_NOMEM,    /* out of memory */
    ERR_INPUT,    /* what was given is wrong: repeating it cannot help */
    ERR_BUSY,     /* a limit is reached: later may work */
    ERR_LOST,     /* the peer is away or the connection broke before the work was done: a repeat is safe */
    ERR_UNKNOWN,  /* the connection broke while a commit was under way: it may have happened or not */
    ERR_TIMEOUT,  /* no answer in time */
    ERR_CONFLICT, /* somebody else moved it: a deadlock, a newer epoch, a row that is not what was read */
    ERR_STATE,    /* not allowed in the present state */
    ERR_NOTFOUND, /* what was named is not there */
    ERR_DENIED,   /* credentials or rights are missing */
    ERR_IO,       /* file or system call failed */
    ERR_GUARD,    /* no node holds Java admins off at present: later works */
};

struct errctx {
    char text[600]; /* always ended by NUL; empty after errctx_clear */
};

const char *err_name(enum err e);
void errctx_clear(struct errctx *ec);
/* Both return `e`, so that `return err_set(...)` reads well. `ec` may be NULL. err_wrap puts its phrase before the
 * text. */
enum err err_set(struct errctx *ec, enum err e, const char *fmt, ...) PRINTF_LIKE(3, 4);
enum err err_wrap(struct errctx *ec, enum err e, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* ---- clocks ------------------------------------------------------------------------------------------------ */

/* The clock is a parameter: tests pass their own. Functions may be called from any thread. */
struct clock {
    int64_t (*wall_us)(const struct clock *clock);
    int64_t (*mono_ms)(const struct clock *clock);
    int64_t (*boot_ms)(const struct clock *clock);
};

const struct clock *clock_system(void);
int64_t clock_wall_us(const struct clock *clock);
int64_t clock_wall_ms(const struct clock *clock);
int64_t clock_mono_ms(const struct clock *clock);
int64_t clock_boot_ms(const struct clock *clock);
void clock_sleep_ms(int64_t ms); /* for waits on things outside that cannot wake us; threads wait on a cond instead */
/* Division that rounds down, so that instants before the epoch have a second too. */
int64_t time_floor_div(int64_t value, int64_t unit);
#define TIME_END_S INT64_C(253402300799) /* 9999-12-31 23:59:59 UTC, the last second of DATETIME */
/* As 2026-11-24T08:00:00.000Z. False, and nothing is written: the year is not one of 0 to 9999. */
#define TIME_TEXT_MAX 96 /* far more than it needs: as much as the compiler thinks of */
bool time_put_text(int64_t at_ms, char out[TIME_TEXT_MAX]);

/* ---- threads ----------------------------------------------------------------------------------------------- */

/* Locks are taken in rising rank only; debug builds stop when one is taken out of order. See docs/locks.md. */
enum lock_rank {
    LOCK_MAIN = 1,
    LOCK_SCHEDULE, /* a shard's state */
    LOCK_COORD,    /* grants and membership */
    LOCK_REGISTRY, /* the snapshot of groups, the queue of beats */
    LOCK_DISPATCH, /* a loop's inbox */
    LOCK_COMPLETE, /* the queue of callbacks */
    LOCK_STORE,    /* the pool of sessions */
    LOCK_LEAF,     /* held for a few instructions, calls nothing */
};

struct mutex {
    pthread_mutex_t m;
    enum lock_rank rank;
};

struct cond {
    pthread_cond_t c; /* on CLOCK_MONOTONIC */
};

void mutex_init(struct mutex *m, enum lock_rank rank);
void mutex_fini(struct mutex *m);
void mutex_lock(struct mutex *m);
void mutex_unlock(struct mutex *m);
void cond_init(struct cond *c);
void cond_fini(struct cond *c);
void cond_signal(struct cond *c);
void cond_broadcast(struct cond *c);
void cond_wait(struct cond *c, struct mutex *m);
/* False when the monotonic deadline has passed. May wake up without reason: test the predicate in a loop. */
bool cond_wait_until(struct cond *c, struct mutex *m, int64_t deadline_mono_ms);

struct thread {
    pthread_t t;
    bool running;
};

/* The name is at most 15 characters and shows in ps and gdb. All signals are blocked in the new thread. */
MUST_CHECK enum err thread_start(struct thread *thread, const char *name, void (*run)(void *arg), void *arg,
                                 struct errctx *ec);
void thread_join(struct thread *thread);   /* nothing if it was never started */
void thread_detach(struct thread *thread); /* nobody joins it: it ends by itself, or with the process */

/* A thread that works in turns: turn, wait, turn, wait, until it is stopped. Tests call the turn themselves, on a clock
 * of their own. worker_poke, worker_stop and worker_is_stopping: any thread, also under a lock. */
struct watch;
struct worker {
    const struct clock *clock;  /* [const] */
    struct thread thread;       /* [main] who starts and joins it */
    struct watch *watch;        /* [main] set before the start; NULL: nobody watches it (watch.h) */
    char name[16];              /* [const] once started */
    struct mutex lock;          /* rank LOCK_LEAF */
    struct cond wake;           /* with lock */
    bool poked;                 /* [lock] the next turn comes at once */
    bool stopping;              /* [lock] */
    int64_t (*turn)(void *arg); /* [const] once started, as the two below */
    void (*end)(void *arg);     /* [const] */
    void *arg;                  /* [const] */
};

void worker_init(struct worker *w, const struct clock *clock);
void worker_fini(struct worker *w); /* after worker_join, or without a start */
/* turn: works, and says how many ms from now the next one is due. end: on the thread, after its last turn; may be NULL.
 * `name`: see thread_start. May be started again after worker_join. */
MUST_CHECK enum err worker_start(struct worker *w, const char *name, int64_t (*turn)(void *arg), void (*end)(void *arg),
                                 void *arg, struct errctx *ec);
void worker_poke(struct worker *w); /* a turn comes at once, also when one is under way */
void worker_stop(struct worker *w); /* after the turn under way; may be called twice */
bool worker_is_stopping(struct worker *w);
/* In a turn: both wait until the deadline, and return false as soon as it is to stop. A poke ends the first and counts
 * as noticed then; the second leaves it for the next turn. */
bool worker_wait_until(struct worker *w, int64_t until_mono_ms);
bool worker_pause_until(struct worker *w, int64_t until_mono_ms);
void worker_join(struct worker *w); /* nothing if it was never started */

/* NAME_start, NAME_stop and NAME_join of a struct NAME that has a `worker`, whose turn is NAME_turn. Nothing is stopped
 * and joined where there is none (NULL). */
#define WORKER_LIFE(name, thread_name, end)                                                                            \
    static int64_t run_##name(void *arg)                                                                               \
    {                                                                                                                  \
        return name##_turn(arg);                                                                                       \
    }                                                                                                                  \
    enum err name##_start(struct name *it, struct errctx *ec)                                                          \
    {                                                                                                                  \
        return worker_start(&it->worker, thread_name, run_##name, end, it, ec);                                        \
    }                                                                                                                  \
    WORKER_STOPS(name)
#define WORKER_STOPS(name)                                                                                             \
    void name##_stop(struct name *it)                                                                                  \
    {                                                                                                                  \
        if (it)                                                                                                        \
            worker_stop(&it->worker);                                                                                  \
    }                                                                                                                  \
    void name##_join(struct name *it)                                                                                  \
    {                                                                                                                  \
        if (it)                                                                                                        \
            worker_join(&it->worker);                                                                                  \
    }

/* ---- logging ----------------------------------------------------------------------------------------------- */

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* Who writes: X(id, name). A line of another area counts as one of main. */
#define LOG_AREAS(X)                                                                                                   \
    X(MAIN, "main")                                                                                                    \
    X(ADMIN, "admin")                                                                                                  \
    X(ALARM, "alarm")                                                                                                  \
    X(CONFIG, "config")                                                                                                \
    X(COORD, "coord")                                                                                                  \
    X(DISPATCH, "dispatch")                                                                                            \
    X(EVENTS, "events")                                                                                                \
    X(EXECUTOR, "executor")                                                                                            \
    X(FLOWRUN, "flowrun")                                                                                              \
    X(FOLLOW, "follow")                                                                                                \
    X(HISTORY, "history")                                                                                              \
    X(HTTP, "http")                                                                                                    \
    X(KEEP, "keep")                                                                                                    \
    X(NODE, "node")                                                                                                    \
    X(RECORD, "record")                                                                                                \
    X(REGISTRY, "registry")                                                                                            \
    X(SCHEDULE, "schedule")                                                                                            \
    X(SECURITY, "security")                                                                                            \
    X(STORE, "store")                                                                                                  \
    X(UPKEEP, "upkeep")                                                                                                \
    X(WATCH, "watch")

enum log_area {
#define LOG_AREA_ID(id, name) LOG_AREA_##id,
    LOG_AREAS(LOG_AREA_ID)
#undef LOG_AREA_ID
        LOG_AREA_COUNT
};
const char *log_area_name(enum log_area area);
const char *log_level_name(enum log_level level);

enum log_format { LOG_KEYVALUE, LOG_JSON };

/* `general` for all areas but those that `text` names: AREA=LEVEL,... Empty is fine. ERR_INPUT says what is wrong and
 * names the areas. */
MUST_CHECK enum err log_parse_levels(const char *text, enum log_level general, enum log_level out[LOG_AREA_COUNT],
                                     struct errctx *ec);

/* Levels and format are the mutable globals of the project. Any thread; a line that is being written may still be of
 * before. */
void log_set_level(enum log_level level); /* of all areas */
void log_set_levels(const enum log_level levels[LOG_AREA_COUNT]);
void log_get_levels(enum log_level out[LOG_AREA_COUNT]);
void log_set_format(enum log_format format);
extern _Atomic signed char log_levels[LOG_AREA_COUNT]; /* private to log.c and log_is_on */
/* relaxed: which lines come of a change in the moment of it does not matter. */
static inline bool log_is_on(enum log_area area, enum log_level level)
{
    return (int)level <= atomic_load_explicit(&log_levels[area], memory_order_relaxed);
}
/* For what happens at each fire: where debug is off for the area it costs a load, and its arguments are not looked
 * at. */
#define log_fire(AREA, ...)                                                                                            \
    do {                                                                                                               \
        if (log_is_on(LOG_AREA_##AREA, LOG_DEBUG))                                                                     \
            log_line(LOG_DEBUG, log_area_name(LOG_AREA_##AREA), __VA_ARGS__);                                          \
    } while (0)
/* One line to stderr in one write: time, level, area, then `fmt` which is written as key=value pairs, for example
 * log_line(LOG_WARN, "schedule", "event=fenced shard=%d epoch=%" PRId64, ...). Use log_quote for free text. */
void log_line(enum log_level level, const char *area, const char *fmt, ...) PRINTF_LIKE(3, 4);
#define log_error(area, ...) log_line(LOG_ERROR, area, __VA_ARGS__)
#define log_warn(area, ...) log_line(LOG_WARN, area, __VA_ARGS__)
#define log_info(area, ...) log_line(LOG_INFO, area, __VA_ARGS__)
#define log_debug(area, ...) log_line(LOG_DEBUG, area, __VA_ARGS__)
struct buf;
/* A line of key=value pairs, without its end, as one JSON object: each pair a member, quoted values as strings without
 * their quotes, plain decimal numbers of up to 15 digits as numbers. What is no list of pairs becomes the member msg, a
 * name that comes again gets a number. Pure. */
void log_put_json(struct buf *out, const char *line);
struct log_text {
    char s[700];
};
/* Free text as a quoted value: quotes, backslashes and control characters are escaped, long text is cut. */
struct log_text log_quote(const char *text);

/* A bound on the lines of one place in the code where a stranger, or a loop, could make one for each event. Within
 * LOG_LIMIT_MS the first LOG_LIMIT_LINES are written; the first one after that time comes behind a line that says how
 * many were left out. Each place has its own, as a member of the object that writes. Zero-initialised is ready. Any
 * thread. */
#define LOG_LIMIT_LINES 5
#define LOG_LIMIT_MS 10000
struct log_limit {
    _Atomic int64_t begun_mono_ms; /* [atomic] when the time began to count; 0: not yet */
    _Atomic int64_t lines;         /* [atomic] that were wanted since then */
};
/* `fmt` begins with "event=NAME". */
void log_limited(struct log_limit *limit, const struct clock *clock, enum log_level level, const char *area,
                 const char *fmt, ...) PRINTF_LIKE(5, 6);

/* ---- text buffers ------------------------------------------------------------------------------------------ */

/* A growing byte buffer, always ended by a NUL that len does not count. An allocation that fails sets `failed` and
 * makes every later append a no-op: test buf_failed once at the end. Zero-initialised is empty and valid. */
struct buf {
    char *data; /* NULL while nothing was appended */
    size_t len;
    size_t cap;
    bool failed;
};

void buf_fini(struct buf *b);
void buf_clear(struct buf *b); /* keeps the memory */
bool buf_failed(const struct buf *b);
void buf_append(struct buf *b, const void *data, size_t len);
void buf_puts(struct buf *b, const char *text);
void buf_putc(struct buf *b, char c);
void buf_put_int(struct buf *b, int64_t value);
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* A JSON string with its quotes; NULL becomes null. Bytes that are not UTF-8 become U+FFFD. */
void buf_put_json(struct buf *b, const char *text);
void buf_put_base64(struct buf *b, const void *data, size_t len);
void buf_put_base64url(struct buf *b, const void *data, size_t len); /* with - and _, and no = at its end */
void buf_put_hex(struct buf *b, const void *data, size_t len);       /* lower-case digits */
/* As a part of a URL: letters, digits and -._~ stay, every other byte is %XX. */
void buf_put_url(struct buf *b, const char *text, size_t len);
/* Moves the text out (to free with free); NULL when the buffer failed. The buffer is empty afterwards. */
char *buf_take(struct buf *b);

/* For strspn, and before what else may stand there. */
#define ASCII_DIGITS "0123456789"
#define ASCII_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
/* JSON, a member or an item at a time. Commas come by themselves: from what stands at the buffer's end. A `name` of
 * NULL writes an item of a list, or what stands alone. */
struct buf *member_name(struct buf *out, const char *name); /* gives back `out`, for a value of another form */
void member_text(struct buf *out, const char *name, const char *text); /* NULL becomes null */
void member_int(struct buf *out, const char *name, int64_t value);
void member_int_if(struct buf *out, const char *name, bool known, int64_t value); /* null where it is not known */
void member_int_or_null(struct buf *out, const char *name, int64_t value);        /* 0 becomes null */
void member_bool(struct buf *out, const char *name, bool value);
void member_null(struct buf *out, const char *name);
void member_json(struct buf *out, const char *name, const char *json); /* as it is; NULL becomes null */
void member_object(struct buf *out, const char *name);
MUST_CHECK bool member_object_if(struct buf *out, const char *name, bool known); /* false: null, and no end */
void member_object_end(struct buf *out);
void member_list(struct buf *out, const char *name);
void member_list_end(struct buf *out);

/* Of a hexadecimal digit; -1: it is none. */
static inline int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}
/* Of the two that `text` begins with; -1: it does not. */
static inline int hex_byte(const char *text)
{
    int high = hex_digit(text[0]), low = high < 0 ? -1 : hex_digit(text[1]);

    return low < 0 ? -1 : high << 4 | low;
}
/* Whole text must be a decimal number within the bounds. */
bool parse_int(const char *text, int64_t min, int64_t max, int64_t *out);
bool str_equal(const char *a, const char *b);            /* NULL is equal to NULL alone */
bool str_equal_const_time(const char *a, const char *b); /* the time taken does not tell where they differ */
bool str_is_blank(const char *s);                        /* NULL, empty, or white space only */
char *str_copy(const char *s);                           /* NULL for NULL, or when out of memory */
/* For one block of memory with several texts: the bytes of a text with its NUL, and its copy at *at, which moves behind
 * it. 0 and NULL for NULL. */
size_t str_size(const char *s);
char *str_pack(char **at, const char *s);
void hex_write(const void *data, size_t len, char *out); /* 2 * len lower-case digits and a NUL */
void md5_digest(const void *data, size_t len, unsigned char out[16]);
void md5_hex(const void *data, size_t len, char out[33]);
void sha256_digest(const void *data, size_t len, unsigned char out[32]);
void sha256_hex(const char *text, char out[65]); /* lower-case digits of the digest of the text */
void hmac_sha256(const char *key, const char *text, unsigned char out[32]);
void hmac_sha256_hex(const char *key, const char *text, char out[65]);
void hmac_sha1(const void *key, size_t key_len, const void *data, size_t len, unsigned char out[20]); /* RFC 6238 */
/* Of the system; 256 at most. */
MUST_CHECK enum err random_bytes(void *out, size_t len, struct errctx *ec);
/* Hex text of `bytes` random bytes; out holds 2 * bytes + 1. */
MUST_CHECK enum err random_hex(char *out, size_t bytes, struct errctx *ec);

/* Append the rest of an open file, or a whole one; of one that has more than `max` bytes, just more than that. `flags`:
 * of open, besides those for reading. ERR_IO, and ERR_NOTFOUND where there is none, with the words of the system. */
MUST_CHECK enum err file_read_rest(int fd, size_t max, struct buf *out, struct errctx *ec);
MUST_CHECK enum err file_read(const char *path, int flags, size_t max, struct buf *out, struct errctx *ec);

/* ---- lists, order and hashes ------------------------------------------------------------------------------------- */

/* Makes room for one more item behind the first `count`. `list`: of the pointer to the items, NULL for none, which grow
 * by this function alone; free ends them. False: out of memory, nothing has changed. */
MUST_CHECK bool list_grow(void *list, size_t count, size_t item_size);
/* In a list of numbers, or of structs that begin with their number, ascending (compare_int64 sorts both): the first
 * place whose number is not below this one, and the item that has it; NULL: none has. */
size_t list_find_place(const void *list, size_t count, size_t item_size, int64_t number);
void *list_find(const void *list, size_t count, size_t item_size, int64_t number);
/* In any ascending list: the first place whose item is not below the key. compare(key, item): as for bsearch. */
size_t list_find_first(const void *key, const void *list, size_t count, size_t item_size,
                       int (*compare)(const void *key, const void *item));
bool list_has_text(const char *const *list, size_t count, const char *text); /* in any order */

/* For qsort and bsearch, ascending: of numbers, or of structs that begin with one, such as an id. */
int compare_int64(const void *a, const void *b);
/* The same of texts, or of structs that begin with one. */
int compare_texts(const void *a, const void *b);
/* As a comparator says it: below 0, 0, or above. */
static inline int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}
/* Comparators, static int NAME(const void *a, const void *b): of structs by two numbers; of pointers to structs by
 * one. */
#define COMPARE_BY_TWO(name, type, first, second)                                                                      \
    static int name(const void *a, const void *b)                                                                      \
    {                                                                                                                  \
        int by_first = compare_numbers(((const type *)a)->first, ((const type *)b)->first);                            \
        return by_first ? by_first : compare_numbers(((const type *)a)->second, ((const type *)b)->second);            \
    }
#define COMPARE_AT(name, type, member)                                                                                 \
    static int name(const void *a, const void *b)                                                                      \
    {                                                                                                                  \
        return compare_numbers((*(const type *const *)a)->member, (*(const type *const *)b)->member);                  \
    }
size_t sort_distinct(int64_t *list, size_t count); /* ascending, each once; how many are left. No list: none */

/* FNV-1a, to be continued over several values, for tables in memory. hash_text counts the NUL, so that texts do not run
 * together. */
#define HASH_START UINT64_C(14695981039346656037)
uint64_t hash_bytes(uint64_t h, const void *data, size_t len);
uint64_t hash_text(uint64_t h, const char *text);

#endif
