/* SPDX-License-Identifier: MIT */
/* /jobinfo: jobs. */
#include "http/console/console.h"

const struct console_topic console_jobinfo = {NULL, 0};
