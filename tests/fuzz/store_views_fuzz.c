/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target for rows of the database as strangers write them: what people look at, and the tables of the cluster
 * (strange_store.h).
 * Run: store_views_fuzz -max_len=600 -max_total_time=60
 */
#include "strange_store.h"

#include "shardwheel/store/channel.h"
#include "shardwheel/store/cluster.h"
#include "shardwheel/store/figures.h"
#include "shardwheel/store/glue.h"
#include "shardwheel/store/group.h"
#include "shardwheel/store/history.h"
#include "shardwheel/store/job.h"
#include "shardwheel/store/jobs.h"
#include "shardwheel/store/login.h"
#include "shardwheel/store/names.h"
#include "shardwheel/store/overview.h"
#include "shardwheel/store/registry.h"
#include "shardwheel/store/replication.h"
#include "shardwheel/store/run.h"
#include "shardwheel/store/runs.h"
#include "shardwheel/store/upkeep.h"

/* ---- what people look at ----------------------------------------------------------------------------------------- */

static enum err list_jobs(struct store_session *s, struct errctx *ec)
{
    struct job_page_opts opts = {.filter = {.status = -1, .text = draw(2) ? "a" : NULL},
                                 .sort = draw(5),
                                 .limit = 10,
                                 .sources = draw(2),
                                 .limit_ms = LIMIT_MS};
    struct job_list list = {0};
    enum err e = draw(2) ? store_list_jobs(s, &opts, &list, ec) : store_load_jobs(s, ids, ARRAY_LEN(ids), &list, ec);

    for (size_t i = 0; !e && i < list.count; i++)
        for (size_t k = 0; k < job_column_count(); k++)
            if (job_column_get(k)->is_text)
                touch(job_row_text(&list.rows[i], job_column_get(k)));
    job_list_fini(&list);
    return e;
}

static enum err last_runs(struct store_session *s, struct errctx *ec)
{
    struct job_last_run runs[ARRAY_LEN(ids)];
    struct job_moves moves[ARRAY_LEN(ids)];
    size_t count = 0;
    enum err e = store_load_last_runs(s, ids, ARRAY_LEN(ids), LIMIT_MS, runs, &count, ec);

    return e ? e : store_load_job_moves(s, ids, ARRAY_LEN(ids), moves, ec);
}

static enum err load_parents(struct store_session *s, struct errctx *ec)
{
    struct job_parents parents = {0};
    enum err e = store_load_parents(s, 3, LIMIT_MS, &parents, ec);
    struct child_item items[CHILDREN_MAX];

    for (size_t i = 0; !e && i < parents.count; i++)
        if (children_parse(parents.items[i].children, 1, items) > CHILDREN_MAX)
            abort();
    job_parents_fini(&parents);
    return e;
}

static enum err load_glue(struct store_session *s, struct errctx *ec)
{
    struct glue_now now = {0};
    struct glue_versions versions = {0};
    enum err e = store_load_glue(s, 1, &now, ec);

    glue_now_fini(&now);
    if (!e)
        e = store_load_glue_versions(s, 1, &versions, ec);
    for (size_t i = 0; !e && i < versions.count; i++)
        touch(versions.items[i].type), touch(versions.items[i].remark);
    glue_versions_fini(&versions);
    return e;
}

static enum err load_retentions(struct store_session *s, struct errctx *ec)
{
    struct job_retention *list = NULL;
    size_t count = 0;
    enum err e = store_load_retentions(s, &list, &count, ec);

    free(list);
    return e;
}

static enum err load_channels(struct store_session *s, struct errctx *ec)
{
    struct channel_rows channels = {0};
    struct sent_alarms told = {0};
    struct sent_filter filter = {.job_id = 0};
    enum err e = store_load_channels(s, &channels, ec);

    for (size_t i = 0; !e && i < channels.count; i++)
        touch(channels.rows[i].name), touch(channels.rows[i].target), touch(channels.rows[i].app_names);
    channel_rows_fini(&channels);
    if (!e)
        e = store_load_told(s, &filter, 10, 3, &told, ec);
    for (size_t i = 0; !e && i < told.count; i++)
        touch(told.rows[i].event), touch(told.rows[i].error), touch(told.rows[i].job_name);
    sent_alarms_fini(&told);
    return e;
}

static enum err run_rows(struct store_session *s, struct errctx *ec)
{
    struct run_rows rows = {0};
    struct run_facts facts = {0};
    enum err e = store_load_run_rows(s, ids, ARRAY_LEN(ids), 40, draw(2) ? 100 : 1 << 20, &rows, ec);

    for (size_t i = 0; !e && i < rows.count; i++) {
        touch(rows.rows[i].trigger_msg), touch(rows.rows[i].tail), touch(rows.rows[i].handle_msg);
        if (rows.rows[i].state >= RUN_STATES)
            abort();
    }
    run_rows_fini(&rows);
    if (!e)
        e = store_load_run(s, 1, &facts, ec);
    run_facts_fini(&facts);
    return e;
}

