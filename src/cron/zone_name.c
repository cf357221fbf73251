/* SPDX-License-Identifier: MIT */
/*
 * zone_name: creates zones from the names that people configure. The JDBC URL of a database says in which zone
 * its DATETIME columns are, in Java's names: they must mean here what they mean there.
 */
#include "cron/zone_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OFFSET_MAX_S (18 * 3600)

/* The short names of java.time.ZoneId and java.util.TimeZone. CST is Chicago there, also for people in China. */
static const struct {
    const char *alias, *name;
} aliases[] = {
    {"ACT", "Australia/Darwin"},
    {"AET", "Australia/Sydney"},
    {"AGT", "America/Argentina/Buenos_Aires"},
    {"ART", "Africa/Cairo"},
    {"AST", "America/Anchorage"},
    {"BET", "America/Sao_Paulo"},
    {"BST", "Asia/Dhaka"},
    {"CAT", "Africa/Harare"},
    {"CNT", "America/St_Johns"},
    {"CST", "America/Chicago"},
    {"CTT", "Asia/Shanghai"},
    {"EAT", "Africa/Addis_Ababa"},
    {"ECT", "Europe/Paris"},
    {"EST", "-05:00"},
    {"HST", "-10:00"},
    {"IET", "America/Indiana/Indianapolis"},
    {"IST", "Asia/Kolkata"},
    {"JST", "Asia/Tokyo"},
    {"MIT", "Pacific/Apia"},
    {"MST", "-07:00"},
    {"NET", "Asia/Yerevan"},
    {"NST", "Pacific/Auckland"},
    {"PLT", "Asia/Karachi"},
    {"PNT", "America/Phoenix"},
    {"PRC", "Asia/Shanghai"},
    {"PRT", "America/Puerto_Rico"},
    {"PST", "America/Los_Angeles"},
    {"SST", "Pacific/Guadalcanal"},
    {"VST", "Asia/Ho_Chi_Minh"},
};

/* Two digits, or at least `least` of them, below `limit`; -1: there are none such. */
static int read_part(const char **p, int least, int limit)
{
    int value = 0, digits = 0;

    for (; digits < 2 && **p >= '0' && **p <= '9'; ++*p, ++digits)
        value = value * 10 + (**p - '0');
    return digits < least || value >= limit ? -1 : value;
}

