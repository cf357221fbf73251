/* SPDX-License-Identifier: MIT */
#include "store/test_db.h"

#include "store/conn/sqlbuf.h"

static char *repair(const char *text, size_t max_chars, enum text_fit fit)
{
    struct buf out = {0};

    sql_repair_text(&out, text, strlen(text), max_chars, fit);
    buf_puts(&out, "");
    assert_false(buf_failed(&out));
    char *taken = buf_take(&out);
    return taken ? taken : strdup("");
}

static void check_repair(const char *text, size_t max_chars, enum text_fit fit, const char *expected)
{
    char *got = repair(text, max_chars, fit);

    assert_string_equal(got, expected);
    free(got);
}

static void broken_utf8_becomes_question_marks(void **state)
{
    (void)state;
    check_repair("a\xc3\xa9\xe4\xbb\xbb\xf0\x9f\x98\x80z", 99, TEXT_AS_IS, "a\xc3\xa9\xe4\xbb\xbb\xf0\x9f\x98\x80z");
    check_repair("a\xff"
                 "b",
                 99, TEXT_AS_IS, "a?b");
    check_repair("\xc3", 99, TEXT_AS_IS, "?"); /* cut short */
    check_repair("\xe4\xbb", 99, TEXT_AS_IS, "??");
    check_repair("\xc0\xaf", 99, TEXT_AS_IS, "??"); /* overlong */
    check_repair("\xe0\x80\xaf", 99, TEXT_AS_IS, "???");
    check_repair("\xed\xa0\x80", 99, TEXT_AS_IS, "???");      /* a surrogate */
    check_repair("\xf4\x90\x80\x80", 99, TEXT_AS_IS, "????"); /* beyond U+10FFFF */
    check_repair("\xf0\x8f\xbf\xbf", 99, TEXT_AS_IS, "????");
    check_repair("\xf4\x8f\xbf\xbf", 99, TEXT_AS_IS, "\xf4\x8f\xbf\xbf");
}

static void texts_fit_narrower_columns(void **state)
{
    (void)state;
    check_repair("a\xe4\xbb\xbb\xf0\x9f\x98\x80z", 99, TEXT_BMP, "a\xe4\xbb\xbb?z");
    check_repair("a\xe4\xbb\xbb\xf0\x9f\x98\x80z", 99, TEXT_ASCII, "a??z");
    check_repair("\xe4\xbb\xbb\xe4\xbb\xbb\xe4\xbb\xbb", 2, TEXT_AS_IS, "\xe4\xbb\xbb\xe4\xbb\xbb");
    check_repair("abc", 0, TEXT_AS_IS, "");
}

static void cuts_fall_between_characters(void **state)
{
    (void)state;
    assert_int_equal(sql_cut_text("abcdef", 3, 100), 3);
    assert_int_equal(sql_cut_text("abcdef", 100, 3), 3);
    assert_int_equal(sql_cut_text("abcdef", 6, 6), 6);
    assert_int_equal(sql_cut_text("\xc3\xa9\xc3\xa9", 100, 3), 2);
    /* A character beyond U+FFFF counts as two units, and is not halved. */
    assert_int_equal(sql_cut_text("a\xf0\x9f\x98\x80"
                                  "b",
                                  2, 100),
                     1);
    assert_int_equal(sql_cut_text("a\xf0\x9f\x98\x80"
                                  "b",
                                  3, 100),
                     5);
    assert_int_equal(sql_cut_text("\xff\xff\xff", 2, 100), 2);
}

/* Whatever the text: what the server reads is what was written. Also with pieces longer than the escape buffer. */
static void texts_survive_the_server(void **state)
{
    static const char *const texts[] = {"",
                                        "'",
                                        "\\",
                                        "\\'",
                                        "'; DROP TABLE x; --",
                                        "\"`%_",
                                        "a\nb\rc\x1a\t",
                                        "h\xc3\xa9 \xe4\xbb\xbb \xf0\x9f\x98\x80"};
    struct sqlbuf q = {0};
    char *longer = malloc(20001);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        sqlbuf_start(&q, test_db.sql);
        sql_puts(&q, "SELECT ");
        sql_text(&q, texts[i]);
        assert_false(sqlbuf_failed(&q));
        assert_string_equal(test_text("%s", q.text.data), texts[i]);
    }
    for (size_t shift = 0; shift < 4; shift++) {
        memset(longer, 'x', shift);
        for (size_t i = shift; i + 4 <= 20000; i += 4)
            memcpy(longer + i, i % 8 == shift % 8 ? "\xf0\x9f\x98\x80" : "\\'\xc3\xa9", 4);
        longer[20000 - 4 + shift] = '\0';
        sqlbuf_start(&q, test_db.sql);
        sql_puts(&q, "SELECT ");
        sql_text(&q, longer);
        assert_string_equal(test_text("%s", q.text.data), longer);
    }
    free(longer);
    sqlbuf_fini(&q);
}

