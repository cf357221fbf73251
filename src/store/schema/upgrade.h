/* SPDX-License-Identifier: MIT */
/*
 * upgrade: the versions of the tables of shardwheel. Private to store.
 *
 * A release works with tables of its own version, of the one before (which its start upgrades) and of the one after
 * (which it leaves as they are): so nodes of two neighbouring releases run side by side, and going back by one release
 * works. Therefore a step only adds: a table, or a column that is NULL or has a default. Tables of xxl-job are never
 * altered.
 *
 * What a database has is told by its columns, not by its version: a step that was broken off is finished by the next
 * start.
 */
#ifndef STORE_UPGRADE_H
#define STORE_UPGRADE_H

#include "store/schema/schema.h"

#define OWN_VERSION 3 /* raised by one with each release that adds something */

/* The version of a database whose tables of ours have this version on record; 0: they are not there. ERR_STATE names
 * both versions and what to do when `own`, a release's, cannot work with it. Pure. */
MUST_CHECK enum err upgrade_check_version(int found, int own, struct errctx *ec);
/* The tables of the first version are there: shardwheel was installed, by whatever release. */
bool upgrade_is_installed(const struct schema_facts *facts);
/* Nothing is missing of what this release needs. */
bool upgrade_is_complete(const struct schema_facts *facts);
/* Adds the columns that are missing, then puts the version on record. `before` is what was there before the tables were
 * made; `report` gets one sentence for each thing done. */
MUST_CHECK enum err upgrade_run(struct store_session *s, const struct schema_facts *before,
                                void (*report)(void *arg, const char *what), void *arg, struct errctx *ec);

#endif
