/* SPDX-License-Identifier: MIT */
/* Folders in which each file is a key: spring.config.import=configtree:, credentials of systemd, secrets beside a file.
 */
#include "config/fixture.h"

#include <sys/types.h>

#define NOBODY 65534

static void write_bytes(const char *path, const char *bytes, size_t len, int mode)
{
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, (mode_t)mode), 0);
}

static void write_secret(const char *path, const char *text)
{
    write_bytes(path, text, strlen(text), 0600);
}

static int setup(void **state)
{
    return fixture_setup(state) || mkdir("t", 0700) || mkdir("t/spring", 0700) ? -1 : 0;
}

static int teardown(void **state)
{
    char command[200];

    snprintf(command, sizeof command, "rm -rf %s/t %s/secrets", fixture_folder, fixture_folder);
    return system(command) ? -1 : fixture_teardown(state); /* NOLINT: the name is our own */
}

#define tree_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define IMPORT "--spring.config.import=configtree:t/"

static void a_file_is_a_key(void **state)
{
    struct config *c;

    (void)state;
    write_secret("t/spring.datasource.password", "s3cret\n");
    write_secret("t/xxl.job.access-token", " t${0}ken\\n \r\n"); /* as it is, but for its end of line */
    write_secret("t/spring/datasource.username", "sw");
    write_secret("t/shardwheel.alarm.text", "one\ntwo\n\n");
    c = load(ARGS(URL, IMPORT), NO_ENV);
    assert_string_equal(c->datasource_password, "s3cret");
    assert_string_equal(c->access_token, " t${0}ken\\n ");
    assert_string_equal(c->datasource_username, "sw");
    assert_string_equal(c->alarm_text, "one\ntwo\n");
    assert_string_equal(config_get_source(c, "spring.datasource.password"), "t/spring.datasource.password");
    assert_int_equal(count_notes(c, CONFIG_NOTE_WARNING), 0);
    config_destroy(c);
}

static void what_imports_is_overridden_and_the_environment_overrides(void **state)
{
    struct config *c;

    (void)state;
    write_file("application.properties",
               "spring.datasource.password=file\nspring.config.import=optional:configtree:none/"
               ", configtree:t/\nxxl.job.accessToken=${my_token}\nspring.mail.password=p\n");
    write_file("b.properties", "spring.mail.password=later\n");
    write_secret("t/spring.datasource.password", "tree");
    write_secret("t/spring.mail.password", "tree");
    write_secret("t/my_token", "t0ken");
    write_secret("t/xxl.job.i18n", "en");
    c = load(ARGS(URL, "--spring.config.additional-location=b.properties"), ENV("XXL_JOB_I18N=zh_TC"));
    assert_string_equal(c->datasource_password, "tree");
    assert_string_equal(c->mail_password, "later"); /* a file that is read after it */
    assert_string_equal(c->access_token, "t0ken");
    assert_string_equal(c->i18n, "zh_TC");
    assert_int_equal(count_notes(c, CONFIG_NOTE_WARNING), 0);
    config_destroy(c);
}

static void other_files_are_named_and_passed_over(void **state)
{
    struct config *c;

    (void)state;
    write_secret("t/spring.sql.name", "s3cret");
    write_secret("t/shardwheel.nothing", "s3cret");
    write_secret("t/foreign", "s3cret");
    write_bytes("t/large", fixture_folder, 10, 0600);
    assert_int_equal(truncate("t/large", 65537), 0);
    write_secret("t/.hidden", "s3cret");
    c = load(ARGS(URL, IMPORT), NO_ENV);
    assert_string_equal(c->datasource_password, "");
    check_note(c, CONFIG_NOTE_WARNING, "did you mean shardwheel.");
    check_note(c, CONFIG_NOTE_WARNING, "t/foreign is not used");
    check_note(c, CONFIG_NOTE_WARNING, "t/large is ignored: more than 65536 bytes");
    assert_int_equal(count_notes(c, CONFIG_NOTE_WARNING), 3);
    check_note(c, CONFIG_NOTE_IGNORED, "t/spring.sql.name");
    config_destroy(c);
}

