/* SPDX-License-Identifier: MIT */
/*
 * sent: what this node sent within the last minute, and what executors reported to it: for a database server that may
 * have lost the last commits.
 *
 * Threads     Any; sent_compare by one at a time.
 * Memory      At most SENT_MAX entries, of 48 bytes for a fire and 16 for an end. Beyond that the oldest go first.
 *             Blocks of entries are allocated when needed, and freed when all their entries are older.
 * Time        Monotonic, read from the clock that it was given, in steps of a tenth of a second.
 */
#ifndef RECORD_SENT_H
#define RECORD_SENT_H

#include "shardwheel/record.h"

#define SENT_MAX (256 * 1024)
#define SENT_KEEP_MS 60000
#define SENT_AGAIN_MS 3000
#define SENT_BETWEEN_MS (2 * SENT_AGAIN_MS)

struct sent;

MUST_CHECK enum err sent_create(const struct clock *clock, struct sent **out, struct errctx *ec);
void sent_destroy(struct sent *m); /* NULL is fine */
/* Fires that are handed to dispatch. Returns the number of the first; the others have the ones that follow. */
uint64_t sent_note_fires(struct sent *m, const struct fire *list);
/* Their codes are committed. */
void sent_note_codes(struct sent *m, const struct result *const *results, size_t count);
/* Before they are stored: an end that is written twice does no harm. */
void sent_note_ends(struct sent *m, const struct callback_entry *entries, size_t count);

struct sent_summary {
    size_t checked;   /* runs */
    size_t forgotten; /* younger than a minute, and gone from memory */
    struct sent_counts counts;
};
/* What is of interest now stays until it is let go: a comparison is to come. The minute ends where the database was
 * known to work last. */
void sent_hold(struct sent *m, bool hold);
/* No more ends come: from now on also those that were noted a moment ago are compared. */
void sent_end(struct sent *m);
/* Compares all that was noted within that minute, and since, with the rows there are, and writes what is not there;
 * adds to *sum. Ends that were noted a moment ago are left out: they are being stored, and it may be that their rows
 * were not there yet. So it is to be done again after SENT_BETWEEN_MS: by then also those are old that came right after
 * the first time, before another node had written their rows. May be repeated. */
MUST_CHECK enum err sent_compare(struct sent *m, struct store_session *s, const char *incarnation,
                                 struct sent_summary *sum, struct errctx *ec);

#endif
