/* SPDX-License-Identifier: MIT */
/* kinds: text to value, for each kind of key, and what each kind expects. Text is normalised and checked here. */
#include "config/key.h"
#include "shardwheel/network.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Segments of plain characters, each begun by one slash; no segment is "." or "..". */
static bool is_path(const char *text)
{
    const char *p = text;

    while (*p) {
        size_t len;

        if (*p++ != '/')
            return false;
        len = strspn(p, ASCII_LETTERS ASCII_DIGITS "._~-");
        if (!len || (p[0] == '.' && (len == 1 || (len == 2 && p[1] == '.'))))
            return false;
        p += len;
    }
    return p != text;
}

static bool is_ip_address(const char *text, int family)
{
    unsigned char address[16];

    return inet_pton(family, text, address) == 1;
}

/* IPv6 may stand in brackets, which go. */
static bool strip_address(char *text)
{
    size_t len = strlen(text);

    if (len > 2 && text[0] == '[' && text[len - 1] == ']') {
        memmove(text, text + 1, len - 2);
        text[len - 2] = 0;
        return is_ip_address(text, AF_INET6);
    }
    return !len || is_ip_address(text, AF_INET) || is_ip_address(text, AF_INET6);
}

/* One host:port of ZooKeeper, normalised into `out`: blanks around it go, a missing port becomes 2181. */
static bool append_server(char *item, struct buf *out)
{
    char *end;
    char *port;
    int64_t number = 2181;

    item += strspn(item, " \t");
    for (end = item + strlen(item); end > item && (end[-1] == ' ' || end[-1] == '\t'); end--)
        end[-1] = 0;
    if (*item == '[') {
        char *close = strchr(item, ']');
        bool valid;

        if (!close || (close[1] && close[1] != ':'))
            return false;
        *close = 0;
        valid = is_ip_address(item + 1, AF_INET6);
        *close = ']';
        if (!valid)
            return false;
        port = close[1] ? close + 1 : NULL;
    } else {
        port = strchr(item, ':');
    }
    if (port) {
        *port++ = 0;
        if (!parse_int(port, 1, 65535, &number))
            return false;
    }
    if (!*item || (*item != '[' && item[strspn(item, ASCII_LETTERS ASCII_DIGITS "._-")]))
        return false;
    if (out->len)
        buf_putc(out, ',');
    buf_printf(out, "%s:%" PRId64, item, number);
    return true;
}

/* Replaces *text by its normal form. */
static enum err parse_servers(char **text, struct errctx *ec)
{
    struct buf out = {0};
    char *path = strchr(*text, '/');
    char *chroot = NULL;
    char *item;
    char *next = *text;
    enum err e = ERR_INPUT;

    if (path) {
        if (path[1] && !is_path(path))
            return err_set(ec, ERR_INPUT, "the path at the end is not valid");
        chroot = path[1] ? str_copy(path) : NULL;
        if (path[1] && !chroot)
            return no_memory(ec);
        *path = 0;
    }
    while ((item = strsep(&next, ","))) {
        struct quoted shown = quote(item); /* append_server cuts it to pieces */

        if (!append_server(item, &out)) {
            err_set(ec, ERR_INPUT, "%s is not host:port", shown.s);
            goto out;
        }
    }
    if (chroot)
        buf_puts(&out, chroot);
    if (buf_failed(&out)) {
        e = no_memory(ec);
        goto out;
    }
    free(*text);
    *text = buf_take(&out);
    e = ERR_OK;
out:
    free(chroot);
    buf_fini(&out);
    return e;
}

static bool is_name(const char *text)
{
    return !text[strspn(text, ASCII_LETTERS ASCII_DIGITS "._:-")];
}

static bool is_driver(const char *text)
{
    return !*text || !strncmp(text, "com.mysql.", 10) || !strncmp(text, "org.mariadb.", 12);
}

/* Names between commas, each once; blanks around them go. */
static bool is_roles(char *text)
{
    static const char *const names[] = {"admin", "user", "runner", "reader"};
    unsigned seen = 0;
    char *out = text;

    for (const char *p = text; *p; p++)
        if (*p != ' ' && *p != '\t')
            *out++ = *p;
    *out = 0;
    if (!strcmp(text, "none") || !strcmp(text, "all"))
        return true;
    for (const char *p = text;; p++) {
        size_t len = strcspn(p, ","), i = 0;

        while (i < ARRAY_LEN(names) && (strlen(names[i]) != len || strncmp(p, names[i], len) != 0))
            i++;
        if (i == ARRAY_LEN(names) || seen & 1u << i)
            return false;
        seen |= 1u << i;
        p += len;
        if (!*p)
            return true;
    }
}

static enum err parse_text(const struct key_row *row, char **text, struct errctx *ec)
{
    struct jdbc_url *url = NULL;
    struct networks *networks = NULL;
    enum log_level levels[LOG_AREA_COUNT];
    enum err e = ERR_OK;
    bool valid = true;

