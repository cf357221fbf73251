/* SPDX-License-Identifier: MIT */
/* schema: what a database holds, as read from information_schema. Private to store. */
#ifndef STORE_SCHEMA_SCHEMA_H
#define STORE_SCHEMA_SCHEMA_H

#include "store/conn/session.h"

struct schema_facts {
    struct db_rows *columns; /* table, column, type, length */
    struct db_rows *indexes; /* table, index, place, column, non_unique */
    struct db_rows *tables;  /* table, engine */
    int own_version;         /* of the tables of ours, see upgrade.h; 0: they are not there */
};

MUST_CHECK enum err schema_load_facts(struct store_session *s, struct schema_facts *out, struct errctx *ec);
void schema_facts_fini(struct schema_facts *facts);
/* Stops at the row whose first column (and second, unless NULL) is this. Case does not matter in these names. */
bool schema_find_row(struct db_rows *rows, const char *first, const char *second);
bool schema_has_table(const struct schema_facts *facts, const char *table);
bool schema_has_column(const struct schema_facts *facts, const char *table, const char *column);
bool schema_has_any_table(const struct schema_facts *facts); /* of xxl-job */
bool schema_has_all_tables(const struct schema_facts *facts);
/* Features from facts; ERR_INPUT names what is missing, ERR_STATE versions too far apart. */
MUST_CHECK enum err schema_decide(const struct schema_facts *facts, struct store_features *out, struct errctx *ec);

#endif
