/* SPDX-License-Identifier: MIT */
/* jdbc_param: the parameters of a JDBC URL. Private to jdbc_url. */
#ifndef CONFIG_JDBC_PARAM_H
#define CONFIG_JDBC_PARAM_H

#include "shardwheel/config.h"

/* Reads all that stands behind the question mark into the URL. */
MUST_CHECK enum err jdbc_param_parse(struct jdbc_url *url, const char *text, struct errctx *ec);
/* Percent-decodes into *out, of which the old text is freed; `what` names the part in errors. */
MUST_CHECK enum err jdbc_param_decode(const char *text, size_t len, const char *what, char **out, struct errctx *ec);

#endif
