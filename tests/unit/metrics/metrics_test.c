/* SPDX-License-Identifier: MIT */
#include "shardwheel/metrics.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct counters counters;

static char *make_page(void)
{
    static const struct shard_status shards[] = {
        {.shard = 0,
         .state = SHARD_OWNED,
         .epoch = 7,
         .cursor_s = 1000,
         .planned_ahead = 12,
         .unsent = 3,
         .owned_since_ms = 941500,
         .planned_until_ms = 1006000},
        {.shard = 1, .state = SHARD_FOREIGN},
        {.shard = 2, .state = SHARD_HANDOVER, .epoch = 9, .cursor_s = 1001},
        {.shard = 3, .state = SHARD_TAKEOVER, .epoch = 0, .cursor_s = 0},
    };
    struct buf out = {0};
    metrics_write(&(struct metrics_view){.node = "node \"a\"\\\n",
                                         .version = "1.2.3",
                                         .counters = &counters,
                                         .shards = shards,
                                         .shard_count = ARRAY_LEN(shards),
                                         .now_ms = 1001500,
                                         .started_ms = 900250},
                  &out);
    assert_false(buf_failed(&out));
    return buf_take(&out);
}

static int set_up(void **state)
{
    (void)state;
    memset(&counters, 0, sizeof(counters));
    counters_add(&counters, COUNTER_BEATS, 5);
    counters_add(&counters, COUNTER_CALLBACKS_REPEATED, 4);
    counters_set(&counters, COUNTER_DB_UP, 1);
    counters_set(&counters, COUNTER_CLOCK_DIFFERENCE, -1250);
    counters_observe_us(&counters, COUNTER_LATENESS, 1);
    counters_observe_us(&counters, COUNTER_LATENESS, 20000);
    counters_observe_us(&counters, COUNTER_LATENESS, 3600LL * 1000000);
    return 0;
}

static bool has_line(const char *page, const char *line)
{
    size_t len = strlen(line);
    for (const char *p = page; (p = strstr(p, line)); p++) {
        if ((p == page || p[-1] == '\n') && p[len] == '\n')
            return true;
    }
    fprintf(stderr, "missing: %s\n", line);
    return false;
}

static void values_are_on_the_page(void **state)
{
    (void)state;
    char *page = make_page();
    assert_true(has_line(page, "shardwheel_registry_beats_total 5"));
    assert_true(has_line(page, "shardwheel_callbacks_total{result=\"repeated\"} 4"));
    assert_true(has_line(page, "# TYPE shardwheel_db_up gauge"));
    assert_true(has_line(page, "shardwheel_db_up 1"));
    assert_true(has_line(page, "shardwheel_build_info{version=\"1.2.3\"} 1"));
    assert_true(has_line(page, "shardwheel_node_info{node=\"node \\\"a\\\"\\\\\\n\"} 1"));
    assert_true(has_line(page, "# TYPE shardwheel_clock_difference_seconds gauge"));
    assert_true(has_line(page, "shardwheel_clock_difference_seconds -1.250"));
    assert_true(has_line(page, "shardwheel_shard_held_seconds{shard=\"0\"} 60.000"));
    assert_null(strstr(page, "shardwheel_shard_held_seconds{shard=\"1\"}"));
    assert_true(has_line(page, "shardwheel_shard_planning_lead_seconds{shard=\"0\"} 4.500"));
    assert_true(has_line(page, "process_start_time_seconds 900.25"));
    assert_true(has_line(page, "shardwheel_shard_owned{shard=\"0\"} 1"));
    assert_true(has_line(page, "shardwheel_shard_owned{shard=\"1\"} 0"));
    assert_true(has_line(page, "shardwheel_shard_owned{shard=\"2\"} 1"));
    assert_true(has_line(page, "shardwheel_shard_owned{shard=\"3\"} 0"));
    assert_true(has_line(page, "shardwheel_shard_epoch{shard=\"0\"} 7"));
    assert_true(has_line(page, "shardwheel_shard_cursor_lag_seconds{shard=\"0\"} 1.500"));
    assert_null(strstr(page, "shardwheel_shard_cursor_lag_seconds{shard=\"1\"}"));
    assert_null(strstr(page, "shardwheel_shard_cursor_lag_seconds{shard=\"3\"}"));
    assert_true(has_line(page, "shardwheel_shard_planned_ahead{shard=\"0\"} 12"));
    assert_true(has_line(page, "shardwheel_shard_unsent{shard=\"0\"} 3"));
    assert_true(has_line(page, "shardwheel_fire_lateness_seconds_count 3"));
    assert_true(has_line(page, "shardwheel_fire_lateness_seconds_bucket{le=\"+Inf\"} 3"));
    assert_true(has_line(page, "shardwheel_fire_lateness_seconds_sum 3600.020001"));
    free(page);
}

