/* SPDX-License-Identifier: MIT */
/*
 * store: the MySQL or MariaDB database: sessions, schema generations, one file per table.
 *
 * Threads     A struct store may be used by any thread. A session belongs to the thread that took it.
 * Ownership   What load functions return is the caller's. Text members of rows live as long as the object they came in.
 * Time        DATETIME columns hold local time of the database zone (zone of store_opts); everything here counts from the epoch.
 * Errors      ERR_LOST: the connection is gone, nothing happened, the next call connects anew. ERR_UNKNOWN: it broke while a
 *             commit was under way. ERR_CONFLICT: deadlock, lock wait timeout, or not what was read. ERR_INPUT: SQL refused.
 * Rules       Every transaction runs in READ COMMITTED; updates count matched rows (CLIENT_FOUND_ROWS). Locks are taken in
 *             the order cluster, reshard, shard, cursor, takeover, jobs (many at once: claims only), log rows by ascending id.
 *             Nothing here retries by itself.
 */
#ifndef SHARDWHEEL_STORE_H
#define SHARDWHEEL_STORE_H

#include "shardwheel/base.h"
#include "shardwheel/cron.h"

struct store;
struct store_session;

/* ---- opening ----------------------------------------------------------------------------------------------- */

struct store_opts {
    const char *host; /* NULL: the socket */
    int port;
    const char *socket; /* NULL: TCP */
    const char *database;
    const char *user;
    const char *password;
    bool tls;           /* TLS where the server offers it; the server is not verified */
    bool tls_require;   /* TLS or no connection */
    bool tls_verify;    /* TLS or no connection; verify chain and name too */
    const char *tls_ca; /* PEM file for tls_verify; NULL: the system's */
    const char *zone;   /* of DATETIME columns; NULL: the zone of the process */
    int max_sessions;   /* store_take_session waits beyond that */
    int connect_timeout_ms;
    int read_timeout_ms; /* a statement without answer for so long breaks the connection */
};

/* Copies the options; connects nothing but checks them (the zone). */
MUST_CHECK enum err store_create(const struct store_opts *opts, const struct clock *clock, struct counters *counters,
                                 struct store **out, struct errctx *ec);
void store_destroy(struct store *st); /* all sessions must have been given back */
const struct zone *store_get_zone(const struct store *st);

/* How a session is set up at the server. */
enum session_kind {
    SESSION_NORMAL, /* wait_timeout of the server */
    SESSION_CLAIM,  /* wait_timeout 2 s: a paused node lets its row locks go; waits 1 s for a row lock */
    SESSION_RING,   /* waits 1 s for a row lock and 3 s for an answer: nothing holds up the ring for longer */
    SESSION_GUARD, /* wait_timeout 10 s; waits 120 s for a row lock. Not one of max_sessions, and closed when given back */
};

/* Takes an idle session of that kind or connects. ERR_LOST server away, ERR_DENIED wrong user or password or no right to
 * the database, ERR_NOTFOUND no such database, ERR_TIMEOUT all max_sessions are in use. The text names host and user. */
MUST_CHECK enum err store_take_session(struct store *st, enum session_kind kind, struct store_session **out,
                                       struct errctx *ec);
void store_give_session(struct store *st, struct store_session *s); /* rolls back; closes a broken one; NULL is fine */
/* One cheap round trip. A session that broke connects anew at the next call made with it outside a transaction. */
MUST_CHECK enum err store_ping(struct store_session *s, struct errctx *ec);
/* The same, and the server must be one that takes our writes: fails on one that is read-only. */
MUST_CHECK enum err store_check_writable(struct store_session *s, struct errctx *ec);
MUST_CHECK enum err store_load_wall_ms(struct store_session *s, int64_t *out_ms,
                                       struct errctx *ec); /* the server's clock */

/* ---- schema ------------------------------------------------------------------------------------------------ */

/* What the schema of this database is able to do; read from information_schema (features, not version numbers). */
struct store_features {
    const char *family;    /* "2.3", "2.5", "3.2", "3.4", "3.5": nearest family, for messages */
    bool job_name_is_desc; /* xxl_job_info.job_desc, else .name */
    bool group_title;      /* xxl_job_group.title, else .name */
    bool group_access_token;
    bool user_token;
    int user_password_len;
    bool registry_unique;
    bool log_handle_code_index; /* an index that starts with handle_code */
    bool log_trigger_time_index;
    int param_len;        /* xxl_job_log.executor_param */
    bool info_next_index; /* an index that starts with (trigger_status, trigger_next_time) */
    bool own_tables;      /* ours are there */
    bool empty;           /* not one xxl_job table */
    bool mariadb;
    char server_version[64];
};

