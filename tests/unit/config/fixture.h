/* SPDX-License-Identifier: MIT */
/* fixture: a folder of its own as working folder, files in it, and calls of config_load as main would make them.
 */
#ifndef SHARDWHEEL_TESTS_CONFIG_FIXTURE_H
#define SHARDWHEEL_TESTS_CONFIG_FIXTURE_H

#include "shardwheel/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* Lists for load and its like: ARGS("--a=b", "c"), NONE. The first argument, the program's name, is put in front.
 */
#define ARGS(...) ((char *[]){"shardwheel", __VA_ARGS__, NULL})
#define ENV(...) ((char *[]){__VA_ARGS__, NULL})
#define NO_ARGS ((char *[]){"shardwheel", NULL})
#define NO_ENV ((char *[]){NULL})
#define URL "--spring.datasource.url=jdbc:mysql://h/d"

static char fixture_folder[] = "/tmp/shardwheel-config-XXXXXX";

static int fixture_setup(void **state)
{
    (void)state;
    strcpy(fixture_folder + strlen(fixture_folder) - 6, "XXXXXX");
    return mkdtemp(fixture_folder) ? chdir(fixture_folder) : -1;
}

static void fixture_remove(const char *path)
{
    if (unlink(path))
        (void)!rmdir(path);
}

/* Tests write nothing else than this. */
static int fixture_teardown(void **state)
{
    static const char *const paths[] = {
        "application.properties",
        "application-a.properties",
        "application-b.properties",
        "application.yml",
        "a.properties",
        "b.properties",
        "config/application.properties",
        "config/application-a.properties",
        "config",
        "etc/application.properties",
        "etc/application-a.properties",
        "etc",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        fixture_remove(paths[i]);
    return chdir("/") ? -1 : rmdir(fixture_folder);
}

static inline void write_file(const char *path, const char *text)
{
    FILE *f;

    if (strchr(path, '/')) {
        char folder[64];

        snprintf(folder, sizeof(folder), "%.*s", (int)(strchr(path, '/') - path), path);
        (void)mkdir(folder, 0700);
    }
    f = fopen(path, "we");
    assert_non_null(f);
    assert_int_equal(fputs(text, f) < 0, 0);
    assert_int_equal(fclose(f), 0);
}

static inline int count_of(char **list)
{
    int n = 0;

    while (list[n])
        n++;
    return n;
}

static inline struct config *load(char **args, char **env)
{
    struct errctx ec = {{0}};
    struct config *config = NULL;

    if (config_load(count_of(args), args, env, &config, &ec))
        fail_msg("%s", ec.text);
    return config;
}

/* The error must hold `expected`. */
static inline void check_error(char **args, char **env, const char *expected)
{
    struct errctx ec = {{0}};
    struct config *config = NULL;
    enum err e = config_load(count_of(args), args, env, &config, &ec);

    if (!e)
        fail_msg("accepted; expected: %s", expected);
    assert_null(config);
    if (!strstr(ec.text, expected))
        fail_msg("\"%s\" is not in \"%s\"", expected, ec.text);
    if (strstr(ec.text, "s3cret")) /* passwords of the tests */
        fail_msg("the password shows: %s", ec.text);
}

static inline size_t count_notes(const struct config *config, enum config_note_kind kind)
{
    size_t count;
    size_t found = 0;
    const struct config_note *notes = config_get_notes(config, &count);

    for (size_t i = 0; i < count; i++)
        found += notes[i].kind == kind;
    return found;
}

static inline void check_note(const struct config *config, enum config_note_kind kind, const char *expected)
{
    size_t count;
    const struct config_note *notes = config_get_notes(config, &count);

    for (size_t i = 0; i < count; i++)
        if (notes[i].kind == kind && strstr(notes[i].text, expected))
            return;
    for (size_t i = 0; i < count; i++)
        print_error("note: %s\n", notes[i].text);
    fail_msg("no note says: %s", expected);
}

#define fixture_test(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)

#endif