static void bad_values_are_errors_that_do_not_show_them(void **state)
{
    (void)state;
    write_bytes("t/spring.mail.password", "s3cret\0x", 8, 0600);
    check_error(ARGS(URL, IMPORT), NO_ENV, "t/spring.mail.password: a NUL byte");
    write_secret("t/spring.mail.password", "s3cret\ns3cret\n");
    check_error(ARGS(URL, IMPORT), NO_ENV, "t/spring.mail.password: several lines");
    write_secret("t/spring.mail.password", "s3cret\xff");
    check_error(ARGS(URL, IMPORT), NO_ENV, "t/spring.mail.password: it is not UTF-8");
    assert_int_equal(truncate("t/spring.mail.password", 65537), 0);
    check_error(ARGS(URL, IMPORT), NO_ENV, "t/spring.mail.password: more than 65536 bytes");
    write_secret("t/spring.mail.password", "");
    write_secret("t/spring.datasource.pasword", "s3cret"); /* as in a properties file */
    check_error(ARGS(URL, IMPORT), NO_ENV, "did you mean spring.datasource.password?");
    assert_int_equal(unlink("t/spring.datasource.pasword"), 0);
    write_secret("t/server.port", "s3cret");
    check_error(ARGS(URL, IMPORT, "--server.port=1x"), NO_ENV, "command line: server.port: got \"1x\"");
    check_error(ARGS(URL, "--spring.config.import=configtree:nowhere/"), NO_ENV,
                "command line: spring.config.import: nowhere/: there is no such folder");
    check_error(ARGS(URL, "--spring.config.import=configtree:t/*/"), NO_ENV, "a folder without * is expected");
}

static void what_others_may_read_is_warned_of(void **state)
{
    struct config *c;

    (void)state;
    write_bytes("t/spring.mail.password", "p", 1, 0644);
    write_bytes("t/spring.mail.host", "h", 1, 0644);
    c = load(ARGS(URL, IMPORT), NO_ENV);
    assert_int_equal(count_notes(c, CONFIG_NOTE_WARNING), 0); /* nobody comes into the folder */
    config_destroy(c);
    assert_int_equal(chmod("t", 0755), 0);
    c = load(ARGS(URL, IMPORT), NO_ENV);
    check_note(c, CONFIG_NOTE_WARNING, "t/spring.mail.password: every user of this machine can read it");
    assert_int_equal(count_notes(c, CONFIG_NOTE_WARNING), 1);
    config_destroy(c);
    assert_int_equal(chmod("t/spring.mail.password", 0640), 0);
    c = load(ARGS(URL, IMPORT), NO_ENV);
    assert_int_equal(count_notes(c, CONFIG_NOTE_WARNING), 0);
    config_destroy(c);
}

static void credentials_of_systemd_come_by_themselves(void **state)
{
    char folder[100];
    struct config *c;

    (void)state;
    snprintf(folder, sizeof folder, "CREDENTIALS_DIRECTORY=%s/t", fixture_folder);
    write_bytes("t/shardwheel_spring.datasource.password", "s3cret", 6, 0440);
    write_secret("t/xxl.job.accessToken", "t0ken");
    write_secret("t/shardwheel_sub_key", "x");
    write_secret("t/somebody.elses", "x");
    (void)mkdir("secrets", 0700);
    write_secret("secrets/spring.mail.password", "beside");
    write_file("a.properties", "spring.datasource.url=jdbc:mysql://h/d\nspring.datasource.password=file\n");
    c = load(ARGS("--config", "a.properties"), ENV(folder));
    assert_string_equal(c->datasource_password, "s3cret");
    assert_string_equal(c->access_token, "t0ken");
    assert_string_equal(c->mail_password, ""); /* what is beside counts only without credentials */
    check_note(c, CONFIG_NOTE_WARNING, "shardwheel_sub_key is not used");
    assert_int_equal(count_notes(c, CONFIG_NOTE_WARNING), 1);
    config_destroy(c);
    c = load(ARGS("--config", "a.properties"), NO_ENV);
    assert_string_equal(c->mail_password, "beside");
    config_destroy(c);
}

