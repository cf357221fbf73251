/* SPDX-License-Identifier: MIT */
#include "config/quote.h"

#include <string.h>

struct quoted quote(const char *text)
{
    struct quoted q;
    size_t n = 0;

    q.s[n++] = '"';
    for (; *text; text++) {
        if (n >= sizeof(q.s) - 5) {
            while ((q.s[n - 1] & 0xc0) == 0x80) /* leave no half character */
                n--;
            if (q.s[n - 1] & 0x80)
                n--;
            memcpy(q.s + n, "...", 3);
            n += 3;
            break;
        }
        q.s[n++] = (unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text;
    }
    q.s[n++] = '"';
    q.s[n] = 0;
    return q;
}
