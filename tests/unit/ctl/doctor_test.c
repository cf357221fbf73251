/* SPDX-License-Identifier: MIT */
/* The report of doctor, and whether docs/doctor.md knows what it can find. */
#include "ctl/doctor/check.h"

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(struct doctor_report *r, enum doctor_level level, const char *code, const char *where)
{
    report_add(r, &(struct finding){.level = level,
                                    .check = "clock",
                                    .code = code,
                                    .where = (char *)where,
                                    .what = (char *)"It \"differs\".",
                                    .change = (char *)(level > DOCTOR_NOTE ? "Set it." : NULL)});
}

static void the_worst_decides_the_status(void **state)
{
    static const struct {
        enum doctor_level levels[3];
        int status;
    } table[] = {
        {{DOCTOR_OK, DOCTOR_OK, DOCTOR_OK}, 0},
        {{DOCTOR_OK, DOCTOR_NOTE, DOCTOR_OK}, 0},
        {{DOCTOR_OK, DOCTOR_UNKNOWN, DOCTOR_NOTE}, 3},
        {{DOCTOR_WARNING, DOCTOR_UNKNOWN, DOCTOR_OK}, 1},
        {{DOCTOR_CRITICAL, DOCTOR_WARNING, DOCTOR_UNKNOWN}, 2},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct doctor_report r = {0};

        for (size_t k = 0; k < 3; k++)
            add(&r, table[i].levels[k], "clock", NULL);
        assert_int_equal(doctor_exit_status(report_get_worst(&r)), table[i].status);
        report_fini(&r);
    }
}

static void what_was_left_out_is_not_fine(void **state)
{
    struct doctor_report r = {0};

    (void)state;
    add(&r, DOCTOR_OK, "clock", NULL);
    report_leave_out(&r, "tables");
    assert_int_equal(doctor_exit_status(report_get_worst(&r)), 3);
    report_fini(&r);
}

static void text_has_the_worst_first(void **state)
{
    struct doctor_report r = {0};
    struct buf out = {0};

    (void)state;
    add(&r, DOCTOR_NOTE, "clock_here", NULL);
    add(&r, DOCTOR_OK, "clock", NULL);
    add(&r, DOCTOR_CRITICAL, "clock_node", "node a");
    report_leave_out(&r, "tables");
    report_leave_out(&r, "indexes");
    report_write_text(&r, /*verbose=*/false, &out);
    assert_false(buf_failed(&out));
    assert_string_equal(out.data, "critical: 1 critical, 1 note\n"
                                  "\n"
                                  "critical  clock_node  node a\n"
                                  "    It \"differs\".\n"
                                  "    To do: Set it.\n"
                                  "\n"
                                  "note  clock_here\n"
                                  "    It \"differs\".\n"
                                  "\n"
                                  "2 checks were skipped, because of the findings above: tables indexes\n"
                                  "1 check was fine; --verbose lists them.\n");
    buf_clear(&out);
    report_write_text(&r, /*verbose=*/true, &out);
    assert_non_null(strstr(out.data, "1 check was fine:\n  clock "));
    buf_fini(&out);
    report_fini(&r);
}

static void long_sentences_are_wrapped(void **state)
{
    static const char hundred[] =
        "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234"
        "567890123456789";
    struct doctor_report r = {0};
    struct buf out = {0}, what = {0};

    (void)state;
    buf_printf(&what, "%.80s fits %s.", hundred, hundred);
    report_add(&r, &(struct finding){.level = DOCTOR_NOTE, .check = "clock", .code = "clock", .what = what.data});
    report_write_text(&r, /*verbose=*/false, &out);
    assert_false(buf_failed(&out));
    buf_clear(&what);
    buf_printf(&what, "note: 1 note\n\nnote  clock\n    %.80s fits\n    %s.\n\n", hundred, hundred);
    assert_memory_equal(out.data, what.data, what.len);
    buf_fini(&what);
    buf_fini(&out);
    report_fini(&r);
}

static void names_forge_no_lines(void **state)
{
    struct doctor_report r = {0};
    struct buf out = {0};

    (void)state;
    report_add(&r, &(struct finding){.level = DOCTOR_NOTE,
                                     .check = "clock",
                                     .code = "clock",
                                     .where = (char *)"node a\nb",
                                     .what = (char *)"User e\x1b[31m\r\ncritical  gone, \xc2\x9b"
                                                     "2J \xc3\xa9."});
    report_write_text(&r, /*verbose=*/false, &out);
    assert_false(buf_failed(&out));
    assert_non_null(strstr(out.data, "\nnote  clock  node a?b\n    User e?[31m??critical  gone, ?2J \xc3\xa9.\n"));
    buf_fini(&out);
    report_fini(&r);
}

