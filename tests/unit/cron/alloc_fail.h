/* SPDX-License-Identifier: MIT */
/*
 * alloc_fail: takes the place of malloc in a test program, also for operator new of the libraries it uses, to
 * count live blocks and to let one allocation fail. Include it in one file of a program.
 *
 * Under a sanitizer, which brings its own malloc, nothing can be made to fail: alloc_fail_works is false there,
 * and it is the sanitizer that finds leaks.
 */
#ifndef SHARDWHEEL_TESTS_ALLOC_FAIL_H
#define SHARDWHEEL_TESTS_ALLOC_FAIL_H

#include "sanitized.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* Per thread, and tests have one: counting needs no lock. */
static _Thread_local long alloc_live;       /* blocks handed out minus blocks given back */
static _Thread_local long alloc_until_fail; /* 0: none fails; 1: the next one */
static _Thread_local bool alloc_failed;     /* the wanted failure has happened */

#if WITH_ASAN || WITH_TSAN
static const bool alloc_fail_works = false;
#else
static const bool alloc_fail_works = true;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void __libc_free(void *block);

static bool alloc_must_fail(void)
{
    if (alloc_until_fail == 0 || --alloc_until_fail > 0)
        return false;
    alloc_failed = true;
    errno = ENOMEM;
    return true;
}

static void *alloc_count(void *block)
{
    alloc_live += block != NULL;
    return block;
}

void *malloc(size_t size)
{
    return alloc_must_fail() ? NULL : alloc_count(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    return alloc_must_fail() ? NULL : alloc_count(__libc_calloc(count, size));
}

void *realloc(void *block, size_t size)
{
    if (alloc_must_fail())
        return NULL;
    return block == NULL ? alloc_count(__libc_malloc(size)) : __libc_realloc(block, size);
}

void free(void *block)
{
    alloc_live -= block != NULL;
    __libc_free(block);
}
#endif

/* Lets the n-th allocation from here on fail; alloc_fail_stop tells whether there was one. */
static inline void alloc_fail_start(long n)
{
    alloc_failed = false;
    alloc_until_fail = n;
}

static inline bool alloc_fail_stop(void)
{
    alloc_until_fail = 0;
    return alloc_failed;
}

#endif
