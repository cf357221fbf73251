/* SPDX-License-Identifier: MIT */
#include "shardwheel/directory.h"

#include "directory/answer.h"
#include "directory/groups.h"
#include "shardwheel/config.h"
#include "shardwheel/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct directory {
    struct directory_opts opts;                    /* [const] */
    struct resolver *resolver;                     /* [const] */
    const struct clock *clock;                     /* [const] */
    struct directory_url urls[DIRECTORY_URLS_MAX]; /* [const] */
    size_t url_count;                              /* [const] */
    _Atomic bool stopping;                         /* [atomic] set once; only says when to end */
};

/* ---- settings ---------------------------------------------------------------------------------------------------- */

bool directory_load_opts(const struct config *config, struct directory_opts *out)
{
    *out = (struct directory_opts){.url = config->ldap_url,
                                   .starttls = config->ldap_starttls,
                                   .ca_file = config->ldap_ca_file,
                                   .bind_dn = config->ldap_bind_dn,
                                   .bind_password = config->ldap_bind_password,
                                   .base_dn = config->ldap_base_dn,
                                   .user_filter = config->ldap_user_filter,
                                   .name_attribute = config->ldap_name_attribute,
                                   .group_base_dn = config->ldap_group_base_dn,
                                   .group_filter = config->ldap_group_filter,
                                   .group_attribute = config->ldap_group_attribute,
                                   .timeout_ms = config->ldap_timeout_ms};
    return !str_is_blank(config->ldap_url);
}

static bool is_attribute(const char *name)
{
    return *name && strlen(name) <= 100 && !name[strspn(name, ASCII_LETTERS ASCII_DIGITS "-;.")];
}

static enum err check_opts(const struct directory_opts *o, struct errctx *ec)
{
    if (!filter_is_whole(o->user_filter) || !strstr(o->user_filter, "{user}") || strstr(o->user_filter, "{dn}"))
        return err_set(ec, ERR_INPUT, "shardwheel.ldap.user-filter: %.200s is not a filter in ( ) with {user}",
                       o->user_filter);
    if (!filter_is_whole(o->group_filter) || (!strstr(o->group_filter, "{dn}") && !strstr(o->group_filter, "{user}")))
        return err_set(ec, ERR_INPUT, "shardwheel.ldap.group-filter: %.200s is not a filter in ( ) with {dn} or {user}",
                       o->group_filter);
    if (!is_attribute(o->name_attribute))
        return err_set(ec, ERR_INPUT, "shardwheel.ldap.name-attribute: %.100s is not the name of an attribute",
                       o->name_attribute);
    if (!is_attribute(o->group_attribute))
        return err_set(ec, ERR_INPUT, "shardwheel.ldap.group-attribute: %.100s is not the name of an attribute",
                       o->group_attribute);
    if (!*o->base_dn)
        return err_set(ec, ERR_INPUT, "shardwheel.ldap.base-dn must be set with shardwheel.ldap.url");
    if (*o->bind_dn && !*o->bind_password)
        return err_set(ec, ERR_INPUT, "shardwheel.ldap.bind-password must be set with shardwheel.ldap.bind-dn");
    return ERR_OK;
}

enum err directory_create(const struct directory_opts *opts, struct resolver *resolver, const struct clock *clock,
                          struct directory **out, struct errctx *ec)
{
    struct directory *d = calloc(1, sizeof *d);
    enum err e = d ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory for the directory");

    if (e)
        return e;
    d->opts = *opts;
    d->resolver = resolver;
    d->clock = clock;
    e = urls_parse(opts->url, d->urls, &d->url_count, ec);
    e = e ? err_wrap(ec, e, "shardwheel.ldap.url") : check_opts(opts, ec);
    if (e) {
        directory_destroy(d);
        return e;
    }
    link_prepare();
    *out = d;
    return ERR_OK;
}

void directory_stop(struct directory *d)
{
    atomic_store_explicit(&d->stopping, true, memory_order_relaxed);
}

void directory_destroy(struct directory *d)
{
    free(d);
}

