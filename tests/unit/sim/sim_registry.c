/* SPDX-License-Identifier: MIT */
/* registry.h for simulations: one group, whose executors come and go. A node sees that some moments later. */
#include "sim/sim_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define GROUP_ID 1

const char *sim_get_address(int executor)
{
    static const char *const addresses[SIM_EXECUTORS] = {"http://10.0.0.1:9999/", "http://10.0.0.2:9999/",
                                                         "http://10.0.0.3:9999/"};

    return addresses[executor];
}

static void fill_view(struct registry_view *view, unsigned members)
{
    size_t n = 0;

    for (int i = 0; i < SIM_EXECUTORS; i++)
        if (members & 1U << i)
            view->addresses[n++] = sim_get_address(i);
    view->group = (struct registry_group){
        .id = GROUP_ID, .app_name = "app", .access_token = "", .addresses = view->addresses, .count = n};
    view->snapshot.groups = &view->group;
    view->snapshot.count = 1;
}

void sim_registry_begin(struct sim_run *run)
{
    for (unsigned members = 0; members <= SIM_MEMBERS_ALL; members++)
        fill_view(&run->registry.view[members], members);
    sim_registry_look(run);
}

void sim_registry_look(struct sim_run *run)
{
    run->registry.members = run->sim->members;
}

void sim_set_members(struct sim *sim, unsigned members)
{
    char list[100] = "";

    for (int i = 0; i < SIM_EXECUTORS; i++)
        if (members & 1U << i)
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", list[0] ? "," : "", sim_get_address(i));
    sim->members = members;
    sim->db->address_list = memory_db_keep(sim->db, list);
}

void sim_empty_group(struct sim *sim, bool empty)
{
    sim_set_members(sim, empty ? 0 : SIM_MEMBERS_ALL);
    for (int i = 0; i < SIM_NODES_MAX; i++)
        if (sim->run[i])
            sim_registry_look(sim->run[i]);
}

/* ---- registry.h -------------------------------------------------------------------------------------------------- */

const struct registry_snapshot *registry_get_snapshot(struct registry *r)
{
    return &r->view[r->members].snapshot;
}

void registry_put_snapshot(const struct registry_snapshot *snap)
{
    (void)snap;
}

const struct registry_group *registry_find_group(const struct registry_snapshot *snap, int64_t id)
{
    return id == GROUP_ID ? snap->groups : NULL;
}

void registry_note_generation(struct registry *r, const char *address, bool trigger_path)
{
    (void)r, (void)address, (void)trigger_path;
}

bool registry_is_trigger_path(struct registry *r, const char *address)
{
    (void)r, (void)address;
    return false;
}

/* ---- what must hold of broadcasts -------------------------------------------------------------------------------- */

/* Whatever became of it. */
static bool was_written(const struct memory_log *row)
{
    return row->exists || row->cancelled || row->cleared || row->forgotten;
}

static bool is_part(const struct memory_log *first, const struct memory_log *row, int index)
{
    return row->fire.broadcast && (row->was_held || row->direct == first->direct) &&
           row->fire.job_id == first->fire.job_id && row->fire.original_due_s == first->fire.original_due_s &&
           row->fire.kind == first->fire.kind && row->fire.shard_total == first->fire.shard_total &&
           row->fire.shard_index == index && was_written(row);
}

/* The parts of a whole are written at once: their ids follow each other. A retry is of one part, a flow makes its parts
 * one by one, and one that had waited for an executor got the others later. */
void sim_check_broadcasts(struct sim *sim)
{
    const struct memory_db *db = sim->db;

    for (size_t i = 0; i < db->log_count; i++) {
        const struct memory_log *row = &db->logs[i];
        size_t first = i - (size_t)row->fire.shard_index;
        bool whole = first <= i && first + (size_t)row->fire.shard_total <= db->log_count;

        if (!row->fire.broadcast || !was_written(row) || row->fire.kind == TRIGGER_RETRY ||
            row->fire.kind == TRIGGER_FLOW || row->was_held || row->fire.flags & FIRE_LATER)
            continue;
        for (int k = 0; k < row->fire.shard_total && whole; k++)
            whole = is_part(row, &db->logs[first + (size_t)k], k);
        if (!whole)
            sim_violate(sim, "broadcast-is-whole",
                        "log %" PRId64 " of job %" PRId64 ", due %" PRId64 ", is part %d of %d, and others are missing",
                        row->fire.log_id, row->fire.job_id, row->fire.original_due_s, row->fire.shard_index,
                        row->fire.shard_total);
    }
}
