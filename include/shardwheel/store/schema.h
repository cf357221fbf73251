/* SPDX-License-Identifier: MIT */
/*
 * store/schema: what the tables of a database can do, and the making of those that are missing. See store/conn.h for
 * threads, ownership and errors.
 */
#ifndef SHARDWHEEL_STORE_SCHEMA_H
#define SHARDWHEEL_STORE_SCHEMA_H

#include "shardwheel/store/conn.h"

#define INDEX_NAME_MAX 65

/* What the schema of this database is able to do; read from information_schema (features, not version numbers). */
struct store_features {
    const char *family;    /* "2.3", "2.5", "3.2", "3.4", "3.5": nearest family, for messages */
    bool job_name_is_desc; /* xxl_job_info.job_desc, else .name */
    bool group_title;      /* xxl_job_group.title, else .name */
    int group_title_len;   /* of either */
    bool group_access_token;
    bool user_token;
    int user_password_len;
    bool registry_unique;
    /* Names of indexes of xxl_job_log over that column and no other, so that their rows lie in the order of id; "" when
     * there is none. Letters, digits and underscores: they may stand in a statement. */
    char log_handle_code_name[INDEX_NAME_MAX];
    char log_job_id_name[INDEX_NAME_MAX];
    char log_group_name[INDEX_NAME_MAX];        /* job_group */
    char log_trigger_time_name[INDEX_NAME_MAX]; /* trigger_time */
    /* ... over (job_id, trigger_time) and (job_group, trigger_time): see sql/index.sql. */
    char log_job_time_name[INDEX_NAME_MAX];
    char log_group_time_name[INDEX_NAME_MAX];
    int param_len;        /* xxl_job_log.executor_param */
    bool info_next_index; /* an index that starts with (trigger_status, trigger_next_time) */
    bool skip_locked;  /* the server knows SKIP LOCKED (MySQL 8.0.1, MariaDB 10.6); asked, not read from the schema */
    bool own_tables;   /* ours are there, of whatever version */
    int own_version;   /* of them; 0: not there */
    bool own_complete; /* they have all that this release needs: its version or a newer one */
    bool empty;        /* not one xxl_job table */
    char server_version[64];
};

/* Reads and keeps the features for this store. ERR_INPUT with what is missing for a schema that is too old or
 * incomplete (not for an empty one: that is `empty`); ERR_STATE when the tables of ours are two versions or more ahead
 * or behind. */
MUST_CHECK enum err store_load_features(struct store *st, struct store_features *out, struct errctx *ec);
/* Puts what is missing into the database, and only that: on an empty one the whole schema of family 3.4 with an admin
 * user whose random password is returned (caller frees), else only our tables, what is missing in those of the version
 * before (store/schema/upgrade.h) and a missing schedule_lock row. Safe to call from several nodes at once and again.
 * `report` is called with one sentence for each thing done. */
MUST_CHECK enum err store_install_schema(struct store *st, void (*report)(void *arg, const char *what), void *arg,
                                         char **admin_password, struct errctx *ec);

#endif
