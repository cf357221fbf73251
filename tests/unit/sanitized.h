/* SPDX-License-Identifier: MIT */
/* Whether this build has AddressSanitizer or ThreadSanitizer, from gcc or clang: WITH_ASAN and WITH_TSAN are 0 or 1. */
#ifndef SHARDWHEEL_SANITIZED_H
#define SHARDWHEEL_SANITIZED_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#elif __has_feature(thread_sanitizer)
#define WITH_TSAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define WITH_TSAN 1
#endif

#ifndef WITH_ASAN
#define WITH_ASAN 0
#endif
#ifndef WITH_TSAN
#define WITH_TSAN 0
#endif

#endif
