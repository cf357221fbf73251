/* SPDX-License-Identifier: MIT */
/*
 * load_executor: an xxl-job executor for load. Many addresses in one process and one thread.
 *
 * It answers the calls of an admin, notes each arrival in a file, and calls the results back in batches
 * until the admin has confirmed them, so that whatever is missing in the end was lost by the admin.
 *
 * Time        Arrivals are stamped with the wall clock right after the read that brought them. Everything
 *             that waits counts on the monotonic clock.
 * Ownership   `struct executor` owns all. Connections are freed only by load_server.c and load_admin.c.
 */
#ifndef LOAD_EXECUTOR_H
#define LOAD_EXECUTOR_H

#include "load_buf.h"

#include <netinet/in.h>
#include <stdio.h>

enum { MAX_ADMINS = 16 };

struct admin_address {
    char url[256];  /* as given, for messages */
    char host[128]; /* with the port: the Host header */
    char path[128]; /* context path without a final slash, may be empty */
    struct sockaddr_storage addr;
    socklen_t addr_len;
};

struct options {
    char listen_ip[64];
    int port;
    int addresses;
    struct admin_address admins[MAX_ADMINS];
    int admin_count;
    const char *app_name;
    const char *token;
    const char *arrivals_path;
    const char *confirmed_path;
    bool path_is_trigger; /* --generation trigger: the path is /trigger, and calls carry the appname header */
    bool callback_is_object;
    int batch;
    int callback_connections; /* executors have one callback thread each: by default one for each address */
    int64_t callback_delay_us;
    int64_t answer_delay_us;
    int64_t admin_timeout_us;
    int fail_percent;
    int refuse_percent;
    int silent_addresses;
    int close_addresses;
    int slow_addresses;       /* the only ones that answer late, or 0: all do */
    const char *results_path; /* results that are there from the start */
    int beats;                /* 0: an executor; else nothing but so many registrations at once */
    int rounds;               /* of beats */
    int log_lines;            /* of the log of each run */
    int max_pending;
};

/* Fills *o or ends the program with a message that names the option. */
void options_parse(int argc, char **argv, struct options *o);

/* First member of everything that epoll knows of. */
enum watch_kind { WATCH_SIGNAL, WATCH_LISTENER, WATCH_CONN, WATCH_ADMIN };

struct watch {
    enum watch_kind kind;
    int fd; /* -1: none */
};

/* A result that waits to be called back. */
struct result {
    int64_t log_id;
    int64_t log_date_time_ms;
    int64_t due_mono_us;
    int32_t job_id;
    int32_t code;
};

/* Ring of results, oldest first. The delay is one constant, so that due_mono_us only ever grows. */
struct result_queue {
    struct result *items;
    size_t head;
    size_t len;
    size_t cap; /* a power of two */
};

struct counters {
    int64_t requests;
    int64_t runs;
    int64_t runs_refused;
    int64_t runs_unanswered; /* at silent and closing addresses: no result follows */
    int64_t bad_requests;
    int64_t connections;
    int64_t results_confirmed;
    int64_t callback_calls;
    int64_t callback_failures;
    int64_t registry_calls;
    int64_t registry_failures;
    int64_t first_callback_mono_us; /* when the first one was sent */
    int64_t last_callback_mono_us;  /* when the last one was confirmed */
};

/* A file that lines are appended to, many at a time. */
struct notes {
    const char *path;
    struct buf lines;      /* not yet written */
    int fd;                /* -1: there is no such file */
    int64_t flush_mono_us; /* 0: nothing to write */
};

struct server;
struct admin_pool;
struct beats;

struct executor {
    struct options opt;
    int epoll_fd;
    struct watch signals;
    struct server *server;
    struct admin_pool *admins;
    struct beats *beats;         /* NULL without --beats */
    struct result_queue *queues; /* one for each callback connection; address a uses a % queue_count */
    int queue_count;
    size_t results_waiting; /* in all of them */
    size_t results_given;   /* by --results */
    int64_t turn_mono_us;   /* when this turn of the loop began: near enough for all that waits */
    struct counters count;
    struct notes arrivals;
    struct notes confirmed; /* results */
    int64_t stop_mono_us;   /* 0: running; else the end of the 5 s for the last results */
};

/* load_executor.c */
void executor_watch(struct executor *x, struct watch *w, uint32_t events, bool add);
void executor_add_result(struct executor *x, int address, const struct result *r);
void executor_note(const struct executor *x, struct notes *notes, const char *line, size_t len);
void executor_tune_socket(int fd); /* before it listens or connects */

/* load_server.c: what the admin calls. */
void server_start(struct executor *x);
void server_handle_event(struct executor *x, struct watch *w, uint32_t events);
void server_turn(struct executor *x);               /* answers of the turn, delayed answers, idle connections */
int64_t server_next_wake(const struct executor *x); /* INT64_MAX: nothing to wait for */
void server_close_listeners(struct executor *x);
void server_stop(struct executor *x);

/* load_admin.c: what we call at the admin. */
void admin_start(struct executor *x);
void admin_handle_event(struct executor *x, struct watch *w, uint32_t events);
void admin_turn(struct executor *x, int64_t now_mono_us); /* starts what is due, ends what took too long */
int64_t admin_next_wake(const struct executor *x);
size_t admin_held_results(const struct executor *x); /* sent, or about to be, and not confirmed */
bool admin_is_done(const struct executor *x);        /* while stopping: nothing is left to send */
void admin_stop(struct executor *x);

/* load_beats.c: what the rounds of --beats took. */
void beats_start(struct executor *x);
void beats_note(struct executor *x);          /* one more is answered */
bool beats_is_over(const struct executor *x); /* the round: all are answered */
bool beats_next_round(struct executor *x);    /* false after the last one */
void beats_print(const struct executor *x);   /* a member of the JSON line */
void beats_stop(struct executor *x);

#endif
