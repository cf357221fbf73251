/* SPDX-License-Identifier: MIT */
#include "admin/people/throttle.h"

#include "shardwheel/network.h"
#include "shardwheel/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME_PART_MAX 56 /* bytes of a name in a key, which has 110 characters for it and an address */
#define CLEAN_EVERY 50   /* tries on this node */

/* ---- keys -------------------------------------------------------------------------------------------------------- */

/* Who has a network of IPv6 has more addresses than could be counted. */
static void put_address(char *out, size_t size, const char *address)
{
    char text[IP_TEXT_MAX];
    struct ip ip;

    if (ip_parse(address ? address : "", &ip)) {
        if (!ip_is_v4(&ip))
            memset(ip.bytes + 8, 0, 8);
        ip_write(&ip, text);
        address = text;
    }
    snprintf(out, size, "a:%s", address ? address : "");
}

void throttle_make(struct throttle *t, const char *name, const char *address, bool known)
{
    char lower[4 * NAME_PART_MAX];
    size_t len = 0;

    for (name += strspn(name, " "); *name && len < sizeof lower - 1; name++) {
        if (*name == ' ' && name[1] == ' ')
            continue;
        lower[len++] = *name >= 'A' && *name <= 'Z' ? (char)(*name + 'a' - 'A') : *name;
    }
    len = utf8_cut(lower, len, NAME_PART_MAX - 1);
    while (len && lower[len - 1] == ' ')
        len--;
    lower[len] = '\0';
    put_address(t->address, sizeof t->address, address);
    /* By its first letter: a name that somebody types may end like a key with an address. */
    snprintf(t->user, sizeof t->user, "%c:%.*s%s%s", known ? 'k' : 'u', NAME_PART_MAX - 1, lower, known ? " " : "",
             known ? t->address : "");
}

/* ---- the rule ---------------------------------------------------------------------------------------------------- */

static int64_t find_wait(int64_t free, int64_t longest, const struct login_failures *failures, int64_t now_ms)
{
    int64_t beyond = failures->count - free, wait = longest;

    if (beyond < 0)
        return 0;
    if (beyond < 20 && ((int64_t)WAIT_FIRST_MS << beyond) < longest)
        wait = (int64_t)WAIT_FIRST_MS << beyond;
    wait = failures->last_ms + wait - now_ms;
    return wait > longest ? longest : wait > 0 ? wait : 0; /* a clock that was set back locks nobody out */
}

int64_t throttle_find_wait(size_t key, const struct login_failures *failures, int64_t now_ms)
{
    return key == 0 ? find_wait(FREE_OF_USER, WAIT_USER_MS, failures, now_ms)
                    : find_wait(FREE_OF_ADDRESS, WAIT_ADDRESS_MS, failures, now_ms);
}

/* Who tries codes knows the password: nobody else is kept waiting by him. */
int64_t throttle_find_code_wait(size_t key, const struct login_failures *failures, int64_t now_ms)
{
    return key == 0 ? find_wait(FREE_OF_USER, WAIT_CODE_MS, failures, now_ms)
                    : throttle_find_wait(key, failures, now_ms);
}

/* ---- tries ------------------------------------------------------------------------------------------------------- */

struct question {
    struct hashing *hashing;
    struct stored_password stored;
    const char *password;
};

static bool check(void *arg)
{
    const struct question *q = arg;

    return stored_password_fits(q->hashing, &q->stored, q->password);
}

enum err throttle_end_deadlocks(enum err e, struct errctx *ec)
{
    return e == ERR_CONFLICT ? err_set(ec, ERR_BUSY, "many logins at once: try again") : e;
}

/* Tries that lock the same rows may meet in a deadlock: one of them is made again. */
static enum err try_often(struct store_session *s, const struct login_try *t, struct login_failures before[LOGIN_KEYS],
                          int64_t *wait_ms, bool *right, struct errctx *ec)
{
    enum err e = ERR_CONFLICT;

    for (int i = 0; i < DEADLOCKS_MAX && e == ERR_CONFLICT; i++)
        e = store_try_login(s, t, before, wait_ms, right, ec);
    return throttle_end_deadlocks(e, ec);
}

/* The slow way for everybody once anybody needs it. */
static enum err is_slow(struct admin *a, struct store_session *s, bool *out, struct refusal *r)
{
    *out = admin_has_strong_passwords(a);
    return *out ? ERR_OK : store_has_strong_passwords(s, out, &r->text);
}

