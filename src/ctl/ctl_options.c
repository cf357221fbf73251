/* SPDX-License-Identifier: MIT */
#include "ctl/parts.h"

#include "shardwheel/store/job.h"

#include <errno.h>
#include <stdio.h>
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
    return err_set(ec, ERR_INPUT, "%s: expected YYYY-MM-DD HH:MM[:SS], followed by Z for UTC; not %s", name,
                   log_quote(text).s);
}

enum err ctl_read_file(const char *name, size_t max, struct buf *out, struct errctx *ec)
{
    bool is_stdin = strcmp(name, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(name, "re");
    char part[4096];
    size_t len = 1;
    bool failed;

    if (!file)
        return err_set(ec, ERR_IO, "%s: %s", name, strerror(errno));
    while (len > 0 && out->len <= max) {
        len = fread(part, 1, sizeof part, file);
        buf_append(out, part, len);
    }
    failed = ferror(file) != 0;
    if (!is_stdin)
        fclose(file);
    if (failed)
        return err_set(ec, ERR_IO, "%s: it cannot be read", name);
    if (out->len > max)
        return err_set(ec, ERR_INPUT, "%s: it has more than %zu bytes", name, max);
    if (out->len == 0 || strlen(out->data) != out->len)
        return err_set(ec, ERR_INPUT, "%s: it is empty, or has a NUL", name);
    return buf_failed(out) ? err_set(ec, ERR_NOMEM, "out of memory") : ERR_OK;
}
