/* SPDX-License-Identifier: MIT */
/*
 * vector_check: compares cron expressions and the consistent-hash route with recorded answers.
 *
 *   vector_check cron FILE              JSON Lines {"expr","tz","from","next"}, {"expr","error"} or {...,"eval_error"}
 *   vector_check consistent_hash FILE   JSON Lines {"job_id","addresses","chosen"}
 *   vector_check next EXPR TZ FROM_MS COUNT   up to COUNT occurrences after FROM_MS, one epoch-ms per line
 *
 * Every line that differs is printed with its number. Exit status: 0 all agree, 1 some differ, 2 nothing could be
 * compared (wrong usage, a file that cannot be read or has no lines; for "next": an expression or zone that is
 * refused).
 */
#include "shardwheel/cron.h"
#include "shardwheel/route.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEXT_MAX 8 /* a recorded list that is shorter ends because there is no further occurrence */
#define YEARS_AHEAD 100

/* One line of a file. Both functions print what differs, with the line's number, and return whether the line agrees. */
struct line {
    const char *path;
    size_t number;
    struct json_object *json;
    int64_t max_year;
};
typedef bool check_line(const struct line *line);

#define report(line, fmt, ...) printf("%s:%zu: " fmt "\n", (line)->path, (line)->number __VA_OPT__(, ) __VA_ARGS__)

static const char *get_text(const struct line *line, const char *key)
{
    struct json_object *value;

    if (!json_object_object_get_ex(line->json, key, &value) || !json_object_is_type(value, json_type_string))
        return NULL;
    return json_object_get_string(value);
}

static bool get_int(const struct line *line, const char *key, int64_t *out)
{
    struct json_object *value;

    if (!json_object_object_get_ex(line->json, key, &value) || !json_object_is_type(value, json_type_int))
        return false;
    *out = json_object_get_int64(value);
    return true;
}

static struct json_object *get_array(const struct line *line, const char *key)
{
    struct json_object *value;

    if (!json_object_object_get_ex(line->json, key, &value) || !json_object_is_type(value, json_type_array))
        return NULL;
    return value;
}

static bool get_flag(const struct line *line, const char *key)
{
    struct json_object *value;

    return json_object_object_get_ex(line->json, key, &value) && json_object_get_boolean(value);
}

/* Asks for one occurrence more than recorded when the list is short: it must be "none". */
static bool check_occurrences(const struct line *line, const char *expr, const struct cron *cron,
                              const struct zone *zone, int64_t from_ms, struct json_object *expected)
{
    size_t count = json_object_array_length(expected);

    for (size_t i = 0; i < NEXT_MAX; i++) {
        struct errctx ec = {""};
        int64_t next_ms = 0;
        int64_t want_ms = i < count ? json_object_get_int64(json_object_array_get_idx(expected, i)) : 0;
        enum err e = cron_next(cron, zone, from_ms, &next_ms, &ec);

        if (i == count) {
            if (e == ERR_NOTFOUND)
                return true;
            report(line, "\"%s\": occurrence %zu: expected none, found %" PRId64 " %s", expr, i + 1, next_ms, ec.text);
            return false;
        }
        if (e || next_ms != want_ms) {
            report(line, "\"%s\": occurrence %zu: expected %" PRId64 ", found %" PRId64 " %s", expr, i + 1, want_ms,
                   next_ms, ec.text);
            return false;
        }
        from_ms = next_ms;
    }
    return true;
}

static bool check_evaluation(const struct line *line, const char *expr, const struct cron *cron,
                             const struct zone *zone, int64_t from_ms)
{
    struct json_object *expected = get_array(line, "next");
    struct errctx ec = {""};
    int64_t next_ms;
    enum err e;

    if (!get_flag(line, "eval_error")) {
        if (expected != NULL)
            return check_occurrences(line, expr, cron, zone, from_ms, expected);
        report(line, "the line has none of next, error, eval_error");
        return false;
    }
    e = cron_next(cron, zone, from_ms, &next_ms, &ec);
    if (e != ERR_INPUT)
        report(line, "\"%s\": expected a failing evaluation, found %s %s", expr, err_name(e), ec.text);
    return e == ERR_INPUT;
}

