/* SPDX-License-Identifier: MIT */
#include "history/others.h"

#include "shardwheel/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void others_init(struct others *o, const char *node, const char *incarnation)
{
    *o = (struct others){.node = node, .incarnation = incarnation};
}

static void end_pass(struct others *o)
{
    free(o->known);
    o->known = o->next;
    o->known_count = o->next_count;
    o->next = NULL;
    o->next_count = o->known_at = 0;
    o->walking = false;
}

void others_fini(struct others *o)
{
    free(o->known);
    free(o->next);
    o->known = o->next = NULL;
}

void others_forget(struct others *o)
{
    others_fini(o);
    others_init(o, o->node, o->incarnation);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static const struct node_row *find_own(const struct others *o, const struct node_row *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(nodes[i].incarnation, o->incarnation) == 0)
            return &nodes[i];
    return NULL;
}

static enum err tell_death(struct store_session *s, const struct node_row *node, struct errctx *ec)
{
    char detail[400];
    bool written;

    snprintf(detail, sizeof detail, "%s failed: no heartbeat after this time. Its shards move to other nodes.",
             node->node);
    return store_write_event_once(
        s,
        &(struct event_row){
            .at_ms = node->beat_ms, .kind = EVENT_NODE_DIED, .node = node->node, .shard = -1, .detail = detail},
        /*unless_own=*/false, &written, ec);
}

static enum err look_at_nodes(struct others *o, struct store_session *s, struct errctx *ec)
{
    struct node_row *nodes = NULL;
    size_t count = 0;
    int64_t now_ms = 0;
    enum err e = store_load_nodes(s, &nodes, &count, &now_ms, ec);
    const struct node_row *own = e ? NULL : find_own(o, nodes, count);

    /* Where not even this node can write its beat nobody else's says anything. */
    if (own && now_ms - own->beat_ms <= OTHERS_FRESH_MS)
        for (size_t i = 0; i < count && !e; i++)
            if (now_ms - nodes[i].beat_ms > OTHERS_DIED_MS)
                e = tell_death(s, &nodes[i], ec);
    free(nodes);
    return e;
}

/* ---- edits ------------------------------------------------------------------------------------------------------- */

/* The sentence of an edit, and its JSON. */
static void describe_edit(const struct edited_job *job, struct buf *detail, struct buf *data)
{
    buf_printf(detail, "Job %" PRId64 " was %s outside shardwheel: schedule %s %s, %s.", job->id,
               job->added ? "added" : "changed", job->type, job->conf, job->running ? "started" : "stopped");
    member_object(data, NULL);
    member_text(data, "scheduleType", job->type);
    member_text(data, "scheduleConf", job->conf);
    member_bool(data, "running", job->running);
    if (job->added)
        member_bool(data, "added", true);
    member_object_end(data);
}

/* Ids ascend within a pass, so one walk over the list of the last one will do. */
static bool is_known(struct others *o, const struct edited_job *job)
{
    while (o->known_at < o->known_count && o->known[o->known_at].id < job->id)
        o->known_at++;
    return o->known_at < o->known_count && o->known[o->known_at].id == job->id &&
           o->known[o->known_at].updated_s == job->updated_s;
}

static enum err remember(struct others *o, const struct edited_job *job, struct errctx *ec)
{
    if (o->next_count == OTHERS_KNOWN_MAX)
        return ERR_OK;
    if (!list_grow(&o->next, o->next_count, sizeof *o->next))
        return err_set(ec, ERR_NOMEM, "out of memory for edits of jobs");
    o->next[o->next_count++] = (struct known_edit){job->id, job->updated_s};
    return ERR_OK;
}

static enum err tell_edit(struct others *o, struct store_session *s, const struct edited_job *job, struct errctx *ec)
{
    struct buf detail = {0}, data = {0};
    bool written;
    enum err e;

    if (o->writes >= OTHERS_WRITES)
        return ERR_OK; /* in the next pass */
    o->writes++;
    describe_edit(job, &detail, &data);
    if (buf_failed(&detail) || buf_failed(&data))
        e = err_set(ec, ERR_NOMEM, "out of memory for an edit of job %" PRId64, job->id);
    else
        e = store_write_event_once(s,
                                   &(struct event_row){.at_ms = job->updated_s * 1000,
                                                       .kind = EVENT_JOB_CHANGED,
                                                       .node = o->node,
                                                       .shard = -1,
                                                       .job_id = job->id,
                                                       .job_group = job->group,
                                                       .detail = detail.data,
                                                       .data = data.data},
                                   /*unless_own=*/true, &written, ec);
    buf_fini(&detail);
    buf_fini(&data);
    return e ? e : remember(o, job, ec);
}

static enum err walk_on(struct others *o, struct store_session *s, int64_t now_ms, struct errctx *ec)
{
    struct edited_job *jobs = NULL;
    size_t count = 0;
    int64_t until_id = 0;
    enum err e;

    if (!o->walking) {
        o->walking = true;
        o->after_id = 0;
        o->writes = 0;
    }
    e = store_find_edits(s, o->after_id, time_floor_div(now_ms, 1000) - OTHERS_BACK_S, &jobs, &count, &until_id, ec);
    for (size_t i = 0; i < count && !e; i++)
        e = is_known(o, &jobs[i]) ? remember(o, &jobs[i], ec) : tell_edit(o, s, &jobs[i], ec);
    free(jobs);
    if (e)
        return e;
    o->after_id = until_id;
    if (until_id == 0)
        end_pass(o);
    return ERR_OK;
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

enum err others_step(struct others *o, struct store_session *s, const struct clock *clock, int64_t now_ms, bool calm,
                     int64_t *next_mono_ms, struct errctx *ec)
{
    int64_t mono_ms = clock_mono_ms(clock);
    enum err e = ERR_OK;

    if (mono_ms >= o->nodes_mono_ms && calm) {
        e = look_at_nodes(o, s, ec);
        o->nodes_mono_ms = mono_ms + OTHERS_NODES_MS;
    }
    if (!e && mono_ms >= o->pass_mono_ms) {
        e = walk_on(o, s, now_ms, ec);
        o->pass_mono_ms = clock_mono_ms(clock) + (o->walking ? OTHERS_PIECE_MS : OTHERS_PASS_MS);
    }
    if (e) /* a pass that broke begins anew */
        o->pass_mono_ms = mono_ms + OTHERS_NODES_MS;
    if (e && o->walking) {
        free(o->next);
        o->next = NULL;
        o->next_count = o->known_at = 0;
        o->walking = false;
    }
    *next_mono_ms = o->pass_mono_ms < o->nodes_mono_ms ? o->pass_mono_ms : o->nodes_mono_ms;
    return e;
}
