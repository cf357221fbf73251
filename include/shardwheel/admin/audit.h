/* SPDX-License-Identifier: MIT */
/*
 * audit: builds what an audit row says of a change: two JSON objects of what differs, by field.
 *
 * Use         audit_begin; a line for each field, equal ones too; audit_end; then the store function with `row`;
 *             audit_fini.
 * Names       Fields are named as in api/v1: "executorHandler".
 * Bounds      A text is cut behind AUDIT_TEXT_MAX bytes. A side takes AUDIT_SIDE_MAX bytes; fields beyond that are
 *             counted alone: "fieldsLeftOut".
 * Secrets     Never go in: audit_secret says that one was changed. Sources go by length and hash: audit_source.
 * Threads     One owner.
 */
#ifndef SHARDWHEEL_ADMIN_AUDIT_H
#define SHARDWHEEL_ADMIN_AUDIT_H

#include "shardwheel/admin.h"
#include "shardwheel/store/audit.h"

#define AUDIT_TEXT_MAX 8192
#define AUDIT_SIDE_MAX AUDIT_JSON_MAX

enum audit_kind {
    AUDIT_ADDED,   /* there is no before */
    AUDIT_CHANGED, /* both sides have the fields that differ */
    AUDIT_REMOVED, /* there is no after */
};

/* To be begun by audit_begin; the fields are private but for the row, which audit_end makes. */
struct audit_diff {
    struct audit_row row;
    enum audit_kind kind;
    struct buf before;
    struct buf after;
    struct buf value; /* of one field, under construction */
    int differing;
    int left_out;
};

void audit_begin(struct audit_diff *d, enum audit_kind kind);
void audit_fini(struct audit_diff *d);

/* Added: `old` is not looked at. Removed: neither is `new`. Changed: equal values leave nothing. NULL is JSON's null,
 * and is left out where it was added or removed. */
void audit_text(struct audit_diff *d, const char *name, const char *old, const char *new);
void audit_int(struct audit_diff *d, const char *name, int64_t old, int64_t new);
void audit_bool(struct audit_diff *d, const char *name, bool old, bool new);
/* {"length":BYTES,"sha256":"..."} */
void audit_source(struct audit_diff *d, const char *name, const char *old, const char *new);
/* "set" before, "changed" after, where `changed`; else nothing. */
void audit_secret(struct audit_diff *d, const char *name, bool changed);

/* Whether anything differs: with AUDIT_CHANGED and false there is nothing to be written. */
bool audit_differs(const struct audit_diff *d);

/* Ends the objects, and makes the row. It points into `d` and `actor`: it lives no longer than they do. `action` is a
 * constant as "job.update". */
struct audit_row *audit_end(struct audit_diff *d, const struct actor *actor, const char *action, int64_t target,
                            const char *target_name, int64_t job_group);
/* The row of what has no fields; it points into `actor`. */
struct audit_row audit_bare(enum audit_kind kind, const struct actor *actor, const char *action, int64_t target,
                            const char *target_name, int64_t job_group);

#endif
