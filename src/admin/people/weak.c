/* SPDX-License-Identifier: MIT */
#include "shardwheel/admin/weak.h"

#include "admin/admin_impl.h"
#include "admin/people/password.h"
#include "shardwheel/config.h"

#include <string.h>

#define DEFAULT_TOKEN "default_token"
#define DEFAULT_DATABASE_PASSWORD "root_pwd"
#define DEFAULT_PASSWORD "123456"

#define TOKEN "xxl.job.accessToken"
#define DATABASE "spring.datasource.password"
#define SET_TOKEN "Set the same random token on all nodes and executors."
#define SET_DATABASE "Set another password for the database user, and use it on all nodes."

const struct weak_info *weak_get_info(enum weak_kind kind)
{
    static const struct weak_info infos[WEAK_KINDS] = {
        [WEAK_TOKEN_EMPTY] = {"token-empty", TOKEN,
                              "No access token is set: anyone who can reach the port can act as an executor.",
                              SET_TOKEN},
        [WEAK_TOKEN_DEFAULT] = {"token-default", TOKEN, "The access token is a public default.", SET_TOKEN},
        [WEAK_DATABASE_EMPTY] = {"database-empty", DATABASE, "The database password is empty.", SET_DATABASE},
        [WEAK_DATABASE_DEFAULT] = {"database-default", DATABASE, "The database password is a public default.",
                                   SET_DATABASE},
        [WEAK_DATABASE_USER] = {"database-user", DATABASE, "The database password is the same as the user name.",
                                SET_DATABASE},
        [WEAK_USERS] = {"users", "xxl_job_user.password", "Users have a public default as password.",
                        "Set other passwords in the console, page Users."},
        [WEAK_GROUPS] = {"groups", "xxl_job_group.access_token",
                         "Executor groups have a public default as access token.",
                         "Set other tokens in the console, page Executors, and on their executors."},
    };

    return &infos[kind];
}

/* ---- pure -------------------------------------------------------------------------------------------------------- */

static unsigned check_database(const struct config *config)
{
    const char *password = config->datasource_password;

    if (config->data_dir || !config->datasource)
        return 0;
    if (!*password)
        return config->datasource->socket ? 0 : 1u << WEAK_DATABASE_EMPTY;
    if (!strcmp(password, DEFAULT_DATABASE_PASSWORD))
        return 1u << WEAK_DATABASE_DEFAULT;
    return !strcmp(password, config->datasource_username) ? 1u << WEAK_DATABASE_USER : 0;
}

unsigned weak_check_config(const struct config *config)
{
    unsigned found = check_database(config);

    if (str_is_blank(config->access_token))
        found |= 1u << WEAK_TOKEN_EMPTY;
    else if (!strcmp(config->access_token, DEFAULT_TOKEN))
        found |= 1u << WEAK_TOKEN_DEFAULT;
    return found;
}

enum err weak_check_strict(const struct config *config, struct errctx *ec)
{
    unsigned found = config->security_strict ? weak_check_config(config) : 0;
    struct buf text = {0};

    if (!found)
        return ERR_OK;
    for (int kind = 0; kind < WEAK_KINDS; kind++) {
        const struct weak_info *info = weak_get_info((enum weak_kind)kind);

        if (found & (1u << kind))
            buf_printf(&text, " %s (%s): %s %s", info->where, config_get_source(config, info->where), info->what,
                       info->advice);
    }
    err_set(ec, ERR_INPUT, "shardwheel.security.strict is on:%s", buf_failed(&text) ? " out of memory" : text.data);
    buf_fini(&text);
    return ERR_INPUT;
}

bool weak_is_password_hash(const char *stored)
{
    return password_fits(stored, DEFAULT_PASSWORD);
}

bool weak_is_password(const char *text)
{
    struct text_part t = text_trim(text ? text : "");

    return t.len == strlen(DEFAULT_PASSWORD) && !memcmp(t.at, DEFAULT_PASSWORD, t.len);
}

/* ---- with the database ------------------------------------------------------------------------------------------- */

enum err weak_load(struct store_session *s, struct weak_secrets *out, struct errctx *ec)
{
    char md5[65], sha[65];
    const char *const hashes[] = {md5, sha};
    enum err e;

    password_hash(50, DEFAULT_PASSWORD, md5);
    password_hash(100, DEFAULT_PASSWORD, sha);
    e = store_find_users_by_password(s, hashes, ARRAY_LEN(hashes), &out->users, ec);
    if (!e)
        e = store_find_groups_by_token(s, DEFAULT_TOKEN, &out->groups, ec);
    if (e)
        return err_wrap(ec, e, "look for weak secrets");
    out->found |= (out->users.all ? 1u << WEAK_USERS : 0) | (out->groups.all ? 1u << WEAK_GROUPS : 0);
    return ERR_OK;
}

enum err admin_load_weak(struct admin *a, struct weak_secrets *out, struct errctx *ec)
{
    struct weak_secrets found = {0};
    struct store_session *s = NULL;
    enum err e;

    mutex_lock(&a->lock);
    found.found = a->weak_config;
    mutex_unlock(&a->lock);
    e = store_take_session(a->opts.store, SESSION_NORMAL, &s, ec);
    if (!e)
        e = weak_load(s, &found, ec);
    store_give_session(a->opts.store, s);
    if (!e)
        *out = found;
    return e;
}

enum err admin_show_weak(struct admin *a, const struct actor *actor, struct weak_secrets *out, struct refusal *r)
{
    enum err e = refuse_unless(actor, RIGHT_ADMINISTER, 0, r);

    if (e)
        return e;
    return refuse_error(r, admin_load_weak(a, out, &r->text));
}
