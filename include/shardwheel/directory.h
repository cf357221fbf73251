/* SPDX-License-Identifier: MIT */
/*
 * directory: asks an LDAP server, or Active Directory, who somebody is: whether the password is right, and the groups.
 *
 * Way         Search and bind: a connection for each question; bind as the account of the settings, or as nobody; find
 *             the one entry that the user filter finds; bind as it with the password; bind back, and read the groups.
 * Wire        ldaps://, or ldap:// with StartTLS before anything else is sent. The certificate must be of the host of
 *             the URL and of the CA. Referrals are never followed; ldap.conf and the environment count for nothing that
 *             is set here.
 * Groups      Groups of groups count. Active Directory is asked by its own matching rule where the group filter is the
 *             default; else they are walked, DIRECTORY_GROUPS_MAX and DIRECTORY_DEPTH_MAX at most.
 * Input       What a user types stands escaped in a filter. An empty password is wrong, and is not sent: servers take
 *             a bind without one for a bind as nobody.
 * Time        All of a question has one deadline, names included. directory_stop ends what is asked within a second.
 * Threads     Any, many at once. A question waits for the server: no thread that others wait for may ask.
 */
#ifndef SHARDWHEEL_DIRECTORY_H
#define SHARDWHEEL_DIRECTORY_H

#include "shardwheel/base.h"

#define DIRECTORY_NAME_MAX 200      /* bytes of a user name; longer ones are nobody's */
#define DIRECTORY_PASSWORD_MAX 1000 /* likewise */
#define DIRECTORY_GROUPS_MAX 500    /* of one user */
#define DIRECTORY_DEPTH_MAX 10      /* of groups in groups */
#define DIRECTORY_GROUP_FILTER "(|(member={dn})(uniqueMember={dn})(memberUid={user}))"

struct config;
struct directory;
struct resolver;

struct directory_opts {
    const char *url; /* one or several, separated by blanks: the first that takes a connection is asked */
    bool starttls;   /* with ldap:// */
    const char *ca_file;
    const char *bind_dn, *bind_password; /* "": as nobody */
    const char *base_dn;
    const char *user_filter;    /* with {user} */
    const char *name_attribute; /* of the entry: the name of the user, as it is spelled here */
    const char *group_base_dn;  /* "": base_dn */
    const char *group_filter;   /* with {dn} or {user} */
    const char *group_attribute;
    int64_t timeout_ms;
};

enum directory_answer {
    DIRECTORY_YES,
    DIRECTORY_WRONG,    /* there is no such user, or the password is another one */
    DIRECTORY_EXPIRED,  /* the password is right, and has expired: it must be changed there first */
    DIRECTORY_SEVERAL,  /* the user filter finds several */
    DIRECTORY_AWAY,     /* no connection, or no answer in time */
    DIRECTORY_NO_HOST,  /* the certificate is of another host */
    DIRECTORY_NO_TRUST, /* the certificate is not of the CA, or expired */
    DIRECTORY_NO_TLS,   /* no TLS for another reason */
    DIRECTORY_NO_BIND,  /* the account of the settings was refused */
    DIRECTORY_NO_BASE,  /* the base DN is not there */
    DIRECTORY_NO_FILTER,
    DIRECTORY_NOBODY,  /* of directory_check: no user below the base DN */
    DIRECTORY_STRANGE, /* any other error of the server */
    DIRECTORY_BROKEN,  /* out of memory */
};

struct directory_person {
    char *name; /* as the directory spells it */
    char *dn;
    char *id;         /* stays when the entry is renamed; "": the server has none */
    char **groups;    /* names */
    char **group_dns; /* of the same */
    size_t group_count;
    bool cut; /* there are more groups than are looked at */
};

/* What the settings say; their texts are borrowed. False: there is no directory. */
bool directory_load_opts(const struct config *config, struct directory_opts *out);
/* Texts are borrowed for as long as it lives. ERR_INPUT names the setting that is wrong. */
MUST_CHECK enum err directory_create(const struct directory_opts *opts, struct resolver *resolver,
                                     const struct clock *clock, struct directory **out, struct errctx *ec);
void directory_stop(struct directory *d);    /* questions end as AWAY; may be called twice */
void directory_destroy(struct directory *d); /* NULL is fine; nobody asks */

/* `out` is filled in by YES alone. `ec` says why it was none, for the log and for administrators; it has no password,
 * and nothing of what the user typed. */
MUST_CHECK enum directory_answer directory_login(struct directory *d, const char *name, const char *password,
                                                 struct directory_person *out, struct errctx *ec);
/* YES: the settings find users. */
MUST_CHECK enum directory_answer directory_check(struct directory *d, struct errctx *ec);
void directory_person_fini(struct directory_person *p);

#endif
