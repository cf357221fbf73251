/* SPDX-License-Identifier: MIT */
#include "config/args.h"

#include "config/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CTL_NAME "shardwheelctl"
#define CTL_SHARDS_MAX 1024

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
    return err_set(ec, ERR_INPUT, "command line: %s: %s; usage: %s", quote_arg(arg).s, what,
                   args->is_ctl ? CONFIG_CTL_USAGE : CONFIG_USAGE);
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
        return bad_usage(args, ec, arg, "what must follow it is missing");
    *out = value;
    return ERR_OK;
}

/* ---- commands of shardwheelctl ------------------------------------------------------------------------------- */

/* Flags on the line: which commands they go with stands in ctl_forms, and here what is said of all others. */
enum { JSON = 1, FORCE = 2, DRY_RUN = 4, FOLLOW = 8, VERBOSE = 16, ASK = 32 };
static const struct {
    const char *name;
    unsigned flag;
    size_t offset; /* of a bool of struct config_ctl */
    const char *misplaced;
} ctl_flags[] = {
    {"--json", JSON, offsetof(struct config_ctl, json), "it goes with commands that show or tell something"},
    {"--force", FORCE, offsetof(struct config_ctl, force), "it goes with drain, set-zone and after-restore"},
    {"--dry-run", DRY_RUN, offsetof(struct config_ctl, dry_run), "it goes with after-restore"},
    {"--follow", FOLLOW, offsetof(struct config_ctl, follow), "it goes with log"},
    {"--verbose", VERBOSE, offsetof(struct config_ctl, verbose), "it goes with doctor"},
    {"--ask-executors", ASK, offsetof(struct config_ctl, ask_executors), "it goes with doctor"},
};

static bool *find_flag(struct args *args, size_t i)
{
    return (bool *)((char *)&args->ctl + ctl_flags[i].offset);
}

/* Of a verb: what may stand on its line. */
static const struct ctl_form {
    const char *name;
    enum ctl_verb verb;
    const char *operand; /* what is said when one is missing; NULL: none follows */
    int operands;
    unsigned flags;
    int64_t wait_ms; /* 0: it waits for nothing */
} ctl_forms[] = {
    {"shards", CTL_SHARDS, NULL, 0, JSON, 0},
    {"nodes", CTL_NODES, NULL, 0, JSON, 0},
    {"drain", CTL_DRAIN, "the node's name must follow", 1, FORCE, 30 * SECOND_MS},
    {"undrain", CTL_UNDRAIN, "the node's name must follow", 1, 0, 0},
    {"release", CTL_RELEASE, "the shard's number must follow", 1, 0, 30 * SECOND_MS},
    {"reshard", CTL_RESHARD, "the number of shards must follow", 1, 0, 60 * SECOND_MS},
    {"set-zone", CTL_SET_ZONE, "database or cron must follow, and the zone", 2, FORCE, 0},
    {"job", CTL_JOB, "the job's id must follow", 1, JSON, 0},
    {"set-job", CTL_SET_JOB, "the job's id must follow", 1, JSON, 0},
    {"kill", CTL_KILL, "the id of the run's log row must follow", 1, 0, 0},
    {"log", CTL_LOG, "the id of the run's log row must follow", 1, FOLLOW, 0},
    {"alarm-test", CTL_ALARM_TEST, NULL, 0, JSON, 0},
    {"trigger", CTL_TRIGGER, "the job's id must follow", 1, JSON, 0},
    {"later", CTL_LATER, NULL, 0, JSON, 0},
    {"cancel-later", CTL_CANCEL_LATER, "the id of the later row must follow", 1, 0, 0},
    {"going-back", CTL_GOING_BACK, NULL, 0, JSON, 0},
    {"why", CTL_WHY, "the job's id must follow", 1, JSON, 0},
    {"after-restore", CTL_AFTER_RESTORE, NULL, 0, JSON | FORCE | DRY_RUN, 0},
    {"doctor", CTL_DOCTOR, NULL, 0, JSON | VERBOSE | ASK, 30 * SECOND_MS},
};
#define CTL_VERBS                                                                                                      \
    "shards, nodes, drain, undrain, release, reshard, set-zone, job, set-job, kill, log, "                             \
    "alarm-test, trigger, later, cancel-later, going-back, why, after-restore or doctor"

static const struct ctl_form *find_form(enum ctl_verb verb)
{
    for (size_t i = 0; i < ARRAY_LEN(ctl_forms); i++) {
        if (ctl_forms[i].verb == verb)
            return &ctl_forms[i];
    }
    return NULL;
}

