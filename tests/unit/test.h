/* SPDX-License-Identifier: MIT */
/* What every unit test includes: cmocka with the headers that it wants before it. */
#ifndef SHARDWHEEL_TEST_H
#define SHARDWHEEL_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
