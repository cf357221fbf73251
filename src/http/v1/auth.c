/* SPDX-License-Identifier: MIT */
#include "http/v1/auth.h"

enum v1_login v1_find_actor(const struct route_call *call, struct actor *out, struct refusal *why)
{
    (void)call;
    *out = (struct actor){0};
    refuse(why, REFUSED_RIGHT, NULL, "log in, or send a token: Authorization: Bearer swt_...");
    return V1_LOGIN_NOBODY;
}

void v1_forget_actor(struct actor *actor)
{
    (void)actor;
}
