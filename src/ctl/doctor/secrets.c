/* SPDX-License-Identifier: MIT */
/* Tokens and passwords that everybody knows. */
#include "ctl/doctor/check.h"

#include <stdio.h>

#include "shardwheel/admin/weak.h"

static const struct secret_code {
    enum weak_kind kind;
    const char *code;
} codes[WEAK_KINDS] = {
    {WEAK_TOKEN_EMPTY, "secret_token_empty"},
    {WEAK_TOKEN_DEFAULT, "secret_token_default"},
    {WEAK_DATABASE_EMPTY, "secret_database_empty"},
    {WEAK_DATABASE_DEFAULT, "secret_database_default"},
    {WEAK_DATABASE_USER, "secret_database_user"},
    {WEAK_USERS, "secret_users"},
    {WEAK_GROUPS, "secret_groups"},
};

static void put_names(const struct named_few *few, struct buf *out)
{
    struct words words = {0};

    for (size_t i = 0; i < few->count; i++)
        words_add(&words, few->names[i]);
    if (words.count < (size_t)few->all)
        words.count = (size_t)few->all;
    if (few->count)
        buf_printf(out, " In all %zu: %s.", words.count, words_end(&words));
}

static void tell_secret(struct doctor *d, const struct secret_code *code, const struct weak_secrets *weak)
{
    const struct weak_info *info = weak_get_info(code->kind);
    struct buf what = {0};

    buf_puts(&what, info->what);
    if (code->kind == WEAK_USERS)
        put_names(&weak->users, &what);
    if (code->kind == WEAK_GROUPS)
        put_names(&weak->groups, &what);
    doctor_tell(d, DOCTOR_WARNING, code->code, info->where, info->advice, "%s", buf_failed(&what) ? "" : what.data);
    buf_fini(&what);
}

static void tell_secrets(struct doctor *d, const struct weak_secrets *weak)
{
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        if (weak->found & 1u << codes[i].kind)
            tell_secret(d, &codes[i], weak);
    }
}

/* Those of the settings need no database. */
static enum err check_settings(struct doctor *d, struct errctx *ec)
{
    struct weak_secrets weak = {.found = weak_check_config(d->config)};

    (void)ec;
    tell_secrets(d, &weak);
    return ERR_OK;
}

static enum err check_tables(struct doctor *d, struct errctx *ec)
{
    struct weak_secrets weak = {0};
    enum err e = weak_load(d->session, &weak, ec);

    if (!e)
        tell_secrets(d, &weak);
    return e;
}

const struct doctor_check doctor_secret_checks[] = {
    {"secrets", "Access token and database password are not public defaults.",
     (const char *const[]){"secret_token_empty", "secret_token_default", "secret_database_empty",
                           "secret_database_default", "secret_database_user", NULL},
     DOCTOR_NOTHING, check_settings},
    {"passwords", "No user or group has a public default as password or token.",
     (const char *const[]){"secret_users", "secret_groups", NULL}, DOCTOR_TABLES, check_tables},
    {0},
};
