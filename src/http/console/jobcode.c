/* SPDX-License-Identifier: MIT */
/* /jobcode: GLUE. */
#include "http/console/console.h"

const struct console_topic console_jobcode = {NULL, 0};
