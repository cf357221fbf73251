/* SPDX-License-Identifier: MIT */
/* From groups of a provider to role and groups here. The grammar is in shardwheel/admin/outside.h. */
#include "shardwheel/admin/outside.h"

#include "shardwheel/text.h"

#include <stdlib.h>
#include <string.h>

#define NAME_BYTES_MAX 1000

/* '*' of a pattern outside of an escape is kept as this byte, which UTF-8 never has: a '*' that was escaped is a
 * letter as all others. */
#define ANY '\xff'

struct names {
    char **items;
    size_t count;
};

struct rule {
    struct names groups;
    enum admin_role role;
    struct names apps; /* none: all */
};

struct mapping {
    struct rule *rules;
    size_t count;
};

/* ---- patterns ---------------------------------------------------------------------------------------------------- */

static char fold(char c, bool any_case)
{
    return any_case && c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

/* In steps of the text at most times those of the pattern: only the last '*' is tried again. */
bool mapping_fits(const char *pattern, const char *text, bool any_case)
{
    const char *again = NULL, *from = NULL;

    while (*text) {
        if (*pattern == ANY) {
            again = ++pattern;
            from = text;
        } else if (*pattern && fold(*pattern, any_case) == fold(*text, any_case)) {
            pattern++;
            text++;
        } else if (again) {
            pattern = again;
            text = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == ANY)
        pattern++;
    return !*pattern;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

struct reader {
    const char *at;
    size_t rule; /* from 1 on, for people */
    struct errctx *ec;
};

static void names_fini(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
    *names = (struct names){0};
}

void mapping_destroy(struct mapping *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->count; i++) {
        names_fini(&m->rules[i].groups);
        names_fini(&m->rules[i].apps);
    }
    free(m->rules);
    free(m);
}

static void skip_blanks(struct reader *in)
{
    in->at += strspn(in->at, " \t\r");
}

static bool is_end_of_rule(const struct reader *in)
{
    return !*in->at || *in->at == ';' || *in->at == '\n';
}

static enum err fail(const struct reader *in, const char *expected)
{
    const char *at = in->at;
    int len = (int)utf8_cut(at, strcspn(at, ";\n"), 40);

    return len ? err_set(in->ec, ERR_INPUT, "rule %zu: expected %s at \"%.*s\"", in->rule, expected, len, at)
               : err_set(in->ec, ERR_INPUT, "rule %zu: expected %s at its end", in->rule, expected);
}

/* One character of a name, which is taken; 0: the name ends before it. */
static char take_char(struct reader *in, bool quoted)
{
    char c = *in->at;

    if (!c || (quoted ? c == '"' : strchr(" \t\r\n,;\"", c) || !strncmp(in->at, "->", 2)))
        return 0;
    in->at++;
    if (c == '*')
        return ANY;
    if (quoted && c == '\\' && *in->at && strchr("\"\\*", *in->at))
        return *in->at++;
    return c;
}

/* Without quotes a name may have blanks within it: "Domain Users". A word of its own that ends it is of no name. */
static bool goes_on_behind_blanks(struct reader *in, bool of_groups)
{
    const char *next = in->at + strspn(in->at, " \t\r");

    return of_groups && next > in->at && *next && !strchr(",;\n\"", *next) && strncmp(next, "->", 2) != 0;
}

static enum err read_name(struct reader *in, bool of_groups, struct buf *out)
{
    bool quoted = *in->at == '"';
    char c;

    in->at += quoted;
    while ((c = take_char(in, quoted)) || (!quoted && goes_on_behind_blanks(in, of_groups))) {
        if (!c)
            c = *in->at++;
        buf_putc(out, c);
    }
    if (quoted && *in->at != '"')
        return err_set(in->ec, ERR_INPUT, "rule %zu: a name begins with \" and does not end with it", in->rule);
    in->at += quoted;
    if (!out->len)
        return fail(in, of_groups ? "the name of a group" : "the AppName of an executor group");
    if (out->len > NAME_BYTES_MAX)
        return err_set(in->ec, ERR_INPUT, "rule %zu: a name has more than %d bytes", in->rule, NAME_BYTES_MAX);
    return buf_failed(out) ? err_set(in->ec, ERR_NOMEM, "out of memory") : ERR_OK;
}

static enum err read_names(struct reader *in, bool of_groups, struct names *out)
{
    for (;;) {
        struct buf name = {0};
        enum err e;

        skip_blanks(in);
        e = read_name(in, of_groups, &name);
        if (!e && out->count == MAPPING_NAMES_MAX)
            e = err_set(in->ec, ERR_INPUT, "rule %zu: more than %d names in one list", in->rule, MAPPING_NAMES_MAX);
        if (!e && !list_grow(&out->items, out->count, sizeof *out->items))
            e = err_set(in->ec, ERR_NOMEM, "out of memory");
        if (e || !(out->items[out->count] = buf_take(&name))) {
            buf_fini(&name);
            return e ? e : err_set(in->ec, ERR_NOMEM, "out of memory");
        }
        out->count++;
        skip_blanks(in);
        if (*in->at != ',')
            return ERR_OK;
        in->at++;
    }
}

static enum err read_role(struct reader *in, enum admin_role *out)
{
    char word[16];
    size_t len;

    skip_blanks(in);
    len = strspn(in->at, ASCII_LETTERS);
    if (len && len < sizeof word) {
        memcpy(word, in->at, len);
        word[len] = '\0';
        if (role_parse(word, out)) {
            in->at += len;
            return ERR_OK;
        }
    }
    return fail(in, "admin, user, runner or reader");
}

static enum err read_apps(struct reader *in, struct rule *rule)
{
    skip_blanks(in);
    if (is_end_of_rule(in))
        return rule->role == ROLE_USER
                   ? err_set(in->ec, ERR_INPUT, "rule %zu: a user needs executor groups: user in APPNAME, or user in *",
                             in->rule)
                   : ERR_OK;
    if (strncmp(in->at, "in", 2) != 0 || !in->at[2] || !strchr(" \t\"", in->at[2]))
        return fail(in, "\"in\" and executor groups, or the end of the rule");
    if (rule->role == ROLE_ADMIN)
        return err_set(in->ec, ERR_INPUT, "rule %zu: an admin has all executor groups: nothing may follow it",
                       in->rule);
    in->at += 2;
    enum err e = read_names(in, /*of_groups=*/false, &rule->apps);
    return e || is_end_of_rule(in) ? e : fail(in, "a comma or the end of the rule");
}

static enum err read_rule(struct reader *in, struct rule *rule)
{
    enum err e = read_names(in, /*of_groups=*/true, &rule->groups);

    if (!e && strncmp(in->at, "->", 2) != 0)
        e = fail(in, "->");
    if (e)
        return e;
    in->at += 2;
    e = read_role(in, &rule->role);
    return e ? e : read_apps(in, rule);
}

static enum err read_rules(struct reader *in, struct mapping *m)
{
    for (;;) {
        enum err e;

        in->at += strspn(in->at, " \t\r\n;");
        if (!*in->at)
            return ERR_OK;
        in->rule++;
        if (m->count == MAPPING_RULES_MAX)
            return err_set(in->ec, ERR_INPUT, "more than %d rules", MAPPING_RULES_MAX);
        if (!list_grow(&m->rules, m->count, sizeof *m->rules))
            return err_set(in->ec, ERR_NOMEM, "out of memory");
        m->rules[m->count] = (struct rule){0};
        e = read_rule(in, &m->rules[m->count++]);
        if (e)
            return e;
    }
}

enum err mapping_parse(const char *text, struct mapping **out, struct errctx *ec)
{
    struct errctx unheard;
    struct reader in = {.at = text, .ec = ec ? ec : &unheard};
    struct mapping *m = calloc(1, sizeof *m);
    enum err e = m ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");

    if (!e && !utf8_is_valid(text, strlen(text)))
        e = err_set(ec, ERR_INPUT, "it is not UTF-8");
    if (!e)
        e = read_rules(&in, m);
    if (e) {
        mapping_destroy(m);
        return e;
    }
    *out = m;
    return ERR_OK;
}

/* ---- applying ---------------------------------------------------------------------------------------------------- */

static bool is_everybody(const char *pattern)
{
    return pattern[0] == ANY && !pattern[1];
}

static bool rule_fits(const struct rule *rule, const char *const *groups, size_t count, bool any_case)
{
    for (size_t i = 0; i < rule->groups.count; i++) {
        const char *pattern = rule->groups.items[i];

        if (is_everybody(pattern))
            return true;
        for (size_t g = 0; g < count; g++) {
            if (mapping_fits(pattern, groups[g], any_case))
                return true;
        }
    }
    return false;
}

/* enum admin_role has the highest first. */
static bool is_higher(enum admin_role a, enum admin_role b)
{
    return a < b;
}

static enum err add_apps(const struct names *apps, struct mapped *out, struct refusal *r)
{
    const char **more = realloc(out->apps, (out->app_count + apps->count + 1) * sizeof *more);

    if (!more)
        return refuse(r, REFUSED_BROKEN, NULL, "out of memory");
    out->apps = more;
    for (size_t i = 0; i < apps->count; i++)
        more[out->app_count++] = apps->items[i];
    return ERR_OK;
}

enum err mapping_apply(const struct mapping *m, const char *const *groups, size_t count, bool any_case,
                       struct mapped *out, struct refusal *r)
{
    struct mapped found = {0};
    bool is_somebody = false;
    enum err e = ERR_OK;

    for (size_t i = 0; i < m->count && !e; i++) {
        const struct rule *rule = &m->rules[i];

        if ((is_somebody && is_higher(found.role, rule->role)) || !rule_fits(rule, groups, count, any_case))
            continue;
        if (!is_somebody || is_higher(rule->role, found.role)) {
            found.app_count = 0;
            found.all_groups = false;
        }
        is_somebody = true;
        found.role = rule->role;
        found.all_groups |= !rule->apps.count;
        e = add_apps(&rule->apps, &found, r);
    }
    if (!e && !is_somebody)
        e = refuse(r, REFUSED_RIGHT, NULL,
                   "none of your groups gives access here: an administrator can add one of them to "
                   "shardwheel.login.mapping, or add you to a group that is in it");
    if (e || found.all_groups) {
        free(found.apps);
        found.apps = NULL;
        found.app_count = 0;
    }
    if (!e)
        *out = found;
    return e;
}
