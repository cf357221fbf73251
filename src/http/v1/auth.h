/* SPDX-License-Identifier: MIT */
/*
 * v1/auth: who calls api/v1: by `Authorization: Bearer swt_...`, by a trusted proxy's header, or by the session cookie
 * of a console. See http/visitor.h.
 */
#ifndef HTTP_V1_AUTH_H
#define HTTP_V1_AUTH_H

#include "http/router.h"
#include "shardwheel/admin/login.h"

enum v1_login {
    V1_LOGIN_KNOWN,   /* `out` is filled in; end it with identity_fini */
    V1_LOGIN_NOBODY,  /* nobody, or not any more: 401, with the text of `why` */
    V1_LOGIN_REFUSED, /* something else is in the way: answered as `why` says */
};

/* May wait for the database. */
enum v1_login v1_find_caller(const struct route_call *call, struct identity *out, struct refusal *why);

#endif
