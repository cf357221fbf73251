/* SPDX-License-Identifier: MIT */
#include "alarm/channels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alarm/mail_text.h"
#include "shardwheel/alarm.h"
#include "shardwheel/store/channel.h"
#include "shardwheel/text.h"

#define BLANKS " \t\r\n"

const struct channel_limits channel_limits[CHANNEL_KIND_COUNT] = {
#define CHANNEL_LIMITS(id, name, text_max, gap_ms, signs) [CHANNEL_##id] = {name, text_max, gap_ms, signs},
    CHANNEL_KINDS(CHANNEL_LIMITS)
#undef CHANNEL_LIMITS
};

const char *const *alarm_webhook_kinds(void)
{
    static const char *const names[] = {
#define CHANNEL_NAME(id, name, ...) [CHANNEL_##id] = name,
        CHANNEL_KINDS(CHANNEL_NAME)
#undef CHANNEL_NAME
            [CHANNEL_KIND_COUNT] = NULL};

    return names + CHANNEL_MAIL + 1;
}

static enum err no_memory(struct errctx *ec)
{
    return err_set(ec, ERR_NOMEM, "out of memory for the channels");
}

static void channel_fini(struct channel *c)
{
    for (size_t i = 0; i < c->group_count; i++)
        free(c->groups[i]);
    free(c->groups);
    for (size_t i = 0; i < c->tag_count; i++)
        free(c->tags[i]);
    free(c->tags);
    free(c->quiet_text);
    quiet_fini(&c->quiet);
    free(c->name);
    free(c->target);
    free(c->secret);
}

void channels_fini(struct channel_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        channel_fini(&list->items[i]);
    free(list->items);
    *list = (struct channel_list){0};
}

bool channel_serves(const struct channel *channel, const char *app)
{
    return channel->group_count == 0 ||
           (app && list_has_text((const char *const *)channel->groups, channel->group_count, app));
}

