/* SPDX-License-Identifier: MIT */
/* schema_text: the files of sql/ as they are, inside the program. The files are the one source. */
#ifndef STORE_SCHEMA_SCHEMA_TEXT_H
#define STORE_SCHEMA_SCHEMA_TEXT_H

extern const char schema_text_own[];  /* sql/shardwheel.sql, ended by NUL */
extern const char schema_text_full[]; /* sql/schema.sql */

#endif
