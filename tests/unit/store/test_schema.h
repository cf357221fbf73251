/* SPDX-License-Identifier: MIT */
/* test_schema: turns a fresh database of family 3.4 into the other families, by what distinguishes them. What a newer
 * family changed stands before the return for 3.4. */
#ifndef SHARDWHEEL_TESTS_STORE_TEST_SCHEMA_H
#define SHARDWHEEL_TESTS_STORE_TEST_SCHEMA_H

#include "store/test_db.h"

static const char *const test_families[] = {"2.3", "2.5", "3.2", "3.4", "3.5"};

static inline bool test_is_since(const char *family, const char *first)
{
    return strverscmp(family, first) >= 0;
}

static inline const char *test_job_name_column(const char *family)
{
    return test_is_since(family, "3.5") ? "name" : "job_desc";
}

static inline const char *test_group_name_column(const char *family)
{
    return test_is_since(family, "3.5") ? "name" : "title";
}

static inline void test_make_family(const char *family)
{
    if (test_is_since(family, "3.5")) {
        test_sql("ALTER TABLE xxl_job_info CHANGE job_desc name VARCHAR(255) NOT NULL");
        test_sql("ALTER TABLE xxl_job_group CHANGE title name VARCHAR(64) NOT NULL, ADD access_token VARCHAR(255), "
                 "ADD UNIQUE KEY i_app_name (app_name)");
    }
    if (test_is_since(family, "3.4"))
        return;
    test_sql("UPDATE xxl_job_group SET title = 'Sample'");
    test_sql("ALTER TABLE xxl_job_group MODIFY title VARCHAR(12) NOT NULL");
    test_sql("ALTER TABLE xxl_job_registry MODIFY id INT NOT NULL AUTO_INCREMENT");
    test_sql("ALTER TABLE xxl_job_info MODIFY executor_param VARCHAR(512)");
    test_sql("ALTER TABLE xxl_job_log MODIFY executor_param VARCHAR(512), DROP KEY I_jobgroup, DROP KEY I_jobid, "
             "ADD KEY I_jobid_jobgroup (job_id, job_group), ADD KEY I_job_id (job_id)");
    if (strcmp(family, "3.2") == 0)
        return;
    test_sql("UPDATE xxl_job_user SET password = ''");
    test_sql("ALTER TABLE xxl_job_user DROP token, MODIFY password VARCHAR(50) NOT NULL");
    if (strcmp(family, "2.5") == 0)
        return;
    test_sql("ALTER TABLE xxl_job_registry DROP KEY i_g_k_v, ADD KEY i_g_k_v (registry_group, registry_key, "
             "registry_value)");
    test_sql("ALTER TABLE xxl_job_log DROP KEY I_jobid_jobgroup, DROP KEY I_job_id");
}

#endif
