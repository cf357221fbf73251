/* SPDX-License-Identifier: MIT */
#include "shardwheel/admin/outside.h"

#include <string.h>
#include <strings.h>

bool local_may_login(const char *setting, const char *name)
{
    size_t len = strlen(name);

    setting += strspn(setting, " \t");
    if (!*setting || !strcasecmp(setting, "all"))
        return true;
    if (!strcasecmp(setting, "none")) /* also of whom that is the name */
        return false;
    while (*setting) {
        size_t n = strcspn(setting, ","), trimmed = n;

        while (trimmed && strchr(" \t", setting[trimmed - 1]))
            trimmed--;
        if (trimmed == len && len && !strncasecmp(setting, name, len))
            return true;
        setting += n + (setting[n] == ',');
        setting += strspn(setting, " \t");
    }
    return false;
}
