/* SPDX-License-Identifier: MIT */
#include "directory/groups.h"

#include "directory/answer.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define AT_ONCE 20 /* groups whose own groups one search asks for */

/* The rule by which Active Directory walks groups of groups itself, and what it says of itself there. */
#define AD_FILTER "(member:1.2.840.113556.1.4.1941:={dn})"
#define AD_CAPABILITY "1.2.840.113556.1.4.800"

/* A server that does not tell is none. */
static enum directory_answer is_active_directory(struct link *l, bool *out, struct errctx *ec)
{
    static const struct link_query query = {
        .base = "", .only_base = true, .filter = "(objectClass=*)", .attributes = {"supportedCapabilities"}};
    struct link_entries found;
    struct errctx why;
    enum directory_answer a = link_search(l, &query, &found, &why);

    *out = false;
    if (a == DIRECTORY_AWAY || a == DIRECTORY_BROKEN) {
        *ec = why;
        return a;
    }
    if (a)
        return DIRECTORY_YES;
    for (size_t i = 0; i < found.count; i++) {
        for (size_t k = 0; k < found.list[i].value_count; k++)
            *out = *out || !strcmp(found.list[i].values[k].text, AD_CAPABILITY);
    }
    link_entries_fini(&found);
    return DIRECTORY_YES;
}

static bool has_group(const struct directory_person *p, const char *dn)
{
    for (size_t i = 0; i < p->group_count; i++) {
        if (!strcasecmp(p->group_dns[i], dn))
            return true;
    }
    return false;
}

/* False: out of memory. */
static bool add_group(struct directory_person *p, const char *dn, const char *name)
{
    bool room =
        list_grow(&p->groups, p->group_count, sizeof name) && list_grow(&p->group_dns, p->group_count, sizeof dn);
    char *name_copy = room ? str_copy(name) : NULL, *dn_copy = room ? str_copy(dn) : NULL;

    if (!name_copy || !dn_copy) {
        free(name_copy);
        free(dn_copy);
        return false;
    }
    p->groups[p->group_count] = name_copy;
    p->group_dns[p->group_count++] = dn_copy;
    return true;
}

static enum directory_answer take_groups(const struct link_entries *found, struct directory_person *p,
                                         struct errctx *ec)
{
    p->cut = p->cut || found->cut;
    for (size_t i = 0; i < found->count; i++) {
        const struct link_entry *e = &found->list[i];
        const char *name = link_find(e, 0);

        if (!*e->dn || has_group(p, e->dn))
            continue;
        if (p->group_count == DIRECTORY_GROUPS_MAX) {
            p->cut = true;
            break;
        }
        if (!add_group(p, e->dn, name ? name : ""))
            return answer_no_memory(ec);
    }
    return DIRECTORY_YES;
}

const char *groups_base(const struct directory_opts *opts)
{
    return *opts->group_base_dn ? opts->group_base_dn : opts->base_dn;
}

/* The groups that the user is in (`from` equal to `to`), or those that the groups from..to are in. */
static enum directory_answer ask(struct link *l, const struct directory_opts *opts, const char *filter,
                                 struct directory_person *p, size_t from, size_t to, struct errctx *ec)
{
    struct link_query query = {
        .base = groups_base(opts), .attributes = {opts->group_attribute}, .limit = DIRECTORY_GROUPS_MAX + 1};
    struct buf text = {0};
    struct link_entries found = {0};
    enum directory_answer a;

    buf_puts(&text, from == to ? "" : "(|");
    if (from == to)
        filter_put(&text, filter, p->name, p->dn);
    for (size_t i = from; i < to; i++)
        filter_put(&text, filter, p->name, p->group_dns[i]);
    buf_puts(&text, from == to ? "" : ")");
    query.filter = text.data;
    a = buf_failed(&text) ? answer_no_memory(ec) : link_search(l, &query, &found, ec);
    if (!a)
        a = take_groups(&found, p, ec);
    link_entries_fini(&found);
    buf_fini(&text);
    return a;
}

enum directory_answer groups_load(struct link *l, const struct directory_opts *opts, struct directory_person *p,
                                  struct errctx *ec)
{
    bool whole = false; /* the server walks */
    size_t seen = 0;
    enum directory_answer a = DIRECTORY_YES;

    if (!strcmp(opts->group_filter, DIRECTORY_GROUP_FILTER))
        a = is_active_directory(l, &whole, ec);
    if (!a)
        a = ask(l, opts, whole ? AD_FILTER : opts->group_filter, p, 0, 0, ec);
    /* Which are in each other end it, too: nobody is added twice. */
    for (int depth = 1; seen < p->group_count && !whole && !a; depth++) {
        size_t level_end = p->group_count;

        if (depth > DIRECTORY_DEPTH_MAX) {
            p->cut = true;
            break;
        }
        for (; seen < level_end && !a; seen = seen + AT_ONCE < level_end ? seen + AT_ONCE : level_end)
            a = ask(l, opts, opts->group_filter, p, seen, seen + AT_ONCE < level_end ? seen + AT_ONCE : level_end, ec);
    }
    return a;
}
