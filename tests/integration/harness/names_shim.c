/* SPDX-License-Identifier: MIT */
/*
 * Loaded into a node by LD_PRELOAD: look-ups of names that end in ".hang.test" hang for minutes, as with a name server
 * that does not answer, and those that end in ".good.test" find 127.0.0.1. All others are as they are.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <dlfcn.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HANG_S = 300 };

typedef int look_up(const char *, const char *, const struct addrinfo *, struct addrinfo **);

static bool ends_with(const char *name, const char *end)
{
    size_t len = name ? strlen(name) : 0;

    return len >= strlen(end) && strcmp(name + len - strlen(end), end) == 0;
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *wanted, struct addrinfo **out)
{
    look_up *real;

    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    if (!real)
        abort();
    if (ends_with(name, ".hang.test")) {
        sleep(HANG_S);
        return EAI_AGAIN;
    }
    return real(ends_with(name, ".good.test") ? "127.0.0.1" : name, service, wanted, out);
}
