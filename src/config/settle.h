/* SPDX-License-Identifier: MIT */
/* settle: what follows from several values together, once each is there. Private to config. */
#ifndef CONFIG_SETTLE_H
#define CONFIG_SETTLE_H

#include "shardwheel/config.h"

/* Takes the URL apart and decides the coordination; ERR_INPUT when values contradict each other or one is
 * missing. */
MUST_CHECK enum err config_settle(struct config *config, bool is_standalone, struct errctx *ec);

#endif
