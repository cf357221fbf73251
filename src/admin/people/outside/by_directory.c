/* SPDX-License-Identifier: MIT */
/* The login of people whom a directory knows: who is asked for there, and what its answer means here. */
#include "admin/people/login_impl.h"
#include "shardwheel/admin/outside.h"
#include "shardwheel/directory.h"

#include <stdlib.h>
#include <string.h>

#define SOURCE "ldap"
#define RETRY_S 5

/* A row of another source, or of ours, says whose password counts: the directory has no say in it. */
bool login_is_of_directory(const struct admin *a, const struct user *u)
{
    return a->opts.directory && (!u->id || !strcmp(u->source, SOURCE));
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static enum err refuse_wrong(struct admin *a, enum directory_answer answer, const struct user *u,
                             const struct origin *from, struct refusal *r)
{
    struct store_session *s = NULL;
    enum err e = admin_take_session(a, &s, r);

    counters_add(a->counters, COUNTER_LOGINS_REFUSED, 1);
    if (!e) {
        login_note_refusal(a, s, u, from);
        e = answer == DIRECTORY_EXPIRED
                ? refuse(r, REFUSED_OFF, "password", "the password has expired: change it at your organization first")
                : refuse(r, REFUSED_INVALID, NULL, "the user name or the password is wrong");
    }
    return admin_end(a, s, e, r);
}

/* A name that looks like a DN would be taken for one by the mapping. */
static bool is_plain(const char *group)
{
    return *group && !(strchr(group, '=') && strchr(group, ','));
}

/* Groups by their names and by their DNs: rules may have either. */
static enum err let_in(struct admin *a, const struct directory_person *p, const struct origin *from,
                       struct login *login, struct refusal *r)
{
    const char **groups = calloc(2 * p->group_count + 1, sizeof *groups);
    struct outside_person person = {
        .source = SOURCE, .subject = *p->id ? p->id : p->dn, .name = p->name, .groups = groups, .any_case = true};
    const struct origin by = {.address = from->address, .via = SOURCE, .agent = from->agent};

    if (!groups)
        return refuse(r, REFUSED_BROKEN, NULL, "out of memory");
    for (size_t i = 0; i < p->group_count; i++) {
        groups[person.group_count++] = p->group_dns[i];
        if (is_plain(p->groups[i]))
            groups[person.group_count++] = p->groups[i];
    }
    enum err e = admin_login_outside(a, &person, &by, login, r);
    free(groups);
    return e;
}

static enum err refuse_unanswered(struct admin *a, const struct errctx *why, struct refusal *r)
{
    log_limited(&a->directory_log, a->clock, LOG_WARN, "admin",
                "event=ldap_failed error=%s effect=\"users of the directory cannot log in, local ones can\"",
                log_quote(why->text).s);
    enum err e = refuse(r, REFUSED_TRY_AGAIN, NULL, "the LDAP server does not answer: try again later");
    r->retry_s = RETRY_S;
    return e;
}

static enum err judge(struct admin *a, enum directory_answer answer, const struct directory_person *p,
                      const struct errctx *why, const struct origin *from, struct login *login, struct refusal *r)
{
    switch (answer) {
    case DIRECTORY_YES:
        if (p->cut)
            log_limited(&a->directory_log, a->clock, LOG_WARN, "admin",
                        "event=ldap_groups_cut user=%s effect=\"groups beyond %d do not count\"", log_quote(p->name).s,
                        DIRECTORY_GROUPS_MAX);
        user_fini(&login->user);
        return let_in(a, p, from, login, r);
    case DIRECTORY_WRONG:
    case DIRECTORY_EXPIRED:
    case DIRECTORY_SEVERAL:
        log_limited(&a->directory_log, a->clock, answer == DIRECTORY_SEVERAL ? LOG_WARN : LOG_INFO, "admin",
                    "event=ldap_refused reason=%s", log_quote(why->text).s);
        return refuse_wrong(a, answer, &login->user, from, r);
    case DIRECTORY_AWAY:
    case DIRECTORY_NO_HOST:
    case DIRECTORY_NO_TRUST:
    case DIRECTORY_NO_TLS:
    case DIRECTORY_NO_BIND:
    case DIRECTORY_NO_BASE:
    case DIRECTORY_NO_FILTER:
    case DIRECTORY_NOBODY:
    case DIRECTORY_STRANGE:
    case DIRECTORY_BROKEN: break;
    }
    return refuse_unanswered(a, why, r);
}

/* ---- the use case ------------------------------------------------------------------------------------------------ */

static enum err ask(struct admin *a, const struct login_form *form, const struct throttle *t, const struct origin *from,
                    struct login *login, struct refusal *r)
{
    struct login_failures before[LOGIN_KEYS];
    struct directory_person p = {0};
    struct errctx why;
    enum err e = throttle_count(a, t, before, r);

    if (e)
        return e;
    enum directory_answer answer = directory_login(a->opts.directory, form->name, form->password, &p, &why);
    if (answer != DIRECTORY_WRONG && answer != DIRECTORY_EXPIRED && answer != DIRECTORY_SEVERAL)
        e = throttle_take_back(a, t, before, answer == DIRECTORY_YES, r); /* its silence keeps nobody out */
    if (!e)
        e = judge(a, answer, &p, &why, from, login, r);
    directory_person_fini(&p);
    return e;
}

enum err login_by_directory(struct admin *a, const struct login_form *form, const struct throttle *t,
                            const struct origin *from, struct login *login, struct refusal *r)
{
    enum err e;

    /* relaxed: a number, nothing else hangs on it */
    if (atomic_fetch_add_explicit(&a->asking, 1, memory_order_relaxed) < DIRECTORY_ASKS_MAX) {
        e = ask(a, form, t, from, login, r);
    } else {
        e = refuse(r, REFUSED_TRY_AGAIN, NULL, "too many logins wait for the LDAP server: try again");
        r->retry_s = RETRY_S;
    }
    atomic_fetch_sub_explicit(&a->asking, 1, memory_order_relaxed);
    return e;
}