void directory_person_fini(struct directory_person *p)
{
    for (size_t i = 0; i < p->group_count; i++) {
        free(p->groups[i]);
        free(p->group_dns[i]);
    }
    free(p->groups);
    free(p->group_dns);
    free(p->name);
    free(p->dn);
    free(p->id);
    *p = (struct directory_person){0};
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static enum directory_answer bind_account(struct directory *d, struct link *l, struct errctx *ec)
{
    enum directory_answer a = link_bind(l, d->opts.bind_dn, d->opts.bind_password, ec);

    if (a != DIRECTORY_WRONG && a != DIRECTORY_EXPIRED)
        return a;
    (void)err_wrap(ec, ERR_INPUT, "the account %.200s was refused", *d->opts.bind_dn ? d->opts.bind_dn : "of nobody");
    return DIRECTORY_NO_BIND;
}

/* Connected, and bound as the account of the settings. */
static enum directory_answer enter(struct directory *d, struct link **out, struct errctx *ec)
{
    struct link_opts opts = {.urls = d->urls,
                             .url_count = d->url_count,
                             .starttls = d->opts.starttls,
                             .ca_file = d->opts.ca_file,
                             .resolver = d->resolver,
                             .limit = {.clock = d->clock,
                                       .stopping = &d->stopping,
                                       .deadline_mono_ms = clock_mono_ms(d->clock) + d->opts.timeout_ms}};
    struct link *l = NULL;
    enum directory_answer a = link_open(&opts, &l, ec);

    if (!a)
        a = bind_account(d, l, ec);
    if (a) {
        link_close(l);
        return a;
    }
    *out = l;
    return DIRECTORY_YES;
}

/* The value that was typed, where an entry has several names. */
static const char *choose_name(const struct link_entry *e, const char *typed)
{
    for (size_t i = 0; i < e->value_count; i++) {
        if (e->values[i].attribute == 0 && !strcasecmp(e->values[i].text, typed))
            return e->values[i].text;
    }
    return link_find(e, 0);
}

static enum directory_answer take_user(struct directory *d, const struct link_entry *e, const char *typed,
                                       struct directory_person *out, struct errctx *ec)
{
    const char *name = choose_name(e, typed), *id = NULL;

    if (str_is_blank(name))
        return answer_set(ec, DIRECTORY_STRANGE, "%.200s has no attribute %s", e->dn, d->opts.name_attribute);
    for (size_t i = 1; i < LINK_ATTRIBUTES_MAX && !id; i++)
        id = link_find(e, i);
    out->name = str_copy(name);
    out->dn = str_copy(e->dn);
    out->id = str_copy(id ? id : "");
    return out->name && out->dn && out->id ? DIRECTORY_YES : answer_no_memory(ec);
}

/* `name` NULL: anybody. */
static enum directory_answer search_users(struct directory *d, struct link *l, const char *name, int limit,
                                          struct link_entries *out, struct errctx *ec)
{
    struct link_query query = {
        .base = d->opts.base_dn,
        .attributes = {d->opts.name_attribute, "entryUUID", "objectGUID", "nsUniqueId", "ipaUniqueID"},
        .limit = limit};
    struct buf filter = {0};
    enum directory_answer a;

    filter_put(&filter, d->opts.user_filter, name, NULL);
    query.filter = filter.data;
    a = buf_failed(&filter) ? answer_no_memory(ec) : link_search(l, &query, out, ec);
    buf_fini(&filter);
    return a;
}

/* A directory takes many letters for others (wide ones, accents): each such way to write a name would have failures of
 * its own, and no bound for all of them. */
static bool is_written_so(const char *typed, const char *name)
{
    for (const char *c = typed; *c; c++) {
        if ((unsigned char)*c >= 0x80)
            return !strcasecmp(typed, name);
    }
    return true;
}

static enum directory_answer find_user(struct directory *d, struct link *l, const char *name,
                                       struct directory_person *out, struct errctx *ec)
{
    struct link_entries found;
    enum directory_answer a = search_users(d, l, name, 2, &found, ec);

    if (a)
        return a;
    if (found.count == 1 && !found.cut && *found.list[0].dn) {
        a = take_user(d, &found.list[0], name, out, ec);
        if (!a && !is_written_so(name, out->name))
            a = answer_set(ec, DIRECTORY_WRONG,
                           "the name differs from that in the directory by more than the case of a to z");
    } else if (found.count > 0) {
        a = answer_set(ec, DIRECTORY_SEVERAL, "shardwheel.ldap.user-filter finds several users with this name");
    } else {
        a = answer_set(ec, DIRECTORY_WRONG, "no such user in the directory");
    }
    link_entries_fini(&found);
    return a;
}

static bool is_name(const char *name)
{
    size_t len = strlen(name);

    return !str_is_blank(name) && len <= DIRECTORY_NAME_MAX && utf8_is_valid(name, len) && !text_has_control(name, len);
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

/* An unknown name is answered after as many steps as a wrong password. */
static void bind_nobody(struct directory *d, struct link *l, const char *password)
{
    struct buf dn = {0};
    struct errctx why;

    buf_printf(&dn, "cn=nobody of that name,%s", d->opts.base_dn);
    if (!buf_failed(&dn))
        (void)!link_bind(l, dn.data, password, &why);
    buf_fini(&dn);
}

static enum directory_answer log_in(struct directory *d, struct link *l, const char *name, const char *password,
                                    struct directory_person *p, struct errctx *ec)
{
    enum directory_answer a = find_user(d, l, name, p, ec);

    if (a == DIRECTORY_WRONG)
        bind_nobody(d, l, password);
    if (!a)
        a = link_bind(l, p->dn, password, ec);
    if (!a)
        a = bind_account(d, l, ec);
    return a ? a : groups_load(l, &d->opts, p, ec);
}

enum directory_answer directory_login(struct directory *d, const char *name, const char *password,
                                      struct directory_person *out, struct errctx *ec)
{
    struct directory_person p = {0};
    struct link *l = NULL;
    enum directory_answer a;

    errctx_clear(ec);
    if (!is_name(name) || !*password || strlen(password) > DIRECTORY_PASSWORD_MAX)
        return answer_set(ec, DIRECTORY_WRONG, "the name or the password is not possible in a directory");
    a = enter(d, &l, ec);
    if (!a)
        a = log_in(d, l, name, password, &p, ec);
    link_close(l);
    if (a) {
        directory_person_fini(&p);
        return a;
    }
    errctx_clear(ec);
    *out = p;
    return DIRECTORY_YES;
}

/* Why the user filter finds nobody: nothing is there for the account, or nothing fits. */
static enum directory_answer explain_nobody(struct directory *d, struct link *l, struct errctx *ec)
{
    struct link_query query = {.base = d->opts.base_dn, .filter = "(objectClass=*)", .limit = 1};
    struct link_entries any;
    enum directory_answer a = link_search(l, &query, &any, ec);
    bool found = any.count > 0;

    link_entries_fini(&any);
    if (a)
        return a;
    if (found)
        return answer_set(ec, DIRECTORY_NOBODY, "below %.200s there are entries, but none that matches %.200s",
                          d->opts.base_dn, d->opts.user_filter);
    return answer_set(ec, DIRECTORY_NOBODY, "below %.200s there is nothing that the account %.200s may read",
                      d->opts.base_dn, *d->opts.bind_dn ? d->opts.bind_dn : "of nobody");
}

static enum directory_answer check_groups(struct directory *d, struct link *l, struct errctx *ec)
{
    struct link_query query = {.base = groups_base(&d->opts), .limit = 1};
    struct link_entries found = {0};
    struct buf filter = {0};
    enum directory_answer a;

    filter_put(&filter, d->opts.group_filter, NULL, NULL);
    query.filter = filter.data;
    a = buf_failed(&filter) ? answer_no_memory(ec) : link_search(l, &query, &found, ec);
    link_entries_fini(&found);
    buf_fini(&filter);
    return a;
}

enum directory_answer directory_check(struct directory *d, struct errctx *ec)
{
    struct link_entries found = {0};
    struct link *l = NULL;
    enum directory_answer a;

    errctx_clear(ec);
    a = enter(d, &l, ec);
    if (!a)
        a = search_users(d, l, NULL, 1, &found, ec);
    if (!a && !found.count)
        a = explain_nobody(d, l, ec);
    else if (!a && !link_find(&found.list[0], 0))
        a = answer_set(ec, DIRECTORY_STRANGE, "%.200s has no attribute %s", found.list[0].dn, d->opts.name_attribute);
    link_entries_fini(&found);
    if (!a)
        a = check_groups(d, l, ec);
    link_close(l);
    if (!a)
        errctx_clear(ec);
    return a;
}
