/* SPDX-License-Identifier: MIT */
#include "micro.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct micro_case *const cases[] = {
    &wheel_case, &cron_case, &plan_case, &answer_case, &callbacks_case, &request_case, &rows_case, &http_case,
};
enum { CASES = sizeof(cases) / sizeof(*cases), ROUNDS_MAX = 1000 };

static const char usage[] = "usage: micro_bench [--rounds N] [--json] [CASE...]\n"
                            "       micro_bench --once N CASE   so many operations, nothing measured\n"
                            "       micro_bench --list\n"
                            "\n"
                            "CPU nanoseconds of one operation: median, least and most of the rounds (11).\n";

void micro_die(const char *format, ...)
{
    va_list args;

    fputs("micro_bench: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(2);
}

static size_t parse_count(const char *text, size_t most)
{
    char *end;
    unsigned long n;

    errno = 0;
    n = strtoul(text, &end, 10);
    if (errno || end == text || *end || n == 0 || n > most)
        micro_die("'%s' is not a whole number from 1 to %zu", text, most);
    return n;
}

static const struct micro_case *find_case(const char *name)
{
    for (size_t i = 0; i < CASES; i++) {
        if (strcmp(cases[i]->name, name) == 0)
            return cases[i];
    }
    micro_die("there is no case '%s', see --list", name);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double run_once(const struct micro_case *c, void *state)
{
    struct timespec before, after;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    c->run(state, c->count);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    return ((double)(after.tv_sec - before.tv_sec) * 1e9 + (double)(after.tv_nsec - before.tv_nsec)) / (double)c->count;
}

static void measure(const struct micro_case *c, size_t rounds, bool json)
{
    double ns[ROUNDS_MAX];
    void *state = c->make();

    run_once(c, state); /* caches and pools are filled */
    for (size_t i = 0; i < rounds; i++)
        ns[i] = run_once(c, state);
    c->unmake(state);
    qsort(ns, rounds, sizeof(*ns), compare_doubles);
    if (json)
        printf("{\"case\":\"%s\",\"ns\":%.1f,\"least\":%.1f,\"most\":%.1f,\"count\":%zu,\"rounds\":%zu}\n", c->name,
               ns[rounds / 2], ns[0], ns[rounds - 1], c->count, rounds);
    else
        printf("%-10s %10.1f %10.1f %10.1f  %s\n", c->name, ns[rounds / 2], ns[0], ns[rounds - 1], c->what);
    fflush(stdout);
}

static void list_cases(void)
{
    for (size_t i = 0; i < CASES; i++)
        printf("%-10s %s\n", cases[i]->name, cases[i]->what);
}

static void measure_all(int count, char **names, size_t rounds, bool json)
{
    if (!json)
        printf("%-10s %10s %10s %10s\n", "case", "ns", "least", "most");
    for (int i = 0; i < count; i++)
        find_case(names[i]);
    for (int i = 0; i < count; i++)
        measure(find_case(names[i]), rounds, json);
    for (size_t i = 0; i < CASES && count == 0; i++)
        measure(cases[i], rounds, json);
}

int main(int argc, char **argv)
{
    size_t rounds = 11;
    bool json = false;
    int i;

    for (i = 1; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            json = true;
        } else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
            rounds = parse_count(argv[++i], ROUNDS_MAX);
        } else if (strcmp(argv[i], "--list") == 0) {
            list_cases();
            return 0;
        } else if (strcmp(argv[i], "--once") == 0 && i + 3 == argc) {
            const struct micro_case *c = find_case(argv[i + 2]);
            void *state = c->make();

            c->run(state, parse_count(argv[i + 1], SIZE_MAX));
            c->unmake(state);
            return 0;
        } else {
            fputs(usage, stderr);
            return 2;
        }
    }
    measure_all(argc - i, argv + i, rounds, json);
    return 0;
}
