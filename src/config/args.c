/* SPDX-License-Identifier: MIT */
#include "config/args.h"

#include "config/ctl_forms.h"
#include "config/key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CTL_NAME "shardwheelctl"

void args_fini(struct args *args)
{
    free(args->files);
    settings_fini(&args->settings);
    *args = (struct args){0};
}

/* Of what was not understood the name of a key alone is told, and nothing of a URL: there may be a password in it. */
static struct quoted quote_arg(const char *arg)
{
    char shown[100];
    size_t len = strcspn(arg, "=");

    if (!arg[len] && !strchr(arg, '@'))
        return quote(arg);
    len = strcspn(arg, "=:@");
    snprintf(shown, sizeof(shown), "%.*s%.1s...", (int)(len < 90 ? len : 90), arg, arg + len);
    return quote(shown);
}

static enum err bad_usage(const struct args *args, struct errctx *ec, const char *arg, const char *what)
{
    const char *usage = !args->is_ctl ? CONFIG_USAGE
                        : args->form  ? args->form->line
                                      : "COMMAND [--config FILE]... [--data DIR] [--KEY=VALUE]...";

    return err_set(ec, ERR_INPUT, "command line: %s: %s; usage: %s%s%s%s", quote_arg(arg).s, what,
                   args->is_ctl ? CTL_NAME " " : "", args->form ? args->form->name : "", args->form ? " " : "", usage);
}

/* The value of --NAME VALUE or --NAME=VALUE at argv[*i]; NULL when it is another argument. *i moves over what was
 * used. */
static enum err take_option(const struct args *args, int argc, char **argv, int *i, const char *option,
                            const char **out, struct errctx *ec)
{
    const char *arg = argv[*i];
    size_t len = strlen(option);
    const char *value;

    *out = NULL;
    if (strncmp(arg, option, len) || (arg[len] && arg[len] != '='))
        return ERR_OK;
    value = arg[len] == '=' ? arg + len + 1 : *i + 1 < argc ? argv[++*i] : "";
    if (!*value || (arg[len] != '=' && *value == '-'))
        return bad_usage(args, ec, arg, "its argument is missing");
    *out = value;
    return ERR_OK;
}

/* ---- commands of shardwheelctl ------------------------------------------------------------------------------- */

static bool *find_flag(struct args *args, size_t i)
{
    return (bool *)((char *)&args->ctl + ctl_flags[i].offset);
}

static enum err take_operand(struct args *args, char *arg, struct errctx *ec)
{
    const struct ctl_operand *operand = args->form->operand;
    bool is_zone = args->ctl.verb == CTL_SET_ZONE;
    void *field;

    if (!operand)
        return bad_usage(args, ec, arg, "this command takes no argument");
    if (operand->words_max) {
        if (args->ctl.word_count == operand->words_max)
            return bad_usage(args, ec, arg, "there is one argument too many");
        args->ctl.words[args->ctl.word_count++] = arg;
        return ERR_OK;
    }
    if (args->operands == 1 + is_zone)
        return bad_usage(args, ec, arg, "there is one argument too many");
    field = (char *)&args->ctl + operand->offset;
    args->operands++;
    if (is_zone && args->operands == 1) {
        args->ctl.is_cron_zone = !strcmp(arg, "cron");
        return args->ctl.is_cron_zone || !strcmp(arg, "database")
                   ? ERR_OK
                   : bad_usage(args, ec, arg, "expected database or cron");
    }
    if (!operand->expected)
        *(char **)field = arg;
    else if (args->ctl.verb == CTL_RESHARD && !strcmp(arg, "cancel"))
        args->ctl.number = 0;
    else if (!parse_int(arg, operand->min, operand->max, field))
        return bad_usage(args, ec, arg, operand->expected);
    return ERR_OK;
}

static enum err refuse_command(const struct args *args, const char *arg, struct errctx *ec)
{
    struct buf expected = {0};

    buf_puts(&expected, "expected ");
    ctl_forms_put_names(args->first_word, &expected);
    bad_usage(args, ec, arg, buf_failed(&expected) ? "there is no such command" : expected.data);
    buf_fini(&expected);
    return ERR_INPUT;
}

static enum err take_ctl_word(struct args *args, char *arg, struct errctx *ec)
{
    if (args->form)
        return take_operand(args, arg, ec);
    for (size_t i = 0; i < ctl_form_count; i++) {
        const char *name = ctl_forms[i].name;
        size_t len = strcspn(name, " ");

        if (!args->first_word && name[len] && strlen(arg) == len && !strncmp(arg, name, len)) {
            args->first_word = arg;
            return ERR_OK;
        }
        if (args->first_word ? strncmp(args->first_word, name, len) || !name[len] || strcmp(arg, name + len + 1)
                             : strcmp(arg, name) != 0)
            continue;
        args->form = &ctl_forms[i];
        args->ctl.verb = args->form->verb;
        return ERR_OK;
    }
    return refuse_command(args, arg, ec);
}

