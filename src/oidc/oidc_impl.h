/* SPDX-License-Identifier: MIT */
/* oidc_impl: what the files of oidc share. */
#ifndef OIDC_OIDC_IMPL_H
#define OIDC_OIDC_IMPL_H

#include "oidc/document.h"
#include "oidc/fetch.h"
#include "shardwheel/oidc.h"

/* Where the provider's pages are. "": it has none. */
struct oidc_places {
    char authorize[OIDC_TEXT_MAX + 1], token[OIDC_TEXT_MAX + 1], userinfo[OIDC_TEXT_MAX + 1], keys[OIDC_TEXT_MAX + 1],
        logout[OIDC_TEXT_MAX + 1];
    bool by_form;   /* client id and secret stand in the form, not in Basic */
    bool tells_iss; /* with each code */
};

struct oidc {
    struct oidc_opts opts;     /* [const] */
    const struct clock *clock; /* [const] */
    struct fetcher fetcher;    /* [const] */
    _Atomic bool stopped;      /* [atomic] set once; relaxed: nothing else is told by it */
    struct mutex lock;         /* rank LOCK_LEAF */
    struct oidc_places places; /* [lock] as all below */
    int64_t places_mono_ms;    /* when they were read; -1: never */
    char *keys;                /* a JWKS; NULL: never read */
    int64_t keys_mono_ms;      /* when it was read last */
    int64_t asked_mono_ms;     /* when it was asked for last; -1: never */
};

/* The provider's places, as known for an hour at most. ERR_LOST: they cannot be read; *finding says which way. */
MUST_CHECK enum err oidc_find_places(struct oidc *o, struct oidc_places *out, enum oidc_finding *finding,
                                     struct errctx *ec);
/* A copy of its keys, as known for an hour at most; `newer`: asked for again, unless that was just done. */
MUST_CHECK enum err oidc_find_keys(struct oidc *o, const struct oidc_places *places, bool newer, char **out,
                                   struct errctx *ec);
/* POSTs to its token page; `form` is what to send beside client id and secret, which go as the provider wants them. */
MUST_CHECK enum err oidc_ask_token(struct oidc *o, const struct oidc_places *places, const struct buf *form,
                                   struct fetch_answer *out, struct errctx *ec);
/* name=value, encoded, with & in front where `out` has something. */
void oidc_put_field(struct buf *out, const char *name, const char *value);

#endif
