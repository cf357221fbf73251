/* SPDX-License-Identifier: MIT */
#include "shardwheel/admin/views.h"

#include "admin/admin_impl.h"
#include "admin/people/password.h"

#include <stdio.h>
#include <string.h>

static enum err refuse_unless_own(const struct identity *who, struct refusal *r)
{
    if (!who->actor.user_id)
        return refuse(r, REFUSED_RIGHT, NULL, "only users have views");
    if (who->token_id && !(who->actor.rights & RIGHT_CHANGE))
        return refuse(r, REFUSED_RIGHT, NULL, "the token has no scope write");
    return ERR_OK;
}

/* `name` has room for VIEW_NAME_MAX characters of four bytes; the view has it from then on. */
static enum err check_view(const struct identity *who, struct view *view, char *name, struct refusal *r)
{
    enum err e = refuse_unless_own(who, r);

    view->user_id = who->actor.user_id;
    if (!e && view->name) {
        struct text_part given = text_trim(view->name);

        e = check_line("name", given, 1, VIEW_NAME_MAX, /*utf16=*/false, r);
        if (!e)
            snprintf(name, VIEW_NAME_MAX * 4 + 1, "%.*s", (int)given.len, given.at);
        view->name = name;
    }
    if (!e && view->query)
        e = check_line("query", (struct text_part){view->query, strlen(view->query)}, 0, VIEW_QUERY_MAX,
                       /*utf16=*/false, r);
    return e;
}

/* What the store says, in the words of the use cases. */
static enum err end(struct admin *a, struct store_session *s, enum err e, struct refusal *r)
{
    return admin_end(a, s, admin_refuse_change(e, "name", "there is no such view", r), r);
}

enum err admin_load_views(struct admin *a, const struct identity *who, const char *page, struct views *out,
                          struct refusal *r)
{
    struct store_session *s = NULL;
    enum err e = admin_take_session(a, &s, r);

    if (!e)
        e = store_load_views(s, who->actor.user_id, page, out, &r->text);
    return admin_end(a, s, e, r);
}

/* `id` NULL: of one that is there. */
static enum err write(struct admin *a, const struct identity *who, const struct view *given, int64_t *id,
                      struct refusal *r)
{
    char name[VIEW_NAME_MAX * 4 + 1];
    struct view view = *given;
    struct store_session *s = NULL;
    enum err e = check_view(who, &view, name, r);

    if (!e)
        e = admin_take_session(a, &s, r);
    if (!e)
        e = id ? store_add_view(s, &view, VIEWS_MAX, id, &r->text) : store_change_view(s, &view, &r->text);
    return end(a, s, e, r);
}

enum err admin_add_view(struct admin *a, const struct identity *who, const struct view *given, int64_t *id,
                        struct refusal *r)
{
    return write(a, who, given, id, r);
}

enum err admin_change_view(struct admin *a, const struct identity *who, const struct view *given, struct refusal *r)
{
    return write(a, who, given, NULL, r);
}

enum err admin_remove_view(struct admin *a, const struct identity *who, int64_t id, struct refusal *r)
{
    struct store_session *s = NULL;
    enum err e = refuse_unless_own(who, r);

    if (!e)
        e = admin_take_session(a, &s, r);
    if (!e)
        e = store_remove_view(s, who->actor.user_id, id, &r->text);
    return end(a, s, e, r);
}
