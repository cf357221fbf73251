/* SPDX-License-Identifier: MIT */
/* quote: text of the operator's in messages. Pure. */
#ifndef CONFIG_QUOTE_H
#define CONFIG_QUOTE_H

/* Text of the operator's for an error: in quotes, cut when long, without control characters. */
struct quoted {
    char s[160];
};
struct quoted quote(const char *text);

#endif
