/* SPDX-License-Identifier: MIT */
/*
 * Time zones: their names, where the local one is found, and allocations that fail inside the library for zones.
 */
#include "cron/alloc_fail.h"
#include "cron/zone_impl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define HOUR_S 3600

static struct zone *load(const char *name)
{
    struct errctx ec = {""};
    struct zone *zone = NULL;

    if (zone_load(name, &zone, &ec))
        fail_msg("%s", ec.text);
    return zone;
}

/* ---- names ----------------------------------------------------------------------------------------------- */

static void names_and_offsets(void **state)
{
    static const struct {
        const char *name;
        int offset_s; /* at 2026-01-15 */
    } cases[] = {
        {"UTC", 0},
        {"GMT", 0},
        {"UT", 0},
        {"Z", 0},
        {"Etc/UTC", 0},
        {"Asia/Shanghai", 8 * HOUR_S},
        {"PRC", 8 * HOUR_S},
        {"CTT", 8 * HOUR_S},
        {"CST", -6 * HOUR_S},
        {"EST", -5 * HOUR_S},
        {"America/Argentina/Buenos_Aires", -3 * HOUR_S},
        {"Etc/GMT+12", -12 * HOUR_S},
        {"+08:00", 8 * HOUR_S},
        {"+8", 8 * HOUR_S},
        {"+08", 8 * HOUR_S},
        {"+0800", 8 * HOUR_S},
        {"GMT+8", 8 * HOUR_S},
        {"GMT+08:00", 8 * HOUR_S},
        {"UTC+08:00", 8 * HOUR_S},
        {"UTC+8", 8 * HOUR_S},
        {"UT-3:30", -12600},
        {"-03:30", -12600},
        {"-00:30", -1800},
        {"+05:30:15", 19815},
        {"+18:00", 18 * HOUR_S},
        {"-18", -18 * HOUR_S},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct zone *zone = load(cases[i].name);

        if (zone_offset_s(zone, 1768435200) != cases[i].offset_s)
            fail_msg("%s: %d", cases[i].name, zone_offset_s(zone, 1768435200));
        assert_string_equal(zone_get_name(zone), cases[i].name);
        zone_destroy(zone);
    }
}

static void wrong_names_are_refused_by_name(void **state)
{
    static const char *const wrong[] = {
        "",
        " ",
        "Asia/Shanghi",
        "asia/shanghai",
        "Asia",
        "Asia/",
        "/etc/passwd",
        "/usr/share/zoneinfo/UTC",
        "../zoneinfo/UTC",
        "Asia/../Asia/Tokyo",
        "Asia//Tokyo",
        "./UTC",
        "tzdata.zi",
        "zone.tab",
        "file:Asia/Tokyo",
        "libc:UTC",
        "Asia/Tokyo ",
        "+",
        "-",
        "GMT+",
        "+19",
        "+18:01",
        "+08:60",
        "+08:",
        "+8:00:00:00",
        "+080",
        "+08000",
        "08:00",
        "UTC8",
        "UTC +8",
        "+08:00x",
        "CST-8",
        "Asia/Shanghai\n",
        "+1a",
        "\xff",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct errctx ec = {""};
        struct zone *zone = NULL;
        char quoted[100];

        if (zone_load(wrong[i], &zone, &ec) != ERR_INPUT)
            fail_msg("\"%s\" should be refused: %s", wrong[i], ec.text);
        assert_null(zone);
        snprintf(quoted, sizeof(quoted), "\"%s\"", wrong[i]);
        assert_non_null(strstr(ec.text, quoted));
    }
    for (int round = 0; round < 2; round++) { /* the library must not have learned the wrong name */
        struct errctx ec = {""};
        struct zone *zone = NULL;
        char name[2 * ZONE_NAME_MAX];

        memset(name, 'a', sizeof(name) - 1);
        name[sizeof(name) - 1] = '\0';
        assert_int_equal(zone_load(name, &zone, &ec), ERR_INPUT);
        assert_non_null(strstr(ec.text, "aaa...\": the name is too long"));
        assert_int_equal(zone_load(NULL, &zone, NULL), ERR_INPUT);
    }
}

struct local_case {
    char folder[64];
    char path[128];
};

