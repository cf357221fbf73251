/* SPDX-License-Identifier: MIT */
#include "http/gzip.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#define WINDOW_BITS (15 + 16) /* 16: with a head and tail of gzip */
#define MEMORY_LEVEL 8
#define PIECE ((size_t)16 * 1024)

struct gzip {
    z_stream z;
    char piece[PIECE];
};

struct gzip *gzip_create(void)
{
    struct gzip *g = calloc(1, sizeof *g);

    if (g && deflateInit2(&g->z, Z_BEST_SPEED, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(g);
        return NULL;
    }
    return g;
}

void gzip_destroy(struct gzip *g)
{
    if (!g)
        return;
    deflateEnd(&g->z);
    free(g);
}

bool gzip_add(struct gzip *g, const void *data, size_t len, bool end, struct buf *out)
{
    const unsigned char *at = data;

    do {
        size_t n = len < UINT_MAX ? len : UINT_MAX;
        bool last = end && n == len;
        g->z.next_in = (unsigned char *)(uintptr_t)at; /* zlib does not write there */
        g->z.avail_in = (unsigned)n;
        do {
            g->z.next_out = (unsigned char *)g->piece;
            g->z.avail_out = PIECE;
            if (deflate(&g->z, last ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_ERROR)
                return false;
            buf_append(out, g->piece, PIECE - g->z.avail_out);
        } while (!g->z.avail_out);
        at += n;
        len -= n;
    } while (len);
    return !buf_failed(out);
}

/* The q of an element of the list, in thousandths; 1000 where it has none or a broken one. */
static int read_weight(const char *element, size_t len)
{
    const char *q = memmem(element, len, "q=", 2);
    int weight = 0, unit = 1000;

    if (!q)
        return 1000;
    for (q += 2; q < element + len && unit; q++) {
        if (*q == '.')
            continue;
        if (*q < '0' || *q > '9')
            break;
        weight += (*q - '0') * unit;
        unit /= 10;
    }
    return weight;
}

bool gzip_is_accepted(const char *list)
{
    int of_all = 0;

    while (list && *list) {
        list += strspn(list, " \t,");
        size_t len = strcspn(list, ","), name = strcspn(list, ",; \t");
        if ((name == 4 && !strncasecmp(list, "gzip", 4)) || (name == 6 && !strncasecmp(list, "x-gzip", 6)))
            return read_weight(list, len) > 0;
        if (name == 1 && *list == '*')
            of_all = read_weight(list, len);
        list += len;
    }
    return of_all > 0;
}