/* --NAME VALUE or --NAME=VALUE of commands that take such; keys of the node's settings have dots. The value may be
 * empty, which unsets a setting. -f is --file. */
static enum err take_ctl_setting(struct args *args, int argc, char **argv, int *i, bool *taken, struct errctx *ec)
{
    static char file[] = "--file";
    bool is_file = (args->ctl.verb == CTL_FLOW_APPLY || args->ctl.verb == CTL_APPLY) && !strcmp(argv[*i], "-f");
    char *arg = is_file ? file : argv[*i], *equals = strchr(arg, '=');
    struct ctl_setting *set = &args->ctl.settings[args->ctl.setting_count];

    *taken = args->form && args->form->flags & CTL_TAKES_SETTINGS && !strncmp(arg, "--", 2) && arg[2] &&
             arg[2] != '=' && !memchr(arg, '.', equals ? (size_t)(equals - arg) : strlen(arg));
    if (!*taken)
        return ERR_OK;
    if (!equals && *i + 1 >= argc)
        return bad_usage(args, ec, arg, "its value is missing");
    if (args->ctl.setting_count == CTL_SETTINGS_MAX)
        return bad_usage(args, ec, arg, "there are too many settings");
    set->value = equals ? equals + 1 : argv[++*i];
    if (equals)
        *equals = '\0';
    set->name = arg + 2;
    args->ctl.setting_count++;
    return ERR_OK;
}

static enum err check_ctl(struct args *args, struct errctx *ec)
{
    const struct ctl_form *form = args->form;

    if (!form)
        return refuse_command(args, "", ec);
    if (form->operand && form->operand->words_max ? args->ctl.word_count < form->operand->words_min
                                                  : form->operand && args->operands < 1 + (form->verb == CTL_SET_ZONE))
        return bad_usage(args, ec, form->name, form->operand->missing);
    for (size_t i = 0; i < CTL_FLAGS; i++)
        if (*find_flag(args, i) && !(form->flags & 1u << i))
            return bad_usage(args, ec, ctl_flags[i].name, ctl_flags[i].misplaced);
    if (args->ctl.group && form->verb != CTL_ALARM_TEST && form->verb != CTL_JOBS && form->verb != CTL_RUNS &&
        form->verb != CTL_EXPORT && form->verb != CTL_SET_ALARM_RULE)
        return bad_usage(args, ec, "--group", "it is only for alarm-test, jobs, runs, export and set-alarm-rule");
    if (args->ctl.wait_ms && !form->wait_ms)
        return bad_usage(args, ec, "--wait", "it is only for drain, release, reshard and doctor");
    if (form->verb == CTL_SET_JOB && !args->ctl.setting_count)
        return bad_usage(args, ec, form->name, "a setting is missing, such as --time-zone Asia/Shanghai");
    if ((form->verb == CTL_FLOW_APPLY || form->verb == CTL_APPLY) && !args->ctl.setting_count)
        return bad_usage(args, ec, form->name, "-f and the file of the document are missing");
    if (!args->ctl.wait_ms)
        args->ctl.wait_ms = form->wait_ms;
    return ERR_OK;
}

/* ---- all command lines ---------------------------------------------------------------------------------------- */

static enum err take_word(struct args *args, char *arg, struct errctx *ec)
{
    if (strchr(arg, '='))
        return bad_usage(args, ec, arg, "expected --KEY=VALUE");
    if (args->is_ctl)
        return take_ctl_word(args, arg, ec);
    if (args->operands++)
        return bad_usage(args, ec, arg, "only one command is allowed");
    if (!strcmp(arg, "standalone")) {
        args->is_standalone = true;
        return ERR_OK;
    }
    if (!strcmp(arg, "install-schema")) {
        args->command = CONFIG_INSTALL_SCHEMA;
        return ERR_OK;
    }
    if (!strcmp(arg, "ctl"))
        return bad_usage(args, ec, arg, "it must be the first argument");
    return bad_usage(args, ec, arg, "expected the command standalone, install-schema or ctl, or an option");
}

static enum err take_setting(struct args *args, const char *arg, struct errctx *ec)
{
    const char *equals = strchr(arg, '=');
    char *name;
    enum err e;