/* As another user where this one may read everything. */
static void what_may_not_be_read_is_told(void **state)
{
    struct config *c;

    (void)state;
    (void)mkdir("secrets", 0700);
    write_secret("secrets/spring.datasource.password", "s3cret");
    write_secret("t/spring.datasource.password", "s3cret");
    assert_int_equal(chmod("t/spring.datasource.password", 0), 0);
    write_file("a.properties", "spring.datasource.url=jdbc:mysql://h/d\n");
    assert_int_equal(chmod(fixture_folder, 0755) || chmod("t", 0755) || chmod("secrets", 0), 0);
    if (geteuid() == 0)
        assert_int_equal(seteuid(NOBODY), 0);
    check_error(ARGS("--config", "a.properties", IMPORT), NO_ENV,
                "t/spring.datasource.password: this user cannot read it");
    check_error(ARGS("--config", "a.properties", "--spring.config.import=configtree:secrets/"), NO_ENV,
                "secrets/: Permission denied: passwords and tokens in it are missing");
    c = load(ARGS("--config", "a.properties"), NO_ENV);
    if (geteuid() == NOBODY)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod("secrets", 0700), 0);
    check_note(c, CONFIG_NOTE_UNREADABLE, "secrets: Permission denied");
    config_destroy(c);
}

static void a_reload_reads_the_files_again(void **state)
{
    char *args[] = {"shardwheel", URL, IMPORT, NULL};
    struct errctx ec = {{0}};
    struct config *fresh = NULL;
    struct config *c;

    (void)state;
    write_secret("t/xxl.job.accessToken", "one");
    c = load(args, NO_ENV);
    write_secret("t/xxl.job.accessToken", "two");
    assert_int_equal(config_reload(c, 3, args, NO_ENV, &fresh, &ec), ERR_OK);
    assert_string_equal(fresh->access_token, "two");
    config_destroy(fresh);
    config_destroy(c);
}

static void a_data_folder_has_its_token(void **state)
{
    struct config *c;

    (void)state;
    c = load(ARGS("standalone", "--data", "t"), NO_ENV);
    assert_string_equal(c->access_token, "");
    config_destroy(c);
    write_secret("t/" CONFIG_TOKEN_FILE, "t0ken\n");
    c = load(ARGS("standalone", "--data", "t"), NO_ENV);
    assert_string_equal(c->access_token, "t0ken");
    assert_string_equal(config_get_source(c, "xxl.job.accessToken"), "t/" CONFIG_TOKEN_FILE);
    config_destroy(c);
    c = load(ARGS("standalone", "--data", "t", "--xxl.job.accessToken="), NO_ENV);
    assert_string_equal(c->access_token, "");
    config_destroy(c);
}

static void secrets_on_the_command_line_are_warned_of(void **state)
{
    struct config *c;

    (void)state;
    c = load(ARGS("--spring.datasource.url=jdbc:mysql://u:s3cret@h/d", "--xxl.job.accessToken=t0ken"), NO_ENV);
    check_note(c, CONFIG_NOTE_WARNING, "xxl.job.accessToken is on the command line");
    check_note(c, CONFIG_NOTE_WARNING, "the password of spring.datasource.url is on the command line");
    config_destroy(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        tree_test(a_file_is_a_key),
        tree_test(what_imports_is_overridden_and_the_environment_overrides),
        tree_test(other_files_are_named_and_passed_over),
        tree_test(bad_values_are_errors_that_do_not_show_them),
        tree_test(what_others_may_read_is_warned_of),
        tree_test(credentials_of_systemd_come_by_themselves),
        tree_test(what_may_not_be_read_is_told),
        tree_test(a_reload_reads_the_files_again),
        tree_test(a_data_folder_has_its_token),
        tree_test(secrets_on_the_command_line_are_warned_of),
    };

    return cmocka_run_group_tests_name("config.tree", tests, NULL, NULL);
}