/* Reads and keeps the features for this store. ERR_INPUT with what is missing for a schema that is too old or incomplete
 * (not for an empty one: that is `empty`). */
MUST_CHECK enum err store_load_features(struct store *st, struct store_features *out, struct errctx *ec);
/* Puts what is missing into the database, and only that: on an empty one the whole schema of family 3.4 with an admin user
 * whose random password is returned (caller frees), else only our tables and a missing schedule_lock row. Safe to call from
 * several nodes at once and again. `report` is called with one sentence for each thing done. */
MUST_CHECK enum err store_install_schema(struct store *st, void (*report)(void *arg, const char *what), void *arg,
                                         char **admin_password, struct errctx *ec);

/* ---- shards and cursors: store/shards.c --------------------------------------------------------------------- */

#define STORE_SHARDS_MAX 1024 /* of one cluster */

/* The number of shards that the cluster works with goes to *in_force: n if nothing was recorded yet. Makes the rows of those
 * shards where missing (a new cursor starts at now_s). */
MUST_CHECK enum err store_init_shards(struct store_session *s, int n, int64_t now_s, int *in_force, struct errctx *ec);
/* One transaction: locks the shard row, then the cursor row, writes the next epoch and the owner to both, reads the cursor,
 * and leaves a note of it in shardwheel_takeover. The epoch is beyond both rows' and beyond `above`, the highest that the caller
 * ever had of this shard: a database that lost the commit of a takeover would give it the same one again, and what it holds in
 * memory under that epoch would be sent beside what it loads anew.
 * ERR_STATE when the cluster does not work with n shards any more: who believes in another number would load rows that are
 * another shard's by now. */
MUST_CHECK enum err store_take_shard(struct store_session *s, int shard, int n, const char *owner, int64_t above,
                                     int64_t *epoch, int64_t *cursor_s, struct errctx *ec);

struct cursor_move {
    int shard;
    int64_t epoch;
    bool moved; /* out: the epoch still held and the cursor is at the second or beyond */
};
/* Moves the cursors of several shards (ascending) to second_s in one statement. May be repeated after ERR_UNKNOWN/ERR_LOST.
 * On ERR_CONFLICT (somebody holds a row) it tries each shard by itself; `moved` is right in every case of ERR_OK. */
MUST_CHECK enum err store_move_cursors(struct store_session *s, struct cursor_move *moves, size_t count,
                                       int64_t second_s, struct errctx *ec);

struct shard_row {
    int shard;
    int64_t epoch;
    int64_t cursor_s;
    char owner[128];
};
MUST_CHECK enum err store_load_shards(struct store_session *s, struct shard_row **out, size_t *count,
                                      struct errctx *ec);

/* How far the shards are through. */
#define PASSED_NOT_KNOWN INT64_MIN
struct passed_shards {
    int shards; /* of the cluster; 0: no node has worked on this database yet */
    int64_t
        *until_s; /* the cursor of each; PASSED_NOT_KNOWN while a note of a takeover stands for it, or without a row */
};
MUST_CHECK enum err store_load_passed(struct store_session *s, struct passed_shards *out, struct errctx *ec);
void passed_shards_fini(struct passed_shards *passed);

/* ---- notes of takeovers: store/takeovers.c ----------------------------------------------------------------------- */

/* What a takeover found: rows due at or before the cursor, planned under an older epoch and still open, may be undelivered. The
 * note stands in the database until that was settled, by this owner or a later one. */
struct takeover_note {
    int64_t epoch; /* that it wrote */
    int64_t cursor_s;
    int64_t age_ms; /* how long ago it was when it was loaded, by the server's clock; 0 for one in the future */
};
/* Before cursors move by so much that the next owner, who looks back from where it finds them, would not see what they passed: a
 * note with the cursor as it is for each of those moves whose cursor is below that second and whose epoch holds. A note of that
 * epoch that stands keeps its cursor and becomes as young as if it were of now. May be repeated, also after ERR_UNKNOWN. */
MUST_CHECK enum err store_note_jumps(struct store_session *s, const struct cursor_move *moves, size_t count,
                                     int64_t below_s, struct errctx *ec);
/* All notes of the shard, oldest epoch first. *out is to be freed with free; NULL when there is none. */
MUST_CHECK enum err store_load_takeovers(struct store_session *s, int shard, struct takeover_note **out, size_t *count,
                                         struct errctx *ec);
/* One transaction: removes the notes of the shard up to that epoch; with put_off, the later ones become as young as if their
 * takeovers were now. May be repeated, also after ERR_UNKNOWN. */
MUST_CHECK enum err store_delete_takeovers(struct store_session *s, int shard, int64_t epoch, bool put_off,
                                           struct errctx *ec);

/* ---- nodes: store/nodes.c -------------------------------------------------------------------------------------- */

