/* SPDX-License-Identifier: MIT */
/*
 * base: what every area stands on: errors, clocks, threads, logging, text buffers, hashes, counters.
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

/* ---- threads ----------------------------------------------------------------------------------------------- */

/* Locks are taken in rising rank only; debug builds stop when one is taken out of order. See docs/locks.md. */
enum lock_rank {
    LOCK_MAIN = 1,
    LOCK_SCHEDULE, /* a shard's state */
    LOCK_COORD,    /* grants and membership */
    LOCK_REGISTRY, /* the snapshot of groups, the queue of beats */
    LOCK_DISPATCH, /* a loop's inbox */
    LOCK_COMPLETE, /* the queue of callbacks */
    LOCK_HTTP,
    LOCK_STORE, /* the pool of sessions */
    LOCK_LEAF,  /* held for a few instructions, calls nothing */
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
void worker_join(struct worker *w); /* nothing if it was never started */

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
    X(EXECUTOR, "executor")                                                                                            \
    X(FOLLOW, "follow")                                                                                                \
    X(HISTORY, "history")                                                                                              \
    X(HTTP, "http")                                                                                                    \
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
/* Moves the text out (to free with free); NULL when the buffer failed. The buffer is empty afterwards. */
char *buf_take(struct buf *b);

/* Of a hexadecimal digit; -1: it is none. */
static inline int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}
/* Whole text must be a decimal number within the bounds. */
bool parse_int(const char *text, int64_t min, int64_t max, int64_t *out);
bool str_equal_const_time(const char *a, const char *b); /* the time taken does not tell where they differ */
bool str_is_blank(const char *s);                        /* NULL, empty, or white space only */
char *str_copy(const char *s);                           /* NULL for NULL, or when out of memory */
void md5_digest(const void *data, size_t len, unsigned char out[16]);
void sha256_hex(const char *text, char out[65]); /* lower-case digits of the digest of the text */
void hmac_sha256(const char *key, const char *text, unsigned char out[32]);
/* Hex text of `bytes` random bytes of the system; out holds 2 * bytes + 1. */
MUST_CHECK enum err random_hex(char *out, size_t bytes, struct errctx *ec);

/* ---- order and hashes -------------------------------------------------------------------------------------------- */

int compare_int64(const void *a, const void *b);   /* for qsort and bsearch: ascending */
size_t sort_distinct(int64_t *list, size_t count); /* ascending, each once; how many are left. No list: none */

/* FNV-1a, to be continued over several values, for tables in memory. hash_text counts the NUL, so that texts do not run
 * together. */
#define HASH_START UINT64_C(14695981039346656037)
uint64_t hash_bytes(uint64_t h, const void *data, size_t len);
uint64_t hash_text(uint64_t h, const char *text);

/* ---- counters ---------------------------------------------------------------------------------------------- */

/* Every metric that is counted as it happens: X(id, kind, name, labels, help). Values per shard are sampled instead,
 * when the metrics page is asked for. Metrics of one name stand together. The order is that of the page. */
