/* SPDX-License-Identifier: MIT */
#include "http/console/times.h"

#include <string.h>

#define JOINT " - "
#define FIELDS 6
#define FIELD_MAX 999999

/* A number with blanks before it, then the character that follows the field. */
static bool read_field(const char **at, char behind, int *out)
{
    const char *c = *at;
    int value = 0;

    while (*c == ' ')
        c++;
    if (*c < '0' || *c > '9')
        return false;
    for (; *c >= '0' && *c <= '9'; c++) {
        value = value * 10 + (*c - '0');
        if (value > FIELD_MAX)
            return false;
    }
    if (behind && *c != behind)
        return false;
    *at = behind ? c + 1 : c;
    *out = value;
    return true;
}

static bool parse_time(const char *text, const struct zone *zone, int64_t *out)
{
    static const char behind[FIELDS] = {'-', '-', ' ', ':', ':', '\0'};
    int fields[FIELDS];

    for (size_t i = 0; i < FIELDS; i++)
        if (!read_field(&text, behind[i], &fields[i]))
            return false;
    const struct civil given = {fields[0], fields[1], fields[2], fields[3], fields[4], fields[5]};
    int64_t at_s = civil_to_second(&given); /* fields roll over */
    const struct civil civil = civil_of_second(at_s);
    if (civil.year > 9999)
        return false;
    *out = zone ? zone_from_civil(zone, &civil) : at_s;
    return true;
}

void times_parse_range(const char *text, const struct zone *zone, int64_t *from_s, int64_t *until_s, bool *broken)
{
    const char *joint = strstr(text, JOINT), *second = joint ? joint + strlen(JOINT) : NULL;
    char first[64];

    *from_s = *until_s = 0;
    *broken = false;
    if (!joint || !*second || strstr(second, JOINT))
        return;
    size_t len = (size_t)(joint - text) < sizeof first ? (size_t)(joint - text) : sizeof first - 1;
    memcpy(first, text, len);
    first[len] = '\0';
    *broken = !parse_time(first, zone, from_s);
    *broken = !parse_time(second, zone, until_s) || *broken;
}
