/* SPDX-License-Identifier: MIT */
/*
 * counters: the metrics of a node that are counted as they happen: the table of them, and their numbers.
 *
 * Threads     Any; relaxed atomics: each number is right, two numbers need not be of one instant. NULL counters are
 *             ignored.
 */
#ifndef SHARDWHEEL_COUNTERS_H
#define SHARDWHEEL_COUNTERS_H

#include "shardwheel/base.h"

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
    X(FLOW_RUNS_SUCCEEDED, COUNTER, "shardwheel_flow_runs_total", "result=\"succeeded\"", "Flow runs that ended.")     \
    X(FLOW_RUNS_FAILED, COUNTER, "shardwheel_flow_runs_total", "result=\"failed\"", "")                                \
    X(FLOW_RUNS_CANCELLED, COUNTER, "shardwheel_flow_runs_total", "result=\"cancelled\"", "")                          \
    X(FLOW_STEPS_SUCCEEDED, COUNTER, "shardwheel_flow_steps_total", "result=\"succeeded\"",                            \
      "Steps of flow runs that ended.")                                                                                \
    X(FLOW_STEPS_FAILED, COUNTER, "shardwheel_flow_steps_total", "result=\"failed\"", "")                              \
    X(FLOW_STEPS_SKIPPED, COUNTER, "shardwheel_flow_steps_total", "result=\"skipped\"", "")                            \
    X(FLOW_TRIES, COUNTER, "shardwheel_flow_fires_total", "", "Fires of steps of flows, retries included.")            \
    X(FLOW_FIRES_OPEN, GAUGE, "shardwheel_flow_fires_open", "",                                                        \
      "Fires of steps of flows whose end this node waits for.")                                                        \
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
    X(WATCH_OPEN, GAUGE, "shardwheel_alarms_open", "",                                                                 \
      "Open alarms on what did not happen. Only on the node that sends alarms; 0 on others.")                          \
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
    X(EVENTS_SENT, COUNTER, "shardwheel_events_sent_total", "", "Events that webhooks have accepted.")                 \
    X(EVENTS_FAILED, COUNTER, "shardwheel_events_failed_total", "",                                                    \
      "Tries to send an event that failed; it is tried again.")                                                        \
    X(EVENTS_GIVEN_UP, COUNTER, "shardwheel_events_given_up_total", "",                                                \
      "Events that no webhook has accepted for a day, or that were too many.")                                         \
    X(EVENTS_WAITING, GAUGE, "shardwheel_events_waiting", "",                                                          \
      "Events that wait to be sent. Only on the node that sends them; 0 on others.")                                   \
    X(KEPT_LOGS, COUNTER, "shardwheel_kept_logs_total", "result=\"kept\"",                                             \
      "Logs of runs that have ended: kept, or not kept, by reason.")                                                   \
    X(KEPT_DROPPED_QUEUE, COUNTER, "shardwheel_kept_logs_total", "result=\"too_many\"", "")                            \
    X(KEPT_DROPPED_EXECUTOR, COUNTER, "shardwheel_kept_logs_total", "result=\"executor_busy\"", "")                    \
    X(KEPT_DROPPED_UNREACHED, COUNTER, "shardwheel_kept_logs_total", "result=\"unreachable\"", "")                     \
    X(KEPT_DROPPED_ANSWER, COUNTER, "shardwheel_kept_logs_total", "result=\"no_log\"", "")                             \
    X(KEPT_DROPPED_DATABASE, COUNTER, "shardwheel_kept_logs_total", "result=\"not_written\"", "")                      \
    X(KEPT_DROPPED_STOPPING, COUNTER, "shardwheel_kept_logs_total", "result=\"stopping\"", "")                         \
    X(KEPT_BYTES, GAUGE, "shardwheel_kept_log_bytes", "",                                                              \
      "Bytes of all kept logs, compressed. Only on the node that deletes old ones; 0 on others.")                      \
    X(KEPT_CLEANED, COUNTER, "shardwheel_kept_logs_cleaned_total", "",                                                 \
      "Kept logs deleted by this node because of their age or of the total size.")                                     \
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
    X(PASSWORD_HASHES, COUNTER, "shardwheel_password_hashes_total", "",                                                \
      "argon2id hashes of passwords that were computed. Each takes 19 MiB, and at most two are computed at once.")     \
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
    X(DISPATCH_QUEUE_MAX, GAUGE, "shardwheel_dispatch_queue_max", "", "Maximum number of waiting fires.")              \
    X(RESULTS_QUEUE_MAX, GAUGE, "shardwheel_results_queue_max", "",                                                    \
      "Maximum number of waiting results. From an eighth on, fires are slowed down.")                                  \
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

const struct counter_info *counter_get_info(enum counter_id id);
extern const double histogram_bounds_s[HISTOGRAM_BUCKETS];
void counters_add(struct counters *c, enum counter_id id, int64_t n);
void counters_set(struct counters *c, enum counter_id id, int64_t value);
int64_t counters_get(struct counters *c, enum counter_id id);
void counters_observe_us(struct counters *c, enum counter_id id, int64_t us); /* negative counts as 0 */

#endif
