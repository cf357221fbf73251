/* SPDX-License-Identifier: MIT */
/* words: lists of words between commas, and lists in sentences. Pure. */
#ifndef CTL_DOCTOR_WORDS_H
#define CTL_DOCTOR_WORDS_H

#include "shardwheel/base.h"

bool words_have(const char *list, const char *word);      /* in any case; no blanks around commas */
bool words_are_same(const char *list, const char *other); /* the same words, in any order */

/* "a, b, c and 7 more": puts the next one of a list into a sentence, WORDS_SHOWN at most. */
#define WORDS_SHOWN 10
struct words {
    char text[700];
    size_t count;
};
void words_add(struct words *w, const char *word);
void words_add_named(struct words *w, int64_t id, const char *name); /* 12 "report"; NULL and "": the number alone */
const char *words_end(struct words *w);                              /* the whole; add nothing behind it */

/* "node a", as findings name what they are about. */
struct place_text {
    char text[320];
} place_of(const char *kind, const char *name);
/* "12 s", "5 min", "3 h", "2 days": about so long. */
struct span_text {
    char text[32];
} span_of_s(int64_t s);
/* "900 MB", "1.2 GB". */
struct span_text size_of_bytes(int64_t bytes);

#endif