/* Every time here is of the server's clock, in epoch milliseconds. */

/* A wish for another number of shards, as it stands in shardwheel_reshard. */
struct reshard_wish {
    int shards;     /* 0: no wish stands, and the rest says nothing */
    int64_t last_s; /* every cursor is to stop exactly there */
    int tries;      /* of which this is the n-th */
};

/* What a node reads each second. */
struct cluster_view {
    int64_t now_ms;
    int shards; /* 0: no node has worked on this database yet */
    struct reshard_wish wish;
    bool known; /* the node has a row; the two below are of it */
    bool drain;
    int release_shard; /* -1: none */
};
MUST_CHECK enum err store_load_cluster(struct store_session *s, const char *incarnation, struct cluster_view *out,
                                       struct errctx *ec);

struct node_beat {
    const char *incarnation;
    const char *node;
    const char *url;
    const char *version;
    int64_t started_ms;
    int64_t clock_ms; /* how far the node's clock is ahead of the server's */
    int owned;
    bool drain;   /* counts only if the row is not there: who removed it must not undo what was asked of the node */
    int released; /* this release_shard was taken: it becomes -1; -1: none was */
};
MUST_CHECK enum err store_write_beat(struct store_session *s, const struct node_beat *beat, struct errctx *ec);
/* Removes rows of nodes whose last beat is older than that. */
MUST_CHECK enum err store_forget_nodes(struct store_session *s, int64_t older_than_ms, struct errctx *ec);
MUST_CHECK enum err store_delete_node(struct store_session *s, const char *incarnation, struct errctx *ec);

struct node_row {
    char incarnation[40];
    char node[160];
    char url[300];
    char version[40];
    int64_t started_ms;
    int64_t beat_ms;
    int64_t clock_ms;
    int owned;
    bool drain;
    int release_shard;
};
/* Ordered by name, then by start. *out is to be freed with free; *now_ms is the server's clock. */
MUST_CHECK enum err store_load_nodes(struct store_session *s, struct node_row **out, size_t *count, int64_t *now_ms,
                                     struct errctx *ec);
/* ERR_NOTFOUND when that run of a node is not there any more. */
MUST_CHECK enum err store_set_drain(struct store_session *s, const char *incarnation, bool drain, struct errctx *ec);
/* ERR_BUSY when the node is still asked to release another shard; ERR_NOTFOUND as above. */
MUST_CHECK enum err store_ask_release(struct store_session *s, const char *incarnation, int shard, struct errctx *ec);
/* Nothing when the node has taken it already. */
MUST_CHECK enum err store_withdraw_release(struct store_session *s, const char *incarnation, int shard,
                                           struct errctx *ec);

/* One shard for display. */
struct shard_view {
    int shard;
    int64_t epoch;
    char owner[160];     /* empty: nobody has taken it yet */
    int64_t taken_s;     /* epoch seconds by the owner's clock; 0: not known */
    int64_t cursor_s;    /* 0: the row is missing */
    int64_t planned;     /* planned fires beyond the cursor */
    int64_t open_before; /* planned fires at or before it whose end is not written */
};
struct cluster_status {
    int64_t now_ms;
    int shards; /* 0: no node has worked on this database yet */
    struct reshard_wish wish;
    struct shard_view *rows; /* all shards in force, ascending */
    size_t count;
};
/* Fires are counted where asked for: that looks at rows of xxl_job_log. */
MUST_CHECK enum err store_load_status(struct store_session *s, bool count_fires, struct cluster_status *out,
                                      struct errctx *ec);
void cluster_status_fini(struct cluster_status *status);

/* ---- another number of shards: store/reshard.c ------------------------------------------------------------------- */

#define RESHARD_AHEAD_S 6        /* a second at which all cursors are to stop is chosen so far ahead */
#define RESHARD_PATIENCE_MS 5000 /* when it is over by so much and some cursor is not there, another one is chosen */
#define RESHARD_TRIES 5

/* Writes the wish for n shards. ERR_STATE: the cluster works with n already, or no node has worked on this database yet;
 * ERR_CONFLICT: another wish stands. */
MUST_CHECK enum err store_ask_reshard(struct store_session *s, int n, struct reshard_wish *out, struct errctx *ec);
/* Withdraws the wish for n shards (0: for any number). False in *found when none such stands: carried out, given up or never
 * asked for. */
MUST_CHECK enum err store_cancel_reshard(struct store_session *s, int n, bool *found, struct errctx *ec);

