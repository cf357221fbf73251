/* SPDX-License-Identifier: MIT */
/* Addresses of executors, as groups and the registry have them. Nobody is asked: that is ask.c. */
#include "ctl/doctor/ask.h"
#include "ctl/doctor/places.h"
#include "ctl/doctor/survey.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shardwheel/executor/networks.h"
#include "shardwheel/executor/request.h"

static bool is_node(const struct doctor *d, const char *address)
{
    char mine[300], theirs[300];
    size_t len;

    for (const struct node_row *node = NULL; (node = doctor_next_live(d, node)) != NULL;) {
        if (place_take_host(address, theirs, sizeof theirs, &len) &&
            place_take_host(node->url, mine, sizeof mine, &len) && !strcmp(mine, theirs))
            return true;
    }
    return false;
}

/* Nodes live on several machines, as far as their addresses tell. */
static bool are_nodes_apart(const struct doctor *d)
{
    char first[300] = "", other[300];
    size_t first_len = 0, len;

    for (const struct node_row *node = NULL; (node = doctor_next_live(d, node)) != NULL;) {
        if (!first[0]) {
            if (!place_take_host(node->url, first, sizeof first, &first_len))
                first[0] = '\0';
        } else if (place_take_host(node->url, other, sizeof other, &len) &&
                   (len != first_len || strncmp(first, other, len) != 0)) {
            return true;
        }
    }
    return false;
}

/* A place has the first of the first four that is so. */
enum place_fault { PLACE_UNUSABLE, PLACE_FORBIDDEN, PLACE_OF_NODE, PLACE_LOOPBACK, PLACE_TWICE, PLACE_FAULTS };

static const struct {
    const char *code, *what, *change;
} tellings[PLACE_FAULTS] = {
    [PLACE_UNUSABLE] = {"address_unusable", "Addresses are not valid URLs",
                        "Write http://HOST:PORT/ or https://HOST:PORT/."},
    [PLACE_FORBIDDEN] = {"address_forbidden", "Addresses are forbidden: every fire there fails",
                         "Correct the address, or allow its network in shardwheel.executor.networks."},
    [PLACE_OF_NODE] = {"address_of_node", "These are addresses of a node, not of an executor",
                       "Correct the list of the group: executors have their own port."},
    [PLACE_LOOPBACK] = {"address_loopback",
                        "Executors register with a loopback address, but nodes run on several machines",
                        "Set xxl.job.executor.address (or ip) to an address that all nodes can reach."},
    [PLACE_TWICE] = {"address_twice", "One address is registered for several groups: runs may reach the wrong executor",
                     "Give each executor its own address; containers need xxl.job.executor.address."},
};

static void judge_places(struct doctor *d, const struct executor_places *places,
                         const struct executor_networks *networks)
{
    struct words found[PLACE_FAULTS] = {{{0}, 0}};
    bool apart = are_nodes_apart(d);

    for (size_t i = 0; i < places->count; i++) {
        const struct executor_place *place = &places->items[i], *before = i ? place - 1 : NULL;
        struct errctx ec = {{0}};

        if (!request_is_address(place->address))
            place_add(&found[PLACE_UNUSABLE], place);
        else if (executor_networks_check_list(networks, place->address, NULL, &ec))
            place_add(&found[PLACE_FORBIDDEN], place);
        else if (is_node(d, place->address))
            place_add(&found[PLACE_OF_NODE], place);
        else if (apart && executor_is_loopback(place->address))
            place_add(&found[PLACE_LOOPBACK], place);
        if (before && !strcmp(before->address, place->address) && !place->group->manual && !before->group->manual)
            place_add(&found[PLACE_TWICE], place);
    }
    for (size_t i = 0; i < PLACE_FAULTS; i++)
        doctor_tell_list(d, DOCTOR_WARNING, tellings[i].code, "xxl_job_group", tellings[i].change, tellings[i].what,
                         &found[i]);
}

static enum err find_unclaimed(struct doctor *d, struct errctx *ec)
{
    struct words words = {0};
    enum err e = doctor_add_rows(
        d, &words, ec,
        "SELECT NULL, r.registry_key FROM xxl_job_registry r WHERE r.registry_group = 'EXECUTOR' AND NOT EXISTS "
        "(SELECT "
        "1 FROM xxl_job_group g WHERE g.app_name = r.registry_key) GROUP BY r.registry_key ORDER BY r.registry_key "
        "LIMIT 1000");

    doctor_tell_list(d, DOCTOR_NOTE, "registry_unclaimed", "xxl_job_registry", NULL,
                     "Executors register with an AppName that no group has", &words);
    return e;
}

static enum err check_addresses(struct doctor *d, struct errctx *ec)
{
    struct executor_networks *networks = NULL;
    struct executor_places places = {0};
    enum err e = executor_networks_create(d->config->executor_networks, &networks, ec);

    if (!e)
        e = executor_places_make(&d->survey->groups, &places, ec);
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
     DOCTOR_JOBS, check_addresses},
    {"executors", "Executors answer, and can run their jobs.",
     (const char *const[]){"executor_silent", "executor_strange", "executor_token", "executor_open", "executor_no_glue",
                           "executor_mixes", "executor_null_param", "executor_old", "executor_not_asked", NULL},
     DOCTOR_TABLES, executors_ask},
    {0},
};