static void values_are_written_plainly(void **state)
{
    struct zone *zone = NULL;
    struct sqlbuf q = {0};

    (void)state;
    assert_ok(zone_load("UTC", &zone, ec));
    sqlbuf_start(&q, test_db.sql);
    sql_int(&q, INT64_MIN);
    sql_puts(&q, " ");
    sql_text_or_null(&q, NULL);
    sql_puts(&q, " ");
    sql_text(&q, NULL);
    sql_puts(&q, " ");
    sql_ids(&q, (int64_t[]){3, -1, 7}, 3);
    sql_puts(&q, " ");
    sql_datetime(&q, zone, 0);
    assert_string_equal(q.text.data, "-9223372036854775808 NULL '' 3,-1,7 '1970-01-01 00:00:00'");
    /* Without a connection there is nothing to escape by. */
    sqlbuf_start(&q, NULL);
    sql_text(&q, "a");
    assert_true(sqlbuf_failed(&q));
    sqlbuf_start(&q, test_db.sql);
    assert_false(sqlbuf_failed(&q));
    zone_destroy(zone);
    sqlbuf_fini(&q);
}

/* Each mark of the text by its value, in their order; a mark within a value is none. */
static void statements_take_their_values(void **state)
{
    int64_t many[STORE_LIST_MAX + 2] = {[STORE_LIST_MAX] = 8, [STORE_LIST_MAX + 1] = 9};
    char name[] = "it's?";
    const char *none = NULL;
    struct zone *zone = NULL;
    struct sqlbuf q = {0};

    (void)state;
    assert_ok(zone_load("UTC", &zone, ec));
    sqlbuf_start(&q, test_db.sql);
    sql_put(&q, "a");
    sql_put(&q, " ? = ?, ?;", sql_word("b"), INT64_MIN, (size_t)7);
    sql_put(&q, "? ? ? ?", name, none, sql_or_null(none), sql_fitted("h\xc3\xa9llo", 3, TEXT_ASCII));
    sql_put(&q, " (?) ? (?)", sql_list((int64_t[]){3, -1, 7}, 3), sql_time(zone, 0),
            sql_part(many, ARRAY_LEN(many), STORE_LIST_MAX));
    assert_string_equal(q.text.data, "a b = -9223372036854775808, 7;'it\\'s?' '' NULL 'h?l' "
                                     "(3,-1,7) '1970-01-01 00:00:00' (8,9)");
    sqlbuf_start(&q, test_db.sql);
    sql_put(&q, "?", sql_part(many, ARRAY_LEN(many), 0));
    assert_int_equal(q.text.len, 2 * STORE_LIST_MAX - 1);
    zone_destroy(zone);
    sqlbuf_fini(&q);
}

/* What the server finds is the list, however it is written. */
static void ids_are_found_in_lists_and_runs(void **state)
{
    static const int64_t lists[][12] = {
        {5},
        {1, 2, 3, 4, 5, 6, 7, 8},
        {1, 2, 3, 4, 5, 6, 7},
        {2, 11, 12, 13, 14, 15, 16, 17, 18, 20},
        {3, 5, 7},
        {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 13},
        {0},
    };
    static const char *const written[] = {
        "(id IN (5,0))",
        "(id BETWEEN 1 AND 8 OR id IN (0))",
        "(id IN (1,2,3,4,5,6,7,0))",
        "(id BETWEEN 11 AND 18 OR id IN (2,20,0))",
        "(id IN (3,5,7,0))",
        "(id BETWEEN 1 AND 8 OR id IN (10,12,13,0))",
        "(id IN (0))",
    };
    struct sqlbuf q = {0};

    (void)state;
    test_db_empty();
    for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
        size_t n = 0;
        int64_t sum = 0;
        for (; n < 12 && lists[k][n]; n++)
            sum += lists[k][n];
        sqlbuf_start(&q, test_db.sql);
        sql_id_among(&q, lists[k], n);
        assert_string_equal(q.text.data, written[k]);
        assert_int_equal(
            test_int("SELECT COUNT(*) FROM (SELECT seq AS id FROM seq_1_to_30) AS all_ids WHERE %s", q.text.data), n);
        assert_int_equal(
            test_int("SELECT SUM(id) FROM (SELECT seq AS id FROM seq_1_to_30) AS all_ids WHERE %s", q.text.data), sum);
    }
    sqlbuf_fini(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_utf8_becomes_question_marks), cmocka_unit_test(texts_fit_narrower_columns),
        cmocka_unit_test(cuts_fall_between_characters),       cmocka_unit_test(texts_survive_the_server),
        cmocka_unit_test(values_are_written_plainly),         cmocka_unit_test(ids_are_found_in_lists_and_runs),
        cmocka_unit_test(statements_take_their_values),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