/* A place among those who hash is taken first: nobody waits for one under the locks of rows. */
static enum err try_in_turn(struct admin *a, struct store_session *s, const struct throttle *t, struct question *q,
                            int64_t *wait_ms, bool *right, struct refusal *r)
{
    struct login_try one = {
        .keys = {t->user, t->address}, .forget_ms = FORGET_MS, .wait = throttle_find_wait, .check = check, .arg = q};
    bool slow = q->stored.slow;
    enum err e = slow ? hashing_enter(&a->hashing, a->clock, r) : ERR_OK;

    if (e)
        return e;
    e = try_often(s, &one, NULL, wait_ms, right, &r->text);
    if (slow)
        hashing_leave(&a->hashing);
    return e;
}

static enum err clean_now_and_then(struct admin *a, struct store_session *s, struct refusal *r)
{
    /* relaxed: a number, nothing else hangs on it */
    if (atomic_fetch_add_explicit(&a->tries, 1, memory_order_relaxed) % CLEAN_EVERY)
        return ERR_OK;
    enum err e = store_clean_tries(s, FORGET_MS, TRIES_MAX, &r->text);
    return e == ERR_CONFLICT ? ERR_OK : e; /* a deadlock with other logins: the next that cleans does it */
}

static enum err end_try(struct admin *a, enum err e, int64_t wait_ms, struct refusal *r)
{
    if (e && r->kind == REFUSED_NOT)
        refuse_error(r, e);
    if (!e && wait_ms > 0) {
        int64_t wait_s = (wait_ms + 999) / 1000;
        e = refuse(r, REFUSED_LIMIT, NULL, "too many failed logins: wait %" PRId64 " seconds", wait_s);
        r->retry_s = wait_s;
    }
    if (e && r->kind == REFUSED_LIMIT)
        counters_add(a->counters, COUNTER_LOGINS_THROTTLED, 1);
    return e;
}

enum err throttle_try(struct admin *a, struct store_session *s, const struct throttle *t, const struct user *u,
                      const char *password, bool *right, struct refusal *r)
{
    struct question q = {
        .hashing = &a->hashing, .stored = {.column = u->password, .strong = u->strong}, .password = password};
    int64_t wait_ms = 0;
    enum err e = clean_now_and_then(a, s, r);

    if (!e)
        e = is_slow(a, s, &q.stored.slow, r);
    if (!e)
        e = try_in_turn(a, s, t, &q, &wait_ms, right, r);
    return end_try(a, e, wait_ms, r);
}

enum err throttle_try_code(struct admin *a, struct store_session *s, const char *name, const char *address,
                           bool (*code_fits)(void *arg), void *arg, bool *right, struct refusal *r)
{
    struct throttle t;
    int64_t wait_ms = 0;

    throttle_make(&t, name, address, /*known=*/false);
    t.user[0] = 'c';
    struct login_try one = {.keys = {t.user, t.address},
                            .forget_ms = FORGET_MS,
                            .wait = throttle_find_code_wait,
                            .check = code_fits,
                            .arg = arg};
    enum err e = try_often(s, &one, NULL, &wait_ms, right, &r->text);
    return end_try(a, e, wait_ms, r);
}

enum err throttle_count(struct admin *a, const struct throttle *t, struct login_failures before[LOGIN_KEYS],
                        struct refusal *r)
{
    struct login_try one = {.keys = {t->user, t->address}, .forget_ms = FORGET_MS, .wait = throttle_find_wait};
    struct store_session *s = NULL;
    int64_t wait_ms = 0;
    bool right = false;
    enum err e = admin_take_session(a, &s, r);

    if (!e)
        e = clean_now_and_then(a, s, r);
    if (!e)
        e = try_often(s, &one, before, &wait_ms, &right, &r->text);
    return admin_end(a, s, end_try(a, e, wait_ms, r), r);
}

enum err throttle_take_back(struct admin *a, const struct throttle *t, const struct login_failures before[LOGIN_KEYS],
                            bool right, struct refusal *r)
{
    const char *const keys[LOGIN_KEYS] = {t->user, t->address};
    struct store_session *s = NULL;
    enum err e = admin_take_session(a, &s, r), tried = ERR_CONFLICT;

    for (int i = 0; i < DEADLOCKS_MAX && !e && tried == ERR_CONFLICT; i++)
        tried = store_take_back_try(s, keys, before, right, &r->text);
    return admin_end(a, s, e ? e : throttle_end_deadlocks(tried, &r->text), r);
}
