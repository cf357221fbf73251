/* SPDX-License-Identifier: MIT */
/* The figures of the dashboard. */
#include "http/console/console.h"

const struct console_topic console_dashboard = {NULL, 0};
