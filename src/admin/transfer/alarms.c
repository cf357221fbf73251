/* SPDX-License-Identifier: MIT */
#include "admin/transfer/export.h"
#include "admin/transfer/import.h"

#include "shardwheel/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void transfer_put_rule_name(const struct watch_rule *rule, struct buf *out)
{
    buf_puts(out, rule->kind);
    if (rule->tag[0])
        buf_printf(out, " tag=%s", rule->tag);
    if (rule->app_name[0])
        buf_printf(out, " group=%s", rule->app_name);
}

static int compare_rules(const void *a, const void *b)
{
    const struct watch_rule *x = a, *y = b;
    int by_kind = strcmp(x->kind, y->kind), by_tag = by_kind ? by_kind : strcmp(x->tag, y->tag);

    return by_tag ? by_tag : strcmp(x->app_name, y->app_name);
}

/* ---- out --------------------------------------------------------------------------------------------------------- */

static int compare_channels(const void *a, const void *b)
{
    return strcmp(((const struct channel_row *)a)->name, ((const struct channel_row *)b)->name);
}

enum err export_alarms_read(struct export_alarms *alarms, struct admin *a, struct store_session *s, bool channels,
                            struct transfer *out, struct refusal *r)
{
    bool from_table = channels && a->opts.config && a->opts.config->alarm_console_channels;
    enum err e = store_load_watch_rules(s, &alarms->rules, &r->text);

    if (!e && from_table)
        e = store_load_channels(s, &alarms->channels, &r->text);
    if (e)
        return e;
    if (alarms->rules.count)
        qsort(alarms->rules.rows, alarms->rules.count, sizeof *alarms->rules.rows, compare_rules);
    if (alarms->channels.count)
        qsort(alarms->channels.rows, alarms->channels.count, sizeof *alarms->channels.rows, compare_channels);
    out->rules = alarms->rules.rows;
    out->rule_count = alarms->rules.count;
    out->channels = alarms->channels.rows;
    out->channel_count = alarms->channels.count;
    return ERR_OK;
}

void export_alarms_fini(struct export_alarms *alarms)
{
    watch_rules_fini(&alarms->rules);
    channel_rows_fini(&alarms->channels);
}

/* ---- rules, in --------------------------------------------------------------------------------------------------- */

static bool is_time(const struct watch_rule *rule)
{
    return strcmp(rule->kind, watch_kind_name(WATCH_NOT_DONE)) == 0;
}

static void show_rule(struct importing *im, const struct watch_rule *now, const struct watch_rule *wanted,
                      struct transfer_item *item)
{
    char old[24] = "", new[24];
    struct audit_diff diff;

    if (now)
        snprintf(old, sizeof old, "%02d:%02d", (int)(now->bound / 60 % 24), (int)(now->bound % 60));
    snprintf(new, sizeof new, "%02d:%02d", (int)(wanted->bound / 60 % 24), (int)(wanted->bound % 60));
    audit_begin(&diff, now ? AUDIT_CHANGED : AUDIT_ADDED);
    if (is_time(wanted))
        audit_text(&diff, "doneBy", old, new);
    else
        audit_int(&diff, "limit", now ? now->bound : 0, wanted->bound);
    import_end_diff(im, &diff, item);
}

static enum err write_rule(struct importing *im, const struct watch_rule *now, const struct watch_rule *wanted,
                           struct transfer_item *item, struct refusal *r)
{
    struct watch_rule change = {.id = item->id, .kind = is_time(wanted) ? wanted->kind : NULL, .bound = wanted->bound};
    enum err e = refuse_unless(im->actor, RIGHT_ADMINISTER, 0, r);

    if (!e)
        e = admin_check_watch_rule(wanted, r);
    if (!e)
        show_rule(im, now, wanted, item);
    if (e || im->dry_run)
        return e;
    return admin_put_watch_rule(im->admin, im->actor, now ? &change : wanted, &item->id, r);
}

