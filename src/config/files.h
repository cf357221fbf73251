/* SPDX-License-Identifier: MIT */
/*
 * files: finds the properties files that count, and reads them.
 *
 * With neither --config nor spring.config.location they are ./application.properties and
 * ./config/application.properties, where there; then those of spring.config.additional-location. A place is a
 * file, or a folder with application.properties in it; folders also give application-PROFILE.properties for each
 * active profile, after all others.
 *
 * Folders in which each file is a key (tree.h) come right after the file that names them by spring.config.import. Then
 * come, after all files: the folder `secrets` beside each file of --config, where systemd gives no credentials; those
 * credentials; what the environment or the command line imports.
 */
#ifndef CONFIG_FILES_H
#define CONFIG_FILES_H

#include "config/args.h"
#include "config/origin.h"

/* Adds to `out`. `given` holds what environment and arguments say. */
MUST_CHECK enum err files_load(const struct args *args, const struct settings *given, char **envp, struct settings *out,
                               struct config_origin *origin, struct errctx *ec);

#endif
