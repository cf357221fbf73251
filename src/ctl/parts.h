/* SPDX-License-Identifier: MIT */
/*
 * parts: what the files of ctl share. The interface stands in shardwheel/ctl.h.
 *
 * Threads     The main thread alone.
 * Time        All instants are of the database's clock.
 */
#ifndef CTL_PARTS_H
#define CTL_PARTS_H

#include "shardwheel/admin/audit.h"
#include "shardwheel/admin/cluster.h"
#include "shardwheel/ctl.h"
#include "shardwheel/store/cluster.h"

#define CTL_GONE_MS 10000 /* a node whose last beat is older has surely ended, or cannot reach the database */

struct flow_rows;
struct run_job;
struct store_session;
struct private_server;

/* Who asked, in rows of audit, and as an actor: whoever may read the database's password may do everything. */
#define AUDIT_CTL .who = "shardwheelctl", .via = "shardwheelctl"
extern const struct actor ctl_actor;

/* One run of a command. */
struct ctl {
    const struct config *config;
    const struct config_ctl *wanted; /* that of config */
    const struct clock *clock;
    struct private_server *server; /* NULL: that which runs is used */
    struct store *store;
    struct store_session *session;
    int64_t deadline_mono_ms;
    struct node_row *nodes; /* as read last */
    size_t node_count;
    struct cluster_status status; /* as read last */
    int64_t now_ms;    /* of the database: when either was read, or before the command where it shows or reads times */
    struct zone *zone; /* of cron expressions: that on record for the cluster, else that which a node would have. Of
                        * commands that show or read times; else NULL */
    struct admin *admin; /* of the same commands; its zone is that */
    struct buf out;      /* is printed when the command has been carried out */
    int exit_status;     /* of the process, where it was carried out */
};

/* Each command. drain, release and reshard wait until it is so. */
MUST_CHECK enum err ctl_show_shards(struct ctl *c, struct errctx *ec);
MUST_CHECK enum err ctl_show_nodes(struct ctl *c, struct errctx *ec);
MUST_CHECK enum err ctl_drain(struct ctl *c, struct errctx *ec);
MUST_CHECK enum err ctl_undrain(struct ctl *c, struct errctx *ec);
MUST_CHECK enum err ctl_release(struct ctl *c, struct errctx *ec);
MUST_CHECK enum err ctl_reshard(struct ctl *c, struct errctx *ec);
MUST_CHECK enum err ctl_show_job(struct ctl *c, struct errctx *ec);
MUST_CHECK enum err ctl_set_job(struct ctl *c, struct errctx *ec);
MUST_CHECK enum err ctl_trigger(struct ctl *c, struct errctx *ec);
MUST_CHECK enum err ctl_list_later(struct ctl *c, struct errctx *ec);
MUST_CHECK enum err ctl_cancel_later(struct ctl *c, struct errctx *ec);
MUST_CHECK enum err ctl_going_back(struct ctl *c, struct errctx *ec);
MUST_CHECK enum err ctl_set_password(struct ctl *c, struct errctx *ec);
MUST_CHECK enum err ctl_reset_factor(struct ctl *c, struct errctx *ec);
MUST_CHECK enum err ctl_explain(struct ctl *c, struct errctx *ec);
MUST_CHECK enum err ctl_after_restore(struct ctl *c, struct errctx *ec);
MUST_CHECK enum err ctl_kill(struct ctl *c, struct errctx *ec);
MUST_CHECK enum err ctl_show_log(struct ctl *c, struct errctx *ec);
MUST_CHECK enum err ctl_list_flows(struct ctl *c, struct errctx *ec);
MUST_CHECK enum err ctl_show_flow(struct ctl *c, struct errctx *ec);
MUST_CHECK enum err ctl_diff_flow(struct ctl *c, struct errctx *ec);
MUST_CHECK enum err ctl_apply_flow(struct ctl *c, struct errctx *ec);
MUST_CHECK enum err ctl_flow_from_children(struct ctl *c, struct errctx *ec);
MUST_CHECK enum err ctl_set_flow_started(struct ctl *c, struct errctx *ec); /* start, stop */
MUST_CHECK enum err ctl_run_flow(struct ctl *c, struct errctx *ec);
MUST_CHECK enum err ctl_list_flow_runs(struct ctl *c, struct errctx *ec);
MUST_CHECK enum err ctl_show_flow_run(struct ctl *c, struct errctx *ec);
MUST_CHECK enum err ctl_ask_flow_run(struct ctl *c, struct errctx *ec); /* cancel, rerun */
MUST_CHECK enum err ctl_ask_flow_step(struct ctl *c, struct errctx *ec);
/* Runs the checks of doctor, prints the report; the exit status. */
int ctl_doctor(const struct config *config);
/* Sends a message of test to each channel of alarms and prints what came of it; *fine: all took it. ERR_INPUT: a
 * setting is wrong. */