/* The name of a sample line, without labels; for a series of a histogram the name of the histogram. */
static void get_family(const char *line, const char *histogram, char *out, size_t size)
{
    snprintf(out, size, "%.*s", (int)strcspn(line, "{ "), line);
    size_t len = strlen(histogram);
    if (len && !strncmp(out, histogram, len) &&
        (!strcmp(out + len, "_bucket") || !strcmp(out + len, "_sum") || !strcmp(out + len, "_count")))
        out[len] = '\0';
}

static void check_name(const char *name)
{
    assert_true(isalpha((unsigned char)*name) || *name == '_');
    for (; *name; name++)
        assert_true(isalnum((unsigned char)*name) || *name == '_' || *name == ':');
}

/* What Prometheus asks for: HELP and TYPE once per name and before its samples, samples of a name together, no series
 * twice, counters that end in _total, numbers as values, buckets that only rise. */
static void page_keeps_the_rules_of_the_format(void **state)
{
    (void)state;
    char *page = make_page(), *save = NULL;
    char name[200] = "", type[40] = "", family[200];
    char *seen = calloc(1, strlen(page) + 2000), *series = calloc(1, 2 * strlen(page) + 2000);
    double bucket = -1;

    for (char *line = strtok_r(page, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char key[300];
        if (!strncmp(line, "# HELP ", 7)) {
            char help[300] = "";
            assert_true(sscanf(line, "# HELP %199s %299[^\n]", name, help) == 2);
            check_name(name);
            snprintf(key, sizeof(key), "|%s|", name);
            assert_null(strstr(seen, key));
            strcat(seen, key);
            type[0] = '\0';
            continue;
        }
        if (!strncmp(line, "# TYPE ", 7)) {
            char typed[200];
            assert_int_equal(sscanf(line, "# TYPE %199s %39s", typed, type), 2);
            assert_string_equal(typed, name);
            assert_true(!strcmp(type, "counter") || !strcmp(type, "gauge") || !strcmp(type, "histogram"));
            size_t len = strlen(name);
            assert_true((len > 6 && !strcmp(name + len - 6, "_total")) == !strcmp(type, "counter"));
            continue;
        }
        assert_true(*type); /* HELP and TYPE came before */
        get_family(line, strcmp(type, "histogram") ? "" : name, family, sizeof(family));
        assert_string_equal(family, name);
        char *space = strrchr(line, ' '), *end;
        assert_non_null(space);
        double value = strtod(space + 1, &end);
        assert_true(end != space + 1 && !*end);
        snprintf(key, sizeof(key), "|%.*s|", (int)(space - line), line);
        assert_null(strstr(series, key));
        strcat(series, key);
        if (strstr(line, "_bucket{")) {
            assert_true(strstr(line, "le=\"") && value >= bucket);
            bucket = strstr(line, "le=\"+Inf\"") ? -1 : value;
        }
    }
    free(seen);
    free(series);
    free(page);
}

/* docs/metrics.md is what metrics_write_docs writes. Run this test with SHARDWHEEL_WRITE_DOCS=1 to renew it. */
static void docs_are_up_to_date(void **state)
{
    (void)state;
    const char *path = SHARDWHEEL_SOURCE_DIR "/docs/metrics.md";
    struct buf made = {0}, found = {0};
    char piece[4096];
    metrics_write_docs(&made);
    assert_false(buf_failed(&made));
    if (getenv("SHARDWHEEL_WRITE_DOCS")) {
        FILE *out = fopen(path, "w");
        assert_non_null(out);
        assert_int_equal(fwrite(made.data, 1, made.len, out), made.len);
        assert_int_equal(fclose(out), 0);
    }
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    for (size_t n; (n = fread(piece, 1, sizeof(piece), in)) > 0;)
        buf_append(&found, piece, n);
    fclose(in);
    if (strcmp(found.data, made.data))
        fail_msg("docs/metrics.md is out of date: run this test with SHARDWHEEL_WRITE_DOCS=1");
    buf_fini(&made);
    buf_fini(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(values_are_on_the_page, set_up),
        cmocka_unit_test_setup(page_keeps_the_rules_of_the_format, set_up),
        cmocka_unit_test(docs_are_up_to_date),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
