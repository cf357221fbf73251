/* SPDX-License-Identifier: MIT */
/* All checks, in the order in which they run. */
#include "ctl/doctor/check.h"

/* One a line. */
/* clang-format off */
const struct doctor_check *const doctor_tables[] = {
    doctor_database_checks, /* first: it opens what the others need */
    doctor_server_checks,
    doctor_replica_checks,
    doctor_session_checks,
    doctor_host_checks,
    doctor_schema_checks,
    doctor_clock_checks,
    doctor_node_checks,
    doctor_page_checks,
    doctor_zookeeper_checks,
    doctor_log_checks,
    doctor_job_checks,
    doctor_alarm_checks,
    doctor_people_checks,
    doctor_secret_checks,
    doctor_https_checks,
    doctor_login_checks,
    doctor_ldap_checks,
    doctor_executor_checks,
    NULL,
};
/* clang-format on */
