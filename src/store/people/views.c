/* SPDX-License-Identifier: MIT */
#include "shardwheel/store/views.h"

#include "store/conn/rows.h"
#include "store/conn/session.h"

#include <inttypes.h>

enum err store_load_views(struct store_session *s, int64_t user_id, const char *page, struct views *out,
                          struct errctx *ec)
{
    static const struct row_type views = ROWS(struct view, FIELDS(struct view, id, user_id, page, name, query));

    store_sql(s, "SELECT id, user_id, page, name, query FROM shardwheel_view WHERE user_id = ?", user_id);
    if (page)
        sql_put(&s->sql, " AND page = ?", page);
    sql_puts(&s->sql, " ORDER BY page, name");
    enum err e = store_read_list(s, &views, out, ec);
    return e ? err_wrap(ec, e, "read saved views") : ERR_OK;
}

/* The user's row is locked, so that two at once do not pass both. */
static enum err check_room(struct store_session *s, const struct view *view, int64_t max, struct errctx *ec)
{
    int64_t user = 0, count = 0, same = 0;
    enum err e = store_number(s, 0, &user, ec, "SELECT id FROM xxl_job_user WHERE id = ? FOR UPDATE", view->user_id);

    if (!e)
        e = store_number(s, 0, &same, ec,
                         "SELECT COUNT(*) FROM shardwheel_view WHERE user_id = ? AND page = ? AND name = ?",
                         view->user_id, view->page, view->name);
    if (!e && same > 0)
        return err_set(ec, ERR_STATE, "there is already a view with this name");
    if (!e)
        e = store_number(s, 0, &count, ec, "SELECT COUNT(*) FROM shardwheel_view WHERE user_id = ?", view->user_id);
    if (!e && count >= max)
        return err_set(ec, ERR_BUSY, "there are %" PRId64 " views, which is the maximum", count);
    return e;
}

enum err store_add_view(struct store_session *s, const struct view *view, int64_t max, int64_t *id, struct errctx *ec)
{
    struct db_effect effect = {0};
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = check_room(s, view, max, ec);
    if (!e)
        e = store_exec(s, &effect, ec, "INSERT INTO shardwheel_view (user_id, page, name, query) VALUES (?, ?, ?, ?)",
                       view->user_id, view->page, view->name, view->query);
    e = store_finish_txn(s, e, ec);
    if (e)
        return err_wrap(ec, e, "save a view");
    *id = effect.first_id;
    return ERR_OK;
}

static enum err change(struct store_session *s, const struct view *view, struct errctx *ec)
{
    int64_t id = 0, same = 0;
    enum err e = store_number(s, 0, &id, ec, "SELECT id FROM shardwheel_view WHERE id = ? AND user_id = ? FOR UPDATE",
                              view->id, view->user_id);

    if (!e && !id)
        return err_set(ec, ERR_NOTFOUND, "there is no such view");
    if (!e && view->name)
        e = store_number(s, 0, &same, ec,
                         "SELECT COUNT(*) FROM shardwheel_view v JOIN shardwheel_view o ON o.user_id = v.user_id AND "
                         "o.page = v.page AND o.id <> v.id WHERE v.id = ? AND o.name = ?",
                         view->id, view->name);
    if (!e && same > 0)
        return err_set(ec, ERR_STATE, "there is already a view with this name");
    if (!e && view->name)
        e = store_exec(s, NULL, ec, "UPDATE shardwheel_view SET name = ? WHERE id = ?", view->name, view->id);
    if (!e && view->query)
        e = store_exec(s, NULL, ec, "UPDATE shardwheel_view SET query = ? WHERE id = ?", view->query, view->id);
    return e;
}

enum err store_change_view(struct store_session *s, const struct view *view, struct errctx *ec)
{
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = change(s, view, ec);
    e = store_finish_txn(s, e, ec);
    return e ? err_wrap(ec, e, "change view %" PRId64, view->id) : ERR_OK;
}

enum err store_remove_view(struct store_session *s, int64_t user_id, int64_t id, struct errctx *ec)
{
    struct db_effect effect = {0};
    enum err e = store_write(s, &effect, ec, "DELETE FROM shardwheel_view WHERE id = ? AND user_id = ?", id, user_id);

    if (!e && effect.matched == 0)
        e = err_set(ec, ERR_NOTFOUND, "there is no such view");
    return e ? err_wrap(ec, e, "remove view %" PRId64, id) : ERR_OK;
}