static enum err take_operand(struct args *args, const char *arg, struct errctx *ec)
{
    int64_t number = 0;

    switch (args->ctl.verb) {
    case CTL_DRAIN:
    case CTL_UNDRAIN: args->ctl.node = (char *)arg; return ERR_OK;
    case CTL_RELEASE:
        if (!parse_int(arg, 0, CTL_SHARDS_MAX - 1, &number))
            return bad_usage(args, ec, arg, "expected a shard, 0 to 1023");
        break;
    case CTL_RESHARD:
        if (strcmp(arg, "cancel") && !parse_int(arg, 1, CTL_SHARDS_MAX, &number))
            return bad_usage(args, ec, arg, "expected a number of shards, 1 to 1024, or cancel");
        break;
    case CTL_SET_ZONE:
        if (args->operands == 2) {
            args->ctl.zone = (char *)arg;
            return ERR_OK;
        }
        if (strcmp(arg, "database") && strcmp(arg, "cron"))
            return bad_usage(args, ec, arg, "expected database or cron");
        args->ctl.is_cron_zone = !strcmp(arg, "cron");
        return ERR_OK;
    case CTL_JOB:
    case CTL_SET_JOB:
    case CTL_TRIGGER:
    case CTL_WHY:
        if (!parse_int(arg, 1, INT32_MAX, &args->ctl.job))
            return bad_usage(args, ec, arg, "expected the id of a job, 1 to 2147483647");
        return ERR_OK;
    case CTL_KILL:
    case CTL_LOG:
        if (!parse_int(arg, 1, INT64_MAX, &args->ctl.log_id))
            return bad_usage(args, ec, arg, "expected the id of a log row");
        return ERR_OK;
    case CTL_CANCEL_LATER:
        if (!parse_int(arg, 1, INT64_MAX, &args->ctl.log_id))
            return bad_usage(args, ec, arg, "expected the id of a later row");
        return ERR_OK;
    case CTL_NONE:
    case CTL_SHARDS:
    case CTL_LATER:
    case CTL_GOING_BACK:
    case CTL_AFTER_RESTORE:
    case CTL_NODES:
    case CTL_DOCTOR:
    case CTL_ALARM_TEST: return bad_usage(args, ec, arg, "nothing follows that command");
    }
    args->ctl.number = (int)number;
    return ERR_OK;
}

static enum err take_ctl_word(struct args *args, const char *arg, struct errctx *ec)
{
    const struct ctl_form *form;

    if (args->ctl.verb == CTL_NONE) {
        for (size_t i = 0; i < ARRAY_LEN(ctl_forms); i++) {
            if (!strcmp(arg, ctl_forms[i].name)) {
                args->ctl.verb = ctl_forms[i].verb;
                return ERR_OK;
            }
        }
        return bad_usage(args, ec, arg, "expected " CTL_VERBS);
    }
    form = find_form(args->ctl.verb);
    if (form->operands && args->operands == form->operands)
        return bad_usage(args, ec, arg, "that is one word too many");
    args->operands++;
    return take_operand(args, arg, ec);
}

/* *taken: it was an option of shardwheelctl alone. */
static enum err take_ctl_option(struct args *args, int argc, char **argv, int *i, bool *taken, struct errctx *ec)
{
    const char *value;
    int64_t seconds;
    enum err e;

    *taken = true;
    for (size_t k = 0; k < ARRAY_LEN(ctl_flags); k++) {
        if (!strcmp(argv[*i], ctl_flags[k].name)) {
            *find_flag(args, k) = true;
            return ERR_OK;
        }
    }
    e = take_option(args, argc, argv, i, "--group", &value, ec);
    if (e || value) {
        args->ctl.group = (char *)value;
        return e;
    }
    e = take_option(args, argc, argv, i, "--wait", &value, ec);
    if (e || !value) {
        *taken = false;
        return e;
    }
    if (!parse_int(value, 1, 3600, &seconds))
        return bad_usage(args, ec, value, "expected seconds, 1 to 3600");
    args->ctl.wait_ms = seconds * SECOND_MS;
    return ERR_OK;
}

/* --NAME VALUE or --NAME=VALUE of set-job, trigger, why and after-restore; keys of the node's settings have dots. The
 * value may be empty, which unsets a setting. */
static enum err take_job_setting(struct args *args, int argc, char **argv, int *i, bool *taken, struct errctx *ec)
{
    char *arg = argv[*i], *equals = strchr(arg, '=');
    struct ctl_setting *set = &args->ctl.settings[args->ctl.setting_count];

