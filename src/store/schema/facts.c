/* SPDX-License-Identifier: MIT */
#include "store/schema/schema.h"

#include <strings.h>

bool schema_find_row(struct db_rows *rows, const char *first, const char *second)
{
    db_rows_rewind(rows);
    while (db_rows_next(rows))
        if (strcasecmp(db_text_or_empty(rows, 0), first) == 0 &&
            (!second || strcasecmp(db_text_or_empty(rows, 1), second) == 0))
            return true;
    return false;
}

bool schema_has_table(const struct schema_facts *facts, const char *table)
{
    return schema_find_row(facts->tables, table, NULL);
}

bool schema_has_column(const struct schema_facts *facts, const char *table, const char *column)
{
    return schema_find_row(facts->columns, table, column);
}