enum reshard_outcome {
    RESHARD_WAITING,   /* the cursors are on their way */
    RESHARD_GONE,      /* that wish does not stand any more */
    RESHARD_DONE,      /* by this call */
    RESHARD_POSTPONED, /* some cursor was not there in time: `last_s` is another second */
    RESHARD_GIVEN_UP,  /* ... for the last time: the wish is removed */
};
struct reshard_step {
    enum reshard_outcome outcome;
    int shards; /* in force before this call */
    int64_t last_s;
    char where[300]; /* POSTPONED and GIVEN_UP: which cursors stood where */
};
/* Tries to carry a wish out. One transaction, which locks the rows of cluster and reshard, all of shards, all of cursors, each
 * ascending: if every cursor is exactly at last_s, the number of shards changes, all cursors are put to last_s and all epochs
 * beyond the highest there ever was. Any number of nodes may try at once. */
MUST_CHECK enum err store_step_reshard(struct store_session *s, const struct reshard_wish *wish,
                                       struct reshard_step *out, struct errctx *ec);

/* ---- jobs: store/scan.c, store/jobs.c ------------------------------------------------------------------------------------- */

/* A job as the planner reads it. NULL columns read as "". */
struct job_due {
    int64_t id;
    int64_t group;
    int64_t next_ms; /* trigger_next_time as read */
    const char *schedule_type;
    const char *schedule_conf;
    const char *misfire;
    const char *route;
    const char *handler;
    const char *param; /* NULL stays NULL */
    int retry_count;
};

struct job_page {
    struct job_due *jobs;
    size_t count;
    void *memory; /* private: the texts */
};

/* What one look at the whole table finds. */
struct due_scan {
    struct due_id {
        int64_t id;
        int64_t next_ms;
    } * list; /* by next time, then id; free with free */
    size_t count;
    bool complete; /* false: there are more */
};
/* Running jobs of those shards (id % n, id not negative) with next time <= until_ms; at most `limit`. Rows are not kept on their
 * way, so it takes no more memory than the list. */
MUST_CHECK enum err store_scan_due(struct store_session *s, const int *shards, size_t shard_count, int n,
                                   int64_t until_ms, size_t limit, struct due_scan *out, struct errctx *ec);
/* Those of the jobs `ids` (ascending and distinct) that are running and have a next time <= until_ms, ascending by id. */
MUST_CHECK enum err store_load_due(struct store_session *s, const int64_t *ids, size_t count, int64_t until_ms,
                                   struct job_page *out, struct errctx *ec);
void job_page_fini(struct job_page *page);

/* A job as a fire needs it, read shortly before its time. Reference-counted: fires of one job share it. */
struct job_spec {
    _Atomic int refs; /* [atomic] */
    /* [const] and all that follows */
    int64_t id;
    int64_t group;
    bool running; /* trigger_status = 1 */
    int timeout_s;
    int retry_count;
    uint32_t row_hash;       /* fire_row_hash of group, handler, param and retry_count */
    uint32_t route_hash;     /* fire_route_hash */
    int64_t glue_updated_ms; /* 0 when NULL */
    const char *route;
    const char *handler;
    const char *param; /* NULL stays NULL */
    const char *block;
    const char *glue_type;
    const char *glue_source; /* "" for BEAN */
};
struct job_spec *job_spec_ref(struct job_spec *job);
void job_spec_unref(struct job_spec *job); /* NULL is fine */
/* out[i] is the job ids[i], or NULL where there is none; ids ascending and distinct. The caller owns one reference each. */
MUST_CHECK enum err store_load_job_specs(struct store_session *s, const int64_t *ids, size_t count,
                                         struct job_spec **out, struct errctx *ec);

/* ---- planned fires: store/claim.c and store/logs.c ------------------------------------------------------------ */

enum fire_flags {
    FIRE_LAST = 1,    /* the last occurrence: fires although its job is stopped by now */
    FIRE_MISFIRE = 2, /* made by the misfire rule */
    FIRE_RESENT = 4,  /* in memory only: it may have been sent before, by a node that died */
    FIRE_RETRY = 8,   /* direct: made because another one failed */
};

/* A planned fire: a row of xxl_job_log with a mark at the head of trigger_msg:
 *   <!--sw:p:DUE:EPOCH-->   and, where they apply, before the arrow  :L (last)  :M (misfire)  :O<original due second> */
