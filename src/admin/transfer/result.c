/* SPDX-License-Identifier: MIT */
/* What became of each item of an import. */
#include "admin/transfer/import.h"

#include <stdlib.h>

const char *transfer_outcome_name(enum transfer_outcome outcome)
{
    static const char *const names[] = {"create", "change", "same", "refused", "left"};

    return names[outcome];
}

void transfer_result_fini(struct transfer_result *result)
{
    for (size_t i = 0; i < result->count; i++) {
        free(result->items[i].before);
        free(result->items[i].after);
        free(result->items[i].text);
    }
    free(result->items);
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

void import_end_diff(struct importing *im, struct audit_diff *diff, struct transfer_item *item)
{
    const struct audit_row *row = audit_end(diff, im->actor, "", 0, "", 0);

    import_keep_diff(item, row->before, row->after);
    audit_fini(diff);
}
