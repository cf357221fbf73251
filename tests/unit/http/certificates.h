/* SPDX-License-Identifier: MIT */
/* certificates: files for tests of TLS, made by the program openssl in a folder of their own. */
#ifndef TEST_CERTIFICATES_H
#define TEST_CERTIFICATES_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct certificates {
    char dir[40];
    char path[160]; /* of certificates_path, until it is called again */
};

static inline const char *certificates_path(struct certificates *c, const char *name)
{
    snprintf(c->path, sizeof c->path, "%s/%s", c->dir, name);
    return c->path;
}

/* A line of the shell, in the folder. */
__attribute__((format(printf, 2, 3))) static inline bool certificates_run(struct certificates *c, const char *line, ...)
{
    char command[2000];
    int n = snprintf(command, sizeof command, "cd %s && ", c->dir);
    va_list args;

    va_start(args, line);
    vsnprintf(command + n, sizeof command - (size_t)n, line, args);
    va_end(args);
    return system(command) == 0;
}

/* NAME.pem and NAME.key, for NAME.test and 127.0.0.1; vouched for by itself. */
static inline bool certificates_make(struct certificates *c, const char *name)
{
    return certificates_run(c,
                            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj "
                            "/CN=%s.test -addext subjectAltName=DNS:%s.test,IP:127.0.0.1 -keyout %s.key -out %s.pem "
                            "2>openssl.log",
                            name, name, name, name);
}

static inline bool certificates_begin(struct certificates *c)
{
    snprintf(c->dir, sizeof c->dir, "/tmp/shardwheel-tls-XXXXXX");
    return mkdtemp(c->dir) && certificates_make(c, "one");
}

static inline void certificates_end(struct certificates *c)
{
    (void)!certificates_run(c, "rm -r %s", c->dir);
}

#endif