struct fire {
    struct fire *next; /* the list that it is in */
    int64_t log_id;
    int64_t job_id;
    int64_t group; /* whose executors it goes to: the job's when it was planned, and again when it is prepared */
    int64_t due_s; /* the second it goes out */
    int64_t original_due_s; /* the due time it stands for; differs from due_s only when it is late */
    int64_t epoch;          /* under which it was planned or loaded */
    int shard;
    int flags;
    int shard_index; /* broadcast: 0..total-1; else 0 of 1 */
    int shard_total;
    bool broadcast;
    bool written_ahead; /* its row has address and message as a delivery leaves them: a success writes its code alone */
    uint32_t row_hash;  /* fire_row_hash of what the row holds: differs -> the result writes these columns too */
    uint32_t route_hash;  /* of `written_ahead`: fire_route_hash of the job's route at that time */
    char *address;        /* the one it was planned for, as in its row; NULL when none was known. Owned. */
    struct job_spec *job; /* NULL until prepared; one reference owned */
};
struct fire *fire_create(void);
void fire_destroy(struct fire *fire);      /* NULL is fine */
void fire_destroy_list(struct fire *list); /* NULL is fine */
uint32_t fire_row_hash(int64_t group, const char *handler, const char *param, int retry_count);
uint32_t fire_route_hash(const char *route); /* NULL counts as "" */
/* The mark as text (at most 100 characters with its NUL), and back. False when `text` does not begin with a mark. */
void fire_format_mark(const struct fire *fire, char out[100]);
bool fire_parse_mark(const char *text, struct fire *out); /* due_s, original_due_s, epoch, flags */
/* "i/n" of executor_sharding_param: digits around one slash. False for NULL and all else. */
bool fire_parse_sharding(const char *text, int *index, int *total);

/* One job of a claim: from what was read to what it becomes, and the fires that this plans. */
struct claim_job {
    const struct job_due *job;
    int64_t new_next_ms; /* 0 with `stop` */
    bool stop;           /* no further occurrence, or the schedule is broken: status, last and next become 0 */
    struct fire *fires;  /* list, oldest first; may be NULL. Taken over when `advanced`, else stays the caller's. */
    const char *message; /* goes behind the mark of those fires that are `written_ahead`; NULL: nothing */
    bool advanced;       /* out: the job was still what was read */
};

/* Guards that were alive when a claim began: connections that hold Java admins off. */
#define CLAIM_GUARDS_MAX 8
struct claim_guards {
    int count;
    struct claim_guard {
        char incarnation[33];
        int64_t connection;
    } list[CLAIM_GUARDS_MAX];
};

/* One transaction: the epoch of the shard is still `epoch` (else ERR_STATE: fenced) -> jobs that are what was read (next time,
 * status, type, conf) advanced -> their fires inserted (log_id and row_hash filled in) -> commit. Jobs of equal times and
 * schedules are advanced by one statement that compares them; if it finds one of them changed, all is rolled back and done
 * again with each job locked and compared.
 * `jobs` ascending by id. On ERR_UNKNOWN nothing is known of the whole batch: the fires keep the log_id that they have if it
 * happened, and store_load_claimed finds out by it. On every other error nothing was written.
 * With `guards`, ERR_GUARD when no node holds Java admins off; else it holds those that do, to be given to store_check_guards
 * after the commit (also after ERR_UNKNOWN): the claim was safe from Java admins only if one of them still lives. */
MUST_CHECK enum err store_claim_jobs(struct store_session *s, int shard, int64_t epoch, struct claim_job *jobs,
                                     size_t count, struct claim_guards *guards, struct errctx *ec);
/* *held: one of them has lived all the time until now. */
/* Whole seconds since the server started. */
MUST_CHECK enum err store_load_uptime_s(struct store_session *s, int64_t *out_s, struct errctx *ec);
MUST_CHECK enum err store_check_guards(struct store_session *s, const struct claim_guards *guards, bool *held,
                                       struct errctx *ec);
/* After ERR_UNKNOWN, on another session: waits until the doubtful transaction has ended (locks the shard row; ERR_STATE when
 * the epoch is newer), then sets `advanced` and the fires' log_id of those jobs whose rows are there (mark, job and due). */
MUST_CHECK enum err store_load_claimed(struct store_session *s, int shard, int64_t epoch, struct claim_job *jobs,
                                       size_t count, struct errctx *ec);

/* A part of the log, bounded in what it costs the server. */
struct log_slice {
    int64_t from_s; /* due after it */
    int64_t to_s;   /* due at or before it */
    int limit_ms; /* the server ends the statement after that, and after three quarters of the read timeout at the latest */
    int64_t page_rows; /* 0: all of it at once; else a page: so many rows, open or not, by id, behind after_id */
    int64_t after_id;
};
/* Marked open rows of the slice, of all jobs, in no order; epoch is that of the mark, shard is 0. *last_id: where the next page
 * begins, 0 when there is none. ERR_TIMEOUT: the limit; the server has ended the statement, and the session is good. */
MUST_CHECK enum err store_load_planned(struct store_session *s, const struct log_slice *slice, struct fire **out,
                                       int64_t *last_id, struct errctx *ec);
/* Ends rows as failed "delivery unknown" where still trigger_code = 0 and handle_code = 0. */
MUST_CHECK enum err store_end_unknown(struct store_session *s, const int64_t *log_ids, size_t count, size_t *ended,
                                      struct errctx *ec);
