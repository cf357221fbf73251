/* SPDX-License-Identifier: MIT */
/* v1/values: what query parameters and members have in common: checks that note what is wrong. */
#ifndef HTTP_V1_VALUES_H
#define HTTP_V1_VALUES_H

#include "http/v1/read.h"

bool v1_is_asked(const struct v1_asked *asked, const char *name);
void v1_note_asked(struct v1_asked *asked, const char *name);
void v1_note_invalid(struct v1_call *c, const char *name, const char *expected); /* "NAME must be EXPECTED" */
/* False, and noted, when it is not good. */
bool v1_check_length(struct v1_call *c, const char *name, const char *text, size_t max_chars);
bool v1_check_int(struct v1_call *c, const char *name, bool good, int64_t min, int64_t max);
int v1_find_choice(struct v1_call *c, const char *name, const char *const *choices, const char *text, int absent);

#endif