static bool check_cron(const struct line *line)
{
    const char *expr = get_text(line, "expr");
    const char *tz = get_text(line, "tz");
    bool refused = get_flag(line, "error");
    struct errctx ec = {""};
    struct cron *cron = NULL;
    struct zone *zone = NULL;
    int64_t from_ms;
    bool agrees = false;
    enum err e;

    if (expr == NULL) {
        report(line, "no text \"expr\"");
        return false;
    }
    e = cron_parse(expr, line->max_year, &cron, &ec);
    if (e || refused) {
        agrees = refused && e == ERR_INPUT;
        if (!agrees)
            report(line, "\"%s\": expected to be %s, found %s %s", expr, refused ? "refused" : "accepted", err_name(e),
                   ec.text);
    } else if (tz == NULL || !get_int(line, "from", &from_ms)) {
        report(line, "no text \"tz\" or no number \"from\"");
    } else if (zone_load(tz, &zone, &ec)) {
        report(line, "%s", ec.text);
    } else {
        agrees = check_evaluation(line, expr, cron, zone, from_ms);
    }
    zone_destroy(zone);
    cron_destroy(cron);
    return agrees;
}

static bool check_consistent_hash(const struct line *line)
{
    struct json_object *list = get_array(line, "addresses");
    const char *chosen = get_text(line, "chosen");
    size_t count = list ? json_object_array_length(list) : 0;
    const char **addresses;
    int64_t job_id;
    size_t picked;
    bool agrees;

    if (count == 0 || chosen == NULL || !get_int(line, "job_id", &job_id)) {
        report(line, "expected job_id, addresses and chosen");
        return false;
    }
    addresses = calloc(count, sizeof(*addresses));
    if (addresses == NULL) {
        report(line, "out of memory");
        return false;
    }
    for (size_t i = 0; i < count; i++)
        addresses[i] = json_object_get_string(json_object_array_get_idx(list, i));
    picked = route_pick_consistent_hash(job_id, addresses, count);
    agrees = picked < count && strcmp(addresses[picked], chosen) == 0;
    if (!agrees)
        report(line, "job %" PRId64 ": expected \"%s\", found \"%s\"", job_id, chosen,
               picked < count ? addresses[picked] : "an index beyond the list");
    free(addresses);
    return agrees;
}

static int64_t get_max_year(void)
{
    struct zone *utc = NULL;
    int64_t year = 1970;

    if (!zone_load("UTC", &utc, NULL))
        year = zone_to_civil(utc, clock_wall_ms(clock_system()) / 1000).year;
    zone_destroy(utc);
    return year + YEARS_AHEAD;
}

static int check_file(const char *path, check_line *check)
{
    struct line line = {.path = path, .max_year = get_max_year()};
    size_t compared = 0, differing = 0, cap = 0;
    char *text = NULL;
    FILE *f = fopen(path, "r");

    if (f == NULL) {
        fprintf(stderr, "vector_check: %s: %s\n", path, strerror(errno));
        return 2;
    }
    while (getline(&text, &cap, f) > 0) {
        line.number++;
        if (text[strspn(text, " \t\r\n")] == '\0')
            continue;
        compared++;
        line.json = json_tokener_parse(text);
        if (line.json == NULL)
            report(&line, "this is no JSON");
        if (line.json == NULL || !check(&line))
            differing++;
        json_object_put(line.json);
    }
    if (ferror(f))
        compared = 0;
    fclose(f);
    free(text);
    if (compared == 0) {
        fprintf(stderr, "vector_check: %s: there is no line to compare\n", path);
        return 2;
    }
    printf("%s: %zu lines compared, %zu differ\n", path, compared, differing);
    return differing ? 1 : 0;
}

static int print_next(const char *expr, const char *tz, int64_t from_ms, int64_t count)
{
    struct errctx ec = {""};
    struct cron *cron = NULL;
    struct zone *zone = NULL;
    enum err e = cron_parse(expr, get_max_year(), &cron, &ec);

    if (!e)
        e = zone_load(tz, &zone, &ec);
    for (; !e && count > 0; count--) {
        e = cron_next(cron, zone, from_ms, &from_ms, &ec);
        if (!e)
            printf("%" PRId64 "\n", from_ms);
    }
    zone_destroy(zone);
    cron_destroy(cron);
    if (e == ERR_OK || e == ERR_NOTFOUND) /* fewer lines than asked for say that there are no more */
        return 0;
    fprintf(stderr, "vector_check: %s\n", ec.text);
    return 2;
}

int main(int argc, char **argv)
{
    int64_t from_ms, count;

    if (argc == 3 && strcmp(argv[1], "cron") == 0)
        return check_file(argv[2], check_cron);
    if (argc == 3 && strcmp(argv[1], "consistent_hash") == 0)
        return check_file(argv[2], check_consistent_hash);
    if (argc == 6 && strcmp(argv[1], "next") == 0 && parse_int(argv[4], INT64_MIN, INT64_MAX, &from_ms) &&
        parse_int(argv[5], 0, INT64_MAX, &count))
        return print_next(argv[2], argv[3], from_ms, count);
    fprintf(stderr, "usage: vector_check cron FILE\n"
                    "       vector_check consistent_hash FILE\n"
                    "       vector_check next EXPR TZ FROM_MS COUNT\n");
    return 2;
}
