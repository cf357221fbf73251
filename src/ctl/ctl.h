/* SPDX-License-Identifier: MIT */
/*
 * ctl: the commands of shardwheelctl. They read and write the tables of the cluster and talk to no node; what is asked of a
 * node, it finds there at its next beat.
 *
 * Threads     The main thread alone.
 * Time        All instants are of the database's clock.
 */
#ifndef CTL_CTL_H
#define CTL_CTL_H

#include "shardwheel/config.h"
#include "shardwheel/store.h"

#define CTL_SILENT_MS 3000 /* a node whose last beat is older does not live, as far as anybody can tell */
#define CTL_GONE_MS 10000  /* ... and has surely ended, or cannot reach the database */

/* Does what config->ctl says; results to stdout, errors to stderr. The exit status: 0 done, 1 not done. */
int ctl_run(const struct config *config);
/* For a command line or settings that config_load refused: 2. */
int ctl_fail_usage(const struct errctx *ec);

/* ---- ctl_show.c: what is printed; appended to `out` --------------------------------------------------------------- */

bool ctl_is_silent(const struct node_row *node, int64_t now_ms);
void ctl_write_shards(const struct cluster_status *status, bool json, struct buf *out);
void ctl_write_nodes(const struct node_row *nodes, size_t count, int64_t now_ms, bool json, struct buf *out);

/* ---- ctl_find.c: pure ------------------------------------------------------------------------------------------------ */

/* The one node that is meant: by its whole name or incarnation, else by the beginning of one. Of several runs under one name
 * that which lives, if there is just one. NULL, with the choices in the text, when none or several are meant. */
const struct node_row *ctl_find_node(const struct node_row *nodes, size_t count, const char *wanted, int64_t now_ms,
                                     struct errctx *ec);
/* Nodes that live, are not drained, and are not that one. */
size_t ctl_count_takers(const struct node_row *nodes, size_t count, int64_t now_ms, const char *but_incarnation);

#endif
