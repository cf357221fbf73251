/* SPDX-License-Identifier: MIT */
#include "shardwheel/admin/outside.h"
#include "shardwheel/text.h"

#include <string.h>
#include <strings.h>

bool local_may_login(const char *setting, const char *name)
{
    size_t len = strlen(name);
    struct text_part item;

    setting += strspn(setting, " \t");
    if (!*setting || !strcasecmp(setting, "all"))
        return true;
    if (!strcasecmp(setting, "none")) /* also of whom that is the name */
        return false;
    while (text_next_item(&setting, &item)) {
        item = text_trim_blanks(item);
        if (item.len == len && len && !strncasecmp(item.at, name, len))
            return true;
    }
    return false;
}