static int make_folder(void **state)
{
    static struct local_case lc;

    strcpy(lc.folder, "/tmp/zone_test.XXXXXX");
    if (mkdtemp(lc.folder) == NULL)
        return -1;
    snprintf(lc.path, sizeof(lc.path), "%s/localtime", lc.folder);
    *state = &lc;
    return 0;
}

static int remove_folder(void **state)
{
    struct local_case *lc = *state;

    unlink(lc->path);
    return rmdir(lc->folder);
}

static void assert_local(const char *tz, const char *path, const char *name, int offset_s)
{
    struct errctx ec = {""};
    struct zone *zone = NULL;

    if (zone_load_from(tz, path, &zone, &ec))
        fail_msg("%s", ec.text);
    assert_string_equal(zone_get_name(zone), name);
    assert_int_equal(zone_offset_s(zone, 1768435200), offset_s);
    zone_destroy(zone);
}

static void copy_file(const char *from, const char *to)
{
    char block[65536];
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    size_t n;

    assert_non_null(in);
    assert_non_null(out);
    n = fread(block, 1, sizeof(block), in);
    assert_int_equal(fwrite(block, 1, n, out), n);
    fclose(in);
    fclose(out);
}

static void the_local_zone_is_found(void **state)
{
    const struct local_case *lc = *state;
    struct errctx ec = {""};
    struct zone *zone = NULL;
    FILE *f;

    assert_local("Asia/Tokyo", lc->path, "Asia/Tokyo", 9 * HOUR_S);
    assert_local(":Asia/Tokyo", lc->path, "Asia/Tokyo", 9 * HOUR_S);
    assert_local(":/usr/share/zoneinfo/Asia/Tokyo", lc->path, "Asia/Tokyo", 9 * HOUR_S);
    assert_local(NULL, lc->path, "UTC", 0); /* there is no such file yet */
    assert_local("", lc->path, "UTC", 0);
    assert_int_equal(symlink("/usr/share/zoneinfo/Asia/Kathmandu", lc->path), 0);
    assert_local(NULL, lc->path, "Asia/Kathmandu", 20700);
    assert_local("UTC", lc->path, "UTC", 0);
    assert_int_equal(unlink(lc->path), 0);
    copy_file("/usr/share/zoneinfo/Asia/Kathmandu", lc->path);
    assert_local(NULL, lc->path, "localtime", 20700);

    assert_int_equal(zone_load_from("Asia/Shanghi", lc->path, &zone, &ec), ERR_INPUT);
    assert_non_null(strstr(ec.text, "TZ"));
    assert_non_null(strstr(ec.text, "\"Asia/Shanghi\""));
    f = fopen(lc->path, "w");
    assert_non_null(f);
    fputs("TZif is not enough", f);
    fclose(f);
    copy_file(lc->path, lc->path); /* emptied: an empty file is no zone either */
    assert_int_equal(zone_load_from(NULL, lc->path, &zone, &ec), ERR_INPUT);
    assert_non_null(strstr(ec.text, lc->path));
    assert_null(zone);
    assert_int_equal(zone_load_local(&zone, &ec), ERR_OK); /* of this machine: whatever it is, it has a name */
    assert_true(strlen(zone_get_name(zone)) > 0);
    zone_destroy(zone);
    zone_destroy(NULL);
}

/* ---- comparing ------------------------------------------------------------------------------------------- */

#define AT_2025 INT64_C(1735689600)
#define AT_2046 INT64_C(2398377600)

static bool is_same(const char *a, const char *b, int64_t from_s, int64_t to_s)
{
    struct zone *x = load(a), *y = load(b);
    bool same = zone_is_same(x, y, from_s, to_s);

    assert_int_equal(zone_is_same(y, x, from_s, to_s), same);
    zone_destroy(x);
    zone_destroy(y);
    return same;
}

