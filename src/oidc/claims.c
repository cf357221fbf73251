/* SPDX-License-Identifier: MIT */
#include "oidc/claims.h"
#include "shardwheel/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SUBJECT_MAX 255 /* as OpenID Connect has it */

/* ---- is it for us, and now -------------------------------------------------------------------------------------- */

static enum err check_audience(const struct document *c, const struct claims_wanted *w, struct errctx *ec)
{
    const char *party = document_get_text(c, "azp");

    if (!document_lists(c, "aud", w->client_id))
        return err_set(ec, ERR_INPUT, "it is for another client (aud)");
    if (!party && document_count(c, "aud") > 1)
        return err_set(ec, ERR_INPUT, "it is for several clients, and does not name the one that requested it (azp)");
    if (party && strcmp(party, w->client_id) != 0)
        return err_set(ec, ERR_INPUT, "another client requested it (azp)");
    return ERR_OK;
}

static enum err check_times(const struct document *c, const struct claims_wanted *w, struct errctx *ec)
{
    int64_t ends_s, issued_s, begins_s;

    if (!document_get_time(c, "exp", &ends_s) || !document_get_time(c, "iat", &issued_s))
        return err_set(ec, ERR_INPUT, "it has no time of issue, or no end of validity (iat, exp)");
    if (w->now_s - OIDC_SKEW_S >= ends_s)
        return err_set(ec, ERR_INPUT, "it expired %" PRId64 " s ago by this node's clock (exp)", w->now_s - ends_s);
    if (issued_s > w->now_s + OIDC_SKEW_S)
        return err_set(ec, ERR_INPUT,
                       "it was issued %" PRId64 " s ahead of this node's clock (iat): one of the clocks is wrong",
                       issued_s - w->now_s);
    if (document_get_time(c, "nbf", &begins_s) && begins_s > w->now_s + OIDC_SKEW_S)
        return err_set(ec, ERR_INPUT, "it is not valid yet by this node's clock (nbf)");
    return ERR_OK;
}

enum err claims_check(const struct document *c, const struct claims_wanted *w, struct errctx *ec)
{
    const char *issuer = document_get_text(c, "iss"), *subject = document_get_text(c, "sub"),
               *nonce = document_get_text(c, "nonce");
    enum err e;

    if (!issuer || strcmp(issuer, w->issuer) != 0)
        return err_set(ec, ERR_INPUT, "it is from another issuer (iss): \"%.200s\"", issuer ? issuer : "");
    e = check_audience(c, w, ec);
    if (!e)
        e = check_times(c, w, ec);
    if (e)
        return e;
    if (!nonce || !w->nonce[0] || !str_equal_const_time(nonce, w->nonce))
        return err_set(ec, ERR_INPUT, nonce ? "it is for another login (nonce)" : "it has no nonce");
    if (!subject || !*subject || strlen(subject) > SUBJECT_MAX)
        return err_set(ec, ERR_INPUT, "it does not identify the user (sub)");
    return ERR_OK;
}

/* ---- who it is -------------------------------------------------------------------------------------------------- */

static void take_first(void *arg, const char *text)
{
    const char **first = arg;

    if (!*first && *text)
        *first = text;
}

static void each_claim(const char *names, const struct document *d, void (*put)(void *arg, const char *text), void *arg)
{
    struct text_part name;

    while (text_next_item(&names, &name)) {
        name = text_trim_blanks(name);
        if (name.len)
            document_each_text(d, name.at, name.len, put, arg);
    }
}

static const char *find_name(const struct document *d, const char *names)
{
    const char *name = NULL;

    if (d)
        each_claim(names, d, take_first, &name);
    return name;
}

struct list {
    char **items;
    size_t count;
    enum err e;
};

static void add_group(void *arg, const char *text)
{
    struct list *list = arg;

    if (list->e)
        return;
    if (list->count == OIDC_GROUPS_MAX)
        list->e = ERR_INPUT;
    else if (!list_grow(&list->items, list->count, sizeof *list->items) || !(list->items[list->count] = str_copy(text)))
        list->e = ERR_NOMEM;
    else
        list->count++;
}

bool claims_are_enough(const struct document *claims, const struct oidc_opts *opts)
{
    const char *group = NULL;

    each_claim(opts->groups_claims, claims, take_first, &group);
    return group && find_name(claims, opts->name_claims);
}

void oidc_person_fini(struct oidc_person *person)
{
    for (size_t i = 0; i < person->group_count; i++)
        free(person->groups[i]);
    free(person->groups);
    free(person->name);
    free(person->subject);
    *person = (struct oidc_person){0};
}

enum err claims_take_person(const struct document *claims, const struct document *more, const struct oidc_opts *opts,
                            struct oidc_person *out, struct errctx *ec)
{
    const char *name = find_name(claims, opts->name_claims);
    struct oidc_person person = {0};
    struct buf subject = {0};
    struct list list = {0};

    name = name ? name : find_name(more, opts->name_claims);
    each_claim(opts->groups_claims, claims, add_group, &list);
    if (more)
        each_claim(opts->groups_claims, more, add_group, &list);
    buf_printf(&subject, "%s %s", opts->issuer, document_get_text(claims, "sub"));
    person = (struct oidc_person){
        .subject = buf_take(&subject), .name = str_copy(name), .groups = list.items, .group_count = list.count};
    if (!list.e && person.subject && (!name || person.name)) {
        *out = person;
        return ERR_OK;
    }
    oidc_person_fini(&person);
    return list.e == ERR_INPUT ? err_set(ec, ERR_INPUT, "more than %d groups", OIDC_GROUPS_MAX)
                               : err_set(ec, ERR_NOMEM, "out of memory");
}