    if (strncmp(arg, "--", 2) || !equals || equals == arg + 2)
        return bad_usage(args, ec, arg, "expected --KEY=VALUE");
    name = strndup(arg + 2, (size_t)(equals - arg - 2));
    if (!name)
        return no_memory(ec);
    e = settings_add(&args->settings, SETTING_FROM_ARGUMENT, "command line", name, equals + 1, ec);
    free(name);
    return e;
}

/* Options whose value may stand behind them; the last two are those of shardwheelctl. *taken: it was one. */
static enum err take_known(int argc, char **argv, int *i, struct args *args, bool *taken, struct errctx *ec)
{
    static const char *const names[] = {"--config", "--data", "--group", "--wait"};
    int64_t seconds;

    for (size_t k = 0; k < (args->is_ctl ? 4 : 2); k++) {
        const char *value;
        enum err e = take_option(args, argc, argv, i, names[k], &value, ec);

        if (e)
            return e;
        if (!value)
            continue;
        *taken = true;
        if (k == 0)
            args->files[args->file_count++] = value;
        else if (k == 1)
            args->data_dir = value;
        else if (k == 2)
            args->ctl.group = value;
        else if (parse_int(value, 1, 3600, &seconds))
            args->ctl.wait_ms = seconds * SECOND_MS;
        else
            return bad_usage(args, ec, value, "expected seconds, 1 to 3600");
        return ERR_OK;
    }
    for (size_t k = 0; args->is_ctl && !*taken && k < CTL_FLAGS; k++) {
        if (strcmp(argv[*i], ctl_flags[k].name) != 0)
            continue;
        *find_flag(args, k) = true;
        *taken = true;
    }
    return ERR_OK;
}

static enum err take_arg(int argc, char **argv, int *i, struct args *args, struct errctx *ec)
{
    bool taken = false;
    enum err e;

    if (argv[*i][0] != '-')
        return take_word(args, argv[*i], ec);
    e = take_known(argc, argv, i, args, &taken, ec);
    if (!e && !taken && args->is_ctl)
        e = take_ctl_setting(args, argc, argv, i, &taken, ec);
    return e || taken ? e : take_setting(args, argv[*i], ec);
}

/* What is printed and then ends goes before all else on the line, which is not even looked at. */
static bool find_question(int argc, char **argv, struct args *args)
{
    static const struct {
        const char *arg;
        enum config_command command;
        enum config_format format;
    } questions[] = {
        {"-h", CONFIG_HELP, CONFIG_FORMAT_TEXT},
        {"--help", CONFIG_HELP, CONFIG_FORMAT_TEXT},
        {"--version", CONFIG_VERSION, CONFIG_FORMAT_TEXT},
        {"--help-config", CONFIG_HELP_CONFIG, CONFIG_FORMAT_TEXT},
        {"--help-config=text", CONFIG_HELP_CONFIG, CONFIG_FORMAT_TEXT},
        {"--help-config=properties", CONFIG_HELP_CONFIG, CONFIG_FORMAT_PROPERTIES},
        {"--help-config=markdown", CONFIG_HELP_CONFIG, CONFIG_FORMAT_MARKDOWN},
    };

    for (int i = 1; i < argc; i++) {
        for (size_t k = 0; k < ARRAY_LEN(questions); k++) {
            if (!strcmp(argv[i], questions[k].arg)) {
                args->command = questions[k].command;
                args->help_format = questions[k].format;
                return true;
            }
        }
    }
    return false;
}

bool config_is_ctl(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const char *name = slash ? slash + 1 : argc > 0 ? argv[0] : "";

    return !strcmp(name, CTL_NAME) || (argc > 1 && !strcmp(argv[1], "ctl"));
}

enum err args_parse(int argc, char **argv, struct args *out, struct errctx *ec)
{
    out->is_ctl = config_is_ctl(argc, argv);
    if (find_question(argc, argv, out))
        return ERR_OK;
    out->files = calloc((size_t)(argc > 0 ? argc : 1), sizeof *out->files);
    if (!out->files)
        return no_memory(ec);
    if (out->is_ctl)
        out->command = CONFIG_CTL;
    for (int i = out->is_ctl && !strcmp(argc > 1 ? argv[1] : "", "ctl") ? 2 : 1; i < argc; i++) {
        enum err e = take_arg(argc, argv, &i, out, ec);

        if (e)
            return e;
    }
    if (out->is_ctl)
        return check_ctl(out, ec);
    if (out->data_dir && !out->is_standalone)
        return bad_usage(out, ec, "--data", "it is only for the command standalone");
    return ERR_OK;
}
