/* SPDX-License-Identifier: MIT */
/*
 * properties: reads text in the form of java.util.Properties, as UTF-8.
 *
 * Blanks, `=` and `:` part key and value; a backslash at the end continues a line; \t \n \f \r \uXXXX and
 * \ before any other character are escapes; # and ! begin comment lines. What Java would accept and nobody can
 * have meant is an error: a value without key, bytes that are no UTF-8, half a surrogate pair, NUL.
 */
#ifndef CONFIG_PROPERTIES_H
#define CONFIG_PROPERTIES_H

#include "shardwheel/base.h"

/* Called for each pair in the order of the text; `line` is where the key stands, counted from 1. An error ends
 * the reading and is returned. */
struct properties_sink {
    enum err (*add)(void *arg, const char *key, const char *value, int line, struct errctx *ec);
    void *arg;
};

/* Errors begin with "file:line: ". */
MUST_CHECK enum err properties_parse(const char *file, const char *text, size_t len, const struct properties_sink *sink,
                                     struct errctx *ec);

#endif
