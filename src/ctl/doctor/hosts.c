/* SPDX-License-Identifier: MIT */
/* The servers that spring.datasource.url lists. */
#include "ctl/doctor/check.h"

#include "shardwheel/store/hosts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct candidate {
    char where[320];
    struct host_facts facts;
};

/* Several names may lead to one server. */
static void tell_two_writers(struct doctor *d, const struct candidate *one, const struct candidate *other)
{
    if (!one->facts.takes_writes || !other->facts.takes_writes || (one->facts.galera && other->facts.galera) ||
        !strcmp(one->facts.server, other->facts.server))
        return;
    doctor_tell(d, DOCTOR_CRITICAL, "hosts_write", other->where,
                "Set read_only on all but the primary, also in their option files, so that they start read-only.",
                "Two servers of spring.datasource.url accept writes and are not a Galera cluster: this one and %s. "
                "Nodes use one of them, and do not see what others write to the other one.",
                one->where);
}

static void tell_in_use(struct doctor *d, const struct candidate *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct host_facts *f = &list[i].facts;

        if (f->takes_writes && f->generation > 0 && strcmp(f->server, f->row_server) != 0)
            doctor_tell(d, DOCTOR_WARNING, "host_not_raised", list[i].where,
                        "During a failover, nothing; otherwise check the lines with event=primary in the logs.",
                        "This server accepts writes, but the nodes use another one (generation %" PRId64 "), %s.",
                        f->generation, f->row_server);
    }
}

/* A replica has the row of its primary. */
static void tell_others(struct doctor *d, const struct candidate *used, const struct candidate *c)
{
    const struct host_facts *f = &c->facts;

    if (!f->reached || f->takes_writes)
        return;
    if (f->galera)
        doctor_tell(d, DOCTOR_WARNING, "host_unready", c->where,
                    "Repair it: it is not a working member of the Galera cluster.",
                    "A failover to this server is not possible: %s.", f->why);
    else if (f->generation != used->facts.generation)
        doctor_tell(d, DOCTOR_WARNING, "host_behind", c->where,
                    "Check what it has that the primary does not have, then make it a replica again.",
                    "It is read-only, but not a replica of %s, or far behind: it has generation %" PRId64
                    " instead of %" PRId64 ".",
                    used->where, f->generation, used->facts.generation);
}

/* The one that nodes would go to: its row is the newest among those that take writes. */
static void tell_used(struct doctor *d, const struct candidate *list, size_t count)
{
    const struct candidate *used = NULL;

    for (size_t i = 0; i < count; i++)
        if (list[i].facts.takes_writes && (!used || list[i].facts.generation > used->facts.generation))
            used = &list[i];
    if (!used)
        return;
    doctor_tell(d, DOCTOR_NOTE, "host_used", used->where, NULL,
                "Of the servers in spring.datasource.url, this one is used: %s, generation %" PRId64 ".",
                used->facts.server, used->facts.generation);
    for (size_t i = 0; i < count; i++)
        tell_others(d, used, &list[i]);
}

static enum err check_hosts(struct doctor *d, struct errctx *ec)
{
    struct hosts *hosts = store_get_hosts(d->store);
    size_t count = hosts ? hosts_count(hosts) : 0;
    struct candidate *list;

    if (count < 2)
        return ERR_OK;
    list = calloc(count, sizeof *list);
    if (!list)
        return err_set(ec, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        struct host_address at = hosts_get_address(hosts, (int)i);

        snprintf(list[i].where, sizeof list[i].where, "server %s:%d", at.host, at.port);
        hosts_probe(hosts, (int)i, &list[i].facts);
        if (!list[i].facts.reached)
            doctor_tell(d, DOCTOR_WARNING, "host_unreachable", list[i].where,
                        "Start it, or remove it from spring.datasource.url: a failover to it is not possible.",
                        "This server of spring.datasource.url does not answer: %s.", list[i].facts.why);
        for (size_t k = 0; k < i; k++)
            tell_two_writers(d, &list[k], &list[i]);
    }
    tell_in_use(d, list, count);
    tell_used(d, list, count);
    free(list);
    return ERR_OK;
}

const struct doctor_check doctor_host_checks[] = {
    {"hosts", "One of the servers in the URL accepts writes, and the others can be reached.",
     (const char *const[]){"host_unreachable", "hosts_write", "host_not_raised", "host_behind", "host_unready",
                           "host_used", NULL},
     DOCTOR_DATABASE, check_hosts},
    {0},
};