    *taken = (args->ctl.verb == CTL_SET_JOB || args->ctl.verb == CTL_TRIGGER || args->ctl.verb == CTL_WHY ||
              args->ctl.verb == CTL_AFTER_RESTORE) &&
             !strncmp(arg, "--", 2) && arg[2] && arg[2] != '=' &&
             !memchr(arg, '.', equals ? (size_t)(equals - arg) : strlen(arg));
    if (!*taken)
        return ERR_OK;
    if (!equals && *i + 1 >= argc)
        return bad_usage(args, ec, arg, "its value is missing");
    if (args->ctl.setting_count == CTL_SETTINGS_MAX)
        return bad_usage(args, ec, arg, "there are too many settings on the line");
    set->value = equals ? equals + 1 : argv[++*i];
    if (equals)
        *equals = '\0';
    set->name = arg + 2;
    args->ctl.setting_count++;
    return ERR_OK;
}

static enum err check_ctl(struct args *args, struct errctx *ec)
{
    const struct ctl_form *form = find_form(args->ctl.verb);

    if (!form)
        return bad_usage(args, ec, "", "expected " CTL_VERBS);
    if (args->operands < form->operands)
        return bad_usage(args, ec, form->name, form->operand);
    for (size_t i = 0; i < ARRAY_LEN(ctl_flags); i++)
        if (*find_flag(args, i) && !(form->flags & ctl_flags[i].flag))
            return bad_usage(args, ec, ctl_flags[i].name, ctl_flags[i].misplaced);
    if (args->ctl.group && args->ctl.verb != CTL_ALARM_TEST)
        return bad_usage(args, ec, "--group", "it goes with alarm-test");
    if (args->ctl.wait_ms && !form->wait_ms)
        return bad_usage(args, ec, "--wait", "it goes with drain, release, reshard and doctor");
    if (args->ctl.verb == CTL_SET_JOB && !args->ctl.setting_count)
        return bad_usage(args, ec, form->name, "a setting must follow, such as --time-zone Asia/Shanghai");
    if (!args->ctl.wait_ms)
        args->ctl.wait_ms = form->wait_ms;
    return ERR_OK;
}

/* ---- all command lines ---------------------------------------------------------------------------------------- */

static enum err take_word(struct args *args, const char *arg, bool *seen, struct errctx *ec)
{
    if (strchr(arg, '='))
        return bad_usage(args, ec, arg, "expected --KEY=VALUE");
    if (args->is_ctl)
        return take_ctl_word(args, arg, ec);
    if (*seen)
        return bad_usage(args, ec, arg, "there is one command already");
    *seen = true;
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
    if (args->is_ctl) {
        bool taken;

        e = take_ctl_option(args, argc, argv, i, &taken, ec);
        if (e || taken)
            return e;
    }
    e = take_option(args, argc, argv, i, "--config", &value, ec);
    if (e)
        return e;
    if (value) {
        args->files[args->file_count++] = value;
        return ERR_OK;
    }
    e = take_option(args, argc, argv, i, "--data", &value, ec);
    if (e)
        return e;
    if (value) {
        args->data_dir = value;
        return ERR_OK;
    }
    if (args->is_ctl) {
        bool taken;

        e = take_job_setting(args, argc, argv, i, &taken, ec);
        if (e || taken)
            return e;
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

bool config_is_ctl(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const char *name = slash ? slash + 1 : argc > 0 ? argv[0] : "";

    return !strcmp(name, CTL_NAME) || (argc > 1 && !strcmp(argv[1], "ctl"));
}

enum err args_parse(int argc, char **argv, struct args *out, struct errctx *ec)
{
    bool has_command = false;

    out->is_ctl = config_is_ctl(argc, argv);
    if (find_question(argc, argv, out))
        return ERR_OK;
    out->files = calloc((size_t)(argc > 0 ? argc : 1), sizeof *out->files);
    if (!out->files)
        return err_set(ec, ERR_NOMEM, "out of memory");
    if (out->is_ctl)
        out->command = CONFIG_CTL;
    for (int i = out->is_ctl && !strcmp(argc > 1 ? argv[1] : "", "ctl") ? 2 : 1; i < argc; i++) {
        enum err e = take_arg(argc, argv, &i, out, &has_command, ec);

        if (e)
            return e;
    }
    if (out->is_ctl)
        return check_ctl(out, ec);
    if (out->data_dir && !out->is_standalone)
        return bad_usage(out, ec, "--data", "it goes with the command standalone");
    return ERR_OK;
}
