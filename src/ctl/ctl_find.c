/* SPDX-License-Identifier: MIT */
#include "ctl/parts.h"

#include <stdio.h>
#include <string.h>

static bool is_meant(const struct node_row *node, const char *wanted, bool whole)
{
    size_t len = strlen(wanted);

    if (whole)
        return !strcmp(node->node, wanted) || !strcmp(node->incarnation, wanted);
    return len > 0 && (!strncmp(node->node, wanted, len) || !strncmp(node->incarnation, wanted, len));
}

struct choice {
    const struct node_row *first;
    size_t count;
};

static struct choice choose(const struct node_row *nodes, size_t count, const char *wanted, int64_t now_ms, bool whole,
                            bool live)
{
    struct choice c = {0};

    for (size_t i = 0; i < count; i++) {
        if (!is_meant(&nodes[i], wanted, whole) || (live && node_is_silent(&nodes[i], now_ms)))
            continue;
        c.first = c.first ? c.first : &nodes[i];
        c.count++;
    }
    return c;
}

/* All nodes, or those that the beginning fits. */
static void write_choices(const struct node_row *nodes, size_t count, const char *wanted, char *out, size_t size)
{
    size_t at = 0;

    out[0] = '\0';
    for (size_t i = 0; i < count && at < size; i++) {
        if (wanted && !is_meant(&nodes[i], wanted, false))
            continue;
        at += (size_t)snprintf(out + at, size - at, "%s%s (%s)", at ? ", " : "", nodes[i].node, nodes[i].incarnation);
    }
}

const struct node_row *ctl_find_node(const struct node_row *nodes, size_t count, const char *wanted, int64_t now_ms,
                                     struct errctx *ec)
{
    char choices[400];

    for (int whole = 1; whole >= 0; whole--) {
        struct choice all = choose(nodes, count, wanted, now_ms, whole, /*live=*/false);
        struct choice live = choose(nodes, count, wanted, now_ms, whole, /*live=*/true);

        if (all.count == 1)
            return all.first;
        if (live.count == 1)
            return live.first;
        if (all.count == 0)
            continue;
        write_choices(nodes, count, wanted, choices, sizeof choices);
        err_set(ec, ERR_INPUT, "\"%.100s\" can mean: %s", wanted, choices);
        return NULL;
    }
    write_choices(nodes, count, NULL, choices, sizeof choices);
    if (count)
        err_set(ec, ERR_NOTFOUND, "there is no node \"%.100s\"; there are: %s", wanted, choices);
    else
        err_set(ec, ERR_NOTFOUND, "there is no node \"%.100s\" and no other node", wanted);
    return NULL;
}
