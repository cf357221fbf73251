/* SPDX-License-Identifier: MIT */
/*
 * v1/auth: who calls api/v1: by `Authorization: Bearer swt_...`, or by the session cookie of the console.
 */
#ifndef HTTP_V1_AUTH_H
#define HTTP_V1_AUTH_H

#include "http/router.h"
#include "shardwheel/admin.h"

enum v1_login {
    V1_LOGIN_KNOWN,   /* `out` is filled in; end it with v1_forget_actor */
    V1_LOGIN_NOBODY,  /* nobody, or not any more: 401, with the text of `why` */
    V1_LOGIN_REFUSED, /* something else is in the way: answered as `why` says */
};

/* May wait for the database. */
enum v1_login v1_find_actor(const struct route_call *call, struct actor *out, struct refusal *why);
void v1_forget_actor(struct actor *actor);

#endif