/* "Z", "UTC", "GMT", "UT", alone or before an offset; "+8", "+08", "+0800", "+8:00", "-03:30", "+05:30:15". */
static bool parse_fixed(const char *name, int32_t *offset_s)
{
    static const char *const prefixes[] = {"UTC", "GMT", "UT"};
    const char *p = name;
    int parts[3] = {0, 0, 0};
    int sign;

    for (size_t i = 0; p == name && i < ARRAY_LEN(prefixes); i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            p += strlen(prefixes[i]);
    if ((p != name && *p == '\0') || strcmp(name, "Z") == 0) {
        *offset_s = 0;
        return true;
    }
    if (*p != '+' && *p != '-')
        return false;
    sign = *p++ == '-' ? -1 : 1;
    for (int i = 0; i < 3 && *p != '\0'; i++) {
        if (i > 0 && *p == ':')
            p++;
        parts[i] = i == 0 ? read_part(&p, 1, 19) : read_part(&p, 2, 60);
        if (parts[i] < 0)
            return false;
    }
    *offset_s = sign * (parts[0] * 3600 + parts[1] * 60 + parts[2]);
    return *p == '\0' && p[-1] != '+' && p[-1] != '-' && abs(*offset_s) <= OFFSET_MAX_S;
}

/* Takes the table's steps, also when it fails. */
static enum err create_zone(const char *name, struct zone_table *table, struct zone **out, struct errctx *ec)
{
    struct zone *zone = calloc(1, sizeof *zone);

    if (zone == NULL) {
        free(table->steps);
        return err_set(ec, ERR_NOMEM, "no memory for time zone \"%s\"", name);
    }
    memcpy(zone->name, name, strnlen(name, sizeof(zone->name) - 1));
    zone->table = *table;
    *out = zone;
    return ERR_OK;
}

static enum err create_fixed(const char *name, int32_t offset_s, struct zone **out, struct errctx *ec)
{
    struct zone_table table = {.first_offset_s = offset_s, .cycle_end_s = INT64_MAX};

    return create_zone(name, &table, out, ec);
}

void zone_destroy(struct zone *zone)
{
    if (zone == NULL)
        return;
    free(zone->table.steps);
    free(zone);
}

const char *zone_get_name(const struct zone *zone)
{
    return zone->name;
}

/* The library remembers names that it could not load, so nothing but a zone file may reach it. */
static enum err check_file(const char *name, const char *path, struct errctx *ec)
{
    char magic[4];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int failure = errno;
    ssize_t got;

    if (fd < 0 && (failure == ENOENT || failure == ENOTDIR))
        return err_set(ec, ERR_INPUT,
                       "time zone \"%s\": there is no %s (a wrong name, or the package tzdata is missing)", name, path);
    if (fd < 0)
        return err_set(ec, failure == ENOMEM ? ERR_NOMEM : ERR_IO, "time zone \"%s\": %s: %s", name, path,
                       strerror(failure));
    got = read(fd, magic, sizeof(magic));
    close(fd);
    if (got != (ssize_t)sizeof(magic) || memcmp(magic, "TZif", sizeof(magic)) != 0)
        return err_set(ec, ERR_INPUT, "time zone \"%s\": %s is not a time zone file", name, path);
    return ERR_OK;
}

static enum err load_file(const char *name, const char *path, struct zone **out, struct errctx *ec)
{
    struct zone_table table;
    enum err e = check_file(name, path, ec);

    if (e)
        return e;
    switch (zone_table_read(path, &table)) {
    case 0: return create_zone(name, &table, out, ec);
    case ENOMEM: return err_set(ec, ERR_NOMEM, "no memory for time zone \"%s\"", name);
    default: return err_set(ec, ERR_INPUT, "time zone \"%s\": %s cannot be read as a time zone", name, path);
    }
}

/* The file of a name below the folder of zones; TZDIR moves that folder, as it does for the C library. */
static enum err load_named(const char *name, const char *target, struct zone **out, struct errctx *ec)
{
    const char *folder = getenv("TZDIR");
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/%s", folder && folder[0] == '/' ? folder : "/usr/share/zoneinfo", target);

    if (n < 0 || (size_t)n >= sizeof(path))
        return err_set(ec, ERR_INPUT, "time zone \"%s\": the path in environment variable TZDIR is too long", name);
    return load_file(name, path, out, ec);
}

/* Letters, digits and _ + - / . : nothing that leaves the zone folder. */
static bool is_zone_path(const char *name)
{
    static const char allowed[] = ASCII_LETTERS ASCII_DIGITS "_+-/.";

    return name[0] != '\0' && name[0] != '/' && name[0] != '.' && name[strspn(name, allowed)] == '\0' &&
           strstr(name, "..") == NULL && strstr(name, "//") == NULL && name[strlen(name) - 1] != '/';
}

enum err zone_load(const char *name, struct zone **out, struct errctx *ec)
{
    const char *target = name;
    int32_t offset_s;

    if (name == NULL || strnlen(name, ZONE_NAME_MAX) >= ZONE_NAME_MAX)
        return err_set(ec, ERR_INPUT, "time zone \"%.40s%s\": %s", name ? name : "", name ? "..." : "",
                       name ? "the name is too long" : "there is no name");
    for (size_t i = 0; i < ARRAY_LEN(aliases); i++)
        if (strcmp(name, aliases[i].alias) == 0)
            target = aliases[i].name;
    if (parse_fixed(target, &offset_s))
        return create_fixed(name, offset_s, out, ec);
    if (!is_zone_path(target))
        return err_set(ec, ERR_INPUT,
                       "time zone \"%s\": expected a name such as Asia/Shanghai, or an offset such as +08:00", name);
    return load_named(name, target, out, ec);
}

/* The part of a zone file's path that is its name, or NULL. */
static const char *find_name_in_path(const char *path)
{
    const char *mark = strstr(path, "/zoneinfo/");
    const char *name = mark ? mark + strlen("/zoneinfo/") : NULL;

    if (name != NULL && strncmp(name, "posix/", 6) == 0)
        name += 6;
    return name != NULL && is_zone_path(name) && strlen(name) < ZONE_NAME_MAX ? name : NULL;
}

static enum err load_path(const char *path, struct zone **out, struct errctx *ec)
{
    const char *name = find_name_in_path(path);

    return load_file(name ? name : ZONE_NAME_UNKNOWN, path, out, ec);
}

enum err zone_load_from(const char *tz, const char *localtime_path, struct zone **out, struct errctx *ec)
{
    char resolved[PATH_MAX];
    enum err e;

    if (tz != NULL && tz[0] == ':')
        tz++;
    if (tz != NULL && tz[0] != '\0') {
        e = tz[0] == '/' ? load_path(tz, out, ec) : zone_load(tz, out, ec);
        return e ? err_wrap(ec, e, "environment variable TZ") : ERR_OK;
    }
    if (realpath(localtime_path, resolved) == NULL) /* minimal images have none */
        return create_fixed("UTC", 0, out, ec);
    e = load_path(resolved, out, ec);
    return e ? err_wrap(ec, e, "%s", localtime_path) : ERR_OK;
}

enum err zone_load_local(struct zone **out, struct errctx *ec)
{
    return zone_load_from(getenv("TZ"), "/etc/localtime", out, ec);
}
