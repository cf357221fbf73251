/* SPDX-License-Identifier: MIT */
/* Help: every key is in every form, the files in the repository are what the table makes, the sample file loads.
 */
#include "config/fixture.h"
#include "config/key.h"

static void check_file(const char *path, const struct buf *expected)
{
    char full[500];
    struct buf found = {0};
    FILE *f;
    int c;

    snprintf(full, sizeof(full), "%s/%s", SHARDWHEEL_SOURCE_DIR, path);
    f = fopen(full, "re");
    assert_non_null(f);
    while ((c = getc(f)) != EOF)
        buf_putc(&found, (char)c);
    fclose(f);
    if (found.len < expected->len || strcmp(found.data + found.len - expected->len, expected->data) != 0 ||
        (found.len != expected->len && strncmp(expected->data, "## Keys\n", 8) != 0))
        fail_msg("%s is not what the table makes: make it anew with shardwheel --help-config=properties or =markdown",
                 path);
    buf_fini(&found);
}

static void files_of_the_repository_are_up_to_date(void **state)
{
    struct buf sample = {0};
    struct buf markdown = {0};

    (void)state;
    config_write_help(CONFIG_FORMAT_PROPERTIES, &sample);
    config_write_help(CONFIG_FORMAT_MARKDOWN, &markdown);
    check_file("conf/shardwheel.properties", &sample);
    check_file("docs/configuration.md", &markdown); /* its end */
    buf_fini(&sample);
    buf_fini(&markdown);
}

static void check_count(const char *text, const char *part, size_t expected)
{
    size_t count = 0;

    for (const char *p = text; (p = strstr(p, part)); p++)
        count++;
    assert_int_equal(count, expected);
}

static void every_form_has_every_key(void **state)
{
    (void)state;
    for (size_t form = CONFIG_FORMAT_TEXT; form <= CONFIG_FORMAT_MARKDOWN; form++) {
        struct buf out = {0};

        config_write_help((enum config_format)form, &out);
        assert_false(buf_failed(&out));
        for (size_t i = 0; i < KEY_COUNT; i++) {
            struct buf line = {0};

            if (form == CONFIG_FORMAT_TEXT)
                buf_printf(&line, "\n%s=%s\n", key_rows[i].name, key_rows[i].default_text);
            else
                buf_printf(&line, form == CONFIG_FORMAT_PROPERTIES ? "\n#%s=" : "\n| `%s` | ", key_rows[i].name);
            if (!strstr(out.data, line.data))
                fail_msg("form %zu has no %s", form, key_rows[i].name);
            buf_fini(&line);
        }
        check_count(out.data, form == CONFIG_FORMAT_MARKDOWN ? " from 0 to 65535 |" : " Value: ",
                    form == CONFIG_FORMAT_MARKDOWN ? 1 : KEY_COUNT);
        check_count(out.data, "TCP port of the executor API", 1);
        buf_fini(&out);
    }
}

/* With every # of a key taken away it must say what holds anyway. */
static void the_sample_file_loads_and_changes_nothing(void **state)
{
    struct buf sample = {0};
    struct buf text = {0};
    struct config *plain;
    struct config *c;

    (void)state;
    config_write_help(CONFIG_FORMAT_PROPERTIES, &sample);
    for (const char *p = sample.data; *p; p++)
        if (!(*p == '#' && p[1] != ' '))
            buf_putc(&text, *p);
    write_file("a.properties", text.data);
    c = load(ARGS("--config=a.properties", "--shardwheel.zookeeper.servers="), NO_ENV);
    plain = load(ARGS(URL), NO_ENV);
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (key_rows[i].kind != KIND_JDBC && !key_is_equal(&key_rows[i], c, plain))
            fail_msg("%s differs", key_rows[i].name);
    assert_string_equal(c->datasource->database, "xxl_job");
    assert_non_null(strstr(config_get_source(c, "shardwheel.log.level"), "a.properties:"));
    config_destroy(c);
    config_destroy(plain);
    buf_fini(&sample);
    buf_fini(&text);
}

static void lines_are_not_too_long(void **state)
{
    struct buf out = {0};

    (void)state;
    config_write_usage(&out);
    config_write_help(CONFIG_FORMAT_TEXT, &out);
    config_write_help(CONFIG_FORMAT_PROPERTIES, &out);
    for (const char *p = out.data; *p; p += strcspn(p, "\n"), p += *p == '\n')
        if (strcspn(p, "\n") > 110)
            fail_msg("%.*s", (int)strcspn(p, "\n"), p);
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fixture_test(files_of_the_repository_are_up_to_date),
        fixture_test(every_form_has_every_key),
        fixture_test(the_sample_file_loads_and_changes_nothing),
        fixture_test(lines_are_not_too_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
