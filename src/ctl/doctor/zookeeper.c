/* SPDX-License-Identifier: MIT */
/* ZooKeeper, as a node with these settings would find it from here. */
#include "ctl/doctor/check.h"

#include "ctl/doctor/dial.h"
#include "shardwheel/coord.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MS 1500

/* ---- servers ----------------------------------------------------------------------------------------------------- */

/* What "srvr" says of its mode: standalone, leader, follower, observer, read-only; "" when it says nothing. */
static void ask_mode(struct doctor *d, const char *server, char out[20])
{
    char host[280], port[8];
    struct buf answer = {0};
    struct errctx ec = {{0}};
    const char *mode;

    out[0] = '\0';
    if (dial_split(server, strlen(server), host, port) &&
        dial_ask(host, port, "srvr", WORD_MS, d->clock, &answer, &ec) == ERR_OK &&
        (mode = strstr(answer.data, "Mode: ")) != NULL)
        snprintf(out, 20, "%.*s", (int)strcspn(mode + 6, "\r\n"), mode + 6);
    buf_fini(&answer);
}

static void tell_server(struct doctor *d, const struct coord_probe_server *server, bool is_alone)
{
    struct place_text place = place_of("ZooKeeper", server->name);
    const char *where = place.text;
    char mode[20];

    ask_mode(d, server->name, mode);
    if (!server->reached && !is_alone)
        doctor_tell(d, DOCTOR_WARNING, "zookeeper_server_away", where,
                    "Start it, or remove it from shardwheel.zookeeper.servers: another failure may cost the quorum.",
                    "%s: %s.", strcmp(mode, "read-only") ? "It cannot be used" : "It has no quorum and is read-only",
                    server->error);
    if (!is_alone && !strcmp(mode, "standalone"))
        doctor_tell(d, DOCTOR_CRITICAL, "zookeeper_apart", where,
                    "Make one ensemble of the servers (server.N of zoo.cfg), or set only one of them.",
                    "It is not in an ensemble, but one of several in the list: nodes at different servers do not see "
                    "each other, and take each other's shards.");
    if (server->reached && server->session_timeout_ms != d->config->zookeeper_session_timeout_ms)
        doctor_tell(d, DOCTOR_WARNING, "zookeeper_timeout", where,
                    "Change minSessionTimeout, maxSessionTimeout or tickTime of the server, or this key.",
                    "It grants a session timeout of %" PRId64 " ms, shardwheel.zookeeper.session-timeout is %" PRId64
                    ": shards of a failed node move later or earlier.",
                    server->session_timeout_ms, d->config->zookeeper_session_timeout_ms);
}

static size_t tell_servers(struct doctor *d, const struct coord_probe *probe)
{
    size_t reached = 0;

    for (size_t i = 0; i < probe->count; i++)
        reached += probe->servers[i].reached;
    if (!reached) {
        doctor_tell(d, DOCTOR_CRITICAL, "zookeeper_unreachable", NULL,
                    "Check whether it runs, and whether this machine can reach it. Running nodes keep their shards.",
                    "None of the servers in shardwheel.zookeeper.servers can be used; %s: %s.", probe->servers[0].name,
                    probe->servers[0].error);
        return 0;
    }
    for (size_t i = 0; i < probe->count; i++)
        tell_server(d, &probe->servers[i], probe->count == 1);
    if (probe->count == 1)
        doctor_tell(d, DOCTOR_NOTE, "zookeeper_single", NULL, NULL,
                    "There is one ZooKeeper server: while it is unavailable, no shard moves to another node.");
    else if (probe->count % 2 == 0)
        doctor_tell(d, DOCTOR_NOTE, "zookeeper_even", NULL, NULL, "%zu servers tolerate only as many failures as %zu.",
                    probe->count, probe->count - 1);
    return reached;
}

/* ---- the folder -------------------------------------------------------------------------------------------------- */

static bool has_member(const struct coord_probe *probe, const char *name)
{
    size_t len = strlen(name);

    for (const char *at = probe->members.data; at && *at;) {
        size_t here = strcspn(at, "\n");

        if (here == len && !memcmp(at, name, len))
            return true;
        at += here;
        at += *at == '\n';
    }
    return false;
}

static void tell_members(struct doctor *d, const struct coord_probe *probe)
{
    struct words missing = {0};
    size_t live = 0, there = 0;

    for (const struct node_row *node = NULL; (node = doctor_next_live(d, node)) != NULL;) {
        if (node->drain)
            continue;
        live++;
        if (has_member(probe, node->node))
            there++;
        else
            words_add(&missing, node->node);
    }
    if (live && !there)
        doctor_tell(d, DOCTOR_CRITICAL, "zookeeper_other", NULL,
                    "Use the same servers and shardwheel.zookeeper.base-path on all nodes and here.",
                    "No node is a member at these servers and this base path, but these are live: %s. A node with this "
                    "configuration would take their shards.",
                    words_end(&missing));
    else if (missing.count)
        doctor_tell(d, DOCTOR_WARNING, "zookeeper_member_missing", NULL,
                    "Check whether they can reach ZooKeeper, and have the same servers and base path.",
                    "These nodes are live, but not members: %s.", words_end(&missing));
}

static void tell_folder(struct doctor *d, const struct coord_probe *probe)
{
    if (probe->refused[0])
        doctor_tell(d, DOCTOR_CRITICAL, "zookeeper_refused", NULL,
                    "Grant the rights to create, read, write and delete below the base path.",
                    "ZooKeeper does not let a node work below %s: %s.", d->config->zookeeper_base_path, probe->refused);
    else if (d->has_tables)
        tell_members(d, probe);
}

static enum err check_zookeeper(struct doctor *d, struct errctx *ec)
{
    struct coord_probe probe = {0};
    enum err e;

    if (d->config->coordination != CONFIG_COORDINATION_ZOOKEEPER) {
        doctor_tell(d, DOCTOR_OK, d->check->code, NULL, NULL, "Nothing needs ZooKeeper with these settings.");
        return ERR_OK;
    }
    e = coord_look(&(struct coord_probe_opts){.servers = d->config->zookeeper_servers,
                                              .base_path = d->config->zookeeper_base_path,
                                              .session_timeout_ms = d->config->zookeeper_session_timeout_ms,
                                              .wait_ms = doctor_left_ms(d)},
                   d->clock, &probe, ec);
    if (!e && tell_servers(d, &probe))
        tell_folder(d, &probe);
    coord_probe_fini(&probe);
    return e;
}

const struct doctor_check doctor_zookeeper_checks[] = {
    {"zookeeper", "ZooKeeper can be used, and the nodes are members.",
     (const char *const[]){"zookeeper_unreachable", "zookeeper_server_away", "zookeeper_apart", "zookeeper_timeout",
                           "zookeeper_single", "zookeeper_even", "zookeeper_refused", "zookeeper_other",
                           "zookeeper_member_missing", NULL},
     DOCTOR_NOTHING, check_zookeeper},
    {0},
};
