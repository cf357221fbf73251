/* SPDX-License-Identifier: MIT */
/* quote: what the messages of this area are made of. Pure. */
#ifndef CONFIG_QUOTE_H
#define CONFIG_QUOTE_H

#include "shardwheel/base.h"

/* Text of the operator's for an error: in quotes, cut when long, without control characters. */
struct quoted {
    char s[160];
};
struct quoted quote(const char *text);

static inline enum err no_memory(struct errctx *ec)
{
    return err_set(ec, ERR_NOMEM, "out of memory");
}

#endif
