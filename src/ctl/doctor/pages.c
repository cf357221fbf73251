/* SPDX-License-Identifier: MIT */
/* What the nodes say of themselves on their pages, which need no token. */
#include "ctl/doctor/check.h"

#include "ctl/doctor/dial.h"
#include "ctl/doctor/page_text.h"
#include "shardwheel/admin/cluster.h"

#include <stdio.h>
#include <string.h>

#define PAGE_MS 2000
#define NODES_MAX 64 /* further ones are left out */

/* Of the first node that told its settings. */
struct first_told {
    char node[160];
    char settings[600];
};

static void tell_health(struct doctor *d, const char *where, const char *health)
{
    char text[300] = "";

    if (page_find_text(health, "schedule", "reason", text, sizeof text))
        doctor_tell(d, DOCTOR_CRITICAL, "node_unhealthy", where, "See docs/operations.md, \"What happens when\".",
                    "It is not healthy: %s.", text);
    if (page_find_text(health, "coordination", "status", text, sizeof text) && strcmp(text, "UP") != 0)
        doctor_tell(d, DOCTOR_WARNING, "node_without_coordination", where,
                    "Check whether its machine can reach all ZooKeeper servers.",
                    "It has no ZooKeeper session: it keeps its shards until other nodes take them.");
}

/* Settings that all nodes must have alike, for a job's fires are now this one's, now that one's. */
static void compare_settings(struct doctor *d, const char *where, const struct node_row *node, const char *health,
                             struct first_told *first)
{
    char settings[sizeof first->settings], differ[300];

    if (!page_find_object(health, "settings", settings, sizeof settings))
        return; /* of an older release */
    if (!first->node[0]) {
        snprintf(first->node, sizeof first->node, "%s", node->node);
        snprintf(first->settings, sizeof first->settings, "%s", settings);
        return;
    }
    if (page_compare(first->settings, settings, differ, sizeof differ))
        doctor_tell(
            d, DOCTOR_WARNING, "settings_differ", where,
            "Use the same configuration on all nodes, and restart those that had another one.",
            "Its configuration differs from that of node %s: %s. The result of a fire then depends on the owner.",
            first->node, differ);
}

static void tell_console(struct doctor *d, const char *where, const struct node_row *node)
{
    struct buf page = {0};
    struct errctx why;

    errctx_clear(&why);
    if (dial_get(node->url, "/", PAGE_MS, d->clock, &page, &why) == ERR_OK && !buf_failed(&page) &&
        strstr(page.data, "has no console to show"))
        doctor_tell(d, DOCTOR_NOTE, "node_without_console", where, NULL,
                    "It has no console: the files are not built or installed, or shardwheel.console.web-dir is wrong.");
    buf_fini(&page);
}

static void look_at_node(struct doctor *d, const struct node_row *node, struct first_told *first)
{
    struct buf health = {0};
    struct errctx why;
    char where[200];

    snprintf(where, sizeof where, "node %s", node->node);
    errctx_clear(&why);
    if (dial_get(node->url, "/actuator/health", PAGE_MS, d->clock, &health, &why) || buf_failed(&health)) {
        doctor_tell(d, DOCTOR_NOTE, "node_page_away", where, NULL,
                    "Its pages at %.200s cannot be reached from here (%.200s), so they were not checked. Executors "
                    "must be able to reach it.",
                    node->url, why.text);
    } else {
        tell_health(d, where, health.data);
        compare_settings(d, where, node, health.data, first);
        tell_console(d, where, node);
    }
    buf_fini(&health);
}

static enum err check_pages(struct doctor *d, struct errctx *ec)
{
    struct first_told first = {.node = ""};
    size_t looked = 0;

    for (size_t i = 0; i < d->node_count && looked < NODES_MAX; i++) {
        if (node_is_silent(&d->nodes[i], d->now_ms))
            continue;
        if (clock_mono_ms(d->clock) >= d->deadline_mono_ms)
            return err_set(ec, ERR_TIMEOUT, "no time was left for all nodes");
        looked++;
        look_at_node(d, &d->nodes[i], &first);
    }
    return ERR_OK;
}

const struct doctor_check doctor_page_checks[] = {
    {"node_pages", "The nodes are healthy and have the same settings.",
     (const char *const[]){"node_page_away", "node_unhealthy", "node_without_coordination", "node_without_console",
                           "settings_differ", NULL},
     DOCTOR_TABLES, check_pages},
    {0},
};