#define COUNTER_TABLE(X)                                                                                               \
    X(FIRES_PLANNED, COUNTER, "shardwheel_fires_planned_total", "", "Fires written to xxl_job_log before their time.") \
    X(FIRES_LOADED, COUNTER, "shardwheel_fires_loaded_total", "", "Planned fires loaded at a takeover.")               \
    X(FIRES_DELIVERED, COUNTER, "shardwheel_fires_total", "outcome=\"delivered\"", "Fires that ended, by outcome.")    \
    X(FIRES_REFUSED, COUNTER, "shardwheel_fires_total", "outcome=\"refused\"", "")                                     \
    X(FIRES_FAILED, COUNTER, "shardwheel_fires_total", "outcome=\"failed\"", "")                                       \
    X(FIRES_TOO_LATE, COUNTER, "shardwheel_fires_total", "outcome=\"too_late\"", "")                                   \
    X(FIRES_CANCELLED, COUNTER, "shardwheel_fires_total", "outcome=\"cancelled\"", "")                                 \
    X(FIRES_UNKNOWN, COUNTER, "shardwheel_fires_total", "outcome=\"delivery_unknown\"", "")                            \
    X(FIRES_UNWRITTEN, COUNTER, "shardwheel_fires_total", "outcome=\"result_unknown\"", "")                            \
    X(FIRES_HELD, COUNTER, "shardwheel_fires_held_total", "",                                                          \
      "Fires that found no executor and wait for one, counted at each try. They also count as failed.")                \
    X(FIRES_RESENT, COUNTER, "shardwheel_fires_resent_total", "",                                                      \
      "Fires with unknown delivery that were sent again: shardwheel.delivery-unknown.resend.")                         \
    X(FIRES_FENCED, COUNTER, "shardwheel_fires_fenced_total", "",                                                      \
      "Fires dropped because another node owns their shard.")                                                          \
    X(MISFIRES, COUNTER, "shardwheel_misfires_total", "",                                                              \
      "Due times older than a minute: the misfire strategy applied.")                                                  \
    X(JOBS_STOPPED, COUNTER, "shardwheel_jobs_stopped_total", "",                                                      \
      "Jobs stopped because their schedule has ended or is not valid.")                                                \
    X(CLAIMS, COUNTER, "shardwheel_claims_total", "", "Committed transactions that planned fires (claims).")           \
    X(CLAIM_CONFLICTS, COUNTER, "shardwheel_claim_conflicts_total", "",                                                \
      "Jobs skipped by a claim because they had changed.")                                                             \
    X(JOBS_LEFT_OUT, COUNTER, "shardwheel_jobs_left_out_total", "",                                                    \
      "Jobs skipped by a claim because another session had locked their rows. Counted in each claim.")                 \
    X(NEXT_TIMES_BACK, COUNTER, "shardwheel_next_times_back_total", "",                                                \
      "Next times that were set before planned fires, and were corrected.")                                            \
    X(CLAIM_FAILURES, COUNTER, "shardwheel_claim_failures_total", "", "Claims that failed.")                           \
    X(CLAIMS_UNGUARDED, COUNTER, "shardwheel_claims_unguarded_total", "result=\"refused\"",                            \
      "Claims while no node held the guard: refused, or their fires ended as delivery unknown.")                       \
    X(CLAIMS_DOUBTFUL, COUNTER, "shardwheel_claims_unguarded_total", "result=\"unknown\"", "")                         \
    X(GUARD_HELD, GAUGE, "shardwheel_java_guard_held", "",                                                             \
      "1 while this node holds the guard, which keeps Java admins on standby.")                                        \
    X(GUARD_SINCE, GAUGE_MS, "shardwheel_java_guard_held_since_timestamp_seconds", "",                                 \
      "Time since when this node holds the guard; 0 if it does not.")                                                  \
    X(GUARD_WANTED, GAUGE, "shardwheel_java_guard_wanted", "",                                                         \
      "1 if this node must hold the guard: shardwheel.java-guard.")                                                    \
    X(GUARD_LOSSES, COUNTER, "shardwheel_java_guard_losses_total", "", "Times that the guard was lost unexpectedly.")  \
    X(TAKEOVERS, COUNTER, "shardwheel_takeovers_total", "", "Shards taken over by this node.")                         \
    X(HANDOVERS, COUNTER, "shardwheel_handovers_total", "", "Shards that this node handed over to another node.")      \
    X(SHARDS_LOST, COUNTER, "shardwheel_shards_lost_total", "", "Shards that another node took without a handover.")   \
    X(RING_SECONDS, COUNTER, "shardwheel_ring_seconds_total", "",                                                      \
      "Seconds whose fires the ring thread has processed.")                                                            \
    X(CURSOR_FAILURES, COUNTER, "shardwheel_cursor_failures_total", "", "Cursor updates that failed or were refused.") \
    X(RESULTS_WRITTEN, COUNTER, "shardwheel_results_written_total", "", "Committed results of requests to executors.") \
    X(RESULTS_PAIRED, COUNTER, "shardwheel_results_paired_total", "",                                                  \
      "Results that were committed together with their callback.")                                                     \
    X(RESULT_BATCHES, COUNTER, "shardwheel_result_batches_total", "", "Transactions that wrote results.")              \
    X(RESULT_FAILURES, COUNTER, "shardwheel_result_failures_total", "",                                                \
      "Transactions of results that failed and were repeated.")                                                        \
    X(CALLBACKS, COUNTER, "shardwheel_callbacks_total", "result=\"stored\"",                                           \
      "Results reported by executors (callbacks).")                                                                    \
    X(CALLBACKS_REPEATED, COUNTER, "shardwheel_callbacks_total", "result=\"repeated\"", "")                            \
    X(CALLBACKS_FOREIGN, COUNTER, "shardwheel_callbacks_total", "result=\"unknown_log\"", "")                          \
    X(CALLBACKS_REFUSED, COUNTER, "shardwheel_callbacks_total", "result=\"refused\"", "")                              \
    X(CALLBACK_BATCHES, COUNTER, "shardwheel_callback_batches_total", "", "Transactions that stored callbacks.")       \
    X(RETRIES, COUNTER, "shardwheel_retries_total", "", "Retries of failed runs.")                                     \
    X(CHILDREN, COUNTER, "shardwheel_children_total", "", "Runs of child jobs.")                                       \
    X(TRIGGERS, COUNTER, "shardwheel_triggers_total", "", "Manual runs, by users and programs.")                       \
    X(ALARMS_SENT, COUNTER, "shardwheel_alarms_total", "result=\"sent\"",                                              \
      "Failed runs that were processed, by result of their alarm.")                                                    \
    X(ALARMS_FAILED, COUNTER, "shardwheel_alarms_total", "result=\"failed\"", "")                                      \
    X(ALARMS_NO_ADDRESS, COUNTER, "shardwheel_alarms_total", "result=\"no_address\"", "")                              \
    X(ALARMS_JOB_GONE, COUNTER, "shardwheel_alarms_total", "result=\"job_gone\"", "")                                  \
    X(ALARMS_GROUPED, COUNTER, "shardwheel_alarms_total", "result=\"grouped\"", "")                                    \
    X(MESSAGES_MAIL, COUNTER, "shardwheel_alarm_messages_total", "channel=\"mail\",result=\"sent\"",                   \
      "Alarm messages, one per receiver.")                                                                             \
    X(MESSAGES_JSON, COUNTER, "shardwheel_alarm_messages_total", "channel=\"json\",result=\"sent\"", "")               \
    X(MESSAGES_DINGTALK, COUNTER, "shardwheel_alarm_messages_total", "channel=\"dingtalk\",result=\"sent\"", "")       \
    X(MESSAGES_WECOM, COUNTER, "shardwheel_alarm_messages_total", "channel=\"wecom\",result=\"sent\"", "")             \
    X(MESSAGES_FEISHU, COUNTER, "shardwheel_alarm_messages_total", "channel=\"feishu\",result=\"sent\"", "")           \
    X(MESSAGES_SLACK, COUNTER, "shardwheel_alarm_messages_total", "channel=\"slack\",result=\"sent\"", "")             \
    X(MESSAGES_MAIL_FAILED, COUNTER, "shardwheel_alarm_messages_total", "channel=\"mail\",result=\"failed\"", "")      \
    X(MESSAGES_JSON_FAILED, COUNTER, "shardwheel_alarm_messages_total", "channel=\"json\",result=\"failed\"", "")      \
    X(MESSAGES_DINGTALK_FAILED, COUNTER, "shardwheel_alarm_messages_total", "channel=\"dingtalk\",result=\"failed\"",  \
      "")                                                                                                              \
    X(MESSAGES_WECOM_FAILED, COUNTER, "shardwheel_alarm_messages_total", "channel=\"wecom\",result=\"failed\"", "")    \
    X(MESSAGES_FEISHU_FAILED, COUNTER, "shardwheel_alarm_messages_total", "channel=\"feishu\",result=\"failed\"", "")  \
    X(MESSAGES_SLACK_FAILED, COUNTER, "shardwheel_alarm_messages_total", "channel=\"slack\",result=\"failed\"", "")    \
    X(ALARMS_QUEUED, GAUGE, "shardwheel_alarms_queued", "", "Alarm messages that wait to be sent.")                    \
    X(EXECUTORS_SEEN, GAUGE, "shardwheel_executors", "",                                                               \
      "Registered executor addresses. Only on the node that sends alarms; 0 on others.")                               \
    X(EXECUTOR_GROUPS, GAUGE, "shardwheel_executor_groups", "state=\"online\"",                                        \
      "Automatic executor groups with an address (online) and without (offline).")                                     \
    X(EXECUTOR_GROUPS_OFFLINE, GAUGE, "shardwheel_executor_groups", "state=\"offline\"", "")                           \
    X(EXPIRY_HELD, GAUGE, "shardwheel_executor_expiry_held", "",                                                       \
      "1 while no executor expires, because a node may have missed heartbeats.")                                       \
    X(ROWS_WATCHED, GAUGE, "shardwheel_log_rows_watched", "",                                                          \
      "Unfinished and failed log rows that are checked for failures.")                                                 \
    X(RUNS_SUCCEEDED, COUNTER, "shardwheel_runs_total", "result=\"succeeded\"",                                        \
      "Runs whose result an executor has reported.")                                                                   \
    X(RUNS_FAILED, COUNTER, "shardwheel_runs_total", "result=\"failed\"", "")                                          \
    X(RUNS_LOST_UNREGISTERED, COUNTER, "shardwheel_runs_lost_total", "reason=\"unregistered\"",                        \
      "Lost runs: their executor is not registered for 10 minutes, has left, or says that the job is idle.")           \
    X(RUNS_LOST_LEFT, COUNTER, "shardwheel_runs_lost_total", "reason=\"left\"", "")                                    \
    X(RUNS_LOST_IDLE, COUNTER, "shardwheel_runs_lost_total", "reason=\"idle\"", "")                                    \
    X(LOG_ROWS_CLEANED, COUNTER, "shardwheel_log_rows_cleaned_total", "", "Old log rows deleted by this node.")        \
    X(LOG_CLEANING, GAUGE_MS, "shardwheel_log_cleaning_seconds", "",                                                   \
      "Time since when the current deletion of old log rows runs or fails; 0 if there is none.")                       \
    X(BEATS, COUNTER, "shardwheel_registry_beats_total", "", "Heartbeats and removals of executors.")                  \
    X(HTTP_REQUESTS, COUNTER, "shardwheel_http_requests_total", "", "HTTP requests answered.")                         \
    X(HTTP_DENIED, COUNTER, "shardwheel_http_denied_total", "", "Executor calls refused because of a wrong token.")    \
    X(HTTP_CONNECTIONS, GAUGE, "shardwheel_http_connections", "", "Open connections of clients.")                      \
    X(HTTP_TURNED_AWAY_CONNECTIONS, COUNTER, "shardwheel_http_turned_away_total", "what=\"connections\"",              \
      "Clients that were disconnected or got 503: too many connections, too many console requests, too slow.")         \
    X(HTTP_TURNED_AWAY_REQUESTS, COUNTER, "shardwheel_http_turned_away_total", "what=\"console\"", "")                 \
    X(HTTP_TURNED_AWAY_SLOW, COUNTER, "shardwheel_http_turned_away_total", "what=\"slow\"", "")                        \
    X(HTTP_CONSOLE, COUNTER, "shardwheel_http_console_requests_total", "",                                             \
      "HTTP requests to the consoles and to api/v1.")                                                                  \
    X(LOGINS, COUNTER, "shardwheel_logins_total", "result=\"accepted\"",                                               \
      "Logins with name and password. throttled: refused without a check.")                                            \
    X(LOGINS_REFUSED, COUNTER, "shardwheel_logins_total", "result=\"refused\"", "")                                    \
    X(LOGINS_THROTTLED, COUNTER, "shardwheel_logins_total", "result=\"throttled\"", "")                                \
    X(CONSOLE_SESSIONS, GAUGE, "shardwheel_console_sessions", "",                                                      \
      "Sessions of users on all nodes. Only on the owner of shard 0, once a minute; 0 on others.")                     \
    X(QUESTIONS_YES, COUNTER, "shardwheel_questions_total", "answer=\"yes\"",                                          \
      "Checks of executors by the routing strategies FAILOVER and BUSYOVER, by answer.")                               \
    X(QUESTIONS_NO, COUNTER, "shardwheel_questions_total", "answer=\"no\"", "")                                        \
    X(QUESTIONS_SILENT, COUNTER, "shardwheel_questions_total", "answer=\"none\"", "")                                  \
    X(CALLS_LOG, COUNTER, "shardwheel_executor_calls_total", "call=\"log\"",                                           \
      "Calls to executors for users: log lines, kills.")                                                               \
    X(CALLS_KILL, COUNTER, "shardwheel_executor_calls_total", "call=\"kill\"", "")                                     \
    X(DB_STATEMENTS, COUNTER, "shardwheel_db_statements_total", "", "SQL statements sent.")                            \
    X(DB_ERRORS, COUNTER, "shardwheel_db_errors_total", "", "SQL statements that failed, and broken connections.")     \
    X(DB_CONNECTIONS, GAUGE, "shardwheel_db_connections", "", "Open database connections.")                            \
    X(DB_UP, GAUGE, "shardwheel_db_up", "", "1 if the last statement could be executed.")                              \
    X(DB_HOST, GAUGE, "shardwheel_db_host", "",                                                                        \
      "Position in the JDBC URL, from 1, of the database host in use; 0 if no server is agreed on.")                   \
    X(DB_GENERATION, GAUGE, "shardwheel_db_generation", "",                                                            \
      "Generation of the database server; increases when the nodes change to another server.")                         \
    X(DB_SECOND, GAUGE, "shardwheel_db_second_writable", "", "1 while a second host of the JDBC URL accepts writes.")  \
    X(DB_BUSY, COUNTER, "shardwheel_db_sessions_exhausted_total", "",                                                  \
      "Times that no database connection was free for too long.")                                                      \
    X(COORD_UP, GAUGE, "shardwheel_coordination_up", "", "1 while the coordination session is connected.")             \
    X(COORD_SESSIONS, COUNTER, "shardwheel_coordination_sessions_total", "", "ZooKeeper sessions begun.")              \
    X(COORD_DISCONNECTS, COUNTER, "shardwheel_coordination_disconnects_total", "", "Lost connections to ZooKeeper.")   \
    X(COORD_TIMEOUT, GAUGE_MS, "shardwheel_coordination_session_timeout_seconds", "",                                  \
      "Session timeout granted by ZooKeeper; 0 if standalone or not connected yet.")                                   \
    X(CLOCK_DIFFERENCE, GAUGE_MS, "shardwheel_clock_difference_seconds", "",                                           \
      "Clock of this node minus clock of the database.")                                                               \
    X(CURSOR_LEAD, GAUGE_MS, "shardwheel_cursor_lead_seconds", "",                                                     \
      "Time by which the cursor moves before its second. If the node fails in this time, fires end as delivery "       \
      "unknown.")                                                                                                      \
    X(WEAK_TOKEN, GAUGE, "shardwheel_weak_secrets", "kind=\"token\"",                                                  \
      "Secrets that are empty or public defaults: the access token, the database password, passwords of users, "       \
      "tokens of groups; see security.md.")                                                                            \
    X(WEAK_DATABASE, GAUGE, "shardwheel_weak_secrets", "kind=\"database\"", "")                                        \
    X(WEAK_USERS, GAUGE, "shardwheel_weak_secrets", "kind=\"users\"", "")                                              \
    X(WEAK_GROUPS, GAUGE, "shardwheel_weak_secrets", "kind=\"groups\"", "")                                            \
    X(NODES_LIVE, GAUGE, "shardwheel_nodes_live", "", "Live nodes of the cluster, as seen by this one.")               \
    X(THREADS_STUCK, GAUGE, "shardwheel_threads_stuck", "",                                                            \
      "Threads that are needed for fires and make no progress. systemd restarts the node if this continues.")          \
    X(WHEEL_FIRES, GAUGE, "shardwheel_wheel_fires", "", "Planned fires in memory.")                                    \
    X(DISPATCH_QUEUED, GAUGE, "shardwheel_dispatch_queued", "", "Fires that wait for a connection to their executor.") \
    X(DISPATCH_IN_FLIGHT, GAUGE, "shardwheel_dispatch_in_flight", "", "Requests to executors in progress.")            \
    X(RESULTS_QUEUED, GAUGE, "shardwheel_results_queued", "", "Results that are not yet committed.")                   \
    X(DISPATCH_QUEUE_MAX, GAUGE, "shardwheel_dispatch_queue_max", "",                                                  \
      "Maximum number of waiting fires: shardwheel.dispatch.queue-max.")                                               \
    X(RESULTS_QUEUE_MAX, GAUGE, "shardwheel_results_queue_max", "",                                                    \
      "Maximum number of waiting results: shardwheel.results.queue-max. From an eighth on, fires are slowed down.")    \
    X(LATENESS, HISTOGRAM, "shardwheel_fire_lateness_seconds", "", "Start delay: from the due second to the request.") \
    X(DISPATCH_TIME, HISTOGRAM, "shardwheel_dispatch_seconds", "", "From the request to its answer.")                  \
    X(CALLBACK_TIME, HISTOGRAM, "shardwheel_callback_seconds", "", "From receiving a callback to its commit.")         \
    X(COMMIT_TIME, HISTOGRAM, "shardwheel_db_commit_seconds", "", "Duration of a COMMIT.")

