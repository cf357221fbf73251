/* SPDX-License-Identifier: MIT */
/* args: the shape of the command line. Everything but copies of settings is borrowed from argv. */
#ifndef CONFIG_ARGS_H
#define CONFIG_ARGS_H

#include "config/settings.h"
#include "shardwheel/config.h"

#define CONFIG_USAGE                                                                                                   \
    "shardwheel [standalone [--data DIR] | install-schema | ctl COMMAND] [--config FILE]... [--KEY=VALUE]..."
#define CONFIG_CTL_USAGE                                                                                               \
    "shardwheelctl shards|nodes [--json] | drain NODE [--force] [--wait S] | undrain NODE | release SHARD [--wait S] " \
    "| reshard N|cancel [--wait S] | set-zone database|cron ZONE [--force] | job ID [--json] | set-job ID "            \
    "--SETTING VALUE... [--json] | kill|log LOG | trigger JOB [--param P] [--addresses A] [--at TIME] [--json] | "     \
    "later [--json] | cancel-later ID | going-back [--json] | why JOB [--from T] [--to T] [--json] | after-restore "   \
    "[--from T] [--ids N] [--dry-run] [--force] [--json] | doctor [--json] [--verbose] [--ask-executors] [--wait S] "  \
    "| alarm-test [--group APP] [--json], and [--config FILE]... [--data DIR] [--KEY=VALUE]... as for the node"

struct args {
    enum config_command command;
    enum config_format help_format;
    bool is_standalone;
    bool is_ctl;
    int operands;          /* of a command of shardwheelctl, so far */
    struct config_ctl ctl; /* texts are borrowed from argv */
    const char *data_dir;  /* NULL: not given */
    const char **files;    /* of --config, in their order; the array is ours */
    size_t file_count;
    struct settings settings; /* --KEY=VALUE, unchecked */
};

/* Writes into zeroed storage; to be followed by args_fini, also after an error. */
MUST_CHECK enum err args_parse(int argc, char **argv, struct args *out, struct errctx *ec);
void args_fini(struct args *args);

#endif
