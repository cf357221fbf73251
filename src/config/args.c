/* SPDX-License-Identifier: MIT */
#include "config/args.h"

#include "config/keys.h"

#include <stdlib.h>
#include <string.h>

void args_fini(struct args *args)
{
    free(args->files);
    settings_fini(&args->settings);
    *args = (struct args){0};
}

static enum err bad_usage(struct errctx *ec, const char *arg, const char *what)
{
    return err_set(ec, ERR_INPUT, "command line: %s: %s; usage: " CONFIG_USAGE, quote(arg).s, what);
}

/* The value of --NAME VALUE or --NAME=VALUE at argv[*i]; NULL when it is another argument. *i moves over what was
 * used. */
static enum err take_option(int argc, char **argv, int *i, const char *option, const char **out, struct errctx *ec)
{
    const char *arg = argv[*i];
    size_t len = strlen(option);
    const char *value;

    *out = NULL;
    if (strncmp(arg, option, len) || (arg[len] && arg[len] != '='))
        return ERR_OK;
    value = arg[len] == '=' ? arg + len + 1 : *i + 1 < argc ? argv[++*i] : "";
    if (!*value || (arg[len] != '=' && *value == '-'))
        return bad_usage(ec, arg, "the name that must follow is missing");
    *out = value;
    return ERR_OK;
}

static enum err take_word(struct args *args, const char *arg, bool *seen, struct errctx *ec)
{
    if (*seen)
        return bad_usage(ec, arg, "there is one command already");
    *seen = true;
    if (!strcmp(arg, "standalone")) {
        args->is_standalone = true;
        return ERR_OK;
    }
    if (!strcmp(arg, "install-schema")) {
        args->command = CONFIG_INSTALL_SCHEMA;
        return ERR_OK;
    }
    return bad_usage(ec, arg, "expected the command standalone or install-schema, or an option");
}

static enum err take_setting(struct args *args, const char *arg, struct errctx *ec)
{
    const char *equals = strchr(arg, '=');
    char *name;
    enum err e;

    if (strncmp(arg, "--", 2) || !equals || equals == arg + 2)
        return bad_usage(ec, arg, "expected --KEY=VALUE");
    name = strndup(arg + 2, (size_t)(equals - arg - 2));
    if (!name)
        return err_set(ec, ERR_NOMEM, "out of memory");
    e = settings_add(&args->settings, SETTING_FROM_ARGUMENT, "command line", name, equals + 1, ec);
    free(name);
    return e;
}

static enum err take_arg(int argc, char **argv, int *i, struct args *args, bool *has_command, struct errctx *ec)
{
    const char *value;
    enum err e;

    if (argv[*i][0] != '-')
        return take_word(args, argv[*i], has_command, ec);
    e = take_option(argc, argv, i, "--config", &value, ec);
    if (e)
        return e;
    if (value) {
        args->files[args->file_count++] = value;
        return ERR_OK;
    }
    e = take_option(argc, argv, i, "--data", &value, ec);
    if (e)
        return e;
    if (value) {
        args->data_dir = value;
        return ERR_OK;
    }
    return take_setting(args, argv[*i], ec);
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

enum err args_parse(int argc, char **argv, struct args *out, struct errctx *ec)
{
    bool has_command = false;

    if (find_question(argc, argv, out))
        return ERR_OK;
    out->files = calloc((size_t)(argc > 0 ? argc : 1), sizeof(*out->files));
    if (!out->files)
        return err_set(ec, ERR_NOMEM, "out of memory");
    for (int i = 1; i < argc; i++) {
        enum err e = take_arg(argc, argv, &i, out, &has_command, ec);

        if (e)
            return e;
    }
    if (out->data_dir && !out->is_standalone)
        return bad_usage(ec, "--data", "it goes with the command standalone");
    return ERR_OK;
}
