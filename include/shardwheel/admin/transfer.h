/* SPDX-License-Identifier: MIT */
/*
 * admin/transfer: jobs, groups, flows and whom alarms go to, as a document that can stand in version control: out of a
 * cluster, and into one. See shardwheel/admin.h for threads, ownership and refusals.
 *
 * Names       A group is known by its app name, a job by that and its own name, children likewise: ids differ from one
 *             cluster to another. Where a name is there twice nothing is done with it, and the item says so. A flow
 *             is known by its name; its document is that of flow_put_with_names.
 *             A rule of alarms is known by its kind, tag and group, a channel by its name.
 * Secrets     URLs and secrets of channels are not in a document: a channel that is not there is not made.
 * Whole       What the document does not say of a job or group is put to its default, so that it means the same
 *             everywhere. But it says nothing of: whether a job runs, where `running` is -1 (a new one does not);
 *             tokens of groups, which are secrets; addresses of groups by heartbeats. What is not in it stays.
 * Each item   is done by itself, as in admin/batch.h. TRANSFER_MS bounds a call.
 * Dry run     Says what would be done, with what differs; nothing is written or locked.
 */
#ifndef SHARDWHEEL_ADMIN_TRANSFER_H
#define SHARDWHEEL_ADMIN_TRANSFER_H

#include "shardwheel/admin/flows.h"
#include "shardwheel/admin/groups.h"
#include "shardwheel/admin/jobs.h"
#include "shardwheel/store/channel.h"
#include "shardwheel/store/watch.h"

#define TRANSFER_JOBS_MAX 10000 /* of an import */
#define TRANSFER_FLOWS_MAX 500
#define TRANSFER_CHANNELS_MAX 100
#define TRANSFER_MS 20000

struct transfer_name {
    const char *app_name;
    const char *name;
};

struct transfer_job {
    const char *app_name;
    struct job_row row; /* of which the columns that people change count, texts not NULL; `children` see below */
    struct job_settings settings;
    const struct transfer_name *children; /* NULL: they stand as ids in row.children */
    size_t child_count;
    int running; /* 1, 0; -1: not said */
};

struct transfer_flow {
    const char *name;     /* as the document has it */
    const char *document; /* see flow_put_with_names */
    int running;          /* whether its schedule is followed: 1, 0; -1: not said */
};

struct transfer {
    struct group_info *groups; /* by app name */
    size_t group_count;
    struct transfer_job *jobs; /* by app name, name, id */
    size_t job_count;
    struct transfer_flow *flows; /* by name */
    size_t flow_count;
    struct watch_rule *rules; /* by kind, tag, group; of an import `bound`, too */
    size_t rule_count;
    struct channel_row *channels; /* by name; of an import what is no secret: name, kind, app_names, tags, quiet */
    size_t channel_count;
};
/* "no_success tag=billing group=orders": what a rule is known by. */
void transfer_put_rule_name(const struct watch_rule *rule, struct buf *out);

/* ---- out --------------------------------------------------------------------------------------------------------- */

/*
 * Page by page, as large as the cluster may be. Memory is that of a page and of the names of EXPORT_LISTED jobs; no
 * session of the database is held between calls. An exporter belongs to one thread.
 *
 * Changes     Each page is what stood in the database when it was read. A job that is removed meanwhile is missing. One
 *             that gets another name or group, or is added, is missing where its new place is behind us; one whose new
 *             place is before us stands there twice.
 */
#define EXPORT_PAGE 500
#define EXPORT_LISTED 10000
#define EXPORT_SOURCES_MAX (4 << 20) /* bytes of the sources of a page, but for one job alone */

struct export_opts {
    const int64_t *groups; /* of those that the actor sees these alone; NULL: all */
    size_t group_count;
    const int64_t *jobs; /* of those these alone, and groups that have some of them; NULL: all */
    size_t job_count;
    size_t page, listed; /* 0: EXPORT_PAGE, which is the most, and EXPORT_LISTED */
};
struct exporter;
/* Rights are those of now, to the end. The actor need not stay, nor what `opts` has. */
MUST_CHECK enum err admin_begin_export(struct admin *a, const struct actor *actor, const struct export_opts *opts,
                                       struct exporter **out, struct refusal *r);
void exporter_destroy(struct exporter *x); /* NULL is fine */
/* The next groups, jobs, flows: pages may be empty. They stand until the next call for the same. *more: there may be
 * others. A flow is left out unless all its jobs, and those of the flows that it runs, are taken out. A flow that leads
 * to no job is left out unless all groups are taken out. */
MUST_CHECK enum err exporter_read_groups(struct exporter *x, struct transfer *out, bool *more, struct refusal *r);
MUST_CHECK enum err exporter_read_jobs(struct exporter *x, struct transfer *out, bool *more, struct refusal *r);
MUST_CHECK enum err exporter_read_flows(struct exporter *x, struct transfer *out, bool *more, struct refusal *r);
/* Rules and channels, all at once: rules unless some groups or jobs alone are taken out, or the actor does not see all;
 * channels if he may also ADMINISTER. They stand until the end. */
MUST_CHECK enum err exporter_read_alarms(struct exporter *x, struct transfer *out, struct refusal *r);

/* ---- in ---------------------------------------------------------------------------------------------------------- */

enum transfer_outcome { TRANSFER_CREATE, TRANSFER_CHANGE, TRANSFER_SAME, TRANSFER_REFUSED, TRANSFER_LEFT };
const char *transfer_outcome_name(enum transfer_outcome outcome); /* "create", "change", "same", "refused", "left" */

struct transfer_item {
    enum transfer_outcome outcome;
    int64_t id;             /* 0: there is none yet */
    char *before, *after;   /* JSON objects of what differs; NULL: it was not there, or nothing differs */
    enum refusal_kind kind; /* of TRANSFER_REFUSED; a part of it may be done, then `outcome` is this all the same */
    const char *field;      /* of it; NULL */
    char *text;             /* of it; NULL */
};

struct transfer_result {
    struct transfer_item *items; /* all of them */
    size_t count;
    struct transfer_item *groups, *jobs, *flows, *rules, *channels; /* of these; as in the document */
    size_t outcomes[TRANSFER_LEFT + 1];                             /* how many of each, of all */
};
void transfer_result_fini(struct transfer_result *result);

/* Groups first, then rules and channels, then jobs, their children, and flows, each after those that it runs.
 * REFUSED_INVALID "groups", "jobs", "flows", "rules", "channels": a name is there twice (its item); REFUSED_LIMIT: too
 * many jobs or flows, or another import is under way at this node. */
MUST_CHECK enum err admin_import(struct admin *a, const struct actor *actor, const struct transfer *document,
                                 bool dry_run, struct transfer_result *out, struct refusal *r);

#endif
