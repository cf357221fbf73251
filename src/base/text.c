/* SPDX-License-Identifier: MIT */
#include "shardwheel/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

bool parse_int(const char *text, int64_t min, int64_t max, int64_t *out)
{
    char *end;
    long long value;

    if (!text || (!isdigit((unsigned char)text[0]) && text[0] != '-' && text[0] != '+'))
        return false;
    errno = 0;
    value = strtoll(text, &end, 10);
    if (errno != 0 || *end != '\0' || end == text || value < min || value > max)
        return false;
    *out = value;
    return true;
}

bool str_equal(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool str_equal_const_time(const char *a, const char *b)
{
    size_t len_a = strlen(a), len_b = strlen(b);
    unsigned char diff = len_a != len_b;

    /* Runs over all of what was presented, whatever the secret is. */
    for (size_t i = 0; i < len_b; i++)
        diff |= (unsigned char)(a[len_a ? i % len_a : 0] ^ b[i]);
    return diff == 0;
}

bool str_is_blank(const char *s)
{
    if (!s)
        return true;
    while (isspace((unsigned char)*s))
        s++;
    return *s == '\0';
}

char *str_copy(const char *s)
{
    return s ? strdup(s) : NULL;
}

size_t str_size(const char *s)
{
    return s ? strlen(s) + 1 : 0;
}

char *str_pack(char **at, const char *s)
{
    size_t size = str_size(s);
    char *copy = s ? memcpy(*at, s, size) : NULL;

    *at += size;
    return copy;
}

/* getrandom gives up to 256 bytes whole, or none. */
enum err random_bytes(void *out, size_t len, struct errctx *ec)
{
    return getrandom(out, len, 0) == (ssize_t)len ? ERR_OK : err_set(ec, ERR_IO, "random bytes: %s", strerror(errno));
}

enum err random_hex(char *out, size_t bytes, struct errctx *ec)
{
    for (size_t i = 0; i < bytes; i++) {
        unsigned char byte;
        enum err e = random_bytes(&byte, 1, ec);

        if (e)
            return e;
        hex_write(&byte, 1, out + 2 * i);
    }
    return ERR_OK;
}

void text_put_wrapped(struct buf *out, const char *prefix, const char *text, size_t width)
{
    size_t room = width - strlen(prefix);

    while (*text) {
        size_t len = strlen(text);

        if (len > room) {
            len = room;
            while (len && text[len] != ' ')
                len--;
            if (!len) /* one word longer than a line */
                len = strcspn(text, " ");
        }
        buf_puts(out, prefix);
        buf_append(out, text, len);
        buf_putc(out, '\n');
        text += len;
        text += *text == ' ';
    }
}

bool text_has_control(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            return true;
    return false;
}

struct text_part text_trim_part(struct text_part part)
{
    while (part.len && (unsigned char)*part.at <= ' ') {
        part.at++;
        part.len--;
    }
    while (part.len && (unsigned char)part.at[part.len - 1] <= ' ')
        part.len--;
    return part;
}

struct text_part text_trim_blanks(struct text_part part)
{
    while (part.len && (*part.at == ' ' || *part.at == '\t')) {
        part.at++;
        part.len--;
    }
    while (part.len && (part.at[part.len - 1] == ' ' || part.at[part.len - 1] == '\t'))
        part.len--;
    return part;
}

struct text_part text_trim(const char *text)
{
    return text_trim_part((struct text_part){text, strlen(text)});
}

bool text_next_item(const char **list, struct text_part *item)
{
    if (!**list)
        return false;
    *item = (struct text_part){*list, strcspn(*list, ",")};
    *list += item->len;
    *list += **list == ',';
    return true;
}

char *text_cut_item(char **list)
{
    for (char *item; (item = strsep(list, ","));) {
        struct text_part part = text_trim(item);

        if (!part.len)
            continue;
        item += part.at - item;
        item[part.len] = '\0';
        return item;
    }
    return NULL;
}

size_t text_count_items(const char *list)
{
    size_t count = 1;

    for (; *list; list++)
        count += *list == ',';
    return count;
}

bool text_list_has_part(const char *list, struct text_part word)
{
    struct text_part item;

    while (list && text_next_item(&list, &item))
        if (item.len == word.len && memcmp(item.at, word.at, word.len) == 0)
            return true;
    return false;
}

bool text_list_has(const char *list, const char *word)
{
    return text_list_has_part(list, (struct text_part){word, strlen(word)});
}

bool mail_is_address(const char *text)
{
    static const char plain[] = ASCII_LETTERS ASCII_DIGITS ".!#$%&'*+/=?^_`{|}~-";
    size_t local = strspn(text, plain);
    const char *domain = text + local + 1;

    if (local == 0 || text[local] != '@' || strlen(text) > MAIL_ADDRESS_MAX)
        return false;
    size_t len = strspn(domain, ASCII_LETTERS ASCII_DIGITS ".-");
    return len > 0 && !domain[len] && domain[0] != '.' && domain[0] != '-' && domain[len - 1] != '.';
}