bool channel_serves_tags(const struct channel *channel, const char *tags)
{
    for (size_t i = 0; i < channel->tag_count; i++)
        if (text_list_has(tags, channel->tags[i]))
            return true;
    return channel->tag_count == 0;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

/* Names of kinds, from `first` on, for a message. */
struct kind_names {
    char text[160];
};

static struct kind_names name_kinds(int first, bool signing_alone, const char *between, const char *before_last)
{
    struct kind_names names = {0};
    int last = CHANNEL_KIND_COUNT - 1;
    size_t len = 0;

    while (signing_alone && !channel_limits[last].signs)
        last--;
    for (int k = first; k <= last && len < sizeof names.text; k++)
        if (!signing_alone || channel_limits[k].signs)
            len += (size_t)snprintf(names.text + len, sizeof names.text - len, "%s%s",
                                    len == 0    ? ""
                                    : k == last ? before_last
                                                : between,
                                    channel_limits[k].name);
    return names;
}

static enum err refuse_secret(struct errctx *ec, const char *where)
{
    return err_set(ec, ERR_INPUT, "%ssecret is only for %s: other kinds do not sign messages", where,
                   name_kinds(0, /*signing_alone=*/true, ", ", " and ").text);
}

/* "the 3rd word" would be nicer, and is not worth a table. */
static enum err bad_word(struct errctx *ec, size_t number, const char *what)
{
    return err_set(ec, ERR_INPUT, "word %zu: %s", number, what);
}

static bool is_url(const char *text)
{
    return strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0;
}

static enum err check_target(enum channel_kind kind, const char *target, size_t number, struct errctx *ec)
{
    struct mail_list list = {0};
    enum err e;

    if (kind != CHANNEL_MAIL)
        return is_url(target) ? ERR_OK
                              : bad_word(ec, number, "a URL that begins with https:// or http:// must follow the '='");
    e = mail_list_parse(target, &list, ec);
    if (!e && (list.refused > 0 || list.count == 0))
        e = bad_word(ec, number, "mail addresses, separated by commas, must follow the '='");
    mail_list_fini(&list);
    return e;
}

static enum err begin_channel(struct channel_list *list, enum channel_kind kind, const char *target, size_t number,
                              struct errctx *ec)
{
    struct channel *c;
    char name[40];
    int same = 1;
    enum err e = check_target(kind, target, number, ec);

    if (e)
        return e;
    if (list->count == CHANNELS_MAX)
        return err_set(ec, ERR_INPUT, "word %zu: this is channel %d; at most %d are allowed", number, CHANNELS_MAX + 1,
                       CHANNELS_MAX);
    for (size_t i = 0; i < list->count; i++)
        same += list->items[i].kind == kind;
    c = &list->items[list->count++];
    snprintf(name, sizeof name, same > 1 ? "%s-%d" : "%s", channel_limits[kind].name, same);
    *c = (struct channel){.kind = kind,
                          .name = str_copy(name),
                          .target = str_copy(target),
                          .secret = str_copy(""),
                          .quiet_text = str_copy("")};
    return c->name && c->target && c->secret && c->quiet_text ? ERR_OK : no_memory(ec);
}

/* Texts between commas. */
static enum err take_list(char ***list, size_t *count, const char *value, struct errctx *ec)
{
    struct text_part item;

    *list = calloc(text_count_items(value), sizeof(char *));
    if (!*list)
        return no_memory(ec);
    while (text_next_item(&value, &item)) {
        if (item.len == 0)
            continue;
        (*list)[*count] = strndup(item.at, item.len);
        if (!(*list)[*count])
            return no_memory(ec);
        ++*count;
    }
    return ERR_OK;
}

static enum err replace(char **field, const char *value, struct errctx *ec)
{
    char *copy = str_copy(value);

    if (!copy)
        return no_memory(ec);
    free(*field);
    *field = copy;
    return ERR_OK;
}

static enum err take_quiet(struct channel *c, const char *value, struct errctx *ec)
{
    struct quiet quiet;
    enum err e = quiet_parse(value, &quiet, ec);

    if (e)
        return e;
    quiet_fini(&c->quiet);
    c->quiet = quiet;
    return replace(&c->quiet_text, value, ec);
}

bool alarm_is_name(const char *value)
{
    size_t len = strspn(value, ASCII_LETTERS ASCII_DIGITS "._-");

    return len > 0 && len <= 40 && !value[len];
}

static enum err add_to_channel(struct channel *c, const char *key, const char *value, size_t number, struct errctx *ec)
{
    char word[40];

    snprintf(word, sizeof word, "word %zu: ", number);
    if (strcmp(key, "secret") == 0)
        return channel_limits[c->kind].signs ? replace(&c->secret, value, ec) : refuse_secret(ec, word);
    if (strcmp(key, "groups") == 0 && c->group_count > 0)
        return bad_word(ec, number, "this channel has groups already");
    if (strcmp(key, "groups") == 0)
        return take_list(&c->groups, &c->group_count, value, ec);
    if (strcmp(key, "tags") == 0 && c->tag_count > 0)
        return bad_word(ec, number, "this channel has tags already");
    if (strcmp(key, "tags") == 0)
        return take_list(&c->tags, &c->tag_count, value, ec);
    if (strcmp(key, "quiet") == 0) {
        enum err e = take_quiet(c, value, ec);
        return e == ERR_INPUT ? err_wrap(ec, e, "word %zu", number) : e;
    }
    return alarm_is_name(value) ? replace(&c->name, value, ec)
                                : bad_word(ec, number, "a name has at most 40 letters, digits, '.', '_' and '-'");
}

static enum err take_word(struct channel_list *list, char *word, size_t number, struct errctx *ec)
{
    char *equals = strchr(word, '=');
    const char *value = equals ? equals + 1 : "";

    if (equals)
        *equals = '\0';
    if (!*value)
        return bad_word(ec, number,
                        "expected KIND=TARGET, secret=, groups=, tags=, quiet= or name=, with a value after the '='");
    for (int k = 0; k < CHANNEL_KIND_COUNT; k++)
        if (strcmp(word, channel_limits[k].name) == 0)
            return begin_channel(list, (enum channel_kind)k, value, number, ec);
    if (strcmp(word, "secret") != 0 && strcmp(word, "groups") != 0 && strcmp(word, "tags") != 0 &&
        strcmp(word, "quiet") != 0 && strcmp(word, "name") != 0)
        return err_set(ec, ERR_INPUT, "word %zu: expected %s=, secret=, groups=, tags=, quiet= or name=", number,
                       name_kinds(0, /*signing_alone=*/false, "=, ", "=, ").text);
    if (list->count == 0)
        return bad_word(ec, number, "there is no channel before it");
    return add_to_channel(&list->items[list->count - 1], word, value, number, ec);
}

enum err channels_parse(const char *text, struct channel_list *out, struct errctx *ec)
{
    struct channel_list list = {.items = calloc(CHANNELS_MAX, sizeof *list.items)};
    enum err e = list.items ? ERR_OK : no_memory(ec);
    size_t number = 0;

    for (const char *p = text + strspn(text, BLANKS); *p && !e;) {
        size_t len = strcspn(p, BLANKS);
        char *word = strndup(p, len);
        e = word ? take_word(&list, word, ++number, ec) : no_memory(ec);
        free(word);
        p += len;
        p += strspn(p, BLANKS);
    }
    for (size_t i = 0; i < list.count && !e; i++)
        for (size_t k = 0; k < i && !e; k++)
            if (strcmp(list.items[i].name, list.items[k].name) == 0)
                e = err_set(ec, ERR_INPUT, "two channels are named %s", list.items[i].name);
    if (e) {
        channels_fini(&list);
        return e;
    }
    *out = list;
    return ERR_OK;
}

/* ---- of the console ---------------------------------------------------------------------------------------------- */

/* A word of a setting: neither blanks nor control characters. */
static bool is_word(const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        if (*p <= ' ' || *p == 0x7f)
            return false;
    return true;
}

static enum err at_fault(const char **field, const char *name, struct errctx *ec, const char *what)
{
    *field = name;
    return err_set(ec, ERR_INPUT, "%s", what);
}

static enum err check_row(const struct channel_row *row, enum channel_kind *kind, const char **field, struct errctx *ec)
{
    int k = 0;

    while (k < CHANNEL_KIND_COUNT && strcmp(row->kind, channel_limits[k].name) != 0)
        k++;
    *kind = (enum channel_kind)k;
    if (k == CHANNEL_KIND_COUNT || k == CHANNEL_MAIL) {
        *field = "kind";
        return err_set(ec, ERR_INPUT, "kind must be %s",
                       name_kinds(CHANNEL_MAIL + 1, /*signing_alone=*/false, ", ", " or ").text);
    }
    if (!alarm_is_name(row->name))
        return at_fault(field, "name", ec, "a name has at most 40 letters, digits, '.', '_' and '-'");
    if (!is_url(row->target) || !is_word(row->target))
        return at_fault(field, "url", ec, "url must begin with https:// or http:// and have no spaces");
    if (row->secret[0] && !channel_limits[*kind].signs) {
        *field = "secret";
        return refuse_secret(ec, "");
    }
    if (!is_word(row->secret))
        return at_fault(field, "secret", ec, "secret must not have spaces");
    if (!is_word(row->app_names))
        return at_fault(field, "groups", ec, "app names must not have spaces");
    return ERR_OK;
}

enum err channels_add(struct channel_list *list, const struct channel_row *row, const char **field, struct errctx *ec)
{
    enum channel_kind kind;
    struct channel c;
    enum err e = check_row(row, &kind, field, ec);

    for (size_t i = 0; i < list->count && !e; i++) {
        if (strcmp(list->items[i].name, row->name) == 0) {
            *field = "name";
            e = err_set(ec, ERR_STATE, "another channel has the name %s", row->name);
        }
    }
    if (!e && list->count == CHANNELS_MAX)
        e = err_set(ec, ERR_STATE, "there are %d channels, which is the maximum", CHANNELS_MAX);
    if (e)
        return e;
    c = (struct channel){.kind = kind,
                         .name = str_copy(row->name),
                         .target = str_copy(row->target),
                         .secret = str_copy(row->secret),
                         .quiet_text = str_copy(""),
                         .guarded = true};
    e = c.name && c.target && c.secret && c.quiet_text ? take_list(&c.groups, &c.group_count, row->app_names, ec)
                                                       : no_memory(ec);
    if (!e)
        e = take_list(&c.tags, &c.tag_count, row->tags, ec);
    if (!e)
        e = take_quiet(&c, row->quiet, ec);
    *field = e == ERR_INPUT ? "quiet" : *field;
    if (e) {
        channel_fini(&c);
        return e;
    }
    list->items[list->count++] = c;
    return ERR_OK;
}