MUST_CHECK enum err ctl_test_alarms(const struct config *config, bool *fine, struct errctx *ec);

enum err ctl_refused(enum err e, const struct refusal *r, struct errctx *ec); /* gives back e, with r's sentence */
/* The zone on record ("": there is none), else that which a node would have. */
MUST_CHECK enum err ctl_choose_zone(const char *on_record, const struct config *config, struct zone **out,
                                    struct errctx *ec);
/* The one node of c->nodes that is meant: by its whole name or incarnation, else by the beginning of one. Of several
 * runs under one name that which lives, if there is just one. NULL, with the choices in the text, when none or several
 * are meant. */
const struct node_row *ctl_find_node(const struct ctl *c, const char *wanted, struct errctx *ec);
/* For a row of audit. One that is gone has no name and no group: there is a run of it, or something that waits. */
MUST_CHECK enum err ctl_load_run_job(struct store_session *s, int64_t job_id, struct run_job *out, struct errctx *ec);

/* ---- ctl_show.c: what is printed; appended to `out` -------------------------------------------------------------- */

void ctl_write_shards(const struct cluster_status *status, bool json, struct buf *out);
void ctl_write_nodes(const struct node_row *nodes, size_t count, int64_t now_ms, bool json, struct buf *out);
/* A table with columns as wide as need be. Lines of cells with tabs between them, as `head` has; at most nine cells. */
void ctl_put_table(const char *head, const struct buf *lines, struct buf *out);
void ctl_put_cell(struct buf *out, const char *text);               /* its tabs and line ends become blanks */
MUST_CHECK enum err ctl_print(struct buf *text, struct errctx *ec); /* to stdout */

/* ---- flows ------------------------------------------------------------------------------------------------------- */

/* The list has this one; ERR_NOTFOUND names it. */
MUST_CHECK enum err ctl_find_flow(struct ctl *c, const char *name, struct flow_rows *out, struct errctx *ec);

/* ---- ctl_options.c: --NAME VALUE behind a command, and what they say --------------------------------------------- */

/* NULL: it is not there. The last one of that name counts. */
const char *ctl_find_option(const struct config_ctl *ctl, const char *name);
/* Refuses all but `known`, which ends with NULL; `all` is what is said of them: "--from and --to". */
MUST_CHECK enum err ctl_check_options(const struct config_ctl *ctl, const char *const *known, const char *all,
                                      struct errctx *ec);
/* The option as an instant in seconds; *out stays where it is not there. */
MUST_CHECK enum err ctl_take_instant(const struct config_ctl *ctl, const char *name, const struct zone *zone,
                                     int64_t *out, struct errctx *ec);
/* The bytes of a file, or of stdin ("-"), of at most `max`; text without a NUL. */
MUST_CHECK enum err ctl_read_file(const char *name, size_t max, struct buf *out, struct errctx *ec);

#endif
