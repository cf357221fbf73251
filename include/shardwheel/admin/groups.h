/* SPDX-License-Identifier: MIT */
/*
 * admin/groups: executor groups. See admin.h for threads, ownership and refusals.
 *
 * Rights      Changing: RIGHT_ADMINISTER. Seeing one: RIGHT_SEE in it, or anybody's by admin_show_group.
 * Checks      In this order, with the fields of the refusals:
 *             appname     blank REQUIRED; not 4 to 64 characters LENGTH; with script, or by `angles` < and >, INVALID
 *             title       blank REQUIRED; script INVALID; too long for the column LENGTH
 *             addressList by hand: blank REQUIRED; script INVALID without an item; an empty item among them REQUIRED
 *                         with its number as the item; by `scheme` not http:// or https:// INVALID, not allowed by
 *                         shardwheel.executor.networks INVALID, both with the address as the item; too long LENGTH
 *             appname     by `unique` another group's TAKEN
 *             accessToken too long LENGTH; where the database has none OFF
 * Addresses   Of a group by heartbeats: adding one stores the list as it was given (the registry writes it anew within
 *             seconds); changing one stores what is registered, whatever was given.
 * Texts       Are stored as they were given, blanks too.
 */
#ifndef SHARDWHEEL_ADMIN_GROUPS_H
#define SHARDWHEEL_ADMIN_GROUPS_H

#include "shardwheel/admin.h"
#include "shardwheel/store/group.h"

/* What the dialects and api/v1 differ in. */
struct group_rules {
    bool angles; /* < and > are refused everywhere, and not only script */
    bool scheme; /* see above, as the one that follows */
    bool unique;
    bool keeps_name;   /* a change leaves the app name as it is */
    bool checks_first; /* a change of a group that is not there is refused for its values first */
    bool only_changed; /* a change does not check what is left as it was */
};

/* What a group is to be, as store/group.h has it: a text that is absent is NULL, an access token of "" is none; id,
 * has_token and update_s are not looked at. */
MUST_CHECK enum err admin_add_group(struct admin *a, const struct actor *actor, const struct group_info *values,
                                    const struct group_rules *rules, int64_t *out_id, struct refusal *r);

/* What a change is to come to, by what is there. False: refused, with `r` filled in. */
typedef bool group_decide(void *arg, const struct group_info *now, struct group_info *values, struct refusal *r);
/* `decide` changes values, which begin as what is there; it is called again when somebody was faster. REFUSED_UNKNOWN
 * id. */
MUST_CHECK enum err admin_change_group(struct admin *a, const struct actor *actor, int64_t id, group_decide *decide,
                                       void *arg, const struct group_rules *rules, struct refusal *r);
/* REFUSED_UNKNOWN id, REFUSED_IN_USE, REFUSED_LAST. `may` looks at what is there first; NULL. checks_first: also the
 * removal of a group that is not there is refused as in use or the last one first. */
MUST_CHECK enum err admin_remove_group(struct admin *a, const struct actor *actor, int64_t id, group_decide *may,
                                       void *arg, bool checks_first, struct refusal *r);

/* One item. Its access token is NULL for who may not administer. admin_show_group: whoever is logged in, as the
 * consoles have it. */
MUST_CHECK enum err admin_load_group(struct admin *a, const struct actor *actor, int64_t id, struct group_infos *out,
                                     struct refusal *r);
MUST_CHECK enum err admin_show_group(struct admin *a, const struct actor *actor, int64_t id, struct group_infos *out,
                                     struct refusal *r);
/* Those that the actor may see; by name, as the consoles list them, for administrators. The groups of the filter are
 * filled in here. `total` NULL: not counted. *is_estimate: could not be counted in 2 s, and total is a guess. */
MUST_CHECK enum err admin_list_groups(struct admin *a, const struct actor *actor, const struct group_filter *wanted,
                                      struct group_infos *out, int64_t *total, bool *is_estimate, struct refusal *r);

/* Who beats for the group, and whom its list has. By address. */
struct group_executor {
    const char *address;
    int64_t beat_s;    /* -1: no beat in the last 90 s */
    bool listed;       /* fires go there */
    bool trigger_path; /* it is of the generation that is started with /trigger, not /run */
    int64_t under_way; /* runs that it has; as the next two by rows of this group, as the overview counts them */
    int64_t failures;  /* of the last hour */
    int64_t failed_s;  /* its last failure that is known; 0: none */
};
struct group_executors {
    struct group_executor *items;
    size_t count;
    bool has_runs;            /* false: counting them took too long */
    bool runs_are_estimates;  /* only the newest rows of the log were counted */
    struct group_beats beats; /* owns addresses, as `group` does */
    struct group_infos group;
};
MUST_CHECK enum err admin_load_executors(struct admin *a, const struct actor *actor, int64_t id,
                                         struct group_executors *out, struct refusal *r);
void group_executors_fini(struct group_executors *list);

/* What a list shows of each group; jobs and runs as the overview counts them. */
#define GROUP_FIGURES_MAX 100
struct group_figures {
    int64_t group;
    int64_t online; /* addresses that beat for it */
    int64_t beat_s; /* the latest beat; -1: none in the last 90 s */
    int64_t listed; /* addresses that fires go to */
    int64_t jobs, jobs_running;
    int64_t under_way, failures, failed_s; /* as those of an executor */
};
struct groups_figures {
    struct group_figures items[GROUP_FIGURES_MAX];
    size_t count;
    bool has_jobs, has_runs; /* false: counting them took too long */
    bool runs_are_estimates;
};
/* In the order of `ids`; those that the actor may not see, or that are not there, are left out. */
MUST_CHECK enum err admin_load_group_figures(struct admin *a, const struct actor *actor, const int64_t *ids,
                                             size_t count, struct groups_figures *out, struct refusal *r);

/* Asks one address whether an executor is there, as that group (0: none) would; for administrators, with the rules of
 * addresses that are saved (field "address"). Waits for it. */
struct address_verdict {
    enum { ADDRESS_ANSWERED, ADDRESS_REFUSED, ADDRESS_STRANGER, ADDRESS_AWAY } what;
    int64_t took_ms;
    struct errctx detail; /* what the executor or the network said; "" for a stranger, whose words are not repeated */
};
MUST_CHECK enum err admin_check_address(struct admin *a, const struct actor *actor, const char *address, int64_t group,
                                        struct address_verdict *out, struct refusal *r);

MUST_CHECK enum err admin_list_group_jobs(struct admin *a, const struct actor *actor, int64_t id, int64_t after,
                                          int64_t limit, struct group_jobs *out, struct refusal *r);

/* Pure: the ten patterns by which the original tells script-like text, for who reads this database with it. */
bool text_has_script(const char *text);

#endif
