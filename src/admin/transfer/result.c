/* SPDX-License-Identifier: MIT */
/* What became of each item of an import. */
#include "admin/transfer/import.h"

#include <stdlib.h>

const char *transfer_outcome_name(enum transfer_outcome outcome)
{
    static const char *const names[] = {"create", "change", "same", "refused", "left"};

    return names[outcome];
}

static void free_items(struct transfer_item *items, size_t count)
{
    for (size_t i = 0; items && i < count; i++) {
        free(items[i].before);
        free(items[i].after);
        free(items[i].text);
    }
    free(items);
}

void transfer_result_fini(struct transfer_result *result)
{
    free_items(result->groups, result->group_count);
    free_items(result->jobs, result->job_count);
    free_items(result->flows, result->flow_count);
    free_items(result->rules, result->rule_count);
    free_items(result->channels, result->channel_count);
    *result = (struct transfer_result){0};
}

void import_end_item(struct transfer_item *item, enum err e, const struct refusal *why)
{
    if (!e)
        return;
    item->outcome = TRANSFER_REFUSED;
    item->kind = why->kind;
    item->field = why->field;
    free(item->text);
    item->text = str_copy(why->text.text);
}

void import_keep_diff(struct transfer_item *item, const char *before, const char *after)
{
    free(item->before);
    free(item->after);
    item->before = str_copy(before);
    item->after = str_copy(after);
}
