/* SPDX-License-Identifier: MIT */
/* Passwords that go from one form to the other: whoever has just shown his is stored as the settings say. */
#include "admin/people/people.h"

#include "admin/people/password.h"
#include "shardwheel/admin/weak.h"
#include "shardwheel/text.h"

#include <stdio.h>
#include <string.h>

enum err password_make(struct admin *a, struct store_session *s, const char *password, struct user *u,
                       struct refusal *r)
{
    int length = 0;
    enum err e;

    u->strong_is_weak = weak_is_password(password);
    if (!admin_has_strong_passwords(a)) {
        e = refuse_error(r, store_get_password_length(s, &length, &r->text));
        if (e)
            return e;
        password_hash(length, password, u->password);
        u->strong[0] = '\0';
        return ERR_OK;
    }
    e = hashing_enter(&a->hashing, a->clock, r);
    if (e)
        return e;
    e = strong_make(&a->hashing, password, u, &r->text);
    hashing_leave(&a->hashing);
    return refuse_error(r, e);
}

/* A long one is of no use to Java admins' pages: it stays what it is until there is another. */
static bool is_to_move(const struct admin *a, const struct user *u, const char *password)
{
    if (admin_has_strong_passwords(a))
        return !u->strong[0];
    return u->strong[0] && utf8_count(password, strlen(password), /*utf16=*/true) <= WORDS_MAX;
}

/* Somebody else has written the row meanwhile: another login of that user, or another password. */
static enum err look_again(struct admin *a, struct store_session *s, struct user *u, const char *password,
                           struct refusal *r)
{
    struct user fresh = {0};
    bool right = false;
    enum err e = store_load_user(s, u->id, &fresh, &r->text);

    if (!e)
        e = hashing_enter(&a->hashing, a->clock, r);
    if (!e) {
        right = stored_password_fits(
            &a->hashing, &(struct stored_password){.column = fresh.password, .strong = fresh.strong, .slow = true},
            password);
        hashing_leave(&a->hashing);
    }
    if (!right) {
        user_fini(&fresh);
        return e ? e : refuse(r, REFUSED_INVALID, NULL, "the user name or the password is wrong");
    }
    user_fini(u);
    *u = fresh;
    return ERR_OK;
}

enum err password_move(struct admin *a, struct store_session *s, struct user *u, const char *password,
                       const struct actor *actor, struct refusal *r)
{
    struct user to = *u; /* a shallow copy: it owns nothing */
    struct audit_diff d;
    bool moved = false;

    if (!is_to_move(a, u, password) || password_make(a, s, password, &to, r)) {
        *r = (struct refusal){0}; /* the next login is as good */
        return ERR_OK;
    }
    audit_begin(&d, AUDIT_CHANGED);
    audit_text(&d, "passwords", u->strong[0] ? "strong" : "original", to.strong[0] ? "strong" : "original");
    const struct audit_row *row = audit_end(&d, actor, "user.move-password", u->id, u->name, 0);
    enum err e = store_move_password(s, &to, u->password, row, &moved, &r->text);
    audit_fini(&d);
    if (!e && !moved)
        return look_again(a, s, u, password, r);
    if (!e) {
        memcpy(u->password, to.password, sizeof u->password);
        memcpy(u->strong, to.strong, sizeof u->strong);
    }
    return e;
}

enum err people_make_strong(struct store *st, const struct clock *clock, const char *name, const char *password,
                            struct errctx *ec)
{
    struct hashing hashing;
    struct refusal r = {0};
    struct store_session *s = NULL;
    struct user u = {0}, to;
    bool moved = false;
    enum err e = hashing_init(&hashing, NULL, ec);

    if (e)
        return e;
    if (!(e = hashing_enter(&hashing, clock, &r)))
        e = store_take_session(st, SESSION_NORMAL, &s, ec);
    if (!e)
        e = store_find_user(s, name, &u, ec);
    to = u;
    if (!e)
        e = strong_make(&hashing, password, &to, ec);
    if (!e)
        e = store_move_password(s, &to, u.password, NULL, &moved, ec);
    user_fini(&u);
    store_give_session(st, s);
    hashing_fini(&hashing);
    return e;
}
