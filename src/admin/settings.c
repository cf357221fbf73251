/* SPDX-License-Identifier: MIT */
#include "shardwheel/admin/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin/admin_impl.h"
#include "shardwheel/admin/audit.h"
#include "shardwheel/admin/weak.h"
#include "shardwheel/config.h"
#include "shardwheel/store/schema.h"

/* ---- the copy ---------------------------------------------------------------------------------------------------- */

/* Three texts a key, each with its NUL. */
static void add_key(void *arg, const char *key, const char *value, const char *source)
{
    struct buf *out = arg;

    buf_append(out, key, strlen(key) + 1);
    buf_append(out, value, strlen(value) + 1);
    buf_append(out, source, strlen(source) + 1);
}

enum err admin_set_config(struct admin *a, const struct config *config, struct errctx *ec)
{
    struct buf fresh = {0}, old;
    struct login_rules rules = {0}, old_rules;

    unsigned weak = weak_check_config(config);

    config_list(config, add_key, &fresh);
    if (buf_failed(&fresh) || !login_rules_make(config, &rules)) {
        buf_fini(&fresh);
        return err_set(ec, ERR_NOMEM, "out of memory for the settings");
    }
    mutex_lock(&a->lock);
    old = a->settings;
    a->settings = fresh;
    a->weak_config = weak;
    old_rules = a->login_rules;
    a->login_rules = rules;
    mutex_unlock(&a->lock);
    buf_fini(&old);
    login_rules_fini(&old_rules);
    return ERR_OK;
}

void setting_list_fini(struct setting_list *list)
{
    free(list->rows);
    free(list->memory);
    *list = (struct setting_list){0};
}

/* The rows point into a copy of the texts. */
static enum err split(struct buf *texts, struct setting_list *out, struct refusal *r)
{
    size_t nuls = 0;

    for (size_t i = 0; i < texts->len; i++)
        nuls += !texts->data[i];
    struct setting_row *rows = calloc(nuls / 3 + 1, sizeof *rows);
    if (!rows || buf_failed(texts)) {
        free(rows);
        return refuse(r, REFUSED_BROKEN, NULL, "out of memory for the settings");
    }
    const char *p = texts->data;
    for (size_t i = 0; i < nuls / 3; i++) {
        rows[i].key = p;
        rows[i].value = p + strlen(p) + 1;
        rows[i].source = rows[i].value + strlen(rows[i].value) + 1;
        p = rows[i].source + strlen(rows[i].source) + 1;
        if (!config_describe(rows[i].key, &rows[i].about))
            rows[i].about = (struct config_about){"", "", "", false};
    }
    *out = (struct setting_list){.rows = rows, .count = nuls / 3, .memory = buf_take(texts)};
    return ERR_OK;
}

enum err admin_load_settings(struct admin *a, const struct actor *actor, struct setting_list *out, struct refusal *r)
{
    struct buf copy = {0};
    enum err e = refuse_unless(actor, RIGHT_ADMINISTER, 0, r);

    if (e)
        return e;
    mutex_lock(&a->lock);
    buf_append(&copy, a->settings.data ? a->settings.data : "", a->settings.len);
    mutex_unlock(&a->lock);
    e = split(&copy, out, r);
    buf_fini(&copy);
    return e;
}

/* ---- log levels -------------------------------------------------------------------------------------------------- */

enum err admin_load_log_levels(const struct actor *actor, enum log_level out[LOG_AREA_COUNT], struct refusal *r)
{
    enum err e = refuse_unless(actor, RIGHT_ADMINISTER, 0, r);

    if (!e)
        log_get_levels(out);
    return e;
}

/* Names the node, for it is the one that changes alone. */
static enum err note_levels(struct admin *a, const struct actor *actor, const enum log_level old[LOG_AREA_COUNT],
                            const enum log_level new[LOG_AREA_COUNT], struct refusal *r)
{
    struct audit_diff diff;

    audit_begin(&diff, AUDIT_CHANGED);
    for (int i = 0; i < LOG_AREA_COUNT; i++)
        audit_text(&diff, log_area_name((enum log_area)i), log_level_name(old[i]), log_level_name(new[i]));
    if (audit_differs(&diff))
        return admin_write_audit(a, &diff, actor, "log.levels", 0, a->opts.node_name ? a->opts.node_name : "", 0, r);
    audit_fini(&diff);
    return ERR_OK;
}

enum err admin_set_log_levels(struct admin *a, const struct actor *actor, const enum log_level levels[LOG_AREA_COUNT],
                              struct refusal *r)
{
    enum log_level old[LOG_AREA_COUNT];
    enum err e = admin_load_log_levels(actor, old, r);

    if (!e)
        e = note_levels(a, actor, old, levels, r);
    if (e)
        return e;
    log_set_levels(levels);
    log_info("admin", "event=log_levels_set by=%s effect=\"until the next reload or start\"", log_quote(actor->name).s);
    return ERR_OK;
}

/* ---- the instance ------------------------------------------------------------------------------------------------ */

enum err admin_load_instance(struct admin *a, const struct actor *actor, struct instance *out, struct refusal *r)
{
    static const char *const dialects[] = {[CONFIG_DIALECT_AUTO] = "auto",
                                           [CONFIG_DIALECT_A] = "A",
                                           [CONFIG_DIALECT_B] = "B",
                                           [CONFIG_DIALECT_C] = "C",
                                           [CONFIG_DIALECT_D] = "D"};
    struct instance found = {.glue = config_glue_name(a->opts.glue),
                             .version = SHARDWHEEL_VERSION,
                             .node = a->opts.node_name ? a->opts.node_name : "",
                             .incarnation = a->opts.incarnation ? a->opts.incarnation : ""};
    const struct config *config = a->opts.config;
    struct store_session *s = NULL;
    struct store_features features;
    struct cluster_view view;
    enum err e;

    (void)actor;
    e = admin_take_session(a, &s, r);
    if (!e)
        e = store_load_cluster(s, "", &view, &r->text);
    if (!e)
        e = store_read_zones(s, &found.zones, &r->text);
    e = admin_end(a, s, e, r);
    if (!e)
        e = refuse_error(r, store_load_features(a->opts.store, &features, &r->text));
    if (e)
        return e;
    found.console_dialect = dialects[config ? config->console_dialect : CONFIG_DIALECT_AUTO];
    found.shards = view.shards;
    found.now_ms = view.now_ms;
    snprintf(found.coordination, sizeof found.coordination, "%s",
             config && config->coordination == CONFIG_COORDINATION_ZOOKEEPER ? "zookeeper" : "standalone");
    snprintf(found.schema_family, sizeof found.schema_family, "%s", features.family);
    snprintf(found.database_version, sizeof found.database_version, "%s", features.server_version);
    *out = found;
    return ERR_OK;
}
