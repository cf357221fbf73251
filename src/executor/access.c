/* SPDX-License-Identifier: MIT */
#include "shardwheel/executor/access.h"

#include <stdlib.h>

static char *copy_text(const char *text)
{
    return str_copy(text ? text : "");
}

bool executor_access_copy(const char *token, const struct http_tls *tls, struct executor_access *out)
{
    struct executor_access copy = {
        .token = copy_text(token),
        .tls = {.verify = tls->verify,
                .ca = copy_text(tls->ca),
                .cert = copy_text(tls->cert),
                .key = copy_text(tls->key)},
    };

    if (!copy.token || !copy.tls.ca || !copy.tls.cert || !copy.tls.key) {
        executor_access_fini(&copy);
        return false;
    }
    *out = copy;
    return true;
}

void executor_access_fini(struct executor_access *access)
{
    free(access->token);
    free((char *)access->tls.ca);
    free((char *)access->tls.cert);
    free((char *)access->tls.key);
    *access = (struct executor_access){0};
}