static void import_rule(struct importing *im, const struct watch_rules *rules, const struct watch_rule *wanted,
                        struct transfer_item *item)
{
    const struct watch_rule *now = NULL;
    struct refusal why = {0};

    for (size_t i = 0; i < rules->count && !now; i++)
        now = compare_rules(&rules->rows[i], wanted) ? NULL : &rules->rows[i];
    item->id = now ? now->id : 0;
    item->outcome = !now ? TRANSFER_CREATE : now->bound == wanted->bound ? TRANSFER_SAME : TRANSFER_CHANGE;
    if (item->outcome != TRANSFER_SAME)
        import_end_item(item, write_rule(im, now, wanted, item, &why), &why);
}

/* ---- channels, in ------------------------------------------------------------------------------------------------ */

static void show_channel(struct importing *im, const struct channel_row *now, const struct channel_row *wanted,
                         struct transfer_item *item)
{
    struct audit_diff diff;

    audit_begin(&diff, AUDIT_CHANGED);
    audit_text(&diff, "groups", now->app_names, wanted->app_names);
    audit_text(&diff, "tags", now->tags, wanted->tags);
    audit_text(&diff, "quiet", now->quiet, wanted->quiet);
    if (audit_differs(&diff)) {
        item->outcome = TRANSFER_CHANGE;
        import_end_diff(im, &diff, item);
    }
    audit_fini(&diff);
}

static enum err write_channel(struct importing *im, const struct channel_rows *rows, const struct channel_row *wanted,
                              struct transfer_item *item, struct refusal *r)
{
    struct channel_row change = *wanted;
    const struct channel_row *now = NULL;

    for (size_t i = 0; i < rows->count && !now; i++)
        now = strcmp(rows->rows[i].name, wanted->name) ? NULL : &rows->rows[i];
    if (!now)
        return refuse(
            r, REFUSED_UNKNOWN, "name",
            "there is no channel %s in the console: add it there first, because the document does not have its URL",
            wanted->name);
    item->id = change.id = now->id;
    if (strcmp(now->kind, wanted->kind) != 0)
        return refuse(r, REFUSED_STATE, "kind", "the channel is of kind %s", now->kind);
    show_channel(im, now, wanted, item);
    if (item->outcome == TRANSFER_SAME)
        return ERR_OK;
    return admin_put_channel(im->admin, im->actor, &change, im->dry_run, &item->id, r);
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

static void import_rules(struct importing *im)
{
    struct transfer_result *result = &im->result;
    struct watch_rules rules = {0};
    struct refusal why = {0};
    enum err e = refuse_unless_sees(im->actor, &why);

    if (!e && im->document->rule_count)
        e = refuse_error(&why, store_load_watch_rules(im->session, &rules, &why.text));
    for (size_t i = 0; i < im->document->rule_count && !import_is_over(im); i++) {
        if (e)
            import_end_item(&result->rules[i], e, &why);
        else
            import_rule(im, &rules, &im->document->rules[i], &result->rules[i]);
    }
    watch_rules_fini(&rules);
}

static void import_channels(struct importing *im)
{
    struct transfer_result *result = &im->result;
    struct channel_rows rows = {0};
    struct alarms_opts opts;
    struct refusal all = {0};
    enum err e = refuse_unless(im->actor, RIGHT_ADMINISTER, 0, &all);

    if (!e && im->document->channel_count)
        e = admin_read_alarms(im->admin, &opts, &rows, &all);
    for (size_t i = 0; i < im->document->channel_count && !import_is_over(im); i++) {
        struct transfer_item *item = &result->channels[i];
        struct refusal why = {0};

        item->outcome = TRANSFER_SAME;
        if (e)
            import_end_item(item, e, &all);
        else
            import_end_item(item, write_channel(im, &rows, &im->document->channels[i], item, &why), &why);
    }
    channel_rows_fini(&rows);
}

void import_alarms(struct importing *im)
{
    import_rules(im);
    import_channels(im);
}
