/* SPDX-License-Identifier: MIT */
/* Lists of children, groups that a direct fire takes along, and the fires made of them. */
#include "test.h"
#include "shardwheel/job.h"
#include "shardwheel/job/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "7" an id, "s" the job itself, "-" illegal. */
static void the_list_is_read_as_the_original_does(void **state)
{
    static const struct {
        const char *list, *expected;
    } cases[] = {
        {NULL, ""},
        {"", ""},
        {"  ", ""},
        {",", ""},
        {"7", "7 "},
        {"7,8", "7 8 "},
        {"7,7", "7 7 "},   /* twice is twice */
        {"5,7", "s 7 "},   /* 5 is the job itself */
        {"7,8,,", "7 8 "}, /* empty at the end: not counted */
        {",7", "- 7 "},    /* empty elsewhere: counted, illegal */
        {"7,,8", "7 - 8 "},
        {"2, 3", "2 - "}, /* not trimmed */
        {"+7", "- "},     /* as from 3.3 on */
        {"-7,0,x,7x", "- - - - "},
        {"007", "7 "},
        {"2147483647,2147483648", "2147483647 - "},
        {"99999999999999999999999999", "- "},
        {"7,99999999999999999999,8", "7 - 8 "}, /* stops nothing */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct child_item items[CHILDREN_MAX];
        char text[200] = "";
        size_t n = children_parse(cases[i].list, 5, items);

        for (size_t k = 0; k < n; k++) {
            if (items[k].verdict == CHILD_ID)
                snprintf(text + strlen(text), sizeof text - strlen(text), "%lld ", (long long)items[k].id);
            else
                strcat(text, items[k].verdict == CHILD_SELF ? "s " : "- ");
        }
        if (strcmp(text, cases[i].expected) != 0)
            fail_msg("'%s' is '%s' and not '%s'", cases[i].list, text, cases[i].expected);
    }
}

static void a_list_has_a_bound(void **state)
{
    struct child_item items[CHILDREN_MAX];
    char list[1000] = "";

    (void)state;
    for (int i = 0; i < 400; i++)
        strcat(list, "7,");
    assert_int_equal(children_parse(list, 5, items), CHILDREN_MAX);
}

static void addresses_are_trimmed_and_each_is_there_once(void **state)
{
    static const struct {
        const char *list, *expected;
    } cases[] = {
        {"", ""}, {" , ,", ""}, {"a", "a|"}, {" a ,b\t,,a, c", "a|b|c|"}, {"b,a", "b|a|"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct group_spec *group = group_spec_create(3, "app", "token", true, cases[i].list);
        char text[100] = "";

        assert_non_null(group);
        for (size_t k = 0; k < group->count; k++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s|", group->addresses[k]);
        assert_string_equal(text, cases[i].expected);
        assert_string_equal(group->app_name, "app");
        assert_string_equal(group->access_token, "token");
        group_spec_unref(group);
    }
}

static struct fire *make(const char *route, struct group_spec *group, int generation)
{
    const struct job_spec plain = {
        .id = 7, .group = 3, .route = route, .handler = "h", .block = "", .glue_type = "BEAN", .glue_source = ""};
    struct job_spec *job = job_spec_copy(&plain, "p", 1);
    struct fire *list = NULL;
    struct errctx ec;

    assert_int_equal(
        fires_make_direct(
            &(struct direct_order){
                .job = job, .group = group, .kind = TRIGGER_PARENT, .now_s = 1700000000, .generation = generation},
            &list, &ec),
        ERR_OK);
    job_spec_unref(job);
    return list;
}

static void a_broadcast_is_a_fire_for_each_address(void **state)
{
    struct group_spec *group = group_spec_create(3, "app", "", false, "http://a,http://b");
    struct fire *list = make("SHARDING_BROADCAST", group, 4), *fire = list;

    (void)state;
    for (int i = 0; i < 2; i++, fire = fire->next) {
        assert_non_null(fire);
        assert_int_equal(fire->shard_index, i);
        assert_int_equal(fire->shard_total, 2);
        assert_true(fire->broadcast);
        assert_string_equal(fire->address, i ? "http://b" : "http://a");
        assert_int_equal(fire->shard, -1);
        assert_int_equal(fire->generation, 4);
        assert_ptr_equal(fire->target, group);
    }
    assert_null(fire);
    fire_destroy_list(list);

    list = make("FIRST", group, 0);
    assert_null(list->next);
    assert_null(list->address);
    assert_int_equal(list->shard_total, 1);
    fire_destroy_list(list);
    list = make("SHARDING_BROADCAST", NULL, 0); /* the row says that the group is gone */
    assert_null(list->next);
    assert_true(list->broadcast);
    assert_int_equal(list->shard_total, 1);
    fire_destroy_list(list);
    group_spec_unref(group);
}

static void the_mark_has_the_generation(void **state)
{
    struct fire fire = {.due_s = 12, .kind = TRIGGER_PARENT, .generation = 3}, read = {0};
    char mark[100], incarnation[INCARNATION_MAX];

    (void)state;
    fire_format_direct_mark(&fire, "ab", mark);
    assert_string_equal(mark, "<!--sw:d:ab:12:P:G3-->");
    assert_true(fire_parse_direct_mark(mark, &read, incarnation));
    assert_int_equal(read.generation, 3);
    assert_false(fire_parse_direct_mark("<!--sw:d:ab:12:P:G-->", &read, incarnation));
    assert_false(fire_parse_direct_mark("<!--sw:d:ab:12:P:G99999999999-->", &read, incarnation));
    fire.generation = 0;
    fire_format_direct_mark(&fire, "ab", mark);
    assert_string_equal(mark, "<!--sw:d:ab:12:P-->");
}

static void words_are_there_in_every_language(void **state)
{
    struct buf out = {0};

    (void)state;
    for (enum lang lang = 0; lang < LANGS; lang++) {
        for (enum word word = 0; word < WORDS; word++)
            assert_non_null(word_get(lang, word));
        for (enum trigger_kind kind = 0; kind < TRIGGER_KINDS; kind++)
            assert_non_null(word_get_kind(lang, kind));
    }
    assert_int_equal(lang_parse("en"), LANG_EN);
    assert_int_equal(lang_parse("zh_TC"), LANG_ZH_TC);
    assert_int_equal(lang_parse("zh_CN"), LANG_ZH_CN);
    assert_int_equal(lang_parse("fr"), LANG_ZH_CN);
    word_put(&out, LANG_EN, WORD_CHILD_TRIGGERED, 7, 123);
    assert_string_equal(out.data, "job 7 triggered as log 123");
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list_is_read_as_the_original_does),
        cmocka_unit_test(a_list_has_a_bound),
        cmocka_unit_test(addresses_are_trimmed_and_each_is_there_once),
        cmocka_unit_test(a_broadcast_is_a_fire_for_each_address),
        cmocka_unit_test(the_mark_has_the_generation),
        cmocka_unit_test(words_are_there_in_every_language),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
