/* SPDX-License-Identifier: MIT */
/* /jobgroup: executors. */
#include "http/console/console.h"

const struct console_topic console_jobgroup = {NULL, 0};
