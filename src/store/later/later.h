/* SPDX-License-Identifier: MIT */
/* later: later rows inside transactions of other files. Private to store. */
#ifndef STORE_LATER_LATER_H
#define STORE_LATER_LATER_H

#include "store/conn/rows.h"
#include "shardwheel/store/later.h"
#include "shardwheel/store/run.h"

/* The head of a row of the log whose fire waits for an executor; nobody but its later row's claim touches it. */
#define LATER_HELD_MARK "<!--sw:h-->"

/* Inserts rows that are not planned; their ids are not asked for. ERR_BUSY: there would be more than LATER_MAX; nothing
 * was written, and the transaction may go on without them. */
MUST_CHECK enum err store_insert_later(struct store_session *s, const struct later_row *rows, size_t count,
                                       struct errctx *ec);
/* The same, by whom has asked for the room in this transaction. */
MUST_CHECK enum err store_put_later(struct store_session *s, const struct later_row *rows, size_t count,
                                    struct errctx *ec);
/* What there is room for: rows up to LATER_MAX. */
MUST_CHECK enum err store_count_later_room(struct store_session *s, int64_t *room, struct errctx *ec);
/* Gives the fires of later rows in the list what they have of their own. Those whose later row is gone are taken out
 * and freed: their run has ended. */
MUST_CHECK enum err store_load_own(struct store_session *s, struct fire **list, struct errctx *ec);
/* A transaction of its own: of the results whose fire found no executor, those whose job lets them wait do, and leave
 * the list, as do those whose row is not what was sent any more; *count becomes the number of the others. */
MUST_CHECK enum err store_hold_fires(struct store_session *s, const struct fire_result **results, size_t *count,
                                     struct errctx *ec);

#endif
