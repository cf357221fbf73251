/* SPDX-License-Identifier: MIT */
/* /user: users. */
#include "http/console/console.h"

const struct console_topic console_user = {NULL, 0};
