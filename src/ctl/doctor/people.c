/* SPDX-License-Identifier: MIT */
/* Users, tokens, and rows that nobody needs any more. */
#include "ctl/doctor/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DAY_MS INT64_C(86400000)
#define UNUSED_DAYS 180

/* ---- users ------------------------------------------------------------------------------------------------------- */

static enum err check_users(struct doctor *d, struct errctx *ec)
{
    struct words silent = {0}, strange = {0};
    int64_t admins = 0;
    enum err e = doctor_look_number(d, &admins, ec, "SELECT COUNT(*) FROM xxl_job_user WHERE role = 1");

    if (!e && !admins)
        doctor_tell(d, DOCTOR_WARNING, "user_no_admin", "xxl_job_user",
                    "Make a user an administrator: UPDATE xxl_job_user SET role = 1 WHERE username = ...",
                    "There is no administrator: nobody can change groups, users or the cluster.");
    if (!e)
        e = doctor_add_rows(d, &silent, ec,
                            "SELECT id, username FROM xxl_job_user WHERE COALESCE(password, '') = '' LIMIT 1000");
    if (!e)
        e = doctor_add_rows(
            d, &strange, ec,
            "SELECT u.id, u.username FROM xxl_job_user u LEFT JOIN shardwheel_role r ON r.user_id = u.id "
            "WHERE u.role NOT IN (0, 1) OR r.role NOT IN ('reader', 'runner') LIMIT 1000");
    doctor_tell_list(d, DOCTOR_WARNING, "user_no_password", "xxl_job_user", "Set passwords, or delete the users.",
                     "Users without a password cannot log in", &silent);
    doctor_tell_list(d, DOCTOR_WARNING, "user_role_unknown", "xxl_job_user",
                     "Set the role in the console, as an administrator.",
                     "Users have an unknown role: they count as normal users", &strange);
    return e;
}

/* Hashes of the original are quickly tried out by whoever reads the table. */
static enum err check_password_forms(struct doctor *d, struct errctx *ec)
{
    struct words old = {0};
    enum err e = ERR_OK;

    if (!d->config->strong_passwords && !d->config->java_guard)
        doctor_tell(d, DOCTOR_NOTE, "passwords_original", "shardwheel.passwords",
                    "Set shardwheel.passwords=strong on all nodes.",
                    "No Java admin uses this database (shardwheel.java-guard=off), but passwords are stored as "
                    "xxl-job does, without salt.");
    if (d->config->strong_passwords && d->features.own_complete)
        e = doctor_add_rows(d, &old, ec,
                            "SELECT u.id, u.username FROM xxl_job_user u LEFT JOIN shardwheel_password p ON "
                            "p.user_id = u.id AND CAST(p.stands_for AS BINARY) = CAST(u.password AS BINARY) "
                            "WHERE p.user_id IS NULL AND LENGTH(u.password) IN (32, 64) LIMIT 1000");
    doctor_tell_list(d, DOCTOR_NOTE, "passwords_waiting", "xxl_job_user",
                     "They are converted at the next login; or set new ones with shardwheelctl set-password.",
                     "Passwords of users who have not logged in yet are still in the form of xxl-job", &old);
    return e;
}

/* Each of them is set up by whoever logs in first with the password. */
static enum err check_factors(struct doctor *d, struct errctx *ec)
{
    const char *roles = d->config->second_factor;
    struct words waiting = {0};
    enum err e = ERR_OK;

    if (d->features.own_complete && strcmp(roles, "none") != 0)
        e = doctor_add_rows(
            d, &waiting, ec,
            "SELECT u.id, u.username FROM xxl_job_user u LEFT JOIN shardwheel_factor f ON f.user_id = u.id "
            "LEFT JOIN shardwheel_role r ON r.user_id = u.id AND u.role = 0 AND COALESCE(u.permission, '') = '' "
            "WHERE f.since_ms IS NULL AND ('%s' = 'all' OR FIND_IN_SET(CASE WHEN u.role = 1 THEN 'admin' "
            "ELSE COALESCE(r.role, 'user') END, '%s')) LIMIT 1000",
            roles, roles);
    doctor_tell_list(d, DOCTOR_NOTE, "factor_waiting", "shardwheel.second-factor",
                     "Ask them to log in: until then, anyone who knows the password can set it up.",
                     "Users need a second factor and have not set it up yet", &waiting);
    return e;
}

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

static enum err check_tokens(struct doctor *d, struct errctx *ec)
{
    struct words expired = {0}, unused = {0};
    enum err e = doctor_add_rows(d, &expired, ec,
                                 "SELECT id, name FROM shardwheel_token WHERE expires_ms IS NOT NULL AND "
                                 "expires_ms <= %" PRId64 " ORDER BY id LIMIT 1000",
                                 d->now_ms);

    if (!e)
        e = doctor_add_rows(d, &unused, ec,
                            "SELECT id, name FROM shardwheel_token WHERE COALESCE(expires_ms, %" PRId64 ") > %" PRId64
                            " AND COALESCE(used_ms, created_ms) < %" PRId64 " ORDER BY id LIMIT 1000",
                            INT64_MAX, d->now_ms, d->now_ms - UNUSED_DAYS * DAY_MS);
    doctor_tell_list(d, DOCTOR_NOTE, "token_expired", "shardwheel_token", NULL,
                     "Tokens of api/v1 have expired: programs that use them are refused", &expired);
    doctor_tell_list(d, DOCTOR_NOTE, "token_unused", "shardwheel_token", NULL,
                     "Tokens of api/v1 are valid, but were not used for half a year", &unused);
    return e;
}

/* ---- what nobody needs ------------------------------------------------------------------------------------------- */

static enum err check_leftovers(struct doctor *d, struct errctx *ec)
{
    static const char *const tables[] = {"shardwheel_job", "shardwheel_later", "xxl_job_logglue"};
    struct words words = {0};
    enum err e = ERR_OK;

    for (size_t i = 0; i < ARRAY_LEN(tables) && !e; i++)
        e = doctor_add_rows(d, &words, ec,
                            "SELECT NULL, CONCAT(n, ' of %s') FROM (SELECT COUNT(*) AS n FROM %s t LEFT JOIN "
                            "xxl_job_info j ON j.id = t.job_id WHERE j.id IS NULL) c WHERE n > 0",
                            tables[i], tables[i]);
    if (!e && words.count)
        doctor_tell(d, DOCTOR_NOTE, "leftovers", NULL, NULL,
                    "There are rows of deleted jobs. They do no harm and can be deleted: %s.", words_end(&words));
    return e;
}

const struct doctor_check doctor_people_checks[] = {
    {"users", "Users can log in, and there is an administrator.",
     (const char *const[]){"user_no_admin", "user_no_password", "user_role_unknown", NULL}, DOCTOR_TABLES, check_users},
    {"password_forms", "Passwords are stored in the configured form.",
     (const char *const[]){"passwords_original", "passwords_waiting", NULL}, DOCTOR_TABLES, check_password_forms},
    {"second_factors", "Users who need a second factor have one.", (const char *const[]){"factor_waiting", NULL},
     DOCTOR_TABLES, check_factors},
    {"tokens", "Tokens of api/v1 are valid and in use.", (const char *const[]){"token_expired", "token_unused", NULL},
     DOCTOR_TABLES, check_tokens},
    {"rows", "There are no rows of deleted jobs.", (const char *const[]){"leftovers", NULL}, DOCTOR_TABLES,
     check_leftovers},
    {0},
};
