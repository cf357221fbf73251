-- SPDX-License-Identifier: MIT
-- Recommended from several hundred thousand jobs on: finds due jobs without reading the whole table. A Java admin works
-- with it as without it.

CREATE INDEX i_shardwheel_next ON xxl_job_info (trigger_status, trigger_next_time);
