/* SPDX-License-Identifier: MIT */
/*
 * page_text: a little of the JSON of /actuator/health, as nodes write it: no blanks, texts without escapes but \" and
 * \\. Pure. What is otherwise is not found.
 */
#ifndef CTL_DOCTOR_PAGE_TEXT_H
#define CTL_DOCTOR_PAGE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* The inside of the flat object of that name: `"a":1,"b":true`. False: it is not there, or too long. */
bool page_find_object(const char *json, const char *name, char *out, size_t size);
/* A text of the flat object of that name. */
bool page_find_text(const char *json, const char *object, const char *name, char *out, size_t size);
/* Members whose values are not those of `first`: "guard is false there and true here, ..."; true: there are some. Those
 * that only one side has do not count. */
bool page_compare(const char *first, const char *other, char *out, size_t size);

#endif
