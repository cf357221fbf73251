/* SPDX-License-Identifier: MIT */
/* /joblog: runs. */
#include "http/console/console.h"

const struct console_topic console_joblog = {NULL, 0};
