/* SPDX-License-Identifier: MIT */
/*
 * settings: names and values as they were given, before anybody asks what they mean; relaxed names; placeholders.
 *
 * Relaxed names follow Spring: in files and arguments case, dashes and underscores do not count, so that
 * access-token and accessToken are one; in the environment a dot is an underscore and a dash or hump may be one
 * or nothing.
 */
#ifndef CONFIG_SETTINGS_H
#define CONFIG_SETTINGS_H

#include "shardwheel/base.h"

enum setting_from {
    SETTING_FROM_FILE,
    SETTING_FROM_TREE, /* a file that is one key's alone: its value has no placeholders */
    SETTING_FROM_ENVIRONMENT,
    SETTING_FROM_ARGUMENT,
};

struct setting {
    char *name;  /* as given; of the environment: the key that it sets */
    char *value; /* as given: placeholders are still there, but for SETTING_FROM_TREE */
    char *source;
    enum setting_from from;
    bool used; /* a placeholder has named it: it may be a key that nobody knows */
};

/* In the order of precedence: later wins. Zero-initialised is empty and valid. */
struct settings {
    struct setting *items;
    size_t count;
};

void settings_fini(struct settings *s);
MUST_CHECK enum err settings_add(struct settings *s, enum setting_from from, const char *source, const char *name,
                                 const char *value, struct errctx *ec);
/* Moves all of `tail` to the end of `s`. */
MUST_CHECK enum err settings_append(struct settings *s, struct settings *tail, struct errctx *ec);
/* The one that wins, or NULL. */
struct setting *settings_find(const struct settings *s, const char *name);

/* Replaces ${name} and ${name:default} in `text`. A name is looked up in the arguments, the environment, the
 * files. Without a value and a default it is ERR_INPUT; so are placeholders that go round in circles. *out is the
 * caller's. */
MUST_CHECK enum err settings_resolve(const struct settings *s, char **envp, const char *text, char **out,
                                     struct errctx *ec);

bool name_is_equal(const char *a, const char *b);
/* A key that ends in a dot stands for all that begin with it. */
bool name_is_under(const char *name, const char *key);
bool name_is_variable(const char *variable, size_t len, const char *key);
/* How many letters and digits must change to make one of the other. */
size_t name_distance(const char *a, const char *b);

#endif
