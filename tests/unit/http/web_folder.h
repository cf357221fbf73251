/* SPDX-License-Identifier: MIT */
/* web_folder: a folder of files for tests of the console's files, as small as it may be. */
#ifndef SHARDWHEEL_TESTS_HTTP_WEB_FOLDER_H
#define SHARDWHEEL_TESTS_HTTP_WEB_FOLDER_H

#include "http/web/files.h"
#include "test.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INDEX_TEXT "<base href=\"%BASE%\"><meta content=\"%NONCE%\">100% <style nonce=\"%NONCE%\">%BAS%</style>"

static char folder[] = "/tmp/shardwheel-web-XXXXXX";

static inline int folder_create(void **state)
{
    (void)state;
    strcpy(strrchr(folder, '-') + 1, "XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static inline int folder_remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static inline int folder_remove(void **state)
{
    (void)state;
    return nftw(folder, folder_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline const char *folder_path(const char *name)
{
    static char path[1000];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* With the folders that are in its name. */
static inline void folder_add(const char *name, const char *text)
{
    char path[1000];

    strcpy(path, folder_path(name));
    for (char *slash = path + strlen(folder) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        (void)!mkdir(path, 0700);
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

#endif