enum counter_kind {
    COUNTER_KIND_COUNTER,
    COUNTER_KIND_GAUGE,
    COUNTER_KIND_GAUGE_MS, /* kept in milliseconds, shown in seconds */
    COUNTER_KIND_HISTOGRAM,
};

enum counter_id {
#define COUNTER_ID(id, kind, name, labels, help) COUNTER_##id,
    COUNTER_TABLE(COUNTER_ID)
#undef COUNTER_ID
        COUNTER_COUNT
};

struct counter_info {
    enum counter_kind kind;
    const char *name;
    const char *labels; /* "" or label="value" without braces */
    const char *help;   /* "" for a further row of the same name */
};

#define HISTOGRAM_BUCKETS 16
struct histogram {
    _Atomic uint64_t bucket[HISTOGRAM_BUCKETS + 1]; /* [atomic] not cumulative; the last is beyond all bounds */
    _Atomic uint64_t sum_us;                        /* [atomic] */
};

struct counters {
    _Atomic int64_t value[COUNTER_COUNT];      /* [atomic] */
    struct histogram histogram[COUNTER_COUNT]; /* [atomic] used by rows of that kind only */
};

/* Any thread; relaxed atomics: each number is right, two numbers need not be of one instant. NULL counters are
 * ignored. */
const struct counter_info *counter_get_info(enum counter_id id);
extern const double histogram_bounds_s[HISTOGRAM_BUCKETS];
void counters_add(struct counters *c, enum counter_id id, int64_t n);
void counters_set(struct counters *c, enum counter_id id, int64_t value);
int64_t counters_get(struct counters *c, enum counter_id id);
void counters_observe_us(struct counters *c, enum counter_id id, int64_t us); /* negative counts as 0 */

#endif
