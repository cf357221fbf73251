/* SPDX-License-Identifier: MIT */
/* reload: a new config beside one in force; and what a config tells about itself. */
#include "shardwheel/config.h"

#include "config/key.h"
#include "config/origin.h"

#include <stdlib.h>
#include <string.h>

static enum err note_restart(struct config *fresh, const struct config *current, size_t index, struct errctx *ec)
{
    const struct key_row *row = &key_rows[index];
    struct buf given = {0};
    struct buf kept = {0};
    enum err e;

    key_write_value(row, fresh, &given);
    key_write_value(row, current, &kept);
    buf_puts(&given, "");
    buf_puts(&kept, "");
    if (buf_failed(&given) || buf_failed(&kept))
        e = no_memory(ec);
    else if (row->flags & KEY_SECRET)
        e = origin_add_note(fresh->origin, CONFIG_NOTE_RESTART, ec, "%s: %s has changed, which needs a restart",
                            origin_get_source(fresh, index), row->name);
    else
        e = origin_add_note(fresh->origin, CONFIG_NOTE_RESTART, ec, "%s: %s: %s needs a restart; until then %s is used",
                            origin_get_source(fresh, index), row->name, quote(given.data).s, quote(kept.data).s);
    buf_fini(&given);
    buf_fini(&kept);
    return e;
}

static enum err keep_key(struct config *fresh, const struct config *current, size_t index, struct errctx *ec)
{
    const struct key_row *row = &key_rows[index];
    enum err e;

    if ((row->flags & KEY_RELOADABLE) || key_is_equal(row, fresh, current))
        return ERR_OK;
    e = note_restart(fresh, current, index, ec);
    if (!e)
        e = key_copy(row, current, fresh, ec);
    return e ? e : origin_set_source(fresh, index, current->origin->sources[index], ec);
}

/* The parts of the URL follow the URL that stays. */
static enum err keep_datasource(struct config *fresh, struct errctx *ec)
{
    jdbc_url_destroy(fresh->datasource);
    fresh->datasource = NULL;
    return *fresh->datasource_url ? jdbc_url_parse(fresh->datasource_url, &fresh->datasource, ec) : ERR_OK;
}

enum err config_reload(const struct config *current, int argc, char **argv, char **envp, struct config **out,
                       struct errctx *ec)
{
    struct config *fresh = NULL;
    enum err e = config_load(argc, argv, envp, &fresh, ec);

    for (size_t i = 0; !e && i < KEY_COUNT; i++)
        e = keep_key(fresh, current, i, ec);
    if (!e)
        e = keep_datasource(fresh, ec);
    if (e) {
        config_destroy(fresh);
        return e;
    }
    *out = fresh;
    return ERR_OK;
}

const char *config_get_source(const struct config *config, const char *key)
{
    const struct key_row *row = key_find(key);

    return row ? origin_get_source(config, (size_t)(row - key_rows)) : NULL;
}

void config_list(const struct config *config,
                 void (*each)(void *arg, const char *key, const char *value, const char *source), void *arg)
{
    struct buf value = {0};

    for (size_t i = 0; i < KEY_COUNT; i++) {
        buf_clear(&value);
        key_write_value(&key_rows[i], config, &value);
        buf_puts(&value, "");
        each(arg, key_rows[i].name, buf_failed(&value) ? "(out of memory)" : value.data, origin_get_source(config, i));
    }
    buf_fini(&value);
}

bool config_describe(const char *key, struct config_about *out)
{
    const struct key_row *row = key_find(key);

    if (row)
        *out = (struct config_about){.section = key_section_title(row->section),
                                     .help = row->help,
                                     .default_text = row->default_text,
                                     .reloadable = row->flags & KEY_RELOADABLE};
    return row != NULL;
}

const struct config_note *config_get_notes(const struct config *config, size_t *count)
{
    *count = config->origin->note_count;
    return config->origin->notes;
}
