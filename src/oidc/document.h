/* SPDX-License-Identifier: MIT */
/*
 * document: JSON objects of the provider: metadata, key sets, claims. The one file of this area that includes json-c.
 * Pure.
 *
 * Ownership   A document is the caller's, texts in it live as long.
 */
#ifndef OIDC_DOCUMENT_H
#define OIDC_DOCUMENT_H

#include "shardwheel/base.h"

struct document;

/* NULL: it is no JSON object alone, or no memory. */
struct document *document_parse(const char *text);
void document_destroy(struct document *d); /* NULL is fine */
/* NULL: absent, no text, or one with a NUL. */
const char *document_get_text(const struct document *d, const char *name);
/* False: absent, or no whole number of seconds since the epoch. Fractions are cut. */
bool document_get_time(const struct document *d, const char *name, int64_t *out_s);
bool document_has_list(const struct document *d, const char *name);
bool document_is_true(const struct document *d, const char *name);
/* Whether the list has that text. A text alone counts as a list of one. */
bool document_lists(const struct document *d, const char *name, const char *text);
size_t document_count(const struct document *d, const char *name); /* of such a list */
/* The i-th object of the list, to be destroyed; NULL behind the last, and for what is no object. */
struct document *document_get_item(const struct document *d, const char *name, size_t i);
const char *document_get_json(const struct document *d); /* all of it as text */
/* Calls put for each text at the path, whose parts are separated by '.': a list, or one alone. A name with a '.' of its
 * own is found as well. */
void document_each_text(const struct document *d, const char *path, size_t len,
                        void (*put)(void *arg, const char *text), void *arg);

#endif