static enum err search_runs(struct store_session *s, struct errctx *ec)
{
    struct run_query query = {.filter = {.job_id = draw(2), .states = draw(256), .text = draw(2) ? "x" : NULL},
                              .order = draw(2),
                              .skip = draw(3),
                              .want = 1 + draw(5),
                              .limit_ms = LIMIT_MS,
                              .look_max = 100};
    struct run_ids found = {0};
    int64_t count = 0;
    enum err e = store_search_runs(s, &query, &found, ec);

    if (!e && found.count > query.want)
        abort();
    run_ids_fini(&found);
    return e ? e : store_count_runs(s, &query.filter, LIMIT_MS, &count, ec);
}

static enum err overview(struct store_session *s, struct errctx *ec)
{
    struct group_choice choice = {ids, ARRAY_LEN(ids)};
    struct notable_runs runs = {0};
    struct late_run *late = NULL;
    struct soon_fire soon[SOON_MAX];
    int64_t planned = 0;
    size_t count = 0;
    bool complete;
    enum err e = store_load_notable_runs(s, &choice, 3, LIMIT_MS, &runs, ec);

    notable_runs_fini(&runs);
    if (!e)
        e = store_load_late_runs(s, &choice, NOW_S - 3600, 10, LIMIT_MS, &late, &count, &complete, ec);
    free(late);
    return e ? e
             : store_load_soon(s, &choice, NOW_S * 1000, NOW_S * 1000 + 60000, LIMIT_MS, soon, &count, &planned, ec);
}

static enum err told_rows(struct store_session *s, struct errctx *ec)
{
    struct told_rows rows = {0};
    int64_t wanted[] = {1, 2, 3};
    enum err e = store_load_told_rows(s, 1, wanted, ARRAY_LEN(wanted), &rows, ec);

    for (size_t i = 0; !e && i < rows.count; i++)
        touch(rows.items[i].head), touch(rows.items[i].tail), touch(rows.items[i].handle_head);
    told_rows_fini(&rows);
    return e;
}

static enum err history(struct store_session *s, struct errctx *ec)
{
    static const char *const names[] = {"name", "status"};
    struct history_place newest = {INT64_MAX, INT64_MAX};
    struct event_filter filter = {.all_groups = true, .to_ms = NOW_S * 1000};
    struct event_page page = {0};
    struct job_changes changes = {0};
    enum err e = store_load_events(s, &filter, newest, 3, LIMIT_MS, &page, ec);

    for (size_t i = 0; !e && i < page.count; i++)
        touch(page.items[i].detail), touch(page.items[i].data);
    event_page_fini(&page);
    if (!e)
        e = store_load_job_changes(s, 1, names, ARRAY_LEN(names), 0, 3, LIMIT_MS, &changes, ec);
    for (size_t i = 0; !e && i < changes.count; i++)
        touch(changes.items[i].action), touch(changes.items[i].before[0]), touch(changes.items[i].after[1]);
    job_changes_fini(&changes);
    return e;
}

static enum err audit_and_edits(struct store_session *s, struct errctx *ec)
{
    struct audit_filter filter = {.to_ms = NOW_S * 1000, .scope = AUDIT_OF_ALL};
    struct history_place newest = {INT64_MAX, INT64_MAX};
    struct audit_page page = {0};
    struct edited_job *edits = NULL;
    size_t count = 0;
    int64_t until_id = 0;
    enum err e = store_load_audit(s, &filter, newest, 3, LIMIT_MS, &page, ec);

    for (size_t i = 0; !e && i < page.count; i++)
        touch(page.items[i].row.who), touch(page.items[i].row.before);
    audit_page_fini(&page);
    if (!e)
        e = store_find_edits(s, 0, NOW_S, &edits, &count, &until_id, ec);
    free(edits);
    return e;
}

static enum err groups(struct store_session *s, struct errctx *ec)
{
    struct group_filter filter = {.all_groups = true, .by_name = true, .limit = 3};
    struct group_infos infos = {0};
    struct group_list list = {0};
    struct group_beats beats = {0};
    struct group_jobs jobs = {0};
    struct registry_list registry = {0};
    enum err e = store_list_groups(s, &filter, &infos, ec);

