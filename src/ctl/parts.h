/* SPDX-License-Identifier: MIT */
/*
 * parts: what the files of ctl share. The interface stands in shardwheel/ctl.h.
 *
 * Threads     The main thread alone.
 * Time        All instants are of the database's clock.
 */
#ifndef CTL_PARTS_H
#define CTL_PARTS_H

#include "shardwheel/admin/cluster.h"
#include "shardwheel/ctl.h"
#include "shardwheel/store/cluster.h"

#define CTL_GONE_MS 10000 /* a node whose last beat is older has surely ended, or cannot reach the database */

/* Who asked, in rows of audit. */
#define AUDIT_CTL .who = "shardwheelctl", .via = "shardwheelctl"

/* ---- ctl_show.c: what is printed; appended to `out` -------------------------------------------------------------- */

void ctl_write_shards(const struct cluster_status *status, bool json, struct buf *out);
void ctl_write_nodes(const struct node_row *nodes, size_t count, int64_t now_ms, bool json, struct buf *out);

/* ctl.c: to stdout; ends the text. */
MUST_CHECK enum err ctl_print(struct buf *text, struct errctx *ec);

/* ---- ctl_job.c: one job ------------------------------------------------------------------------------------------ */

struct store_session;

MUST_CHECK enum err ctl_show_job(struct store_session *s, const struct config *config, struct errctx *ec);
MUST_CHECK enum err ctl_set_job(struct store_session *s, const struct config *config, struct errctx *ec);

/* ---- ctl_later.c: later rows, and what a Java admin would leave undone ------------------------------------------- */

MUST_CHECK enum err ctl_trigger(struct store_session *s, const struct config *config, struct errctx *ec);
MUST_CHECK enum err ctl_list_later(struct store_session *s, const struct config *config, struct errctx *ec);
MUST_CHECK enum err ctl_cancel_later(struct store_session *s, const struct config *config, struct errctx *ec);
MUST_CHECK enum err ctl_going_back(struct store_session *s, const struct config *config, struct errctx *ec);

/* ---- ctl_find.c: pure -------------------------------------------------------------------------------------------- */

/* The one node that is meant: by its whole name or incarnation, else by the beginning of one. Of several runs under one
 * name that which lives, if there is just one. NULL, with the choices in the text, when none or several are meant. */
const struct node_row *ctl_find_node(const struct node_row *nodes, size_t count, const char *wanted, int64_t now_ms,
                                     struct errctx *ec);

/* ---- ctl_run.c: one run, at its executor ------------------------------------------------------------------------- */

MUST_CHECK enum err ctl_kill(const struct config *config, struct store *store, const struct clock *clock,
                             struct errctx *ec);
MUST_CHECK enum err ctl_show_log(const struct config *config, struct store *store, const struct clock *clock,
                                 struct errctx *ec);
/* ---- ctl_alarm.c ------------------------------------------------------------------------------------------------- */

/* Sends a message of test to each channel of alarms and prints what came of it; *fine: all took it. ERR_INPUT: a
 * setting is wrong. */
MUST_CHECK enum err ctl_test_alarms(const struct config *config, bool *fine, struct errctx *ec);

#endif