/* The same for planned rows that a Java admin may have read and sent as well. */
MUST_CHECK enum err store_end_doubtful(struct store_session *s, const int64_t *log_ids, size_t count,
                                       struct errctx *ec);
/* Removes planned rows of fires that must not happen any more (job stopped or deleted in time), where still open. */
MUST_CHECK enum err store_cancel_planned(struct store_session *s, const int64_t *log_ids, size_t count,
                                         struct errctx *ec);

/* What dispatch has to say of a fire. */
struct fire_result {
    int64_t log_id;
    int code;            /* trigger_code */
    const char *address; /* NULL: no address was found */
    const char *message; /* goes behind the mark */
    bool as_planned;     /* the row was written ahead and all of it holds: only the code is written */
    bool write_job;      /* what row_hash is of differs from the row: all that follow are written */
    int64_t group;
    const char *handler;
    const char *param;
    int retry_count;
    const char *sharding; /* "i/n" or NULL */
};
/* One transaction for those `as_planned`, then one for the others; rows of equal values share a statement. Only where
 * trigger_code = 0: others are left alone, so it may be repeated, also when the first transaction was committed. */
MUST_CHECK enum err store_write_results(struct store_session *s, const struct fire_result *results, size_t count,
                                        struct errctx *ec);

/* ---- direct fires: store/direct.c ------------------------------------------------------------------------------ */

/* Fires that are no shard's (`shard` is -1): made, written and sent once by one node. Their rows carry the mark
 *   <!--sw:d:INCARNATION:DUE:KIND-->   KIND: R retry
 * No takeover loads them. Once the incarnation is gone, what is open of it is ended as "delivery unknown". */
#define INCARNATION_MAX 33 /* with its NUL */
void fire_format_direct_mark(const struct fire *fire, const char *incarnation, char out[100]);
bool fire_parse_direct_mark(const char *text, struct fire *out, char incarnation[INCARNATION_MAX]); /* due_s, flags */

/* A copy of the job, one reference, with that parameter (NULL stays NULL) and retry count. NULL when out of memory. */
struct job_spec *job_spec_copy(const struct job_spec *job, const char *param, int retry_count);
/* Incarnations whose last beat is younger than within_ms, by the clock of the database; free with free. */
MUST_CHECK enum err store_load_live_nodes(struct store_session *s, int64_t within_ms, char (**out)[INCARNATION_MAX],
                                          size_t *count, struct errctx *ec);
/* Ends direct rows as failed "delivery unknown" where still trigger_code = 0 and handle_code = 0. */
MUST_CHECK enum err store_end_direct(struct store_session *s, const int64_t *log_ids, size_t count, size_t *ended,
                                     struct errctx *ec);

/* ---- failures: store/failures.c ---------------------------------------------------------------------------------- */

enum alarm_status { ALARM_OPEN = 0, ALARM_LOCKED = -1, ALARM_NOT_NEEDED = 1, ALARM_DONE = 2, ALARM_FAILED = 3 };

/* A row that is neither a success nor dealt with, as the failure monitor looks at it. */
struct log_state {
    int64_t id;
    int64_t job_id;
    int trigger_code;
    int handle_code;
    int alarm_status;
    bool marked;                       /* a fire of ours, while trigger_code = 0 */
    int64_t due_s;                     /* of a marked row */
    char incarnation[INCARNATION_MAX]; /* of an open direct fire, else "" */
};
/* The original's rule: NOT (trigger_code in (0,200) and handle_code = 0), NOT handle_code = 200, alarm_status = 0. Pure. */
bool log_state_is_failed(const struct log_state *row);

/* The newest id (0 in an empty table) and the first one whose trigger_time is from_s or later (newest + 1 without one). */
MUST_CHECK enum err store_load_log_bounds(struct store_session *s, int64_t from_s, int64_t *first_id, int64_t *last_id,
                                          struct errctx *ec);
/* The lowest id above after_id; 0 when there is none. */
MUST_CHECK enum err store_find_next_log(struct store_session *s, int64_t after_id, int64_t *out, struct errctx *ec);
/* Rows with after_id < id <= until_id, or with one of those ids, that are no success and have alarm_status 0; ascending.
 * Reads by the primary key alone: keep the range, or the list, short. Free with free. */
MUST_CHECK enum err store_load_log_range(struct store_session *s, int64_t after_id, int64_t until_id,
                                         struct log_state **out, size_t *count, struct errctx *ec);
MUST_CHECK enum err store_load_log_list(struct store_session *s, const int64_t *ids, size_t count,
                                        struct log_state **out, size_t *out_count, struct errctx *ec);

