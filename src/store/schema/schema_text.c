/* SPDX-License-Identifier: MIT */
#include "store/schema/schema_text.h"

/* The assembler finds the files from the include directories, which stand beside sql/. */
#define EMBED(symbol, path)                                                                                            \
    __asm__(".pushsection .rodata\n"                                                                                   \
            ".global " symbol "\n"                                                                                     \
            ".type " symbol ", @object\n" symbol ":\n"                                                                 \
            ".incbin \"" path "\"\n"                                                                                   \
            ".byte 0\n"                                                                                                \
            ".size " symbol ", . - " symbol "\n"                                                                       \
            ".popsection\n")

EMBED("schema_text_own", "../sql/shardwheel.sql");
EMBED("schema_text_full", "../sql/schema.sql");
