/* SPDX-License-Identifier: MIT */
/* What the files of memory_store share. */
#ifndef TEST_MEMORY_DB_H
#define TEST_MEMORY_DB_H

#include "sim/memory_store.h"

struct store_session {
    struct store *st;
    enum session_kind kind;
    int era;
};

/* What becomes of a write that reached the server. */
enum fate {
    FATE_DONE,
    FATE_LOST,          /* nothing of it */
    FATE_CONFLICT,      /* nothing of it: a deadlock */
    FATE_UNKNOWN_DONE,  /* carried out, and the answer got lost */
    FATE_UNKNOWN_NOT,   /* the commit got lost */
    FATE_UNKNOWN_LATER, /* carried out, or not, while the client knows nothing of it: the rows stay locked */
};

/* The way to the server; its state is that of the moment when this returns. */
MUST_CHECK enum err memory_reach(struct store_session *s, struct errctx *ec);
/* The way back. A write whose answer gets lost may have happened. */
MUST_CHECK enum err memory_answer(struct store_session *s, bool wrote, struct errctx *ec);
enum fate memory_draw_fate(struct store_session *s);
enum err memory_fail(enum fate fate, struct errctx *ec); /* ERR_OK for FATE_DONE */
/* A write that is carried out at once or not at all: reach, fate, *go. When it is to be carried out, do so, and
 * memory_end. */
MUST_CHECK enum err memory_begin(struct store_session *s, bool *go, enum fate *fate, struct errctx *ec);
MUST_CHECK enum err memory_end(struct store_session *s, enum fate fate, struct errctx *ec);
bool memory_holds(const struct memory_db *db, enum memory_rule rule);

/* ---- rows that a transaction holds ---- */

struct memory_step {
    struct memory_job before;
    int64_t new_next_ms;
    bool stop;
    bool keeps_last;
    struct skipped skipped;
    int64_t *log_ids;
    size_t count;
};

struct memory_later_step {
    int64_t id;
    enum later_fate fate;
    int64_t again_s;
    struct fire *fires; /* as planned: their owned members are not used */
    size_t count;
};

/* A transaction under way: a claim of jobs or (`later`) of later rows, or (neither) a takeover. It holds the shard's
 * row, and a takeover that of the cursor too. */
struct memory_claim {
    struct memory_claim *next;
    int64_t id;
    int64_t until_us; /* then it is carried out or rolled back, whatever its client does */
    bool carry_out;
    struct store *st;
    int shard;
    struct memory_step *steps;
    size_t count;
    struct memory_later_step *later;
    size_t later_count;
    int64_t epoch, cursor_s; /* of a takeover */
    char owner[128];
};
struct memory_claim *memory_find_claim(struct memory_db *db, int64_t id); /* NULL: it has ended */
void memory_commit(struct memory_db *db, struct memory_claim *claim);     /* frees it, as does: */
void memory_roll_back(struct memory_db *db, struct memory_claim *claim);
void memory_end_overdue(struct memory_db *db);
/* Waits for the row; ERR_CONFLICT after a second. */
MUST_CHECK enum err memory_wait_shard(struct store_session *s, int shard, struct errctx *ec);

/* Holds the shard's row from now on; what it is about is for the caller to fill in. */
struct memory_claim *memory_begin_claim(struct store_session *s, int shard);
MUST_CHECK enum err memory_end_claim(struct store_session *s, int64_t id, struct errctx *ec); /* its COMMIT */
int64_t memory_insert_log(struct memory_db *db, const struct fire *fire, int generation);     /* nobody sees it yet */
void memory_commit_later(struct memory_db *db, struct memory_claim *claim);
bool memory_load_own(struct memory_db *db, struct fire *fire); /* false: its later row is gone */
/* True when the fire waits for an executor, or its row is not what was sent: the result is not written. */
bool memory_hold(struct memory_db *db, const struct fire_result *result);

/* ---- transactions of flows ---- */

/* One under way. It holds the rows of its shards shared, and those of its runs. */
struct memory_move {
    struct memory_move *next;
    int64_t id;
    int64_t until_us; /* as of a claim */
    bool carry_out;
    struct store *st;
    int n; /* shards of the one who moves */
    struct flow_epoch *shards;
    size_t shard_count;
    struct memory_flow_run **runs; /* as they will be */
    size_t run_count;
    struct memory_flow **flows; /* likewise */
    size_t flow_count;
    int64_t *log_ids; /* rows that nobody sees yet */
    size_t log_count;
    bool blocked; /* somebody else holds a row that it needs */
};
struct memory_move *memory_begin_move(struct store_session *s);
struct memory_move *memory_find_move(struct memory_db *db, int64_t id); /* NULL: it has ended */
/* The copy that the transaction has of it, locked. NULL: there is none, or, with `blocked`, somebody else holds it. */
struct memory_flow_run *memory_move_run(struct memory_db *db, struct memory_move *move, int64_t id);
struct memory_flow *memory_move_flow(struct memory_db *db, struct memory_move *move, int64_t id);
struct memory_flow_run *memory_move_new_run(struct memory_db *db, struct memory_move *move);
/* Holds those of the shards whose epoch is that; n: shards of the one who moves, 0: as there are. */
MUST_CHECK enum err memory_hold_shards(struct store_session *s, int64_t move_id, const struct flow_epoch *epochs,
                                       size_t count, int n, struct errctx *ec);
void memory_cancel_child(struct memory_db *db, struct memory_flow_run *run);
/* Waits for that run, or that flow, as long as somebody else holds it. ERR_CONFLICT after a second; ERR_LOST: the
 * transaction has ended. */
MUST_CHECK enum err memory_wait_run(struct store_session *s, int64_t move_id, int64_t run_id, struct errctx *ec);
MUST_CHECK enum err memory_wait_flow(struct store_session *s, int64_t move_id, int64_t flow_id, struct errctx *ec);
MUST_CHECK enum err memory_end_move(struct store_session *s, int64_t id, struct errctx *ec); /* its COMMIT */
void memory_roll_back_move(struct memory_db *db, int64_t id);
void memory_end_overdue_moves(struct memory_db *db);
bool memory_is_shared(const struct memory_db *db, int shard); /* some move holds its row */
bool memory_is_making(const struct memory_db *db, int64_t log_id);
void memory_free_flows(struct memory_db *db);

void memory_cancel_retry(struct memory_db *db, int64_t log_id);
void memory_write_code(struct memory_log *row, int code);
void memory_insert_direct(struct memory_db *db, struct fire *list, const char *incarnation, bool visible);
void memory_put_sharding(struct memory_db *db, struct memory_log *row, int index, int total);
int memory_count_children(struct memory_db *db, const struct memory_log *parent); /* that it gets, as things are */
void memory_make_children(struct memory_db *db, struct memory_log *parent, int64_t now_s, struct fire **list);
struct job_spec *memory_make_spec(const struct memory_job *job); /* one reference */
void memory_take_over(struct memory_db *db, int shard, int64_t epoch, int64_t cursor_s, const char *owner);
void memory_note(struct memory_db *db, int shard, int64_t epoch, int64_t cursor_s);
struct memory_job *memory_peek_job(struct memory_db *db, int64_t id); /* NULL: none */

#endif
