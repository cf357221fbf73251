/* SPDX-License-Identifier: MIT */
#include "admin/throttle.h"

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
    char lower[NAME_PART_MAX];
    size_t len = utf8_cut(name, strlen(name), sizeof lower - 1);

    while (len && name[len - 1] == ' ')
        len--;
    for (size_t i = 0; i < len; i++)
        lower[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + 'a' - 'A') : name[i];
    lower[len] = '\0';
    put_address(t->address, sizeof t->address, address);
    snprintf(t->user, sizeof t->user, "u:%s%s%s", lower, known ? " " : "", known ? t->address : "");
}

/* ---- the rule ---------------------------------------------------------------------------------------------------- */

int64_t throttle_find_wait(size_t key, const struct login_failures *failures, int64_t now_ms)
{
    int64_t beyond = failures->count - (key == 0 ? FREE_OF_USER : FREE_OF_ADDRESS);
    int64_t longest = key == 0 ? WAIT_USER_MS : WAIT_ADDRESS_MS, wait = longest;

    if (beyond < 0)
        return 0;
    if (beyond < 20 && ((int64_t)WAIT_FIRST_MS << beyond) < longest)
        wait = (int64_t)WAIT_FIRST_MS << beyond;
    wait = failures->last_ms + wait - now_ms;
    return wait > longest ? longest : wait > 0 ? wait : 0; /* a clock that was set back locks nobody out */
}

/* ---- tries ------------------------------------------------------------------------------------------------------- */

enum err throttle_begin(struct admin *a, struct store_session *s, const struct throttle *t, struct refusal *r)
{
    const char *const keys[LOGIN_KEYS] = {t->user, t->address};
    struct errctx ec;
    int64_t wait_ms = 0;
    enum err e = ERR_OK;

    errctx_clear(&ec);
    if (atomic_fetch_add_explicit(&a->tries, 1, memory_order_relaxed) % CLEAN_EVERY == 0)
        e = store_clean_tries(s, FORGET_MS, TRIES_MAX, &ec);
    if (!e)
        e = store_begin_try(s, keys, FORGET_MS, throttle_find_wait, &wait_ms, &ec);
    if (e == ERR_CONFLICT) /* a deadlock with another try */
        return refuse(r, REFUSED_TRY_AGAIN, NULL, "several logins at once: try again");
    if (e || wait_ms == 0)
        return refuse_error(r, e, &ec);
    int64_t wait_s = (wait_ms + 999) / 1000;
    e = refuse(r, REFUSED_LIMIT, NULL, "too many failed logins: wait %" PRId64 " seconds", wait_s);
    r->retry_s = wait_s;
    return e;
}

enum err throttle_forgive(struct store_session *s, const struct throttle *t, struct refusal *r)
{
    const char *const keys[LOGIN_KEYS] = {t->user, t->address};
    struct errctx ec;

    errctx_clear(&ec);
    return refuse_error(r, store_end_try(s, keys, &ec), &ec);
}
