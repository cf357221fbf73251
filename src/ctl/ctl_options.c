/* SPDX-License-Identifier: MIT */
#include "ctl/parts.h"

#include "shardwheel/store/job.h"

#include <string.h>

const char *ctl_find_option(const struct config_ctl *ctl, const char *name)
{
    const char *value = NULL;

    for (size_t i = 0; i < ctl->setting_count; i++)
        if (strcmp(ctl->settings[i].name, name) == 0)
            value = ctl->settings[i].value;
    return value;
}

enum err ctl_check_options(const struct config_ctl *ctl, const char *const *known, const char *all, struct errctx *ec)
{
    for (size_t i = 0; i < ctl->setting_count; i++) {
        const char *const *at = known;

        while (*at && strcmp(ctl->settings[i].name, *at) != 0)
            at++;
        if (!*at)
            return err_set(ec, ERR_INPUT, "--%s: unknown option; known are %s", ctl->settings[i].name, all);
    }
    return ERR_OK;
}

enum err ctl_take_instant(const struct config_ctl *ctl, const char *name, const struct zone *zone, int64_t *out,
                          struct errctx *ec)
{
    const char *text = ctl_find_option(ctl, name);

    if (!text || job_instant_parse(text, zone, out))
        return ERR_OK;
    return err_set(ec, ERR_INPUT, "%s: expected YYYY-MM-DD HH:MM[:SS], with a Z behind it in UTC; not %s", name,
                   log_quote(text).s);
}
