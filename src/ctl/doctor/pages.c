/* SPDX-License-Identifier: MIT */
/* What the nodes say of themselves on their pages, which need no token. */
#include "ctl/doctor/check.h"

#include "ctl/doctor/dial.h"
#include "ctl/remote/remote.h"

#include <string.h>

#define PAGE_MS 2000
#define NODES_MAX 64 /* further ones are left out */

static void tell_health(struct doctor *d, const char *where, struct json_object *health)
{
    struct json_object *components = remote_find(health, "components");
    struct json_object *reason = remote_find(remote_find(components, "schedule"), "reason");
    const char *session = json_object_get_string(remote_find(remote_find(components, "coordination"), "status"));

    if (reason)
        doctor_tell(d, DOCTOR_CRITICAL, "node_unhealthy", where, "See docs/operations.md, \"What happens when\".",
                    "It is not healthy: %s.", json_object_get_string(reason));
    if (session && strcmp(session, "UP") != 0)
        doctor_tell(d, DOCTOR_WARNING, "node_without_coordination", where,
                    "Check whether its machine can reach all ZooKeeper servers.",
                    "It has no ZooKeeper session: it keeps its shards until other nodes take them.");
}

/* Settings that all nodes must have alike, for a job's fires are now this one's, now that one's. What only one side
 * has, since it is of another release, does not count. */
static void compare_settings(struct doctor *d, const char *where, struct json_object *settings,
                             struct json_object *first, const char *first_node)
{
    struct buf differ = {0};

    json_object_object_foreach(first, name, there)
    {
        struct json_object *here = remote_find(settings, name);

        if (here && !json_object_equal(there, here))
            buf_printf(&differ, "%s%s is %s there and %s here", differ.len ? ", " : "", name,
                       json_object_to_json_string_ext(there, JSON_C_TO_STRING_PLAIN),
                       json_object_to_json_string_ext(here, JSON_C_TO_STRING_PLAIN));
    }
    if (differ.len)
        doctor_tell(
            d, DOCTOR_WARNING, "settings_differ", where,
            "Use the same configuration on all nodes, and restart those that had another one.",
            "Its configuration differs from that of node %s: %s. The result of a fire then depends on the owner.",
            first_node, differ.data);
    buf_fini(&differ);
}

/* A certificate that programs refuse which look at it: executors, browsers. */
static void tell_certificate(struct doctor *d, const char *where, const struct node_row *node,
                             const struct dial_certificate *c)
{
    int64_t now_s = clock_wall_ms(d->clock) / 1000;

    if (!c->shown)
        return;
    if (c->facts.until_s <= now_s || c->facts.from_s > now_s)
        doctor_tell(d, DOCTOR_WARNING, "node_certificate", where,
                    "Replace the files of server.ssl on that machine; the node reads them again by itself.",
                    "Its certificate for %.100s %s: programs that check it refuse the node.", c->facts.name,
                    c->facts.until_s <= now_s ? "has expired" : "is not valid yet");
    if (!c->names_host)
        doctor_tell(d, DOCTOR_NOTE, "node_certificate_host", where,
                    "Use URLs with a name that is in the certificate, or a certificate that names this host, too.",
                    "Its certificate, for %.100s, does not name the host of %.200s: programs that check it refuse this "
                    "URL.",
                    c->facts.name, node->url);
}

static void tell_console(struct doctor *d, const char *where, const struct node_row *node)
{
    struct buf page = {0};
    struct dial_certificate certificate;
    struct errctx why;

    errctx_clear(&why);
    if (dial_get(node->url, "/", PAGE_MS, d->clock, &page, &certificate, &why) == ERR_OK && !buf_failed(&page) &&
        strstr(page.data, "has no console to show"))
        doctor_tell(d, DOCTOR_NOTE, "node_without_console", where, NULL,
                    "It has no console: the files are not built or installed, or shardwheel.console.web-dir is wrong.");
    buf_fini(&page);
}

/* NULL, and a finding: it cannot be reached, or the program that answers is not a node. */
static struct json_object *load_health(struct doctor *d, const char *where, const struct node_row *node)
{
    struct buf text = {0};
    struct dial_certificate certificate;
    struct errctx why = {{0}};
    struct json_object *health = NULL;

    if (dial_get(node->url, "/actuator/health", PAGE_MS, d->clock, &text, &certificate, &why) == ERR_OK &&
        !buf_failed(&text)) {
        health = json_tokener_parse(text.data);
        err_set(&why, ERR_LOST, "the program that answers is not a node");
    }
    buf_fini(&text);
    tell_certificate(d, where, node, &certificate);
    if (!health)
        doctor_tell(d, DOCTOR_NOTE, "node_page_away", where, NULL,
                    "Its pages at %.200s cannot be reached from here (%.200s), so they were not checked. Executors "
                    "must be able to reach it.",
                    node->url, why.text);
    return health;
}

static enum err check_pages(struct doctor *d, struct errctx *ec)
{
    struct json_object *first = NULL; /* settings of the first node that told them */
    const char *first_node = NULL;
    size_t looked = 0;
    enum err e = ERR_OK;

    for (const struct node_row *node = NULL; looked < NODES_MAX && (node = doctor_next_live(d, node)) != NULL;) {
        struct place_text where = place_of("node", node->node);
        struct json_object *health, *settings;

        if (clock_mono_ms(d->clock) >= d->deadline_mono_ms) {
            e = err_set(ec, ERR_TIMEOUT, "there was not enough time for all nodes");
            break;
        }
        looked++;
        health = load_health(d, where.text, node);
        if (!health)
            continue;
        tell_health(d, where.text, health);
        tell_console(d, where.text, node);
        settings = remote_find(health, "settings");
        if (first && settings)
            compare_settings(d, where.text, settings, first, first_node);
        if (!first && json_object_is_type(settings, json_type_object)) {
            first = json_object_get(settings);
            first_node = node->node;
        }
        json_object_put(health);
    }
    json_object_put(first);
    return e;
}

const struct doctor_check doctor_page_checks[] = {
    {"node_pages", "The nodes are healthy and have the same settings.",
     (const char *const[]){"node_page_away", "node_unhealthy", "node_without_coordination", "node_without_console",
                           "node_certificate", "node_certificate_host", "settings_differ", NULL},
     DOCTOR_TABLES, check_pages},
    {0},
};
