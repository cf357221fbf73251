/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target for what people of a provider may do here: rules of shardwheel.login.mapping, applied to groups, and who
 * may log in with a local password. Byte 0: whether the case counts; then the rules up to a NUL; then groups, each up
 * to a NUL, of which the first is an AppName as well, and the second shardwheel.login.local.
 *
 * Oracle      A second reader, which goes over the text by itself and tries every way for a '*': it refuses and takes
 *             the same rules, lets in the same people, with the same role and groups. A refusal says which rule.
 * Run: tools/fuzz mapping (-max_len=2000)
 */
#include "input.h"
#include "shardwheel/admin/outside.h"
#include "shardwheel/text.h"

#include <string.h>
#include <strings.h>

#define GROUPS_MAX 20
#define ANY (-1) /* a '*' that stands for anything */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- a second reader --------------------------------------------------------------------------------------------- */

struct name {
    int letters[1001];
    size_t len;
};

struct scan {
    const char *at;
    bool wrong;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void skip(struct scan *s)
{
    while (is_blank(*s->at))
        s->at++;
}

static bool ends_name(const char *at)
{
    return !*at || *at == ',' || *at == ';' || *at == '\n' || *at == '"' || (at[0] == '-' && at[1] == '>');
}

static void add(struct scan *s, struct name *n, int letter)
{
    if (n->len == 1000)
        s->wrong = true;
    else
        n->letters[n->len++] = letter;
}

/* Of a group a name without quotes goes up to a comma or arrow, less the blanks there; of an AppName up to a blank. */
static void scan_name(struct scan *s, struct name *n, bool of_groups)
{
    n->len = 0;
    skip(s);
    if (*s->at == '"') {
        for (s->at++; *s->at && *s->at != '"'; s->at++) {
            if (*s->at == '\\' && s->at[1] && strchr("\"\\*", s->at[1]))
                add(s, n, (unsigned char)*++s->at);
            else
                add(s, n, *s->at == '*' ? ANY : (unsigned char)*s->at);
        }
        s->wrong = s->wrong || !*s->at;
        s->at += *s->at == '"';
    } else {
        const char *end = s->at;
        while (!ends_name(end) && (of_groups || !is_blank(*end)))
            end++;
        while (end > s->at && is_blank(end[-1]) && *end != '"')
            end--;
        while (of_groups && end > s->at && is_blank(end[-1])) /* a quote behind blanks is none of its letters */
            end--;
        for (; s->at < end; s->at++)
            add(s, n, *s->at == '*' ? ANY : (unsigned char)*s->at);
    }
    s->wrong = s->wrong || !n->len;
    skip(s);
}

static int lower(int c)
{
    return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

/* Row by row of which prefixes fit which. */
static bool fits(const struct name *n, const char *text, bool any_case)
{
    static bool rows[2][4001];
    size_t len = strlen(text);
    bool *row = rows[0], *next = rows[1];

    memset(rows, 0, sizeof rows);
    row[0] = true;
    for (size_t i = 0; i < n->len; i++) {
        int c = n->letters[i];
        for (size_t k = 0; k <= len; k++) {
            int t = k ? (unsigned char)text[k - 1] : 0;
            next[k] = c == ANY ? row[k] || (k && next[k - 1])
                               : k && row[k - 1] && (c == t || (any_case && lower(c) == lower(t)));
        }
        bool *swap = row;
        row = next;
        next = swap;
    }
    return row[len];
}

static int scan_role(struct scan *s)
{
    static const char *const names[] = {"admin", "user", "runner", "reader"};
    static const enum admin_role roles[] = {ROLE_ADMIN, ROLE_USER, ROLE_RUNNER, ROLE_READER};
    size_t len = 0;

    skip(s);
    while ((s->at[len] >= 'a' && s->at[len] <= 'z') || (s->at[len] >= 'A' && s->at[len] <= 'Z'))
        len++;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strlen(names[i]) == len && !strncmp(s->at, names[i], len)) {
            s->at += len;
            return (int)roles[i];
        }
    }
    s->wrong = true;
    return -1;
}

static bool is_end(const struct scan *s)
{
    return !*s->at || *s->at == ';' || *s->at == '\n';
}

struct outcome {
    bool wrong, somebody, all, has_app; /* the AppName is one of his groups */
    enum admin_role role;
};

static const char *groups[GROUPS_MAX];
static size_t group_count;