/* A failed row in the transaction that deals with it. */
struct failed_row {
    int64_t id;
    int64_t job_id;
    int retries_left;
    const char *param;          /* of the row; NULL stays NULL */
    const char *sharding;       /* of the row; NULL stays NULL */
    const struct job_spec *job; /* NULL: the job is gone */
    bool group_exists;          /* that of the job */
    bool has_mail;              /* the job names somebody to tell */
    /* What `decide` says; ALARM_LOCKED keeps the row for the alarm to come, with store_end_alarm. */
    enum alarm_status alarm;
    struct fire *retries; /* list; its rows are written in the same transaction, their log_id filled in */
    void *memory;         /* private */
};
/* Only rows that were still failed and nobody else's are in `rows`. */
struct failed_batch {
    struct failed_row *rows;
    size_t count;
    void *memory; /* private: the texts */
};
/* One transaction: locks those rows (ascending, at most 100), takes those that are failed still with alarm_status 0 (another
 * node may have been first, a callback may have made it a success), reads their jobs, asks `decide` about each, inserts the
 * retries, writes alarm_status and, where there is a retry, a line about it at the end of trigger_msg, cut to fit.
 * `decide` fills alarm and retries; an error of it ends all. On ERR_UNKNOWN the batch is filled in as if it had worked, and
 * store_find_failures tells whether it did; on other errors nothing was written and the batch is empty. */
MUST_CHECK enum err store_handle_failures(struct store_session *s, const int64_t *ids, size_t count,
                                          const char *incarnation,
                                          enum err (*decide)(void *arg, struct failed_row *row, struct errctx *ec),
                                          void *arg, struct failed_batch *out, struct errctx *ec);
/* After ERR_UNKNOWN, on another session: waits until the doubtful transaction has ended, then tells what came of it. */
MUST_CHECK enum err store_find_failures(struct store_session *s, const struct failed_batch *batch,
                                        const char *incarnation, bool *happened, struct errctx *ec);
void failed_batch_fini(struct failed_batch *batch); /* destroys the retries that were not taken out, too */

/* What an alarm tells of a row: store/alarms.c. */
struct alarm_facts {
    int64_t log_id;
    int64_t job_id;
    bool job_exists;
    const char *emails; /* alarm_email as stored; "" for NULL, as all below */
    const char *job_name;
    const char *group_name; /* NULL: the group is gone */
    int trigger_code;
    int handle_code;
    const char *trigger_msg;
    const char *handle_msg;
    void *memory; /* private: the texts */
};
/* ERR_NOTFOUND when the row is gone. */
MUST_CHECK enum err store_load_alarm(struct store_session *s, int64_t log_id, struct alarm_facts *out,
                                     struct errctx *ec);
void alarm_facts_fini(struct alarm_facts *facts);
/* Writes alarm_status of those rows where it is ALARM_LOCKED still. */
MUST_CHECK enum err store_end_alarms(struct store_session *s, const int64_t *log_ids, size_t count,
                                     enum alarm_status status, struct errctx *ec);
/* A row that cannot be dealt with in any way is set aside as ALARM_FAILED, where it is ALARM_OPEN still. */
MUST_CHECK enum err store_set_aside_failure(struct store_session *s, int64_t log_id, struct errctx *ec);

/* ---- callbacks: store/callbacks.c ------------------------------------------------------------------------------ */

enum callback_outcome { CALLBACK_STORED, CALLBACK_REPEATED, CALLBACK_UNKNOWN_LOG };
struct callback_entry {
    int64_t log_id;
    int code;
    const char *message; /* NULL counts as "" */
    bool
        delivers; /* its fire's result is not written and would be `as_planned` with code 200: written here, if trigger_code
                      still is 0, whatever the outcome */
    enum callback_outcome outcome; /* out */
};
/* One transaction: for each entry, first stored result wins (a handle_code > 0 is never overwritten); an older message stays
 * and the new one follows after <br>; the whole is cut to 15,000 UTF-16 units. Entries in order, ids may repeat. */
MUST_CHECK enum err store_write_callbacks(struct store_session *s, struct callback_entry *entries, size_t count,
                                          int64_t now_s, struct errctx *ec);

/* ---- groups and registry: store/groups.c, store/registry.c -------------------------------------------------------- */

struct group_row {
    int64_t id;
    bool manual; /* address_type 1 */
    const char *app_name;
    const char *address_list; /* as stored; "" for NULL */
    const char *access_token; /* "" where the schema has none or NULL */
};
struct group_list {
    struct group_row *rows; /* ascending by id */
    size_t count;
    void *memory;
};
MUST_CHECK enum err store_load_groups(struct store_session *s, struct group_list *out, struct errctx *ec);
void group_list_fini(struct group_list *list);
/* Writes address_list (NULL when "") and update_time of one automatic group where the list still is what was read. */
MUST_CHECK enum err store_update_group_addresses(struct store_session *s, int64_t group, const char *old_list,
                                                 const char *new_list, int64_t now_s, struct errctx *ec);

