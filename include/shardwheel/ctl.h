/* SPDX-License-Identifier: MIT */
/*
 * ctl: the commands of shardwheelctl. They read and write the tables of the cluster and talk to no node; what is asked
 * of a node, it finds there at its next beat.
 *
 * Threads     The main thread alone.
 * Time        All instants are of the database's clock.
 */
#ifndef SHARDWHEEL_CTL_H
#define SHARDWHEEL_CTL_H

#include "shardwheel/config.h"

/* Does what config->ctl says; results to stdout, errors to stderr. The exit status: 0 done, 1 not done; of doctor that
 * of a monitoring plugin. */
int ctl_run(const struct config *config);
/* For a command line or settings that config_load refused: 2; of doctor 3, "unknown". */
int ctl_fail_usage(int argc, char **argv, const struct errctx *ec);

#endif