    if (row->kind == KIND_PATH) {
        if (!strcmp(*text, "/"))
            **text = 0;
        valid = !**text || is_path(*text);
    } else if (row->kind == KIND_NAME) {
        valid = is_name(*text);
    } else if (row->kind == KIND_ADDRESS) {
        valid = strip_address(*text);
    } else if (row->kind == KIND_ROLES) {
        valid = is_roles(*text);
    } else if (row->kind == KIND_DRIVER) {
        valid = is_driver(*text);
    } else if (row->kind == KIND_NETWORKS) {
        e = networks_parse(*text, &networks, ec);
        networks_destroy(networks);
    } else if (row->kind == KIND_LEVELS) {
        e = log_parse_levels(*text, LOG_INFO, levels, ec);
    } else if (row->kind == KIND_SERVERS && **text) {
        e = parse_servers(text, ec);
    } else if (row->kind == KIND_JDBC && **text) {
        e = jdbc_url_parse(*text, &url, ec);
        jdbc_url_destroy(url);
    }
    if (e)
        return e;
    if (valid && ((int64_t)strlen(*text) < row->min || (int64_t)strlen(*text) > row->max))
        return err_set(ec, ERR_INPUT, **text ? "it is too long or too short" : "it must not be empty");
    return valid ? ERR_OK : ERR_INPUT;
}

enum err key_parse(const struct key_row *row, const char *text, struct key_value *out, struct errctx *ec)
{
    struct key_value value = {0};
    char *copy = str_copy(text);
    enum err e;

    if (!copy)
        return no_memory(ec);
    /* Blanks at the end are part of a password or user name, as in Java; they never are of anything else. */
    if (row->kind != KIND_TEXT) {
        char *end = copy + strlen(copy);
        size_t lead = strspn(copy, " \t\r\n\f");

        while (end > copy + lead && strchr(" \t\r\n\f", end[-1]))
            *--end = 0;
        memmove(copy, copy + lead, strlen(copy + lead) + 1);
    }
    if (key_held(row->kind) != HELD_TEXT) {
        e = key_parse_number(row, copy, &value.number) ? ERR_OK : ERR_INPUT;
        free(copy);
        if (e)
            return e;
        *out = value;
        return ERR_OK;
    }
    e = parse_text(row, &copy, ec);
    if (e) {
        free(copy);
        return e;
    }
    value.text = copy;
    *out = value;
    return ERR_OK;
}

bool key_is_in_bounds(const struct key_row *row, int64_t number)
{
    return key_held(row->kind) == HELD_TEXT || (number >= row->min && number <= row->max);
}

static void write_bounds(const struct key_row *row, struct buf *out)
{
    buf_puts(out, " from ");
    key_write_number(row, row->min, out);
    buf_puts(out, " to ");
    key_write_number(row, row->max, out);
}

void key_write_expected(const struct key_row *row, struct buf *out)
{
    static const char *const always[] = {
        [KIND_ADDRESS] = "an IP address such as 127.0.0.1 or ::1",
        [KIND_NETWORKS] = "IP addresses and networks such as 10.0.0.0/8,192.168.0.7,fd00::/8",
        [KIND_ROLES] = "none, all, or roles such as admin,user: admin, user, runner, reader",
        [KIND_LEVELS] = "AREA=LEVEL,...",
        [KIND_SERVERS] = "host:port,host:port,...",
        [KIND_JDBC] = "jdbc:mysql://HOST:PORT/DATABASE?PARAMETERS, or the same with jdbc:mariadb",
        [KIND_DRIVER] =
            "a driver of MySQL or MariaDB, such as com.mysql.cj.jdbc.Driver; no other database is supported",
    };

    if (row->kind == KIND_INT) {
        buf_puts(out, "a whole number");
        if (*row->unit)
            buf_printf(out, " of %s", row->unit);
        write_bounds(row, out);
    } else if (row->kind == KIND_DURATION) {
        buf_puts(out, "a duration");
        write_bounds(row, out);
        buf_printf(out, ", such as 500ms, 4s, 10m, 2h or PT10M (a plain number counts %s)",
                   strcmp(row->unit, "s") ? "milliseconds" : "seconds");
    } else if (row->kind == KIND_SIZE) {
        buf_puts(out, "a size");
        write_bounds(row, out);
        buf_puts(out, ", such as 512k or 64m (a plain number counts bytes)");
    } else if (key_held(row->kind) != HELD_TEXT) {
        key_write_words(row, out);
    } else if (row->kind == KIND_TEXT) {
        buf_printf(out, "at most %" PRId64 " characters", row->max);
    } else if (row->kind == KIND_PATH) {
        buf_printf(out,
                   "%sa path such as /xxl-job-admin that begins with / and does not end with it, at most %" PRId64
                   " characters",
                   row->min ? "" : "nothing, or ", row->max);
    } else if (row->kind == KIND_NAME) {
        buf_printf(out, "at most %" PRId64 " letters, digits, dots, dashes, underscores and colons", row->max);
    } else {
        buf_puts(out, always[row->kind]);
    }
}