static void json_has_all(void **state)
{
    struct doctor_report r = {0};
    struct buf out = {0};

    (void)state;
    add(&r, DOCTOR_OK, "clock", NULL);
    add(&r, DOCTOR_WARNING, "clock_node", "node a");
    report_leave_out(&r, "tables");
    report_leave_out(&r, "indexes");
    report_write_json(&r, &out);
    assert_false(buf_failed(&out));
    assert_string_equal(out.data,
                        "{\"level\":\"warning\",\"status\":1,\"version\":\"" SHARDWHEEL_VERSION "\",\n\"findings\":[\n"
                        "{\"level\":\"ok\",\"code\":\"clock\",\"check\":\"clock\",\"where\":null,"
                        "\"what\":\"It \\\"differs\\\".\",\"change\":null},\n"
                        "{\"level\":\"warning\",\"code\":\"clock_node\",\"check\":\"clock\",\"where\":\"node a\","
                        "\"what\":\"It \\\"differs\\\".\",\"change\":\"Set it.\"}],\n"
                        "\"leftOut\":[\"tables\",\"indexes\"]}\n");
    buf_fini(&out);
    report_fini(&r);
}

/* ---- docs/doctor.md ---------------------------------------------------------------------------------------------- */

static char *read_docs(void)
{
    FILE *f = fopen(SHARDWHEEL_SOURCE_DIR "/docs/doctor.md", "r");
    struct buf text = {0};
    char piece[4096];
    size_t len;

    assert_non_null(f);
    while ((len = fread(piece, 1, sizeof piece, f)) > 0)
        buf_append(&text, piece, len);
    fclose(f);
    assert_false(buf_failed(&text));
    return buf_take(&text);
}

static bool is_known(const char *code, size_t len)
{
    for (const struct doctor_check *const *table = doctor_tables; *table; table++) {
        for (const struct doctor_check *check = *table; check->code; check++) {
            if (strlen(check->code) == len && !memcmp(check->code, code, len))
                return true;
            for (const char *const *found = check->findings; *found; found++) {
                if (strlen(*found) == len && !memcmp(*found, code, len))
                    return true;
            }
        }
    }
    return (len == strlen("could_not_look") && !memcmp(code, "could_not_look", len)) ||
           (len == strlen("database_lost") && !memcmp(code, "database_lost", len));
}

static void check_name(const char *docs, const char *code)
{
    char name[80];

    snprintf(name, sizeof name, "`%s`", code);
    if (!strstr(docs, name))
        fail_msg("docs/doctor.md does not name %s", code);
}

/* What is between backquotes there, options aside. */
static void check_no_other(const char *rows)
{
    for (const char *at = rows; (at = strchr(at, '`')) != NULL; at += strcspn(at, "`") + 1) {
        at++;
        if (*at != '-' && strncmp(at, "xxl_job_", 8) != 0 && !is_known(at, strcspn(at, "`")))
            fail_msg("docs/doctor.md knows a code that nobody tells: %.40s", at);
    }
}

static void docs_know_every_code_and_no_other(void **state)
{
    char *docs = read_docs(), *rows = strstr(docs, "\n## Checks\n");

    (void)state;
    assert_non_null(rows);
    rows = strstr(rows, "\n| ");
    assert_non_null(rows);
    *strstr(rows, "|\n\n") = '\0';
    for (const struct doctor_check *const *table = doctor_tables; *table; table++) {
        for (const struct doctor_check *check = *table; check->code; check++) {
            check_name(rows, check->code);
            for (const char *const *found = check->findings; *found; found++)
                check_name(rows, *found);
        }
    }
    check_name(rows, "could_not_look");
    check_name(rows, "database_lost");
    check_no_other(rows);
    free(docs);
}

static void codes_are_one_meaning_each(void **state)
{
    const char *seen[250];
    size_t count = 0;

    (void)state;
    for (const struct doctor_check *const *table = doctor_tables; *table; table++) {
        for (const struct doctor_check *check = *table; check->code; check++) {
            for (const char *const *found = check->findings; *found; found++) {
                assert_true(count < ARRAY_LEN(seen));
                seen[count++] = *found;
                assert_string_not_equal(*found, check->code);
            }
            assert_true(count < ARRAY_LEN(seen));
            seen[count++] = check->code;
        }
    }
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(strspn(seen[i], "abcdefghijklmnopqrstuvwxyz_"), strlen(seen[i]));
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(seen[i], seen[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_worst_decides_the_status),
        cmocka_unit_test(what_was_left_out_is_not_fine),
        cmocka_unit_test(text_has_the_worst_first),
        cmocka_unit_test(names_forge_no_lines),
        cmocka_unit_test(json_has_all),
        cmocka_unit_test(long_sentences_are_wrapped),
        cmocka_unit_test(docs_know_every_code_and_no_other),
        cmocka_unit_test(codes_are_one_meaning_each),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
