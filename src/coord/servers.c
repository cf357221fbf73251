/* SPDX-License-Identifier: MIT */
#include "coord/zk.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_PORT "2181"

/* One entry, without blanks around: "host", "host:port" or "[v6 address]:port". */
static enum err put_server(const char *entry, const char *list, struct buf *out, struct errctx *ec)
{
    const char *port;
    int64_t number;

    if (!*entry)
        return err_set(ec, ERR_INPUT, "list of ZooKeeper servers \"%s\": an entry is empty", list);
    for (const char *p = entry; *p; p++) {
        if (!isgraph((unsigned char)*p))
            return err_set(ec, ERR_INPUT, "list of ZooKeeper servers \"%s\": \"%s\" is not host:port", list, entry);
    }
    port = strrchr(entry, ':');
    if (entry[0] == '[') {
        const char *end = strchr(entry, ']');

        if (!end || end == entry + 1 || (end[1] && end[1] != ':'))
            return err_set(ec, ERR_INPUT, "list of ZooKeeper servers \"%s\": \"%s\" is not [address]:port", list,
                           entry);
        port = end[1] ? end + 1 : NULL;
    } else if (port && port != strchr(entry, ':')) {
        return err_set(ec, ERR_INPUT,
                       "list of ZooKeeper servers \"%s\": write the IPv6 address of \"%s\" as [address]:port", list,
                       entry);
    }
    if (port == entry)
        return err_set(ec, ERR_INPUT, "list of ZooKeeper servers \"%s\": \"%s\" has no host", list, entry);
    if (port && !parse_int(port + 1, 1, 65535, &number))
        return err_set(ec, ERR_INPUT, "list of ZooKeeper servers \"%s\": \"%s\" has no port of 1 to 65535", list,
                       entry);
    if (out->len)
        buf_putc(out, ',');
    buf_puts(out, entry);
    if (!port)
        buf_puts(out, ":" DEFAULT_PORT);
    return ERR_OK;
}

static char *trim_blanks(char *s)
{
    char *end;

    while (isspace((unsigned char)*s))
        s++;
    end = s + strlen(s);
    while (end > s && isspace((unsigned char)end[-1]))
        *--end = '\0';
    return s;
}

enum err zk_parse_servers(const char *text, struct buf *out, const char **chroot, struct errctx *ec)
{
    const char *path;
    struct buf list = {0};
    char *copy = NULL;
    char *rest;
    char *entry;
    enum err e = ERR_OK;

    if (str_is_blank(text))
        return err_set(ec, ERR_INPUT, "the list of ZooKeeper servers is empty");
    path = text + strcspn(text, "/");
    copy = str_copy(text);
    if (!copy)
        return err_set(ec, ERR_NOMEM, "out of memory");
    copy[path - text] = '\0';
    rest = copy;
    while (!e && (entry = strsep(&rest, ",")))
        e = put_server(trim_blanks(entry), text, &list, ec);
    if (!e && buf_failed(&list))
        e = err_set(ec, ERR_NOMEM, "out of memory");
    if (!e) {
        buf_fini(out);
        *out = list;
        *chroot = path[0] && path[1] ? path : "";
        list = (struct buf){0};
    }
    buf_fini(&list);
    free(copy);
    return e;
}
