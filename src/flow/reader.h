/* SPDX-License-Identifier: MIT */
/*
 * flow/reader: reads members of JSON objects, and tells what is wrong with them. Each function that finds a fault tells
 * it and goes on with something that does no harm, so that all faults of a document are told at once.
 */
#ifndef FLOW_READER_H
#define FLOW_READER_H

#include "flow/impl.h"

struct reader {
    struct flow *flow;
    struct flow_faults *faults;
};

/* JSON Pointer; one that is very long is cut. */
struct where {
    char text[160];
};

/* A JSON object of the document. */
struct place {
    struct reader *r;
    struct json_object *object;
    struct where where;
};

void reader_fault(struct reader *r, const char *where, const char *fmt, ...) PRINTF_LIKE(3, 4);

struct where reader_where(const struct place *place, const char *member);
/* At that member; NULL: at the object itself. */
void reader_fault_at(const struct place *place, const char *member, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* False: it is no object, which is told. `members`, which ends with NULL: those that it may have. */
bool reader_open(struct place *place, const char *const *members);
/* NULL: it is not there, or null. */
struct json_object *reader_find(const struct place *place, const char *name);
/* NULL when it is not there, or wrong. */
const char *reader_text(struct place *place, const char *name, bool needed);
const char *reader_name(struct place *place, const char *member);
int64_t reader_number(struct place *place, const char *name, int64_t min, int64_t max, bool needed, int64_t usual);
/* The place of its value in the list of words; that of the first word when it is missing or wrong. */
size_t reader_word(struct place *place, const char *name, const char *const *words, size_t count, bool needed);
/* The items of an array; none when it is not there. *count is 0 when it is wrong. */
struct json_object *reader_array(struct place *place, const char *name, size_t max, bool needed, size_t *count);
struct place reader_enter(const struct place *outer, struct json_object *array, const char *name, size_t i);

/* ---- settings.c ---- */

/* Fills in the settings of the flow. ERR_NOMEM alone: faults are told. */
MUST_CHECK enum err flow_read_settings(struct place *document, struct errctx *ec);

#endif