struct beat {
    const char *group; /* registry_group */
    const char *key;
    const char *value;
    bool remove;
};
/* In order; a beat for a row that is there renews it, else inserts; a removal deletes. */
MUST_CHECK enum err store_write_beats(struct store_session *s, const struct beat *beats, size_t count, int64_t now_s,
                                      struct errctx *ec);
struct registry_row {
    const char *group, *key, *value;
};
struct registry_list {
    struct registry_row *rows;
    size_t count;
    void *memory;
};
/* Deletes rows not renewed since dead_before_s and loads the rest. */
MUST_CHECK enum err store_load_registry(struct store_session *s, int64_t dead_before_s, struct registry_list *out,
                                        struct errctx *ec);
void registry_list_fini(struct registry_list *list);

/* ---- standalone ------------------------------------------------------------------------------------------------ */

/* Takes the named lock of this database for as long as the session lives. ERR_BUSY when another session has it. */
MUST_CHECK enum err store_lock_standalone(struct store_session *s, struct errctx *ec);
/* True while this very session still has it. */
MUST_CHECK enum err store_check_standalone(struct store_session *s, bool *held, struct errctx *ec);

/* ---- the guard beside Java admins: store/guard.c ---------------------------------------------------------------------- */

/* On a SESSION_GUARD: begins a transaction and asks for a shared lock of the row schedule_lock, which it makes where it is
 * missing. Does not wait for it. *connection is the session's id at the server. `incarnation`: of the node, 32 characters at
 * most. Whatever fails here or in the next two: give the session back and begin with a new one. */
MUST_CHECK enum err store_ask_guard(struct store_session *s, const char *incarnation, int64_t *connection,
                                    struct errctx *ec);
/* Waits so long at most for the answer. *held: the row is locked, and has been since *proven_ms at least (the server's clock).
 * ERR_CONFLICT: the server waited for 120 s and gave up. */
MUST_CHECK enum err store_wait_guard(struct store_session *s, const char *incarnation, int timeout_ms, bool *held,
                                     int64_t *proven_ms, struct errctx *ec);
/* Takes 0.9 s at the server. A process that dies meanwhile keeps the row for the rest of that time, so that what it and others
 * were committing is done before a Java admin reads. *proven_ms: the server's clock at its begin. */
MUST_CHECK enum err store_ping_guard(struct store_session *s, int64_t *proven_ms, struct errctx *ec);
void store_end_guard(struct store_session *s, const char *incarnation); /* Java admins may go on */

/* The node's row, on another session. connection 0: the node asks, proven_ms is the present. */
MUST_CHECK enum err store_write_guard(struct store_session *s, const char *incarnation, int64_t connection,
                                      int64_t proven_ms, struct errctx *ec);
/* Removes it (NULL: none), and rows that are older than a minute. */
MUST_CHECK enum err store_delete_guard(struct store_session *s, const char *incarnation, struct errctx *ec);
/* False when the server does not know the session any more that asks. */
MUST_CHECK enum err store_check_asking(struct store_session *s, const char *incarnation, int64_t connection,
                                       bool *alive, struct errctx *ec);
/* Other nodes that gave a sign of life within 5 s, and how many of them hold the guard. */
MUST_CHECK enum err store_count_guards(struct store_session *s, const char *except, int *nodes, int *held,
                                       struct errctx *ec);
MUST_CHECK enum err store_kill_session(struct store_session *s, int64_t connection, struct errctx *ec);

/* ---- a database of our own: store/private_server.c -------------------------------------------------------------- */

/* A private mariadbd: a child of this process with its data, socket and log in one folder, full fsync, no TCP. It ends with
 * this process, also when that is killed, and finds its data again at the next start. */
struct private_server;
#define PRIVATE_SERVER_SOCKET "mysql.sock" /* in that folder */

/* Makes the folder and the data where missing (the database xxl_job, empty), starts the server and waits until it answers.
 * ERR_NOTFOUND: mariadbd is not installed. ERR_BUSY: another process uses the folder. ERR_IO with the log file's name. Call
 * it from the main thread. */
MUST_CHECK enum err private_server_start(const char *dir, const struct clock *clock, struct private_server **out,
                                         struct errctx *ec);
const char *private_server_get_socket(const struct private_server *ps);
bool private_server_is_running(struct private_server *ps);
void private_server_stop(struct private_server *ps); /* asks it to end, waits, frees; NULL is fine */

#endif
