/* SPDX-License-Identifier: MIT */
/* input: takes the input of a fuzz target byte by byte; at its end all that is drawn is 0. */
#ifndef TEST_FUZZ_INPUT_H
#define TEST_FUZZ_INPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
    const uint8_t *at;
    size_t left;
} input;

static inline void input_begin(const uint8_t *data, size_t size)
{
    input.at = data;
    input.left = size;
}

static inline unsigned draw(unsigned below)
{
    if (!input.left)
        return 0;
    input.left--;
    return *input.at++ % below;
}

static inline void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}

#endif
