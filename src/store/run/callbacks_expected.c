/* SPDX-License-Identifier: MIT */
/* Results of runs in one statement, without a look at the rows before. */
#include <stdlib.h>
#include <string.h>

#include "store/hook/put.h"
#include "store/run/callbacks_expected.h"

/* Different values in a statement: each row is looked up in the lists of them. */
#define KINDS_MAX 4

struct kind {
    int code;
    const char *message;
    bool delivers;
};

struct place {
    int64_t log_id;
    size_t kind;
};

struct expected {
    struct kind kinds[KINDS_MAX];
    size_t kind_count;
    struct place *places; /* one for each entry, ascending by log_id */
    size_t count;
    int64_t *ids; /* room for those of a statement */
};

/* KINDS_MAX when there is no place for one more. */
static size_t find_kind(struct expected *x, const struct callback_entry *entry)
{
    const char *message = entry->message ? entry->message : "";
    size_t i = 0;

    while (i < x->kind_count && (x->kinds[i].code != entry->code || x->kinds[i].delivers != entry->delivers ||
                                 strcmp(x->kinds[i].message, message) != 0))
        i++;
    if (i == x->kind_count && i < KINDS_MAX)
        x->kinds[x->kind_count++] = (struct kind){entry->code, message, entry->delivers};
    return i;
}

/* False when the entries do not suit: too many values, or a message that must be cut. */
static bool sort_entries(struct expected *x, const struct callback_entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t kind = find_kind(x, &entries[i]);
        if (kind == KINDS_MAX || strlen(x->kinds[kind].message) > CALLBACK_MESSAGE_UNITS)
            return false;
        x->places[x->count++] = (struct place){entries[i].log_id, kind};
    }
    qsort(x->places, x->count, sizeof *x->places, compare_int64);
    return true;
}

/* ---- statement --------------------------------------------------------------------------------------------- */

/* A condition: one of these places, and its kind is in the set. */
static void put_among(struct sqlbuf *q, const struct expected *x, const struct place *places, size_t count,
                      unsigned kinds)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        if (kinds & 1U << places[i].kind)
            x->ids[n++] = places[i].log_id;
    sql_id_among(q, x->ids, n);
}

/* The rows of the statement, each by its id: a range would lock what follows it, too, at this isolation level. */
static void put_rows(struct sqlbuf *q, const struct expected *x, const struct place *places, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x->ids[i] = places[i].log_id;
    sql_put(q, "id IN (?)", sql_list(x->ids, count));
}

static void put_code(struct sqlbuf *q, const struct kind *kind)
{
    sql_int(q, kind->code);
}

static void put_message(struct sqlbuf *q, const struct kind *kind)
{
    sql_text(q, kind->message);
}

/* The value of each row by its kind; that of the last one needs no list. */
static void put_values(struct sqlbuf *q, const struct expected *x, const struct place *places, size_t count,
                       void (*put)(struct sqlbuf *q, const struct kind *kind))
{
    size_t last = x->kind_count - 1;

    if (last > 0)
        sql_puts(q, "CASE");
    for (size_t i = 0; i < last; i++) {
        sql_puts(q, " WHEN ");
        put_among(q, x, places, count, 1U << i);
        sql_puts(q, " THEN ");
        put(q, &x->kinds[i]);
    }
    if (last > 0)
        sql_puts(q, " ELSE ");
    put(q, &x->kinds[last]);
    if (last > 0)
        sql_puts(q, " END");
}

static enum err write_some(struct store_session *s, const struct expected *x, const struct place *places, size_t count,
                           int64_t now_s, bool *all, struct errctx *ec)
{
    const unsigned every = (1U << x->kind_count) - 1;
    struct db_effect effect = {0};
    unsigned delivering = 0;
    struct sqlbuf *q = store_start_sql(s, "UPDATE xxl_job_log FORCE INDEX (PRIMARY) SET trigger_code = ");
    enum err e;

    for (size_t i = 0; i < x->kind_count; i++)
        delivering |= x->kinds[i].delivers ? 1U << i : 0;
    if (delivering == every) {
        sql_puts(q, "200");
    } else {
        sql_puts(q, "IF(");
        if (delivering) {
            put_among(q, x, places, count, delivering);
            sql_puts(q, " OR ");
        }
        sql_puts(q, CALLBACK_PROVES_SENT ", 200, trigger_code)");
    }
    sql_put(q, ", " STORE_TRIM_SLACK ", handle_time = ?, handle_code = ", sql_time(s->st->zone, now_s));
    put_values(q, x, places, count, put_code);
    sql_puts(q, ", handle_msg = ");
    put_values(q, x, places, count, put_message);
    sql_puts(q, " WHERE ");
    put_rows(q, x, places, count);
    sql_puts(q, " AND handle_code = 0 AND COALESCE(LENGTH(handle_msg), 0) = 0");
    if (delivering) {
        sql_puts(q, " AND (trigger_code = 0 OR ");
        put_among(q, x, places, count, every & ~delivering);
        sql_puts(q, ")");
    }
    e = store_exec_sql(s, &effect, ec);
    *all = !e && effect.matched == (int64_t)count;
    return e;
}

/* At this level, and not at the one of our sessions, a server whose binary log is MIXED logs the statement and not
 * every row before and after it: a fifth of its work. All rows are found by their ids, so nothing beside them is
 * locked; where one is missing, the gap in its place is until the rollback that follows. */
static enum err begin_txn(struct store_session *s, struct errctx *ec)
{
    enum err e = store_exec(s, NULL, ec, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");

    return e ? e : store_begin_txn(s, ec);
}

/* By ascending ids, so rows need not be locked first. */
static enum err write_txn(struct store_session *s, const struct expected *x, int64_t now_s, bool *written,
                          struct errctx *ec)
{
    bool all = true;
    enum err e = begin_txn(s, ec);

    for (size_t at = 0, n; at < x->count && !e && all; at += n) {
        n = x->count - at < STORE_LIST_MAX ? x->count - at : STORE_LIST_MAX;
        e = write_some(s, x, x->places + at, n, now_s, &all, ec);
    }
    if (e && store_has_data_error(s)) {
        e = ERR_OK; /* a text does not fit: who looks at each row makes it */
        all = false;
    }
    if (!e && all) {
        for (size_t i = 0; i < x->count; i++)
            x->ids[i] = x->places[i].log_id;
        e = hook_put_runs(s, x->ids, x->count, ec);
        if (!e)
            e = store_commit_txn(s, ec);
        *written = !e;
    }
    store_end_txn(s);
    return e;
}

enum err store_write_expected(struct store_session *s, struct callback_entry *entries, size_t count, int64_t now_s,
                              bool *written, struct errctx *ec)
{
    struct expected x = {.places = calloc(count + 1, sizeof *x.places), .ids = calloc(count + 1, sizeof *x.ids)};
    enum err e = ERR_OK;

    *written = false;
    if (!x.places || !x.ids)
        e = err_set(ec, ERR_NOMEM, "out of memory");
    else if (count > 0 && sort_entries(&x, entries, count))
        e = write_txn(s, &x, now_s, written, ec);
    for (size_t i = 0; i < count && *written; i++)
        entries[i].outcome = CALLBACK_STORED;
    free(x.places);
    free(x.ids);
    return e;
}
