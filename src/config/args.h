/* SPDX-License-Identifier: MIT */
/* args: the shape of the command line. Everything but copies of settings is borrowed from argv. */
#ifndef CONFIG_ARGS_H
#define CONFIG_ARGS_H

#include "config/settings.h"
#include "shardwheel/config.h"

#define CONFIG_USAGE                                                                                                   \
    "shardwheel [standalone [--data DIR] | install-schema | ctl COMMAND] [--config FILE]... [--KEY=VALUE]..."
struct args {
    enum config_command command;
    enum config_format help_format;
    bool is_standalone;
    bool is_ctl;
    const char *first_word;      /* of a form with two, once it was there; else NULL */
    const struct ctl_form *form; /* of the command of shardwheelctl; NULL: none so far */
    int operands;                /* behind it; without shardwheelctl: commands */
    struct config_ctl ctl;       /* texts are borrowed from argv */
    const char *data_dir;        /* NULL: not given */
    const char **files;          /* of --config, in their order; the array is ours */
    size_t file_count;
    struct settings settings; /* --KEY=VALUE, unchecked */
};

/* Writes into zeroed storage; to be followed by args_fini, also after an error. */
MUST_CHECK enum err args_parse(int argc, char **argv, struct args *out, struct errctx *ec);
void args_fini(struct args *args);

#endif
