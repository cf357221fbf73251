/* SPDX-License-Identifier: MIT */
#include "config/settings.h"

#include "config/quote.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 16
#define MAX_RESOLVED (64 * 1024)
#define MAX_PLACEHOLDERS 1000 /* looked up for one value: values that name others several times over grow fast */

void settings_fini(struct settings *s)
{
    for (size_t i = 0; i < s->count; i++) {
        free(s->items[i].name);
        free(s->items[i].value);
        free(s->items[i].source);
    }
    free(s->items);
    *s = (struct settings){0};
}

static bool grow(struct settings *s, size_t more)
{
    struct setting *items = realloc(s->items, (s->count + more) * sizeof *items);

    if (!items)
        return false;
    s->items = items;
    return true;
}

enum err settings_add(struct settings *s, enum setting_from from, const char *source, const char *name,
                      const char *value, struct errctx *ec)
{
    struct setting item = {.from = from};

    item.name = str_copy(name);
    item.value = str_copy(value);
    item.source = str_copy(source);
    if (!item.name || !item.value || !item.source || !grow(s, 1)) {
        free(item.name);
        free(item.value);
        free(item.source);
        return no_memory(ec);
    }
    s->items[s->count++] = item;
    return ERR_OK;
}

enum err settings_append(struct settings *s, struct settings *tail, struct errctx *ec)
{
    if (!tail->count)
        return ERR_OK;
    if (!grow(s, tail->count))
        return no_memory(ec);
    memcpy(s->items + s->count, tail->items, tail->count * sizeof *tail->items);
    s->count += tail->count;
    free(tail->items);
    *tail = (struct settings){0};
    return ERR_OK;
}

/* Of those from these places. */
static struct setting *find_from(const struct settings *s, const char *name, enum setting_from first,
                                 enum setting_from last)
{
    for (size_t i = s->count; i-- > 0;)
        if (s->items[i].from >= first && s->items[i].from <= last && name_is_equal(s->items[i].name, name))
            return &s->items[i];
    return NULL;
}

struct setting *settings_find(const struct settings *s, const char *name)
{
    return find_from(s, name, SETTING_FROM_FILE, SETTING_FROM_ARGUMENT);
}

/* ---- names ------------------------------------------------------------------------------------------------- */

static char lower(char c)
{
    return (char)tolower((unsigned char)c);
}

static const char *skip_dashes(const char *p)
{
    return p + strspn(p, "-_");
}

/* How a and b go on after what they have in common, dashes left aside. */
static void skip_common(const char **a, const char **b)
{
    for (;;) {
        *a = skip_dashes(*a);
        *b = skip_dashes(*b);
        if (!**a || lower(**a) != lower(**b))
            return;
        (*a)++;
        (*b)++;
    }
}

bool name_is_equal(const char *a, const char *b)
{
    skip_common(&a, &b);
    return !*a && !*b;
}

bool name_is_under(const char *name, const char *key)
{
    bool is_prefix = *key && key[strlen(key) - 1] == '.';

    skip_common(&name, &key);
    /* key[0] items of a list count as the key. */
    return !*key && (is_prefix || !*name || *name == '[');
}

bool name_is_variable(const char *variable, size_t len, const char *key)
{
    const char *end = variable + len;
    char before = 0;

    for (; *key; before = *key++) {
        char c = variable < end ? *variable : 0;
        bool is_joint = c == '_' || c == '-' || c == '.';

        if (*key == '-') {
            variable += c == '_' || c == '-';
            continue;
        }
        if (*key == '.' || *key == '_') {
            if (!is_joint)
                return false;
        } else {
            if (c == '_' && isupper((unsigned char)*key) && islower((unsigned char)before)) {
                variable++;
                c = variable < end ? *variable : 0;
            }
            if (lower(c) != lower(*key))
                return false;
        }
        variable++;
    }
    return before == '.' ? variable < end : variable == end;
}

/* Letters and digits in lower case; longer names are cut, which only makes them more alike. */
static size_t plain_name(const char *name, char *out, size_t size)
{
    size_t n = 0;

    for (; *name && n < size; name++)
        if (isalnum((unsigned char)*name))
            out[n++] = lower(*name);
    return n;
}

