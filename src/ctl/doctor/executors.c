/* SPDX-License-Identifier: MIT */
/* Addresses of executors, as groups and the registry have them. Nobody is asked: that is ask.c. */
#include "ctl/doctor/ask.h"
#include "ctl/doctor/places.h"
#include "ctl/doctor/survey.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shardwheel/admin/cluster.h"
#include "shardwheel/executor/networks.h"
#include "shardwheel/executor/request.h"

static bool is_node(const struct doctor *d, const char *address)
{
    char mine[300], theirs[300];
    size_t len;

    for (size_t i = 0; i < d->node_count; i++) {
        if (!node_is_silent(&d->nodes[i], d->now_ms) && place_take_host(address, theirs, sizeof theirs, &len) &&
            place_take_host(d->nodes[i].url, mine, sizeof mine, &len) && !strcmp(mine, theirs))
            return true;
    }
    return false;
}

/* Nodes live on several machines, as far as their addresses tell. */
static bool are_nodes_apart(const struct doctor *d)
{
    char first[300] = "", other[300];
    size_t first_len = 0, len;

    for (size_t i = 0; i < d->node_count; i++) {
        if (node_is_silent(&d->nodes[i], d->now_ms))
            continue;
        if (!first[0]) {
            if (!place_take_host(d->nodes[i].url, first, sizeof first, &first_len))
                first[0] = '\0';
        } else if (place_take_host(d->nodes[i].url, other, sizeof other, &len) &&
                   (len != first_len || strncmp(first, other, len) != 0)) {
            return true;
        }
    }
    return false;
}

static void add_place(struct words *words, const struct executor_place *place)
{
    char text[80];

    snprintf(text, sizeof text, "%.40s (%.15s)", place->address, place->group->app_name);
    words_add(words, text);
}

static void tell_places(struct doctor *d, const char *code, struct words *words, const char *what, const char *change)
{
    if (words->count)
        doctor_tell(d, DOCTOR_WARNING, code, "xxl_job_group", change, "%s (%zu): %s.", what, words->count,
                    words_end(words));
}

static void judge_places(struct doctor *d, const struct executor_places *places,
                         const struct executor_networks *networks)
{
    struct words unusable = {0}, forbidden = {0}, nodes = {0}, twice = {0}, loopback = {0};
    bool apart = are_nodes_apart(d);

    for (size_t i = 0; i < places->count; i++) {
        const struct executor_place *place = &places->items[i], *before = i ? place - 1 : NULL;
        struct errctx ec;

        errctx_clear(&ec);
        if (!request_is_address(place->address))
            add_place(&unusable, place);
        else if (executor_networks_check_list(networks, place->address, NULL, &ec))
            add_place(&forbidden, place);
        else if (is_node(d, place->address))
            add_place(&nodes, place);
        else if (apart && executor_is_loopback(place->address))
            add_place(&loopback, place);
        if (before && !strcmp(before->address, place->address) && !place->group->manual && !before->group->manual)
            add_place(&twice, place);
    }
    tell_places(d, "address_unusable", &unusable, "Addresses are not valid URLs",
                "Write http://HOST:PORT/ or https://HOST:PORT/.");
    tell_places(d, "address_forbidden", &forbidden, "Addresses are forbidden: every fire there fails",
                "Correct the address, or allow its network in shardwheel.executor.networks.");
    tell_places(d, "address_of_node", &nodes, "These are addresses of a node, not of an executor",
                "Correct the list of the group: executors have their own port.");
    tell_places(d, "address_loopback", &loopback,
                "Executors register with a loopback address, but nodes run on several machines",
                "Set xxl.job.executor.address (or ip) to an address that all nodes can reach.");
    tell_places(d, "address_twice", &twice,
                "One address is registered for several groups: runs may reach the wrong executor",
                "Give each executor its own address; containers need xxl.job.executor.address.");
}

static enum err find_unclaimed(struct doctor *d, struct errctx *ec)
{
    static const char statement[] =
        "SELECT r.registry_key, COUNT(*) FROM xxl_job_registry r WHERE r.registry_group = 'EXECUTOR' AND NOT EXISTS "
        "(SELECT 1 FROM xxl_job_group g WHERE g.app_name = r.registry_key) GROUP BY r.registry_key ORDER BY "
        "r.registry_key LIMIT 1000";
    struct words words = {0};
    struct look *look = NULL;
    enum err e = doctor_look(d, statement, &look, ec);

    while (!e && look_next(look))
        words_add(&words, look_text_or_empty(look, 0));
    look_destroy(look);
    if (!e && words.count)
        doctor_tell(d, DOCTOR_NOTE, "registry_unclaimed", "xxl_job_registry", NULL,
                    "Executors register with an AppName that no group has (%zu): %s.", words.count, words_end(&words));
    return e;
}

static enum err check_addresses(struct doctor *d, struct errctx *ec)
{
    struct executor_networks *networks = NULL;
    struct executor_places places = {0};
    struct job_survey *survey = NULL;
    enum err e = survey_jobs(d, &survey, ec);

    if (!e)
        e = executor_networks_create(d->config->executor_networks, &networks, ec);
    if (!e)
        e = executor_places_make(&survey->groups, &places, ec);
    if (!e)
        judge_places(d, &places, networks);
    executor_places_fini(&places);
    executor_networks_destroy(networks);
    return e ? e : find_unclaimed(d, ec);
}

const struct doctor_check doctor_executor_checks[] = {
    {"addresses", "Addresses of executors can be called, and each belongs to one group.",
     (const char *const[]){"address_unusable", "address_forbidden", "address_of_node", "address_loopback",
                           "address_twice", "registry_unclaimed", NULL},
     DOCTOR_TABLES, check_addresses},
    {"executors", "Executors answer, and can run their jobs.",
     (const char *const[]){"executor_silent", "executor_strange", "executor_token", "executor_open", "executor_no_glue",
                           "executor_mixes", "executor_null_param", "executor_old", "executor_not_asked", NULL},
     DOCTOR_TABLES, executors_ask},
    {0},
};
