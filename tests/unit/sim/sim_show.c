/* SPDX-License-Identifier: MIT */
/* Rows of the log in full, for who looks for the cause of a violation. */
#include "sim/sim_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void show_log(const struct memory_log *row)
{
    const struct fire *f = &row->fire;

    fprintf(stderr,
            "log %" PRId64 ": job %" PRId64 " due %" PRId64 "/%" PRId64 " %s part %d/%d (%s) flags %x epoch %" PRId64
            " generation %d parent %" PRId64 " retry_of %" PRId64 " retry %" PRId64 "\n",
            f->log_id, f->job_id, f->original_due_s, f->due_s, trigger_kind_name(f->kind), f->shard_index,
            f->shard_total, row->sharding ? row->sharding : "-", f->flags, f->epoch, f->generation, row->parent,
            row->retry_of, row->retry_id);
    fprintf(stderr,
            "    made %.3f changed %.3f codes %d %d alarm %d handled %d left %d (then %d) arrivals %d%s%s%s%s%s%s\n",
            (double)row->made_us / 1e6, (double)row->changed_us / 1e6, row->trigger_code, row->handle_code,
            row->alarm_status, row->handled, row->retries_left, row->retries_then, row->arrivals,
            row->exists    ? ""
            : row->cleared ? " removed"
                           : " is-not-there",
            row->cancelled ? " cancelled" : "", row->forgotten ? " forgotten" : "", row->direct ? " direct" : "",
            row->held ? " waits" : "", row->was_held ? " waited" : "");
    fprintf(stderr, "    param %s address %s: %s\n", row->param ? row->param : "-", row->address ? row->address : "-",
            row->message ? row->message : "-");
}

static void show_later(const struct memory_later *later)
{
    const struct later_row *row = &later->row;

    fprintf(stderr,
            "later row %" PRId64 ": job %" PRId64 " due %" PRId64 " %s part %s log %" PRId64 " until %" PRId64
            " plans %d holds %d waits %d%s%s\n",
            row->id, row->job_id, row->due_s, trigger_kind_name(row->kind), row->sharding ? row->sharding : "-",
            row->log_id, row->hold_until_s, later->plans, later->holds, later->waits,
            later->exists ? "" : " is-not-there", row->planned ? " planned" : "");
}

void sim_show(const struct sim *sim)
{
    const char *text = getenv("SHARDWHEEL_SIM_SHOW");
    int64_t id = text ? strtoll(text, NULL, 10) : 0;

    for (size_t i = 0; id && i < sim->db->log_count; i++) {
        const struct memory_log *row = &sim->db->logs[i];

        if (row->fire.log_id == id || row->retry_of == id || row->parent == id)
            show_log(row);
    }
    for (size_t i = 0; id && i < sim->db->later_count; i++)
        if (sim->db->later[i].row.log_id == id || sim->db->later[i].retry_of == id)
            show_later(&sim->db->later[i]);
}