size_t name_distance(const char *a, const char *b)
{
    char x[64];
    char y[64];
    size_t x_len = plain_name(a, x, sizeof(x));
    size_t y_len = plain_name(b, y, sizeof(y));
    size_t row[65];

    for (size_t j = 0; j <= y_len; j++)
        row[j] = j;
    for (size_t i = 1; i <= x_len; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= y_len; j++) {
            size_t best = diagonal + (x[i - 1] != y[j - 1]);

            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[y_len];
}

/* ---- placeholders ------------------------------------------------------------------------------------------ */

struct resolver {
    const struct settings *settings;
    char **envp;
    struct errctx *ec;
    int count; /* placeholders so far */
};

static const char *find_variable(char **envp, const char *name)
{
    size_t len = strlen(name);

    for (char **v = envp; *v; v++)
        if (!strncmp(*v, name, len) && (*v)[len] == '=')
            return *v + len + 1;
    for (char **v = envp; *v; v++) {
        const char *equals = strchr(*v, '=');

        if (equals && name_is_variable(*v, (size_t)(equals - *v), name))
            return equals + 1;
    }
    return NULL;
}

/* *plain: there are no placeholders in it. */
static const char *look_up(const struct resolver *r, const char *name, bool *plain)
{
    struct setting *setting = find_from(r->settings, name, SETTING_FROM_ARGUMENT, SETTING_FROM_ARGUMENT);
    const char *variable;

    *plain = false;
    if (!setting) {
        variable = find_variable(r->envp, name);
        if (variable)
            return variable;
        setting = find_from(r->settings, name, SETTING_FROM_FILE, SETTING_FROM_TREE);
    }
    if (!setting)
        return NULL;
    setting->used = true;
    *plain = setting->from == SETTING_FROM_TREE;
    return setting->value;
}

/* With text behind "${": the matching brace, or NULL; *colon is the first colon outside of inner braces, or NULL.
 */
static const char *find_close(const char *text, const char *end, const char **colon)
{
    int depth = 0;

    *colon = NULL;
    for (const char *p = text; p < end; p++) {
        if (*p == '{')
            depth++;
        else if (*p == '}' && depth-- == 0)
            return p;
        else if (*p == ':' && depth == 0 && !*colon)
            *colon = p;
    }
    return NULL;
}

static enum err resolve_into(struct resolver *r, const char *text, const char *end, int depth, struct buf *out);

static enum err resolve_one(struct resolver *r, const char *text, const char *colon, const char *close, int depth,
                            struct buf *out)
{
    struct buf name = {0};
    const char *value;
    bool plain;
    enum err e;

    r->count++;
    e = resolve_into(r, text, colon ? colon : close, depth + 1, &name);
    if (e)
        goto out;
    buf_puts(&name, "");
    if (buf_failed(&name)) {
        e = err_set(r->ec, ERR_NOMEM, "out of memory");
        goto out;
    }
    value = look_up(r, name.data, &plain);
    if (value && plain)
        buf_puts(out, value);
    else if (value)
        e = resolve_into(r, value, value + strlen(value), depth + 1, out);
    else if (colon)
        e = resolve_into(r, colon + 1, close, depth + 1, out);
    else
        e = err_set(r->ec, ERR_INPUT, "placeholder ${%.80s} has neither a value nor a default", name.data);
out:
    buf_fini(&name);
    return e;
}

static enum err resolve_into(struct resolver *r, const char *text, const char *end, int depth, struct buf *out)
{
    if (depth > MAX_DEPTH || r->count > MAX_PLACEHOLDERS)
        return err_set(r->ec, ERR_INPUT,
                       "placeholders are too many or nested too deep, or refer to each other in a circle");
    while (text < end) {
        const char *open = memmem(text, (size_t)(end - text), "${", 2);
        const char *colon;
        const char *close = open ? find_close(open + 2, end, &colon) : NULL;
        enum err e;

        if (!close) { /* one that is never closed is plain text */
            buf_append(out, text, (size_t)(end - text));
            break;
        }
        buf_append(out, text, (size_t)(open - text));
        e = resolve_one(r, open + 2, colon, close, depth, out);
        if (e)
            return e;
        text = close + 1;
        if (out->len > MAX_RESOLVED)
            break;
    }
    if (out->len > MAX_RESOLVED)
        return err_set(r->ec, ERR_INPUT, "the value is longer than %d bytes", MAX_RESOLVED);
    return ERR_OK;
}

enum err settings_resolve(const struct settings *s, char **envp, const char *text, char **out, struct errctx *ec)
{
    struct resolver r = {.settings = s, .envp = envp, .ec = ec};
    struct buf value = {0};
    enum err e = resolve_into(&r, text, text + strlen(text), 0, &value);

    if (!e) {
        buf_puts(&value, "");
        *out = buf_take(&value);
        if (!*out)
            e = no_memory(ec);
    }
    buf_fini(&value);
    return e;
}
