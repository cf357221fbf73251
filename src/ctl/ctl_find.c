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

/* All nodes, or those that the beginning fits. */
static void write_choices(const struct ctl *c, const char *wanted, char *out, size_t size)
{
    size_t at = 0;

    for (size_t i = 0; i < c->node_count && at < size; i++) {
        if (!wanted || is_meant(&c->nodes[i], wanted, false))
            at += (size_t)snprintf(out + at, size - at, "%s%s (%s)", at ? ", " : "", c->nodes[i].node,
                                   c->nodes[i].incarnation);
    }
}

const struct node_row *ctl_find_node(const struct ctl *c, const char *wanted, struct errctx *ec)
{
    char choices[400] = "";

    for (int whole = 1; whole >= 0; whole--) {
        const struct node_row *any = NULL, *live = NULL;
        size_t count = 0, live_count = 0;

        for (size_t i = 0; i < c->node_count; i++) {
            bool is_live = !node_is_silent(&c->nodes[i], c->now_ms);

            if (!is_meant(&c->nodes[i], wanted, whole))
                continue;
            any = &c->nodes[i];
            live = is_live ? any : live;
            count++;
            live_count += is_live;
        }
        if (count == 1 || live_count == 1)
            return count == 1 ? any : live;
        if (count == 0)
            continue;
        write_choices(c, wanted, choices, sizeof choices);
        err_set(ec, ERR_INPUT, "\"%.100s\" can mean: %s", wanted, choices);
        return NULL;
    }
    write_choices(c, NULL, choices, sizeof choices);
    err_set(ec, ERR_NOTFOUND, "there is no node \"%.100s\"%s%s", wanted,
            c->node_count ? "; there are: " : " and no other node", choices);
    return NULL;
}
