/* SPDX-License-Identifier: MIT */
/*
 * store/alarm: the failures that people are to be told of (shardwheel_alarm): a row for each job that failed lately,
 * and row 0 for the node that tells. See store/conn.h for threads, ownership and errors.
 *
 * Time        All instants are of the database's clock.
 * Invariants  store_handle_failures (run.h) writes the failures, in the transaction that writes their alarm_status. The
 *             first failure of a job that was quiet becomes log_id, with alarm_status -1; others are counted alone.
 *             Nobody but the node with the lease of row 0 takes anything out.
 */
#ifndef SHARDWHEEL_STORE_ALARM_H
#define SHARDWHEEL_STORE_ALARM_H

#include "shardwheel/store/run.h"

/* Takes the lease of row 0, or renews it, for lease_ms from now on. False in *held while another node has it. */
MUST_CHECK enum err store_hold_alarms(struct store_session *s, const char *incarnation, int64_t lease_ms, bool *held,
                                      struct errctx *ec);
/* Ends the lease, if that node has it. */
MUST_CHECK enum err store_release_alarms(struct store_session *s, const char *incarnation, struct errctx *ec);

/* A job of which people are to be told. */
struct due_alarm {
    int64_t job_id;
    int64_t log_id;   /* the first failure after a quiet time; 0: the quiet time is over, and there were more */
    int64_t last_log; /* the newest */
    int64_t failures; /* since the message before */
};
/* At most `max`, those with a log_id first. *out is to be freed with free. */
MUST_CHECK enum err store_load_due_alarms(struct store_session *s, size_t max, struct due_alarm **out, size_t *count,
                                          struct errctx *ec);
/* One transaction: that message was sent, or not; status goes to the row of log_id if it is ALARM_LOCKED still. With
 * ALARM_NOT_NEEDED the job is gone, and so is its row; else it is quiet for quiet_ms. May be repeated. */
MUST_CHECK enum err store_end_alarm(struct store_session *s, const struct due_alarm *alarm, enum alarm_status status,
                                    int64_t quiet_ms, struct errctx *ec);

/* A job that people believe to fail. */
struct failing_job {
    int64_t job_id;
    int64_t last_log;
};
/* Ascending by job, at most `max`. *out is to be freed with free. */
MUST_CHECK enum err store_load_failing_jobs(struct store_session *s, size_t max, struct failing_job **out,
                                            size_t *count, struct errctx *ec);
/* People were told that the job works again; nothing where it has failed since. */
MUST_CHECK enum err store_end_failing(struct store_session *s, const struct failing_job *job, struct errctx *ec);
/* Removes the rows of jobs of which nothing is left to tell: their quiet time is over, and they work again, or were
 * silent for another silent_ms. */
MUST_CHECK enum err store_forget_alarms(struct store_session *s, int64_t silent_ms, struct errctx *ec);

/* What is known of a job that failed lately, for display. */
struct alarm_state {
    int64_t job_id, job_group; /* group 0: the job is gone */
    char job_name[1024];       /* "" when the job is gone */
    int64_t last_log;          /* its newest failure */
    int64_t failures;          /* of which nobody was told yet */
    bool failing;              /* people were told that it fails, and not yet that it works again */
    bool due;                  /* they are to be told now */
    int64_t quiet_until_ms;    /* 0: they may be told at once */
};
/* Ascending by job, behind after_job, at most `limit`; of those groups alone (NULL: of all, and of jobs that are gone).
 * *out is to be freed with free. */
MUST_CHECK enum err store_load_alarm_states(struct store_session *s, int64_t after_job, size_t limit,
                                            const int64_t *groups, size_t group_count, struct alarm_state **out,
                                            size_t *count, struct errctx *ec);

/* A run of a failing job. */
struct job_run {
    int64_t log_id;
    int64_t job_id;
    bool open; /* it has no end yet; else it was a success */
};
/* Successes and open rows of those jobs (at most 1000) with after_id < id <= until_id, ascending; by the primary key
 * alone: keep the range short. *out is to be freed with free. */
MUST_CHECK enum err store_load_runs(struct store_session *s, int64_t after_id, int64_t until_id, const int64_t *job_ids,
                                    size_t job_count, struct job_run **out, size_t *count, struct errctx *ec);
/* The same of rows with those ids, of whatever job. */
MUST_CHECK enum err store_load_run_list(struct store_session *s, const int64_t *log_ids, size_t id_count,
                                        struct job_run **out, size_t *count, struct errctx *ec);

/* What is told of a log row. */
struct alarm_facts {
    int64_t log_id;
    int64_t job_id;
    bool job_exists;
    const char *emails; /* alarm_email as stored; "" for NULL, as all below */
    const char *job_name;
    const char *group_name; /* NULL: the group is gone */
    const char *app_name;   /* of the group */
    const char *tags;       /* of the job, between commas */
    const char *time;       /* trigger_time as stored */
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

/* ---- flows: store/flow/alarms.c ---------------------------------------------------------------------------------- */

/* What people are to be told of a flow: a row that a move has written. */
struct flow_alarm {
    int64_t id, flow_id, run_id;
    const char *event;    /* "failed", "late", "recovered" */
    const char *name;     /* of the flow; "": it is gone */
    const char *document; /* of the run's version; NULL: it is gone */
    int64_t started_ms;   /* of the run */
    const char *why;      /* of the run; "" */
    int64_t step;         /* that failed last; -1: none */
    const char *step_why;
    void *memory; /* private: the texts */
};
/* The oldest ones; ascending. */
MUST_CHECK enum err store_find_flow_alarms(struct store_session *s, int64_t *ids, size_t max, size_t *count,
                                           struct errctx *ec);
/* ERR_NOTFOUND when the row is gone. */
MUST_CHECK enum err store_load_flow_alarm(struct store_session *s, int64_t id, struct flow_alarm *out,
                                          struct errctx *ec);
void flow_alarm_fini(struct flow_alarm *alarm);
/* App names of the groups of those jobs, each once. */
STORE_LIST(app_names, const char *, names);
MUST_CHECK enum err store_load_app_names(struct store_session *s, const int64_t *job_ids, size_t count,
                                         struct app_names *out, struct errctx *ec);
/* It was told, or need not be. */
MUST_CHECK enum err store_end_flow_alarm(struct store_session *s, int64_t id, struct errctx *ec);
/* Removes what nobody could be told of for a day. */
MUST_CHECK enum err store_forget_flow_alarms(struct store_session *s, struct errctx *ec);

/* A row of the registry of executors. */
struct executor_beat {
    const char *app_name;
    const char *address;
    int64_t age_s; /* since its last beat */
};
STORE_LIST(executor_beats, struct executor_beat, rows); /* ascending by app_name, then by address */
MUST_CHECK enum err store_load_executor_beats(struct store_session *s, int64_t now_s, struct executor_beats *out,
                                              struct errctx *ec);

#endif