    for (size_t i = 0; !e && i < infos.count; i++)
        touch(infos.items[i].app_name), touch(infos.items[i].address_list), touch(infos.items[i].access_token);
    group_infos_fini(&infos);
    if (!e)
        e = store_load_groups(s, &list, ec);
    for (size_t i = 0; !e && i < list.count; i++)
        group_spec_unref(group_spec_create(1, list.rows[i].app_name, list.rows[i].access_token, list.rows[i].manual,
                                           list.rows[i].address_list));
    group_list_fini(&list);
    if (!e)
        e = store_load_group_beats(s, "app", NOW_S, &beats, ec);
    group_beats_fini(&beats);
    if (!e)
        e = store_list_group_jobs(s, 1, 0, 3, &jobs, ec);
    group_jobs_fini(&jobs);
    if (!e)
        e = store_load_registry(s, NOW_S, &registry, ec);
    for (size_t i = 0; !e && i < registry.count; i++)
        touch(registry.rows[i].key), touch(registry.rows[i].value);
    registry_list_fini(&registry);
    return e;
}

static enum err people(struct store_session *s, struct errctx *ec)
{
    struct login_key key = {.name = "n", .token = draw(2) ? "t" : NULL, .session = draw(2) ? "s" : NULL};
    struct user_filter filter = {.limit = 3, .role = -1};
    struct login_facts facts = {0};
    struct user *users = NULL;
    struct session_row *sessions = NULL;
    struct token_row *tokens = NULL;
    size_t count = 0;
    enum err e = store_load_login(s, &key, &facts, ec);

    if (!e)
        login_facts_fini(&facts);
    if (!e)
        e = store_load_users(s, &filter, &users, &count, ec);
    if (!e)
        users_destroy(users, count);
    if (!e)
        e = store_load_sessions(s, 1, 3, &sessions, &count, ec);
    free(sessions);
    if (!e)
        e = store_load_tokens(s, 1, 0, 3, &tokens, &count, ec);
    free(tokens);
    return e;
}

static enum err names_and_figures(struct store_session *s, struct errctx *ec)
{
    struct names names = {0};
    struct report_days days = {0};
    struct run_job job;
    enum err e = draw(2) ? store_load_job_names(s, ids, ARRAY_LEN(ids), &names, ec)
                         : store_load_group_names(s, ids, ARRAY_LEN(ids), &names, ec);

    if (!e)
        (void)names_find(&names, 2);
    names_fini(&names);
    if (!e)
        e = store_load_report_days(s, "2026-01-01", "2026-01-31", &days, ec);
    report_days_fini(&days);
    return e ? e : store_load_run_job(s, 1, &job, ec);
}

/* ---- the cluster ------------------------------------------------------------------------------------------------- */

static enum err cluster(struct store_session *s, struct errctx *ec)
{
    struct shard_row *shards = NULL;
    struct passed_shards passed = {0};
    struct takeover_note *notes = NULL;
    struct cluster_view view;
    size_t count = 0;
    enum err e = store_load_shards(s, &shards, &count, ec);

    free(shards);
    if (!e)
        e = store_load_passed(s, &passed, ec);
    passed_shards_fini(&passed);
    if (!e)
        e = store_load_takeovers(s, 0, &notes, &count, ec);
    free(notes);
    return e ? e : store_load_cluster(s, "0123456789abcdef", &view, ec);
}

static enum err nodes(struct store_session *s, struct errctx *ec)
{
    struct node_row *rows = NULL;
    struct cluster_status status = {0};
    struct cluster_zones zones;
    int64_t now_ms;
    size_t count = 0;
    enum err e = store_load_nodes(s, &rows, &count, &now_ms, ec);

    free(rows);
    if (!e)
        e = store_load_status(s, draw(2), &status, ec);
    cluster_status_fini(&status);
    return e ? e : store_read_zones(s, &zones, ec);
}

static enum err take_shard(struct store_session *s, struct errctx *ec)
{
    struct reshard_wish wish = {.shards = 8, .last_s = NOW_S, .tries = 1};
    struct reshard_step step;
    int64_t epoch, cursor_s;
    int in_force;
    enum err e = store_init_shards(s, 4, NOW_S, &in_force, ec);

    if (!e)
        e = store_take_shard(s, 0, 4, "0123456789abcdef", 0, NOW_S, &epoch, &cursor_s, ec);
    return e ? e : store_step_reshard(s, &wish, &step, ec);
}

static enum err expired(struct store_session *s, struct errctx *ec)
{
    struct clean_walk walk = {.before_day = 20000, .job_ids = ids, .job_count = draw(5), .except = draw(2)};
    struct replication replication;
    int64_t found[8];
    size_t count = 0;
    bool done;
    enum err e = store_find_expired(s, &walk, ARRAY_LEN(found), found, &count, &done, ec);

    if (!e && count > ARRAY_LEN(found))
        abort();
    return e ? e : store_load_replication(s, &replication, ec);
}

static way *const ways[] = {
    list_jobs,         last_runs, load_parents, load_glue,  load_retentions, load_channels, run_rows,
    search_runs,       overview,  told_rows,    history,    audit_and_edits, groups,        people,
    names_and_figures, cluster,   nodes,        take_shard, expired,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return go_way(ways, ARRAY_LEN(ways), data, size);
}