static void zones_are_compared_by_their_offsets(void **state)
{
    (void)state;
    assert_true(is_same("PRC", "Asia/Shanghai", AT_2025, AT_2046));
    assert_true(is_same("+08:00", "Asia/Shanghai", AT_2025, AT_2046));
    assert_true(is_same("Asia/Manila", "Asia/Singapore", AT_2025, AT_2046));
    assert_true(is_same("UTC", "Etc/UTC", AT_2025, AT_2046));
    assert_true(is_same("UTC", "+00:00", AT_2025, AT_2046));
    assert_true(is_same("America/New_York", "US/Eastern", AT_2025, AT_2046));
    assert_false(is_same("Asia/Shanghai", "Asia/Tokyo", AT_2025, AT_2046));
    assert_false(is_same("Europe/London", "UTC", AT_2025, AT_2046)); /* the same at the beginning, and at the end */
    assert_false(is_same("America/New_York", "America/Havana", AT_2025, AT_2046)); /* some hours, twice a year */
    assert_false(is_same("+08:00", "Asia/Shanghai", 0, AT_2046));                  /* summer time until 1991 */
    assert_true(is_same("Europe/London", "UTC", AT_2025, AT_2025 + 80 * 86400));   /* until the end of March */
    assert_false(is_same("Europe/London", "UTC", AT_2025, AT_2025 + 90 * 86400));
}

static void check_found(const char *path, int64_t from_s, const char *name)
{
    struct errctx ec = {""};
    struct zone *zone = NULL;
    char found[ZONE_NAME_MAX] = "none";

    if (zone_load_from(NULL, path, &zone, &ec))
        fail_msg("%s", ec.text);
    assert_int_equal(zone_find_name(zone, from_s, AT_2046, found), strcmp(name, "none") != 0);
    assert_string_equal(found, name);
    zone_destroy(zone);
}

static void a_file_without_a_name_goes_by_its_offset(void **state)
{
    static const struct {
        const char *file;
        const char *name; /* found for the twenty years from 2025 on */
    } cases[] = {{"Asia/Shanghai", "+08:00"},
                 {"America/St_Johns", "none"},
                 {"Pacific/Marquesas", "-09:30"},
                 {"Africa/Abidjan", "+00:00"}};
    const struct local_case *lc = *state;

    check_found("/usr/share/zoneinfo/Asia/Tokyo", AT_2025, "Asia/Tokyo");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char from[100], path[140]; /* the library keeps what it has read from a path */

        snprintf(from, sizeof(from), "/usr/share/zoneinfo/%s", cases[i].file);
        snprintf(path, sizeof(path), "%s%zu", lc->path, i);
        copy_file(from, path);
        check_found(path, AT_2025, cases[i].name);
        if (i == 0)
            check_found(path, 0, "none");
        unlink(path);
    }
}

/* ---- allocations ----------------------------------------------------------------------------------------- */

/* The library keeps what it loads: the first loop meets its own allocations, and looks at the errors alone; the
 * second finds the zone loaded, and what is left after each failure must be nothing. */
static void failing_allocations(void **state)
{
    static const struct {
        const char *name;
        int offset_s; /* at 2026-01-15 */
    } cases[] = {{"Indian/Chagos", 6 * HOUR_S}, {"America/Denver", -7 * HOUR_S}, {"+08:00", 8 * HOUR_S}};

    (void)state;
    if (!alloc_fail_works)
        skip();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (int pass = 0; pass < 2; pass++) {
            bool failed = true;
            long n;

            for (n = 1; failed; n++) {
                long live = alloc_live;
                struct errctx ec = {""};
                struct zone *zone = NULL;
                enum err e;

                alloc_fail_start(n);
                e = zone_load(cases[i].name, &zone, &ec);
                failed = alloc_fail_stop();
                if (e != (failed ? ERR_NOMEM : ERR_OK) && !(failed && e == ERR_OK && pass == 0))
                    fail_msg("%s, pass %d, allocation %ld: error %d, %s", cases[i].name, pass, n, (int)e, ec.text);
                assert_int_equal(zone != NULL, e == ERR_OK);
                if (zone != NULL) /* a zone half loaded before must not pass for UTC now */
                    assert_int_equal(zone_offset_s(zone, 1768435200), cases[i].offset_s);
                zone_destroy(zone);
                if (pass == 1)
                    assert_int_equal(alloc_live, live);
            }
            print_message("%s, pass %d: %ld allocations\n", cases[i].name, pass, n - 2);
            assert_true(n > 2);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failing_allocations),
        cmocka_unit_test(names_and_offsets),
        cmocka_unit_test(wrong_names_are_refused_by_name),
        cmocka_unit_test_setup_teardown(the_local_zone_is_found, make_folder, remove_folder),
        cmocka_unit_test(zones_are_compared_by_their_offsets),
        cmocka_unit_test_setup_teardown(a_file_without_a_name_goes_by_its_offset, make_folder, remove_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