/* One rule. *hit: somebody of these groups is meant. */
static void scan_rule(struct scan *s, bool any_case, struct outcome *out)
{
    struct name n;
    bool hit = false, app_hit = false, has_apps = false;
    size_t names = 0;

    do {
        scan_name(s, &n, true);
        s->wrong = s->wrong || ++names > MAPPING_NAMES_MAX;
        hit = hit || (n.len == 1 && n.letters[0] == ANY);
        for (size_t i = 0; i < group_count && !s->wrong; i++)
            hit = hit || fits(&n, groups[i], any_case);
    } while (!s->wrong && *s->at == ',' && s->at++);
    if (s->wrong || strncmp(s->at, "->", 2) != 0) {
        s->wrong = true;
        return;
    }
    s->at += 2;
    int role = scan_role(s);
    if (s->wrong)
        return;
    skip(s);
    if (!is_end(s)) {
        has_apps = true;
        s->wrong = strncmp(s->at, "in", 2) != 0 || (s->at[2] != ' ' && s->at[2] != '\t' && s->at[2] != '"');
        s->wrong = s->wrong || role == (int)ROLE_ADMIN;
        s->at += s->wrong ? 0 : 2;
        names = 0;
        for (bool more = !s->wrong; more; more = !s->wrong && *s->at == ',' && s->at++) {
            scan_name(s, &n, false);
            s->wrong = s->wrong || ++names > MAPPING_NAMES_MAX;
            app_hit = app_hit || (!s->wrong && group_count && fits(&n, groups[0], false));
        }
        s->wrong = s->wrong || !is_end(s);
    }
    s->wrong = s->wrong || (role == (int)ROLE_USER && !has_apps);
    if (s->wrong || !hit || (out->somebody && out->role < (enum admin_role)role))
        return;
    if (!out->somebody || (enum admin_role)role < out->role)
        out->all = out->has_app = false;
    out->somebody = true;
    out->role = (enum admin_role)role;
    out->all = out->all || !has_apps;
    out->has_app = out->has_app || app_hit;
}

static struct outcome scan_all(const char *text, bool any_case)
{
    struct scan s = {.at = text, .wrong = !utf8_is_valid(text, strlen(text))};
    struct outcome out = {0};
    size_t rules = 0;

    while (!s.wrong) {
        while (is_blank(*s.at) || *s.at == '\n' || *s.at == ';')
            s.at++;
        if (!*s.at)
            break;
        s.wrong = ++rules > MAPPING_RULES_MAX;
        if (!s.wrong)
            scan_rule(&s, any_case, &out);
    }
    out.wrong = s.wrong;
    return out;
}

/* ---- who may log in by a local password -------------------------------------------------------------------------- */

static bool is_listed(const char *setting, const char *name)
{
    const char *word = setting + strspn(setting, " \t");

    if (!*word || !strcasecmp(word, "all") || !strcasecmp(word, "none"))
        return strcasecmp(word, "none") != 0;
    while (*setting) {
        size_t len = strcspn(setting, ","), from = 0, to = len;
        while (from < to && strchr(" \t", setting[from]))
            from++;
        while (to > from && strchr(" \t", setting[to - 1]))
            to--;
        if (to > from && to - from == strlen(name) && !strncasecmp(setting + from, name, to - from))
            return true;
        setting += len + (setting[len] == ',');
    }
    return false;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void apply(const struct mapping *m, bool any_case, const struct outcome *expected)
{
    struct mapped got = {0};
    struct refusal r = {0};
    bool has_app = false;

    if (mapping_apply(m, groups, group_count, any_case, &got, &r)) {
        must(r.kind == REFUSED_RIGHT && r.text.text[0], "a refusal with a reason");
        must(!expected->somebody, "who fits a rule comes in");
        return;
    }
    must(expected->somebody, "nobody comes in whom no rule lets in");
    must(got.role == expected->role, "the role of the highest rule");
    must(got.all_groups == expected->all, "all groups where a rule says so");
    must(got.all_groups || got.app_count, "some groups");
    for (size_t i = 0; i < got.app_count; i++)
        has_app = has_app || (group_count && mapping_fits(got.apps[i], groups[0], false));
    must(got.all_groups || has_app == expected->has_app, "the groups of the rules that fit, and no others");
    free(got.apps);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mapping *m = NULL;
    struct errctx ec = {{0}};
    struct buf all = {0};

    if (size < 1 || size > 4000)
        return 0;
    buf_append(&all, (const char *)data + 1, size - 1);
    buf_putc(&all, '\0');
    const char *text = all.data, *end = all.data + all.len;
    group_count = 0;
    for (const char *at = text + strlen(text) + 1; at < end && group_count < GROUPS_MAX; at += strlen(at) + 1)
        groups[group_count++] = at;
    bool any_case = data[0] & 1;
    struct outcome expected = scan_all(text, any_case);
    if (mapping_parse(text, &m, &ec)) {
        must(ec.text[0], "a refusal with a reason");
        must(expected.wrong, "rules that can be read are taken");
    } else {
        must(!expected.wrong, "rules that cannot be read are refused");
        apply(m, any_case, &expected);
        mapping_destroy(m);
    }
    if (group_count > 1 && *groups[0] && !strpbrk(groups[0], " \t,"))
        must(local_may_login(groups[1], groups[0]) == is_listed(groups[1], groups[0]), "who is named logs in, only");
    buf_fini(&all);
    return 0;
}
